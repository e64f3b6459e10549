// The interface of a scheduler: which subflow sends next.
//
// In `stream` mode pick() is asked for every segment; in `lanes` mode once per layer, which then stays whole on the lane.
// A scheduler that pins assigns each layer when it is released instead.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "subflow.hpp"

namespace dstcc {

struct Path {
    const Subflow* subflow = nullptr;
    Time one_way_ns = 0;             // propagation delay now
    std::int64_t assigned_bytes = 0;  // payload given to this subflow and not yet sent
    // Payload bytes per second the path seems to carry: a window per round trip.
    double expected_rate() const {
        const TcpState& tcp = subflow->tcp();
        const double rtt = static_cast<double>(tcp.srtt_ns > 0 ? tcp.srtt_ns : 2 * one_way_ns + 1) / kNsPerS;
        const double window = static_cast<double>(std::min(tcp.cwnd, kInfiniteWindow)) * tcp.mss_bytes / rtt;
        const double pacing = tcp.pacing_bytes_per_ns * kNsPerS * tcp.mss_bytes / tcp.wire_bytes;
        return pacing > 0 ? std::min(window, pacing) : window;
    }
    // When `bytes` more would be there, in seconds from now: wait behind what is assigned and in flight, then travel.
    double expected_delivery_s(std::int64_t bytes) const {
        const TcpState& tcp = subflow->tcp();
        const double ahead = static_cast<double>(assigned_bytes + bytes) +
                             static_cast<double>(tcp.in_flight()) * tcp.mss_bytes;
        return ahead / expected_rate() + static_cast<double>(one_way_ns) / kNsPerS;
    }
};

class Scheduler {
public:
    virtual ~Scheduler() = default;
    // The subflow to use out of the set bits of `ready` (never empty), or -1 to wait.
    virtual int pick(const std::vector<Path>& paths, std::uint64_t ready) = 0;
    virtual bool duplicates() const { return false; }
    virtual bool pins() const { return false; }
    // For schedulers that pin: the subflow, out of `usable`, for a whole layer.
    virtual int assign(const std::vector<Path>&, int /*layer*/, std::int64_t /*bytes*/, std::uint64_t usable) {
        return __builtin_ctzll(usable);
    }
};

using SchedulerFactory = std::unique_ptr<Scheduler> (*)(const TransportConfig&);

std::unique_ptr<Scheduler> make_minrtt(const TransportConfig&);
std::unique_ptr<Scheduler> make_round_robin(const TransportConfig&);
std::unique_ptr<Scheduler> make_redundant(const TransportConfig&);
std::unique_ptr<Scheduler> make_layer_pinned(const TransportConfig&);

const std::vector<std::pair<std::string, SchedulerFactory>>& scheduler_table();
std::unique_ptr<Scheduler> make_scheduler(const TransportConfig& transport);

// The member of `set` with the least `key`; ties to the lower index.
template <class Key>
int least(std::uint64_t set, Key&& key) {
    int best = __builtin_ctzll(set);
    set &= set - 1;
    if (set == 0) return best;
    auto best_key = key(best);
    for (; set != 0; set &= set - 1) {
        const int i = __builtin_ctzll(set);
        const auto k = key(i);
        if (k < best_key) {
            best = i;
            best_key = k;
        }
    }
    return best;
}

}  // namespace dstcc
