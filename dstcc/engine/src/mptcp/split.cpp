#include "mptcp/split.hpp"

#include <map>

namespace dstcc {

namespace {

constexpr std::size_t kTimers = 3;  // of a proxy: its delayed ACK, its sender's, its pace

std::size_t most_nodes(const EngineConfig& config) {
    std::size_t most = 0;
    for (const LinkConfig& path : config.links) most = std::max(most, path.onward.size());
    return most;
}

// Without links and data.
EngineConfig of_hops(const EngineConfig& config) {
    EngineConfig out;
    out.seed = config.seed;
    out.transport = config.transport;
    out.slot_ns = config.slot_ns;
    out.duration_ns = config.duration_ns;
    return out;
}

}  // namespace

bool Split::any(const EngineConfig& config) {
    return std::any_of(config.links.begin(), config.links.end(), [](const LinkConfig& path) { return splits(path); });
}

std::size_t Split::quick_heads(const EngineConfig& config) {
    return any(config) ? first_head(config, config.links.size()) - config.links.size() : 0;
}

std::size_t Split::timer_heads(const EngineConfig& config) {
    return any(config) ? kTimers * count_subflows(config) * most_nodes(config) : 0;
}

std::size_t Split::first_head(const EngineConfig& config, std::size_t path) {
    if (path < config.links.size() && !splits(config.links[path])) return path;
    std::size_t head = config.links.size();
    for (std::size_t l = 0; l < path; ++l) head += 2 * config.links[l].onward.size();
    return head;
}

// A hop, for what a sender or a receiver there is made with. Rates and windows that the scenario tells are of the sender's links.
EngineConfig Split::alone(const EngineConfig& config, const LinkConfig& line, int subflows, std::int64_t window) const {
    EngineConfig hop = of_hops(config);
    for (auto& [name, parameters] : hop.transport.parameters)
        for (const char* of_link : {"rate_bps", "cwnd_segments"}) parameters.erase(of_link);
    hop.transport.receive_buffer_bytes = window;
    hop.links = {line};
    hop.links.front().subflows = subflows;
    return hop;
}

Split::Split(const EngineConfig& config, std::vector<Link>& links, std::vector<Wire>& first, QuickHeads heads,
             Timers timers)
    : links_(links),
      first_(first),
      heads_(heads),
      subflows_(count_subflows(config)),
      near_(of_hops(config)),
      last_(config.links.size(), nullptr),
      onward_(config.links.size()) {
    const TransportConfig& transport = config.transport;
    for (const LinkConfig& path : config.links) near_.links.push_back(first_hop(path));
    const std::size_t count = subflows_;
    for (std::size_t k = 0; k < most_nodes(config); ++k) {
        const Timers own = timers.from(kTimers * count * k);
        levels_.emplace_back(transport, count, ProxyLevel::Timing{own, own.from(count), own.from(2 * count)});
    }
    std::map<std::int64_t, std::int64_t> sharers;
    for (const LinkConfig& path : config.links)
        for (const HopConfig& hop : path.onward) sharers[hop.node.number] += path.subflows;
    const std::int64_t full = transport.mss_bytes + transport.header_bytes;
    const auto share = [&](const NodeConfig& node) { return node.storage_bytes / sharers[node.number] / full; };
    std::size_t s = 0;
    for (std::size_t l = 0; l < links.size(); ++l) {
        const LinkConfig& path = config.links[l];
        const std::vector<HopConfig>& hops = path.onward;
        share_.push_back(hops.empty() ? PeerRoom::kAny : share(hops.front().node));
        const std::size_t head = first_head(config, l);
        const EngineConfig* before =
            &hops_.emplace_back(alone(config, near_.links[l], path.subflows, share_.back() * transport.mss_bytes));
        for (std::size_t k = 0; k < hops.size(); ++k) {
            const bool last = k + 1 == hops.size();
            Link& on = links[l].onward[k];
            const std::size_t arrives = last ? l : head + 2 * (k + 1);
            onward_[l].push_back(std::make_unique<Wire>(on, 0, heads.from(arrives), heads.from(head + 2 * k + 1)));
            Wire& in = k == 0 ? first[l] : *onward_[l][k - 1];
            Wire& out = *onward_[l].back();
            stops_.push_back({k, &in, &out});
            const std::int64_t window = last ? 0 : share(hops[k + 1].node) * transport.mss_bytes;
            const EngineConfig& hop = hops_.emplace_back(alone(config, hops[k].line, path.subflows, window));
            const ContactPlan& plan = plans_.emplace_back(hop.links.front(), transport.header_bytes);
            for (std::size_t i = s; i < s + static_cast<std::size_t>(path.subflows); ++i) {
                TcpState tcp = initial_state(config, count * (k + 1) + i);
                const auto header = static_cast<std::uint32_t>(transport.header_bytes);
                auto control = own_control(hop.transport, control_setup(hop, tcp, 0, path.subflows, on.down.slot_ns(),
                                                                        on.up.service_ns(header)));
                levels_[k].add(i, {make_receiver(*before, 0, 0), AckTransmitter(in)},
                               {Subflow(transport, std::move(control), tcp), Transmitter(out), &plan, l}, *on.from,
                               share(hops[k].node), last ? PeerRoom::kAny : share(hops[k + 1].node));
            }
            before = &hop;
        }
        if (!hops.empty()) last_[l] = before;
        for (int i = 0; i < path.subflows; ++i) nodes_of_.push_back(hops.size());
        s += static_cast<std::size_t>(path.subflows);
    }
}

void Split::carry(bool stamps) {
    for (std::size_t l = 0; l < onward_.size(); ++l) {
        first_[l].carry_beside({stamps, !onward_[l].empty()});
        for (const auto& wire : onward_[l]) wire->carry_beside({stamps, wire != onward_[l].back()});
    }
}

Time Split::receive(Time at, std::size_t head) {
    const Stop& stop = stops_[head / 2];
    ProxyLevel& level = levels_[stop.level];
    if (head % 2 == 0) {
        level.handle_data(at, stop.in->front_data());
        return stop.in->pop_data();
    }
    Wire& wire = *stop.out;
    const AckPacket packet = wire.take_ack();
    const std::size_t s = packet.sender;
    const Time one_way = wire.beside().stamps ? wire.take_stamp() : -1;
    const std::int64_t freed = wire.beside().delivered ? wire.take_delivered() : 0;
    if (packet.kind == kSyn) {
        if (!level.boots(at, s)) level.handle_established(at, s, packet.echo_ns, freed);
    } else {
        AckBlocks ack = read_ack(wire, packet, level.sender(s).tcp().snd_una, one_way);
        if (!level.boots(at, s)) level.handle_ack(at, s, ack, freed);
    }
    return heads_.at(links_.size() + head);
}

void Split::handle_timer(Time at, std::size_t timer) {
    const std::size_t each = kTimers * subflows_, s = timer % subflows_;
    ProxyLevel& level = levels_[timer / each];
    switch (timer % each / subflows_) {
        case 0:
            return level.handle_ack_timer(at, s);
        case 1:
            return level.handle_timer(at, s);
        default:
            return level.handle_pace(at, s);
    }
}

std::int64_t Split::bytes() const {
    std::int64_t bytes = 0;
    for (const ProxyLevel& level : levels_) bytes += level.bytes();
    for (const auto& path : onward_)
        for (const auto& wire : path) bytes += wire->bytes();
    return bytes;
}

}  // namespace dstcc
