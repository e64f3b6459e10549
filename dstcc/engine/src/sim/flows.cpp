#include "sim/flows.hpp"

namespace dstcc {

namespace {

std::size_t count_flows(const EngineConfig& config) {
    std::size_t flows = 0;
    for (const LinkConfig& link : config.links) flows += link.flows.size();
    return flows;
}

}  // namespace

HeadCounts Flows::heads(const EngineConfig& config) {
    const std::size_t flows = count_flows(config), links = flows > 0 ? config.links.size() : 0;
    HeadCounts counts;
    counts.sending = counts.receiving = links;
    counts.timers = counts.paces = counts.answers = flows;
    return counts;
}

Flows::Flows(const EngineConfig& config, std::vector<Link>& links, const std::vector<ContactPlan>& plans,
             const Places& places, bool rests)
    : first_(count_subflows(config)),
      sending_(config.transport, first_, places.timers, places.paces, rests),
      receiving_(config.transport.header_bytes, first_, places.answers) {
    const std::size_t flows = count_flows(config);
    if (flows == 0) return;
    wires_.reserve(links.size());  // transmitters point at them
    for (std::size_t l = 0; l < links.size(); ++l) wires_.emplace_back(links[l], l, places.receiving, places.sending);
    for (std::size_t l = 0; l < links.size(); ++l)
        for (std::size_t k = 0; k < config.links[l].flows.size(); ++k) add(config, l, k, links[l], plans[l]);
    samplers_.resize(flows);
    for (Sampler& sampler : samplers_) sampler.resize(1);
    sending_.refresh_delays(0);
}

void Flows::add(const EngineConfig& config, std::size_t link, std::size_t number, const Link& on,
                const ContactPlan& plan) {
    const TransportConfig& transport = config.transport;
    const LinkConfig& of = config.links[link];
    FlowConfig flow = of.flows[number];
    const TcpState tcp = initial_state(config, kFlowNumbers * (link + 1) + number);
    ControlSetup setup =
        control_setup(config, tcp, link, sharers_of(config, link) + static_cast<int>(of.flows.size()),
                      on.down.slot_ns(), on.up.service_ns(static_cast<std::uint32_t>(transport.header_bytes)));
    setup.background = true;
    const bool same = flow.congestion == "same";
    auto control = same ? own_control(transport, setup) : make_congestion(transport, flow.congestion, setup);
    if (same) flow.congestion = transport.congestion;
    receiving_.add(make_receiver(config, link, 0), AckTransmitter(wires_[link]), flow.payload_bytes);
    sending_.add({Subflow(transport, std::move(control), tcp), Transmitter(wires_[link]), &plan, link}, flow,
                 same && steerable(transport.congestion));
}

void Flows::begin(PacketLog* log) {
    log_ = log;
    bool stamps = false;
    for (const auto& flow : sending_.flows()) stamps = stamps || flow.sender.wants_one_way_delay();
    for (Wire& wire : wires_) {
        wire.carry_beside({stamps, false});
        wire.observe({log, nullptr, nullptr});
    }
    sending_.begin();
}

void Flows::handle_quick(Time now, std::size_t link) {
    Wire& wire = wires_[link];
    const AckPacket packet = wire.take_ack();
    const std::size_t f = packet.sender - first_;
    const Time one_way = wire.beside().stamps ? wire.take_stamp() : -1;
    if (packet.kind == kSyn) {
        if (log_ != nullptr) log_->ack_arrived(now, packet.sender, 0, nullptr, 0, true);
        return sending_.handle_established(now, f, packet.echo_ns);
    }
    AckBlocks ack = read_ack(wire, packet, sending_.flows()[f].sender.tcp().snd_una, one_way);
    if (log_ != nullptr) log_->ack_arrived(now, packet.sender, ack.cumulative, ack.sack, ack.sacks, false);
    sending_.handle_ack(now, f, ack);
}

Time Flows::receive(Time at, std::size_t link) {
    Wire& wire = wires_[link];
    const DataPacket& packet = wire.front_data();
    const std::size_t f = packet.sender - first_;
    if (log_ != nullptr) {
        const std::int64_t number = packet.bytes == 0 ? 0 : widen(receiving_.next(f), packet.number);
        log_->data_arrived(at, packet, number);
    }
    receiving_.handle_data(at, f, packet);
    return wire.pop_data();
}

void Flows::handle_slot(Time now) {
    sending_.refresh_delays(now);
    for (std::size_t f = 0; f < samplers_.size(); ++f)
        samplers_[f].take(now, 0, 0, sample_of(sending_.flows()[f], now));
}

std::vector<FlowOutcome> Flows::outcomes() const {
    std::vector<FlowOutcome> out;
    for (std::size_t f = 0; f < sending_.flows().size(); ++f) {
        const auto& flow = sending_.flows()[f];
        const FlowArrival& arrived = receiving_.arrival(f);
        out.push_back({static_cast<std::int64_t>(flow.link), flow.config.start_ns, flow.config.stop_ns,
                       arrived.complete_ns, flow.sent_bytes, flow.retransmitted_bytes, arrived.bytes,
                       static_cast<std::int64_t>(flow.sender.tcp().lost),
                       static_cast<std::int64_t>(flow.sender.timeouts()), flow.sender.rtt_samples(),
                       flow.sender.rtt_sum_s(), flow.config.congestion, flow.config.app_limited});
    }
    return out;
}

std::int64_t Flows::bytes() const {
    std::int64_t bytes = 0;
    for (const auto& flow : sending_.flows()) bytes += flow.sender.bytes();
    for (const Wire& wire : wires_) bytes += wire.bytes();
    return bytes;
}

std::int64_t Flows::packets() const {
    std::int64_t packets = 0;
    for (const auto& flow : sending_.flows()) packets += flow.syns + flow.sent;
    return packets;
}

void Flows::check() const {
    for (std::size_t f = 0; f < sending_.flows().size(); ++f) {
        const auto& flow = sending_.flows()[f];
        const TcpState& tcp = flow.sender.tcp();
        const std::int64_t next = receiving_.next(f);
        DSTCC_CHECK(tcp.snd_una <= next && next <= tcp.snd_nxt,
                    "a background flow's ACKs follow its arrivals, its arrivals its sending");
        DSTCC_CHECK(receiving_.arrival(f).bytes + flow.retransmitted_bytes <= flow.sent_bytes,
                    "a background flow's bytes arrive once");
    }
}

}  // namespace dstcc
