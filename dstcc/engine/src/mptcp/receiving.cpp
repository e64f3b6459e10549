// The receiver's end of a link: segments come in and go up in order, ACKs go back.
#include "mptcp/simulation.hpp"

namespace dstcc {

namespace {

constexpr std::int64_t kSackOptionBytes = 4, kSackBlockBytes = 8;  // RFC 2018, padded to 32 bits

}  // namespace

void Simulation::on_data(std::size_t link) {
    LinkState& state = links_[link];
    const DataPacket packet = state.data.front();
    state.data.pop_front();
    state.data.prefetch_ahead(kPrefetch);
    tree_.set_busy(link, state.data.empty() ? kNever : state.data.front().arrive_ns);
    if (!state.drops.empty() && doomed(link, packet)) return;
    if (config_.trace) trace_arrival(packet);
    const std::size_t s = packet.subflow;
    if (packet.bytes == 0) return answer_syn(s, endpoint(s), packet.sent_ns);
    if (s >= first_flow_) return on_flow_data(s - first_flow_, packet);
    SubflowState& subflow = subflows_[s];
    const std::int64_t number = widen(subflow.receiver.next(), packet.number);
    if (subflow.receiver.speaks_first(number)) send_ack(s, subflow);
    const auto answered = subflow.receiver.handle_segment(now_, number, packet.sent_ns, packet.bytes);
    if (answered.fresh) on_segment(packet);  // else a needless repeat; its payload was counted
    answer(s, subflow, answered, packet.sent_ns);
}

// A background flow has one ordering domain: what arrives once is delivered in the end.
[[gnu::noinline]] void Simulation::on_flow_data(std::size_t f, DataPacket packet) {
    FlowState& flow = flows_[f];
    const std::int64_t number = widen(flow.receiver.next(), packet.number);
    if (flow.receiver.speaks_first(number)) send_ack(first_flow_ + f, flow);
    const auto answered = flow.receiver.handle_segment(now_, number, packet.sent_ns, packet.bytes);
    if (answered.fresh) {
        flow.arrived_bytes += packet.bytes;
        if (flow.arrived_bytes == flow.config.payload_bytes) flow.complete_ns = now_;
    }
    answer(first_flow_ + f, flow, answered, packet.sent_ns);
}

// Account for a segment at the receiver and pass up what its ordering domain sets free.
[[gnu::always_inline]] inline void Simulation::on_segment(const DataPacket& packet) {
    ObjectOutcome& carried = outcomes_[packet.object];
    const auto deliver = [this](std::uint32_t object, std::uint16_t bytes, Time wait) {
        ObjectOutcome& outcome = outcomes_[object];
        outcome.delivered_bytes += bytes;
        delivered_payload_ += bytes;
        if (wait > 0) hol_wait_byte_ns_ += static_cast<double>(bytes) * static_cast<double>(wait);
        if (outcome.delivered_bytes >= config_.objects.payload_bytes[object]) complete(object);
    };
    using Place = OrderingDomain::Place;
    const Place place = domains_[static_cast<std::size_t>(carried.domain)].handle_segment(
        now_, packet.order, packet.object, packet.bytes, deliver);
    if (place == Place::kDuplicate) {
        duplicate_payload_ += packet.bytes;
        return;
    }
    arrived_payload_ += packet.bytes;
    if (place == Place::kHeld)
        hol_payload_ += packet.bytes;
    else
        last_delivery_ns_ = now_;
    if (carried.first_arrival_ns < 0) carried.first_arrival_ns = now_;
}

void Simulation::complete(std::uint32_t object) {
    ObjectOutcome& outcome = outcomes_[object];
    DSTCC_CHECK(outcome.delivered_bytes == config_.objects.payload_bytes[object], "bytes are delivered once");
    outcome.complete_ns = now_;
    if (watch_ != nullptr) watch_->delivered.push_back(object);
    settle();
}

// An ACK now, or a deadline for one.
[[gnu::always_inline]] inline void Simulation::answer(std::size_t sender, Endpoint& to, SubflowReceiver::Answer what,
                                                      Time sent_ns) {
    to.one_way_ns = now_ - sent_ns;
    if (what.now) return send_ack(sender, to);
    if (to.receiver.ack_deadline() < tree_.at(head_delayed_ack(sender)))
        tree_.set(head_delayed_ack(sender), to.receiver.ack_deadline());
}

[[gnu::always_inline]] inline void Simulation::send_ack(std::size_t sender, Endpoint& from) {
    LinkState& link = links_[from.link];
    const SubflowReceiver::Ack ack = from.receiver.make_ack();
    auto bytes = static_cast<std::uint32_t>(config_.transport.header_bytes);
    if (ack.sacks > 0) bytes += static_cast<std::uint32_t>(kSackOptionBytes + kSackBlockBytes * ack.sacks);
    const auto passage = link.up.transmit(now_, bytes);
    if (config_.trace) trace_ack(TraceEvent::kAckSent, passage, sender, blocks_of(from.receiver, ack), false);
    if (passage.arrive_ns == kNever) return;
    if (ack.sacks > 0) {
        SackBlocks& blocks = link.blocks.emplace_back();
        for (int i = 0; i < ack.sacks; ++i) {
            blocks.begin[i] = static_cast<std::uint32_t>(from.receiver.block(i).begin - ack.cumulative);
            blocks.end[i] = static_cast<std::uint32_t>(from.receiver.block(i).end - ack.cumulative);
        }
    }
    AckPacket& packet = put_ack(from, passage.arrive_ns);
    packet.echo_ns = ack.echo_ns;
    packet.cumulative = static_cast<std::uint32_t>(ack.cumulative);
    packet.subflow = static_cast<std::uint16_t>(sender);
    packet.sacks = static_cast<std::uint8_t>(ack.sacks);
    packet.kind = ack.duplicate ? kDuplicate : kPlain;
}

void Simulation::answer_syn(std::size_t sender, Endpoint& from, Time sent_ns) {
    const auto passage =
        links_[from.link].up.transmit(now_, static_cast<std::uint32_t>(config_.transport.header_bytes));
    if (config_.trace) trace_ack(TraceEvent::kAckSent, passage, sender, AckBlocks{}, true);
    if (passage.arrive_ns == kNever) return;
    AckPacket& packet = put_ack(from, passage.arrive_ns);
    packet.echo_ns = sent_ns;
    packet.cumulative = 0;
    packet.subflow = static_cast<std::uint16_t>(sender);
    packet.sacks = 0;
    packet.kind = kSyn;
}

// An ACK on its way, for the caller to fill in.
[[gnu::always_inline]] inline Simulation::AckPacket& Simulation::put_ack(const Endpoint& from, Time arrive_ns) {
    LinkState& link = links_[from.link];
    if (stamps_) link.stamps.push_back(from.one_way_ns);
    if (bounded_) link.delivered.push_back(delivered_payload_);
    if (link.acks.empty()) tree_.set_busy(head_acks(from.link), arrive_ns);
    AckPacket& packet = link.acks.emplace_back();
    packet.arrive_ns = arrive_ns;
    return packet;
}

AckBlocks Simulation::blocks_of(const SubflowReceiver& receiver, const SubflowReceiver::Ack& ack) {
    AckBlocks blocks;
    blocks.cumulative = ack.cumulative;
    for (int i = 0; i < ack.sacks; ++i) blocks.sack[blocks.sacks++] = receiver.block(i);
    return blocks;
}

void Simulation::on_delayed_ack(std::size_t s) {
    Endpoint& to = endpoint(s);
    const Time deadline = to.receiver.ack_time();
    if (deadline > now_) {
        tree_.set(head_delayed_ack(s), deadline);
        return;
    }
    tree_.set(head_delayed_ack(s), kNever);
    send_ack(s, to);
}

}  // namespace dstcc
