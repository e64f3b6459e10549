#include "link/network.hpp"

#include <algorithm>
#include <map>

namespace dstcc {

namespace {

constexpr std::int64_t kPrefetch = 8;  // as link/wire.hpp has it

std::uint32_t full_packet(const TransportConfig& transport) {
    return static_cast<std::uint32_t>(transport.mss_bytes + transport.header_bytes);
}

}  // namespace

Network::Site& Network::site_of(const NodeConfig& config) {
    for (Site& site : sites_)
        if (site.node.config().number == config.number) return site;
    return sites_.emplace_back(config, sites_.size());
}

// `from`, `to`: the nodes at which it begins and ends; none where that is an end.
Network::Way& Network::add_way(const EngineConfig& config, const LinkConfig& of, bool up, std::uint64_t index,
                               const NodeConfig* from, const NodeConfig* to) {
    Site* const begins = from == nullptr ? nullptr : &site_of(*from);
    Way& way = ways_.emplace_back(of, up, begins == nullptr ? nullptr : &begins->node);
    LinkConfig line = of;
    if (begins != nullptr && from->storage_bytes > 0 && !from->splits())
        (up ? line.up_queue_bytes : line.queue_bytes) = kNever;  // the node has it
    way.line = Direction(line, up, config.seed, index, full_bytes_);
    way.from = begins;
    if (begins != nullptr) begins->out.push_back(&way);
    if (to == nullptr) {
        if (begins != nullptr) least_out_ns_ = std::min(least_out_ns_, way.line.least_delay());
    } else {
        way.to = &site_of(*to);
        way.to->in.push_back(&way);
        if (begins != nullptr) way.to->near = std::min(way.to->near, way.line.least_delay());
    }
    return way;
}

Network::Network(const EngineConfig& config)
    : full_bytes_(full_packet(config.transport)),
      layer_(config.objects.layer),
      down_(config.links.size()),
      up_(config.links.size()),
      records_(config.ledger) {
    for (const std::uint8_t layer : layer_) layers_ = std::max<std::uint32_t>(layers_, layer + 1u);
    std::map<std::int64_t, std::pair<std::uint32_t, std::uint32_t>> known;  // both ways of a hop
    const auto number = [this] { return static_cast<std::uint32_t>(ways_.size()); };
    for (std::size_t l = 0; l < config.links.size(); ++l) {
        const LinkConfig& path = config.links[l];
        const bool on_nodes = !path.onward.empty();
        if (path.first_hop_of >= 0) {
            down_[l].push_back(down_[static_cast<std::size_t>(path.first_hop_of)].front());
            up_[l].push_back(up_[static_cast<std::size_t>(path.first_hop_of)].back());
        } else {
            const LinkConfig first = first_hop(path);
            const NodeConfig* const node = on_nodes ? &path.onward.front().node : nullptr;
            add_way(config, first, false, config.place(l), nullptr, node).first = true;
            const Way& home = add_way(config, first, true, config.place(l), node, nullptr);
            if (on_nodes) least_home_ns_ = std::min(least_home_ns_, home.line.least_delay());
            down_[l].push_back(number() - 2);
            up_[l].push_back(number() - 1);
            hops_.push_back({-1, static_cast<std::int64_t>(l), number() - 2, number() - 1});
        }
        for (std::size_t h = 0; h < path.onward.size(); ++h) {
            const HopConfig& hop = path.onward[h];
            auto [place, is_new] = known.try_emplace(hop.number);
            if (is_new) {
                const std::uint64_t index = kHopNumbers + static_cast<std::uint64_t>(hop.number);
                const NodeConfig* const next = h + 1 < path.onward.size() ? &path.onward[h + 1].node : nullptr;
                Way& way = add_way(config, hop.line, false, index, &hop.node, next);
                for (std::size_t k = 0; k < hop.line.cross_traffic.size(); ++k) {
                    const TrafficSource source(hop.line.cross_traffic[k], config.seed, index, k);
                    way.from->sources.push_back({source, &way, source.start()});
                    way.from->own = std::min(way.from->own, source.start());
                }
                add_way(config, hop.line, true, index, next, &hop.node);
                place->second = {number() - 2, number() - 1};
                hops_.push_back({hop.number, -1, place->second.first, place->second.second});
            }
            shared_ = shared_ || hop.node.splits();
            down_[l].push_back(place->second.first);
            up_[l].insert(up_[l].begin(), place->second.second);
        }
    }
    samples_.resize(sites_.size());
    if (sites_.empty() && config.places.empty()) hops_.clear();  // single hops have their samples from their ends
    hop_samples_.resize(hops_.size());
    leave(config.earlier);
    heads_ = TimerTree(std::max<std::size_t>(sites_.size(), 1));
    for (const Site& site : sites_) heads_.set(site.head, site.own);
}

// To the nodes to which it comes first.
void Network::leave(const EarlierConfig& earlier) {
    std::map<std::pair<std::size_t, bool>, std::uint32_t> entries;
    for (std::size_t i = 0; i < earlier.at_ns.size(); ++i) {
        const std::pair<std::size_t, bool> route{earlier.path[i], earlier.up[i] != 0};
        const auto known = entries.find(route);
        const std::uint32_t entry = known != entries.end() ? known->second : add(gone_, route.first, route.second);
        entries.emplace(route, entry);
        Site& site = *steps_[entry].way->to;
        Left left;
        left.number = 0;
        left.step = entry + 1;
        left.bytes = earlier.bytes[i];
        left.layer = earlier.layer[i];
        left.at = earlier.at_ns[i];
        site.earlier.push_back(left);
        site.own = std::min(site.own, left.at);
    }
}

std::vector<Link> Network::links() {
    std::vector<Link> out;
    out.reserve(down_.size());
    for (std::size_t l = 0; l < down_.size(); ++l) {
        const std::vector<std::uint32_t>&down = down_[l], &up = up_[l];
        const auto node_at = [&](std::size_t h) { return &ways_[down[h]].from->node; };
        const bool split = down.size() > 1 && node_at(1)->config().splits();
        out.push_back({ways_[down.front()].line, ways_[split ? up.back() : up.front()].line,
                       down.size() > 1 && !split ? this : nullptr, l});
        for (std::size_t h = 1; split && h < down.size(); ++h)
            out.back().onward.push_back(
                {ways_[down[h]].line, ways_[up[up.size() - 1 - h]].line, nullptr, l, {}, node_at(h)});
    }
    return out;
}

std::uint32_t Network::add(Carrier& carrier, std::size_t path, bool up) {
    const auto entry = static_cast<std::uint32_t>(steps_.size());
    for (const std::uint32_t way : up ? up_[path] : down_[path]) steps_.push_back({&ways_[way], nullptr});
    steps_.push_back({nullptr, &carrier});
    if (records_) entries_[entry] = {path, up};
    return entry;
}

// --------------------------------------------------------------------------------------------------- what happens

[[gnu::always_inline]] inline void Network::carry(Way& way, Time at, std::uint32_t step, const Token& packet) {
    if (way.coming.empty()) {
        way.due = at;
        if (at < heads_.at(way.to->head)) heads_.set(way.to->head, at);
    }
    Coming& coming = way.coming.emplace_back();
    coming.at = at;
    coming.number = packet.number;
    coming.step = step;
    coming.bytes = packet.bytes;
    coming.layer = packet.layer;
}

// On the line, and towards what is at its end; false: its queue has no room.
[[gnu::always_inline]] inline bool Network::put(Time now, Way& way, const Token& packet) {
    const Direction::Passage passage = way.line.transmit(now, packet.bytes);
    if (__builtin_expect(packet.step == kNobody, 0)) return passage.wait_ns >= 0;
    if (passage.arrive_ns == kNever)
        lose(packet);
    else if (Carrier* const carrier = steps_[packet.step + 1].carrier; carrier != nullptr)
        carrier->arrives(packet.number, passage.arrive_ns);
    else
        carry(way, passage.arrive_ns, packet.step + 1, packet);
    return passage.wait_ns >= 0;
}

void Network::record(std::uint32_t entry, Time at, std::uint32_t bytes, std::uint8_t layer) {
    const auto [path, up] = entries_.at(entry);
    entered_.path.push_back(static_cast<std::int64_t>(path));
    entered_.up.push_back(up);
    entered_.at_ns.push_back(at);
    entered_.bytes.push_back(bytes);
    entered_.layer.push_back(layer);
}

void Network::enter(std::uint32_t entry, Time at, std::uint32_t number, std::uint32_t bytes, std::uint8_t layer) {
    if (__builtin_expect(records_, 0)) record(entry, at, bytes, layer);
    carry(*steps_[entry].way, at, entry + 1, {number, entry, bytes, layer});
}

std::int64_t Network::advance(Time until) {
    const std::int64_t before = events_;
    do {
        Site& site = sites_[heads_.head()];
        const Time now = heads_.time();
        run(site, site.near < until - now ? now + site.near : until);
    } while (heads_.time() <= until);
    return events_ - before;
}

// At one instant packets come first, in the order of the ways; then services, a restart, and others' packets.
void Network::run(Site& site, Time until) {
    for (;;) {
        Way* first = nullptr;
        Time next = kNever, other = kNever;
        for (Way* const way : site.in) {
            if (way->due < next) {
                other = next;
                next = way->due;
                first = way;
            } else {
                other = std::min(other, way->due);
            }
        }
        if (std::min(next, site.own) > until) {
            serve(site, until + 1);
            return heads_.set(site.head, std::min({next, site.own, site.serves}));
        }
        if (site.own < next)
            on_own(site);
        else
            come(site, *first, std::min({other, site.own + (site.own < kNever), until + 1}));
    }
}

// What comes over a way before then, and in any case the next.
void Network::come(Site& site, Way& way, Time before) {
    do {
        const Coming packet = way.coming.front();
        const Time now = packet.at;
        way.coming.pop_front();
        way.coming.prefetch_ahead(kPrefetch);
        way.due = way.coming.empty() ? kNever : way.coming.front().at;
        if (site.serves < now) serve(site, now);
        Way& onto = *steps_[packet.step].way;
        const bool alone = std::min(way.due, before) > now;
        const bool ended = onto.store.join(now, packet, Outlet{*this, onto}, alone);
        site.serves = ended ? site.next_service() : std::min(site.serves, onto.store.next());
        events_ += 1 + ended;
    } while (way.due < before);
}

// Services that end, or begin, before then.
void Network::serve(Site& site, Time before) {
    for (Way* const way : site.out)
        for (; way->store.next() < before; ++events_) way->store.serve(Outlet{*this, *way});
    site.serves = site.next_service();
}

void Network::on_own(Site& site) {
    const Time now = site.own;
    serve(site, now + 1);
    ++events_;
    if (site.node.next_restart() == now) {
        site.node.restart(now);
        for (Way* const way : site.out) way->store.restart(now, Outlet{*this, *way});
    } else if (!site.earlier.empty() && site.earlier.front().at == now) {
        Way& way = *steps_[site.earlier.front().step].way;
        way.store.join(now, site.earlier.front(), Outlet{*this, way});
        site.earlier.pop_front();
    } else {
        const auto source =
            std::find_if(site.sources.begin(), site.sources.end(), [now](const Source& of) { return of.next == now; });
        Way& way = *source->way;
        if (source->traffic.poll(now, source->next)) {
            const Token packet{0, kNobody, source->traffic.packet_bytes(), 0};
            if (site.node.config().splits())
                way.line.transmit(now, packet.bytes);  // which a proxy of TCP does not hold
            else
                way.store.join(now, packet, Outlet{*this, way});
        }
    }
    site.serves = now;  // to be looked at
    site.own = site.node.next_restart();
    if (!site.earlier.empty()) site.own = std::min(site.own, site.earlier.front().at);
    for (const Source& source : site.sources) site.own = std::min(site.own, source.next);
}

void Network::lose(const Token& packet) {
    if (packet.step == kNobody) return;
    std::size_t last = packet.step;
    while (steps_[last].carrier == nullptr) ++last;
    steps_[last].carrier->is_lost(packet.number);
}

// --------------------------------------------------------------------------------------------------- for observers

void Network::sample() {
    for (std::size_t n = 0; n < sites_.size(); ++n) {
        const NodeCounts& counts = sites_[n].node.counts();
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
    for (const Way& way : ways_) bytes += way.coming.bytes() + way.store.bytes();
    return bytes;
}

void Network::check() const {
    for (const Site& site : sites_) site.node.check();
}

}  // namespace dstcc
