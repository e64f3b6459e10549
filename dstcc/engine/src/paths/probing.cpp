#include "paths/probing.hpp"

namespace dstcc {

void Probe::update(bool used, bool standing, bool drained, double slots) {
    probed = left > 0 && used;
    deep = deep || (standing && slots > kDeep);
    if (deep || (drained && left < kProbedSlots))
        left = 0;
    else if (probed)
        left -= 1;
    gain = standing && left > 0 ? kStandingGain : 1.0;
}

}  // namespace dstcc
