#include "coding/action.hpp"

#include "core/config.hpp"

namespace dstcc {

// Each bound is said so that NaN is beyond it.
const char* wrong(const CodedAction& action) {
    for (const double share : action.repair)
        if (!(share == -1 || (share >= 0 && share <= 1e3)))
            return "a share of repair is 0 to 1,000, or -1 for the configuration's";
    for (const double factor : action.pace)
        if (!(factor >= 1e-3 && factor <= 1e3)) return "a pace is multiplied by 0.001 to 1,000";
    if (action.place < -1 || action.place > static_cast<int>(RepairPlace::kSpread))
        return "a place is 0 (same), 1 (other), 2 (spread), or -1 for the configuration's";
    return nullptr;
}

}  // namespace dstcc
