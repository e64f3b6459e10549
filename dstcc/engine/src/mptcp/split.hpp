// What nodes that split make of a connection: the wires of the further hops, and the proxies at each node (tcp/proxies.hpp).
//
// Heads: what arrives at Earth has that of its path, as on a single hop; behind those stand, of each node on a path, what comes to it
// from the hop before and the ACKs that come back to it.
#pragma once

#include "sim/tcp.hpp"
#include "sim/places.hpp"
#include "tcp/proxies.hpp"

namespace dstcc {

class Split {
public:
    // Of a configuration: does any node split, and how many heads more does it take?
    static bool any(const EngineConfig& config);
    static std::size_t quick_heads(const EngineConfig& config);
    static std::size_t timer_heads(const EngineConfig& config);
    // The quick head of what comes over the first hop of a path.
    static std::size_t first_head(const EngineConfig& config, std::size_t path);

    // `first`: the wires of the first hops; `heads`, `timers`: all of the receiving side, and those behind the receiver's own.
    Split(const EngineConfig& config, std::vector<Link>& links, std::vector<Wire>& first, QuickHeads heads,
          Timers timers);

    // Each path with its first hop alone, as its sender and the links' loss models have it.
    const EngineConfig& near() const { return near_; }
    // The last hop alone, as its receiver has it; none where no node is on the path.
    const EngineConfig* last(std::size_t path) const { return last_[path]; }
    std::int64_t share(std::size_t path) const { return share_[path]; }  // of the first node, in segments
    Wire& to_receiver(std::size_t path) { return onward_[path].empty() ? first_[path] : *onward_[path].back(); }
    void carry(bool stamps);

    // A head behind the paths' own; returns when its next is due.
    Time receive(Time at, std::size_t head);
    void handle_timer(Time at, std::size_t timer);

    std::int64_t bytes() const;
    // `sending`, `receiving`: the connection's ends, by subflow.
    template <class Una, class Next>
    void check(Una&& sender, Next&& next) const;

private:
    // A node on a path.
    struct Stop {
        std::size_t level;
        Wire *in, *out;
    };
    EngineConfig alone(const EngineConfig& config, const LinkConfig& line, int subflows, std::int64_t window) const;

    std::vector<Link>& links_;
    std::vector<Wire>& first_;
    QuickHeads heads_;
    std::size_t subflows_;
    EngineConfig near_;
    std::deque<EngineConfig> hops_;
    std::deque<ContactPlan> plans_;
    std::vector<const EngineConfig*> last_;
    std::vector<std::int64_t> share_;
    std::vector<std::vector<std::unique_ptr<Wire>>> onward_;  // of each path
    std::vector<Stop> stops_;
    std::deque<ProxyLevel> levels_;
    std::vector<std::size_t> nodes_of_;  // of each subflow: how many nodes are on its way
};

template <class Una, class Next>
void Split::check(Una&& sender, Next&& next) const {
    for (std::size_t s = 0; s < nodes_of_.size(); ++s)
        for (std::size_t k = 0; k <= nodes_of_[s]; ++k) {
            const TcpState& tcp = (k == 0 ? sender(s) : levels_[k - 1].sender(s)).tcp();
            const std::int64_t came = k == nodes_of_[s] ? next(s) : levels_[k].received(s);
            DSTCC_CHECK(tcp.snd_una <= came && came <= tcp.snd_nxt,
                        "a hop's ACKs follow its arrivals, its arrivals its sending");
        }
    for (std::size_t l = 0; l < onward_.size(); ++l)
        for (std::size_t h = 0; h < onward_[l].size(); ++h) {
            const Direction &down = links_[l].onward[h].down, &up = links_[l].onward[h].up;
            DSTCC_CHECK(down.sent() >= down.dropped() + down.lost() + onward_[l][h]->data_under_way(),
                        "packets are conserved");
            DSTCC_CHECK(up.sent() >= up.dropped() + up.lost() + onward_[l][h]->acks_under_way(),
                        "packets are conserved");
        }
}

}  // namespace dstcc
