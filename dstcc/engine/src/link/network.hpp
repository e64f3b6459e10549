// All lines of a trial, and the nodes between them.
//
// An end puts packets on the first line of its path, as on any link. Where that leads to a node, the network takes them on from hop to
// hop, and tells their carrier (link/wire.hpp) when they come to the other end, or that they do not. A line is first in, first
// out, and so is a path: packets of a carrier arrive in the order of their numbers. Paths that share a hop meet in its queue.
//
// Nodes meet in packets only, and no packet is quicker than light. So the node at which something happens first goes on alone
// for as long as what the others send now takes to it: what comes to it, what its stores serve, its restarts, others' traffic there.
// The result is that of one queue of events.
//
// It belongs to the far side of a trial's clock (sim/trial.hpp): everything behind the first hop, seen from the sender.
#pragma once

#include <deque>
#include <map>
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
    virtual void arrives(std::uint32_t number, Time at) = 0;  // at the other end
    virtual void is_lost(std::uint32_t number) = 0;
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

// What ends have put on paths over nodes (EarlierConfig).
struct EnteredColumns {
    std::vector<std::int64_t> path, up, at_ns, bytes, layer;
    DSTCC_FIELDS(path, up, at_ns, bytes, layer)
};

class Network {
public:
    explicit Network(const EngineConfig& config);
    Network(const Network&) = delete;  // links and wires point at it
    Network& operator=(const Network&) = delete;

    std::vector<Link> links();
    // Who travels on a path, to Earth or back; where what he puts on its first line takes it up.
    std::uint32_t add(Carrier& carrier, std::size_t path, bool up);
    // What an end has put on its first line comes to the node at `at`.
    void enter(std::uint32_t entry, Time at, std::uint32_t number, std::uint32_t bytes, std::uint8_t layer);
    // Of the video's layer that a packet holds something of; of a repair packet, by its block.
    std::uint8_t layer_of(std::uint32_t object, std::uint32_t block) const {
        return object < layer_.size() ? layer_[object] : layers_ > 0 ? static_cast<std::uint8_t>(block % layers_) : 0;
    }

    Time next() const { return heads_.time(); }
    // Everything up to and including `until`, of which nothing that comes in later than that is a part; how many events it was.
    std::int64_t advance(Time until);
    // What comes back from a node to a sender takes longer, and what goes from a node to either end; kNever: there are no nodes.
    Time least_home() const { return least_home_ns_; }
    Time least_out() const { return least_out_ns_; }
    // Whether ends share lines with what happens here, which then waits for them.
    bool shared() const { return shared_; }

    // --- for observers
    void sample();
    std::size_t nodes() const { return sites_.size(); }
    const Node& node(std::size_t n) const { return sites_[n].node; }
    const NodeSamples& samples(std::size_t n) const { return samples_[n]; }
    const EnteredColumns& entered() const { return entered_; }
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
    struct Site;
    struct Coming : Token {
        Time at;
    };
    // A line, what comes over it to a node, and, where it begins at a node, what waits for it there.
    struct Way {
        Way(const LinkConfig& of, bool back, Node* from) : store(from, PlannedWay(of, back)), up(back) {}
        // Had room in its queue.
        std::int64_t carried() const { return line.sent() - line.dropped(); }
        Direction line;
        Store store;
        Time due = kNever;     // when the next packet comes
        Site* to = nullptr;    // none: an end
        Site* from = nullptr;  // likewise
        bool up, first = false;
        std::int64_t dropped = 0;  // by the node
        BlockRing<Coming> coming;
    };
    // Both its ways.
    struct Hop {
        std::int64_t number, first_of;
        std::uint32_t down, up;
    };
    struct Source {
        TrafficSource traffic;
        Way* way;
        Time next;
    };
    // What an earlier connection has left on its way to a node.
    struct Left : Token {
        Time at;
    };
    // A node, and what happens at it.
    struct Site {
        Site(const NodeConfig& config, std::size_t number) : node(config), head(number), own(node.next_restart()) {}
        Node node;
        std::size_t head;
        std::vector<Way*> in, out;
        std::vector<Source> sources;
        std::deque<Left> earlier;
        Time near = kNever;    // what another node sends takes longer to it
        Time own;              // its next restart, or packet of others or of an earlier connection
        Time serves = kNever;  // next_service(), or before it
        Time next_service() const {
            Time next = kNever;
            for (const Way* const way : out) next = std::min(next, way->store.next());
            return next;
        }
    };
    // Of a route: a way, and then the next; the last has its carrier.
    struct Step {
        Way* way;
        Carrier* carrier;
    };
    // Of packets that nobody waits for any more.
    struct Gone : Carrier {
        void arrives(std::uint32_t, Time) override {}
        void is_lost(std::uint32_t) override {}
    };
    // What a store asks of a line.
    struct Outlet {
        Network& network;
        Way& way;
        Time busy_ns(Time /*now*/) const { return way.line.busy_ns(); }
        [[gnu::always_inline]] bool put(Time now, const Token& packet) { return network.put(now, way, packet); }
        void done(const Token& /*packet*/) {}
        void lose(const Token& packet, bool /*dropped*/) {
            ++way.dropped;
            network.lose(packet);
        }
    };

    Way& add_way(const EngineConfig& config, const LinkConfig& of, bool up, std::uint64_t index, const NodeConfig* from,
                 const NodeConfig* to);
    Site& site_of(const NodeConfig& config);
    void leave(const EarlierConfig& earlier);
    void record(std::uint32_t entry, Time at, std::uint32_t bytes, std::uint8_t layer);
    void carry(Way& way, Time at, std::uint32_t step, const Token& packet);
    bool put(Time now, Way& way, const Token& packet);
    [[gnu::noinline, gnu::cold]] void lose(const Token& packet);
    void run(Site& site, Time until);
    void come(Site& site, Way& way, Time before);
    void serve(Site& site, Time before);
    void on_own(Site& site);

    std::uint32_t full_bytes_;
    Column<std::uint8_t> layer_;
    std::uint32_t layers_ = 0;
    std::deque<Way> ways_;  // links and sites point at them
    std::deque<Site> sites_;
    std::vector<NodeSamples> samples_;
    std::vector<Hop> hops_;
    std::vector<HopSamples> hop_samples_;
    std::vector<std::vector<std::uint32_t>> down_, up_;  // of each path, its ways
    std::vector<Step> steps_;
    TimerTree heads_;  // of each site
    std::int64_t events_ = 0;
    Time least_home_ns_ = kNever, least_out_ns_ = kNever;
    bool shared_ = false;
    Gone gone_;
    bool records_;
    std::map<std::uint32_t, std::pair<std::size_t, bool>>
        entries_;  // where they are recorded: of each its path, and whether it is up
    EnteredColumns entered_;
};

}  // namespace dstcc
