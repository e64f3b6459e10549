// BBR version 1 (Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 2016; draft-cardwell-iccrg-bbr-00),
// with the states and constants of Linux's tcp_bbr.
//
//   BtlBw  = max delivery rate over 10 round trips;   RTprop = min RTT over 10 s
//   pacing = gain · BtlBw · 0.99;   cwnd = gain · BtlBw · RTprop + 3 sends + aggregation
//   STARTUP (2/ln 2) -> DRAIN (ln 2 / 2) -> PROBE_BW (5/4, 3/4, 1 × 6);  PROBE_RTT: 4 segments for 200 ms and a round
//
// `bbr` keeps the seconds (times the scale): with an RTT above 10 emulated seconds RTprop expires every round and the flow
// lives in PROBE_RTT. `bbr-scaled` counts both windows in RTTs: RTprop over 10 RTTs, PROBE_RTT at half the window (as
// BBRv2's cwnd gain 0.5, so that a minute-long round trip is not spent at 4 segments).
//
// A few per cent of pacing decide whether a queue grows while BBR cruises, so `bbr` reckons as Linux 6.1 does: the rate in
// mss_cache a segment, of which MPTCP's options are a part (bbr_rate_bytes_per_sec), spent on payload alone
// (tcp_update_skb_after_send). And what PROBE_RTT restores is the largest window since the last loss: bbr_update_min_rtt()
// is in that mode already when it saves the window.
// It reckons in Linux's integers: rates in segments a microsecond << 24, gains in 256ths, times of RTprop in ticks.
// `bbr-scaled` has the same in real numbers, and leaves out the long-term (policer) estimator: two stretches of 4 to 16
// round trips that each lost a fifth, at rates that are alike, make Linux take their mean for the rate, for 48 round trips.
#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "congestion/control.hpp"

namespace dstcc {
namespace {

constexpr std::int64_t kUnit = 256;      // a gain of 1
constexpr std::int64_t kHighGain = 739;  // 2/ln 2, rounded up: doubles the rate each round
constexpr std::int64_t kDrainGain = 88;  // its inverse, rounded down: empties in one round what STARTUP queued
constexpr std::int64_t kCwndGain = 512;  // room for delayed and aggregated ACKs
constexpr std::array<std::int64_t, 8> kCycle = {320, 192, 256, 256, 256, 256, 256, 256};
constexpr double kRateUnit = 1 << 24;          // a segment a microsecond
constexpr std::int64_t kMinCwnd = 4;           // enough to keep the delayed-ACK clock running
constexpr double kFullBandwidthGrowth = 1.25;  // STARTUP ends after three rounds below this growth
constexpr int kFullBandwidthRounds = 3;
constexpr std::uint64_t kBandwidthRounds = 10;
constexpr double kPacingMargin = 0.99;
constexpr std::int64_t kSends = 3;            // one in the sender's queue, one leaving it, one at the receiver
constexpr double kSendShare = 1024;           // a send is what pacing gives in such a part of a second, at least
constexpr double kSlowBps = 1.2e6;            // one segment below this rate, two above (bbr_min_tso_segs)
constexpr double kLargestSend = 65536 - 321;  // bytes: what a device takes at once (as in congestion/cubic.cpp)
constexpr std::uint64_t kPolicedRounds = 4;   // the long-term estimator's stretch, at least; four times that at most
constexpr std::uint64_t kPolicedLoss = 50;    // of what came through in it, in 256ths
constexpr std::int64_t kPolicedAlike = 32;    // 256ths of the earlier stretch's rate ...
constexpr double kPolicedBytes = 4000 / 8;    // ... or bytes a second
constexpr std::uint64_t kPolicedFor = 48;     // round trips
constexpr std::uint64_t kExtraAckedRounds = 5;

// Windowed maximum by rounds: the three-sample filter of Kathleen Nichols (Linux lib/minmax.c).
class RoundMax {
public:
    double best() const { return s_[0].value; }
    void update(double value, std::uint64_t round, std::uint64_t window) {
        const Sample fresh{value, round};
        if (value >= s_[0].value || round - s_[2].round > window) {
            s_ = {fresh, fresh, fresh};
            return;
        }
        if (value >= s_[1].value)
            s_[1] = s_[2] = fresh;
        else if (value >= s_[2].value)
            s_[2] = fresh;
        const std::uint64_t age = round - s_[0].round;
        if (age > window) {
            s_ = {s_[1], s_[2], fresh};
            if (round - s_[0].round > window) s_ = {s_[1], s_[2], fresh};
        } else if (s_[1].round == s_[0].round && age > window / 4) {
            s_[1] = s_[2] = fresh;
        } else if (s_[2].round == s_[1].round && age > window / 2) {
            s_[2] = fresh;
        }
    }

private:
    struct Sample {
        double value;
        std::uint64_t round;
    };
    std::array<Sample, 3> s_{};
};

enum class Mode { kStartup, kDrain, kProbeBw, kProbeRtt };

class Bbr final : public CongestionControl {
public:
    explicit Bbr(bool scaled) : scaled_(scaled) {}

