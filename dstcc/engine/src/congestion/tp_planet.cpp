// TP-Planet, a reconstruction: Akan, Fang, Akyildiz, "TP-Planet: a reliable transport protocol for InterPlaNetary
// Internet", IEEE JSAC 22(2), 2004. A rate S, no window; congestion is distinguished from link errors; it waits during outages.
//
//   initial state    immediate start: the first RTT is cut into N intervals of T = RTT / N, in which the source emulates
//                    slow start (S doubles every T up to half the line) and then congestion avoidance (+1 segment / T)
//                    follow-up: the second RTT: S = the largest rate at which an interval's ACKs came back
//   steady state     once per RTT, φ = low-priority segments that got through / high-priority ones:
//                    increase S += α for φ >= φ_i,   decrease S *= ξ for φ < φ_d,   hold in between
//   blackout state   no feedback for an RTO: N probes per RTT, each of one segment; the first answer restores S
//
// The states, the emulated phases, the use of φ and the return to the old rate are the paper's. Its text was not at hand
// for its constants, so N, α, ξ, φ_i, φ_d here are ours: the result is a reconstruction and is labelled so.
// Deviations: links have one FIFO queue without priorities, so there are no dummy (NIX) segments on the line. In the
// initial state data takes their place: what overflows is repeated. A data segment stands for a pair of NIX segments of
// either priority; the low one counts as dropped where its RTT shows more than kLowQueue segments queueing, because there
// a low-priority segment would have had to wait behind them. The source knows the rate of its own line and sends no faster.
#include <cmath>

#include "congestion/control.hpp"

namespace dstcc {
namespace {

constexpr double kIntervals = 32;       // N: emulated round trips in a real one
constexpr double kIncrease = 1.0 / 32;  // α, of the line's rate: back from half in 16 round trips
constexpr double kDecrease = 7.0 / 8;   // ξ: a whole round trip of evidence, so no need for a half
constexpr double kIncreaseFrom = 0.9;   // φ_i
constexpr double kDecreaseBelow = 0.5;  // φ_d: most of the segments met a queue
constexpr double kLowQueue = 16;        // segments of queue that low priority would not outlast
constexpr double kLeastShare = 1e-3;    // S never falls below this share of the line

class TpPlanet final : public CongestionControl {
public:
    explicit TpPlanet(const ControlSetup& setup) : line_(setup.line_bps / 8 / kNsPerS) {}
    bool owns_window() const override { return true; }
    bool wants_sends() const override { return true; }
    void init(TcpState& tcp, Time now) override {
        tcp.cwnd = kInfiniteWindow;
        began_ = now;
        rtt_ = std::max<Time>(tcp.srtt_ns, 1);
        interval_ = static_cast<double>(rtt_) / kIntervals;
        segment_per_interval_ = tcp.wire_bytes / interval_;
        // Intervals of doubling from one segment per T to half the line; what is left of the round trip is linear.
        doublings_ = std::max(0.0, std::log2(line_ / 2 / segment_per_interval_));
        set_rate(tcp, emulated_rate(0));
    }
    std::int64_t ssthresh(TcpState& tcp, Time) override { return tcp.cwnd; }
    void cong_avoid(TcpState&, std::int64_t, Time) override {}
    void on_sent(TcpState& tcp, Time now) override {
        if (phase_ == Phase::kImmediateStart && now - began_ < rtt_) set_rate(tcp, emulated_rate(now - began_));
    }
    bool wants_rates() const override { return true; }
    bool cong_control(TcpState& tcp, const RateSample& sample, Time now) override {
        if (blackout_ && sample.acked_sacked > 0) {
            blackout_ = false;
            set_rate(tcp, rate_);
            start_decision(now);
        }
        if (phase_ != Phase::kSteady)
            follow_up(tcp, sample, now);
        else
            steady(tcp, sample, now);
        return true;
    }
    void on_event(TcpState& tcp, CaEvent event, Time) override {
        if (event != CaEvent::kEnterLoss) return;
        blackout_ = true;
        tcp.pacing_bytes_per_ns = std::min(rate_, segment_per_interval_);
    }

private:
    enum class Phase { kImmediateStart, kFollowUp, kSteady };

    double emulated_rate(Time since) const {
        const double intervals = std::floor(static_cast<double>(since) / interval_);
        if (intervals < doublings_) return segment_per_interval_ * std::exp2(intervals);
        return line_ / 2 + segment_per_interval_ * (intervals - std::floor(doublings_));
    }
    void set_rate(TcpState& tcp, double rate) {
        rate_ = std::clamp(rate, kLeastShare * line_, line_);
        tcp.pacing_bytes_per_ns = rate_;
    }
    // The rate of ACKs, interval by interval, for a round trip from the first on.
    void follow_up(TcpState& tcp, const RateSample& sample, Time now) {
        if (phase_ == Phase::kImmediateStart) {
            phase_ = Phase::kFollowUp;
            began_ = counted_from_ = now;
            counted_ = 0;
            best_ = 0;
        }
        if (static_cast<double>(now - counted_from_) >= interval_) {
            best_ = std::max(best_, counted_ * tcp.wire_bytes / static_cast<double>(now - counted_from_));
            counted_from_ = now;
            counted_ = 0;
            if (!blackout_) set_rate(tcp, std::max(best_, segment_per_interval_));
        }
        counted_ += static_cast<double>(sample.acked_sacked);
        if (now - began_ < rtt_) return;
        phase_ = Phase::kSteady;
        start_decision(now);
    }
    void start_decision(Time now) {
        decided_ = now;
        high_ = low_ = 0;
    }
    void steady(TcpState& tcp, const RateSample& sample, Time now) {
        if (sample.rtt_ns >= 0 && sample.acked_sacked > 0) {
            const double queueing = static_cast<double>(sample.rtt_ns - tcp.min_rtt_ns) * line_ / tcp.wire_bytes;
            high_ += sample.acked_sacked;
            if (queueing <= kLowQueue) low_ += sample.acked_sacked;
        }
        if (now - decided_ < tcp.srtt_ns || high_ == 0) return;
        const double ratio = static_cast<double>(low_) / static_cast<double>(high_);
        if (ratio >= kIncreaseFrom)
            set_rate(tcp, rate_ + kIncrease * line_);
        else if (ratio < kDecreaseBelow)
            set_rate(tcp, rate_ * kDecrease);
        start_decision(now);
    }

    Phase phase_ = Phase::kImmediateStart;
    bool blackout_ = false;
    double line_ = 0, rate_ = 0, segment_per_interval_ = 0, best_ = 0, counted_ = 0;  // bytes/ns; segments
    double interval_ = 1, doublings_ = 0;
    Time began_ = 0, rtt_ = 1, counted_from_ = 0, decided_ = 0;
    std::int64_t high_ = 0, low_ = 0;  // of this decision
};

const Registered<ControlEntry> kEntry{{"tp-planet", make_control<TpPlanet>}};

}  // namespace

}  // namespace dstcc
