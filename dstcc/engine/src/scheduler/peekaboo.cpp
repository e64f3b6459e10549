// peekaboo: a bandit that learns whether to wait (Wu, Alay, Brunstrom, Ferlin, Caso, IEEE JSAC 38(10), 2020).
//
//   f: least SRTT of all; while it has room, send on it.  Else, s: least SRTT of those with room, choose by LinUCB
//     wait   until f has room again            transmit   on s
//   x = (cwnd, in flight, send window) / SRTT of f and of s        six features
//   reward = MSS / (time from the decision to the ACK of the segment it was about)
//   learning: the arm with the higher bound, alpha = 0.75
//   then: the arm with the higher mean, but the other one in a share of the cases (stochastic adjustment):
//         "wait" is heeded in 70 %, "transmit" in 90 % of them
//
// alpha and the shares are those of the authors' MPQUIC code. Features come as shares of both paths' rates
// cwnd_f / SRTT_f + cwnd_s / SRTT_s, the reward as SRTT_f over the time, so that the prior weighs the same at any round
// trip. The paper goes back to learning when it sees the paths change; here the models never stop learning.
#include <deque>

#include "scheduler/linucb.hpp"
#include "scheduler/rules.hpp"
#include "scheduler/scheduler.hpp"

namespace dstcc {
namespace rules {

std::array<double, 6> peekaboo_features(double cwnd_f, double in_flight_f, Time srtt_f, double cwnd_s,
                                        double in_flight_s, Time srtt_s, std::int64_t room_bytes, double mss_bytes) {
    const double rate_f = 1.0 / static_cast<double>(std::max<Time>(srtt_f, 1));
    const double rate_s = 1.0 / static_cast<double>(std::max<Time>(srtt_s, 1));
    // Without a limit the send window is what both windows could use.
    const double window = room_bytes == kNoLimit ? cwnd_f + cwnd_s : static_cast<double>(room_bytes) / mss_bytes;
    const double unit = 1.0 / (cwnd_f * rate_f + cwnd_s * rate_s);
    return {cwnd_f * rate_f * unit, in_flight_f * rate_f * unit, window * rate_f * unit,
            cwnd_s * rate_s * unit, in_flight_s * rate_s * unit, window * rate_s * unit};
}

}  // namespace rules

namespace {

constexpr double kAlpha = 0.75;  // width of the confidence bound, the authors' code
constexpr double kWaitHeeded = 0.7, kSendHeeded = 0.9;
constexpr int kLearning = 500;  // rewards before the adjustment sets in: some 80 for each of the six features

using Arm = LinearArm<6>;

class Peekaboo final : public Scheduler {
public:
    explicit Peekaboo(const SchedulerSetup& setup) : draws_(setup.seed, kStreamScheduler), open_(setup.paths) {}
    bool wants_feedback() const override { return true; }

    void on_ack(int path, std::int64_t, Time, Time now) override {
        auto& open = open_[static_cast<std::size_t>(path)];
        while (!open.empty() && open.front().number < open.front().sender->tcp().snd_una) {
            const Decision& d = open.front();
            const auto took = static_cast<double>(std::max<Time>(now - d.at_ns, 1));
            (d.waited ? wait_ : send_).update(d.x, d.reference_ns / took);
            ++rewards_;
            open.pop_front();
        }
    }

    int pick(const std::vector<Path>& paths, SubflowSet ready, const Next& next) override {
        const int fast = fastest(paths, ready | next.busy), best = fastest(paths, ready);
        if ((peers_of(paths, fast) & bit_of(best)) != 0) {
            waiting_for_ = -1;
            return best;
        }
        if (waiting_for_ == fast) return -1;  // decided
        const Arm::Vector x = features(tcp_of(paths, fast), tcp_of(paths, best), next.room);
        const bool wait = decide(x);
        const auto about = static_cast<std::size_t>(wait ? fast : best);
        const Subflow* sender = paths[about].subflow;
        open_[about].push_back(
            {sender, sender->tcp().snd_nxt, next.now_ns, static_cast<double>(tcp_of(paths, fast).srtt_ns), wait, x});
        waiting_for_ = wait ? fast : -1;
        return wait ? -1 : best;
    }

private:
    struct Decision {
        const Subflow* sender;
        std::int64_t number;  // of the segment it is about
        Time at_ns;
        double reference_ns;
        bool waited;
        Arm::Vector x;
    };
    bool decide(const Arm::Vector& x) {
        if (rewards_ < kLearning) return wait_.bound(x, kAlpha) > send_.bound(x, kAlpha);
        const bool wait = wait_.mean(x) > send_.mean(x);
        const bool heeded = draws_.uniform(adjusted_++) <= (wait ? kWaitHeeded : kSendHeeded);
        return wait == heeded;
    }
    static Arm::Vector features(const TcpState& f, const TcpState& s, std::int64_t room) {
        return rules::peekaboo_features(static_cast<double>(f.cwnd), static_cast<double>(f.in_flight()), f.srtt_ns,
                                        static_cast<double>(s.cwnd), static_cast<double>(s.in_flight()), s.srtt_ns,
                                        room, f.mss_bytes);
    }

    Stream draws_;
    std::vector<std::deque<Decision>> open_;  // by the subflow whose ACK will tell
    Arm wait_, send_;
    int waiting_for_ = -1;
    std::int64_t rewards_ = 0;
    std::uint64_t adjusted_ = 0;
};

const Registered<SchedulerEntry> kEntry{{"peekaboo", make_scheduler<Peekaboo>}};

}  // namespace

}  // namespace dstcc
