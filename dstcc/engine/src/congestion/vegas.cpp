// Vegas: Brakmo, Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet", JSAC 1995, with the
// choices of Linux's tcp_vegas (6.1): α 2, β 4, γ 1 segments, a decision per round trip on its least RTT.
//
//   diff = W (RTT - baseRTT) / baseRTT       segments in the queue
//   slow start: doubling while diff <= γ, then W <- W baseRTT / RTT + 1
//   avoidance: diff < α: W + 1;   diff > β: W - 1;   else W stands        loss: W / 2
//
// baseRTT is the least RTT ever seen (until idle). With fewer than three samples in a round trip, and in recovery, it
// is Reno. Linux's diff overflows 32 bits from W · queueing time = 4,295 segment-seconds on; here it does not.
#include "congestion/control.hpp"

namespace dstcc {
namespace {

constexpr std::int64_t kAlpha = 2, kBeta = 4;  // segments to keep in the queue, Linux's defaults
constexpr std::int64_t kGamma = 1;             // slow start ends beyond it
constexpr int kFewSamples = 2;                 // may all be of delayed ACKs
constexpr std::int64_t kLeastWindow = 2;

class Vegas final : public CongestionControl {
public:
    void init(TcpState& tcp, Time) override {
        base_rtt_ = kNever;
        enable(tcp);
    }
    std::int64_t ssthresh(TcpState& tcp, Time) override { return std::max(tcp.cwnd / 2, kLeastWindow); }
    void pkts_acked(TcpState&, std::int64_t, Time rtt_ns, Time) override {
        if (rtt_ns < 0) return;
        const Time rtt = std::max<Time>(rtt_ns, 1);
        base_rtt_ = std::min(base_rtt_, rtt);
        least_rtt_ = std::min(least_rtt_, rtt);
        ++samples_;
    }
    void cong_avoid(TcpState& tcp, std::int64_t acked, Time) override {
        if (tcp.ca_state == CaState::kOpen && reduced_) enable(tcp);
        if (!enabled_) return reno_cong_avoid(tcp, acked);
        if (tcp.snd_una > round_end_) {
            round_end_ = tcp.snd_nxt;
            if (samples_ <= kFewSamples)
                reno_cong_avoid(tcp, acked);
            else
                decide(tcp, acked);
            start_round();
        } else if (tcp.in_slow_start()) {
            slow_start(tcp, acked);
        }
    }
    void on_event(TcpState& tcp, CaEvent event, Time) override {
        if (event == CaEvent::kIdleRestart) {
            const bool reduced = reduced_;
            init(tcp, 0);  // amid a timeout's repeats too (tcp_vegas_cwnd_event)
            reduced_ = reduced;
        } else {
            enabled_ = false;
            reduced_ = true;
        }
    }

private:
    void enable(const TcpState& tcp) {
        enabled_ = true;
        reduced_ = false;
        round_end_ = tcp.snd_nxt;
        start_round();
    }
    void start_round() {
        samples_ = 0;
        least_rtt_ = kNever;
    }
    void decide(TcpState& tcp, std::int64_t acked) {
        const auto window = static_cast<double>(tcp.cwnd), base = static_cast<double>(base_rtt_);
        const auto rtt = static_cast<double>(least_rtt_);
        const auto diff = static_cast<std::int64_t>(window * (rtt - base) / base);
        if (tcp.in_slow_start() && diff > kGamma) {
            tcp.cwnd = std::min(tcp.cwnd, static_cast<std::int64_t>(window * base / rtt) + 1);
            tcp.ssthresh = std::min(tcp.ssthresh, tcp.cwnd);
        } else if (tcp.in_slow_start()) {
            slow_start(tcp, acked);
        } else if (diff > kBeta) {
            --tcp.cwnd;
            tcp.ssthresh = std::min(tcp.ssthresh, tcp.cwnd);
        } else if (diff < kAlpha) {
            ++tcp.cwnd;
        }
        tcp.cwnd = std::max(tcp.cwnd, kLeastWindow);
        tcp.ssthresh = std::max(tcp.ssthresh, tcp.cwnd / 2 + tcp.cwnd / 4);  // Linux tcp_current_ssthresh()
    }

    bool enabled_ = true;
    bool reduced_ = false;  // in a recovery or after a timeout, until a window grows in the Open state
    std::int64_t round_end_ = 0;
    int samples_ = 0;
    Time base_rtt_ = kNever, least_rtt_ = kNever;
};

const Registered<ControlEntry> kEntry{{"vegas", make_control<Vegas>}};

}  // namespace

}  // namespace dstcc