    void init(TcpState& tcp, Time now) override {
        constants_ = tcp.constants;
        tick_ns_ = 1e3 * constants_->scale;
        ticks_per_ns_ = 1 / tick_ns_;
        draws_ = Stream(tcp.seed, kStreamBbr, tcp.subflow);
        min_rtt_ = tcp.min_rtt_ns;
        min_rtt_stamp_ = now;
        next_rtt_delivered_ = tcp.delivered;
        tcp.linux_pacing = tcp.payload_paced = !scaled_;
        // What is written first finds nothing in flight: to tcp_rate_check_app_limited() that is an application's limit.
        // MPTCP 6.1 never asks it.
        tcp.marks_app_limited = scaled_ || tcp.option_bytes == 0;
        if (!scaled_ && tcp.option_bytes == 0) tcp.app_limited = 1;
        epoch_start_ = now;
        forget_police(tcp);
        const Time rtt = tcp.srtt_ns > 0 ? tcp.srtt_ns : 1'000'000;
        start_pacing(tcp, rate_of(static_cast<double>(tcp.cwnd), rtt), kHighGain);
    }
    std::int64_t ssthresh(TcpState& tcp, Time) override {
        save_cwnd(tcp);
        return tcp.ssthresh;
    }
    void cong_avoid(TcpState&, std::int64_t, Time) override {}
    bool governs_recovery() const override { return true; }
    // bbr_init() notes the round trip as the SYN is answered, one before a join may send. An ACK that answers a repeated one of
    // the join's handshake is none of data: it is no sample, but after 10 s it begins PROBE_RTT (bbr_update_min_rtt). With
    // nothing under way tcp_ack() does not ask the law.
    void on_join(TcpState& tcp, Time answered, Time now) override {
        if (!std::exchange(joined_, true)) min_rtt_stamp_ = answered;
        RateSample none;
        none.prior_in_flight = tcp.in_flight();
        if (tcp.packets_out() > 0) cong_control(tcp, none, now);
    }
    void on_event(TcpState& tcp, CaEvent event, Time now) override {
        if (event == CaEvent::kLossState) {
            previous_state_ = CaState::kLoss;
            full_bandwidth_ = 0;
            round_start_ = true;
            RateSample lost;
            lost.losses = 1;
            find_police(tcp, lost);
        } else if (event == CaEvent::kIdleRestart && tcp.app_limited != 0) {
            // Linux bbr_cwnd_event(TX_START): what left idle returns at the estimated bandwidth, not at a probing gain.
            idle_restart_ = true;
            epoch_start_ = now;
            epoch_acked_ = 0;
            if (mode_ == Mode::kProbeBw) {
                set_pacing(tcp, kUnit);
            } else if (mode_ == Mode::kProbeRtt) {
                check_probe_rtt(tcp, now);
            }
        }
    }
    void on_undo(TcpState& tcp, Time) override {
        full_bandwidth_ = 0;
        full_rounds_ = 0;
        forget_police(tcp);
        tcp.cwnd = std::max(tcp.cwnd, saved_cwnd_);
    }
    bool wants_rates() const override { return true; }
    bool cong_control(TcpState& tcp, const RateSample& sample, Time now) override {
        update_bandwidth(tcp, sample);
        update_aggregation(tcp, sample);
        update_cycle(tcp, sample, now);
        check_full_bandwidth(sample);
        check_drain(tcp, now);
        update_min_rtt(tcp, sample, now);
        set_gains();
        set_pacing(tcp, pacing_gain_);
        set_cwnd(tcp, sample);
        return true;
    }

private:
    // Segments an emulated microsecond << 24; so are all rates.
    double bandwidth() const { return policed_ ? policed_rate_ : bandwidth_.best(); }
    double whole(double rate) const { return scaled_ ? rate : std::floor(rate); }
    double ticks(Time span) const { return whole(static_cast<double>(span) * ticks_per_ns_); }
    double rate_of(double segments, Time interval) const {
        return whole(segments * kRateUnit / std::max(ticks(interval), 1.0));
    }
    // Segments that come through in a time.
    std::int64_t expected(Time span) const { return static_cast<std::int64_t>(bandwidth() * ticks(span) / kRateUnit); }

