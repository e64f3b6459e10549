// What the ends of a path are given: the line of the data at its sender, that of the acknowledgements at its receiver. Whose packets
// are on them, each who puts some there keeps for himself (link/wire.hpp, link/way.hpp).
#pragma once

#include <vector>

#include "link/direction.hpp"

namespace dstcc {

class Network;
class Node;

struct Link {
    Direction &down, &up;
    // Where they lead to a node, and not to the other end.
    Network* network = nullptr;
    std::size_t number = 0;
    // Of a path whose nodes end connections: its further hops, and of each the node that it begins at.
    std::vector<Link> onward{};
    Node* from = nullptr;
};

}  // namespace dstcc
