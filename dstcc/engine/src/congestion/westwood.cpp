// Westwood+ (Grieco & Mascolo, "Performance evaluation and comparison of Westwood+, New Reno and Vegas", CCR 2004), with
// the two cascaded 7/8 filters, the clock and the integers of Linux's tcp_westwood (6.1).
//
//   b_k = acked bytes / Δt  once per RTT (Δt > max(rtt, 50 ms));   n <- 7/8 n + 1/8 b_k;   BWE <- 7/8 BWE + 1/8 n
//   end of recovery  W <- max(BWE · RTTmin / MSS, 2);   timeout  ssthresh <- the same, RTTmin starts anew
//   growth, and the reduction during recovery, are NewReno's
//
// Linux counts in jiffies and whole bytes per jiffy, and that decides where W settles: it follows its own mean, so a bias
// of a percent in BWE · RTTmin is a drift a round trip. RTTs are rounded up to a jiffy, filters round down, and a sample
// spans more than one RTT by up to a jiffy or two, which at windows of a few dozen segments is a good part of their ACKs.
// So does what plain TCP counts twice: an ACK without SACK blocks, such as one that fills the only hole, takes Linux's
// fast path and stands for all it covers, although duplicates have stood for most of that already. An ACK of MPTCP never
// does: it carries an option that header prediction does not expect (tcp_rcv_established, pred_flags).
#include "congestion/control.hpp"

namespace dstcc {
namespace {

constexpr double kInitialRttS = 20;  // TCP_WESTWOOD_INIT_RTT: no sample before an RTT is known

class Westwood final : public CongestionControl {
public:
    void init(TcpState& tcp, Time now) override {
        rtt_ = rtt_min_ = static_cast<Time>(kInitialRttS * kNsPerS * tcp.constants->scale);
        window_start_ = now;
        una_ = tcp.snd_una;
        tcp.syn_ssthresh = 2;  // no bandwidth is known yet: tcp_westwood_bw_rttmin()
    }
    std::int64_t ssthresh(TcpState& tcp, Time) override { return std::max<std::int64_t>(tcp.cwnd / 2, 2); }
    void cong_avoid(TcpState& tcp, std::int64_t acked, Time) override { reno_cong_avoid(tcp, acked); }
    void pkts_acked(TcpState& tcp, std::int64_t, Time rtt_ns, Time now) override {
        if (rtt_ns > 0) rtt_ = rtt_ns;  // as late 6.1 has it: in_ack_event follows the RTT sample
        take_ack(tcp, now);
    }
    // Its first sample counts one segment over the round trips of the handshake and of the first data (tcp_in_ack_event()).
    void on_join(TcpState& tcp, Time answered, Time now) override {
        if (first_ack_) window_start_ = answered;
        take_ack(tcp, now);
    }
    void on_event(TcpState& tcp, CaEvent event, Time) override {
        if (event == CaEvent::kExitReduction) {
            tcp.cwnd = tcp.ssthresh = bandwidth_window(tcp);
        } else if (event == CaEvent::kEnterLoss) {
            tcp.ssthresh = bandwidth_window(tcp);
            restart_min_ = true;
        }
    }

private:
    void take_ack(const TcpState& tcp, Time now) {
        if (first_ack_) una_ = tcp.snd_una;
        first_ack_ = false;
        // The jiffies are looked at only when the interval may be over.
        if (now - window_start_ + tcp.constants->jiffy > rtt_) update_window(tcp, now);
        counted_ += count(tcp);
        rtt_min_ = restart_min_ ? rtt_ : std::min(rtt_, rtt_min_);
        restart_min_ = false;
    }
    static std::int64_t jiffies_up(const TcpState& tcp, Time ns) { return tcp.constants->in_ticks(ns); }
    void update_window(const TcpState& tcp, Time now) {
        const std::int64_t elapsed = tcp.constants->ticks(now) - tcp.constants->ticks(window_start_);
        if (elapsed <= std::max(jiffies_up(tcp, rtt_), tcp.constants->westwood_rtt_min / tcp.constants->jiffy)) return;
        const std::int64_t sample = counted_ / elapsed;
        if (narrow_ == 0 && estimate_ == 0) {
            narrow_ = estimate_ = sample;
        } else {
            narrow_ = (7 * narrow_ + sample) / 8;
            estimate_ = (7 * estimate_ + narrow_) / 8;
        }
        counted_ = 0;
        window_start_ = now;
    }
    // westwood_fast_bw() or westwood_acked_count(), in bytes: a duplicate ACK stands for a segment, and is deducted when a
    // cumulative one catches up.
    std::int64_t count(const TcpState& tcp) {
        const std::int64_t segment = tcp.mss_cache();
        std::int64_t acked = (tcp.snd_una - una_) * tcp.mss_bytes;
        una_ = tcp.snd_una;
        if (tcp.option_bytes == 0 && !tcp.ack_has_sacks) return acked;
        if (acked == 0) {
            accounted_ += segment;
            return segment;
        }
        if (acked <= segment) return acked;
        if (accounted_ >= acked) {
            accounted_ -= acked;
            return segment;
        }
        acked -= accounted_;
        accounted_ = 0;
        return acked;
    }
    std::int64_t bandwidth_window(const TcpState& tcp) const {
        return std::max<std::int64_t>(estimate_ * jiffies_up(tcp, rtt_min_) / tcp.mss_cache(), 2);
    }

    std::int64_t narrow_ = 0, estimate_ = 0;    // bytes a jiffy
    std::int64_t counted_ = 0, accounted_ = 0;  // bytes
    std::int64_t una_ = 0;
    Time window_start_ = 0, rtt_ = 0, rtt_min_ = 0;
    bool restart_min_ = true, first_ack_ = true;
};

const Registered<ControlEntry> kEntry{{"westwood", make_control<Westwood>}};

}  // namespace

}  // namespace dstcc
