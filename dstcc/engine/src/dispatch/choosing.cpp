// Which layer goes next, over which subflows it can still be in time, and which are not worth sending any more.
// The rules themselves are in kernel-cc/dispatch/dstcc_dispatch.hpp.
#include <algorithm>

#include "dispatch/dispatcher.hpp"

namespace dstcc {

constexpr std::int64_t kWrite = 256 << 10;  // bytes: kStretch of kernel-cc/transfer/payloads.hpp

std::int64_t Dispatcher::write_left(std::uint32_t object) const {
    return std::min(unsent_bytes(object), kWrite - layers_[object].offset % kWrite);
}

bool Dispatcher::begins_write(std::uint32_t object) const { return layers_[object].offset % kWrite == 0; }

// The scheduler's choice among `ready`, which is what of `idle` can bring the layer in time.
int Dispatcher::choose(SubflowSet idle, SubflowSet ready, std::uint32_t object, std::int64_t bytes, bool written) {
    if (!may_wait_) return pick_by_paths(ready);
    Next next;
    next.now_ns = now_;
    next.layer = static_cast<int>(objects_.layer[object]);
    next.bytes = bytes;
    next.backlog = backlog_;
    next.write = !written && begins_write(object);
    if (bounded_) next.room = window_left();
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
bool Dispatcher::anything_under_way() const {
    for (const Outlet& subflow : subflows_)
        if (subflow.sender.established() && subflow.sender.tcp().packets_out() > 0) return true;
    return false;
}

// Layers that not even light could bring in time are given up on the way. Oldest first would spend a short window on layers that
// one loss or a little queueing makes late; so those with time for a repair go before those without.
bool Dispatcher::next_in_time(SubflowSet& ready, std::uint32_t& object) {
    return dstcc_dispatch::next_in_time(
        View(*this), ready, object, [this](const WaitingLevel& level) { drop_lost_causes(level); }, least_bytes_);
}

// The same in deadline order, on the subflows whose links are up.
bool Dispatcher::next_in_deadline_order(SubflowSet& ready, std::uint32_t& object) {
    for (const WaitingLevel& waiting : pending_.levels()) drop_lost_causes(waiting);
    ready &= ~outage_;
    return ready != 0 && dstcc_dispatch::next_in_turn(View(*this), ready, object);
}

void Dispatcher::drop_lost_causes(const WaitingLevel& waiting) {
    dstcc_dispatch::drop_lost(
        waiting, [this](std::uint32_t object) { return lost_cause(object); },
        [this](std::uint32_t object) {
            unbind(object);
            give_up(object);
        });
}

// What has become too late is given up even where nothing is free to send.
void Dispatcher::drop_expired() {
    if (!deadlines_) return;
    for (const WaitingLevel& waiting : pending_.levels()) drop_lost_causes(waiting);
    strategy_->drop_expired();
}

// Lanes are connections, on which layers may wait for the handshake. A subflow that has not joined takes nothing: the first one's
// data is what the others wait for.
int Dispatcher::assign(std::uint32_t object) {
    const SubflowSet every = subflows_.size() == kMaxSubflows ? ~SubflowSet{0} : bit(subflows_.size()) - 1;
    const SubflowSet all = transport_.lanes ? every : established_;
    SubflowSet set = all & ~stale_ ? all & ~stale_ : all;
    if (const SubflowSet timely = in_time(object, Slack::kLight, set)) set = timely;
    const std::int64_t bytes = objects_.payload_bytes[object];
    const int s = scheduler_->assign(paths_, static_cast<int>(objects_.layer[object]), bytes, set);
    if (contains(all, static_cast<std::size_t>(s))) return s;
    return least(set, [&](int i) { return paths_[static_cast<std::size_t>(i)].expected_delivery_s(bytes); });
}

SubflowSet Dispatcher::in_time(std::uint32_t object, Slack slack, SubflowSet set) const {
    return deadlines_ ? dstcc_dispatch::in_time(View(*this), object, slack, set) : set;
}

// The layer it builds on has not been begun, and comes first.
bool Dispatcher::premature(std::uint32_t object) const {
    if (object == 0 || (headers_.domain[object - 1] >= 0 && !layers_[object - 1].given_up)) return false;
    return builds_on_another(objects_, object);
}

// What exceeds the window leaves at a window per round trip, or at the pacing rate. An agent's subflow is paced at what the path was
// measured to carry.
Dispatcher::Forecast Dispatcher::forecast(std::size_t s) const {
    const Path& path = paths_[s];
    const TcpState& tcp = path.subflow->tcp();
    dstcc_dispatch::Known known{path.one_way_ns, tcp.srtt_ns, tcp.min_rtt_ns, 0, tcp.pacing_bytes_per_ns};
    if (!path.subflow->established()) return dstcc_dispatch::forecast(now_, known, true, 0, 0);
    const bool paced = tcp.pacing_bytes_per_ns > 0, by_queue = paced && deadline_order_;
    if (by_queue) known.queued_bytes = static_cast<double>(path.transmitter->queue_bytes(now_));
    return dstcc_dispatch::forecast(now_, known, by_queue, kNsPerS / path.expected_rate(),
                                    paced ? 0 : std::max<std::int64_t>(tcp.cwnd - tcp.in_flight(), 0) * tcp.mss_bytes);
}

}  // namespace dstcc
