// What a trial is made of: links, the two ends, background flows. Only here does one place know all of them.
#include <cmath>

#include "mptcp/simulation.hpp"

namespace dstcc {

namespace {

constexpr double kLeastBuffer = 4 << 20, kLargestBuffer = 1U << 31;  // bytes, of a socket whose buffer nobody set
constexpr std::uint64_t kFlowNumbers = 1 << 16;  // draws of flows are apart from those of subflows and datagrams

std::size_t count_subflows(const EngineConfig& config) {
    std::size_t subflows = 0;
    for (const LinkConfig& link : config.links) subflows += static_cast<std::size_t>(link.subflows);
    return subflows;
}

std::size_t count_senders(const EngineConfig& config) {
    std::size_t senders = count_subflows(config);
    for (const LinkConfig& link : config.links) senders += link.flows.size();
    return senders;
}

std::size_t count_sources(const EngineConfig& config) {
    std::size_t sources = 0;
    for (const LinkConfig& link : config.links) {
        sources += link.cross_traffic.size();
        for (const FlowConfig& flow : link.flows) sources += flow.app_limited;
    }
    return sources;
}

Time longest_delay(const LinkConfig& link) { return *std::max_element(link.delay_ns.begin(), link.delay_ns.end()); }

// What a program that writes ahead of the windows, without deadlines, keeps in a subflow: what the link that holds most holds.
std::int64_t unsent_limit(const EngineConfig& config) {
    std::int64_t most = 0;
    for (const LinkConfig& link : config.links)
        most = std::max(most, static_cast<std::int64_t>(link.rate_bps / 8 * 2 *
                                                        static_cast<double>(longest_delay(link)) / kNsPerS));
    return most;
}

// A socket's that nobody set, as the kernel backend has it: four times what the links and their queues hold, 4 MiB at least.
double socket_buffer(const EngineConfig& config) {
    double buffer = 0;
    for (const LinkConfig& on : config.links)
        buffer += 4 * (on.rate_bps / 8 * 2 * static_cast<double>(longest_delay(on)) / kNsPerS +
                       static_cast<double>(on.queue_bytes));
    return std::clamp(buffer, kLeastBuffer, kLargestBuffer);
}

bool some_link_ends(const EngineConfig& config) {
    const auto endless = [](const std::pair<Time, Time>& outage) { return outage.second >= kForeverNs; };
    for (const LinkConfig& link : config.links)
        for (const auto* outages : {&link.outages_ns, &link.up_outages_ns})
            if (std::any_of(outages->begin(), outages->end(), endless)) return true;
    return false;
}

}  // namespace

Simulation::Simulation(const EngineConfig& config)
    : config_(config),
      wire_bytes_(static_cast<std::uint32_t>(config.transport.mss_bytes + config.transport.header_bytes)),
      first_flow_(count_subflows(config)),
      senders_(count_senders(config)),
      sending_heads_(config.links.size(), senders_ + 3 + count_sources(config)),
      receiving_heads_(config.links.size(), senders_),
      pacing_heads_(senders_),
      remaining_(config.objects.size()),
      headers_(config.objects.size()),
      packet_log_(first_flow_),
      sending_({config_.transport, config_.objects, config_.seed, config_.slot_ns, first_flow_, unsent_limit(config_),
                socket_buffer(config_), some_link_ends(config_), config_.begin_ns, config_.ledger,
                senders_ + 2 + count_sources(config)},
               headers_, Timers(sending_heads_.timers(), 0), Timers(pacing_heads_, 0), remaining_),
      receiving_(config_.objects, headers_, sending_.domains(), config_.transport.header_bytes,
                 Timers(receiving_heads_.timers(), 0), remaining_),
      background_(config_.transport, first_flow_, Timers(sending_heads_.timers(), first_flow_),
                  Timers(pacing_heads_, first_flow_), sending_.rests()) {
    const std::size_t links = config_.links.size();
    wires_.reserve(links);  // transmitters and endpoints point at them
    plans_.reserve(links);
    for (std::size_t i = 0; i < links; ++i) {
        const LinkConfig& link = config_.links[i];
        wires_.emplace_back(link, config_.seed, i, wire_bytes_, first_flow_, receiving_heads_, sending_heads_);
        least_down_ns_ = std::min(least_down_ns_, wires_.back().down().least_delay());
        least_up_ns_ = std::min(least_up_ns_, wires_.back().up().least_delay());
        plans_.emplace_back(link, config_.transport.header_bytes);
        for (std::size_t k = 0; k < link.cross_traffic.size(); ++k)
            sources_.push_back({TrafficSource(link.cross_traffic[k], config_.seed, i, k), i});
    }
    for (std::size_t i = 0; i < links; ++i)
        for (int k = 0; k < config_.links[i].subflows; ++k) add_subflow(i);
    for (std::size_t i = 0; i < links; ++i)
        for (std::size_t k = 0; k < config_.links[i].flows.size(); ++k) add_flow(i, k);
    sampler_.resize(first_flow_, background_.flows().size());
    bool stamps = false;
    for (std::size_t s = 0; s < first_flow_; ++s) stamps = stamps || sending_.subflow(s).sender.wants_one_way_delay();
    for (const auto& flow : background_.flows()) stamps = stamps || flow.sender.wants_one_way_delay();
    background_.refresh_delays(0);
    watch(nullptr);
    if (config_.trace) sending_.log_steps(&step_log_);
    plain_ = !config_.trace && std::none_of(wires_.begin(), wires_.end(), [](const Wire& w) { return w.scripted(); });
    for (std::size_t i = 0; i < sources_.size(); ++i)
        sending_heads_.set_idle(idle_source(i), sources_[i].traffic.start());
    if (!finished()) sending_heads_.set_idle(idle_release(), config_.objects.release_ns[0]);
    sending_heads_.set_idle(idle_slot(), config_.slot_ns);
    sending_.begin();
    for (Wire& wire : wires_)
        wire.carry_beside({stamps, sending_.wants_deliveries() || config_.transport.receive_buffer_bytes != 0});
    background_.begin();
}

TcpState Simulation::initial_state() const {
    TcpState tcp;
    tcp.mss_bytes = static_cast<std::uint32_t>(config_.transport.mss_bytes);
    tcp.wire_bytes = wire_bytes_;
    tcp.initial_cwnd = config_.transport.initial_cwnd;
    tcp.seed = config_.seed;
    return tcp;
}

// The subflows and flows of a link divide what an open loop or a fixed window would give one.
ControlSetup Simulation::control_setup(const TcpState& tcp, std::size_t link, int sharers) const {
    const LinkConfig& config = config_.links[link];
    const Direction &down = wires_[link].down(), &up = wires_[link].up();
    const Time rtt = 2 * longest_delay(config) + down.slot_ns() +
                     up.service_ns(static_cast<std::uint32_t>(config_.transport.header_bytes));
    const Time slot = down.slot_ns() * sharers;
    ControlSetup setup{tcp, link, config.rate_bps / sharers, std::max<Time>((rtt + slot - 1) / slot, 2),
                       config_.slot_ns};
    setup.plan = &config.rate;
    return setup;
}

// A buffer that is told is as large as makes the window which the scenario gives.
SubflowReceiver Simulation::receiver(std::size_t link, int option_bytes) const {
    const TransportConfig& transport = config_.transport;
    const auto mss = static_cast<std::uint32_t>(transport.mss_bytes),
               options = static_cast<std::uint32_t>(option_bytes);
    double buffer = static_cast<double>(transport.receive_buffer_bytes) /
                    SubflowReceiver::window_share(transport.constants.receiver, mss);
    if (transport.receive_buffer_bytes == 0) buffer = socket_buffer(config_);
    return {transport.constants, SubflowReceiver::growth(transport.constants.receiver, buffer, mss, options),
            2 * longest_delay(config_.links[link]), mss, options};
}

void Simulation::add_subflow(std::size_t link) {
    const TransportConfig& transport = config_.transport;
    TcpState tcp = initial_state();
    tcp.subflow = sending_.subflows();
    if (!transport.apart) tcp.siblings = &sending_.siblings();
    tcp.option_bytes = static_cast<std::uint32_t>(transport.option_bytes);
    auto control = own_control(control_setup(tcp, link, config_.links[link].subflows));
    sending_.add({Subflow(transport, std::move(control), tcp), Transmitter(wires_[link]), &plans_[link], link});
    receiving_.add_subflow(receiver(link, transport.option_bytes), AckTransmitter(wires_[link]));
}

void Simulation::add_flow(std::size_t link, std::size_t number) {
    const LinkConfig& on = config_.links[link];
    FlowConfig flow = on.flows[number];
    TcpState tcp = initial_state();
    tcp.subflow = kFlowNumbers * (link + 1) + number;
    ControlSetup setup = control_setup(tcp, link, on.subflows + static_cast<int>(on.flows.size()));
    setup.background = true;
    const bool same = flow.congestion == "same";
    auto control = same ? own_control(setup) : make_congestion(config_.transport, flow.congestion, setup);
    if (same) flow.congestion = config_.transport.congestion;
    if (flow.app_limited)
        sources_.push_back({TrafficSource(flow.source, config_.seed, link, kFlowNumbers + number), link,
                            static_cast<std::int64_t>(background_.flows().size())});
    receiving_.add_flow(receiver(link, 0), AckTransmitter(wires_[link]), flow.payload_bytes);
    background_.add(
        {Subflow(config_.transport, std::move(control), tcp), Transmitter(wires_[link]), &plans_[link], link}, flow,
        same && steerable(config_.transport.congestion));
}

}  // namespace dstcc
