// What a sender has done for a layer.
#pragma once

#include "core/base.hpp"
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
