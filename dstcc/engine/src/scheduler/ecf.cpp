// ecf: earliest completion first (Lim, Nahum, Towsley, Gibbens, CoNEXT 2017, algorithm 1; mptcp_ecf.c of MPTCP v0.95).
//
//   fast = least SRTT of all, best = least SRTT of those with room;  best == fast: send
//   k = unsent segments, x_s = max(k, cwnd_s), delta = max(sigma_f, sigma_s)
//   if (1 + k / cwnd_f) RTT_f < (1 + waiting beta) (RTT_s + delta):      the fast path, once free, is done first
//       if RTT_s x_s / cwnd_s >= 2 RTT_f + delta:  waiting = 1, wait     and the slow one is slow enough to wait
//       else send on best
//   else waiting = 0, send on best
//
// sigma is the smoothed mean deviation of the RTT (RFC 6298), without Linux's floor of half the least timeout.
#include <algorithm>

#include "scheduler/scheduler.hpp"
#include "scheduler/rules.hpp"

namespace dstcc {
namespace rules {

constexpr double kBeta = 0.25;  // hysteresis, the paper's section 4

Ecf ecf(double unsent, double cwnd_fast, double rtt_fast, double cwnd_slow, double rtt_slow, double delta,
        bool waiting) {
    // Both sides times the window: no division.
    const double margin = waiting ? 1 + kBeta : 1;
    if ((cwnd_fast + unsent) * rtt_fast >= margin * cwnd_fast * (rtt_slow + delta)) return Ecf::kSend;
    const double slow_segments = std::max(unsent, cwnd_slow);
    return rtt_slow * slow_segments >= cwnd_slow * (2 * rtt_fast + delta) ? Ecf::kWait : Ecf::kSendForNow;
}

}  // namespace rules

namespace {

class EarliestCompletion final : public Scheduler {
public:
    explicit EarliestCompletion(const SchedulerSetup& setup) : per_segment_(1.0 / setup.transport.mss_bytes) {}
    int pick(const std::vector<Path>& paths, SubflowSet ready, const Next& next) override {
        const int best = fastest(paths, ready), fast = fastest(paths, ready | next.busy);
        if ((peers_of(paths, fast) & bit_of(best)) != 0) return best;
        const TcpState& s = tcp_of(paths, best);
        const TcpState& f = tcp_of(paths, fast);
        const Time delta = std::max(paths[static_cast<std::size_t>(best)].subflow->rtt_deviation(),
                                    paths[static_cast<std::size_t>(fast)].subflow->rtt_deviation());
        const auto verdict = rules::ecf(static_cast<double>(next.backlog) * per_segment_, static_cast<double>(f.cwnd),
                                        static_cast<double>(f.srtt_ns), static_cast<double>(s.cwnd),
                                        static_cast<double>(s.srtt_ns), static_cast<double>(delta), waiting_);
        if (verdict == rules::Ecf::kSend) waiting_ = false;
        if (verdict != rules::Ecf::kWait) return best;
        waiting_ = true;
        return -1;
    }

private:
    double per_segment_;
    bool waiting_ = false;
};

const Registered<SchedulerEntry> kEntry{{"ecf", make_scheduler<EarliestCompletion>}};

}  // namespace

}  // namespace dstcc