    std::int64_t target_window(double rate, std::int64_t gain) const {
        if (min_rtt_ == kNever) return 10;  // TCP_INIT_CWND until an RTT is known
        const double held = rate * static_cast<double>(min_rtt_) * ticks_per_ns_;
        return static_cast<std::int64_t>(std::ceil(whole(whole(held) * static_cast<double>(gain) / kUnit) / kRateUnit));
    }
    std::int64_t quantised(std::int64_t gain) const { return round_up(target_window(bandwidth_.best(), gain)); }
    std::int64_t round_up(std::int64_t window) const {
        window += kSends * send_;
        if (!scaled_) window += window & 1;
        return window + (mode_ == Mode::kProbeBw && cycle_ == 0 ? 2 : 0);
    }
    // Of what is in flight, that which still will be when the pacer lets the next leave (bbr_packets_in_net_at_edt).
    std::int64_t in_network(const TcpState& tcp, std::int64_t in_flight, Time now) const {
        if (scaled_) return in_flight;
        if (pacing_gain_ > kUnit) in_flight += send_;
        return std::max<std::int64_t>(in_flight - expected(std::max<Time>(tcp.pacing_until_ns - now, 0)), 0);
    }
    // Linux counts these times in ticks of the machine's clock.
    bool passed(Time since, Time span, Time now) const {
        if (scaled_) return now > since + span;
        return constants_->ticks(now) > constants_->ticks(since) + constants_->in_ticks(span);
    }
    void save_cwnd(const TcpState& tcp) {
        saved_cwnd_ =
            previous_state_ == CaState::kOpen && mode_ != Mode::kProbeRtt ? tcp.cwnd : std::max(saved_cwnd_, tcp.cwnd);
    }
    void update_bandwidth(TcpState& tcp, const RateSample& sample) {
        round_start_ = false;
        if (sample.interval_ns <= 0) return;
        if (sample.prior_delivered >= next_rtt_delivered_) {
            next_rtt_delivered_ = tcp.delivered;
            ++rounds_;
            round_start_ = true;
            conserve_packets_ = false;
        }
        find_police(tcp, sample);
        const double rate = rate_of(static_cast<double>(sample.delivered), sample.interval_ns);
        if (!sample.is_app_limited || rate >= bandwidth_.best()) bandwidth_.update(rate, rounds_, kBandwidthRounds);
    }
    void update_aggregation(TcpState& tcp, const RateSample& sample) {
        if (sample.acked_sacked <= 0 || sample.interval_ns <= 0) return;
        if (round_start_ && ++extra_rounds_ >= kExtraAckedRounds) {
            extra_rounds_ = 0;
            extra_index_ ^= 1;
            extra_acked_[extra_index_] = 0;
        }
        std::int64_t due = expected(tcp.delivered_ns - epoch_start_);
        if (epoch_acked_ <= due) {
            epoch_acked_ = 0;
            epoch_start_ = tcp.delivered_ns;
            due = 0;
        }
        epoch_acked_ += sample.acked_sacked;
        extra_acked_[extra_index_] = std::max(extra_acked_[extra_index_], std::min(epoch_acked_ - due, tcp.cwnd));
    }
    std::int64_t aggregation_window() const {
        if (!full_bandwidth_reached_) return 0;
        const std::int64_t most = expected(static_cast<Time>(1e8 * constants_->scale));  // 100 emulated ms
        return std::min(std::max(extra_acked_[0], extra_acked_[1]), most);
    }
    void update_cycle(const TcpState& tcp, const RateSample& sample, Time now) {
        if (mode_ != Mode::kProbeBw) return;
        const bool full_length = tcp.delivered_ns - cycle_start_ > min_rtt_;
        const std::int64_t in_flight = in_network(tcp, sample.prior_in_flight, now);
        bool next = full_length;
        if (pacing_gain_ > kUnit)
            next = full_length && (sample.losses > 0 || in_flight >= quantised(pacing_gain_));
        else if (pacing_gain_ < kUnit)
            next = full_length || in_flight <= quantised(kUnit);
        if (next) {
            cycle_ = (cycle_ + 1) % kCycle.size();
            cycle_start_ = tcp.delivered_ns;
        }
    }
    void check_full_bandwidth(const RateSample& sample) {
        if (full_bandwidth_reached_ || !round_start_ || sample.is_app_limited) return;
        if (bandwidth_.best() >= whole(full_bandwidth_ * kFullBandwidthGrowth)) {
            full_bandwidth_ = bandwidth_.best();
            full_rounds_ = 0;
            return;
        }
        full_bandwidth_reached_ = ++full_rounds_ >= kFullBandwidthRounds;
    }
    void check_drain(TcpState& tcp, Time now) {
        if (mode_ == Mode::kStartup && full_bandwidth_reached_) {
            mode_ = Mode::kDrain;
            tcp.ssthresh = quantised(kUnit);
        }
        if (mode_ == Mode::kDrain && in_network(tcp, tcp.in_flight(), now) <= quantised(kUnit)) enter_probe_bw(tcp);
    }
    void enter_probe_bw(const TcpState& tcp) {
        mode_ = Mode::kProbeBw;
        // Any phase but the draining one, at random (draft section 4.3.4.3), then on to the next.
        cycle_ = kCycle.size() - 1 - draws_.bits(draw_++) % (kCycle.size() - 1);
        cycle_ = (cycle_ + 1) % kCycle.size();
        cycle_start_ = tcp.delivered_ns;
    }
    void update_min_rtt(TcpState& tcp, const RateSample& sample, Time now) {
        const Time window = scaled_ ? std::max(constants_->bbr_min_rtt_window, 10 * std::max<Time>(tcp.srtt_ns, 1))
                                    : constants_->bbr_min_rtt_window;
        const bool expired = passed(min_rtt_stamp_, window, now);
        const Time rtt = sample.rtt_ns < 0 || scaled_ ? sample.rtt_ns : stamp(now) - stamp(now - sample.rtt_ns);
        if (rtt >= 0 && (rtt < min_rtt_ || (expired && !sample.is_ack_delayed))) {
            min_rtt_ = rtt;
            min_rtt_stamp_ = now;
        }
        if (expired && !idle_restart_ && mode_ != Mode::kProbeRtt) {
            mode_ = Mode::kProbeRtt;
            save_cwnd(tcp);
            probe_start_ = kNever;
        }
        if (mode_ == Mode::kProbeRtt) probe_rtt(tcp, now);
        if (sample.delivered > 0) idle_restart_ = false;
    }
    // Linux's clock is one of (emulated) microseconds, so that equal round trips differ by one now and then: enough for a
    // new minimum, which puts PROBE_RTT off.
    Time stamp(Time at) const {
        return static_cast<Time>(std::floor(static_cast<double>(at) * ticks_per_ns_) * tick_ns_);
    }
    std::int64_t probe_rtt_window() const {
        return scaled_ ? std::max(kMinCwnd, target_window(bandwidth(), kUnit / 2)) : kMinCwnd;
    }
    void probe_rtt(TcpState& tcp, Time now) {
        tcp.app_limited = std::max<std::uint64_t>(tcp.delivered + static_cast<std::uint64_t>(tcp.in_flight()), 1);
        if (probe_start_ == kNever && tcp.in_flight() <= probe_rtt_window()) {
            probe_start_ = now;
            probe_round_done_ = false;
            next_rtt_delivered_ = tcp.delivered;
        } else if (probe_start_ != kNever) {
            probe_round_done_ = probe_round_done_ || round_start_;
            if (probe_round_done_) check_probe_rtt(tcp, now);
        }
    }
    void check_probe_rtt(TcpState& tcp, Time now) {
        if (probe_start_ == kNever || !passed(probe_start_, constants_->bbr_probe_rtt, now)) return;
        min_rtt_stamp_ = now;
        tcp.cwnd = std::max(tcp.cwnd, saved_cwnd_);
        if (full_bandwidth_reached_)
            enter_probe_bw(tcp);
        else
            mode_ = Mode::kStartup;
    }

