// A node that takes custody of layers, as the receiving end of a link to it sees it (sim/hop_by_hop.hpp).
#pragma once

#include "core/base.hpp"

namespace dstcc {

class Keeper {
public:
    virtual ~Keeper() = default;
    // Is there room for a layer of which something comes for the first time? It is taken from then on.
    virtual bool takes(std::uint32_t layer, std::int64_t wire_bytes) = 0;
    // It came in part, and nothing more of it will.
    virtual void drops(std::uint32_t layer) = 0;
};

}  // namespace dstcc
