#include "mptcp/receiving_end.hpp"

namespace dstcc {

ReceivingEnd::ReceivingEnd(const ObjectsConfig& objects, const LayerHeaders& headers, std::size_t domains,
                           int header_bytes, Timers delayed_acks, Remaining& remaining, Time read)
    : objects_(objects),
      headers_(headers),
      answering_(header_bytes, 0, delayed_acks),
      remaining_(remaining),
      domains_(domains),
      layers_(objects.size()) {
    if (read > 0) unread_.emplace(read, arrived_payload_, delivered_payload_);
}

void ReceivingEnd::look_up(Receiver& receiver, std::uint32_t object) {
    receiver.object = object;
    receiver.payload_bytes = objects_.payload_bytes[object];
    receiver.layer = &layers_[object];
    receiver.domain = &domains_[static_cast<std::size_t>(headers_.domain[object])];
}

std::int64_t ReceivingEnd::handle_run(const DataPacket& first, const PacketRun& run, Time next, Time until) {
    Receiver& to = receivers_[first.sender];
    if (!headers_.shared.empty() || (domains_.size() == 1 && receivers_.size() > 1)) return 0;
    if (first.object != to.object) look_up(to, first.object);
    const auto take = [&](const Run& come) {
        const std::int64_t bytes = come.count * first.bytes;
        if (come.count > 1 && to.layer->delivered_bytes + bytes >= to.payload_bytes) return false;
        using Place = OrderingDomain::Place;
        const Place place = to.domain->handle_run(first.order, first.object, first.bytes, come);
        if (place == Place::kDuplicate) return false;
        arrived_payload_ += bytes;
        if (to.layer->first_ns < 0) to.layer->first_ns = come.first;
        if (place == Place::kHeld) {
            hol_payload_ += bytes;
        } else {
            delivered_payload_ += bytes;
            to.layer->delivered_bytes += bytes;
            last_delivery_ns_ = std::max(last_delivery_ns_, come.last());
            if (to.layer->delivered_bytes == to.payload_bytes) {
                now_ = come.first;
                complete(first.object);
            }
        }
        return true;
    };
    PacketRun before = run;  // the layer is complete
    before.count = std::min(run.count, (to.payload_bytes - to.layer->delivered_bytes - 1) / first.bytes);
    if (const std::int64_t taken = answering_.handle_pairs(first.sender, to, first, before, delivered_payload_, take);
        taken > 0)
        return taken;
    if (run.volley > 1) return 0;
    return answering_.handle_run(first.sender, to, first, run, next, until, delivered_payload_, take);
}

void ReceivingEnd::complete(std::uint32_t object) {
    DSTCC_CHECK(layers_[object].delivered_bytes == objects_.payload_bytes[object], "bytes are delivered once");
    layers_[object].complete_ns = now_;
    if (delivered_ != nullptr) delivered_->push_back(object);
    remaining_.take_off();
}

std::int64_t ReceivingEnd::reorder_peak_bytes() const {
    std::int64_t bytes = 0;
    for (const OrderingDomain& domain : domains_) bytes += domain.peak_bytes();
    return bytes;
}

}  // namespace dstcc
