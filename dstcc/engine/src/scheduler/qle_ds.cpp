// qle-ds: a RECONSTRUCTION of energy-aware data scheduling by tabular Q-learning (QLE-DS, Zhong et al., IEEE Transactions
// on Broadcasting, 2022). Of the paper we know that it learns a table over discretised energy and path state; no public
// text gives states, constants or energy model. All below is our choice.
//
//   Q(s, a) += max(0.1, 1 / n) (r + 0.5 max Q(s', .) - Q(s, a)),  n visits;  an epoch a decision, every tenth at random
//   a    all: by `minrtt`        fast: the path of least SRTT only        rest: the others only        (full: wait)
//   s    energy per byte of the last epoch, 1 = all on the cheapest path:  < 1.2, < 2, more
//        fast path: window in use < 1/2, < 1, full;  loss 0, < 2 %, more.   others: loss likewise;  RTT / RTT_f < 2, < 8, more
//   r    bytes acknowledged per second, over the most so far, - 0.5 min(energy per byte - 1, 1)
//   energy  every transmitter draws the same power while it sends: a byte costs its time on the line
//
// An epoch is a round trip of the slowest path, so the ACKs of what one epoch sends come in during the next: an action is
// judged two epochs on. Ties go to `all`: untaught it is `minrtt`.
#include <algorithm>
#include <array>

#include "scheduler/scheduler.hpp"

namespace dstcc {
namespace {

constexpr double kRate = 0.1, kDiscount = 0.5, kExplore = 0.1, kEnergyWeight = 0.5;
constexpr std::size_t kStates = 3 * 3 * 3 * 3 * 3;
enum Action : std::size_t { kAll, kFast, kRest, kActions };

int level(double value, double low, double high) { return value < low ? 0 : value < high ? 1 : 2; }

class QLearning final : public Scheduler {
public:
    explicit QLearning(const SchedulerSetup& setup)
        : draws_(setup.seed, kStreamScheduler),
          cost_(setup.paths, 0),
          seen_(setup.paths) {}
    bool wants_feedback() const override { return true; }
    void on_sent(int path, std::int64_t bytes, Time, Time) override {
        sent_bytes_ += static_cast<double>(bytes);
        energy_ += static_cast<double>(bytes) * cost_[static_cast<std::size_t>(path)];
    }
    void on_ack(int, std::int64_t acked_bytes, Time, Time) override {
        acked_bytes_ += static_cast<double>(acked_bytes);
    }

    int pick(const std::vector<Path>& paths, SubflowSet ready, const Next& next) override {
        const SubflowSet all = ready | next.busy;
        if (next.now_ns >= epoch_end_) begin_epoch(paths, all, next.now_ns);
        const int fast = fastest(paths, all);
        const SubflowSet rest = all & ~peers_of(paths, fast);
        SubflowSet wanted = all;
        if (action_ == kFast) wanted = peers_of(paths, fast);
        if (action_ == kRest && rest != 0) wanted = rest;
        return (ready & wanted) != 0 ? fastest(paths, ready & wanted) : -1;
    }

private:
    struct Epoch {
        std::size_t state = 0;
        Action action = kAll;
        double energy_per_byte = 1;
    };
    struct Counts {
        std::uint64_t lost = 0, delivered = 0;
    };

    void begin_epoch(const std::vector<Path>& paths, SubflowSet all, Time now) {
        if (epochs_ == 0) weigh_energy(paths);
        if (sent_bytes_ > 0) current_.energy_per_byte = energy_ / sent_bytes_;
        const std::size_t state = observe(paths, all, current_.energy_per_byte);
        if (epochs_ >= 2) learn(now);
        before_ = current_;
        current_ = {state, choose(state), 1};
        action_ = current_.action;
        Time longest = 1;
        for (SubflowSet set = all; set != 0; set &= set - 1)
            longest = std::max(longest, tcp_of(paths, lowest(set)).srtt_ns);
        epoch_begin_ = now;
        epoch_end_ = now + longest;
        sent_bytes_ = energy_ = acked_bytes_ = 0;
        ++epochs_;
    }

