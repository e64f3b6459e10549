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
// Left out: the long-term (policer) estimator, which loss below 20 % never triggers.
#include <array>
#include <cmath>

#include "congestion.hpp"

namespace dstcc {
namespace {

constexpr double kHighGain = 739 / 256.0;       // 2/ln 2, rounded up in Linux's 256ths: doubles the rate each round
constexpr double kDrainGain = 88 / 256.0;       // its inverse, rounded down: empties in one round what STARTUP queued
constexpr double kCwndGain = 2;                 // room for delayed and aggregated ACKs
constexpr std::array<double, 8> kCycle = {1.25, 0.75, 1, 1, 1, 1, 1, 1};
constexpr std::int64_t kMinCwnd = 4;            // enough to keep the delayed-ACK clock running
constexpr double kFullBandwidthGrowth = 1.25;   // STARTUP ends after three rounds below this growth
constexpr int kFullBandwidthRounds = 3;
constexpr std::uint64_t kBandwidthRounds = 10;
constexpr double kPacingMargin = 0.99;
constexpr std::int64_t kSends = 3;              // one in the sender's queue, one leaving it, one at the receiver
constexpr double kSendNs = 1e9 / 1024;          // a send is what pacing gives in that time (sk_pacing_shift), at least
constexpr double kSlowBps = 1.2e6;              // one segment below this rate, two above (bbr_min_tso_segs)
constexpr std::int64_t kLargestSend = 127;
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
        tick_ns_ = 1e3 * tcp.constants->scale;
        ticks_per_ns_ = 1 / tick_ns_;
        draws_ = Stream(tcp.seed, kStreamBbr, tcp.subflow);
        min_rtt_ = tcp.min_rtt_ns;
        min_rtt_stamp_ = now;
        next_rtt_delivered_ = tcp.delivered;
        const Time rtt = tcp.srtt_ns > 0 ? tcp.srtt_ns : 1'000'000;
        // bbr_rate_bytes_per_sec() counts mss_cache a segment, and tcp_update_skb_after_send() spends the payload.
        paced_bytes_ = scaled_ ? tcp.wire_bytes : static_cast<double>(tcp.wire_bytes) * tcp.mss_cache() / tcp.mss_bytes;
        tcp.linux_pacing = !scaled_;
        // What is written first finds nothing in flight: to tcp_rate_check_app_limited() that is an application's limit.
        // MPTCP 6.1 never asks it.
        tcp.marks_app_limited = scaled_ || tcp.option_bytes == 0;
        if (!scaled_ && tcp.option_bytes == 0) tcp.app_limited = 1;
        start_pacing(tcp, kPacingMargin * kHighGain * static_cast<double>(tcp.cwnd) * paced_bytes_ / static_cast<double>(rtt));
    }
    std::int64_t ssthresh(TcpState& tcp, Time) override {
        save_cwnd(tcp);
        return tcp.ssthresh;
    }
    void cong_avoid(TcpState&, std::int64_t, Time) override {}
    bool governs_recovery() const override { return true; }
    void on_event(TcpState& tcp, CaEvent event, Time now) override {
        if (event == CaEvent::kLossState) {
            previous_state_ = CaState::kLoss;
            full_bandwidth_ = 0;
            round_start_ = true;
        } else if (event == CaEvent::kIdleRestart && tcp.app_limited != 0) {
            // Linux bbr_cwnd_event(TX_START): what left idle returns at the estimated bandwidth, not at a probing gain.
            idle_restart_ = true;
            epoch_start_ = now;
            epoch_acked_ = 0;
            if (mode_ == Mode::kProbeBw) {
                set_pacing(tcp, 1);
            } else if (mode_ == Mode::kProbeRtt && probe_done_ != 0 && now > probe_done_) {
                leave_probe_rtt(tcp, now);
            }
        }
    }
    void on_undo(TcpState& tcp, Time) override {
        full_bandwidth_ = 0;
        full_rounds_ = 0;
        tcp.cwnd = std::max(tcp.cwnd, saved_cwnd_);
    }
    bool wants_rates() const override { return true; }
    bool cong_control(TcpState& tcp, const RateSample& sample, Time now) override {
        update_bandwidth(tcp, sample);
        update_aggregation(tcp, sample, now);
        update_cycle(tcp, sample);
        check_full_bandwidth(sample);
        check_drain(tcp);
        update_min_rtt(tcp, sample, now);
        set_gains();
        set_pacing(tcp, pacing_gain_);
        set_cwnd(tcp, sample);
        return true;
    }

private:
    double bandwidth() const { return bandwidth_.best(); }  // segments per ns

