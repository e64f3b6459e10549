// The layers that were neither delivered nor given up: both ends take theirs off, and only the event loop may look, so that
// neither end learns from it what the other has done.
#pragma once

#include "core/base.hpp"

namespace dstcc {

class Remaining {
public:
    explicit Remaining(std::size_t layers) : layers_(layers) {}
    void take_off() {
        DSTCC_CHECK(layers_ > 0, "a layer ends once");
        --layers_;
    }

private:
    friend class Connection;
    std::size_t layers_;
};

}  // namespace dstcc
