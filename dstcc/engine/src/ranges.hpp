// A set of integers kept as sorted, disjoint, non-touching half-open ranges. Additions come at the back (new
// arrivals) or near the front (repaired holes), so a deque of ranges makes both cheap.
#pragma once

#include <algorithm>
#include <deque>

#include "base.hpp"

namespace dstcc {

struct Range {
    std::int64_t begin, end;  // [begin, end)
};

class RangeSet {
public:
    bool empty() const { return ranges_.empty(); }
    const Range& front() const { return ranges_.front(); }
    void pop_front() { ranges_.pop_front(); }
    std::size_t size() const { return ranges_.size(); }
    std::int64_t max_end() const { return ranges_.empty() ? 0 : ranges_.back().end; }

    bool contains(std::int64_t x) const {
        if (ranges_.empty() || x >= ranges_.back().end) return false;
        auto it = first_ending_after(x);
        return it != ranges_.end() && it->begin <= x;
    }

    // Add [begin, end) and call fresh(a, b) for each part that was not there, in rising order.
    template <class Fresh>
    void add(std::int64_t begin, std::int64_t end, Fresh&& fresh) {
        if (begin >= end) return;
        if (ranges_.empty() || begin > ranges_.back().end) {
            ranges_.push_back({begin, end});
            fresh(begin, end);
            return;
        }
        Range& last = ranges_.back();
        if (begin >= last.begin) {
            if (end > last.end) {
                const std::int64_t from = last.end;
                last.end = end;
                fresh(from, end);
            }
            return;
        }
        auto it = std::lower_bound(ranges_.begin(), ranges_.end(), begin,
                                   [](const Range& r, std::int64_t x) { return r.end < x; });
        const auto index = it - ranges_.begin();
        if (it->begin > end) {
            ranges_.insert(it, {begin, end});
            fresh(begin, end);
            return;
        }
        std::int64_t at = begin;
        const std::int64_t merged_begin = std::min(begin, it->begin);
        std::int64_t merged_end = end;
        auto stop = it;
        for (; stop != ranges_.end() && stop->begin <= end; ++stop) {
            if (at < stop->begin) fresh(at, stop->begin);
            at = std::max(at, stop->end);
            merged_end = std::max(merged_end, stop->end);
        }
        if (at < end) fresh(at, end);
        ranges_.erase(ranges_.begin() + index + 1, stop);
        ranges_[static_cast<std::size_t>(index)] = {merged_begin, merged_end};
    }

    // Call f(a, b) for what is there of [begin, end), in rising order.
    template <class F>
    void each(std::int64_t begin, std::int64_t end, F&& f) const {
        for (auto it = first_ending_after(begin); it != ranges_.end() && it->begin < end; ++it)
            f(std::max(begin, it->begin), std::min(end, it->end));
    }

    // Forget everything below x.
    void drop_below(std::int64_t x) {
        while (!ranges_.empty() && ranges_.front().end <= x) ranges_.pop_front();
        if (!ranges_.empty() && ranges_.front().begin < x) ranges_.front().begin = x;
    }

private:
    std::deque<Range>::const_iterator first_ending_after(std::int64_t x) const {
        return std::lower_bound(ranges_.begin(), ranges_.end(), x,
                                [](const Range& r, std::int64_t v) { return r.end <= v; });
    }
    std::deque<Range> ranges_;
};

}  // namespace dstcc
