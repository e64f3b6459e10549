#include "coding/stepper.hpp"

#include <limits>

namespace dstcc {

namespace {

constexpr double kLayerWeight = 100;  // W of equation 1 in Ha et al., ICT Express 2023

double seconds(Time ns) {
    return ns == kNever ? std::numeric_limits<double>::infinity() : static_cast<double>(ns) / kNsPerS;
}

}  // namespace

CodedEpisode::CodedEpisode(const EngineConfig& config)
    : trial_(config),
      before_(trial_.sending().subflows()),
      layers_(trial_.map().layers()),
      layers_before_(layers_.size()),
      backlog_(layers_.size(), 0),
      oldest_(layers_.size(), kNever),
      closed_(layers_.size(), kNoBlock),
      played_(layers_.size(), 0),
      past_(layers_.size(), 0),
      counted_(config.objects.size(), 0) {
    for (std::size_t object = 0; object < config.objects.size(); ++object) total_weight_ += weight(object);
}

double CodedEpisode::weight(std::size_t object) const {
    return static_cast<double>(layers_.size() - trial_.config().objects.layer[object]) * kLayerWeight;
}

CodedEpisode::SubflowCounts CodedEpisode::counts_of(std::size_t s) const {
    const CodedSendingEnd::Subflow& from = trial_.sending().subflow(s);
    return {from.sent, from.heard, from.heard_lost, from.flight.loss_runs(), from.delivered_bytes};
}

void CodedEpisode::step(const CodedAction* action) {
    if (trial_.over()) return;
    began_ = trial_.now();
    for (std::size_t s = 0; s < before_.size(); ++s) before_[s] = counts_of(s);
    layers_before_ = layers_;
    trial_.forget_times();
    if (action != nullptr) trial_.steer(*action);
    steered_ = steered_ || action != nullptr;
    slot_end_ += trial_.config().slot_ns;
    trial_.run_until(slot_end_, nullptr);
    count_layers();
    count_played();
}

// What of the layers was captured and sent. Objects before `first_` have deadlines that are over, and change no more.
void CodedEpisode::count_layers() {
    const ObjectsConfig& objects = trial_.config().objects;
    const CodedSendingEnd& sending = trial_.sending();
    const std::vector<LayerSending>& sent = sending.layers();
    for (; released_ < sending.released(); ++released_) {
        LayerCounts& layer = layers_[objects.layer[released_]];
        layer.released_bytes += objects.payload_bytes[released_];
        ++layer.released_objects;
    }
    for (; first_ < released_ && objects.deadline_ns[first_] < trial_.now(); ++first_)
        past_[objects.layer[first_]] += sent[first_].sent_bytes;
    for (std::size_t m = 0; m < layers_.size(); ++m) {
        layers_[m].sent_bytes = past_[m];
        layers_[m].repair = 0;
        backlog_[m] = 0;
        oldest_[m] = kNever;
    }
    for (std::size_t object = first_; object < released_; ++object) {
        const std::size_t m = objects.layer[object];
        layers_[m].sent_bytes += sent[object].sent_bytes;
        const std::int64_t left = objects.payload_bytes[object] - sent[object].offset;
        if (sent[object].given_up || left == 0) continue;
        backlog_[m] += left;
        oldest_[m] = std::min(oldest_[m], objects.deadline_ns[object]);
    }
    const std::vector<BlockSending>& blocks = sending.blocks();
    const std::size_t reached = released_ == 0 ? 0 : trial_.block_of(released_ - 1) / layers_.size() + 1;
    for (std::size_t block = 0; block < reached * layers_.size(); ++block) {
        const std::size_t m = trial_.map().layer_of(static_cast<std::uint32_t>(block));
        layers_[m].repair += blocks[block].repair;
        if (blocks[block].closed && blocks[block].source > 0) closed_[m] = static_cast<std::uint32_t>(block);
    }
}

// A layer plays when it and all lower ones of its chunk are there in time.
void CodedEpisode::count_played() {
    const ObjectsConfig& objects = trial_.config().objects;
    const std::vector<PartArrival>& parts = trial_.receiving().parts();
    std::fill(played_.begin(), played_.end(), 0.0);
    played_weight_ = 0;
    for (std::size_t object = undecided_; object < released_; ++object) {
        const Time deadline = objects.deadline_ns[object];
        if (counted_[object] == 0 && parts[object].complete_ns >= 0 && parts[object].complete_ns <= deadline &&
            (objects.layer[object] == 0 || counted_[object - 1] != 0)) {
            counted_[object] = 1;
            played_[objects.layer[object]] += 1;
            played_weight_ += weight(object);
        }
        if (object == undecided_ && (counted_[object] != 0 || deadline < trial_.now())) ++undecided_;
    }
}

void CodedEpisode::observe(double* subflows, std::size_t subflow_rows, double* layers, std::size_t layer_rows,
                           double* own) const {
    std::fill_n(subflows, subflow_rows * kCodedSubflowValues.size(), 0.0);
    std::fill_n(layers, layer_rows * kCodedLayerValues.size(), 0.0);
    const Time now = trial_.now();
    for (std::size_t s = 0; s < std::min(subflow_rows, before_.size()); ++s) {
        const CodedSendingEnd::Subflow& from = trial_.sending().subflow(s);
        const TcpState& tcp = from.flight.tcp();
        const SubflowCounts counts = counts_of(s), &before = before_[s];
        const bool started = from.flight.established(), heard = from.heard_to_ns >= 0;
        const ContactPlan::Contact contact = from.plan->contact(now);
        const double values[] = {
            started ? 1.0 : 0.0,
            started ? static_cast<double>(std::min(tcp.cwnd, kInfiniteWindow)) : 0.0,
            static_cast<double>(tcp.in_flight()),
            seconds(tcp.srtt_ns),
            tcp.min_rtt_ns == kNever ? 0.0 : seconds(tcp.min_rtt_ns),
            static_cast<double>(counts.sent - before.sent),
            static_cast<double>(counts.heard - before.heard),
            static_cast<double>(counts.lost - before.lost),
            static_cast<double>(counts.runs - before.runs),
            heard ? seconds(from.heard_from_ns) : 0.0,
            heard ? seconds(from.heard_to_ns) : 0.0,
            static_cast<double>(counts.delivered_bytes - before.delivered_bytes),
            static_cast<double>(from.out.queue_bytes(now)),
            tcp.pacing_bytes_per_ns * 8.0 * kNsPerS,
            seconds(from.plan->light_ns(now)),
            contact.up ? 1.0 : 0.0,
            seconds(contact.change_ns),
        };
        static_assert(std::size(values) == kCodedSubflowValues.size());
        std::copy(std::begin(values), std::end(values), subflows + s * kCodedSubflowValues.size());
    }
    for (std::size_t m = 0; m < std::min(layer_rows, layers_.size()); ++m) {
        const LayerCounts &is = layers_[m], &was = layers_before_[m];
        const BlockSending none, &block = closed_[m] == kNoBlock ? none : trial_.sending().blocks()[closed_[m]];
        const double values[] = {
            static_cast<double>(backlog_[m]),
            oldest_[m] == kNever ? seconds(kNever) : seconds(oldest_[m] - now),
            static_cast<double>(is.released_bytes - was.released_bytes),
            static_cast<double>(is.released_objects - was.released_objects),
            static_cast<double>(is.sent_bytes - was.sent_bytes),
            static_cast<double>(is.repair - was.repair),
            static_cast<double>(block.source),
            static_cast<double>(std::max(block.planned, 0)),
            played_[m],
        };
        static_assert(std::size(values) == kCodedLayerValues.size());
        std::copy(std::begin(values), std::end(values), layers + m * kCodedLayerValues.size());
    }
    const LossHeard& losses = trial_.sending().losses();
    const double values[] = {seconds(now),  seconds(now - began_), played_weight_,
                             total_weight_, losses.share(),        losses.bursts()};
    static_assert(std::size(values) == kCodedEpisodeValues.size());
    std::copy(std::begin(values), std::end(values), own);
}

}  // namespace dstcc
