// What a connection puts on its links: repairs, probes, copies, and the segments of layers.
#include <algorithm>

#include "dispatch/dispatcher.hpp"

namespace dstcc {

[[gnu::always_inline]] inline void Dispatcher::transmit(std::size_t s, Outlet& subflow, std::int64_t number,
                                                        const Cut& segment, bool repeat) {
    const Time wait = subflow.out.send(now_, s, number, segment.object, segment.order, segment.bytes, header_bytes_,
                                       !repeat, segment.pushed);
    ++data_packets_;
    ++subflow.sent;
    if (repeat) {
        repeated_payload_ += segment.bytes;
        ++subflow.retransmitted;
    }
    if (wait >= 0) waits_.add(wait);
    if (wants_feedback_) scheduler_->on_sent(static_cast<int>(s), segment.bytes, std::max<Time>(wait, 0), now_);
}

void Dispatcher::repair(std::size_t s) {
    if (contains(outage_, s)) return;
    Subflow& sender = subflows_[s].sender;
    std::int64_t number = 0;
    while (sender.window_open() && sender.pacing_until() <= now_ && sender.poll_retransmit(number)) {
        repeat(s, number);
        if (sender.holds() && data_waits(s)) sender.push();
    }
}

// Bound to a subflow that has not sent it yet, a layer may go over another one first.
void Dispatcher::note_again(std::size_t s, const Cut& segment) {
    each_layer(segment, [&](std::uint32_t object, std::uint16_t bytes) {
        LayerSending& layer = layers_[object];
        note_first(s, layer);
        layer.sent_bytes += bytes;
        ++layer.retransmissions;
    });
}

// Send a segment again on its own subflow.
void Dispatcher::repeat(std::size_t s, std::int64_t number) {
    Subflow& sender = subflows_[s].sender;
    const Segment segment = sender.segment(number);
    sender.mark_retransmitted(now_, number);
    const Cut again{segment.object, segment.order, segment.bytes, (segment.flags & kPushed) != 0};
    note_again(s, again);
    transmit(s, subflows_[s], number, again, true);
    arm_timer(s);
}

void Dispatcher::arm_for_rooms() {
    for (SubflowSet set = established_; set != 0; set &= set - 1) {
        const auto s = static_cast<std::size_t>(lowest(set));
        if (!data_waits(s)) continue;
        const Time ask = rooms_[s].probe_at(now_, subflows_[s].sender, transport_.constants.rto_max);
        if (ask < timers_.at(s)) timers_.set(s, ask);
    }
}

// Tail loss probe (RFC 8985 section 7.3): new data if there is any, else the last segment again. Where a program writes what the
// window has room for (kernel-cc/transfer), TCP has no new data.
void Dispatcher::send_probe(std::size_t s) {
    Subflow& sender = subflows_[s].sender;
    const std::int64_t next = sender.tcp().snd_nxt;
    if (!writes_what_fits_ && (rooms_.empty() || !rooms_[s].full(sender))) {
        // A probe may exceed the window by a segment: for one offer this subflow, and no other, counts as free.
        const SubflowSet others = ready_ & ~bit(s);
        ready_ = bit(s);
        offer();
        ready_ |= others;
        refresh(s);
    }
    const std::int64_t number = next - 1;
    if (sender.tcp().snd_nxt == next && (sender.segment(number).flags & (kSacked | kLost | kRetransOut)) == 0)
        repeat(s, number);
    sender.finish_probe(now_);
}

// One segment of a layer after another, for as long as nothing else could have come to be chosen.
void Dispatcher::send_run(std::size_t s, std::uint32_t object) {
    if (runs_ && begin_going(s, object)) return;
    Outlet& subflow = subflows_[s];
    LayerSending& layer = layers_[object];
    const std::int64_t payload = objects_.payload_bytes[object], before = layer.offset;
    if (!subflow.sender.paced(now_) && !wants_feedback_ && !chunks_ && copied_layers_ == 0 && rooms_.empty())
        send_burst(s, subflow, object, layer, payload);
    else
        do {
            Cut segment =
                take(subflow, object, layer, std::min<std::int64_t>(transport_.mss_bytes, payload - layer.offset));
            segment.pushed = writes_what_fits_ && (subflow.sender.paced(now_) || layer.offset == payload ||
                                                   subflow.sender.room() <= 1 || !room_at_receiver());
            put(s, subflow, segment);
        } while (layer.offset < payload && contains(ready_, s) && room_at_receiver());
    backlog_ -= layer.offset - before;
    if (layer.offset == payload) {
        cut_whole(object);
        note_sent_out(object);
    }
    arm_timer(s, subflow);
}

// A run in one go: what its segments have in common is done once. For subflows that are not paced, while the scheduler does
// not want to know of single segments.
[[gnu::always_inline]] inline void Dispatcher::send_burst(std::size_t s, Outlet& subflow, std::uint32_t object,
                                                          LayerSending& layer, std::int64_t payload) {
    Subflow& sender = subflow.sender;
    const Time now = now_;
    const std::int64_t mss = transport_.mss_bytes;
    std::uint32_t& next_order = order_of(subflow, object);
    note_first(s, layer);
    insert(sent_, s);
    sender.begin_run(now);
    const std::int64_t first = sender.tcp().snd_nxt;
    const std::int64_t end = first + std::min(sender.room(), room_for(mss));
    std::int64_t number = first, left = payload - layer.offset;
    std::uint32_t order = next_order;
    if (by_acks_ && left >= mss) {
        const std::int64_t whole = std::min(end - first, left / mss);
        for (; number < first + whole; ++number) sender.push(now, object, order++, static_cast<std::uint16_t>(mss));
        put_on_line(s, {{now, 0, 1}, whole}, first, object, next_order);
        left -= whole * mss;
    }
    while (number < end && left > 0) {
        const auto bytes = static_cast<std::uint16_t>(std::min(mss, left));
        left -= bytes;
        const bool pushed = writes_what_fits_ && (number + 1 >= end || left == 0);
        sender.push(now, object, order, bytes);
        if (pushed) sender.mark_pushed();
        const Time wait = subflow.out.send(now, s, number, object, order, bytes, header_bytes_, true, pushed);
        if (wait >= 0) waits_.add(wait);
        ++order;
        ++number;
    }
    const std::int64_t bytes = payload - left - layer.offset, count = number - first;
    next_order = order;
    layer.offset += bytes;
    layer.sent_bytes += bytes;
    new_payload_ += bytes;
    data_packets_ += count;
    subflow.sent += count;
    sender.finish_run(now, count);
    refresh(s, sender);
}

// The last byte of a layer has been cut.
void Dispatcher::cut_whole(std::uint32_t object) {
    layer_backlog_[static_cast<std::size_t>(objects_.layer[object])] -= objects_.payload_bytes[object];
}

void Dispatcher::note_cut(std::uint32_t object, std::int64_t bytes) {
    backlog_ -= bytes;
    if (unsent_bytes(object) > 0) return;
    cut_whole(object);
    unbind(object);
}

Cut Dispatcher::cut(std::size_t s, std::uint32_t object, std::int64_t most_bytes) {
    const Cut segment = take(subflows_[s], object, layers_[object], std::min(most_bytes, unsent_bytes(object)));
    note_cut(object, segment.bytes);
    return segment;
}

void Dispatcher::extend(std::size_t s, Cut& segment, std::uint32_t object, std::int64_t bytes) {
    DSTCC_CHECK(segment.order + 1 == order_of(subflows_[s], object), "only the segment cut last grows");
    headers_.join({segment.order, segment.object, segment.bytes}, object, static_cast<std::uint16_t>(bytes));
    segment.bytes = static_cast<std::uint16_t>(segment.bytes + bytes);
    layers_[object].offset += bytes;
    note_cut(object, bytes);
}

std::int64_t Dispatcher::send_new(std::size_t s, std::uint32_t object) {
    const Cut segment = cut(s, object);
    if (unsent_bytes(object) == 0) note_sent_out(object);
    const std::int64_t number = put(s, subflows_[s], segment);
    arm_timer(s);
    return number;
}

void Dispatcher::put_cut(std::size_t s, const Cut& segment) {
    put(s, subflows_[s], segment);
    arm_timer(s);
}

[[gnu::always_inline]] inline Cut Dispatcher::take(Outlet& subflow, std::uint32_t object, LayerSending& layer,
                                                   std::int64_t most_bytes) {
    const auto bytes = static_cast<std::uint16_t>(most_bytes);
    const std::uint32_t order = order_of(subflow, object)++;
    if (chunks_) chunks_->handle_cut(now_, object, order, layer.offset);
    layer.offset += bytes;
    return {object, order, bytes};
}

[[gnu::always_inline]] inline std::int64_t Dispatcher::put(std::size_t s, Outlet& subflow, const Cut& segment) {
    each_layer(segment, [&](std::uint32_t object, std::uint16_t bytes) {
        note_first(s, layers_[object]);
        layers_[object].sent_bytes += bytes;
    });
    insert(sent_, s);
    const std::int64_t number = subflow.sender.append(now_, segment.object, segment.order, segment.bytes);
    if (segment.pushed) subflow.sender.mark_pushed();
    new_payload_ += segment.bytes;
    if (copied_layers_ != 0) copy_elsewhere(s, segment.object, segment.order, segment.bytes, number);
    transmit(s, subflow, number, segment, false);
    refresh(s, subflow.sender);
    return number;
}

// A further copy of data that another subflow carries too (reinjection, redundancy).
void Dispatcher::send_copy(std::size_t s, std::uint32_t object, std::uint32_t order, std::uint16_t bytes) {
    copied_ = true;
    const std::int64_t number = subflows_[s].sender.append(now_, object, order, bytes);
    insert(sent_, s);
    note_again(s, {object, order, bytes});
    transmit(s, subflows_[s], number, {object, order, bytes}, true);
    arm_timer(s);
    refresh(s);
}

void Dispatcher::give_up(std::uint32_t object) {
    stop_all();  // what builds on it goes no more
    layers_[object].given_up = true;
    backlog_ -= unsent_bytes(object);
    layer_backlog_[static_cast<std::size_t>(objects_.layer[object])] -= objects_.payload_bytes[object];
    remaining_.take_off();
}

// Give a layer its ordering domain: on lanes the next of the subflow's, else the connection's.
void Dispatcher::set_domain(std::uint32_t object, std::size_t s) {
    Outlet& subflow = subflows_[s];
    std::int32_t& domain = headers_.domain[object];
    if (transport_.lanes) {
        domain = static_cast<std::int32_t>(s) * transport_.lanes_per_link + subflow.next_lane;
        subflow.next_lane = (subflow.next_lane + 1) % transport_.lanes_per_link;
    } else {
        domain = 0;
    }
}

// What a subflow with a timeout owes, and what the agent wants twice, takes the same way.
void Dispatcher::copy_elsewhere(std::size_t s, std::uint32_t object, std::uint32_t order, std::uint16_t bytes,
                                std::int64_t number) {
    const auto layer = static_cast<std::uint64_t>(objects_.layer[object]);
    if (layer >= 64 || (copied_layers_ >> layer & 1) == 0) return;
    if (deadline_order_) {
        if (spares_.size() <= layer) spares_.resize(layer + 1);
        spares_[layer].push_back({{object, order, bytes, number}, static_cast<std::uint16_t>(s)});
        return;
    }
    if (subflows_.size() < 2) return;
    subflows_[s].reinjections.push_back({object, order, bytes, number});
    insert(reinjecting_, s);
}

}  // namespace dstcc
