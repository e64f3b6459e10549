// Remy: Winstein, Balakrishnan, "TCP ex Machina: computer-generated congestion control", SIGCOMM 2013. A table of rules,
// made by a trainer (dstcc/remy) and given as the parameter `rules`, maps a memory of four numbers to an action.
//
//   memory   ack gap and send gap (means over ACKs, weight 1/8), slow ack gap (1/256), RTT / RTTmin
//   action   W <- m W + b, and at least r RTTmin / W between two segments
//
// Losses are repeated and otherwise ignored, as in RemyCC. Deviations, so that one table serves a LAN and Mars alike: gaps
// are shares of RTTmin; the action is taken once a round trip, not per ACK, where m would have to know the window; its
// least gap is a share of an even spacing. A point that no rule holds takes the nearest one's (the trained table has none).
#include <array>

#include "congestion/control.hpp"

namespace dstcc {
namespace {

constexpr double kFast = 1.0 / 8, kSlow = 1.0 / 256;  // RemyCC's weights
constexpr double kLeastWindow = 2, kMostWindow = 1e9;

// A box of the memory and its action.
struct Rule {
    std::array<double, 4> from{}, to{};
    double multiple = 1, increment = 1, spacing = 0;
};
constexpr std::size_t kNumbers = 11;  // of a rule, in this order, in the parameter `rules`

std::vector<Rule> read_rules(const std::vector<double>& numbers) {
    if (numbers.empty() || numbers.size() % kNumbers != 0)
        throw std::invalid_argument("remy: rules must be 11 numbers for each rule, at least one (dstcc/remy/table.py)");
    std::vector<Rule> rules(numbers.size() / kNumbers);
    const double* at = numbers.data();
    for (Rule& rule : rules) {
        for (double& from : rule.from) from = *at++;
        for (double& to : rule.to) to = *at++;
        rule.multiple = *at++;
        rule.increment = *at++;
        rule.spacing = *at++;
    }
    return rules;
}

class Remy final : public CongestionControl {
public:
    explicit Remy(const ControlSetup& setup) : rules_(read_rules(setup.all("rules"))) {}
    bool owns_window() const override { return true; }
    void init(TcpState& tcp, Time now) override {
        window_ = static_cast<double>(tcp.cwnd);
        last_ack_ = last_sent_ = now;
        round_end_ = tcp.snd_nxt;
    }
    std::int64_t ssthresh(TcpState& tcp, Time) override { return tcp.cwnd; }
    void cong_avoid(TcpState&, std::int64_t, Time) override {}
    bool wants_rates() const override { return true; }
    bool cong_control(TcpState& tcp, const RateSample& sample, Time now) override {
        if (sample.acked_sacked <= 0 || sample.rtt_ns < 0) return true;
        const Time sent = now - sample.rtt_ns;
        const double share = sample.acked_sacked == 1 ? 1.0 : 1.0 / static_cast<double>(sample.acked_sacked);
        if (acks_ > 0) {
            const double ack_gap = static_cast<double>(now - last_ack_) * share;
            const double send_gap = static_cast<double>(std::max<Time>(sent - last_sent_, 0)) * share;
            ack_gap_ += acks_ == 1 ? ack_gap : kFast * (ack_gap - ack_gap_);
            send_gap_ += acks_ == 1 ? send_gap : kFast * (send_gap - send_gap_);
            slow_gap_ += acks_ == 1 ? ack_gap : kSlow * (ack_gap - slow_gap_);
        }
        ++acks_;
        last_ack_ = now;
        last_sent_ = std::max(last_sent_, sent);
        if (tcp.snd_una <= round_end_) return true;
        round_end_ = tcp.snd_nxt;
        act(tcp, sample.rtt_ns);
        return true;
    }

private:
    void act(TcpState& tcp, Time rtt) {
        const auto least = static_cast<double>(tcp.min_rtt_ns);
        const std::array<double, 4> memory = {ack_gap_ / least, send_gap_ / least, slow_gap_ / least,
                                              static_cast<double>(rtt) / least};
        const Rule& rule = rule_for(rules_, memory);
        window_ = std::clamp(rule.multiple * window_ + rule.increment, kLeastWindow, kMostWindow);
        tcp.cwnd = static_cast<std::int64_t>(window_);
        // Twice the even rate is no pacing to speak of, and r = 0 is none at all.
        tcp.pacing_bytes_per_ns = rule.spacing > 0 ? window_ * tcp.wire_bytes / (rule.spacing * least) : 0;
    }
    static const Rule& rule_for(const std::vector<Rule>& rules, const std::array<double, 4>& memory) {
        const Rule* nearest = &rules.front();
        double shortest = 1e300;
        for (const Rule& rule : rules) {
            double away = 0;
            for (std::size_t i = 0; i < memory.size(); ++i)
                away += std::max({rule.from[i] - memory[i], memory[i] - rule.to[i], 0.0});
            if (away < shortest) {
                shortest = away;
                nearest = &rule;
            }
        }
        return *nearest;
    }

    std::vector<Rule> rules_;
    double window_ = 0, ack_gap_ = 0, send_gap_ = 0, slow_gap_ = 0;  // segments; ns
    std::int64_t round_end_ = 0, acks_ = 0;
    Time last_ack_ = 0, last_sent_ = 0;
};

const Registered<ControlEntry> kEntry{{"remy", make_control<Remy>, {"rules"}}};

}  // namespace

}  // namespace dstcc
