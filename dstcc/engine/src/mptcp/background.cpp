// Background flows: TCP connections of somebody else. Each has a sender with a congestion control of its own, one
// ordering domain (so what arrives once is delivered in the end) and one link, whose queues it shares both ways: its
// segments with the connection's data, its ACKs with the connection's ACKs.
//
// A flow sends all it can (or so many bytes) from start to stop, or what its application writes (TrafficSource). After the
// stop it sends nothing new and repairs what it still owes.
//
// A flow of the trial's own control ("same") is steered where that is: by an agent of its own (mptcp/steering.cpp), from its own
// values, under the same bounds. As the connection's subflows do, it rests while its link is away if the agent's scheduler goes
// by turns.
#include "mptcp/simulation.hpp"

namespace dstcc {

namespace {

constexpr std::int64_t kGreedy = std::int64_t{1} << 62;
constexpr std::uint64_t kFlowNumbers = 1 << 16;  // draws of flows are apart from those of subflows and datagrams

}  // namespace

void Simulation::add_flow(std::size_t link, std::size_t number) {
    const LinkConfig& on = config_.links[link];
    const FlowConfig& flow = on.flows[number];
    TcpState tcp = initial_state();
    tcp.subflow = kFlowNumbers * (link + 1) + number;
    bound_agent(tcp);
    ControlSetup setup = control_setup(tcp, link, on.subflows + static_cast<int>(on.flows.size()));
    setup.background = true;
    const bool same = flow.congestion == "same";
    const std::int64_t bytes = flow.payload_bytes > 0 ? flow.payload_bytes : kGreedy;
    auto control = same ? own_control(setup) : make_congestion(config_.transport, flow.congestion, setup);
    FlowState state{{Subflow(config_.transport, std::move(control), tcp), receiver(link, 0), link},
                    flow,
                    flow.app_limited ? bytes : 0,
                    flow.app_limited ? 0 : bytes};
    if (same) state.config.congestion = config_.transport.congestion;
    if (same && steerable(config_.transport.congestion)) steered_flows_.push_back(flows_.size());
    if (flow.app_limited)
        sources_.push_back({TrafficSource(flow.source, config_.seed, link, kFlowNumbers + number), link,
                            static_cast<std::int64_t>(flows_.size())});
    flows_.push_back(std::move(state));
}

// ------------------------------------------------------------------------------------------------------ coming in

void Simulation::on_flow_established(std::size_t f, Time syn_ns) {
    FlowState& flow = flows_[f];
    if (flow.sender.established()) return;  // an answer to a repeated SYN
    flow.syn_at = kNever;
    flow.sender.establish(now_, now_ - syn_ns);
    pump_flow(f);
}

void Simulation::on_flow_ack(std::size_t f, AckBlocks ack) {
    FlowState& flow = flows_[f];
    ack.more = flow_has_data(flow);
    flow.slot_delivered += flow.sender.handle_ack(now_, ack);
    pump_flow(f);
}

void Simulation::on_flow_timer(std::size_t f) {
    const std::size_t sender = first_flow_ + f;
    FlowState& flow = flows_[f];
    tree_.set(head_timer(sender), kNever);
    if (!flow.sender.established()) {
        if (now_ >= flow.config.stop_ns) return;
        if (flow.syn_at <= now_) send_syn(sender, flow);
        return arm_timer(sender, flow);
    }
    if (flow.dark) {
        const SubflowView view = view_of(flow);
        if (!view.up && view.change_ns < kNever - now_) {
            flow.sender.rest(now_ + view.change_ns);
            return arm_timer(sender, flow);
        }
    }
    const TimerResult result = flow.sender.handle_timer(now_);
    if (result == TimerResult::kNothing) return arm_timer(sender, flow);
    if (result == TimerResult::kProbe) send_flow_probe(f);
    pump_flow(f);
}

// The application writes a packet's worth.
void Simulation::on_flow_write(std::size_t f) {
    FlowState& flow = flows_[f];
    const std::int64_t payload = flow.config.source.packet_bytes - config_.transport.header_bytes;
    const std::int64_t bytes = std::min(std::max<std::int64_t>(payload, 1), flow.unwritten_bytes);
    flow.unwritten_bytes -= bytes;
    flow.unsent_bytes += bytes;
    if (bytes > 0) {
        flow.written_bytes += bytes;
        ++flow.writes;
        flow.last_write_ns = now_;
        if (flow.first_write_ns < 0) flow.first_write_ns = now_;
    }
    if (flow.sender.established()) pump_flow(f);
}

// ------------------------------------------------------------------------------------------------------ going out

// Repairs first, then new data; woken again when pacing lets go.
void Simulation::pump_flow(std::size_t f) {
    const std::size_t sender = first_flow_ + f;
    FlowState& flow = flows_[f];
    Subflow& tcp = flow.sender;
    if (flow.dark) return arm_timer(sender, flow);
    std::int64_t number = 0;
    if (flow_has_data(flow)) tcp.push();
    while (tcp.window_open() && tcp.pacing_until() <= now_ && tcp.poll_retransmit(number)) {
        repeat_flow_segment(f, number);
        if (flow_has_data(flow)) tcp.push();
    }
    while (tcp.window_open() && tcp.pacing_until() <= now_ && flow_has_data(flow)) send_flow_segment(f);
    if (tcp.repairs_instead())
        while (tcp.window_open() && tcp.pacing_until() <= now_ && tcp.poll_retransmit(number))
            repeat_flow_segment(f, number);
    const bool more = flow_has_data(flow);
    if ((more || tcp.repairs_waiting()) && tcp.window_open() && tcp.pacing_until() > now_)
        tree_.set(head_pace(sender), tcp.pacing_until());
    tcp.finish_sending(now_, !more, more && !tcp.window_open());
    arm_timer(sender, flow);
}

// Tail loss probe (RFC 8985 section 7.3).
void Simulation::send_flow_probe(std::size_t f) {
    FlowState& flow = flows_[f];
    if (flow_has_data(flow)) return send_flow_segment(f);
    const std::int64_t number = flow.sender.tcp().snd_nxt - 1;
    if ((flow.sender.segment(number).flags & (kSacked | kLost | kRetransOut)) == 0) repeat_flow_segment(f, number);
    flow.sender.finish_probe(now_);
}

void Simulation::send_flow_segment(std::size_t f) {
    FlowState& flow = flows_[f];
    const auto bytes =
        static_cast<std::uint16_t>(std::min<std::int64_t>(config_.transport.mss_bytes, flow.unsent_bytes));
    flow.unsent_bytes -= bytes;
    put_flow_segment(f, flow.sender.append(now_, 0, 0, bytes), bytes);
}

void Simulation::repeat_flow_segment(std::size_t f, std::int64_t number) {
    FlowState& flow = flows_[f];
    const std::uint16_t bytes = flow.sender.segment(number).bytes;
    flow.sender.mark_retransmitted(now_, number);
    flow.retransmitted_bytes += bytes;
    ++flow.slot_retransmitted;
    put_flow_segment(f, number, bytes);
}

void Simulation::put_flow_segment(std::size_t f, std::int64_t number, std::uint16_t bytes) {
    FlowState& flow = flows_[f];
    flow.sent_bytes += bytes;
    ++flow.data_packets;
    ++flow.slot_sent;
    const auto wire = static_cast<std::uint32_t>(bytes + config_.transport.header_bytes);
    const auto passage = links_[flow.link].down.transmit(now_, wire);
    const DataPacket packet{passage.arrive_ns,
                            now_,
                            static_cast<std::uint32_t>(number),
                            0,
                            0,
                            bytes,
                            static_cast<std::uint16_t>(first_flow_ + f)};
    if (config_.trace) trace_sent(packet, passage);
    if (passage.arrive_ns != kNever) put_data(flow.link, packet);
}

// --------------------------------------------------------------------------------------------------- bookkeeping

void Simulation::sample_flows() {
    for (FlowState& flow : flows_) {
        FlowSampleColumns& out = flow.samples;
        const TcpState& tcp = flow.sender.tcp();
        out.cwnd.push_back(flow.sender.established() ? std::min(tcp.cwnd, kInfiniteWindow) : 0);
        out.inflight.push_back(tcp.in_flight());
        out.srtt_ns.push_back(tcp.srtt_ns);
        out.sent.push_back(flow.slot_sent);
        out.lost.push_back(static_cast<std::int64_t>(tcp.lost - flow.slot_lost_base));
        out.delivered.push_back(flow.slot_delivered);
        flow.past_sent += flow.slot_sent;
        flow.past_retransmitted += flow.slot_retransmitted;
        flow.past_delivered += flow.slot_delivered;
        flow.slot_sent = flow.slot_retransmitted = flow.slot_delivered = 0;
        flow.slot_lost_base = tcp.lost;
    }
}

void Simulation::check_flows() const {
    for (const FlowState& flow : flows_) {
        const TcpState& tcp = flow.sender.tcp();
        DSTCC_CHECK(tcp.snd_una <= flow.receiver.next() && flow.receiver.next() <= tcp.snd_nxt,
                    "a background flow's ACKs follow its arrivals, its arrivals its sending");
        DSTCC_CHECK(flow.arrived_bytes + flow.retransmitted_bytes <= flow.sent_bytes,
                    "a background flow's bytes arrive once");
    }
}

std::vector<FlowOutcome> Simulation::flows() const {
    std::vector<FlowOutcome> out;
    for (const FlowState& flow : flows_)
        out.push_back({static_cast<std::int64_t>(flow.link), flow.config.start_ns, flow.config.stop_ns,
                       flow.complete_ns, flow.sent_bytes, flow.retransmitted_bytes, flow.arrived_bytes,
                       static_cast<std::int64_t>(flow.sender.tcp().lost),
                       static_cast<std::int64_t>(flow.sender.timeouts()), flow.sender.rtt_samples(),
                       flow.sender.rtt_sum_s(), flow.config.congestion, flow.config.app_limited});
    return out;
}

}  // namespace dstcc
