// wVegas, weighted Vegas: Cao, Xu, Fu, "Delay-based congestion control for multipath TCP", ICNP 2012;
// draft-xu-mptcp-congestion-control-05, with the constants and the order of MPTCP v0.9x mptcp_wvegas.c.
//
//   once per round trip, RTT its mean, base the least RTT ever:   diff = W (RTT - base) / RTT
//   slow start: doubling while diff <= γ, then W <- W base / RTT + 1
//   avoidance:  diff >= α_r:  rate_r <- W / RTT,   α_r <- max(2, 10 · rate_r / Σ rate)         (weights shift the traffic)
//               diff > α_r: W - 1;   diff < α_r: W + 1
//               queueing >= 2 · least queueing since the last drain:  W <- W base / (2 RTT)    (let the queue drain)
//   loss: W / 2
//
// The threshold is at least 3/4 of the window after each decision (mptcp_wvegas.c: tcp_current_ssthresh), so what a drain took
// comes back as in slow start. With fewer than three samples in a round trip, and in recovery, it is Reno. Deviations: a queue of exactly nothing is
// never drained (RTTs here have no jitter, so the kernel's test 0 >= 2 · 0 would halve an idle path every round trip);
// real numbers where the kernel scales by 2^16.
#include "congestion/coupled.hpp"

namespace dstcc {
namespace {

constexpr double kInitialAlpha = 2, kTotalAlpha = 10, kLeastAlpha = 2;  // segments in the queues
constexpr double kGamma = 1;                                            // slow start ends beyond it
constexpr int kFewSamples = 2;                                          // may all be of delayed ACKs
constexpr std::int64_t kLeastWindow = 2;

class WVegas final : public CongestionControl {
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
        rtt_sum_ += static_cast<double>(rtt);
        ++samples_;
    }
    void cong_avoid(TcpState& tcp, std::int64_t acked, Time) override {
        if (tcp.ca_state != CaState::kOpen) {
            enabled_ = false;
            return reno_cong_avoid(tcp, acked);
        }
        if (!enabled_) enable(tcp);
        if (tcp.snd_una > round_end_) {
            round_end_ = tcp.snd_nxt;
            if (samples_ <= kFewSamples)
                reno_cong_avoid(tcp, acked);
            else
                decide(tcp, acked);
            samples_ = 0;
            rtt_sum_ = 0;
        } else if (tcp.in_slow_start()) {
            slow_start(tcp, acked);
        }
    }
    void on_event(TcpState& tcp, CaEvent event, Time) override {
        if (event == CaEvent::kIdleRestart) return init(tcp, 0);
        enabled_ = false;
        if (event == CaEvent::kEnterLoss) tcp.told = 0;
    }

private:
    void enable(TcpState& tcp) {
        enabled_ = true;
        round_end_ = tcp.snd_nxt;
        samples_ = 0;
        rtt_sum_ = 0;
        tcp.told = 0;  // the rate, segments per ns
        alpha_ = kInitialAlpha;
        least_queueing_ = 0;
    }
    void decide(TcpState& tcp, std::int64_t acked) {
        const double rtt = rtt_sum_ / samples_, base = static_cast<double>(base_rtt_);
        const auto window = static_cast<double>(tcp.cwnd);
        const double diff = window * (rtt - base) / rtt;
        if (tcp.in_slow_start()) {
            if (diff <= kGamma) {
                slow_start(tcp, acked);
            } else {
                tcp.cwnd = std::min(tcp.cwnd, static_cast<std::int64_t>(window * base / rtt) + 1);
                tcp.ssthresh = std::min(tcp.ssthresh, tcp.cwnd - 1);
            }
        } else {
            avoid(tcp, diff, rtt);
            drain(tcp, rtt - base, rtt);
        }
        tcp.cwnd = std::max(tcp.cwnd, kLeastWindow);
        tcp.ssthresh = std::max(tcp.ssthresh, tcp.cwnd / 2 + tcp.cwnd / 4);  // Linux tcp_current_ssthresh()
    }
    void avoid(TcpState& tcp, double diff, double rtt) {
        if (diff >= alpha_) {
            tcp.told = static_cast<double>(tcp.cwnd) / rtt;
            double total = 0;
            for_each_sibling(tcp, [&](const TcpState& path) { total += path.told; });
            alpha_ = std::max(kLeastAlpha, kTotalAlpha * tcp.told / total);
        }
        if (diff > alpha_) {
            --tcp.cwnd;
            tcp.ssthresh = std::min(tcp.ssthresh, tcp.cwnd - 1);
        } else if (diff < alpha_) {
            ++tcp.cwnd;
        }
    }
    void drain(TcpState& tcp, double queueing, double rtt) {
        if (queueing <= 0) return;
        if (least_queueing_ == 0 || least_queueing_ > queueing) least_queueing_ = queueing;
        if (queueing < 2 * least_queueing_) return;
        const double share = static_cast<double>(base_rtt_) / (2 * rtt);
        tcp.cwnd = static_cast<std::int64_t>(static_cast<double>(tcp.cwnd) * share);
        least_queueing_ = 0;
    }

    bool enabled_ = true;
    std::int64_t round_end_ = 0;
    int samples_ = 0;
    double rtt_sum_ = 0, alpha_ = kInitialAlpha, least_queueing_ = 0;
    Time base_rtt_ = kNever;
};

const Registered<ControlEntry> kEntry{{"wvegas", make_control<WVegas>}};

}  // namespace

}  // namespace dstcc
