// CUBIC: RFC 9438 with the constants and the HyStart of Linux's tcp_cubic.
//
//   W(t) = C (t - K)^3 + W_max,   K = cbrt(W_max (1 - β) / C),   C = 0.4 segments/s³,  β = 717/1024
//   Reno-friendly region: W_est grows by 1 / (8 (1 + β) / (3 (1 - β)) / 8 · W) per ACK, as Linux counts it.
// t runs in *emulated* seconds (mission time / scale), so at scale S the constant C is C / S³ in mission time.
// HyStart (Ha & Rhee 2011) leaves slow start on an ACK train longer than half the minimum RTT or on a delay rise of
// clamp(min RTT / 8, 4 ms, 16 ms) over 8 samples; these are emulated times too.
#include <cmath>

#include "congestion/control.hpp"

namespace dstcc {
namespace {

constexpr std::int64_t kBeta = 717, kBetaScale = 1024;  // Linux's 0.7
constexpr std::uint64_t kC = 410;                       // 10 bic_scale: C in 1024ths of segments per s³
constexpr std::int64_t kFriendliness = 15;              // Linux's beta_scale: 8 (1024 + β) / 3 / (1024 - β)
constexpr std::int64_t kHystartLowWindow = 16;          // Linux hystart_low_window
constexpr int kHystartMinSamples = 8;                   // Linux HYSTART_MIN_SAMPLES
constexpr double kGsoBytes = 65536 - 321;               // sk_gso_max_size: the device's less MAX_TCP_HEADER + 1
constexpr std::uint64_t kFarOff = 355'000;  // 1024ths of a second from the origin: beyond, c·offs³ leaves 64 bits

class Cubic final : public CongestionControl {
public:
    void init(TcpState& tcp, Time now) override {
        constants_ = tcp.constants;
        hz_ = std::max<std::int64_t>(
            1, std::llround(constants_->scale * kNsPerS / static_cast<double>(constants_->jiffy)));
        reset();
        start_round(tcp, now);
    }
    std::int64_t ssthresh(TcpState& tcp, Time) override {
        epoch_start_ = kNone;
        // Fast convergence (RFC 9438 section 4.7): a flow that shrinks gives room sooner.
        last_max_ = tcp.cwnd < last_max_ ? tcp.cwnd * (kBetaScale + kBeta) / (2 * kBetaScale) : tcp.cwnd;
        return std::max<std::int64_t>(tcp.cwnd * kBeta / kBetaScale, 2);
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
        if (epoch_start_ != kNone && jiffies(now) - epoch_start_ < hz_) return;  // the queue's past, after a recovery
        if (delay_min_ == 0 || rtt_ns < delay_min_) delay_min_ = std::max<Time>(rtt_ns, 1);
        if (tcp.constants->hystart && !hystart_found_ && tcp.in_slow_start()) hystart(tcp, rtt_ns, now);
    }
    void on_event(TcpState& tcp, CaEvent event, Time now) override {
        if (event == CaEvent::kLossState) {
            reset();
            start_round(tcp, now);
        } else if (event == CaEvent::kIdleRestart && epoch_start_ != kNone) {
            // Idle time is no growth: move the epoch along (Linux bictcp_cwnd_event TX_START).
            const std::int64_t idle = jiffies(now) - jiffies(tcp.last_sent_ns);
            if (idle > 0) epoch_start_ = std::min(jiffies(now), epoch_start_ + idle);
        }
    }

private:
    static constexpr std::int64_t kNone = -1;  // no epoch has begun

