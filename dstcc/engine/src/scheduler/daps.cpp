// daps: delay-aware packet scheduling (Kuhn, Lochin, Mifdaoui, Sarwar, Mehani, Boreli, ICC 2014, algorithm 1).
//
//   D_i = SRTT_i / 2;  for t = 1 .. lcm(D):  for every path, least D first, whose D_i divides t:
//       the next W_i segments of the stream are path i's                                       W_i: its window
//
// A slow path so gets segments that lie ahead by what the fast one sends meanwhile, and they arrive in order. The plan is
// made a period ahead; segments wait at their path for its window, as in the authors' mptcp_daps.c (MPTCP v0.89).
//
// The LCM of two delays in nanoseconds is no period. Delays count in quarters of the shortest, and a period is at most four
// of the longest. A path holds at most what it sends in the longest round trip, waiting: one slower than planned does not
// pile up what others wait for.
#include <algorithm>
#include <numeric>

#include "scheduler/scheduler.hpp"
#include "scheduler/rules.hpp"

namespace dstcc {
namespace rules {

constexpr std::int64_t kUnitsOfShortest = 4;  // a coarser ratio drifts from the rates, and data waits for it
constexpr std::int64_t kLongestUnits = 4096;  // a period stays short whatever the RTTs
constexpr std::int64_t kPeriods = 4;          // of the longest delay; three paths' LCM may be their product

std::vector<std::pair<int, std::int64_t>> daps_schedule(const std::vector<Time>& srtt_ns,
                                                        const std::vector<std::int64_t>& windows) {
    const std::size_t paths = srtt_ns.size();
    const auto shortest = static_cast<double>(std::max<Time>(*std::min_element(srtt_ns.begin(), srtt_ns.end()), 1));
    std::vector<std::int64_t> delay(paths);
    std::vector<std::size_t> by_delay(paths);
    std::iota(by_delay.begin(), by_delay.end(), std::size_t{0});
    for (std::size_t i = 0; i < paths; ++i) {
        const double units = kUnitsOfShortest * (static_cast<double>(srtt_ns[i]) / shortest) + 0.5;
        delay[i] = units < kLongestUnits ? static_cast<std::int64_t>(units) : kLongestUnits;
    }
    std::stable_sort(by_delay.begin(), by_delay.end(), [&](auto a, auto b) { return srtt_ns[a] < srtt_ns[b]; });
    const std::int64_t horizon = kPeriods * delay[by_delay.back()];
    std::int64_t period = 1;
    for (const std::int64_t d : delay) period = std::min(std::lcm(period, d), horizon);
    std::vector<std::pair<int, std::int64_t>> runs;
    std::vector<std::int64_t> due = delay;
    for (;;) {
        const std::size_t next =
            *std::min_element(by_delay.begin(), by_delay.end(), [&](auto a, auto b) { return due[a] < due[b]; });
        if (due[next] > period) return runs;
        runs.push_back({static_cast<int>(next), windows[next]});
        due[next] += delay[next];
    }
}

}  // namespace rules

namespace {

class DelayAware final : public Scheduler {
public:
    Dispatch dispatch() const override { return Dispatch::kPlanned; }
    int pick(const std::vector<Path>& paths, SubflowSet ready, const Next&) override {
        for (bool fresh = false;;) {
            if (left_ > 0 && (ready & bit_of(path_)) != 0) {
                --left_;
                return path_;
            }
            if (run_ == runs_.size()) {
                if (fresh) return -1;  // every path has enough
                schedule(paths, ready);
                fresh = true;
            }
            const auto [path, window] = runs_[run_++];
            path_ = path;
            const TcpState& tcp = tcp_of(paths, path);
            const std::int64_t waiting = paths[static_cast<std::size_t>(path)].assigned_bytes / tcp.mss_bytes;
            const double rounds =
                static_cast<double>(longest_ns_) / static_cast<double>(std::max<Time>(tcp.srtt_ns, 1));
            left_ = std::min(window, static_cast<std::int64_t>(rounds * static_cast<double>(window)) - waiting);
        }
    }

private:
    void schedule(const std::vector<Path>& paths, SubflowSet set) {
        std::vector<int> members;
        std::vector<Time> srtt_ns;
        std::vector<std::int64_t> windows;
        longest_ns_ = 1;
        for (; set != 0; set &= set - 1) {
            const int i = lowest(set);
            const TcpState& tcp = tcp_of(paths, i);
            longest_ns_ = std::max(longest_ns_, tcp.srtt_ns);
            members.push_back(i);
            srtt_ns.push_back(tcp.srtt_ns);
            // What it sends in a round trip: its window, or less where a rate paces it.
            const double bytes =
                paths[static_cast<std::size_t>(i)].expected_rate() * static_cast<double>(tcp.srtt_ns) / kNsPerS;
            windows.push_back(std::max<std::int64_t>(static_cast<std::int64_t>(bytes / tcp.mss_bytes + 0.5), 1));
        }
        runs_ = rules::daps_schedule(srtt_ns, windows);
        for (auto& run : runs_) run.first = members[static_cast<std::size_t>(run.first)];
        run_ = 0;
    }

    std::vector<std::pair<int, std::int64_t>> runs_;
    std::size_t run_ = 0;
    Time longest_ns_ = 1;
    int path_ = 0;
    std::int64_t left_ = 0;
};

const Registered<SchedulerEntry> kEntry{{"daps", make_scheduler<DelayAware>}};

}  // namespace

}  // namespace dstcc
