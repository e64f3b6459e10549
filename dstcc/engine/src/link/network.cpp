#include "link/network.hpp"

#include <algorithm>
#include <map>

namespace dstcc {

namespace {

std::uint32_t full_packet(const TransportConfig& transport) {
    return static_cast<std::uint32_t>(transport.mss_bytes + transport.header_bytes);
}

}  // namespace

Network::Way::Way(const LinkConfig& of, bool back, const NodeConfig* from)
    : plan(of, back),
      up(back),
      waiting(from != nullptr && from->when_full == WhenFull::kLowestLayer) {}

std::size_t Network::node_of(const NodeConfig& config) {
    const auto known = std::find_if(nodes_.begin(), nodes_.end(),
                                    [&](const Node& node) { return node.config().number == config.number; });
    if (known != nodes_.end()) return static_cast<std::size_t>(known - nodes_.begin());
    nodes_.emplace_back(config);
    return nodes_.size() - 1;
}

// `from`: the node at which it begins; none where that is an end.
std::size_t Network::add_way(const EngineConfig& config, const LinkConfig& of, bool up, std::uint64_t index,
                             const NodeConfig* from) {
    Way& way = ways_.emplace_back(of, up, from);
    LinkConfig line = of;
    if (from != nullptr) {
        way.node = static_cast<std::ptrdiff_t>(node_of(*from));
        if (from->storage_bytes > 0 && !from->splits())
            (up ? line.up_queue_bytes : line.queue_bytes) = kNever;  // the node has it
    }
    way.line = Direction(line, up, config.seed, index, full_bytes_);
    return ways_.size() - 1;
}

Network::Network(const EngineConfig& config)
    : full_bytes_(full_packet(config.transport)),
      layer_(config.objects.layer),
      down_(config.links.size()),
      up_(config.links.size()) {
    for (const std::uint8_t layer : layer_) layers_ = std::max<std::uint32_t>(layers_, layer + 1u);
    std::map<std::int64_t, std::pair<std::size_t, std::size_t>> known;  // both ways of a hop
    for (std::size_t l = 0; l < config.links.size(); ++l) {
        const LinkConfig& path = config.links[l];
        const bool on_nodes = !path.onward.empty();
        if (path.first_hop_of >= 0) {
            down_[l].push_back(down_[static_cast<std::size_t>(path.first_hop_of)].front());
            up_[l].push_back(up_[static_cast<std::size_t>(path.first_hop_of)].back());
        } else {
            const LinkConfig first = first_hop(path);
            down_[l].push_back(add_way(config, first, false, config.place(l), nullptr));
            ways_.back().first = true;
            up_[l].push_back(
                add_way(config, first, true, config.place(l), on_nodes ? &path.onward.front().node : nullptr));
            if (on_nodes) least_home_ns_ = std::min(least_home_ns_, ways_.back().line.least_delay());
            hops_.push_back({-1, static_cast<std::int64_t>(l), down_[l].back(), up_[l].back()});
        }
        for (std::size_t h = 0; h < path.onward.size(); ++h) {
            const HopConfig& hop = path.onward[h];
            auto [place, is_new] = known.try_emplace(hop.number);
            if (is_new) {
                const std::uint64_t index = kHopNumbers + static_cast<std::uint64_t>(hop.number);
                const NodeConfig* const back = h + 1 < path.onward.size() ? &path.onward[h + 1].node : nullptr;
                place->second.first = add_way(config, hop.line, false, index, &hop.node);
                for (std::size_t k = 0; k < hop.line.cross_traffic.size(); ++k)
                    sources_.push_back(
                        {TrafficSource(hop.line.cross_traffic[k], config.seed, index, k), ways_.size() - 1});
                place->second.second = add_way(config, hop.line, true, index, back);
                hops_.push_back({hop.number, -1, place->second.first, place->second.second});
            }
            down_[l].push_back(place->second.first);
            up_[l].insert(up_[l].begin(), place->second.second);
        }
    }
    samples_.resize(nodes_.size());
    if (nodes_.empty() && config.places.empty()) hops_.clear();  // single hops have their samples from their ends
    hop_samples_.resize(hops_.size());
    heads_ = TimerTree(source(sources_.size()));
    for (std::size_t n = 0; n < nodes_.size(); ++n) heads_.set(restarts(n), nodes_[n].next_restart());
    for (std::size_t i = 0; i < sources_.size(); ++i) heads_.set(source(i), sources_[i].traffic.start());
}

std::vector<Link> Network::links() {
    std::vector<Link> out;
    out.reserve(down_.size());
    for (std::size_t l = 0; l < down_.size(); ++l) {
        const std::vector<std::size_t>&down = down_[l], &up = up_[l];
        const bool split = down.size() > 1 && node_at(down[1]).config().splits();
        out.push_back({ways_[down.front()].line, ways_[split ? up.back() : up.front()].line,
                       down.size() > 1 && !split ? this : nullptr, l});
        for (std::size_t h = 1; split && h < down.size(); ++h)
            out.back().onward.push_back(
                {ways_[down[h]].line, ways_[up[up.size() - 1 - h]].line, nullptr, l, {}, &node_at(down[h])});
    }
    return out;
}

std::uint16_t Network::add(Carrier& carrier, std::size_t path, bool up) {
    DSTCC_CHECK(routes_.size() < kNobody, "fewer than 65,535 carriers");
    routes_.push_back({&carrier, up ? up_[path] : down_[path]});
    return static_cast<std::uint16_t>(routes_.size() - 1);
}

void Network::enter(std::uint16_t carrier, Time at, std::int64_t number, std::uint32_t bytes, std::uint8_t layer) {
    const std::size_t way = routes_[carrier].ways.front();
    Way& on = ways_[way];
    if (on.coming.empty()) heads_.set(way, at);
    on.coming.push_back({at, number, bytes, carrier, 0, layer});
}

// --------------------------------------------------------------------------------------------------- what happens

void Network::step() {
    const Time now = heads_.time();
    const std::size_t head = heads_.head();
    if (head < service(0)) return come(now, head);
    if (head < restarts(0)) return serve(now, head - service(0));
    if (head < source(0)) return restart(now, head - restarts(0));
    on_source(now, head - source(0));
}

void Network::come(Time now, std::size_t way) {
    Way& on = ways_[way];
    Token packet = on.coming.front();
    on.coming.pop_front();
    heads_.set(way, on.coming.empty() ? kNever : on.coming.front().at);
    join(now, routes_[packet.carrier].ways[++packet.hop], packet);
}

void Network::join(Time now, std::size_t way, const Token& packet) {
    Way& on = ways_[way];
    Node& node = node_at(way);
    node.come();
    if (node.boots(now)) {
        node.lose_in_restart();
        return lose(on, packet);
    }
    if (!node.stores()) return put(now, way, packet);
    if (!make_room(on, node, packet)) {
        node.drop();
        return lose(on, packet);
    }
    node.hold(packet.bytes);
    const bool idle = on.waiting.empty();
    on.waiting.push(packet);
    if (idle) begin_service(now, way);
}

bool Network::make_room(Way& way, Node& node, const Token& packet) {
    if (node.config().when_full != WhenFull::kDropTail) {
        Token taken;
        while (!node.fits(packet.bytes) && (node.config().when_full == WhenFull::kDropHead
                                                ? way.waiting.take_oldest(way.serving, taken)
                                                : way.waiting.take_above(packet.layer, way.serving, taken))) {
            node.release(taken.bytes);
            node.drop();
            lose(way, taken);
        }
    }
    return node.fits(packet.bytes);
}

// The line is free: the front's service ends, or may begin.
void Network::serve(Time now, std::size_t way) {
    Way& on = ways_[way];
    if (on.serving) {
        Node& node = node_at(way);
        on.serving = false;
        node.release(on.waiting.pop().bytes);
        node.leave();
    }
    begin_service(now, way);
}

void Network::begin_service(Time now, std::size_t way) {
    Way& on = ways_[way];
    if (on.waiting.empty()) return heads_.set(service(way), kNever);
    const Node& node = node_at(way);
    const std::uint32_t bytes = on.waiting.front().bytes;
    const Time free = std::max({now, on.line.busy_ns(), node.up_at_ns()});
    const Time start = on.plan.fit(free, on.plan.service_ns(bytes));
    if (start > now) return heads_.set(service(way), start);
    on.serving = true;
    put(now, way, on.waiting.front());
    heads_.set(service(way), on.line.busy_ns());
}

// On the line, and towards what is at its end.
void Network::put(Time now, std::size_t way, Token packet) {
    Way& on = ways_[way];
    const Direction::Passage passage = on.line.transmit(now, packet.bytes);
    if (Node& node = node_at(way); !node.stores()) passage.wait_ns < 0 ? node.drop() : node.leave();
    if (packet.carrier == kNobody) return;
    const Route& route = routes_[packet.carrier];
    if (passage.arrive_ns == kNever) return route.carrier->is_lost(packet.number);
    if (packet.hop + std::size_t{1} == route.ways.size())
        return route.carrier->arrives(packet.number, passage.arrive_ns);
    packet.at = passage.arrive_ns;
    if (on.coming.empty()) heads_.set(way, packet.at);
    on.coming.push_back(packet);
}

void Network::restart(Time now, std::size_t n) {
    Node& node = nodes_[n];
    node.restart(now);
    heads_.set(restarts(n), node.next_restart());
    for (std::size_t w = 0; w < ways_.size(); ++w) {
        Way& way = ways_[w];
        if (way.node != static_cast<std::ptrdiff_t>(n)) continue;
        Token taken;
        while (!node.config().keeps_over_restart && way.waiting.take_oldest(way.serving, taken)) {
            node.release(taken.bytes);
            node.lose_in_restart();
            lose(way, taken);
        }
        if (!way.serving) begin_service(now, w);  // once it is up
    }
}

void Network::on_source(Time now, std::size_t i) {
    Source& from = sources_[i];
    Time next = kNever;
    const bool due = from.traffic.poll(now, next);
    heads_.set(source(i), next);
    if (!due) return;
    if (node_at(from.way).config().splits())
        ways_[from.way].line.transmit(now, from.traffic.packet_bytes());  // which a proxy of TCP does not hold
    else
        join(now, from.way, {now, 0, from.traffic.packet_bytes(), kNobody, 0, 0});
}

// --------------------------------------------------------------------------------------------------- for observers

void Network::sample() {
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
        const NodeCounts& counts = nodes_[n].counts();
        samples_[n].slot_held_bytes.push_back(counts.held_bytes);
        samples_[n].slot_dropped_packets.push_back(counts.dropped_packets);
        samples_[n].slot_lost_in_restarts_packets.push_back(counts.lost_in_restarts_packets);
    }
    for (std::size_t h = 0; h < hops_.size(); ++h) {
        hop_samples_[h].slot_sent_packets.push_back(ways_[hops_[h].down].carried());
        hop_samples_[h].slot_up_sent_packets.push_back(ways_[hops_[h].up].carried());
    }
}

HopCounts Network::hop(std::size_t h) const {
    const Hop& of = hops_[h];
    const Way &down = ways_[of.down], &up = ways_[of.up];
    return {of.number,           of.first_of,  down.carried(), down.line.lost(),
            down.line.dropped(), up.carried(), up.line.lost(), up.line.dropped()};
}

std::int64_t Network::dropped() const {
    std::int64_t dropped = 0;
    for (const Way& way : ways_)
        if (!way.up) dropped += way.line.dropped() + way.dropped;
    return dropped;
}

std::int64_t Network::lost() const {
    std::int64_t lost = 0;
    for (const Way& way : ways_)
        if (!way.up) lost += way.line.lost();
    return lost;
}

std::int64_t Network::sent_first() const {
    std::int64_t sent = 0;
    for (const Way& way : ways_)
        if (way.first) sent += way.line.sent();
    return sent;
}

std::int64_t Network::bytes() const {
    std::int64_t bytes = 0;
    for (const Way& way : ways_) bytes += way.coming.bytes() + way.waiting.bytes();
    return bytes;
}

void Network::check() const {
    for (const Node& node : nodes_) node.check();
}

}  // namespace dstcc
