#include "mptcp/connection.hpp"

namespace dstcc {

namespace {

// What a program that writes ahead of the windows, without deadlines, keeps in a subflow: what the link that holds most holds.
std::int64_t unsent_limit(const EngineConfig& config) {
    std::int64_t most = 0;
    for (const LinkConfig& link : config.links)
        most = std::max(most, static_cast<std::int64_t>(link.rate_bps / 8 * 2 *
                                                        static_cast<double>(longest_delay(link)) / kNsPerS));
    return most;
}

Time longest_rtt(const EngineConfig& config) {
    Time longest = 0;
    for (const LinkConfig& link : config.links) longest = std::max(longest, 2 * longest_delay(link));
    return longest;
}

// Of a program that reads seldom enough to matter. On 6.1, and on lanes, whose program looks often, it does not.
Time time_between_reads(const TransportConfig& transport) {
    const bool waits = !transport.lanes && transport.constants.receiver == ReceiverOf::kLinux612;
    return waits ? transport.constants.read : 0;
}

bool some_link_ends(const EngineConfig& config) {
    const auto endless = [](const std::pair<Time, Time>& outage) { return outage.second >= kForeverNs; };
    for (const LinkConfig& link : config.links)
        for (const auto* outages : {&link.outages_ns, &link.up_outages_ns})
            if (std::any_of(outages->begin(), outages->end(), endless)) return true;
    return false;
}

ControlSetup setup_of(const EngineConfig& config, const TcpState& tcp, std::size_t link, const Link& on, int sharers) {
    return control_setup(config, tcp, link, sharers, on.down.slot_ns(),
                         on.up.service_ns(static_cast<std::uint32_t>(config.transport.header_bytes)));
}

// Each link is one subflow's alone.
bool all_alone(const EngineConfig& config, const std::vector<Link>& links) {
    if (config.transport.make_control) return false;  // somebody's own
    for (std::size_t l = 0; l < links.size(); ++l) {
        const LinkConfig& on = config.links[l];
        if (links[l].network != nullptr || on.subflows != 1 || !on.flows.empty() || !on.cross_traffic.empty() ||
            !on.drops.empty())
            return false;
    }
    return true;
}

}  // namespace

// ----------------------------------------------------------------------------------------------------- setting up

HeadCounts Connection::heads(const EngineConfig& config) {
    HeadCounts counts;
    counts.sending = counts.receiving = config.links.size();
    counts.receiving += Split::quick_heads(config);
    counts.timers = counts.paces = counts.answers = count_subflows(config);
    counts.answers += Split::timer_heads(config);
    counts.last = 1;
    return counts;
}

Connection::Connection(const EngineConfig& config, std::vector<Link>& links, const std::vector<ContactPlan>& plans,
                       const Places& places)
    : config_(config),
      remaining_(config.objects.size()),
      headers_(config.objects.size()),
      sending_({config.transport, config.objects, config.seed, config.slot_ns, count_subflows(config),
                unsent_limit(config), socket_buffer(config), longest_rtt(config), some_link_ends(config),
                config.begin_ns, config.ledger, runs_allowed() && !config.trace && all_alone(config, links)},
               headers_, places.timers, places.paces, places.last, remaining_),
      receiving_(config.objects, headers_, sending_.domains(), config.transport.header_bytes, places.answers,
                 remaining_, time_between_reads(config.transport)) {
    wires_.reserve(links.size());  // transmitters point at them
    for (std::size_t l = 0; l < links.size(); ++l) {
        const std::size_t head = Split::first_head(config, l);
        wires_.emplace_back(links[l], 0, places.receiving.from(head), places.sending.from(l));
        wires_.back().script(config.links[l].drops);
    }
    if (Split::any(config))
        split_ = std::make_unique<Split>(config, links, wires_, places.receiving,
                                         places.answers.from(count_subflows(config)));
    for (std::size_t l = 0; l < links.size(); ++l)
        for (int k = 0; k < config.links[l].subflows; ++k) add(l, links[l], plans[l]);
    sampler_.resize(sending_.subflows());
}

void Connection::add(std::size_t link, const Link& on, const ContactPlan& plan) {
    const TransportConfig& transport = config_.transport;
    TcpState tcp = initial_state(config_, sending_.subflows());
    if (!transport.apart) tcp.siblings = &sending_.siblings();
    const bool ends_at_node = split_ && split_->last(link) != nullptr;  // and so is plain TCP
    tcp.option_bytes = ends_at_node ? 0 : static_cast<std::uint32_t>(transport.option_bytes);
    auto control =
        own_control(transport, setup_of(split_ ? split_->near() : config_, tcp, link, on, sharers_of(config_, link)));
    sending_.add({Subflow(transport, std::move(control), tcp), Transmitter(wires_[link]), &plan, link});
    if (ends_at_node) {
        sending_.bound_by_node(split_->share(link));
        receiving_.add(make_receiver(*split_->last(link), 0, 0), AckTransmitter(split_->to_receiver(link)));
    } else {
        receiving_.add(make_receiver(config_, link, transport.option_bytes), AckTransmitter(wires_[link]));
    }
}

void Connection::begin(PacketLog* log) {
    log_ = log;
    if (log != nullptr) {
        sending_.log_steps(&step_log_);
        log->know_layers(&headers_);
    }
    plain_ = log == nullptr && std::none_of(wires_.begin(), wires_.end(), [](const Wire& w) { return w.scripted(); });
    watch(nullptr);
    bool stamps = false;
    for (std::size_t s = 0; s < sending_.subflows(); ++s)
        stamps = stamps || sending_.subflow(s).sender.wants_one_way_delay();
    sending_.begin();
    for (Wire& wire : wires_)
        wire.carry_beside({stamps, sending_.wants_deliveries() || config_.transport.receive_buffer_bytes != 0});
    if (split_) split_->carry(stamps);
    runs_ = sending_.may_go() && !stamps;
    for (Wire& wire : wires_) wire.set_ordered(runs_);
}

void Connection::watch(Watch* watch) {
    sending_.watch(watch != nullptr ? &watch->sent : nullptr);
    receiving_.watch(watch != nullptr ? &watch->delivered : nullptr);
    for (Wire& wire : wires_) wire.observe({log_, watch != nullptr ? &watch->worst_ns : nullptr, &headers_});
}

// --------------------------------------------------------------------------------------------- what passes between them

// A packet arrives at the receiving end.
[[gnu::always_inline]] inline Time Connection::receive(Time at, std::size_t link) {
    if (__builtin_expect(split_ != nullptr, 0)) return receive_over_nodes(at, link);
    Wire& wire = wires_[link];
    if (runs_) return receive_run(at, wire);
    const DataPacket& packet = wire.front_data();
    if (plain_ || on_unusual_data(at, wire, packet)) receiving_.handle_data(at, packet);
    return wire.pop_data();
}

Time Connection::receive_run(Time at, Wire& wire) {
    DataPacket packet = wire.front_data();
    packet.pushed = 0;  // no write ends here
    PacketRun run = wire.front_run();
    // Nothing ends the trial meanwhile, and nothing that came over another link belongs between them.
    const bool alone = !sending_.drops_late() || sending_.released() < config_.objects.size();
    if (alone && !sending_.copied() && packet.bytes > 0) {
        const std::int64_t count = Run{at, run.spacing, run.count}.until(known_until_);
        const Time next = count < run.count ? at + count * run.spacing : wire.arrival_behind();
        run.count = count;
        if (const std::int64_t taken = receiving_.handle_run(packet, run, next, known_until_); taken > 0)
            return wire.pop_data(taken);
    }
    receiving_.handle_data(at, packet);
    return wire.pop_data(1);
}

[[gnu::noinline]] Time Connection::receive_over_nodes(Time at, std::size_t head) {
    if (head >= wires_.size()) return split_->receive(at, head - wires_.size());
    Wire& wire = split_->to_receiver(head);
    receiving_.handle_data(at, wire.front_data());
    return wire.pop_data();
}

// Does the packet go on to the receiving end?
[[gnu::noinline]] bool Connection::on_unusual_data(Time at, Wire& wire, const DataPacket& packet) {
    if (wire.scripted() && wire.dropped_by_script(packet)) return false;
    if (log_ != nullptr) {
        const std::int64_t number = packet.bytes == 0 ? 0 : widen(receiving_.next(packet.sender), packet.number);
        log_->data_arrived(at, packet, number);
    }
    return true;
}

// An acknowledgement arrives at its sender.
[[gnu::always_inline]] inline void Connection::handle_quick(Time now, std::size_t link) {
    Wire& wire = wires_[link];
    if (runs_ && wire.front_ack().kind != kSyn) {
        if (hear_runs(wire)) return;
        const AckPacket packet = wire.front_ack();
        AckBlocks ack;
        ack.cumulative = widen(sending_.subflow(packet.sender).sender.tcp().snd_una, packet.cumulative);
        ack.echo_ns = packet.echo_ns;
        ack.duplicate = packet.kind == kDuplicate;
        if (packet.sacks > 0) read_blocks(ack, wire.front_blocks(), packet.sacks);
        wire.pop_acks(1);
        return sending_.handle_ack(now, packet.sender, ack);
    }
    const AckPacket packet = wire.take_ack();
    const std::size_t s = packet.sender;
    const bool syn = packet.kind == kSyn;
    const Time one_way = wire.beside().stamps ? wire.take_stamp() : -1;
    if (wire.beside().delivered) {
        const std::int64_t delivered = wire.take_delivered();
        if (split_)
            sending_.note_room(s, delivered);
        else if (!syn)
            sending_.note_window(delivered);
    }
    if (syn) {
        if (log_ != nullptr) log_->ack_arrived(now, s, 0, nullptr, 0, true);
        sending_.handle_established(now, s, packet.echo_ns);
        if (split_) sending_.handle_room(now, s);
        return;
    }
    AckBlocks ack = read_ack(wire, packet, sending_.subflow(s).sender.tcp().snd_una, one_way);
    if (log_ != nullptr) log_->ack_arrived(now, s, ack.cumulative, ack.sack, ack.sacks, false);
    sending_.handle_ack(now, s, ack);
}

// ACKs of a wire, as many as only count, or let segments leave by the window; false if the first one does not.
bool Connection::hear_runs(Wire& wire) {
    const std::size_t s = wire.front_ack().sender;
    bool heard = false;
    for (const Time until = sending_.counts_until(heard_until_); wire.answers();) {
        const AckPacket& packet = wire.front_ack();
        if (packet.arrive_ns > until || packet.kind == kSyn || packet.kind == kDuplicate ||
            (packet.sacks == 0) != sending_.goes_by_acks())
            break;
        const AckRun run = wire.front_acks();
        AckBlocks ack;
        ack.cumulative = widen(sending_.subflow(s).sender.tcp().snd_una, packet.cumulative);
        if (packet.sacks > 0) read_blocks(ack, wire.front_blocks(), packet.sacks);
        const Run times{packet.arrive_ns, run.spacing, run.count};
        const std::int64_t each = packet.sacks > 0 ? run.lengthens : run.acknowledges;
        const std::int64_t count = sending_.hear_run(s, ack, times, each, until);
        if (count == 0) break;
        heard = true;
        wire.pop_acks(count);
        if (count < run.count) break;
    }
    if (sending_.goes_by_acks()) sending_.finish_hearing(s);
    return heard;
}

void Connection::handle_slot(Time now) {
    sending_.handle_slot(now);
    for (std::size_t s = 0; s < sending_.subflows(); ++s)
        sampler_.take(now, s, static_cast<std::int64_t>(s), sample_of(sending_.subflow(s), now));
}

// --------------------------------------------------------------------------------------------------- bookkeeping

void Connection::check() const {
    DSTCC_CHECK(receiving_.delivered_payload() <= receiving_.arrived_payload() &&
                    receiving_.arrived_payload() + receiving_.duplicate_payload() <=
                        sending_.new_payload() + sending_.repeated_payload(),
                "bytes are conserved");
    if (split_)
        split_->check([&](std::size_t s) -> const Subflow& { return sending_.subflow(s).sender; },
                      [&](std::size_t s) { return receiving_.next(s); });
}

void Connection::check_layers() const {
    std::int64_t delivered = 0;
    for (const LayerArrival& layer : receiving_.layers()) delivered += layer.delivered_bytes;
    DSTCC_CHECK(delivered == receiving_.delivered_payload(), "bytes are conserved");
    sending_.check_backlog();
}

// Of the records kept of packets: what senders may have to repeat, and what is on its way.
std::int64_t Connection::bytes() const {
    std::int64_t bytes = sending_.bytes();
    for (const Wire& wire : wires_) bytes += wire.bytes();
    return split_ ? bytes + split_->bytes() : bytes;
}

std::int64_t Connection::packets() const {
    std::int64_t packets = sending_.data_packets();
    for (std::size_t s = 0; s < sending_.subflows(); ++s) packets += sending_.subflow(s).syns;
    return packets;
}

ObjectOutcome Connection::object(std::size_t object) const {
    const LayerArrival& arrived = receiving_.layers()[object];
    ObjectOutcome outcome = outcome_of(sending_.layers()[object]);
    outcome.first_arrival_ns = arrived.first_ns;
    outcome.complete_ns = arrived.complete_ns;
    outcome.delivered_bytes = arrived.delivered_bytes;
    outcome.acknowledged_bytes = sending_.acknowledged(object);
    return outcome;
}

void Connection::add_to(TransportStats& stats) const {
    for (std::size_t s = 0; s < sending_.subflows(); ++s) {
        const Subflow& from = sending_.subflow(s).sender;
        stats.rtt_sum_s += from.rtt_sum_s();
        stats.rtt_samples += from.rtt_samples();
        stats.timeouts += static_cast<std::int64_t>(from.timeouts());
    }
    stats.retransmitted_payload_bytes = sending_.repeated_payload();
    stats.sent_payload_bytes = sending_.new_payload() + sending_.repeated_payload();
    stats.data_packets = sending_.data_packets();
    stats.run_packets = sending_.packets_in_runs();
    stats.queue_p95_s = sending_.waits().quantile(0.95) / kNsPerS;
    stats.first_send_s = seconds_or_nan(sending_.first_send_ns());
    stats.arrived_payload_bytes = receiving_.arrived_payload();
    stats.delivered_payload_bytes = receiving_.delivered_payload();
    stats.duplicate_payload_bytes = receiving_.duplicate_payload();
    stats.hol_payload_bytes = receiving_.hol_payload();
    stats.hol_wait_byte_s = receiving_.hol_wait_byte_ns() / kNsPerS;
    stats.reorder_peak_bytes = receiving_.reorder_peak_bytes();
    stats.last_delivery_s = seconds_or_nan(receiving_.last_delivery_ns());
}

template class Trial<Connection>;

}  // namespace dstcc
