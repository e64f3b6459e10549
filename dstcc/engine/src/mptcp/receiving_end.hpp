// The connection's receiving end: segments come in and go up in order, ACKs go back. Knows packets and its own way back; of a
// sender nothing. Receivers are numbered as the subflows are.
#pragma once

#include <optional>
#include <vector>

#include "core/remaining.hpp"
#include "tcp/answering.hpp"

namespace dstcc {

// What has arrived of a layer.
struct LayerArrival {
    Time first_ns = -1, complete_ns = -1;
    std::int64_t delivered_bytes = 0;  // in order
};

class ReceivingEnd {
public:
    ReceivingEnd(const ObjectsConfig& objects, const LayerHeaders& headers, std::size_t domains, int header_bytes,
                 Timers delayed_acks, Remaining& remaining, Time read);
    void add(SubflowReceiver receiver, AckTransmitter out) {
        if (unread_) receiver.read_by(&*unread_);
        receivers_.push_back({{receiver, out}});
    }

    void handle_data(Time now, const DataPacket& packet);
    // Of a run, the first of which is given, and behind which nothing comes before `next`, as many as are alike, up to `until`.
    std::int64_t handle_run(const DataPacket& first, const PacketRun& run, Time next, Time until);
    void handle_timer(Time now, std::size_t receiver) {  // of a delayed ACK
        answering_.handle_timer(now, receiver, receivers_[receiver], delivered_payload_);
    }
    ReceivingEnd(const ReceivingEnd&) = delete;  // its parts point at each other
    ReceivingEnd& operator=(const ReceivingEnd&) = delete;
    // Layers that are delivered from now on are noted there.
    void watch(std::vector<std::uint32_t>* delivered) { delivered_ = delivered; }

    std::int64_t next(std::size_t receiver) const { return receivers_[receiver].receiver.next(); }
    const std::vector<LayerArrival>& layers() const { return layers_; }
    std::int64_t arrived_payload() const { return arrived_payload_; }
    std::int64_t delivered_payload() const { return delivered_payload_; }
    std::int64_t duplicate_payload() const { return duplicate_payload_; }
    std::int64_t hol_payload() const { return hol_payload_; }
    double hol_wait_byte_ns() const { return hol_wait_byte_ns_; }
    Time last_delivery_ns() const { return last_delivery_ns_; }
    std::int64_t reorder_peak_bytes() const;

private:
    struct Receiver : ReceivingEndpoint {
        // The layer that it belonged to, as the next one mostly does: looked up once.
        std::uint32_t object = kNoLayer;
        std::int64_t payload_bytes = 0;
        LayerArrival* layer = nullptr;
        OrderingDomain* domain = nullptr;
    };
    static constexpr std::uint32_t kNoLayer = UINT32_MAX;
    void take(Receiver& from, const DataPacket& packet);
    [[gnu::noinline]] void look_up(Receiver& receiver, std::uint32_t object);
    [[gnu::noinline]] void complete(std::uint32_t object);

    const ObjectsConfig& objects_;
    const LayerHeaders& headers_;
    Answering answering_;
    Remaining& remaining_;
    Time now_ = 0;
    std::vector<Receiver> receivers_;
    std::vector<OrderingDomain> domains_;
    std::vector<LayerArrival> layers_;
    std::vector<std::uint32_t>* delivered_ = nullptr;
    std::int64_t delivered_payload_ = 0, arrived_payload_ = 0, duplicate_payload_ = 0, hol_payload_ = 0;
    double hol_wait_byte_ns_ = 0;
    Time last_delivery_ns_ = -1;
    std::optional<Unread> unread_;
};

// ------------------------------------------------------------------------ small and in every packet's way

// Account for a segment and pass up what its ordering domain sets free.
[[gnu::always_inline]] inline void ReceivingEnd::take(Receiver& from, const DataPacket& packet) {
    if (packet.object != from.object) look_up(from, packet.object);
    const auto deliver = [&](std::uint32_t order, std::uint32_t first, std::uint16_t all, Time wait) {
        delivered_payload_ += all;
        if (wait > 0) hol_wait_byte_ns_ += static_cast<double>(all) * static_cast<double>(wait);
        headers_.each({order, first, all}, [&](std::uint32_t object, std::uint16_t bytes) {
            const bool own = object == packet.object;
            LayerArrival& layer = own ? *from.layer : layers_[object];
            layer.delivered_bytes += bytes;
            if (layer.delivered_bytes >= (own ? from.payload_bytes : objects_.payload_bytes[object])) complete(object);
        });
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
        last_delivery_ns_ = std::max(last_delivery_ns_, now_);
    headers_.each({packet.order, packet.object, packet.bytes}, [&](std::uint32_t object, std::uint16_t) {
        LayerArrival& layer = object == packet.object ? *from.layer : layers_[object];
        if (layer.first_ns < 0) layer.first_ns = now_;
    });
}

[[gnu::always_inline]] inline void ReceivingEnd::handle_data(Time now, const DataPacket& packet) {
    now_ = now;
    if (unread_) unread_->go_on(now);
    Receiver& to = receivers_[packet.sender];
    const std::int64_t before = delivered_payload_;
    answering_.handle_data(now, packet.sender, to, packet, delivered_payload_, [&] { take(to, packet); });
    if (unread_ || delivered_payload_ == before || to.domain->holds()) return;
    // The application reads at once, and while nothing waits for an earlier segment that is all there is.
    answering_.handle_read(now, packet.sender, to, delivered_payload_);
    for (std::size_t i = 0; i < receivers_.size() && domains_.size() == 1; ++i)
        answering_.handle_read(now, i, receivers_[i], delivered_payload_);
}

}  // namespace dstcc
