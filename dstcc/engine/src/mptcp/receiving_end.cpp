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
