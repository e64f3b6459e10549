// What a connection puts on its links: handshakes, repairs, probes, copies, and the segments of layers.
#include <algorithm>

#include "mptcp/simulation.hpp"

namespace dstcc {

// A handshake is to begin at `at`: it does when the plan says that the SYN and its answer pass.
void Simulation::open(std::size_t sender, Endpoint& from, Time at) {
    from.syn_at = links_[from.link].contacts.opening(at);
    arm_timer(sender, from);
}

void Simulation::send_syn(std::size_t sender, Endpoint& from) {
    const ConstantsNs& constants = config_.transport.constants;
    // RFC 6298: doubling from the initial RTO; there is no giving up. A link that comes up again is tried at once, and anew.
    ++from.syns;
    const unsigned shift = std::min(from.backoffs++, 30u);
    const Time backoff =
        constants.rto_initial > (constants.rto_max >> shift) ? constants.rto_max : constants.rto_initial << shift;
    const ContactPlan& contacts = links_[from.link].contacts;
    const Time again = contacts.reopening(now_);
    from.syn_at = std::min(contacts.opening(now_ + backoff), again);
    if (from.syn_at == again) from.backoffs = 0;
    const auto bytes = static_cast<std::uint32_t>(config_.transport.header_bytes);
    const auto passage = links_[from.link].down.transmit(now_, bytes);
    const DataPacket syn{passage.arrive_ns, now_, 0, 0, 0, 0, static_cast<std::uint16_t>(sender)};
    if (config_.trace) trace_sent(syn, passage);
    if (passage.arrive_ns == kNever) return;
    put_data(from.link, syn);
}

[[gnu::always_inline]] inline void Simulation::transmit(std::size_t s, SubflowState& subflow, std::int64_t number,
                                                        const Planned& segment, bool repeat) {
    Direction& down = links_[subflow.link].down;
    const auto passage =
        down.transmit(now_, segment.bytes + static_cast<std::uint32_t>(config_.transport.header_bytes));
    ++data_packets_;
    ++subflow.slot_sent;
    if (repeat) {
        repeated_payload_ += segment.bytes;
        ++subflow.slot_retransmitted;
    }
    if (passage.wait_ns >= 0) waits_.add(passage.wait_ns);
    if (watched_) note_sent(s, number, segment, repeat, passage);
    if (passage.arrive_ns == kNever) return;
    put_data(subflow.link, {passage.arrive_ns, now_, static_cast<std::uint32_t>(number), segment.object, segment.order,
                            segment.bytes, static_cast<std::uint16_t>(s)});
}

// For those who want to know of every transmission.
void Simulation::note_sent(std::size_t s, std::int64_t number, Planned segment, bool repeat,
                           Direction::Passage passage) {
    if (watch_ != nullptr && !repeat)
        watch_->worst_ns[segment.object] = std::max(watch_->worst_ns[segment.object], passage.arrive_ns);
    if (listens_) scheduler_->on_sent(static_cast<int>(s), segment.bytes, std::max<Time>(passage.wait_ns, 0), now_);
    if (config_.trace)
        trace_sent({passage.arrive_ns, now_, static_cast<std::uint32_t>(number), segment.object, segment.order,
                    segment.bytes, static_cast<std::uint16_t>(s)},
                   passage);
}

void Simulation::repair(std::size_t s) {
    if (contains(dark_, s)) return;
    Subflow& sender = subflows_[s].sender;
    std::int64_t number = 0;
    while (sender.window_open() && sender.pacing_until() <= now_ && sender.poll_retransmit(number)) {
        repeat(s, number);
        if (sender.holds() && data_waits(s, subflows_[s])) sender.push();
    }
}

// Send a segment again on its own subflow.
void Simulation::repeat(std::size_t s, std::int64_t number) {
    Subflow& sender = subflows_[s].sender;
    const Segment segment = sender.segment(number);
    sender.mark_retransmitted(now_, number);
    ObjectOutcome& outcome = outcomes_[segment.object];
    outcome.sent_bytes += segment.bytes;
    ++outcome.retransmissions;
    transmit(s, subflows_[s], number, {segment.object, segment.order, segment.bytes}, true);
    arm_timer(s);
}

// Tail loss probe (RFC 8985 section 7.3): new data if there is any, else the last segment again.
void Simulation::send_probe(std::size_t s) {
    Subflow& sender = subflows_[s].sender;
    const std::int64_t next = sender.tcp().snd_nxt;
    // A probe may exceed the window by a segment: for one offer this subflow, and no other, counts as free.
    const SubflowSet others = ready_ & ~bit(s);
    ready_ = bit(s);
    offer();
    ready_ |= others;
    refresh(s);
    const std::int64_t number = next - 1;
    if (sender.tcp().snd_nxt == next && (sender.segment(number).flags & (kSacked | kLost | kRetransOut)) == 0)
        repeat(s, number);
    sender.finish_probe(now_);
}

void Simulation::unbind(std::uint32_t object) { pending_.take(object, config_.objects.layer[object]); }

// Of a layer that is bound to none yet: that of the connection, or the subflow's next lane.
inline OrderingDomain& Simulation::domain_of(SubflowState& subflow, ObjectOutcome& outcome) {
    if (outcome.domain < 0) {
        const int lanes = config_.transport.lanes ? config_.transport.lanes_per_link : 1;
        outcome.domain = static_cast<std::int32_t>(subflow.next_lane);
        subflow.next_lane = (subflow.next_lane + 1) % lanes;
    }
    return domains_[static_cast<std::size_t>(outcome.domain)];
}

inline void Simulation::note_first(std::size_t s, ObjectOutcome& outcome) {
    if (outcome.first_sent_ns >= 0) return;
    outcome.first_sent_ns = now_;
    outcome.subflow = static_cast<std::int32_t>(s);
    if (first_send_ns_ < 0) first_send_ns_ = now_;
}

// So many bytes of a layer wait no longer.
void Simulation::note_cut(std::size_t s, std::uint32_t object, std::int64_t bytes) {
    backlog_ -= bytes;
    const bool bound = contains(has_assigned_, s) && subflows_[s].assigned.front() == object;
    if (bound) paths_[s].assigned_bytes -= bytes;
    if (unsent_bytes(object) > 0) return;
    sent_out(object);
    if (!bound) return unbind(object);
    subflows_[s].assigned.pop_front();
    if (subflows_[s].assigned.empty()) erase(has_assigned_, s);
}

// Transmit the next segment of a layer for the first time.
std::int64_t Simulation::send_new(std::size_t s, std::uint32_t object) {
    const std::int64_t number = put(s, subflows_[s], cut(s, object));
    arm_timer(s);
    return number;
}

// One segment of a layer after another, for as long as nothing else could have come to be chosen.
void Simulation::send_run(std::size_t s, std::uint32_t object) {
    SubflowState& subflow = subflows_[s];
    ObjectOutcome& outcome = outcomes_[object];
    const std::int64_t payload = config_.objects.payload_bytes[object], before = outcome.offset;
    if (!subflow.sender.paced(now_) && !watched_ && !chunks_ && copied_layers_ == 0)
        send_burst(s, subflow, object, outcome, payload);
    else
        do put(s, subflow, take(subflow, object, outcome, payload));
        while (outcome.offset < payload && contains(ready_, s) && room_at_receiver(config_.transport.mss_bytes));
    if (outcome.offset == payload || has_assigned_ != 0)
        note_cut(s, object, outcome.offset - before);
    else
        backlog_ -= outcome.offset - before;
    arm_timer(s, subflow);
}

// A run in one go: what its segments have in common is done once. For subflows that are not paced, while nobody wants to
// know of single segments.
[[gnu::always_inline]] inline void Simulation::send_burst(std::size_t s, SubflowState& subflow, std::uint32_t object,
                                                          ObjectOutcome& outcome, std::int64_t payload) {
    Subflow& sender = subflow.sender;
    Direction& down = links_[subflow.link].down;
    const auto header = static_cast<std::uint32_t>(config_.transport.header_bytes);
    const std::int64_t mss = config_.transport.mss_bytes, bytes_before = outcome.offset;
    OrderingDomain& domain = domain_of(subflow, outcome);
    note_first(s, outcome);
    sender.begin_run(now_);
    const std::int64_t first = sender.tcp().snd_nxt, most = sender.tcp().cwnd - sender.tcp().in_flight();
    std::int64_t count = 0;
    do {
        const auto bytes = static_cast<std::uint16_t>(std::min(mss, payload - outcome.offset));
        const std::uint32_t order = domain.take_order();
        sender.push(now_, object, order, bytes);
        const auto passage = down.transmit(now_, bytes + header);
        if (passage.wait_ns >= 0) waits_.add(passage.wait_ns);
        if (passage.arrive_ns != kNever)
            put_data(subflow.link, {passage.arrive_ns, now_, static_cast<std::uint32_t>(first + count), object, order,
                                    bytes, static_cast<std::uint16_t>(s)});
        outcome.offset += bytes;
        new_payload_ += bytes;
        ++count;
    } while (count < most && outcome.offset < payload && room_at_receiver(mss));
    outcome.sent_bytes += outcome.offset - bytes_before;
    data_packets_ += count;
    subflow.slot_sent += count;
    sender.finish_run(now_, count);
    refresh(s, sender);
}

// Cut the next segment off a layer, with its place in its ordering domain. From here on it is no longer backlog.
Simulation::Planned Simulation::cut(std::size_t s, std::uint32_t object) {
    const Planned segment = take(subflows_[s], object, outcomes_[object], config_.objects.payload_bytes[object]);
    note_cut(s, object, segment.bytes);
    return segment;
}

[[gnu::always_inline]] inline Simulation::Planned Simulation::take(SubflowState& subflow, std::uint32_t object,
                                                                   ObjectOutcome& outcome, std::int64_t payload) {
    const auto bytes =
        static_cast<std::uint16_t>(std::min<std::int64_t>(config_.transport.mss_bytes, payload - outcome.offset));
    const std::uint32_t order = domain_of(subflow, outcome).take_order();
    if (chunks_) chunks_->handle_cut(now_, object, order, outcome.offset);
    outcome.offset += bytes;
    return {object, order, bytes};
}

[[gnu::always_inline]] inline std::int64_t Simulation::put(std::size_t s, SubflowState& subflow,
                                                           const Planned& segment) {
    ObjectOutcome& outcome = outcomes_[segment.object];
    note_first(s, outcome);
    const std::int64_t number = subflow.sender.append(now_, segment.object, segment.order, segment.bytes);
    outcome.sent_bytes += segment.bytes;
    new_payload_ += segment.bytes;
    if (copied_layers_ != 0) copy_elsewhere(s, segment.object, segment.order, segment.bytes, number);
    transmit(s, subflow, number, segment, false);
    refresh(s, subflow.sender);
    return number;
}

void Simulation::send_planned(std::size_t s) {
    auto& planned = subflows_[s].planned;
    const Planned segment = planned.front();
    planned.pop_front();
    if (planned.empty()) erase(has_planned_, s);
    paths_[s].assigned_bytes -= segment.bytes;
    planned_payload_ -= segment.bytes;
    put(s, subflows_[s], segment);
    note_planned_sent(segment.object);
    arm_timer(s);
}

// A further copy of data that another subflow carries too (reinjection, redundancy).
void Simulation::send_copy(std::size_t s, std::uint32_t object, std::uint32_t order, std::uint16_t bytes) {
    const std::int64_t number = subflows_[s].sender.append(now_, object, order, bytes);
    ObjectOutcome& outcome = outcomes_[object];
    outcome.sent_bytes += bytes;
    ++outcome.retransmissions;
    transmit(s, subflows_[s], number, {object, order, bytes}, true);
    arm_timer(s);
    refresh(s);
}

void Simulation::give_up(std::uint32_t object) {
    outcomes_[object].given_up = true;
    backlog_ -= unsent_bytes(object);
    layer_backlog_[static_cast<std::size_t>(config_.objects.layer[object])] -= config_.objects.payload_bytes[object];
    settle();
}

void Simulation::drop_from_assigned(std::size_t s) {
    auto& assigned = subflows_[s].assigned;
    const std::uint32_t object = assigned.front();
    paths_[s].assigned_bytes -= config_.objects.payload_bytes[object] - outcomes_[object].offset;
    assigned.pop_front();
    give_up(object);
    if (assigned.empty()) erase(has_assigned_, s);
}

// Give a layer to a subflow: whole, and on lanes to the next lane of its link.
void Simulation::bind(std::uint32_t object, std::size_t s) {
    SubflowState& subflow = subflows_[s];
    ObjectOutcome& outcome = outcomes_[object];
    if (config_.transport.lanes) {
        outcome.domain = static_cast<std::int32_t>(s) * config_.transport.lanes_per_link + subflow.next_lane;
        subflow.next_lane = (subflow.next_lane + 1) % config_.transport.lanes_per_link;
    } else {
        outcome.domain = 0;
    }
    subflow.assigned.push_back(object, config_.objects.layer[object]);
    paths_[s].assigned_bytes += config_.objects.payload_bytes[object] - outcome.offset;
    insert(has_assigned_, s);
}

void Simulation::assign_released(std::uint32_t object) {
    const SubflowSet all = subflows_.size() == kMaxSubflows ? ~SubflowSet{0} : bit(subflows_.size()) - 1;
    SubflowSet set = all & ~stale_ ? all & ~stale_ : all;
    if (const SubflowSet timely = in_time(object, Slack::kLight, set)) set = timely;
    const int s = scheduler_->assign(paths_, static_cast<int>(config_.objects.layer[object]),
                                     config_.objects.payload_bytes[object], set);
    bind(object, static_cast<std::size_t>(s));
}

}  // namespace dstcc
