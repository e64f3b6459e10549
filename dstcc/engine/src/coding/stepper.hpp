// Trials of `coded` stepped slot by slot: what is decided of one, what its sender sees, and what of it is played.
#pragma once

#include "coding/coded.hpp"
#include "coding/sender_view.hpp"

namespace dstcc {

// One row per layer: what the sender sees, and what Earth has.
inline constexpr auto kCodedLayerValues = [] {
    std::array<const char*, kSenderLayerValues.size() + 1> names{};
    for (std::size_t i = 0; i < kSenderLayerValues.size(); ++i) names[i] = kSenderLayerValues[i];
    names.back() = "played";  // slot: chunks of which this layer and all lower ones are now there in time
    return names;
}();
inline constexpr std::array kCodedEpisodeValues = {
    "time_s",         // mission time
    "slot_s",         // length of the step just taken
    "played_weight",  // slot: eq. 1's weights of `played`
    "total_weight",   // of all layers of the trial
    "loss_share",     // what `auto` holds the losses to be (coding/loss_heard.hpp)
    "loss_bursts",    // and how much they come together
};

class CodedEpisode {
public:
    explicit CodedEpisode(const EngineConfig& config);
    // Decide now (nothing: as before), then run until the next slot's boundary or the end.
    void step(const CodedAction* action);
    // Fill one row per subflow, one per layer (those beyond the trial's own get zeros) and the episode's own.
    void observe(double* subflows, std::size_t subflow_rows, double* layers, std::size_t layer_rows, double* own) const;
    const Trial<Coded>& trial() const { return trial_; }
    bool steered() const { return steered_; }  // something was decided
    std::size_t layers() const { return trial_.ends().map().layers(); }
    std::size_t subflows() const { return trial_.ends().sending().subflows(); }

private:
    void count_played();
    double weight(std::size_t object) const;

    Trial<Coded> trial_;
    SenderView view_;
    bool steered_ = false;
    Time slot_end_ = 0, began_ = 0;
    double total_weight_ = 0, played_weight_ = 0;
    std::vector<double> played_;         // by layer, slot
    std::size_t undecided_ = 0;          // the first object that may still come to be played
    std::vector<std::uint8_t> counted_;  // by object: played, and counted
};

}  // namespace dstcc
