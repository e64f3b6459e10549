// All lines of a trial, and the nodes between them.
//
// An end puts packets on the first line of its path, as on any link. Where that leads to a node, the network takes them on from hop to
// hop, and tells their carrier (link/wire.hpp) when they come to the other end, or that they do not. A line is first in, first
// out, and so is a path: packets of a carrier arrive in the order of their numbers. Paths that share a hop meet in its queue.
//
// It belongs to the far side of a trial's clock (sim/trial.hpp): everything behind the first hop, seen from the sender.
#pragma once

#include <deque>
#include <vector>

#include "core/column.hpp"
#include "core/events.hpp"
#include "link/link.hpp"
#include "link/node.hpp"
#include "link/traffic.hpp"

namespace dstcc {

// Draws of the lines behind nodes are apart from those of the first ones.
constexpr std::uint64_t kHopNumbers = 1 << 20;

// Whose packets travel.
class Carrier {
public:
    virtual ~Carrier() = default;
    virtual void arrives(std::int64_t number, Time at) = 0;  // at the other end
    virtual void is_lost(std::int64_t number) = 0;
};

// A node, slot by slot.
struct NodeSamples {
    std::vector<std::int64_t> slot_held_bytes, slot_dropped_packets, slot_lost_in_restarts_packets;
    DSTCC_FIELDS(slot_held_bytes, slot_dropped_packets, slot_lost_in_restarts_packets)
};

// What was put on the two lines of a hop, and what became of it there: that of a path's first hop too. Others' datagrams count.
struct HopCounts {
    std::int64_t number = -1;    // -1: the first hop of a path
    std::int64_t first_of = -1;  // that path
    std::int64_t sent_packets = 0, lost_packets = 0, dropped_packets = 0;
    std::int64_t up_sent_packets = 0, up_lost_packets = 0, up_dropped_packets = 0;
    DSTCC_FIELDS(number, first_of, sent_packets, lost_packets, dropped_packets, up_sent_packets, up_lost_packets,
                 up_dropped_packets)
};
struct HopSamples {
    std::vector<std::int64_t> slot_sent_packets, slot_up_sent_packets;
    DSTCC_FIELDS(slot_sent_packets, slot_up_sent_packets)
};

class Network {
public:
    explicit Network(const EngineConfig& config);
    Network(const Network&) = delete;  // links and wires point at it
    Network& operator=(const Network&) = delete;

    std::vector<Link> links();
    // Who travels on a path, to Earth or back.
    std::uint16_t add(Carrier& carrier, std::size_t path, bool up);
    // What an end has put on its first line comes to the node at `at`.
    void enter(std::uint16_t carrier, Time at, std::int64_t number, std::uint32_t bytes, std::uint8_t layer);
    // Of the video's layer that a packet holds something of; of a repair packet, by its block.
    std::uint8_t layer_of(std::uint32_t object, std::uint32_t block) const {
        return object < layer_.size() ? layer_[object] : layers_ > 0 ? static_cast<std::uint8_t>(block % layers_) : 0;
    }

    Time next() const { return heads_.time(); }
    void step();
    // What comes back from a node to a sender takes longer; kNever: there are no nodes.
    Time least_home() const { return least_home_ns_; }

    // --- for observers
    void sample();
    std::size_t nodes() const { return nodes_.size(); }
    const Node& node(std::size_t n) const { return nodes_[n]; }
    const NodeSamples& samples(std::size_t n) const { return samples_[n]; }
    std::size_t hops() const { return hops_.size(); }
    HopCounts hop(std::size_t h) const;
    const HopSamples& hop_samples(std::size_t h) const { return hop_samples_[h]; }
    // Of the data direction, each line once.
    std::int64_t dropped() const;
    std::int64_t lost() const;
    // Put on the lines of data at their senders.
    std::int64_t sent_first() const;
    std::int64_t bytes() const;
    void check() const;

private:
    // A line, what comes over it to a node, and, where it begins at a node, what waits for it there.
    struct Way {
        Way(const LinkConfig& of, bool back, const NodeConfig* from);
        // Had room in its queue.
        std::int64_t carried() const { return line.sent() - line.dropped(); }
        Direction line;
        PlannedWay plan;
        bool up, first = false;
        std::ptrdiff_t node = -1;  // -1: at an end
        bool serving = false;
        std::int64_t dropped = 0;  // by the node
        Waiting waiting;
        BlockRing<Token> coming;
    };
    // Both its ways.
    struct Hop {
        std::int64_t number, first_of;
        std::size_t down, up;
    };
    struct Route {
        Carrier* carrier;
        std::vector<std::size_t> ways;
    };
    struct Source {
        TrafficSource traffic;
        std::size_t way;
    };

    std::size_t add_way(const EngineConfig& config, const LinkConfig& of, bool up, std::uint64_t index,
                        const NodeConfig* from);
    std::size_t node_of(const NodeConfig& config);
    Node& node_at(std::size_t way) { return nodes_[static_cast<std::size_t>(ways_[way].node)]; }  // where it begins
    void come(Time now, std::size_t way);
    void join(Time now, std::size_t way, const Token& packet);
    bool make_room(Way& way, Node& node, const Token& packet);
    void serve(Time now, std::size_t way);
    void begin_service(Time now, std::size_t way);
    void put(Time now, std::size_t way, Token packet);
    void restart(Time now, std::size_t n);
    void on_source(Time now, std::size_t i);
    void lose(Way& way, const Token& packet) {
        ++way.dropped;
        if (packet.carrier != kNobody) routes_[packet.carrier].carrier->is_lost(packet.number);
    }
    // Heads: what comes over each way; the service of each; restarts of each node; sources of others' traffic.
    std::size_t service(std::size_t way) const { return ways_.size() + way; }
    std::size_t restarts(std::size_t n) const { return 2 * ways_.size() + n; }
    std::size_t source(std::size_t i) const { return 2 * ways_.size() + nodes_.size() + i; }

    std::uint32_t full_bytes_;
    Column<std::uint8_t> layer_;
    std::uint32_t layers_ = 0;
    std::deque<Way> ways_;  // links point at their lines
    std::vector<Node> nodes_;
    std::vector<NodeSamples> samples_;
    std::vector<Hop> hops_;
    std::vector<HopSamples> hop_samples_;
    std::vector<std::vector<std::size_t>> down_, up_;  // of each path, its ways
    std::vector<Route> routes_;
    std::vector<Source> sources_;
    TimerTree heads_;
    Time least_home_ns_ = kNever;
};

}  // namespace dstcc
