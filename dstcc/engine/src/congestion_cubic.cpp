// CUBIC: RFC 9438 with the constants and the HyStart of Linux's tcp_cubic.
//
//   W(t) = C (t - K)^3 + W_max,   K = cbrt(W_max (1 - β) / C),   C = 0.4 segments/s³,  β = 717/1024
//   Reno-friendly region: W_est grows by 1 / (8 (1 + β) / (3 (1 - β)) / 8 · W) per ACK, as Linux counts it.
// t runs in *emulated* seconds (mission time / scale), so at scale S the constant C is C / S³ in mission time.
// HyStart (Ha & Rhee 2011) leaves slow start on an ACK train longer than half the minimum RTT or on a delay rise of
// clamp(min RTT / 8, 4 ms, 16 ms) over 8 samples; these are emulated times too.
#include <cmath>

#include "congestion.hpp"

namespace dstcc {
namespace {

constexpr double kC = 0.4;                      // RFC 9438 section 4.1
constexpr double kBeta = 717.0 / 1024.0;        // Linux's 0.7
constexpr double kFriendliness = 15.0 / 8.0;    // Linux's beta_scale >> 3: segments acked per unit of W_est
constexpr std::int64_t kHystartLowWindow = 16;  // Linux hystart_low_window
constexpr int kHystartMinSamples = 8;           // Linux HYSTART_MIN_SAMPLES

class Cubic final : public CongestionControl {
public:
    void init(TcpState& tcp, Time now) override {
        stale_samples_ = emulated(tcp, 1.0);
        update_gap_ = emulated(tcp, 1.0 / 32);
        reset();
        start_round(tcp, now);
    }
    std::int64_t ssthresh(TcpState& tcp, Time) override {
        epoch_start_ = 0;
        // Fast convergence (RFC 9438 section 4.7): a flow that shrinks gives room sooner.
        last_max_ = tcp.cwnd < last_max_ ? share(tcp.cwnd, (1 + kBeta) / 2) : tcp.cwnd;
        return std::max<std::int64_t>(share(tcp.cwnd, kBeta), 2);
    }
    void cong_avoid(TcpState& tcp, std::int64_t acked, Time now) override {
        if (!tcp.cwnd_limited()) return;
        if (tcp.in_slow_start()) {
            acked = slow_start(tcp, acked);
            if (acked == 0) return;
        }
        update(tcp, acked, now);
        additive_increase(tcp, count_, acked);
    }
    void pkts_acked(TcpState& tcp, std::int64_t, Time rtt_ns, Time now) override {
        if (rtt_ns < 0) return;
        if (epoch_start_ != 0 && now - epoch_start_ < stale_samples_) return;
        if (delay_min_ == 0 || rtt_ns < delay_min_) delay_min_ = rtt_ns;
        if (!hystart_found_ && tcp.in_slow_start() && tcp.cwnd >= kHystartLowWindow) hystart(tcp, rtt_ns, now);
    }
    void on_event(TcpState& tcp, CaEvent event, Time now) override {
        if (event == CaEvent::kEnterLoss) {
            reset();
            start_round(tcp, now);
        } else if (event == CaEvent::kIdleRestart && epoch_start_ != 0 && now > tcp.last_sent_ns) {
            // Idle time is no growth: move the epoch along (Linux bictcp_cwnd_event TX_START).
            epoch_start_ = std::min(now, epoch_start_ + (now - tcp.last_sent_ns));
        }
    }
    void on_undo(TcpState& tcp, Time) override { last_max_ = std::max(last_max_, tcp.cwnd); }

private:
    static std::int64_t share(std::int64_t cwnd, double of) {
        return static_cast<std::int64_t>(static_cast<double>(cwnd) * of);
    }
    static Time emulated(const TcpState& tcp, double seconds) {
        return static_cast<Time>(seconds * tcp.constants->scale * kNsPerS);
    }
    void reset() {
        last_max_ = 0;
        last_cwnd_ = 0;
        last_time_ = 0;
        origin_ = 0;
        k_ = 0;
        delay_min_ = 0;
        epoch_start_ = 0;
        hystart_found_ = false;
        count_ = 1;
    }
    void start_round(const TcpState& tcp, Time now) {
        round_start_ = last_ack_ = now;
        round_end_ = tcp.snd_nxt;
        round_rtt_ = kNever;
        samples_ = 0;
    }
    void hystart(TcpState& tcp, Time rtt, Time now) {
        const ConstantsNs& constants = *tcp.constants;
        if (tcp.snd_una > round_end_) start_round(tcp, now);
        if (now - last_ack_ <= constants.hystart_ack_delta) {
            last_ack_ = now;
            if (now - round_start_ > delay_min_ / 2) hystart_found_ = true;
        }
        round_rtt_ = std::min(round_rtt_, rtt);
        if (samples_ < kHystartMinSamples) {
            ++samples_;
        } else if (round_rtt_ > delay_min_ + std::clamp(delay_min_ / 8, constants.hystart_delay_min,
                                                        constants.hystart_delay_max)) {
            hystart_found_ = true;
        }
        if (hystart_found_) tcp.ssthresh = tcp.cwnd;
    }
    void update(TcpState& tcp, std::int64_t acked, Time now) {
        ack_count_ += acked;
        if (last_cwnd_ == tcp.cwnd && now - last_time_ <= update_gap_) return;
        const bool same_instant = epoch_start_ != 0 && now == last_time_;
        if (!same_instant) cubic_target(tcp, acked, now);
        friendliness(tcp);
        count_ = std::max<std::int64_t>(count_, 2);  // at most 1.5 × per RTT
    }
    void cubic_target(TcpState& tcp, std::int64_t acked, Time now) {
        const std::int64_t cwnd = tcp.cwnd;
        last_cwnd_ = cwnd;
        last_time_ = now;
        if (epoch_start_ == 0) {
            epoch_start_ = now;
            ack_count_ = acked;
            reno_cwnd_ = cwnd;
            k_ = last_max_ <= cwnd ? 0 : std::cbrt(static_cast<double>(last_max_ - cwnd) / kC);
            origin_ = std::max(last_max_, cwnd);
        }
        // In real numbers, as the RFC has it. Linux rounds the distance from the origin down to whole segments, which
        // lifts windows of a few dozen segments by up to a fifth.
        const double t = static_cast<double>(now - epoch_start_ + delay_min_) / (kNsPerS * tcp.constants->scale);
        const double distance = t - k_;
        const double rise = static_cast<double>(origin_ - cwnd) + kC * distance * distance * distance;
        const auto window = static_cast<double>(cwnd);
        count_ = static_cast<std::int64_t>(rise > 0 ? std::min(window / rise, 1e12) : 100 * window);
        if (last_max_ == 0 && count_ > 20) count_ = 20;  // at least 5 % an RTT before the first loss
    }
    void friendliness(const TcpState& tcp) {
        const auto per_segment = static_cast<std::int64_t>(static_cast<double>(tcp.cwnd) * kFriendliness);
        if (per_segment > 0 && ack_count_ > per_segment) {
            const std::int64_t steps = (ack_count_ - 1) / per_segment;
            ack_count_ -= steps * per_segment;
            reno_cwnd_ += steps;
        }
        if (reno_cwnd_ > tcp.cwnd) count_ = std::min(count_, tcp.cwnd / (reno_cwnd_ - tcp.cwnd));
    }

    Time stale_samples_ = 0;  // samples right after a recovery hold the queue's past (Linux: one second)
    Time update_gap_ = 0;     // Linux recomputes at most every 1/32 s while the window stands
    double k_ = 0;  // emulated seconds from the epoch to the origin
    std::int64_t last_max_ = 0, origin_ = 0, last_cwnd_ = 0, count_ = 1, ack_count_ = 0, reno_cwnd_ = 0;
    Time last_time_ = 0, epoch_start_ = 0, delay_min_ = 0;
    // HyStart
    Time round_start_ = 0, last_ack_ = 0, round_rtt_ = kNever;
    std::int64_t round_end_ = 0;
    int samples_ = 0;
    bool hystart_found_ = false;
};

}  // namespace

std::unique_ptr<CongestionControl> make_cubic() { return std::make_unique<Cubic>(); }

}  // namespace dstcc
