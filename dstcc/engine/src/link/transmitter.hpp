// All that a sending end has of its link: it can put segments on it, and knows the queue in front of it, which is its own.
// What becomes of a segment it learns from acknowledgements.
#pragma once

#include "link/wire.hpp"

namespace dstcc {

class Transmitter {
public:
    explicit Transmitter(Wire& wire) : wire_(&wire), down_(&wire.link_->down) {}

    // Returns how long the segment waits in the queue; -1: the queue has no room. A SYN has 0 bytes of payload.
    // `first`: a layer's segment goes out for the first time; for those who observe the link. `pushed`: it ends a write.
    [[gnu::always_inline]] Time send(Time now, std::size_t sender, std::int64_t number, std::uint32_t object,
                                     std::uint32_t order, std::uint16_t bytes, std::uint32_t header_bytes, bool first,
                                     bool pushed = false) const {
        Wire& wire = *wire_;
        const Direction::Passage passage = down_->transmit(now, bytes + header_bytes);
        const auto fill =
            [&](DataPacket& packet) {  // all at once: a part of a word would wait for what was there before
                packet = {passage.arrive_ns,
                          now,
                          static_cast<std::uint32_t>(number),
                          object,
                          order,
                          bytes,
                          static_cast<std::uint16_t>(sender & 0x7FFF),
                          static_cast<std::uint16_t>(pushed)};
            };
        if (wire.observed_) {
            DataPacket seen{};
            fill(seen);
            wire.tell_observers(seen, number, first, passage);
        }
        if (passage.arrive_ns == kNever) return passage.wait_ns;
        if (__builtin_expect(wire.beyond_ != nullptr, 0)) {
            DataPacket packet{};
            fill(packet);
            wire.send_beyond(packet, bytes + header_bytes);
        } else if (__builtin_expect(wire.joins_, 0)) {
            wire.join(passage.arrive_ns, now, static_cast<std::uint32_t>(number), object, order, bytes,
                      static_cast<std::uint16_t>(sender & 0x7FFF));
        } else {
            fill(wire.put_data(passage.arrive_ns));
        }
        return passage.wait_ns;
    }
    // The same for packets at the times of a run, the first of which is given, on a link without nodes that nobody observes; tells how
    // long they wait, as far as there is room for them.
    const std::vector<RunPassage::Waits>& send(const Run& times, const DataPacket& first,
                                               std::uint32_t header_bytes) const {
        RunPassage& passage = wire_->passage_;
        passage.clear();
        down_->transmit(times, first.bytes + header_bytes, passage);
        for (const auto& [place, arrivals] : passage.arrive)
            wire_->join(arrivals.first, times.at(place), first.number + static_cast<std::uint32_t>(place), first.object,
                        first.order + wire_->order_step_ * static_cast<std::uint32_t>(place), first.bytes, first.sender,
                        {arrivals.count, times.spacing, arrivals.spacing});
        return passage.waits;
    }
    // The same for volleys.
    const std::vector<RunPassage::Waits>& send(const Volleys& volleys, const DataPacket& first,
                                               std::uint32_t header_bytes) const {
        RunPassage& passage = wire_->passage_;
        passage.clear();
        down_->transmit(volleys, first.bytes + header_bytes, passage);
        for (const auto& [place, arrivals] : passage.arrive) {
            DataPacket packet = first;
            packet.arrive_ns = arrivals.first;
            packet.sent_ns = volleys.times.at(place / volleys.each);
            packet.number += static_cast<std::uint32_t>(place);
            packet.order += static_cast<std::uint32_t>(place);
            wire_->put_run(
                packet, {arrivals.count, volleys.times.spacing, arrivals.spacing,
                         static_cast<std::uint32_t>(volleys.each), static_cast<std::uint32_t>(place % volleys.each)});
        }
        return passage.waits;
    }
    // How long each of the packets waits that come at that distance from now on, if nothing else comes: -1 where not all wait alike.
    Time wait_alike(Time now, Time distance, std::uint32_t bytes) const {
        return down_->wait_alike(now, distance, bytes);
    }
    // A packet that takes its place on the line and says nothing.
    void pass(Time now, std::uint32_t bytes) const { down_->transmit(now, bytes); }
    // When the queue has room for a packet of so many bytes on the wire: now, or later.
    Time room_at(Time now, std::uint32_t bytes) const { return down_->room_at(now, bytes); }
    // How long a packet that comes now waits for its service, and what is before it.
    Time queue_ns(Time now) const { return down_->queue_ns(now); }
    std::int64_t queue_bytes(Time now) const { return down_->queue_bytes(now); }
    Time slot_ns() const { return down_->slot_ns(); }  // a full packet's, on the line
    // The same at the rate of now.
    Time full_service_ns(Time now) const { return down_->full_service_ns(now); }

private:
    Wire* wire_;
    Direction* down_;
};

}  // namespace dstcc
