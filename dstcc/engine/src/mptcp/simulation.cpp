#include "mptcp/simulation.hpp"

#include <limits>

#include "core/stall.hpp"

namespace dstcc {

namespace {

Time later(Time at, Time by) { return at < kNever - by ? at + by : kNever; }

constexpr unsigned kNowAndThen = (1u << 16) - 1;  // every so many events: Ctrl-C, and the memory held

}  // namespace

// A packet arrives at the receiving end.
[[gnu::always_inline]] inline void Simulation::on_data(Time at, Wire& wire) {
    const DataPacket& packet = wire.front_data();
    if (plain_ || on_unusual_data(at, wire, packet)) receiving_.handle_data(at, packet);
}

// Does the packet go on to the receiving end?
[[gnu::noinline]] bool Simulation::on_unusual_data(Time at, Wire& wire, const DataPacket& packet) {
    if (wire.scripted() && wire.dropped_by_script(packet)) return false;
    if (config_.trace) {
        const std::int64_t number = packet.bytes == 0 ? 0 : widen(receiving_.next(packet.sender), packet.number);
        packet_log_.data_arrived(at, packet, number);
    }
    return true;
}

// An acknowledgement arrives at its sender.
[[gnu::always_inline]] inline void Simulation::on_acks(std::size_t link) {
    Wire& wire = wires_[link];
    const AckPacket packet = wire.take_ack();
    const std::size_t s = packet.sender;
    const bool background = s >= first_flow_, syn = packet.kind == kSyn;
    AckBlocks ack;
    if (wire.beside().stamps) ack.one_way_ns = wire.take_stamp();
    if (wire.beside().delivered) {
        const std::int64_t delivered = wire.take_delivered();
        if (!syn && !background) sending_.note_window(delivered);
    }
    if (syn) {
        if (config_.trace) packet_log_.ack_arrived(now_, s, 0, nullptr, 0, true);
        return background ? background_.handle_established(now_, s - first_flow_, packet.echo_ns)
                          : sending_.handle_established(now_, s, packet.echo_ns);
    }
    const SendingEndpoint& to = background ? background_.flows()[s - first_flow_] : sending_.subflow(s);
    ack.cumulative = widen(to.sender.tcp().snd_una, packet.cumulative);
    ack.echo_ns = packet.echo_ns;
    ack.duplicate = packet.kind == kDuplicate;
    if (packet.sacks > 0) {
        const SackBlocks blocks = wire.take_blocks();
        for (int i = 0; i < packet.sacks; ++i)
            ack.sack[i] = {ack.cumulative + blocks.begin[i], ack.cumulative + blocks.end[i]};
        ack.sacks = packet.sacks;
    }
    if (config_.trace) packet_log_.ack_arrived(now_, s, ack.cumulative, ack.sack, ack.sacks, false);
    background ? background_.handle_ack(now_, s - first_flow_, ack) : sending_.handle_ack(now_, s, ack);
}

bool Simulation::run_until(Time until, bool (*interrupted)()) {
    const Time end = std::min(until, config_.duration_ns);
    while (!over_) {
        const EventTree& next = next_sending();
        if (finished()) {
            if (next.time() >= finish_ns_) break;  // at one instant the delivery was first
        } else if (std::min(next.time(), end) > received_until_ && catch_up(next.time(), end)) {
            continue;
        }
        if (next.time() > end) break;
        DSTCC_CHECK(next.time() >= now_, "time never goes back");
        now_ = next.time();
        on_sending_head(next, next.head());
        if ((++events_ & kNowAndThen) == 0) {
            memory_.note(bytes());
            if (interrupted != nullptr && interrupted()) over_ = true;
        }
    }
    now_ = std::max(now_, finish_ns_);
    if (!over() && end < kNever) now_ = end;
    if (now_ >= config_.duration_ns) over_ = true;
    memory_.note_peak(bytes());
    check_conservation();
    if (over() || until == kNever) check_deliveries();  // looks at every layer: not after each slot of a stepped trial
    return !over();
}

// What the sending ends do next. At one instant timers go before paced segments and these before the other idle heads;
// packets go before all but paced segments that no timer is before: a host's own clock does not wait for an interrupt.
inline const EventTree& Simulation::next_sending() const {
    const EventTree &busy = sending_heads_.busy(), &idle = sending_heads_.idle(), &pace = pacing_heads_;
    const bool paces = pace.time() < idle.time() || (pace.time() == idle.time() && idle.head() >= senders_);
    if (paces) return busy.time() < pace.time() ? busy : pace;
    return busy.time() <= idle.time() ? busy : idle;
}

[[gnu::always_inline]] inline void Simulation::on_sending_head(const EventTree& of, std::size_t head) {
    if (&of == &sending_heads_.busy()) return on_acks(head);
    &of == &pacing_heads_ ? on_pace(head) : on_idle_head(head);
}

void Simulation::on_pace(std::size_t sender) {
    sender < first_flow_ ? sending_.handle_pace(now_, sender) : background_.handle_pace(now_, sender - first_flow_);
}

// Let the receiving ends go on, so that no ACK is missing, and the last delivery is known, when the sending ends do what is
// next for them; false if there was nothing for them to do. They stop at slots, at which somebody may look at both.
bool Simulation::catch_up(Time next, Time end) {
    const Time limit = std::min({sending_heads_.at_idle(idle_slot()), end, ends_apart_until()});
    if (std::min(next, end) > limit) return receive_before(next, end);
    const Time earliest =
        std::min(next, later(receiving_next(), least_up_ns_));  // what comes in may be before what is next
    const Time to = std::min(later(earliest, least_down_ns_), limit);
    receive(to);
    received_until_ = std::max(received_until_, to);
    return true;
}

// The receiving ends may go ahead as long as the last layer will not be given up meanwhile, for that ends the trial.
// A packet log wants all in the order of time.
Time Simulation::ends_apart_until() const {
    if (config_.trace) return -1;
    return !sending_.drops_late() || sending_.all_sent() ? kNever : config_.objects.release_ns.back() - 1;
}

// What the receiving ends do before the sending ends' next, as far as that does not depend on itself.
bool Simulation::receive_before(Time next, Time end) {
    const std::int64_t before = events_;
    receive(std::min({next, end, later(receiving_next(), least_up_ns_)}));
    return events_ != before;
}

// The receiving ends, up to and including a time, or to the last delivery. At one instant packets go first.
void Simulation::receive(Time until) {
    const EventTree &packets = receiving_heads_.busy(), &timers = receiving_heads_.idle();
    while (!finished()) {
        if (packets.time() <= timers.time()) {
            if (packets.time() > until) return;
            receive_run(packets.head(), until);
        } else {
            const Time at = timers.time();
            if (at > until) return;
            received_until_ = at;
            ++events_;
            receiving_.handle_timer(at, timers.head());
        }
    }
}

// What arrives over a link before anything else happens there.
[[gnu::always_inline]] inline void Simulation::receive_run(std::size_t link, Time until) {
    Wire& wire = wires_[link];
    const EventTree& timers = receiving_heads_.idle();
    const Time end = std::min(until, receiving_heads_.busy_alone_until(link));
    Time next = wire.front_data().arrive_ns;
    do {
        DSTCC_CHECK(next >= received_until_, "nothing arrives in the past");
        received_until_ = next;
        ++events_;
        on_data(next, wire);
        next = wire.pop_data();
        if (finished()) finish_ns_ = received_until_;
    } while (next <= end && next <= timers.time() && !finished());
    wire.note_data_head(next);
}

// Timers, one per sender; then the source, the sampler, the others' traffic.
void Simulation::on_idle_head(std::size_t head) {
    const std::size_t subflows = first_flow_;
    if (head < senders_)
        return head < subflows ? sending_.handle_timer(now_, head) : background_.handle_timer(now_, head - subflows);
    head -= senders_;
    if (head == 0) return sending_heads_.set_idle(idle_release(), sending_.handle_release(now_));
    if (head == 1) return on_slot();
    if (head == 2 + sources_.size()) return sending_.handle_own_timer(now_);
    on_source(head - 2);
}

void Simulation::on_slot() {
    background_.refresh_delays(now_);
    sending_.handle_slot(now_);
    for (std::size_t s = 0; s < sending_.subflows(); ++s) sampler_.take(now_, s, sending_.subflow(s));
    for (std::size_t f = 0; f < background_.flows().size(); ++f) sampler_.take_flow(f, background_.flows()[f]);
    memory_.note(bytes());
    check_conservation();
    over_ = over_ || silent_for_good();
    sending_heads_.set_idle(idle_slot(), now_ + config_.slot_ns);
}

bool Simulation::silent_for_good() const {
    if (config_.duration_ns != kNever || sending_.released() < config_.objects.size()) return false;
    const Time quiet_since = std::max({receiving_.last_delivery_ns(), dark_until(config_, now_), config_.begin_ns});
    return stalled(now_, quiet_since, config_.transport.constants.rto_max, sending_.longest_one_way_ns());
}

void Simulation::on_source(std::size_t i) {
    Source& source = sources_[i];
    Time next = kNever;
    const bool due = source.traffic.poll(now_, next);
    sending_heads_.set_idle(idle_source(i), next);
    if (!due) return;
    if (source.flow >= 0) return background_.handle_write(now_, static_cast<std::size_t>(source.flow));
    wires_[source.link].pass(now_, source.traffic.packet_bytes());
    ++cross_packets_;
}

// ------------------------------------------------------------------------------------------------ steered from outside

void Simulation::steer(const std::vector<WindowAction>& windows, const LayerAction* layers) {
    if (!over()) sending_.steer(now_, windows, layers);
}

void Simulation::steer_flows(const std::vector<WindowAction>& windows) {
    if (!over()) background_.steer(now_, windows);
}

void Simulation::watch(Watch* watch) {
    sending_.watch(watch != nullptr ? &watch->sent : nullptr);
    receiving_.watch(watch != nullptr ? &watch->delivered : nullptr);
    for (Wire& wire : wires_)
        wire.observe({config_.trace ? &packet_log_ : nullptr, watch != nullptr ? &watch->worst_ns : nullptr});
}

// --------------------------------------------------------------------------------------------------- bookkeeping

void Simulation::check_conservation() const {
    std::int64_t sent = 0;
    for (const Wire& wire : wires_) {
        const Direction &down = wire.down(), &up = wire.up();
        sent += down.sent();
        DSTCC_CHECK(down.sent() >= down.dropped() + down.lost() + wire.data_under_way(), "packets are conserved");
        DSTCC_CHECK(up.sent() >= up.dropped() + up.lost() + wire.acks_under_way(), "packets are conserved");
    }
    for (std::size_t s = 0; s < sending_.subflows(); ++s) sent -= sending_.subflow(s).syns;
    for (std::size_t f = 0; f < background_.flows().size(); ++f) {
        const auto& flow = background_.flows()[f];
        const TcpState& tcp = flow.sender.tcp();
        const std::int64_t next = receiving_.next(first_flow_ + f);
        sent -= flow.syns + flow.sent;
        DSTCC_CHECK(tcp.snd_una <= next && next <= tcp.snd_nxt,
                    "a background flow's ACKs follow its arrivals, its arrivals its sending");
        DSTCC_CHECK(receiving_.flow(f).bytes + flow.retransmitted_bytes <= flow.sent_bytes,
                    "a background flow's bytes arrive once");
    }
    DSTCC_CHECK(sent == sending_.data_packets() + cross_packets_, "what links carried, somebody sent");
    DSTCC_CHECK(receiving_.delivered_payload() <= receiving_.arrived_payload() &&
                    receiving_.arrived_payload() + receiving_.duplicate_payload() <=
                        sending_.new_payload() + sending_.repeated_payload(),
                "bytes are conserved");
}

void Simulation::check_deliveries() const {
    std::int64_t delivered = 0;
    for (const LayerArrival& layer : receiving_.layers()) delivered += layer.delivered_bytes;
    DSTCC_CHECK(delivered == receiving_.delivered_payload(), "bytes are conserved");
    sending_.check_backlog();
}

// Of the records kept of packets: what senders may have to repeat, and what is on its way.
std::int64_t Simulation::bytes() const {
    std::int64_t bytes = sending_.bytes();
    for (const auto& flow : background_.flows()) bytes += flow.sender.bytes();
    for (const Wire& wire : wires_) bytes += wire.bytes();
    return bytes;
}

ObjectOutcome Simulation::object(std::size_t object) const {
    const LayerArrival& arrived = receiving_.layers()[object];
    ObjectOutcome outcome = outcome_of(sending_.layers()[object]);
    outcome.first_arrival_ns = arrived.first_ns;
    outcome.complete_ns = arrived.complete_ns;
    outcome.delivered_bytes = arrived.delivered_bytes;
    outcome.acknowledged_bytes = sending_.acknowledged(object);
    return outcome;
}

std::vector<FlowOutcome> Simulation::flows() const {
    std::vector<FlowOutcome> out;
    for (std::size_t f = 0; f < background_.flows().size(); ++f) {
        const auto& flow = background_.flows()[f];
        const FlowArrival& arrived = receiving_.flow(f);
        out.push_back({static_cast<std::int64_t>(flow.link), flow.config.start_ns, flow.config.stop_ns,
                       arrived.complete_ns, flow.sent_bytes, flow.retransmitted_bytes, arrived.bytes,
                       static_cast<std::int64_t>(flow.sender.tcp().lost),
                       static_cast<std::int64_t>(flow.sender.timeouts()), flow.sender.rtt_samples(),
                       flow.sender.rtt_sum_s(), flow.config.congestion, flow.config.app_limited});
    }
    return out;
}

std::map<std::string, double> Simulation::totals() const {
    double rtt_sum = 0, timeouts = 0;
    std::int64_t rtt_samples = 0, dropped = 0, lost = 0, syns = 0;
    for (std::size_t s = 0; s < sending_.subflows(); ++s) {
        const SendingEndpoint& from = sending_.subflow(s);
        rtt_sum += from.sender.rtt_sum_s();
        rtt_samples += from.sender.rtt_samples();
        timeouts += static_cast<double>(from.sender.timeouts());
        syns += from.syns;
    }
    for (const Wire& wire : wires_) {
        dropped += wire.down().dropped();
        lost += wire.down().lost();
    }
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto seconds = [&](Time at) { return at < 0 ? nan : static_cast<double>(at) / kNsPerS; };
    const std::int64_t sent_payload = sending_.new_payload() + sending_.repeated_payload();
    const std::int64_t sent_wire = sent_payload + config_.transport.header_bytes * (sending_.data_packets() + syns);
    return {{"sent_wire_bytes", static_cast<double>(sent_wire)},
            {"sent_payload_bytes", static_cast<double>(sent_payload)},
            {"retransmitted_payload_bytes", static_cast<double>(sending_.repeated_payload())},
            {"arrived_payload_bytes", static_cast<double>(receiving_.arrived_payload())},
            {"delivered_payload_bytes", static_cast<double>(receiving_.delivered_payload())},
            {"duplicate_payload_bytes", static_cast<double>(receiving_.duplicate_payload())},
            {"hol_payload_bytes", static_cast<double>(receiving_.hol_payload())},
            {"hol_wait_byte_s", receiving_.hol_wait_byte_ns() / kNsPerS},
            {"rtt_sum_s", rtt_sum},
            {"rtt_samples", static_cast<double>(rtt_samples)},
            {"queue_p95_s", sending_.waits().quantile(0.95) / kNsPerS},
            {"data_packets", static_cast<double>(sending_.data_packets())},
            {"dropped_queue_packets", static_cast<double>(dropped)},
            {"lost_channel_packets", static_cast<double>(lost)},
            {"timeouts", timeouts},
            {"events", static_cast<double>(events_)},
            {"engine_peak_bytes", static_cast<double>(memory_.peak_bytes())},
            {"reorder_peak_bytes", static_cast<double>(receiving_.reorder_peak_bytes())},
            {"first_send_s", seconds(sending_.first_send_ns())},
            {"last_delivery_s", seconds(receiving_.last_delivery_ns())}};
}

}  // namespace dstcc
