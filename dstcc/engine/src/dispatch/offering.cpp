// Who sends: subflows with room are offered what waits, as the transport and its scheduler would have it. Beside it
// dispatch/choosing.cpp, which says which layer goes next, and mptcp/sending.cpp, which puts segments on links.
#include <algorithm>
#include <iterator>

#include "mptcp/sending_end.hpp"

namespace dstcc {

namespace {

constexpr std::int64_t kWrittenAhead =
    8;  // windows' share that a connection holds unsent: kFill of kernel-cc/transfer/sender.cpp

}  // namespace

// Beside what no subflow was given.
bool SendingEnd::more_to_send(std::size_t s, const SubflowState& subflow) const {
    return contains(has_assigned_, s) || contains(has_planned_, s) || reinjecting_ != 0 ||
           (duplicates_ && subflow.copied < log_.end()) ||
           std::any_of(spares_.begin(), spares_.end(), [](const auto& waiting) { return !waiting.empty(); });
}

inline void SendingEnd::offer_stream() {
    std::uint32_t object = 0;
    while (const SubflowSet idle = usable()) {
        SubflowSet ready = idle;
        if (!room_at_receiver(transport_.mss_bytes)) {
            if (listens_ && !pending_.empty()) scheduler_->on_blocked(now_);
            return;
        }
        if (!next_unbound(ready, object)) return;
        if (!heeds_) {
            const auto s = static_cast<std::size_t>(pick_unheeding(ready));
            // With deadlines a layer begun may let another go before it.
            idle == bit(s) && !deadlines_ ? send_run(s, object) : static_cast<void>(send_new(s, object));
            continue;
        }
        const int s = choose(idle, ready, object, std::min<std::int64_t>(transport_.mss_bytes, unsent_bytes(object)));
        if (s < 0) return;
        send_new(static_cast<std::size_t>(s), object);
    }
}

void SendingEnd::offer() {
    if (reinjecting_ != 0) offer_reinjections();
    if (duplicates_)
        offer_copies();
    else if (transport_.lanes || pins_)
        offer_assigned();
    else if (plans_)
        offer_planned();
    else
        offer_stream();
}

// Let a subflow use what an event gave it: repairs first, then new data.
void SendingEnd::pump(std::size_t s) {
    SubflowState& subflow = subflows_[s];
    if (subflow.sender.repairs_waiting()) repair(s);
    refresh(s, subflow.sender);
    if (ready_ != 0) offer();
    if (subflow.sender.repairs_instead()) repair(s);
    finish_sending(s, subflow);
}

// Too late, without the layer it builds on, or not begun and with less time for a repair than the newest of its level.
inline bool SendingEnd::outdated(std::uint32_t object, std::size_t s) const {
    if (hopeless(object) || late(object, s, Slack::kLight)) return true;
    return layers_[object].offset == 0 && late(object, s, Slack::kRepair) &&
           !late(subflows_[s].assigned.newest(), s, Slack::kRepair);
}

void SendingEnd::offer_assigned() {
    for (;;) {
        if (!room_at_receiver(transport_.mss_bytes)) return;
        if (const SubflowSet busy = ready_ & has_assigned_) {
            const auto s = static_cast<std::size_t>(lowest(busy));
            const std::uint32_t object = subflows_[s].assigned.front();
            deadlines_&& outdated(object, s) ? drop_from_assigned(s) : send_run(s, object);
            continue;
        }
        std::uint32_t object = 0;
        const SubflowSet idle = usable();
        SubflowSet ready = idle;
        if (idle == 0) return;
        if (!next_unbound(ready, object)) return offer_spares();
        const int s = choose(idle, ready, object, unsent_bytes(object));
        if (s < 0) return;
        unbind(object);
        bind(object, static_cast<std::size_t>(s));
    }
}

void SendingEnd::offer_reinjections() {
    for (SubflowSet origins = reinjecting_; origins != 0; origins &= origins - 1) {
        const auto origin = static_cast<std::size_t>(lowest(origins));
        auto& waiting = subflows_[origin].reinjections;
        while (!waiting.empty()) {
            const Reinjection entry = waiting.front();
            const SubflowSet others = ready_ & ~paths_[origin].peers & ~stale_;
            const bool arrived = subflows_[origin].sender.acknowledged(entry.number);
            if (!arrived && others == 0) break;
            waiting.pop_front();
            if (!arrived) send_copy(static_cast<std::size_t>(quickest(others)), entry.object, entry.order, entry.bytes);
        }
        if (waiting.empty()) erase(reinjecting_, origin);
    }
}

// What was planned goes first; more is planned only when a subflow with room has nothing.
void SendingEnd::offer_planned() {
    for (;;) {
        if (const SubflowSet planned = ready_ & has_planned_) {
            send_planned(static_cast<std::size_t>(lowest(planned)));
            continue;
        }
        if (ahead_ ? !room_ahead() : usable() == 0) return;
        if (!room_at_receiver(transport_.mss_bytes)) {
            if (listens_ && !pending_.empty()) scheduler_->on_blocked(now_);
            return;
        }
        std::uint32_t object = 0;
        const SubflowSet there = (established_ & ~stale_) != 0 ? established_ & ~stale_ : established_;
        SubflowSet timely = there;
        if (!next_unbound(timely, object)) return;
        // One that plans ahead stands for a kernel, which knows of no deadlines.
        const int s = choose(there, ahead_ ? there : timely, object,
                             std::min<std::int64_t>(transport_.mss_bytes, unsent_bytes(object)));
        if (s < 0) return;
        plan(static_cast<std::size_t>(s), object);
    }
}

// Does a program that writes ahead write more? With deadlines it keeps an eighth of all windows in the connection, as what is
// written cannot be given up; without, as much as the link that holds most (TCP_NOTSENT_LOWAT, of each subflow).
bool SendingEnd::room_ahead() const {
    std::int64_t windows = 0;
    for (SubflowSet set = established_; set != 0; set &= set - 1)
        windows += deadlines_ ? paths_[static_cast<std::size_t>(lowest(set))].subflow->tcp().cwnd * transport_.mss_bytes
                              : kWrittenAhead * unsent_limit_;
    return established_ != 0 && kWrittenAhead * planned_payload_ <= windows;
}

void SendingEnd::plan(std::size_t s, std::uint32_t object) {
    const Planned segment = cut(s, object);
    subflows_[s].planned.push_back(segment);
    insert(has_planned_, s);
    paths_[s].assigned_bytes += segment.bytes;
    planned_payload_ += segment.bytes;
    ++planned_segments_[object];
}

// Another subflow takes over, in the order of the stream.
void SendingEnd::move_planned(std::size_t from, std::size_t to) {
    auto &left = subflows_[from].planned, &there = subflows_[to].planned;
    for (const Planned& segment : left) {
        paths_[from].assigned_bytes -= segment.bytes;
        paths_[to].assigned_bytes += segment.bytes;
    }
    std::deque<Planned> merged;
    std::merge(there.begin(), there.end(), left.begin(), left.end(), std::back_inserter(merged),
               [](const Planned& a, const Planned& b) { return a.order < b.order; });
    left.clear();
    there.swap(merged);
    erase(has_planned_, from);
    insert(has_planned_, to);
}

// Subflows with room that nothing new can use send again what may be lost: the lowest layer first, then the oldest.
void SendingEnd::offer_spares() {
    for (auto& waiting : spares_) {
        while (!waiting.empty()) {
            const Spare spare = waiting.front();
            const bool over =
                subflows_[spare.origin].sender.acknowledged(spare.number) || (deadlines_ && lost_cause(spare.object));
            SubflowSet set = usable() & ~outage_;
            if (!over && !spare_fits(spare, set)) break;
            waiting.pop_front();
            if (!over) send_copy(static_cast<std::size_t>(quickest(set)), spare.object, spare.order, spare.bytes);
        }
    }
}

// Narrow `set` to where a copy would be in time, off the subflow that has the original if there is another.
bool SendingEnd::spare_fits(const Spare& spare, SubflowSet& set) const {
    set = in_time(spare.object, Slack::kWindow, set);
    if (const SubflowSet others = set & ~bit(spare.origin)) set = others;
    return set != 0;
}

// redundant: each subflow walks the log of what was sent first and copies what is not known to have arrived.
void SendingEnd::offer_copies() {
    for (SubflowSet set = ready_; set != 0; set &= set - 1) {
        const auto s = static_cast<std::size_t>(lowest(set));
        SubflowState& subflow = subflows_[s];
        while (contains(ready_, s)) {
            if (subflow.copied < log_.end()) {
                const Sent entry = log_[subflow.copied++];
                if (!subflows_[entry.subflow].sender.acknowledged(entry.number))
                    send_copy(s, entry.object, entry.order, entry.bytes);
                continue;
            }
            std::uint32_t object = 0;
            SubflowSet only = bit(s);
            if (!room_at_receiver(transport_.mss_bytes) || !next_unbound(only, object)) break;
            const std::int64_t number = send_new(s, object);
            const Segment& segment = subflow.sender.segment(number);
            log_.push_back({segment.object, segment.order, segment.bytes, static_cast<std::uint16_t>(s), number});
            subflow.copied = log_.end();
        }
    }
    std::int64_t needed = log_.end();
    for (SubflowSet set = established_; set != 0; set &= set - 1)
        needed = std::min(needed, subflows_[static_cast<std::size_t>(lowest(set))].copied);
    while (log_.begin() < needed) log_.pop_front();
}

}  // namespace dstcc
