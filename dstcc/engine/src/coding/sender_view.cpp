#include "coding/sender_view.hpp"

namespace dstcc {

SenderView::SenderView(const ObjectsConfig& objects, const BlockMap& map, const CodedSendingEnd& sending)
    : objects_(objects),
      map_(map),
      sending_(sending),
      before_(sending.subflows()),
      layers_(map.layers()),
      layers_before_(layers_.size()),
      backlog_(layers_.size(), 0),
      oldest_(layers_.size(), kNever),
      closed_(layers_.size(), kNoBlock),
      past_(layers_.size(), 0) {}

SenderView::SubflowCounts SenderView::counts_of(std::size_t s) const {
    const CodedSendingEnd::Subflow& from = sending_.subflow(s);
    return {from.sent, from.heard, from.heard_lost, from.flight.loss_runs(), from.delivered_bytes};
}

void SenderView::begin_slot() {
    for (std::size_t s = 0; s < before_.size(); ++s) before_[s] = counts_of(s);
    layers_before_ = layers_;
}

// What of the layers was captured and sent. Objects before `first_` have deadlines that are over, and change no more.
void SenderView::end_slot(Time now) {
    now_ = now;
    const std::vector<LayerSending>& sent = sending_.layers();
    for (; released_ < sending_.released(); ++released_) {
        LayerCounts& layer = layers_[objects_.layer[released_]];
        layer.released_bytes += objects_.payload_bytes[released_];
        ++layer.released_objects;
    }
    for (; first_ < released_ && objects_.deadline_ns[first_] < now; ++first_)
        past_[objects_.layer[first_]] += sent[first_].sent_bytes;
    for (std::size_t m = 0; m < layers_.size(); ++m) {
        layers_[m].sent_bytes = past_[m];
        layers_[m].repair = 0;
        backlog_[m] = 0;
        oldest_[m] = kNever;
    }
    for (std::size_t object = first_; object < released_; ++object) {
        const std::size_t m = objects_.layer[object];
        layers_[m].sent_bytes += sent[object].sent_bytes;
        const std::int64_t left = objects_.payload_bytes[object] - sent[object].offset;
        if (sent[object].given_up || left == 0) continue;
        backlog_[m] += left;
        oldest_[m] = std::min(oldest_[m], objects_.deadline_ns[object]);
    }
    const std::vector<BlockSending>& blocks = sending_.blocks();
    const std::size_t reached =
        released_ == 0 ? 0 : map_.block_of(static_cast<std::uint32_t>(released_ - 1)) / layers_.size() + 1;
    for (std::size_t block = 0; block < reached * layers_.size(); ++block) {
        const std::size_t m = map_.layer_of(static_cast<std::uint32_t>(block));
        layers_[m].repair += blocks[block].repair;
        if (blocks[block].closed && blocks[block].source > 0) closed_[m] = static_cast<std::uint32_t>(block);
    }
}

void SenderView::subflow(std::size_t s, double* row) const {
    const CodedSendingEnd::Subflow& from = sending_.subflow(s);
    const TcpState& tcp = from.flight.tcp();
    const SubflowCounts counts = counts_of(s), &before = before_[s];
    const bool started = from.flight.established(), heard = from.heard_to_ns >= 0;
    const ContactPlan::Contact contact = from.plan->contact(now_);
    const double values[] = {
        started ? 1.0 : 0.0,
        started ? static_cast<double>(std::min(tcp.cwnd, kInfiniteWindow)) : 0.0,
        static_cast<double>(tcp.in_flight()),
        seconds_or_never(tcp.srtt_ns),
        tcp.min_rtt_ns == kNever ? 0.0 : seconds_or_never(tcp.min_rtt_ns),
        static_cast<double>(counts.sent - before.sent),
        static_cast<double>(counts.heard - before.heard),
        static_cast<double>(counts.lost - before.lost),
        static_cast<double>(counts.runs - before.runs),
        heard ? seconds_or_never(from.heard_from_ns) : 0.0,
        heard ? seconds_or_never(from.heard_to_ns) : 0.0,
        static_cast<double>(counts.delivered_bytes - before.delivered_bytes),
        static_cast<double>(from.out.queue_bytes(now_)),
        tcp.pacing_bytes_per_ns * 8.0 * kNsPerS,
        seconds_or_never(from.plan->light_ns(now_)),
        contact.up ? 1.0 : 0.0,
        seconds_or_never(contact.change_ns),
        tcp.far_found ? 1.0 : 0.0,
        from.flight.stale() ? 1.0 : 0.0,
    };
    static_assert(std::size(values) == kCodedSubflowValues.size());
    std::copy(std::begin(values), std::end(values), row);
}

void SenderView::layer(std::size_t m, double* row) const {
    const LayerCounts &is = layers_[m], &was = layers_before_[m];
    const BlockSending none, &block = closed_[m] == kNoBlock ? none : sending_.blocks()[closed_[m]];
    const double values[] = {
        static_cast<double>(backlog_[m]),
        oldest_[m] == kNever ? seconds_or_never(kNever) : seconds_or_never(oldest_[m] - now_),
        static_cast<double>(is.released_bytes - was.released_bytes),
        static_cast<double>(is.released_objects - was.released_objects),
        static_cast<double>(is.sent_bytes - was.sent_bytes),
        static_cast<double>(is.repair - was.repair),
        static_cast<double>(block.source),
        static_cast<double>(std::max(block.planned, 0)),
    };
    static_assert(std::size(values) == kSenderLayerValues.size());
    std::copy(std::begin(values), std::end(values), row);
}

}  // namespace dstcc
