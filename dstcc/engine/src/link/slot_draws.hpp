// The draws of packets by their place.
#pragma once

#include "core/base.hpp"

namespace dstcc {

class SlotDraws {
public:
    SlotDraws(std::uint64_t seed, std::uint64_t link, std::uint64_t direction)
        : draws_(seed, kStreamLoss, link, direction) {}
    bool below(std::int64_t slot, std::uint32_t nth, std::uint64_t threshold) const {
        return draws_.bits(static_cast<std::uint64_t>(slot) + (std::uint64_t{nth} << 48)) < threshold;
    }
    // Of so many slots at equal steps the first whose first draw is below; `count` if none's is.
    std::int64_t first_below(std::int64_t slot, std::int64_t step, std::int64_t count, std::uint64_t threshold) const;

private:
    Stream draws_;
};

}  // namespace dstcc
