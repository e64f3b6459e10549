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
    };
    void handle_flow_data(const DataPacket& packet);
    void take(const DataPacket& packet);
    void complete(std::uint32_t object);
    void answer(std::size_t i, Receiver& receiver, SubflowReceiver::Answer what, Time sent_ns);
    [[gnu::cold]] void answer_syn(std::size_t i, const Receiver& receiver, Time sent_ns);
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

}  // namespace dstcc
