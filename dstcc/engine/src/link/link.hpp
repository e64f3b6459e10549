// A link: its two directions. Whose packets are on them, each who puts some there keeps for himself (link/wire.hpp, link/way.hpp).
#pragma once

#include "link/direction.hpp"

namespace dstcc {

struct Link {
    Link(const LinkConfig& config, std::uint64_t seed, std::uint64_t index, std::uint32_t full_bytes)
        : down(config, false, seed, index, full_bytes),
          up(config, true, seed, index, full_bytes) {}
    Direction down, up;
};

}  // namespace dstcc