    std::int64_t target_window(double gain) const {
        if (min_rtt_ == kNever) return 10;  // TCP_INIT_CWND until an RTT is known
        return static_cast<std::int64_t>(std::ceil(bandwidth() * static_cast<double>(min_rtt_) * gain));
    }
    std::int64_t quantised(double gain) const {
        return round_up(target_window(gain));
    }
    std::int64_t round_up(std::int64_t window) const {
        window += kSends * send_;
        if (!scaled_) window += window & 1;
        return window + (mode_ == Mode::kProbeBw && cycle_ == 0 ? 2 : 0);
    }
    void save_cwnd(const TcpState& tcp) {
        saved_cwnd_ = previous_state_ == CaState::kOpen && mode_ != Mode::kProbeRtt ? tcp.cwnd
                                                                                   : std::max(saved_cwnd_, tcp.cwnd);
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
        const double rate = static_cast<double>(sample.delivered) / static_cast<double>(sample.interval_ns);
        if (!sample.is_app_limited || rate >= bandwidth()) bandwidth_.update(rate, rounds_, kBandwidthRounds);
    }
    void update_aggregation(TcpState& tcp, const RateSample& sample, Time now) {
        if (sample.acked_sacked <= 0 || sample.interval_ns <= 0) return;
        if (round_start_ && ++extra_rounds_ >= kExtraAckedRounds) {
            extra_rounds_ = 0;
            extra_index_ ^= 1;
            extra_acked_[extra_index_] = 0;
        }
        double expected = bandwidth() * static_cast<double>(now - epoch_start_);
        if (static_cast<double>(epoch_acked_) <= expected) {
            epoch_acked_ = 0;
            epoch_start_ = now;
            expected = 0;
        }
        epoch_acked_ += sample.acked_sacked;
        const auto extra = std::min<std::int64_t>(epoch_acked_ - static_cast<std::int64_t>(expected), tcp.cwnd);
        extra_acked_[extra_index_] = std::max(extra_acked_[extra_index_], extra);
    }
    std::int64_t aggregation_window(const TcpState& tcp) const {
        if (!full_bandwidth_reached_) return 0;
        const auto most = static_cast<std::int64_t>(bandwidth() * 1e8 * tcp.constants->scale);  // 100 emulated ms
        return std::min(std::max(extra_acked_[0], extra_acked_[1]), most);
    }
    void update_cycle(const TcpState& tcp, const RateSample& sample) {
        if (mode_ != Mode::kProbeBw) return;
        const bool full_length = tcp.delivered_ns - cycle_start_ > min_rtt_;
        const double gain = kCycle[cycle_];
        bool next = full_length;
        if (gain > 1)
            next = full_length && (sample.losses > 0 || sample.prior_in_flight >= quantised(gain));
        else if (gain < 1)
            next = full_length || sample.prior_in_flight <= quantised(1);
        if (next) {
            cycle_ = (cycle_ + 1) % kCycle.size();
            cycle_start_ = tcp.delivered_ns;
        }
    }
    void check_full_bandwidth(const RateSample& sample) {
        if (full_bandwidth_reached_ || !round_start_ || sample.is_app_limited) return;
        if (bandwidth() >= full_bandwidth_ * kFullBandwidthGrowth) {
            full_bandwidth_ = bandwidth();
            full_rounds_ = 0;
            return;
        }
        full_bandwidth_reached_ = ++full_rounds_ >= kFullBandwidthRounds;
    }
    void check_drain(TcpState& tcp) {
        if (mode_ == Mode::kStartup && full_bandwidth_reached_) {
            mode_ = Mode::kDrain;
            tcp.ssthresh = quantised(1);
        }
        if (mode_ == Mode::kDrain && tcp.in_flight() <= quantised(1)) enter_probe_bw(tcp);
    }
    void enter_probe_bw(const TcpState& tcp) {
        mode_ = Mode::kProbeBw;
        // Any phase but the draining one, at random (draft section 4.3.4.3), then on to the next.
        cycle_ = kCycle.size() - 1 - draws_.bits(draw_++) % (kCycle.size() - 1);
        cycle_ = (cycle_ + 1) % kCycle.size();
        cycle_start_ = tcp.delivered_ns;
    }
    void update_min_rtt(TcpState& tcp, const RateSample& sample, Time now) {
        const Time window = scaled_ ? std::max(tcp.constants->bbr_min_rtt_window, 10 * std::max<Time>(tcp.srtt_ns, 1))
                                    : tcp.constants->bbr_min_rtt_window;
        const bool expired = now > min_rtt_stamp_ + window;
        const Time rtt = sample.rtt_ns < 0 || scaled_ ? sample.rtt_ns : stamp(now) - stamp(now - sample.rtt_ns);
        if (rtt >= 0 && (rtt < min_rtt_ || expired)) {
            min_rtt_ = rtt;
            min_rtt_stamp_ = now;
        }
        if (expired && !idle_restart_ && mode_ != Mode::kProbeRtt) {
            mode_ = Mode::kProbeRtt;
            save_cwnd(tcp);
            probe_done_ = 0;
        }
        if (mode_ == Mode::kProbeRtt) probe_rtt(tcp, now);
        if (sample.delivered > 0) idle_restart_ = false;
    }
    // Linux's clock is one of (emulated) microseconds, so that equal round trips differ by one now and then: enough for a
    // new minimum, which puts PROBE_RTT off.
    Time stamp(Time at) const { return static_cast<Time>(std::floor(static_cast<double>(at) * ticks_per_ns_) * tick_ns_); }
    std::int64_t probe_rtt_window() const { return scaled_ ? std::max(kMinCwnd, target_window(0.5)) : kMinCwnd; }
    void probe_rtt(TcpState& tcp, Time now) {
        tcp.app_limited = std::max<std::uint64_t>(tcp.delivered + static_cast<std::uint64_t>(tcp.in_flight()), 1);
        if (probe_done_ == 0 && tcp.in_flight() <= probe_rtt_window()) {
            probe_done_ = now + tcp.constants->bbr_probe_rtt;
            probe_round_done_ = false;
            next_rtt_delivered_ = tcp.delivered;
        } else if (probe_done_ != 0) {
            probe_round_done_ = probe_round_done_ || round_start_;
            if (probe_round_done_ && now > probe_done_) leave_probe_rtt(tcp, now);
        }
    }
    void leave_probe_rtt(TcpState& tcp, Time now) {
        min_rtt_stamp_ = now;
        tcp.cwnd = std::max(tcp.cwnd, saved_cwnd_);
        if (full_bandwidth_reached_)
            enter_probe_bw(tcp);
        else
            mode_ = Mode::kStartup;
    }
    void set_gains() {
        static constexpr double kCwndGains[] = {kHighGain, kHighGain, kCwndGain, 1};
        static constexpr double kPacingGains[] = {kHighGain, kDrainGain, 0, 1};
        cwnd_gain_ = kCwndGains[static_cast<int>(mode_)];
        pacing_gain_ = mode_ == Mode::kProbeBw ? kCycle[cycle_] : kPacingGains[static_cast<int>(mode_)];
    }
    void set_pacing(TcpState& tcp, double gain) {
        const double rate = bandwidth() * paced_bytes_ * gain * kPacingMargin;
        if (rate <= 0 || rate == tcp.pacing_bytes_per_ns) return;
        if (full_bandwidth_reached_ || rate > tcp.pacing_bytes_per_ns) start_pacing(tcp, rate);
    }
    void start_pacing(TcpState& tcp, double rate) {
        tcp.pacing_bytes_per_ns = rate;
        if (!scaled_) send_ = send_segments(tcp);
    }
    // bbr_tso_segs_goal(); the rate and the millisecond are emulated ones.
    std::int64_t send_segments(const TcpState& tcp) const {
        const double emulated = tcp.pacing_bytes_per_ns * tcp.constants->scale;
        const auto whole = static_cast<std::int64_t>(emulated * kSendNs / tcp.mss_cache());
        return std::min(std::max<std::int64_t>(whole, emulated * 8e9 < kSlowBps ? 1 : 2), kLargestSend);
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
            const std::int64_t target = round_up(target_window(cwnd_gain_) + aggregation_window(tcp));
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
    std::int64_t send_ = 1;      // segments
    double tick_ns_ = 0, ticks_per_ns_ = 0;
    double paced_bytes_ = 0;     // of a segment, as the rate counts them
    Stream draws_;
    std::uint64_t draw_ = 0;
    Mode mode_ = Mode::kStartup;
    RoundMax bandwidth_;
    Time min_rtt_ = kNever, min_rtt_stamp_ = 0, cycle_start_ = 0, probe_done_ = 0;
    std::uint64_t rounds_ = 0, next_rtt_delivered_ = 0;
    double full_bandwidth_ = 0, cwnd_gain_ = kHighGain, pacing_gain_ = kHighGain;
    int full_rounds_ = 0;
    std::size_t cycle_ = 0;
    bool round_start_ = false, conserve_packets_ = false, full_bandwidth_reached_ = false;
    bool idle_restart_ = false, probe_round_done_ = false;
    CaState previous_state_ = CaState::kOpen;
    std::int64_t saved_cwnd_ = 0, epoch_acked_ = 0;
    Time epoch_start_ = 0;
    std::array<std::int64_t, 2> extra_acked_{};
    std::size_t extra_index_ = 0;
    std::uint64_t extra_rounds_ = 0;
};

}  // namespace

std::unique_ptr<CongestionControl> make_bbr() { return std::make_unique<Bbr>(false); }
std::unique_ptr<CongestionControl> make_bbr_scaled() { return std::make_unique<Bbr>(true); }

}  // namespace dstcc
