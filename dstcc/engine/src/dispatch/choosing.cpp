// Which layer goes next, over which subflows it can still be in time, and which are not worth sending any more.
#include <algorithm>
#include <limits>

#include "mptcp/simulation.hpp"

namespace dstcc {

namespace {

constexpr int kLookAhead = 64;
constexpr double kFarNs = 4e18;  // beyond any deadline, and two of them are within a Time

}  // namespace

// The scheduler's choice among `ready`, which is what of `idle` can bring the layer in time.
int Simulation::choose(SubflowSet idle, SubflowSet ready, std::uint32_t object, std::int64_t bytes) {
    if (!heeds_) return pick_unheeding(ready);
    Next next;
    next.now_ns = now_;
    next.layer = static_cast<int>(config_.objects.layer[object]);
    next.bytes = bytes;
    next.backlog = backlog_;
    if (const std::int64_t buffer = config_.transport.receive_buffer_bytes; buffer != 0)
        next.room = buffer - (new_payload_ + planned_payload_ - peer_delivered_);
    next.busy = established_ & ~stale_ & ~idle;
    const int s = scheduler_->pick(paths_, ready, next);
    if (s >= 0) {
        DSTCC_CHECK((ready & bit(static_cast<std::size_t>(s))) != 0, "a scheduler picks a subflow that is ready");
        held_ = 0;
        return s;
    }
    if (next.busy == 0 && !anything_under_way()) return quickest(ready);
    held_ = ready;
    return -1;
}

// Will some subflow's ACK or timer come?
bool Simulation::anything_under_way() const {
    for (const SubflowState& subflow : subflows_)
        if (subflow.sender.established() && subflow.sender.tcp().packets_out() > 0) return true;
    return false;
}

// Layers that not even light could bring in time are given up on the way. Oldest first would spend a short window on layers that
// one loss or a little queueing makes late; so those with time for a repair go before those without.
bool Simulation::next_in_time(SubflowSet& ready, std::uint32_t& object) {
    for (const WaitingLevel& waiting : pending_.levels()) {
        drop_lost_causes(waiting);
        if (waiting.empty()) continue;
        for (const Slack slack : {Slack::kRepair, Slack::kWindow}) {
            if (!first_in_time(waiting, slack, ready, object)) continue;
            ready = in_time(object, slack, ready);
            return true;
        }
    }
    // Nothing would be in time at the present windows. They grow only if used, so the newest is tried all the same.
    for (const WaitingLevel& waiting : pending_.levels())
        if (!waiting.empty() && last_in_time(waiting, ready, object)) {
            ready = in_time(object, Slack::kLight, ready);
            return true;
        }
    return false;
}

// The same by turns: of the layers whose subflows have room, the one released first, where each layer above the base
// counts as released layer_gap_ns_ later than the one below it. Before that come the layers that are to have a repair, on
// subflows where they can have one; after it, what a subflow is not for but nothing else would use.
bool Simulation::next_in_turn(SubflowSet& ready, std::uint32_t& object) {
    for (const WaitingLevel& waiting : pending_.levels()) drop_lost_causes(waiting);
    ready &= ~dark_;
    if (ready == 0) return false;
    struct Pass {
        Slack slack;
        bool by_table;
    };
    constexpr Pass passes[] = {{Slack::kRoundTrip, true}, {Slack::kRepair, true}, {Slack::kWindow, true}, {Slack::kWindow, false}};
    for (const auto& [slack, by_table] : passes) {
        Time best = kNever;
        SubflowSet chosen = 0;
        for (const WaitingLevel& waiting : pending_.levels()) {
            std::uint32_t candidate = 0;
            if (waiting.empty() || (slack == Slack::kRoundTrip && !sheltered(waiting.front()))) continue;
            SubflowSet set = by_table ? allowed(waiting.front(), ready) : ready;
            // Deadlines rise along the queue: what holds for the front holds for all behind it.
            if (by_table && sheltered(waiting.front()))
                if (const SubflowSet there = shelters(waiting.front())) set &= there;
            if (set == 0 || !first_in_time(waiting, slack, set, candidate, best) || turn(candidate) >= best) continue;
            best = turn(candidate);
            object = candidate;
            chosen = set;
        }
        if (best == kNever) continue;
        ready = in_time(object, slack, chosen);
        return true;
    }
    for (const WaitingLevel& waiting : pending_.levels()) {
        if (waiting.empty() || !last_in_time(waiting, ready, object)) continue;
        ready = in_time(object, Slack::kLight, ready);
        return true;
    }
    return false;
}

// Is the layer to go where it could be repaired?
bool Simulation::sheltered(std::uint32_t object) const {
    const auto layer = static_cast<std::size_t>(config_.objects.layer[object]);
    return layer < layer_table_.size() && layer_table_[layer] == kRepairable;
}

// The subflows on which a repair of the layer would be in time; none if that is so of all.
SubflowSet Simulation::shelters(std::uint32_t object) const {
    const SubflowSet usable = established_ & ~stale_ & ~dark_;
    const SubflowSet found = in_time(object, Slack::kRoundTrip, usable);
    return found == usable ? 0 : found;
}

// Of `set`, the subflow that the agent's table names for the layer; all where it names none that can be used.
SubflowSet Simulation::allowed(std::uint32_t object, SubflowSet set) const {
    const auto layer = static_cast<std::size_t>(config_.objects.layer[object]);
    const std::int32_t told = layer < layer_table_.size() ? layer_table_[layer] : kAutomatic;
    const SubflowSet usable = established_ & ~stale_ & ~dark_;
    if (told <= kAvoid && kAvoid - told < static_cast<std::int32_t>(kMaxSubflows)) {
        const SubflowSet others = ~bit(static_cast<std::size_t>(kAvoid - told));
        return (usable & others) != 0 ? set & others : set;
    }
    if (told < 0 || static_cast<std::size_t>(told) >= subflows_.size()) return set;
    const SubflowSet own = bit(static_cast<std::size_t>(told));
    return (usable & own) != 0 ? set & own : set;
}

// Base layers first: their turns come before all others', which no release does.
Time Simulation::turn(std::uint32_t object) const {
    const Time release = config_.objects.release_ns[object], layer = config_.objects.layer[object];
    if (layer_gap_ns_ == kNever) return release + layer * (kNever / 256);
    return release + layer * layer_gap_ns_;
}

bool Simulation::last_in_time(const WaitingLevel& waiting, SubflowSet ready, std::uint32_t& object) const {
    object = waiting.front();
    if (outcomes_[object].offset > 0 && in_time(object, Slack::kLight, ready) != 0) return true;  // finish what is begun
    return waiting.last([&](std::uint32_t o) { return !premature(o) && in_time(o, Slack::kLight, ready) != 0; }, object);
}

void Simulation::drop_lost_causes(const WaitingLevel& waiting) {
    while (!waiting.empty() && lost_cause(waiting.front())) {
        const std::uint32_t lost = waiting.front();
        unbind(lost);
        give_up(lost);
    }
}

// What has become too late is given up even where nothing is free to send.
void Simulation::drop_expired() {
    if (!deadlines_) return;
    for (const WaitingLevel& waiting : pending_.levels()) drop_lost_causes(waiting);
    for (std::size_t s = 0; s < subflows_.size(); ++s)
        while (!subflows_[s].assigned.empty() && late(subflows_[s].assigned.front(), s, Slack::kLight))
            drop_from_assigned(s);
}

// A path with a longer light time passes over what only a shorter one can still save.
// By turns, only what has its turn before `before` counts (something later may be found in its place), and layers whose
// base waits for another subflow are passed over a few dozen deep.
bool Simulation::first_in_time(const WaitingLevel& waiting, Slack slack, SubflowSet ready, std::uint32_t& object,
                               Time before) const {
    object = waiting.front();
    if (!premature(object) && in_time(object, slack, ready) != 0) return true;
    bool found = false;
    const bool turns = takes_turns_;
    for (; ready != 0; ready &= ready - 1) {
        const auto s = static_cast<std::size_t>(lowest(ready));
        std::uint32_t candidate = 0;
        const Forecast path = forecast(s);
        const auto rejects = [&](std::uint32_t o) { return late(o, path, slack) || premature(o); };
        int looked = turns ? kLookAhead : std::numeric_limits<int>::max();
        // Deadlines rise along the queue: search by them, then pass over what is late for its size.
        const bool any = waiting.first(
            4 * s + static_cast<std::size_t>(slack),
            [&](std::uint32_t o) { return due(o, path, slack) < path.window_ns; },
            [&](std::uint32_t o) { return (!turns || (turn(o) < before && looked-- > 0)) && rejects(o); }, candidate);
        if (!any || (turns && rejects(candidate)) || (found && candidate >= object)) continue;
        object = candidate;
        found = true;
    }
    return found;
}

SubflowSet Simulation::in_time(std::uint32_t object, Slack slack, SubflowSet set) const {
    if (!deadlines_ || config_.objects.deadline_ns[object] == kNever) return set;
    SubflowSet kept = set;
    for (SubflowSet left = set; left != 0; left &= left - 1) {
        const auto s = static_cast<std::size_t>(lowest(left));
        if (late(object, s, slack)) kept &= ~bit(s);
    }
    return kept;
}

// The layer it builds on was given up: it could not be decoded.
bool Simulation::hopeless(std::uint32_t object) const {
    return deadlines_ && builds_on_another(object) && outcomes_[object - 1].given_up;
}

// The layer it builds on has not been begun, and comes first.
bool Simulation::premature(std::uint32_t object) const {
    return builds_on_another(object) && (outcomes_[object - 1].domain < 0 || outcomes_[object - 1].given_up);
}

bool Simulation::builds_on_another(std::uint32_t object) const {
    return config_.objects.layer[object] > 0 && object > 0 &&
           config_.objects.chunk[object - 1] == config_.objects.chunk[object];
}

// No path can bring it in time.
bool Simulation::lost_cause(std::uint32_t object) const {
    if (!deadlines_ || config_.objects.deadline_ns[object] == kNever) return false;
    if (hopeless(object)) return true;
    for (std::size_t s = 0; s < subflows_.size(); ++s)
        if (!late(object, s, Slack::kLight)) return false;
    return true;
}

// Light time is known to the sender, as to any mission planner; the queue on the way is what the RTT shows above its
// minimum; what exceeds the window leaves at a window per round trip, or at the pacing rate.
Simulation::Forecast Simulation::forecast(std::size_t s) const {
    const Path& path = paths_[s];
    const TcpState& tcp = path.subflow->tcp();
    const Time light = now_ + path.one_way_ns;
    const Time repair = std::max(tcp.srtt_ns, 2 * path.one_way_ns);
    if (!path.subflow->established()) return {light, light, 0, 0, path.one_way_ns, repair};
    const bool paced = tcp.pacing_bytes_per_ns > 0;
    // An agent's subflow is paced at what the path was measured to carry: its own queue tells the wait without an RTT's delay.
    const Time wait = paced && takes_turns_
                          ? static_cast<Time>(static_cast<double>(path.link->queue_bytes(now_)) / tcp.pacing_bytes_per_ns)
                          : std::max<Time>(tcp.srtt_ns - tcp.min_rtt_ns, 0);
    return {light, light + wait, kNsPerS / path.expected_rate(),
            paced ? 0 : std::max<std::int64_t>(tcp.cwnd - tcp.in_flight(), 0) * tcp.mss_bytes, path.one_way_ns, repair};
}

// When the layer must be there; kRepair wants time in hand: a round trip for one repeat, but no more than a share (half,
// unless an agent says otherwise) of what the playout delay leaves beyond the light time.
Time Simulation::due(std::uint32_t object, const Forecast& path, Slack slack) const {
    const Time deadline = config_.objects.deadline_ns[object];
    if (slack == Slack::kRoundTrip && deadline != kNever) return deadline - path.repair_ns;
    if (slack != Slack::kRepair || deadline == kNever) return deadline;
    const Time spare = deadline - config_.objects.release_ns[object] - path.one_way_ns;
    const auto kept = static_cast<Time>(static_cast<double>(spare) * repair_share_);
    return deadline - std::clamp<Time>(kept, 0, path.repair_ns);
}

// Would the layer arrive after it is due, if nothing more were lost? kLight asks for its next byte only, the others for its
// last. What is begun is finished while it can be.
bool Simulation::late(std::uint32_t object, const Forecast& path, Slack slack) const {
    const Time deadline = config_.objects.deadline_ns[object];
    if (deadline == kNever) return false;
    if (path.light_ns > deadline) return true;
    if (slack == Slack::kLight || outcomes_[object].offset > 0) return false;
    const auto excess = static_cast<double>(std::max<std::int64_t>(config_.objects.payload_bytes[object] - path.room_bytes, 0));
    return path.window_ns + static_cast<Time>(std::min(excess * path.ns_per_byte, kFarNs)) > due(object, path, slack);
}

}  // namespace dstcc
