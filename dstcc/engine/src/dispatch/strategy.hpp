// How data gets to subflows: one of these, chosen once. A strategy owns the queues that only it needs; layers that are bound to no
// subflow wait with the dispatcher.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "core/base.hpp"

namespace dstcc {

class Dispatcher;
using LayerSet = std::array<bool, 256>;

class Strategy {
public:
    virtual ~Strategy() = default;
    virtual void handle_release(std::uint32_t object) = 0;
    // No layer that is begun waits with the dispatcher.
    virtual bool binds_whole() const { return false; }
    // Use the room there is. Called only if something waits that a subflow with room could take.
    virtual void offer() = 0;
    virtual void handle_established(std::size_t /*s*/) {}
    // An ACK came in on a subflow, and so many bytes are known to be delivered in order; only where wants_acks().
    virtual bool wants_acks() const { return false; }
    virtual void handle_ack(std::size_t /*s*/, std::int64_t /*delivered*/) {}
    // A timer of the connection's own.
    virtual Time due() const { return kNever; }
    virtual void handle_timer() {}
    // Others take over what subflow s was to send, and some other is there.
    virtual void handle_timeout(std::size_t /*s*/) {}
    virtual void drop_expired() {}
    // Layers of which another subflow is to carry what was not begun.
    virtual void reassign(const LayerSet& /*changed*/) {}
};

// Segment by segment, to whom the scheduler picks.
std::unique_ptr<Strategy> make_stream(Dispatcher& dispatcher);
// Whole layers: when they are released, or (lanes) when a subflow with room has nothing.
std::unique_ptr<Strategy> make_assigned(Dispatcher& dispatcher, bool when_released);
// A program that writes ahead, and its connection's sockets.
struct Program {
    Time longest_rtt;           // of light
    double send_buffer;         // bytes of memory, of each socket
    std::int64_t unsent_limit;  // tcp_notsent_lowat
};
// Segments are given to subflows ahead of their windows: when one with room has nothing, or (`ahead`) as a program writes and
// a kernel binds it, by segments or by `whole_pieces`.
std::unique_ptr<Strategy> make_planned(Dispatcher& dispatcher, bool ahead, bool whole_pieces, const Program& program);
// Everything over every subflow.
std::unique_ptr<Strategy> make_redundant(Dispatcher& dispatcher);

}  // namespace dstcc
