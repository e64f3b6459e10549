#include "coding/stepper.hpp"

namespace dstcc {

namespace {

constexpr double kLayerWeight = 100;  // W of equation 1 in Ha et al., ICT Express 2023

}  // namespace

CodedEpisode::CodedEpisode(const EngineConfig& config)
    : trial_(config),
      view_(trial_.config().objects, trial_.ends().map(), trial_.ends().sending()),
      played_(trial_.ends().map().layers(), 0),
      counted_(config.objects.size(), 0) {
    for (std::size_t object = 0; object < config.objects.size(); ++object) total_weight_ += weight(object);
}

double CodedEpisode::weight(std::size_t object) const {
    return static_cast<double>(layers() - trial_.config().objects.layer[object]) * kLayerWeight;
}

void CodedEpisode::step(const CodedAction* action) {
    if (trial_.over()) return;
    began_ = trial_.now();
    view_.begin_slot();
    trial_.ends().sending().forget_times();
    if (action != nullptr) trial_.ends().sending().steer(began_, *action);
    steered_ = steered_ || action != nullptr;
    slot_end_ += trial_.config().slot_ns;
    trial_.run_until(slot_end_, nullptr);
    view_.end_slot(trial_.now());
    count_played();
}

// A layer plays when it and all lower ones of its chunk are there in time.
void CodedEpisode::count_played() {
    const ObjectsConfig& objects = trial_.config().objects;
    const std::vector<PartArrival>& parts = trial_.ends().receiving().parts();
    std::fill(played_.begin(), played_.end(), 0.0);
    played_weight_ = 0;
    for (std::size_t object = undecided_; object < trial_.ends().sending().released(); ++object) {
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
    for (std::size_t s = 0; s < std::min(subflow_rows, this->subflows()); ++s)
        view_.subflow(s, subflows + s * kCodedSubflowValues.size());
    for (std::size_t m = 0; m < std::min(layer_rows, this->layers()); ++m) {
        double* row = layers + m * kCodedLayerValues.size();
        view_.layer(m, row);
        row[kSenderLayerValues.size()] = played_[m];
    }
    const Time now = trial_.now();
    const LossHeard& losses = trial_.ends().sending().losses();
    const double values[] = {seconds_or_never(now), seconds_or_never(now - began_),
                             played_weight_,        total_weight_,
                             losses.share(),        losses.bursts()};
    static_assert(std::size(values) == kCodedEpisodeValues.size());
    std::copy(std::begin(values), std::end(values), own);
}

}  // namespace dstcc
