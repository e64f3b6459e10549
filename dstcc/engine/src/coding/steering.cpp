// What somebody outside decides: repair, where it goes, what is left out, how hard each path is pressed.
#include "coding/sending_end.hpp"

namespace dstcc {

void CodedSendingEnd::steer(Time now, const CodedAction& action) {
    now_ = now;
    action_ = action;
    layers_steered_ = layers_steered_ ||
                      std::any_of(action.left_out.begin(), action.left_out.end(), [](auto out) { return out != 0; });
    // Whoever decides on repair may do so for the next block: what waits leaves time for it, whatever the share is now.
    for (std::size_t layer = 0; layer < repaired_.size(); ++layer) {
        const bool steered = layer < action_.repair.size() && action_.repair[layer] >= 0;
        repaired_[layer] = steered || coding_.automatic || (layer < coding_.repair.size() && coding_.repair[layer] > 0);
    }
    for (std::size_t s = 0; s < subflows_.size(); ++s)
        subflows_[s].flight.press(s < action_.pace.size() ? action_.pace[s] : 1.0);
    refresh_paths();
    for (Level& level : levels_) leave_out(level);
    drop_expired();
}

// What waits of the layers that are left out, and was not begun.
void CodedSendingEnd::leave_out(Level& level) {
    auto& waiting = level.objects;
    const auto first = std::stable_partition(waiting.begin(), waiting.end(),
                                             [this](std::uint32_t object) { return !left_out(object); });
    for (auto object = first; object != waiting.end(); ++object) give_up(*object);
    waiting.erase(first, waiting.end());
}

// The times of what is heard from now on are told apart from those before.
void CodedSendingEnd::forget_times() {
    for (Subflow& subflow : subflows_) {
        subflow.heard_from_ns = kNever;
        subflow.heard_to_ns = -1;
    }
}

}  // namespace dstcc