    // A division, and mostly the last one's quotient.
    std::int64_t jiffies(Time at) {
        if (at < tick_ns_ || at - tick_ns_ >= constants_->jiffy) {
            tick_ = constants_->ticks(at);
            tick_ns_ = tick_ * constants_->jiffy - constants_->uptime;
        }
        return tick_;
    }
    void reset() {
        last_max_ = 0;
        last_cwnd_ = 0;
        last_time_ = 0;
        origin_ = 0;
        k_ = 0;
        delay_min_ = 0;
        epoch_start_ = kNone;
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
        if (tcp.cwnd < kHystartLowWindow) return;  // a round begins all the same
        if (now - last_ack_ <= constants.hystart_ack_delta) {
            last_ack_ = now;
            if (now - round_start_ > (delay_min_ + ack_delay(tcp)) / 2) hystart_found_ = true;
        }
        round_rtt_ = std::min(round_rtt_, rtt);
        if (samples_ < kHystartMinSamples) {
            ++samples_;
        } else if (round_rtt_ >
                   delay_min_ + std::clamp(delay_min_ / 8, constants.hystart_delay_min, constants.hystart_delay_max)) {
            hystart_found_ = true;
        }
        if (hystart_found_) tcp.ssthresh = tcp.cwnd;
    }
    // Linux hystart_ack_delay(): what batching may add, four of the largest batches at the pacing rate, 1 ms at most.
    static Time ack_delay(const TcpState& tcp) {
        const double bytes_per_ns =
            2.0 * static_cast<double>(tcp.cwnd) * tcp.mss_cache() / static_cast<double>(tcp.srtt_ns);
        return static_cast<Time>(std::min(1e6 * tcp.constants->scale, 4 * kGsoBytes / bytes_per_ns));
    }
    void update(TcpState& tcp, std::int64_t acked, Time now) {
        ack_count_ += acked;
        const std::int64_t jiffy = jiffies(now);
        if (last_cwnd_ == tcp.cwnd && jiffy - last_time_ <= hz_ / 32) return;
        if (epoch_start_ == kNone || jiffy != last_time_) cubic_target(tcp, acked, jiffy);
        friendliness(tcp);
        count_ = std::max<std::int64_t>(count_, 2);  // at most 1.5 × per RTT
    }
    // In Linux's integers: times in 1024ths of a second, the distance from the origin in whole segments.
    void cubic_target(const TcpState& tcp, std::int64_t acked, std::int64_t jiffy) {
        const std::int64_t cwnd = tcp.cwnd;
        last_cwnd_ = cwnd;
        last_time_ = jiffy;
        if (epoch_start_ == kNone) {
            epoch_start_ = jiffy;
            ack_count_ = acked;
            reno_cwnd_ = cwnd;
            const auto shrunk = static_cast<double>(last_max_ - cwnd);
            k_ = shrunk <= 0 ? 0 : static_cast<std::int64_t>(std::cbrt(shrunk * (1ull << 40) / kC));
            origin_ = std::max(last_max_, cwnd);
        }
        const std::int64_t t = (jiffy - epoch_start_ + constants_->in_ticks(delay_min_)) * 1024 / hz_;
        const std::uint64_t off = std::min(static_cast<std::uint64_t>(std::abs(t - k_)), kFarOff);
        const auto delta = static_cast<std::int64_t>((kC * off * off * off) >> 40);
        const std::int64_t target = t < k_ ? origin_ - delta : origin_ + delta;
        count_ = target > cwnd ? cwnd / (target - cwnd) : 100 * cwnd;
        if (last_max_ == 0 && count_ > 20) count_ = 20;  // at least 5 % an RTT before the first loss
    }
    void friendliness(const TcpState& tcp) {
        const std::int64_t per_segment = tcp.cwnd * kFriendliness >> 3;
        if (ack_count_ > per_segment) {
            const std::int64_t steps = (ack_count_ - 1) / per_segment;
            ack_count_ -= steps * per_segment;
            reno_cwnd_ += steps;
        }
        if (reno_cwnd_ > tcp.cwnd) count_ = std::min(count_, tcp.cwnd / (reno_cwnd_ - tcp.cwnd));
    }

    const ConstantsNs* constants_ = nullptr;
    std::int64_t hz_ = 250;
    std::int64_t tick_ = 0;  // the jiffy that was asked for last, and when it began
    Time tick_ns_ = kNever;
    std::int64_t k_ = 0;  // 1024ths of an emulated second from the epoch to the origin
    std::int64_t last_max_ = 0, origin_ = 0, last_cwnd_ = 0, count_ = 1, ack_count_ = 0, reno_cwnd_ = 0;
    std::int64_t last_time_ = 0, epoch_start_ = kNone;  // jiffies
    Time delay_min_ = 0;
    // HyStart
    Time round_start_ = 0, last_ack_ = 0, round_rtt_ = kNever;
    std::int64_t round_end_ = 0;
    int samples_ = 0;
    bool hystart_found_ = false;
};

const Registered<ControlEntry> kEntry{{"cubic", make_control<Cubic>}};

}  // namespace

}  // namespace dstcc
