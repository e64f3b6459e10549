// What goes in runs: packets that follow one another are not chosen anew, and ACKs that only say that what follows arrived are counted.
#include "coding/sending_end.hpp"

namespace dstcc {

namespace {

constexpr std::int64_t kFew = 4;      // packets, of which each by itself costs no more
constexpr std::int64_t kInOrder = 2;  // the last of a layer's, whose order is asked for where they leave at one time

}  // namespace

bool CodedSendingEnd::hear_next(Time now, std::size_t s, Range newest, Time wait_ns, Time one_way_ns) {
    Subflow& subflow = subflows_[s];
    if (!held_.empty() || asks_again() || (now >= next_plan_ns_ && plans())) return false;
    SubflowSet looked_at = ready_;
    insert(looked_at, s);
    for (; !transport_.handshake && looked_at != 0; looked_at &= looked_at - 1)
        if (now >= subflows_[static_cast<std::size_t>(lowest(looked_at))].change_ns) return false;
    if (!subflow.flight.handle_next_ack(now, newest, wait_ns, one_way_ns)) return false;
    now_ = now;
    take_heard(s);
    if (paces_.at(s) <= now_ || (queued_ > 0 && ready_ != 0))
        pump(s);
    else
        arm(s);
    return true;
}

bool CodedSendingEnd::send_next(Time now, std::size_t s) {
    Subflow& subflow = subflows_[s];
    const Flight& flight = subflow.flight;
    if (keeps_back(s) || ready_ != 0 || !flight.paced_only() || flight.tcp().in_flight() == 0 ||
        flight.pacing_until() > now)
        return false;
    if (!transport_.handshake && (!subflow.up || now >= subflow.change_ns)) return false;
    now_ = now;
    if (!look_ahead()) return false;
    const std::uint32_t object = next_;
    const Time deadline = objects_.deadline_ns[object];
    if (deadlines_ && deadline != kNever) {
        const Time arrival = now_ + subflow.out.queue_ns(now_) + subflow.out.full_service_ns(now_) +
                             subflow.one_way_ns() - shorter_by(object, s);
        if (arrival > deadline - length_of(map_.block_of(object)) && arrival + latest(object, s) > deadline)
            return false;
    }
    const bool last = objects_.payload_bytes[object] - layers_[object].offset <= transport_.mss_bytes;
    if (last && sent_[map_.block_of(object)].open_members == 1) return false;
    packets_in_runs_ -= data_packets_;
    send_source(s, object);
    packets_in_runs_ += data_packets_;
    if (flight.pacing_until() > now_) {
        paces_.set(s, flight.pacing_until());
    } else {
        paces_.set(s, kNever);
        pump(s);
    }
    return true;
}

bool CodedSendingEnd::send_on(Time until, const Answered& answered) {
    if (ready_ != 0 || next_ == kNoObject || layers_[next_].first_sent_ns < 0) return false;
    const std::uint32_t object = next_, number = map_.block_of(object);
    LayerSending& layer = layers_[object];
    const auto full = static_cast<std::uint16_t>(transport_.mss_bytes);
    std::int64_t left = objects_.payload_bytes[object] - layer.offset;
    if (left <= full || interleaved(number)) return false;
    BlockSending& block = sent_[number];
    for (std::size_t s = 0; s < subflows_.size(); ++s) going_[s] = {paces_.at(s)};
    until = std::min(until, next_until_ns_);
    left -= full * go_alike(object, (left - 1) / full - kInOrder, until);
    std::size_t stopped = subflows_.size();  // a subflow whose pace lets go more than one at once
    while (left > full) {
        std::size_t s = 0, along = 0;  // with others at one time
        for (std::size_t i = 1; i < subflows_.size(); ++i) {
            along += going_[i].pace_ns == going_[s].pace_ns;
            if (going_[i].pace_ns >= going_[s].pace_ns) continue;
            s = i;
            along = 0;
        }
        const Time now = going_[s].pace_ns;
        if (now > until) break;
        if (along > 0 && !in_any_order(now, object, left)) s = first_at(now, s, answered);
        Going& going = going_[s];
        if (!going.tried) look_at(s, object);
        if (now > going.until_ns) break;
        if (going.times.spacing > 0) {
            now_ = now;
            going.tried = true;
            note_main(number, s);
            ++going.times.count;
            left -= full;
            going.pace_ns += going.times.spacing;
            continue;
        }
        Subflow& subflow = subflows_[s];
        if (going.due_ns != kNever &&
            now + subflow.out.queue_ns(now) + subflow.out.full_service_ns(now) + going.one_way_ns > going.due_ns)
            break;
        now_ = now;
        going.tried = true;
        if (put(s, in_block(number, 0), object, full)) {
            note_main(number, s);
            ++going.packets;
            left -= full;
        }
        going.pace_ns = subflow.flight.pacing_until();
        if (going.pace_ns <= now) stopped = s;
        if (going.pace_ns <= now || subflow.one_way_ns() != going.one_way_ns) break;
    }
    std::uint32_t sent = 0;
    bool tried = false;
    for (std::size_t s = 0; s < subflows_.size(); ++s) {
        Going& going = going_[s];
        if (!going.tried) continue;
        tried = true;
        if (going.times.count > 0) put(s, going.times, number, object);
        sent += going.packets + static_cast<std::uint32_t>(going.times.count);
        paces_.set(s, s == stopped ? kNever : going.pace_ns);
    }
    if (!tried) return false;
    const std::int64_t bytes = std::int64_t{sent} * full;
    layer.offset += bytes;
    layer.sent_bytes += bytes;
    source_payload_ += bytes;
    backlog_ -= bytes;
    block.source += sent;
    block.under_way += sent;
    level_with(object).begun = object;
    data_packets_ += sent;
    packets_in_runs_ += sent;
    if (stopped < subflows_.size()) pump(stopped);
    return true;
}

// Of packets that leave at distances that are known the first so many, as far as they go on by themselves; how many these are.
std::int64_t CodedSendingEnd::go_alike(std::uint32_t object, std::int64_t most, Time until) {
    if (!sends_alike_ || subflows_.size() > 2 || most < kFew) return 0;
    std::array<std::int64_t, 2> packets{};
    for (std::size_t s = 0; s < subflows_.size(); ++s) {
        if (going_[s].pace_ns > until) continue;
        look_at(s, object);
        if (going_[s].times.spacing == 0) return 0;
        until = std::min(until, going_[s].until_ns);
    }
    for (std::size_t s = 0; s < subflows_.size(); ++s)
        packets[s] = Run{going_[s].pace_ns, going_[s].times.spacing, most}.until(until);
    if (packets[0] + packets[1] > most) {  // at one time the first subflow's goes first
        const Run &one = going_[0].times, &other = going_[1].times;
        const std::int64_t least = most - packets[1];
        std::int64_t& of = packets[0];
        const std::int64_t even = (most * other.spacing + other.first - one.first) / (one.spacing + other.spacing);
        for (of = std::clamp(even, least, of); of > least && one.at(of - 1) > other.at(most - of);) --of;
        while (of < most && one.at(of) <= other.at(most - of - 1)) ++of;
        packets[1] = most - of;
    }
    std::size_t last = 0;
    for (std::size_t s = 0; s < subflows_.size(); ++s) {
        Going& going = going_[s];
        if (packets[s] == 0) continue;
        going.tried = true;
        going.times.count = packets[s];
        going.pace_ns = going.times.at(packets[s]);
        if (going.times.last() < now_) continue;
        now_ = going.times.last();
        last = s;
    }
    note_main(map_.block_of(object), packets, last);
    return packets[0] + packets[1];
}

// Of packets of two subflows, as of each by itself; `last`: whose was the last.
void CodedSendingEnd::note_main(std::uint32_t number, const std::array<std::int64_t, 2>& packets, std::size_t last) {
    BlockSending& block = sent_[number];
    for (std::size_t s = 0; s < subflows_.size(); ++s) note_over(number, s, packets[s]);
    const std::int64_t lead = (block.main == 0 ? 1 : -1) * std::int64_t{block.lead} + packets[0] - packets[1];
    if (packets[0] + packets[1] > 0) block.main = (lead == 0 ? last == 1 : lead > 0) ? 0 : 1;
    block.lead = static_cast<std::uint32_t>(std::abs(lead));
}

// Of packets at one time, whether it is the same whose goes first: of two the block's main subflow is, as long as more of it follows.
bool CodedSendingEnd::in_any_order(Time now, std::uint32_t object, std::int64_t left) {
    if (subflows_.size() > 2 || left <= 2 * transport_.mss_bytes) return false;
    for (std::size_t s = 0; s < subflows_.size(); ++s) {
        if (!going_[s].tried) look_at(s, object);
        if (now > going_[s].until_ns || going_[s].times.spacing == 0) return false;
    }
    return true;
}

// That of a subflow to which an ACK comes at that time goes before its pace lets others' go.
std::size_t CodedSendingEnd::first_at(Time now, std::size_t s, const Answered& answered) const {
    for (std::size_t i = s; i < subflows_.size(); ++i)
        if (going_[i].pace_ns == now && answered(i, now)) return i;
    return s;
}

// Full packets of a layer, at the times of a run.
void CodedSendingEnd::put(std::size_t s, const Run& times, std::uint32_t block, std::uint32_t object) {
    Subflow& subflow = subflows_[s];
    const auto full = static_cast<std::uint16_t>(transport_.mss_bytes);
    const std::uint32_t order = in_block(block, 0);
    const std::int64_t number = subflow.flight.append(times, order, object, full);
    const DataPacket first{0,     times.first, static_cast<std::uint32_t>(number),     object,
                           order, full,        static_cast<std::uint16_t>(s & 0x7FFF), 0};
    for (const auto& [wait_ns, packets] : subflow.out.send(times, first, header_bytes_)) waits_.add(wait_ns, packets);
    subflow.sent += times.count;
}

// Until when it goes on by itself, and when a packet of the object must be there.
void CodedSendingEnd::look_at(std::size_t s, std::uint32_t object) {
    Subflow& subflow = subflows_[s];
    Going& going = going_[s];
    const Flight& flight = subflow.flight;
    const bool goes = !keeps_back(s) && flight.paced_only() && flight.tcp().in_flight() > 0 &&
                      flight.pacing_until() <= going.pace_ns && subflow.up;
    going.until_ns = !goes ? -1 : transport_.handshake ? kNever : subflow.change_ns - 1;
    going.one_way_ns = subflow.one_way_ns();
    const Time deadline = objects_.deadline_ns[object];
    going.due_ns = !deadlines_ || deadline == kNever
                       ? kNever
                       : deadline - std::min(length_of(map_.block_of(object)), latest(object, s));
    if (!sends_alike_) return;
    const auto full = static_cast<std::uint16_t>(transport_.mss_bytes);
    const Time distance = subflow.flight.distance(full);
    const Time wait = distance > 0 ? subflow.out.wait_alike(going.pace_ns, distance, full + header_bytes_) : -1;
    if (wait < 0) return;
    going.times = {going.pace_ns, distance, 0};
    if (going.due_ns != kNever)
        going.until_ns =
            std::min(going.until_ns, going.due_ns - wait - subflow.out.full_service_ns(now_) - going.one_way_ns);
}

void CodedSendingEnd::count(Time now, std::size_t s, std::int64_t end, Time wait_ns, Time one_way_ns) {
    now_ = now;
    subflows_[s].flight.count(now, end, wait_ns, one_way_ns);
    take_heard(s);
    arm(s);
}

bool CodedSendingEnd::only_counts(std::size_t s, std::int64_t packets) {
    const SentPacket& packet = subflows_[s].flight.oldest();
    if (packet.block == kNoBlock) return true;
    const std::uint32_t number = block_in(packet.block);
    const BlockSending& block = sent_[number];
    if (!block.closed) return true;
    if (interleaved(number) || block.under_way <= packets) return false;
    return block.over || block.arrived + packets < needed(block);
}

void CodedSendingEnd::count(std::size_t s, const Run& times, std::int64_t first, std::int64_t each, Time wait_ns,
                            Time one_way_ns, Time longer_ns) {
    now_ = times.last();
    Subflow& over = subflows_[s];
    over.flight.count(times, first, each, wait_ns, one_way_ns, longer_ns);
    note_heard(over, over.flight.heard().front());
    over.lately.take_arrived(static_cast<std::size_t>(first), 1);
    over.lately.take_arrived(static_cast<std::size_t>(each), times.count - 1);
    arm(s);
}

Time CodedSendingEnd::counts_until(Time now, const std::vector<Time>& round_trips) const {
    if (asks_again()) return -1;
    Time until = plans() ? next_plan_ns_ - 1 : kNever;
    for (std::size_t s = 0; s < subflows_.size(); ++s) {
        const Subflow& subflow = subflows_[s];
        // What may wait for an uplink's contact may come when a timer is due.
        if (subflow.clock.may_wait()) return -1;
        until = std::min(until, subflow.flight.deaf_until(now, round_trips[s]));
        if (!transport_.handshake) until = std::min(until, subflow.change_ns - 1);
    }
    return until;
}

}  // namespace dstcc
