// agent: a window that is set from outside once per slot and held in between, paced over the round trip.
//
//   action  W <- clamp(alpha W + beta)   pace = W wire / srtt   (kernel-cc/law/dstcc_law.h, shared with the kernel)
//
// The module says mss_cache a segment, of which MPTCP's options are a part, and the kernel spends the payload: over MPTCP it
// paces by so much quicker, and here as well.
//
// `agent-bbr` keeps the window and leaves the pace to BBR, as Zhang et al. have it (Entropy 2023, section 3.1): BBR works
// on a window of its own that nobody sends by. It never enters PROBE_RTT: that state serves the window.
//
// `agent-rate`: W says the pace only, and the window is W beside what is under way at the action. A window cut to half
// would else be shut until half a round trip's packets are acknowledged, and the path lie idle while its rate is known.
//
//   steered    the engine never touches W: a loss is repaired and moves no window
//   fallback   NewReno: before the first action, after `silence_slots` (4) without one, or when the agent says so;
//              it starts from W with ssthresh = W (W / 2 amid a reduction), unpaced. The next action takes W back.
#include "../../../../kernel-cc/law/dstcc_law.h"
#include "congestion/control.hpp"

namespace dstcc {
namespace {

constexpr Time kNsPerUs = 1000;
constexpr double kFarNs = 4e18;                // longer than any run, and within a Time
constexpr const char* kHeadroom = "headroom";  // the window's cap in BDPs, or in initial windows; 0: none
constexpr const char* kSilence = "silence_slots";

// BBR behind a window of its own; what comes out is the pace.
class Pacer {
public:
    explicit Pacer(const ControlSetup& setup) : bbr_(registered<ControlEntry>("bbr")->make(setup)) {}
    void init(TcpState& tcp, Time now) {
        constants_ = *tcp.constants;
        constants_.bbr_min_rtt_window = kNever / 2;  // RTprop never expires
        cwnd_ = tcp.cwnd;
        within(tcp, [&] { bbr_->init(tcp, now); });
    }
    void cong_control(TcpState& tcp, const RateSample& sample, Time now) {
        within(tcp, [&] { bbr_->cong_control(tcp, sample, now); });
    }
    void on_event(TcpState& tcp, CaEvent event, Time now) {
        within(tcp, [&] { bbr_->on_event(tcp, event, now); });
    }
    void ssthresh(TcpState& tcp, Time now) {
        within(tcp, [&] { bbr_->ssthresh(tcp, now); });
    }
    double bytes_per_ns() const { return pace_; }

private:
    template <class Call>
    void within(TcpState& tcp, Call&& call) {
        const ConstantsNs* const constants = tcp.constants;
        const std::int64_t ssthresh = tcp.ssthresh;
        const double pace = tcp.pacing_bytes_per_ns;
        tcp.constants = &constants_;
        std::swap(tcp.cwnd, cwnd_);
        tcp.pacing_bytes_per_ns = pace_;
        call();
        pace_ = tcp.pacing_bytes_per_ns;
        std::swap(tcp.cwnd, cwnd_);
        tcp.pacing_bytes_per_ns = pace;
        tcp.ssthresh = ssthresh;
        tcp.constants = constants;
    }

