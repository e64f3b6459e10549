// A run: times at equal spacing, of packets one after another. What is alike for all of them is said once.
#pragma once

#include "core/base.hpp"

namespace dstcc {

struct Run {
    Time first = 0, spacing = 0;
    std::int64_t count = 0;

    Time at(std::int64_t k) const { return first + k * spacing; }
    Time last() const { return at(count - 1); }
    // How many of them are not after `to`.
    std::int64_t until(Time to) const {
        if (to < first || count == 0) return 0;
        return spacing == 0 ? count : std::min(count, (to - first) / spacing + 1);
    }
    void drop(std::int64_t from_front) {
        first = at(from_front);
        count -= from_front;
    }
    // Go on with these, if the whole is a run; else false.
    bool append(const Run& more) {
        const Time gap = more.first - last();
        if ((count > 1 && gap != spacing) || (more.count > 1 && gap != more.spacing)) return false;
        spacing = gap;
        count += more.count;
        return true;
    }
};

// At each of the times so many at once.
struct Volleys {
    Run times;
    std::int64_t each = 0;
    std::int64_t count() const { return times.count * each; }
};

// Packets of a run that arrive one after another, from a place in it on.
struct Stretch {
    std::int64_t place = 0;
    Run arrivals;
};

}  // namespace dstcc