    // ----------------------------------------------------------------- the long-term estimator (bbr_lt_bw_sampling)
    void start_stretch(const TcpState& tcp) {
        stretch_start_ = tcp.delivered_ns;
        stretch_delivered_ = tcp.delivered;
        stretch_lost_ = tcp.lost;
        stretch_rounds_ = 0;
    }
    void forget_police(const TcpState& tcp) {
        policed_rate_ = 0;
        policed_ = in_stretch_ = false;
        start_stretch(tcp);
    }
    void find_police(TcpState& tcp, const RateSample& sample) {
        if (scaled_) return;
        if (policed_) {
            if (mode_ != Mode::kProbeBw || !round_start_ || ++stretch_rounds_ < kPolicedFor) return;
            forget_police(tcp);
            return enter_probe_bw(tcp);
        }
        if (!in_stretch_) {
            if (sample.losses == 0) return;
            start_stretch(tcp);
            in_stretch_ = true;
        }
        if (sample.is_app_limited) return forget_police(tcp);
        if (round_start_) ++stretch_rounds_;
        if (stretch_rounds_ < kPolicedRounds) return;
        if (stretch_rounds_ > 4 * kPolicedRounds) return forget_police(tcp);
        if (sample.losses == 0) return;
        const std::uint64_t lost = tcp.lost - stretch_lost_, delivered = tcp.delivered - stretch_delivered_;
        if (delivered == 0 || lost * kUnit < kPolicedLoss * delivered) return;
        const double ms = std::floor(static_cast<double>(tcp.delivered_ns) * ticks_per_ns_ / 1e3) -
                          std::floor(static_cast<double>(stretch_start_) * ticks_per_ns_ / 1e3);
        if (ms < 1) return;
        end_stretch(tcp, whole(static_cast<double>(delivered) * kRateUnit / (1e3 * ms)));
    }
    void end_stretch(const TcpState& tcp, double rate) {
        const double apart = std::abs(rate - policed_rate_);
        if (policed_rate_ > 0 && (apart * kUnit <= static_cast<double>(kPolicedAlike) * policed_rate_ ||
                                  bytes_per_s(tcp, apart, kUnit) <= kPolicedBytes)) {
            policed_rate_ = whole((rate + policed_rate_) / 2);
            policed_ = true;
            pacing_gain_ = kUnit;
            stretch_rounds_ = 0;
            return;
        }
        policed_rate_ = rate;
        start_stretch(tcp);
    }

