// When what is at a link's other end can be at the end of the way, by the contact plans of the links further on. Straight lines
// between the rows; kNever: no more. Without rows that is the end.
#pragma once

#include <algorithm>
#include <vector>

#include "core/base.hpp"
#include "core/fields.hpp"

namespace dstcc {

struct Onward {
    std::vector<Time> t_ns, at_ns;  // t_ns rises
    DSTCC_FIELDS(t_ns, at_ns)

    Time arrival(Time there) const {
        if (t_ns.empty() || there >= kNever) return there;
        const auto next = static_cast<std::size_t>(std::upper_bound(t_ns.begin(), t_ns.end(), there) - t_ns.begin());
        if (next == 0) return at_ns.front();
        const Time from = t_ns[next - 1], at = at_ns[next - 1];
        if (at >= kNever || from == there) return at;
        if (next == t_ns.size()) return at + (there - from);
        if (at_ns[next] >= kNever) return kNever;
        const double slope = static_cast<double>(at_ns[next] - at) / static_cast<double>(t_ns[next] - from);
        return at + static_cast<Time>(slope * static_cast<double>(there - from));
    }
};

}  // namespace dstcc
