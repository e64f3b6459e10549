// What the event loop does alike for all that is TCP: it reads ACKs off a wire, and makes receivers.
#pragma once

#include "congestion/setup.hpp"
#include "link/wire.hpp"
#include "tcp/receiver.hpp"
#include "tcp/sender.hpp"

namespace dstcc {

inline void read_blocks(AckBlocks& ack, const SackBlocks& blocks, int sacks) {
    for (int i = 0; i < sacks; ++i) ack.sack[i] = {ack.cumulative + blocks.begin[i], ack.cumulative + blocks.end[i]};
    ack.sacks = sacks;
}

// The ACK that a packet is, for a sender whose oldest segment in flight is `una`. What travels beside it but its blocks is read.
[[gnu::always_inline]] inline AckBlocks read_ack(Wire& wire, const AckPacket& packet, std::int64_t una, Time one_way) {
    AckBlocks ack;
    ack.one_way_ns = one_way;
    ack.cumulative = widen(una, packet.cumulative);
    ack.echo_ns = packet.echo_ns;
    ack.duplicate = packet.kind == kDuplicate;
    if (packet.sacks > 0) read_blocks(ack, wire.take_blocks(), packet.sacks);
    return ack;
}

// A socket's buffer that nobody set, as the kernel backend has it: four times what the links and their queues hold, 4 MiB at least.
double socket_buffer(const EngineConfig& config);

// A configured buffer is as large as makes the window of the scenario.
SubflowReceiver make_receiver(const EngineConfig& config, std::size_t link, int option_bytes);

}  // namespace dstcc
