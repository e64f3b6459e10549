// What a sender has done for a layer.
#pragma once

#include <vector>

#include "../../../../kernel-cc/dispatch/dstcc_dispatch.hpp"
#include "core/base.hpp"
#include "core/config.hpp"
#include "core/outcome.hpp"

namespace dstcc {

// What a layer costs whether it is sent or not: small, as a month of video has millions. Its ordering domain is with what
// its segments say (link/packets.hpp).
struct LayerSending {
    Time first_sent_ns = -1;
    std::int64_t sent_bytes = 0;
    std::int64_t offset = 0;  // what of it was cut into segments
    std::uint32_t retransmissions = 0;
    std::int16_t subflow = -1;  // that of its first segment
    bool given_up = false;
};
static_assert(sizeof(LayerSending) == 32, "the memory budget counts on it");

inline bool builds_on_another(const ObjectsConfig& objects, std::uint32_t object) {
    return dstcc_dispatch::builds_on_another(
        object, [&](std::uint32_t o) { return objects.layer[o]; }, [&](std::uint32_t o) { return objects.chunk[o]; });
}

// It could not be decoded: the layer it builds on was given up.
inline bool hopeless(const ObjectsConfig& objects, const std::vector<LayerSending>& layers, std::uint32_t object) {
    return object > 0 && layers[object - 1].given_up && builds_on_another(objects, object);
}

// What became of a layer, as far as its sender can say: the rest is its receiver's.
inline ObjectOutcome outcome_of(const LayerSending& sent) {
    ObjectOutcome outcome;
    outcome.first_sent_ns = sent.first_sent_ns;
    outcome.sent_bytes = sent.sent_bytes;
    outcome.retransmissions = sent.retransmissions;
    outcome.offset = sent.offset;
    outcome.subflow = sent.subflow;
    outcome.given_up = sent.given_up;
    return outcome;
}

}  // namespace dstcc