    void set_gains() {
        static constexpr std::int64_t kCwndGains[] = {kHighGain, kHighGain, kCwndGain, kUnit};
        static constexpr std::int64_t kPacingGains[] = {kHighGain, kDrainGain, kUnit, kUnit};
        cwnd_gain_ = kCwndGains[static_cast<int>(mode_)];
        pacing_gain_ = mode_ == Mode::kProbeBw && !policed_ ? kCycle[cycle_] : kPacingGains[static_cast<int>(mode_)];
    }
    // bbr_rate_bytes_per_sec(): emulated seconds, mss_cache a segment.
    double bytes_per_s(const TcpState& tcp, double rate, std::int64_t gain) const {
        const double gained = whole(rate * tcp.mss_cache() * static_cast<double>(gain) / kUnit);
        return whole(gained * (1e6 * kPacingMargin) / kRateUnit);
    }
    void set_pacing(TcpState& tcp, std::int64_t gain) {
        const double rate = bandwidth();
        if (rate <= 0) return;
        if (full_bandwidth_reached_ || bytes_per_s(tcp, rate, gain) > paced_) start_pacing(tcp, rate, gain);
    }
    void start_pacing(TcpState& tcp, double rate, std::int64_t gain) {
        const double bytes = bytes_per_s(tcp, rate, gain);
        if (bytes == paced_) return;
        paced_ = bytes;
        // tcp_update_skb_after_send() spends the payload alone: a packet takes wire_bytes / pacing as mss / rate.
        const double payload = scaled_ ? tcp.mss_cache() : tcp.mss_bytes;
        tcp.pacing_bytes_per_ns = bytes * tcp.wire_bytes / payload / (kNsPerS * constants_->scale);
        if (!scaled_) send_ = send_segments(tcp);
    }
    // bbr_tso_segs_goal(); the rate and the millisecond are emulated ones.
    std::int64_t send_segments(const TcpState& tcp) const {
        const double bytes = std::min(std::floor(paced_ / kSendShare), kLargestSend);
        return std::max(static_cast<std::int64_t>(bytes / tcp.mss_cache()),
                        std::int64_t{paced_ * 8 < kSlowBps ? 1 : 2});
    }
    bool recover_or_restore(TcpState& tcp, const RateSample& sample, std::int64_t& cwnd) {
        const CaState state = tcp.ca_state;
        if (sample.losses > 0) cwnd = std::max<std::int64_t>(cwnd - sample.losses, 1);
        if (state == CaState::kRecovery && previous_state_ != CaState::kRecovery) {
            conserve_packets_ = true;
            next_rtt_delivered_ = tcp.delivered;
            cwnd = tcp.in_flight() + sample.acked_sacked;
        } else if (previous_state_ != CaState::kOpen && state == CaState::kOpen) {
            cwnd = std::max(cwnd, saved_cwnd_);
            conserve_packets_ = false;
        }
        previous_state_ = state;
        if (!conserve_packets_) return false;
        cwnd = std::max(cwnd, tcp.in_flight() + sample.acked_sacked);
        return true;
    }
    void set_cwnd(TcpState& tcp, const RateSample& sample) {
        std::int64_t cwnd = tcp.cwnd;
        if (sample.acked_sacked > 0 && !recover_or_restore(tcp, sample, cwnd)) {
            const std::int64_t target = round_up(target_window(bandwidth(), cwnd_gain_) + aggregation_window());
            if (full_bandwidth_reached_)
                cwnd = std::min(cwnd + sample.acked_sacked, target);
            else if (cwnd < target || tcp.delivered < static_cast<std::uint64_t>(tcp.initial_cwnd))
                cwnd += sample.acked_sacked;
            cwnd = std::max(cwnd, kMinCwnd);
        }
        if (mode_ == Mode::kProbeRtt) cwnd = std::min(cwnd, probe_rtt_window());
        tcp.cwnd = std::max<std::int64_t>(cwnd, 1);
    }

