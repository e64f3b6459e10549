// Nodes that end a TCP connection and begin another: performance-enhancing proxies (RFC 3135 section 2.4), `forwards = "split"`.
//
// Each subflow of a path over such nodes is a row of connections, one a hop. What a node has received in order goes on, segment by
// segment; number n is the same segment on every hop. A node holds a segment from its arrival until the next hop has acknowledged
// it, in a share of its storage that is its window to the hop before:
//
//     share = storage / (subflows over the node), in full segments;   the sender may send n < freed + share
//
// where `freed` counts what the node's own sender has had acknowledged, and goes back with each ACK; alone where the room that
// was said has at least doubled (Linux's tcp_cleanup_rbuf()). The connection onwards is opened when the first SYN comes in.
//
// A node that restarts keeps its connections, as a process that is stopped and continued: it receives nothing until it has booted.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "core/config.hpp"
#include "link/node.hpp"
#include "tcp/answering.hpp"
#include "tcp/peer_room.hpp"
#include "tcp/senders.hpp"

namespace dstcc {

// The nodes that are the k-th on their paths; proxies are numbered as the subflows are.
class ProxyLevel : private Senders {
public:
    struct Timing {  // heads of each proxy
        Timers acks, timers, paces;
    };
    ProxyLevel(const TransportConfig& transport, std::size_t subflows, Timing timing)
        : Senders(transport, 0, timing.timers, timing.paces),
          answering_(transport.header_bytes, 0, timing.acks),
          acks_(timing.acks),
          proxies_(subflows) {}
    // `share`: of the node's storage, in segments; `next`: that of the node behind.
    void add(std::size_t s, ReceivingEndpoint in, SendingEndpoint out, Node& node, std::int64_t share,
             std::int64_t next) {
        proxies_[s] = std::make_unique<Proxy>(Proxy{{std::move(out)}, in, &node, share, PeerRoom(next)});
    }

    void handle_data(Time now, const DataPacket& packet);
    void handle_established(Time now, std::size_t s, Time syn_ns, std::int64_t freed);
    void handle_ack(Time now, std::size_t s, AckBlocks& ack, std::int64_t freed);
    void handle_ack_timer(Time now, std::size_t s);
    void handle_timer(Time now, std::size_t s);
    void handle_pace(Time now, std::size_t s);

    bool boots(Time now, std::size_t s) const { return proxies_[s]->node->boots(now); }
    const Subflow& sender(std::size_t s) const { return proxies_[s]->sender; }
    std::int64_t received(std::size_t s) const { return proxies_[s]->in.receiver.next(); }
    std::int64_t bytes() const;

private:
    struct Held {
        std::uint32_t object, order;
        std::uint16_t bytes = 0;  // 0: has not come
    };
    struct Proxy : SendingEndpoint {
        ReceivingEndpoint in;
        Node* node;
        std::int64_t share;
        PeerRoom room;
        std::int64_t freed = 0, told = 0;       // the sender knows of these
        BlockRing<Held> waiting{};              // by number, from the next to send on
        BlockRing<std::uint16_t> held_bytes{};  // on the wire, likewise from `freed` on
        bool waits() const { return sender.tcp().snd_nxt < in.receiver.next(); }
        bool has_data() const { return waits() && !room.full(sender); }
        void note_told() {
            if (in.receiver.ack_deadline() == kNever) told = freed;
        }
    };
    void take(Proxy& proxy, std::int64_t number, const DataPacket& packet);
    void release(std::size_t s, Proxy& proxy);
    void pump(std::size_t s);
    void send_next(std::size_t s, Proxy& proxy);
    void repeat(std::size_t s, Proxy& proxy, std::int64_t number);
    void arm(std::size_t s, Proxy& proxy);

    Answering answering_;
    Timers acks_;
    std::vector<std::unique_ptr<Proxy>> proxies_;  // none where a path has fewer nodes
};

}  // namespace dstcc
