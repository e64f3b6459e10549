#include "mptcp/receiving_end.hpp"

namespace dstcc {

namespace {

constexpr std::int64_t kSackOptionBytes = 4, kSackBlockBytes = 8;  // RFC 2018, padded to 32 bits

}  // namespace

ReceivingEnd::ReceivingEnd(const ObjectsConfig& objects, const LayerHeaders& headers, std::size_t domains,
                           int header_bytes, Timers delayed_acks, Remaining& remaining)
    : objects_(objects),
      headers_(headers),
      header_bytes_(static_cast<std::uint32_t>(header_bytes)),
      delayed_acks_(delayed_acks),
      remaining_(remaining),
      domains_(domains),
      layers_(objects.size()) {}

void ReceivingEnd::add_subflow(const SubflowReceiver& receiver, AckTransmitter out) {
    DSTCC_CHECK(flows_.empty(), "the connection's subflows come first");
    receivers_.push_back({receiver, out});
    ++first_flow_;
}

void ReceivingEnd::add_flow(const SubflowReceiver& receiver, AckTransmitter out, std::int64_t payload_bytes) {
    receivers_.push_back({receiver, out});
    flows_.push_back({payload_bytes});
}

void ReceivingEnd::handle_data(Time now, const DataPacket& packet) {
    now_ = now;
    const std::size_t i = packet.sender;
    Receiver& to = receivers_[i];
    if (packet.bytes == 0) return answer_syn(i, to, packet.sent_ns);
    if (i >= first_flow_) return handle_flow_data(packet);
    const std::int64_t number = widen(to.receiver.next(), packet.number);
    if (to.receiver.speaks_first(number)) send_ack(i, to);
    const auto answered = to.receiver.handle_segment(now_, number, packet.sent_ns, packet.bytes);
    if (answered.fresh) take(packet);  // else a needless repeat; its payload was counted
    answer(i, to, answered, packet.sent_ns);
}

[[gnu::noinline]] void ReceivingEnd::handle_flow_data(const DataPacket& packet) {
    Receiver& to = receivers_[packet.sender];
    const std::int64_t number = widen(to.receiver.next(), packet.number);
    if (to.receiver.speaks_first(number)) send_ack(packet.sender, to);
    const auto answered = to.receiver.handle_segment(now_, number, packet.sent_ns, packet.bytes);
    if (answered.fresh) {
        FlowArrival& flow = flows_[packet.sender - first_flow_];
        flow.bytes += packet.bytes;
        if (flow.bytes == flow.payload_bytes) flow.complete_ns = now_;
    }
    answer(packet.sender, to, answered, packet.sent_ns);
}

// Account for a segment and pass up what its ordering domain sets free.
[[gnu::always_inline]] inline void ReceivingEnd::take(const DataPacket& packet) {
    const auto deliver = [this](std::uint32_t object, std::uint16_t bytes, Time wait) {
        LayerArrival& layer = layers_[object];
        layer.delivered_bytes += bytes;
        delivered_payload_ += bytes;
        if (wait > 0) hol_wait_byte_ns_ += static_cast<double>(bytes) * static_cast<double>(wait);
        if (layer.delivered_bytes >= objects_.payload_bytes[object]) complete(object);
    };
    using Place = OrderingDomain::Place;
    OrderingDomain& domain = domains_[static_cast<std::size_t>(headers_.domain[packet.object])];
    const Place place = domain.handle_segment(now_, packet.order, packet.object, packet.bytes, deliver);
    if (place == Place::kDuplicate) {
        duplicate_payload_ += packet.bytes;
        return;
    }
    arrived_payload_ += packet.bytes;
    if (place == Place::kHeld)
        hol_payload_ += packet.bytes;
    else
        last_delivery_ns_ = now_;
    if (LayerArrival& layer = layers_[packet.object]; layer.first_ns < 0) layer.first_ns = now_;
}

void ReceivingEnd::complete(std::uint32_t object) {
    DSTCC_CHECK(layers_[object].delivered_bytes == objects_.payload_bytes[object], "bytes are delivered once");
    layers_[object].complete_ns = now_;
    if (delivered_ != nullptr) delivered_->push_back(object);
    remaining_.take_off();
}

// An ACK now, or a deadline for one.
[[gnu::always_inline]] inline void ReceivingEnd::answer(std::size_t i, Receiver& receiver, SubflowReceiver::Answer what,
                                                        Time sent_ns) {
    receiver.one_way_ns = now_ - sent_ns;
    if (what.now) return send_ack(i, receiver);
    if (receiver.receiver.ack_deadline() < delayed_acks_.at(i)) delayed_acks_.set(i, receiver.receiver.ack_deadline());
}

[[gnu::always_inline]] inline void ReceivingEnd::send_ack(std::size_t i, Receiver& receiver) {
    const SubflowReceiver::Ack ack = receiver.receiver.make_ack();
    std::uint32_t bytes = header_bytes_;
    if (ack.sacks > 0) bytes += static_cast<std::uint32_t>(kSackOptionBytes + kSackBlockBytes * ack.sacks);
    receiver.out.send(now_, i,
                      {ack.cumulative, ack.echo_ns, &receiver.receiver.block(0), ack.sacks,
                       ack.duplicate ? kDuplicate : kPlain, receiver.one_way_ns, delivered_payload_},
                      bytes);
}

void ReceivingEnd::answer_syn(std::size_t i, const Receiver& receiver, Time sent_ns) {
    receiver.out.send(now_, i, {0, sent_ns, nullptr, 0, kSyn, receiver.one_way_ns, delivered_payload_}, header_bytes_);
}

void ReceivingEnd::handle_timer(Time now, std::size_t i) {
    now_ = now;
    Receiver& receiver = receivers_[i];
    const Time deadline = receiver.receiver.ack_time();
    if (deadline > now_) return delayed_acks_.set(i, deadline);
    delayed_acks_.set(i, kNever);
    receiver.receiver.expire();
    send_ack(i, receiver);
}

std::int64_t ReceivingEnd::reorder_peak_bytes() const {
    std::int64_t bytes = 0;
    for (const OrderingDomain& domain : domains_) bytes += domain.peak_bytes();
    return bytes;
}

}  // namespace dstcc
