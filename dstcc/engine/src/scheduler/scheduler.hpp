// The interface of a scheduler: which subflow sends next.
//
// In `stream` mode pick() is asked for every segment; in `lanes` mode once per layer, which then stays whole on the lane.
// A scheduler that pins assigns each layer when it is released instead. One that plans is asked, in `stream` mode, among
// all subflows that are there, with room or not: what it says waits at that subflow, with its place in the stream.
//
// pick() may wait. It is asked again at the next event of any subflow (an ACK, a timer, the end of a pacing gap) and at
// the next release. A wait needs something to wait for: when no subflow has anything in flight or to send, so that no
// event would come, the connection does not heed it and takes the quickest subflow.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "link/transmitter.hpp"
#include "tcp/sender.hpp"
#include "core/registry.hpp"
#include "core/subflow_set.hpp"

namespace dstcc {

struct Path {
    const Subflow* subflow = nullptr;
    const Transmitter* transmitter = nullptr;  // its queue is the sender's own
    int link_index = 0;
    SubflowSet peers = 0;             // the lanes of its link, where these have a window each; else it alone
    Time one_way_ns = 0;              // propagation delay now
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
        const double ahead =
            static_cast<double>(assigned_bytes + bytes) + static_cast<double>(tcp.in_flight()) * tcp.mss_bytes;
        return ahead / expected_rate() + static_cast<double>(one_way_ns) / kNsPerS;
    }
};

constexpr std::int64_t kNoLimit = INT64_MAX;

// What is to be sent, and for which subflows one might wait.
struct Next {
    Time now_ns = 0;
    int layer = 0;
    std::int64_t bytes = 0;        // payload: the next segment's; on lanes what the layer has left
    std::int64_t backlog = 0;      // payload released and never sent, this included
    std::int64_t room = kNoLimit;  // payload that the receiver's buffer still takes
    bool write = false;   // a program that writes layers one by one, 256 KiB at most at a time, begins another write
    SubflowSet busy = 0;  // established and not stale, but with no room now
};

// How data gets to subflows (dispatch/strategy.hpp). With lanes all but kRedundant give whole layers to subflows.
enum class Dispatch {
    kStream,        // pick() is asked for every segment
    kPinned,        // assign() is asked for every layer when it is released
    kPlanned,       // pick() is asked among all subflows, with room or not, when one with room has nothing
    kPlannedAhead,  // the same before windows have room, as a program that writes and a kernel that binds what is written
    kPlannedAtOnce,  // the same without a limit to what is bound but the scheduler's own
    kRedundant,      // every subflow sends everything
};

// The order in which layers go.
enum class Order {
    kOldestFirst,  // of all layers, unless the connection says otherwise (TransportConfig::layer_first)
    kLayerFirst,   // the base layers of all chunks before any enhancement layer
    kDeadline,     // by LayerAction::gap_ns, each on the subflow that LayerAction::subflow says
};

class Scheduler {
public:
    virtual ~Scheduler() = default;
    // The subflow to use out of the set bits of `ready` (never empty), or -1 to wait.
    virtual int pick(const std::vector<Path>& paths, SubflowSet ready, const Next& next) = 0;
    // False: pick() never waits and leaves `next` unread, so that it need not be filled in.
    virtual bool may_wait() const { return true; }
    // Feedback, for those that want it: a packet was put on the link behind `wait_ns` of others (or dropped there); an ACK
    // to what was sent at `sent_ns` came in; what subflow `path` owes goes to others as well.
    virtual bool wants_feedback() const { return false; }
    virtual void on_sent(int /*path*/, std::int64_t /*bytes*/, Time /*wait_ns*/, Time /*now*/) {}
    virtual void on_ack(int /*path*/, std::int64_t /*acked_bytes*/, Time /*sent_ns*/, Time /*now*/) {}
    virtual void on_reinjection(int /*path*/, std::int64_t /*bytes*/, Time /*now*/) {}
    // The receiver's buffer is full while some subflow has room.
    virtual void on_blocked(Time /*now*/) {}
    // How data gets to subflows, and in what order layers go; asked once.
    virtual Dispatch dispatch() const { return Dispatch::kStream; }
    virtual Order order() const { return Order::kOldestFirst; }
    // For schedulers that pin: the subflow, out of `usable`, for a whole layer.
    virtual int assign(const std::vector<Path>&, int /*layer*/, std::int64_t /*bytes*/, SubflowSet usable) {
        return lowest(usable);
    }
    // An action from outside; for `agent`.
    virtual void steer(const LayerAction&) {}
};

// What a scheduler is made with; random ones draw from Stream(seed, kStreamScheduler, ..).
struct SchedulerSetup {
    const TransportConfig& transport;
    std::uint64_t seed = 1;
    Time slot_ns = 0;
    std::size_t paths = 1;          // subflows of the connection
    double send_buffer = 0;         // bytes of memory, of each subflow's socket
    std::int64_t unsent_limit = 0;  // bytes of a subflow, where it heeds tcp_notsent_lowat
};

// A row of the table of schedulers; the file of each enters it.
struct SchedulerEntry {
    const char* name;
    std::unique_ptr<Scheduler> (*make)(const SchedulerSetup&);
    bool steered = false;  // nobody's choice, but what a controller runs on
};

// Of a class whose constructor takes the setup, or nothing.
template <class Rule>
std::unique_ptr<Scheduler> make_scheduler([[maybe_unused]] const SchedulerSetup& setup) {
    if constexpr (std::is_constructible_v<Rule, const SchedulerSetup&>)
        return std::make_unique<Rule>(setup);
    else
        return std::make_unique<Rule>();
}

// The scheduler of that name, and the one that the transport names.
std::unique_ptr<Scheduler> named_scheduler(const std::string& name, const SchedulerSetup& setup);
std::unique_ptr<Scheduler> transport_scheduler(const SchedulerSetup& setup);

inline const TcpState& tcp_of(const std::vector<Path>& paths, int i) {
    return paths[static_cast<std::size_t>(i)].subflow->tcp();
}
// The subflow and those that stand for the same path: see Path::peers.
inline SubflowSet peers_of(const std::vector<Path>& paths, int i) { return paths[static_cast<std::size_t>(i)].peers; }
inline SubflowSet bit_of(int i) { return bit(static_cast<std::size_t>(i)); }

// The member of `set` with the least `key`; ties to the lower index.
template <class Key>
int least(SubflowSet set, Key&& key) {
    int best = lowest(set);
    set &= set - 1;
    if (set == 0) return best;
    auto best_key = key(best);
    for (; set != 0; set &= set - 1) {
        const int i = lowest(set);
        const auto k = key(i);
        if (k < best_key) {
            best = i;
            best_key = k;
        }
    }
    return best;
}

// The member of `set` with the least smoothed RTT.
inline int fastest(const std::vector<Path>& paths, SubflowSet set) {
    return least(set, [&](int i) { return tcp_of(paths, i).srtt_ns; });
}

}  // namespace dstcc
