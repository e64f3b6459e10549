// What the ends of a path are given: the line of the data at its sender, that of the acknowledgements at its receiver. Whose packets
// are on them, each who puts some there keeps for himself (link/wire.hpp, link/way.hpp).
#pragma once

#include "link/direction.hpp"

namespace dstcc {

class Network;

struct Link {
    Direction &down, &up;
    // Where they lead to a node, and not to the other end.
    Network* network = nullptr;
    std::size_t number = 0;
};

}  // namespace dstcc