    // What the last epoch's ACKs say is due to the action of the one before.
    void learn(Time now) {
        const double rate = acked_bytes_ / static_cast<double>(now - epoch_begin_);
        best_rate_ = std::max(best_rate_, rate);
        const double waste = std::min(before_.energy_per_byte - 1, 1.0);
        const double reward = (best_rate_ > 0 ? rate / best_rate_ : 0) - kEnergyWeight * waste;
        const auto& next = table_[current_.state];
        double& value = table_[before_.state][before_.action];
        const int visits = ++visits_[before_.state][before_.action];
        value +=
            std::max(kRate, 1.0 / visits) * (reward + kDiscount * *std::max_element(next.begin(), next.end()) - value);
    }

    Action choose(std::size_t state) const {
        if (draws_.uniform(2 * epochs_) <= kExplore)
            return static_cast<Action>(draws_.bits(2 * epochs_ + 1) % kActions);
        const auto& values = table_[state];
        return static_cast<Action>(std::max_element(values.begin(), values.end()) - values.begin());
    }

    void weigh_energy(const std::vector<Path>& paths) {
        Time cheapest = kNever;
        for (const Path& path : paths) cheapest = std::min(cheapest, path.transmitter->slot_ns());
        for (std::size_t i = 0; i < paths.size(); ++i)
            cost_[i] = static_cast<double>(paths[i].transmitter->slot_ns()) / static_cast<double>(cheapest);
    }

    std::size_t observe(const std::vector<Path>& paths, SubflowSet all, double energy_per_byte) {
        const int fast = fastest(paths, all);
        const TcpState& f = tcp_of(paths, fast);
        double lost_rest = 0, seen_rest = 0, lost_fast = 0, seen_fast = 0, longest = 0;
        for (SubflowSet set = all; set != 0; set &= set - 1) {
            const int i = lowest(set);
            const TcpState& tcp = tcp_of(paths, i);
            Counts& last = seen_[static_cast<std::size_t>(i)];
            const auto lost = static_cast<double>(tcp.lost - last.lost);
            const double seen = lost + static_cast<double>(tcp.delivered - last.delivered);
            last = {tcp.lost, tcp.delivered};
            const bool on_fast = (peers_of(paths, fast) & bit_of(i)) != 0;
            (on_fast ? lost_fast : lost_rest) += lost;
            (on_fast ? seen_fast : seen_rest) += seen;
            longest = std::max(longest, static_cast<double>(tcp.srtt_ns));
        }
        const auto loss_level = [](double lost, double seen) { return lost == 0 ? 0 : lost < 0.02 * seen ? 1 : 2; };
        const int digits[] = {level(energy_per_byte, 1.2, 2),
                              level(static_cast<double>(f.in_flight()) / static_cast<double>(f.cwnd), 0.5, 1),
                              loss_level(lost_fast, seen_fast), loss_level(lost_rest, seen_rest),
                              level(longest / static_cast<double>(std::max<Time>(f.srtt_ns, 1)), 2, 8)};
        std::size_t state = 0;
        for (const int digit : digits) state = 3 * state + static_cast<std::size_t>(digit);
        return state;
    }

    Stream draws_;
    std::array<std::array<double, kActions>, kStates> table_{};
    std::array<std::array<int, kActions>, kStates> visits_{};
    std::vector<double> cost_;  // energy a byte, 1 on the cheapest path
    std::vector<Counts> seen_;
    Epoch before_, current_;
    Action action_ = kAll;
    Time epoch_begin_ = 0, epoch_end_ = 0;
    std::uint64_t epochs_ = 0;
    double best_rate_ = 0, sent_bytes_ = 0, energy_ = 0, acked_bytes_ = 0;
};

const Registered<SchedulerEntry> kEntry{{"qle-ds", make_scheduler<QLearning>}};

}  // namespace

}  // namespace dstcc
