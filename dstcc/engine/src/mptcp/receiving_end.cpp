#include "mptcp/receiving_end.hpp"

namespace dstcc {

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
    receivers_.emplace_back(receiver, out);
    ++first_flow_;
}

void ReceivingEnd::add_flow(const SubflowReceiver& receiver, AckTransmitter out, std::int64_t payload_bytes) {
    receivers_.emplace_back(receiver, out);
    flows_.push_back({payload_bytes});
}

void ReceivingEnd::handle_flow_data(const DataPacket& packet) {
    Receiver& to = receivers_[packet.sender];
    const std::int64_t number = widen(to.receiver.next(), packet.number);
    if (to.receiver.speaks_first(number)) send_ack(packet.sender, to);
    const auto answered = to.receiver.handle_segment(now_, number, packet.sent_ns, packet.bytes, false);
    if (answered.fresh) {
        FlowArrival& flow = flows_[packet.sender - first_flow_];
        flow.bytes += packet.bytes;
        if (flow.bytes == flow.payload_bytes) flow.complete_ns = now_;
    }
    answer(packet.sender, to, answered, packet.sent_ns);
}

void ReceivingEnd::look_up(Receiver& receiver, std::uint32_t object) {
    receiver.object = object;
    receiver.payload_bytes = objects_.payload_bytes[object];
    receiver.layer = &layers_[object];
    receiver.domain = &domains_[static_cast<std::size_t>(headers_.domain[object])];
}

void ReceivingEnd::complete(std::uint32_t object) {
    DSTCC_CHECK(layers_[object].delivered_bytes == objects_.payload_bytes[object], "bytes are delivered once");
    layers_[object].complete_ns = now_;
    if (delivered_ != nullptr) delivered_->push_back(object);
    remaining_.take_off();
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
