// The receiving ends of all senders: segments come in and go up in order, ACKs go back. Knows packets and its own way back; of a
// sender nothing.
//
// Receivers are numbered as the senders are: the connection's subflows first, which share its ordering domains, then the
// background flows, whose data arrives in one domain each (so what arrives once is delivered in the end).
#pragma once

#include <vector>

#include "core/events.hpp"
#include "link/ack_transmitter.hpp"
#include "core/remaining.hpp"
#include "tcp/receiver.hpp"

namespace dstcc {

// What has arrived of a layer.
struct LayerArrival {
    Time first_ns = -1, complete_ns = -1;
    std::int64_t delivered_bytes = 0;  // in order
};

// What has arrived of a background flow.
struct FlowArrival {
    std::int64_t payload_bytes;  // all of it; 0: without end
    std::int64_t bytes = 0;
    Time complete_ns = -1;
};

class ReceivingEnd {
public:
    ReceivingEnd(const ObjectsConfig& objects, const LayerHeaders& headers, std::size_t domains, int header_bytes,
                 Timers delayed_acks, Remaining& remaining);
    void add_subflow(const SubflowReceiver& receiver, AckTransmitter out);
    void add_flow(const SubflowReceiver& receiver, AckTransmitter out, std::int64_t payload_bytes);

    void handle_data(Time now, const DataPacket& packet);
    void handle_timer(Time now, std::size_t receiver);  // of a delayed ACK
    // Layers that are delivered from now on are noted there.
    void watch(std::vector<std::uint32_t>* delivered) { delivered_ = delivered; }

    std::int64_t next(std::size_t receiver) const { return receivers_[receiver].receiver.next(); }
    const std::vector<LayerArrival>& layers() const { return layers_; }
    const FlowArrival& flow(std::size_t f) const { return flows_[f]; }
    std::int64_t arrived_payload() const { return arrived_payload_; }
    std::int64_t delivered_payload() const { return delivered_payload_; }
    std::int64_t duplicate_payload() const { return duplicate_payload_; }
    std::int64_t hol_payload() const { return hol_payload_; }
    double hol_wait_byte_ns() const { return hol_wait_byte_ns_; }
    Time last_delivery_ns() const { return last_delivery_ns_; }
    std::int64_t reorder_peak_bytes() const;

private:
    struct Receiver {
        SubflowReceiver receiver;
        AckTransmitter out;
        Time one_way_ns = -1;  // of the segment that came in last
        // The layer that it belonged to, as the next one mostly does: looked up once.
        std::uint32_t object = kNoLayer;
        std::int64_t payload_bytes = 0;
        LayerArrival* layer = nullptr;
        OrderingDomain* domain = nullptr;
        Receiver(const SubflowReceiver& of, AckTransmitter back) : receiver(of), out(back) {}
    };
    static constexpr std::uint32_t kNoLayer = UINT32_MAX;
    static constexpr std::int64_t kSackOptionBytes = 4, kSackBlockBytes = 8;  // RFC 2018, padded to 32 bits
    [[gnu::noinline]] void handle_flow_data(const DataPacket& packet);
    void take(Receiver& from, const DataPacket& packet);
    [[gnu::noinline]] void look_up(Receiver& receiver, std::uint32_t object);
    [[gnu::noinline]] void complete(std::uint32_t object);
    void answer(std::size_t i, Receiver& receiver, SubflowReceiver::Answer what, Time sent_ns);
    [[gnu::noinline, gnu::cold]] void answer_syn(std::size_t i, const Receiver& receiver, Time sent_ns);
    void send_ack(std::size_t i, Receiver& receiver);

    const ObjectsConfig& objects_;
    const LayerHeaders& headers_;
    std::uint32_t header_bytes_;
    Timers delayed_acks_;
    Remaining& remaining_;
    Time now_ = 0;
    std::vector<Receiver> receivers_;
    std::size_t first_flow_ = 0;
    std::vector<FlowArrival> flows_;
    std::vector<OrderingDomain> domains_;
    std::vector<LayerArrival> layers_;
    std::vector<std::uint32_t>* delivered_ = nullptr;
    std::int64_t delivered_payload_ = 0, arrived_payload_ = 0, duplicate_payload_ = 0, hol_payload_ = 0;
    double hol_wait_byte_ns_ = 0;
    Time last_delivery_ns_ = -1;
};

// ------------------------------------------------------------------------ small and in every packet's way

// Account for a segment and pass up what its ordering domain sets free.
[[gnu::always_inline]] inline void ReceivingEnd::take(Receiver& from, const DataPacket& packet) {
    if (packet.object != from.object) look_up(from, packet.object);
    const auto deliver = [&](std::uint32_t object, std::uint16_t bytes, Time wait) {
        const bool own = object == packet.object;
        LayerArrival& layer = own ? *from.layer : layers_[object];
        layer.delivered_bytes += bytes;
        delivered_payload_ += bytes;
        if (wait > 0) hol_wait_byte_ns_ += static_cast<double>(bytes) * static_cast<double>(wait);
        if (layer.delivered_bytes >= (own ? from.payload_bytes : objects_.payload_bytes[object])) complete(object);
    };
    using Place = OrderingDomain::Place;
    const Place place = from.domain->handle_segment(now_, packet.order, packet.object, packet.bytes, deliver);
    if (place == Place::kDuplicate) {
        duplicate_payload_ += packet.bytes;
        return;
    }
    arrived_payload_ += packet.bytes;
    if (place == Place::kHeld)
        hol_payload_ += packet.bytes;
    else
        last_delivery_ns_ = now_;
    if (from.layer->first_ns < 0) from.layer->first_ns = now_;
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

[[gnu::always_inline]] inline void ReceivingEnd::handle_data(Time now, const DataPacket& packet) {
    now_ = now;
    const std::size_t i = packet.sender;
    Receiver& to = receivers_[i];
    if (packet.bytes == 0) return answer_syn(i, to, packet.sent_ns);
    if (i >= first_flow_) return handle_flow_data(packet);
    const std::int64_t number = widen(to.receiver.next(), packet.number);
    if (to.receiver.speaks_first(number)) send_ack(i, to);
    const auto answered = to.receiver.handle_segment(now_, number, packet.sent_ns, packet.bytes, packet.pushed);
    if (answered.fresh) take(to, packet);  // else a needless repeat; its payload was counted
    answer(i, to, answered, packet.sent_ns);
}

}  // namespace dstcc