    const bool scaled_;
    const ConstantsNs* constants_ = nullptr;
    std::int64_t send_ = 1;  // segments
    double tick_ns_ = 0, ticks_per_ns_ = 0;
    double paced_ = 0;  // sk_pacing_rate
    Stream draws_;
    std::uint64_t draw_ = 0;
    Mode mode_ = Mode::kStartup;
    RoundMax bandwidth_;
    Time min_rtt_ = kNever, min_rtt_stamp_ = 0, cycle_start_ = 0;
    Time probe_start_ = kNever;  // when PROBE_RTT had its window; kNever: not yet
    std::uint64_t rounds_ = 0, next_rtt_delivered_ = 0;
    double full_bandwidth_ = 0;
    std::int64_t cwnd_gain_ = kHighGain, pacing_gain_ = kHighGain;  // 256ths
    int full_rounds_ = 0;
    std::size_t cycle_ = 0;
    bool joined_ = false, round_start_ = false, conserve_packets_ = false, full_bandwidth_reached_ = false;
    bool idle_restart_ = false, probe_round_done_ = false;
    CaState previous_state_ = CaState::kOpen;
    std::int64_t saved_cwnd_ = 0, epoch_acked_ = 0;
    Time epoch_start_ = 0;
    std::array<std::int64_t, 2> extra_acked_{};
    std::size_t extra_index_ = 0;
    std::uint64_t extra_rounds_ = 0;
    bool policed_ = false, in_stretch_ = false;
    double policed_rate_ = 0;  // of the last stretch; while policed, the rate
    Time stretch_start_ = 0;
    std::uint64_t stretch_delivered_ = 0, stretch_lost_ = 0, stretch_rounds_ = 0;
};

template <bool kScaled>
std::unique_ptr<CongestionControl> make_bbr(const ControlSetup&) {
    return std::make_unique<Bbr>(kScaled);
}

const Registered<ControlEntry> kBbr{{"bbr", make_bbr<false>}};
const Registered<ControlEntry> kBbrScaled{{"bbr-scaled", make_bbr<true>}};

}  // namespace

}  // namespace dstcc
