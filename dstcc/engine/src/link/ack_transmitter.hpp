// All that a receiving end has of its link: it can put acknowledgements on it.
#pragma once

#include "link/wire.hpp"

namespace dstcc {

class AckTransmitter {
public:
    explicit AckTransmitter(Wire& wire) : wire_(&wire), up_(&wire.link_->up) {}

    struct Ack {
        std::int64_t cumulative;
        Time echo_ns;
        const Range* blocks;  // SACK blocks
        int sacks;
        AckKind kind;
        Time one_way_ns;         // what the newest segment took
        std::int64_t delivered;  // in-order payload at the receiver
    };
    [[gnu::always_inline]] void send(Time now, std::size_t sender, const Ack& ack, std::uint32_t bytes) const {
        Wire& wire = *wire_;
        const Direction::Passage passage = up_->transmit(now, bytes);
        if (wire.observers_.log != nullptr)
            wire.observers_.log->ack_sent(now, sender, ack.cumulative, ack.blocks, ack.sacks, ack.kind == kSyn,
                                          ack.delivered, passage);
        if (passage.arrive_ns == kNever) return;
        if (__builtin_expect(wire.beyond_ != nullptr, 0)) return send_beyond(passage.arrive_ns, sender, ack, bytes);
        if (ack.sacks > 0) fill(ack, wire.blocks_.emplace_back());
        fill(ack, sender, wire.put_ack(passage.arrive_ns, ack.one_way_ns, ack.delivered));
    }

    // The same for ACKs at the times of a run, on a link without nodes that nobody observes. Of the first is given what it says, of the others
    // by what they differ.
    void send(const Run& times, std::size_t sender, const Ack& first, const AckRun& each, std::uint32_t bytes) const {
        RunPassage& passage = wire_->passage_;
        passage.clear();
        up_->transmit(times, bytes, passage);
        for (const auto& [place, arrivals] : passage.arrive) {
            if (first.sacks == 0 && wire_->joins_acks_) {
                wire_->join_acks({arrivals.first, first.echo_ns + place * each.stamp_spacing,
                                  static_cast<std::uint32_t>(first.cumulative + place * each.acknowledges),
                                  static_cast<std::uint16_t>(sender), 0, first.kind},
                                 {arrivals.count, arrivals.spacing, each.stamp_spacing, each.acknowledges});
                continue;
            }
            AckPacket& packet =
                wire_->put_ack(arrivals.first, first.one_way_ns + place * each.stamp_spacing, first.delivered);
            fill(first, sender, packet);
            packet.cumulative += static_cast<std::uint32_t>(place * each.acknowledges);
            if (!wire_->beside_.stamps) packet.echo_ns += place * each.stamp_spacing;
            if (first.sacks > 0) {
                SackBlocks& blocks = wire_->blocks_.emplace_back();
                fill(first, blocks);
                blocks.end[0] += static_cast<std::uint32_t>(place * each.lengthens);
            }
            if (arrivals.count == 1) continue;
            packet.kind = kRun;
            wire_->put_run({arrivals.count, arrivals.spacing, each.stamp_spacing, each.acknowledges, each.lengthens});
        }
    }

    // How long the uplink takes for so many bytes; -1: its rate changes.
    Time service_ns(std::uint32_t bytes) const { return up_->steady_rate() ? up_->service_ns(bytes) : -1; }
    // Until when what was put on its way keeps the uplink.
    Time busy_ns() const { return up_->busy_ns(); }

private:
    [[gnu::always_inline]] static void fill(const Ack& ack, SackBlocks& blocks) {
        for (int i = 0; i < ack.sacks; ++i) {
            blocks.begin[i] = static_cast<std::uint32_t>(ack.blocks[i].begin - ack.cumulative);
            blocks.end[i] = static_cast<std::uint32_t>(ack.blocks[i].end - ack.cumulative);
        }
    }
    [[gnu::always_inline]] static void fill(const Ack& ack, std::size_t sender, AckPacket& packet) {
        packet.echo_ns = ack.echo_ns;
        packet.cumulative = static_cast<std::uint32_t>(ack.cumulative);
        packet.sender = static_cast<std::uint16_t>(sender);
        packet.sacks = static_cast<std::uint8_t>(ack.sacks);
        packet.kind = ack.kind;
    }
    // To a node.
    [[gnu::noinline]] void send_beyond(Time at, std::size_t sender, const Ack& ack, std::uint32_t bytes) const {
        Wire::WholeAck whole{};
        fill(ack, whole.blocks);
        fill(ack, sender, whole.packet);
        whole.one_way_ns = ack.one_way_ns;
        whole.delivered = ack.delivered;
        wire_->beyond_->acks.enter(whole, at, bytes, 0);
    }

    Wire* wire_;
    Direction* up_;
};

}  // namespace dstcc
