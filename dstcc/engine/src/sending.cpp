// What a connection puts on its links: handshakes, ACKs, repairs, probes, copies, and the segments of layers.
#include <algorithm>
#include <iterator>

#include "simulation.hpp"

namespace dstcc {

namespace {

constexpr std::int64_t kSackOptionBytes = 4, kSackBlockBytes = 8;  // RFC 2018, padded to 32 bits

}  // namespace

void Simulation::send_syn(std::size_t sender, Endpoint& from) {
    if (from.first_syn_ns < 0) from.first_syn_ns = now_;
    const ConstantsNs& constants = config_.transport.constants;
    // RFC 6298: doubling from the initial RTO; there is no giving up.
    const unsigned shift = std::min(from.syns++, 30u);
    from.syn_at = now_ + (constants.rto_initial > (constants.rto_max >> shift) ? constants.rto_max
                                                                                   : constants.rto_initial << shift);
    const auto bytes = static_cast<std::uint32_t>(config_.transport.header_bytes);
    const auto passage = links_[from.link].down.transmit(now_, bytes);
    const DataPacket syn{passage.arrive_ns, now_, 0, 0, 0, 0, static_cast<std::uint16_t>(sender)};
    if (config_.trace) trace_sent(syn, passage);
    if (passage.arrive_ns == kNever) return;
    put_data(from.link, syn);
}

void Simulation::send_ack(std::size_t sender, Endpoint& from, bool syn) {
    LinkState& link = links_[from.link];
    auto bytes = static_cast<std::uint32_t>(config_.transport.header_bytes);
    const AckBlocks ack = syn ? AckBlocks{} : from.receiver.make_ack();
    if (ack.sacks > 0) bytes += static_cast<std::uint32_t>(kSackOptionBytes + kSackBlockBytes * ack.sacks);
    const auto passage = link.up.transmit(now_, bytes);
    if (config_.trace) trace_ack(TraceEvent::kAckSent, passage, sender, ack, syn);
    if (passage.arrive_ns == kNever) return;
    for (int i = 0; i < ack.sacks; ++i)
        link.blocks.push_back({static_cast<std::uint32_t>(ack.sack[i].begin - ack.cumulative),
                               static_cast<std::uint32_t>(ack.sack[i].end - ack.sack[i].begin)});
    if (stamps_) link.stamps.push_back(from.one_way_ns);
    const bool first = link.acks.empty();
    AckPacket& packet = link.acks.emplace_back();
    packet.arrive_ns = passage.arrive_ns;
    packet.echo_ns = ack.echo_ns;
    packet.delivered_bytes = delivered_payload_;
    packet.cumulative = static_cast<std::uint32_t>(ack.cumulative);
    packet.subflow = static_cast<std::uint16_t>(sender);
    packet.sacks = static_cast<std::uint8_t>(ack.sacks);
    packet.kind = syn ? kSyn : ack.duplicate ? kDuplicate : kPlain;
    if (first) tree_.set_busy(head_acks(from.link), passage.arrive_ns);
}

void Simulation::transmit(std::size_t s, std::int64_t number, const Segment& segment, bool repeat) {
    const std::uint16_t bytes = segment.bytes;
    SubflowState& subflow = subflows_[s];
    const std::uint32_t wire = bytes + static_cast<std::uint32_t>(config_.transport.header_bytes);
    const auto passage = links_[subflow.link].down.transmit(now_, wire);
    ++data_packets_;
    if (watch_ != nullptr && !repeat) watch_->worst_ns[segment.object] = std::max(watch_->worst_ns[segment.object], passage.arrive_ns);
    ++subflow.slot_sent;
    if (repeat) {
        repeated_payload_ += bytes;
        ++subflow.slot_retransmitted;
    }
    if (passage.wait_ns >= 0) waits_.add(passage.wait_ns);
    if (listens_) scheduler_->on_sent(static_cast<int>(s), bytes, std::max<Time>(passage.wait_ns, 0), now_);
    arm_timer(s);
    const DataPacket packet{passage.arrive_ns, now_,  static_cast<std::uint32_t>(number), segment.object,
                            segment.order,     bytes, static_cast<std::uint16_t>(s)};
    if (config_.trace) trace_sent(packet, passage);
    if (passage.arrive_ns != kNever) put_data(subflow.link, packet);
}

// Let a subflow use what an event gave it: repairs first, then new data.
void Simulation::pump(std::size_t s) {
    Subflow& sender = subflows_[s].sender;
    if (sender.repairs_waiting()) repair(s);
    refresh(s);
    if (ready_ != 0) offer();
    finish_sending(s);
}

// A subflow with room that the scheduler passes over is as starved as one without data.
void Simulation::finish_sending(std::size_t s) {
    Subflow& sender = subflows_[s].sender;
    const bool more = more_to_send(s) && (held_ & bit(s)) == 0;
    sender.finish_sending(now_, !more, more && !sender.window_open());
    arm_timer(s);
}

void Simulation::repair(std::size_t s) {
    if ((dark_ & bit(s)) != 0) return;
    Subflow& sender = subflows_[s].sender;
    std::int64_t number = 0;
    while (sender.window_open() && sender.pacing_until() <= now_ && sender.poll_retransmit(number)) repeat(s, number);
}

// Send a segment again on its own subflow.
void Simulation::repeat(std::size_t s, std::int64_t number) {
    Subflow& sender = subflows_[s].sender;
    const Segment segment = sender.segment(number);
    sender.mark_retransmitted(now_, number);
    ObjectOutcome& outcome = outcomes_[segment.object];
    outcome.sent_bytes += segment.bytes;
    ++outcome.retransmissions;
    transmit(s, number, segment, true);
}

// Tail loss probe (RFC 8985 section 7.3): new data if there is any, else the last segment again.
void Simulation::send_probe(std::size_t s) {
    Subflow& sender = subflows_[s].sender;
    const std::int64_t next = sender.tcp().snd_nxt;
    // A probe may exceed the window by a segment: for one offer this subflow, and no other, counts as free.
    const std::uint64_t others = ready_ & ~bit(s);
    ready_ = bit(s);
    offer();
    ready_ |= others;
    refresh(s);
    if (sender.tcp().snd_nxt > next) return;
    const std::int64_t number = next - 1;
    if ((sender.segment(number).flags & (kSacked | kLost | kRetransOut)) != 0) return;
    repeat(s, number);
    sender.mark_probe_repeated();
}

void Simulation::offer() {
    if (reinjecting_ != 0) offer_reinjections();
    if (duplicates_)
        offer_copies();
    else if (config_.transport.lanes || pins_)
        offer_assigned();
    else if (plans_)
        offer_planned();
    else
        offer_stream();
}

void Simulation::offer_reinjections() {
    for (std::uint64_t origins = reinjecting_; origins != 0; origins &= origins - 1) {
        const auto origin = static_cast<std::size_t>(__builtin_ctzll(origins));
        auto& waiting = subflows_[origin].reinjections;
        while (!waiting.empty()) {
            const Reinjection entry = waiting.front();
            const std::uint64_t others = ready_ & ~bit(origin) & ~stale_;
            const bool arrived = subflows_[origin].sender.acknowledged(entry.number);
            if (!arrived && others == 0) break;
            waiting.pop_front();
            if (!arrived) send_copy(static_cast<std::size_t>(quickest(others)), entry.object, entry.order, entry.bytes);
        }
        if (waiting.empty()) reinjecting_ &= ~bit(origin);
    }
}

// What was planned goes first; more is planned only when a subflow with room has nothing.
void Simulation::offer_planned() {
    for (;;) {
        if (const std::uint64_t planned = ready_ & has_planned_) {
            send_planned(static_cast<std::size_t>(__builtin_ctzll(planned)));
            continue;
        }
        if (usable() == 0) return;
        if (!room_at_receiver(config_.transport.mss_bytes)) {
            if (listens_ && !pending_.empty()) scheduler_->on_blocked(now_);
            return;
        }
        std::uint32_t object = 0;
        const std::uint64_t there = (established_ & ~stale_) != 0 ? established_ & ~stale_ : established_;
        std::uint64_t timely = there;
        if (!next_unbound(timely, object)) return;
        const int s = choose(there, timely, object,
                             std::min<std::int64_t>(config_.transport.mss_bytes, unsent_bytes(object)));
        if (s < 0) return;
        plan(static_cast<std::size_t>(s), object);
    }
}

void Simulation::plan(std::size_t s, std::uint32_t object) {
    const Planned segment = cut(s, object);
    subflows_[s].planned.push_back(segment);
    has_planned_ |= bit(s);
    paths_[s].assigned_bytes += segment.bytes;
    planned_payload_ += segment.bytes;
}

void Simulation::send_planned(std::size_t s) {
    auto& planned = subflows_[s].planned;
    const Planned segment = planned.front();
    planned.pop_front();
    if (planned.empty()) has_planned_ &= ~bit(s);
    paths_[s].assigned_bytes -= segment.bytes;
    planned_payload_ -= segment.bytes;
    put(s, segment);
}

// Another subflow takes over, in the order of the stream.
void Simulation::move_planned(std::size_t from, std::size_t to) {
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
    has_planned_ &= ~bit(from);
    has_planned_ |= bit(to);
}

// Subflows with room that nothing new can use send again what may be lost: the lowest layer first, then the oldest.
void Simulation::offer_spares() {
    for (auto& waiting : spares_) {
        while (!waiting.empty()) {
            const Spare spare = waiting.front();
            const bool over = subflows_[spare.origin].sender.acknowledged(spare.number) ||
                              (deadlines_ && lost_cause(spare.object));
            std::uint64_t set = usable() & ~dark_;
            if (!over && !spare_fits(spare, set)) break;
            waiting.pop_front();
            if (!over) send_copy(static_cast<std::size_t>(quickest(set)), spare.object, spare.order, spare.bytes);
        }
    }
}

// Narrow `set` to where a copy would be in time, off the subflow that has the original if there is another.
bool Simulation::spare_fits(const Spare& spare, std::uint64_t& set) const {
    set = in_time(spare.object, Slack::kWindow, set);
    if (const std::uint64_t others = set & ~bit(spare.origin)) set = others;
    return set != 0;
}

// redundant: each subflow walks the log of what was sent first and copies what is not known to have arrived.
void Simulation::offer_copies() {
    for (std::uint64_t set = ready_; set != 0; set &= set - 1) {
        const auto s = static_cast<std::size_t>(__builtin_ctzll(set));
        SubflowState& subflow = subflows_[s];
        while ((ready_ & bit(s)) != 0) {
            if (subflow.copied < log_.end()) {
                const Sent entry = log_[subflow.copied++];
                if (!subflows_[entry.subflow].sender.acknowledged(entry.number))
                    send_copy(s, entry.object, entry.order, entry.bytes);
                continue;
            }
            std::uint32_t object = 0;
            std::uint64_t only = bit(s);
            if (!room_at_receiver(config_.transport.mss_bytes) || !next_unbound(only, object)) break;
            const std::int64_t number = send_new(s, object);
            const Segment& segment = subflow.sender.segment(number);
            log_.push_back({segment.object, segment.order, segment.bytes, static_cast<std::uint16_t>(s), number});
            subflow.copied = log_.end();
        }
    }
    std::int64_t needed = log_.end();
    for (std::uint64_t set = established_; set != 0; set &= set - 1)
        needed = std::min(needed, subflows_[static_cast<std::size_t>(__builtin_ctzll(set))].copied);
    while (log_.begin() < needed) log_.pop_front();
}

void Simulation::unbind(std::uint32_t object) { pending_.take(object, config_.objects.layer[object]); }

// Transmit the next segment of a layer for the first time.
std::int64_t Simulation::send_new(std::size_t s, std::uint32_t object) { return put(s, cut(s, object)); }

// Cut the next segment off a layer, with its place in its ordering domain. From here on it is no longer backlog.
[[gnu::always_inline]] inline Simulation::Planned Simulation::cut(std::size_t s, std::uint32_t object) {
    SubflowState& subflow = subflows_[s];
    ObjectOutcome& outcome = outcomes_[object];
    const std::int64_t payload = config_.objects.payload_bytes[object];
    const auto bytes = static_cast<std::uint16_t>(
        std::min<std::int64_t>(config_.transport.mss_bytes, payload - outcome.offset));
    if (outcome.domain < 0) {
        const int lanes = config_.transport.lanes ? config_.transport.lanes_per_link : 1;
        outcome.domain = static_cast<std::int32_t>(subflow.next_lane);
        subflow.next_lane = (subflow.next_lane + 1) % lanes;
    }
    outcome.offset += bytes;
    backlog_ -= bytes;
    if (outcome.offset == payload) sent_out(object);
    if (!subflow.assigned.empty() && subflow.assigned.front() == object) {
        paths_[s].assigned_bytes -= bytes;
        if (outcome.offset == payload) {
            subflow.assigned.pop_front();
            if (subflow.assigned.empty()) has_assigned_ &= ~bit(s);
        }
    } else if (outcome.offset == payload) {
        unbind(object);
    }
    const std::uint32_t order = domains_[static_cast<std::size_t>(outcome.domain)].take_order();
    if (chunks_) chunks_->handle_cut(now_, object, order, outcome.offset - bytes);
    return {object, order, bytes};
}

[[gnu::always_inline]] inline std::int64_t Simulation::put(std::size_t s, const Planned& segment) {
    ObjectOutcome& outcome = outcomes_[segment.object];
    if (outcome.first_sent_ns < 0) {
        outcome.first_sent_ns = now_;
        outcome.subflow = static_cast<std::int32_t>(s);
        if (first_send_ns_ < 0) first_send_ns_ = now_;
    }
    const std::int64_t number = subflows_[s].sender.append(now_, segment.object, segment.order, segment.bytes);
    outcome.sent_bytes += segment.bytes;
    new_payload_ += segment.bytes;
    if (copied_layers_ != 0) copy_elsewhere(s, segment.object, segment.order, segment.bytes, number);
    transmit(s, number, subflows_[s].sender.segment(number), false);
    refresh(s);
    return number;
}

// A further copy of data that another subflow carries too (reinjection, redundancy).
void Simulation::send_copy(std::size_t s, std::uint32_t object, std::uint32_t order, std::uint16_t bytes) {
    const std::int64_t number = subflows_[s].sender.append(now_, object, order, bytes);
    ObjectOutcome& outcome = outcomes_[object];
    outcome.sent_bytes += bytes;
    ++outcome.retransmissions;
    transmit(s, number, subflows_[s].sender.segment(number), true);
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
    if (assigned.empty()) has_assigned_ &= ~bit(s);
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
    has_assigned_ |= bit(s);
}

void Simulation::assign_released(std::uint32_t object) {
    const std::uint64_t all = subflows_.size() == 64 ? ~std::uint64_t{0} : bit(subflows_.size()) - 1;
    std::uint64_t set = all & ~stale_ ? all & ~stale_ : all;
    if (const std::uint64_t timely = in_time(object, Slack::kLight, set)) set = timely;
    const int s = scheduler_->assign(paths_, static_cast<int>(config_.objects.layer[object]),
                                     config_.objects.payload_bytes[object], set);
    bind(object, static_cast<std::size_t>(s));
}

bool Simulation::room_at_receiver(std::int64_t bytes) const {
    return config_.transport.receive_buffer_bytes == 0 ||
           new_payload_ + planned_payload_ + bytes - peer_delivered_ <= config_.transport.receive_buffer_bytes;
}

bool Simulation::more_to_send(std::size_t s) const {
    return !pending_.empty() || ((has_assigned_ | has_planned_) & bit(s)) != 0 || reinjecting_ != 0 ||
           std::any_of(spares_.begin(), spares_.end(), [](const auto& waiting) { return !waiting.empty(); }) ||
           (duplicates_ && subflows_[s].copied < log_.end());
}

}  // namespace dstcc