    std::unique_ptr<CongestionControl> bbr_;
    ConstantsNs constants_{};
    std::int64_t cwnd_ = 0;
    double pace_ = 0;
};

class Agent final : public CongestionControl {
public:
    enum class Kind { kWindow, kRate, kBbr };
    Agent(Kind kind, const ControlSetup& setup) : kind_(kind) {
        const double headroom = setup.one(kHeadroom, 2), slots = setup.one(kSilence, 4);
        if (!(headroom >= 0 && headroom <= 1024))
            throw std::invalid_argument("agent: headroom must be 0 (none) to 1,024");
        if (!(slots >= 1)) throw std::invalid_argument("agent: silence_slots must be at least 1");
        headroom_ = static_cast<std::uint32_t>(headroom);
        silence_ns_ = static_cast<Time>(std::min(slots * static_cast<double>(setup.slot_ns), kFarNs));
        if (kind == Kind::kBbr) pacer_ = std::make_unique<Pacer>(setup);
    }
    void init(TcpState& tcp, Time now) override {
        established_ = true;
        told_ = tcp.cwnd;
        tcp.linux_pacing = kind_ == Kind::kWindow;
        if (pacer_) pacer_->init(tcp, now);
        tcp.agent.steered = acted_ns_ >= 0 && !silent(now);
        if (tcp.agent.steered) pace(tcp);
    }
    std::int64_t ssthresh(TcpState& tcp, Time now) override {
        heed_silence(tcp, now);
        if (pacer_) pacer_->ssthresh(tcp, now);
        if (tcp.agent.steered) tcp.ssthresh = tcp.cwnd;  // it means nothing until a fallback, which sets it
        return tcp.agent.steered ? tcp.cwnd : std::max<std::int64_t>(tcp.cwnd / 2, 2);
    }
    void cong_avoid(TcpState& tcp, std::int64_t acked, Time) override { reno_cong_avoid(tcp, acked); }
    void on_event(TcpState& tcp, CaEvent event, Time now) override {
        if (pacer_) pacer_->on_event(tcp, event, now);
    }
    bool wants_rates() const override { return true; }
    bool cong_control(TcpState& tcp, const RateSample& sample, Time now) override {
        measure(tcp, sample);
        if (pacer_) pacer_->cong_control(tcp, sample, now);
        heed_silence(tcp, now);
        steered_ = tcp.agent.steered;
        if (steered_) pace(tcp);
        return steered_;
    }
    void steer(TcpState& tcp, const WindowAction& action, Time now) override {
        if (action.kind == WindowAction::Kind::kFallBack) return fall_back(tcp);
        acted_ns_ = now;
        if (!established_) return;
        const std::uint32_t cap =
            dstcc_law_cap(dstcc_law_bdp_segments(&bdp_), static_cast<std::uint32_t>(tcp.initial_cwnd), headroom_);
        const auto before = static_cast<std::uint32_t>(std::min<std::int64_t>(own_window(tcp), DSTCC_LAW_CWND_MAX));
        const std::uint32_t window = dstcc_law_window(before, action.alpha_q16, action.beta, cap);
        tcp.agent.clamps += window != dstcc_law_window(before, action.alpha_q16, action.beta, DSTCC_LAW_CWND_MAX);
        told_ = window;
        tcp.cwnd = window + (kind_ == Kind::kRate ? tcp.in_flight() : 0);
        tcp.agent.steered = steered_ = true;
        pace(tcp);
    }
    bool owns_window() const override { return steered_; }

private:
    // The window that was set, which for a rate is not the one that applies.
    std::int64_t own_window(const TcpState& tcp) const {
        return kind_ == Kind::kRate && tcp.agent.steered ? told_ : tcp.cwnd;
    }
    bool silent(Time now) const { return now - acted_ns_ > silence_ns_; }
    void heed_silence(TcpState& tcp, Time now) {
        if (tcp.agent.steered && silent(now)) fall_back(tcp);
    }
    void fall_back(TcpState& tcp) {
        if (!tcp.agent.steered) return;
        tcp.agent.steered = steered_ = false;
        ++tcp.agent.fallbacks;
        tcp.cwnd = own_window(tcp);
        tcp.ssthresh = tcp.ca_state == CaState::kOpen ? tcp.cwnd : std::max<std::int64_t>(tcp.cwnd / 2, 2);
        tcp.prior_cwnd = tcp.cwnd;
        tcp.cwnd_cnt = 0;
        tcp.pacing_bytes_per_ns = 0;
    }
    void pace(TcpState& tcp) const {
        if (pacer_) {
            tcp.pacing_bytes_per_ns = pacer_->bytes_per_ns();
            return;
        }
        const std::uint32_t segment =
            kind_ == Kind::kRate ? tcp.wire_bytes : tcp.wire_bytes * tcp.mss_cache() / tcp.mss_bytes;
        const std::uint64_t rate = dstcc_law_pace(static_cast<std::uint32_t>(own_window(tcp)), segment,
                                                  static_cast<std::uint64_t>(tcp.srtt_ns / kNsPerUs));
        tcp.pacing_bytes_per_ns = static_cast<double>(rate) / kNsPerS;
    }
    void measure(TcpState& tcp, const RateSample& sample) {
        if (sample.interval_ns <= 0 || sample.delivered <= 0 || tcp.min_rtt_ns == kNever) return;
        if (sample.prior_delivered >= round_end_) {
            round_end_ = tcp.delivered;
            dstcc_law_round(&bdp_);
        }
        dstcc_law_sample(&bdp_, static_cast<std::uint64_t>(sample.delivered),
                         static_cast<std::uint64_t>(sample.interval_ns / kNsPerUs),
                         static_cast<std::uint64_t>(tcp.min_rtt_ns / kNsPerUs));
        tcp.agent.bdp_segments = dstcc_law_bdp_segments(&bdp_);
    }

    std::unique_ptr<Pacer> pacer_;
    dstcc_law_bdp bdp_{};
    std::uint64_t round_end_ = 0;
    Kind kind_;
    std::uint32_t headroom_ = 0;
    Time silence_ns_ = 0;  // after so long without an action it is NewReno
    std::int64_t told_ = 0;
    Time acted_ns_ = -1;
    bool established_ = false, steered_ = false;
};

template <Agent::Kind kKind>
std::unique_ptr<CongestionControl> make_agent(const ControlSetup& setup) {
    return std::make_unique<Agent>(kKind, setup);
}

const Registered<ControlEntry> kWindowAgent{{kAgent, make_agent<Agent::Kind::kWindow>, {kHeadroom, kSilence}, true}};
const Registered<ControlEntry> kRateAgent{{kAgentRate, make_agent<Agent::Kind::kRate>, {kHeadroom, kSilence}, true}};
const Registered<ControlEntry> kBbrAgent{{kAgentBbr, make_agent<Agent::Kind::kBbr>, {kHeadroom, kSilence}, true}};

}  // namespace

}  // namespace dstcc
