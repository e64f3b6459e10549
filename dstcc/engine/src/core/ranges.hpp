// A set of integers kept as sorted, disjoint, non-touching half-open ranges. Additions come at the back (new
// arrivals), which is kept apart, or near the front (repaired holes), so a deque of ranges makes both cheap.
#pragma once

#include <algorithm>
#include <deque>

#include "core/base.hpp"

namespace dstcc {

struct Range {
    std::int64_t begin, end;  // [begin, end)
};

class RangeSet {
public:
    bool empty() const { return last_.begin == last_.end; }
    const Range& front() const { return before_.empty() ? last_ : before_.front(); }
    const Range& back() const { return last_; }
    void pop_front() {
        if (before_.empty())
            last_ = {0, 0};
        else
            before_.pop_front();
    }

    bool contains(std::int64_t x) const {
        if (x >= last_.begin) return x < last_.end;
        const auto it = first_ending_after(x);
        return it != before_.end() && it->begin <= x;
    }

    // Add [begin, end) and call fresh(a, b) for each part that was not there, in rising order.
    template <class Fresh>
    [[gnu::always_inline]] void add(std::int64_t begin, std::int64_t end, Fresh&& fresh) {
        if (begin < last_.begin || last_.begin == last_.end) return add_before(begin, end, fresh);
        if (end <= last_.end || begin >= end) return;
        if (begin > last_.end) {
            before_.push_back(last_);
            last_ = {begin, end};
            fresh(begin, end);
        } else {
            const std::int64_t from = last_.end;
            last_.end = end;
            fresh(from, end);
        }
    }

    // Call f(a, b) for what is there of [begin, end), in rising order.
    template <class F>
    void each(std::int64_t begin, std::int64_t end, F&& f) const {
        for (auto it = first_ending_after(begin); it != before_.end() && it->begin < end; ++it)
            f(std::max(begin, it->begin), std::min(end, it->end));
        if (last_.begin < end && last_.end > begin) f(std::max(begin, last_.begin), std::min(end, last_.end));
    }

    // Forget everything below x.
    void drop_below(std::int64_t x) {
        while (!empty() && front().end <= x) pop_front();
        Range& first = before_.empty() ? last_ : before_.front();
        if (!empty() && first.begin < x) first.begin = x;
    }

private:
    // Where it does not begin in or behind the last range.
    template <class Fresh>
    [[gnu::noinline]] void add_before(std::int64_t begin, std::int64_t end, Fresh& fresh) {
        if (begin >= end) return;
        if (empty()) {
            last_ = {begin, end};
            return fresh(begin, end);
        }
        before_.push_back(last_);
        const auto it = std::lower_bound(before_.begin(), before_.end(), begin,
                                         [](const Range& r, std::int64_t x) { return r.end < x; });
        if (it->begin > end) {
            before_.insert(it, {begin, end});
            fresh(begin, end);
        } else {
            merge(it - before_.begin(), begin, end, fresh);
        }
        last_ = before_.back();
        before_.pop_back();
    }
    // With the range at `index` and all that follow as far as it reaches.
    template <class Fresh>
    void merge(std::ptrdiff_t index, std::int64_t begin, std::int64_t end, Fresh& fresh) {
        const auto it = before_.begin() + index;
        std::int64_t at = begin;
        Range merged{std::min(begin, it->begin), end};
        auto stop = it;
        for (; stop != before_.end() && stop->begin <= end; ++stop) {
            if (at < stop->begin) fresh(at, stop->begin);
            at = std::max(at, stop->end);
            merged.end = std::max(merged.end, stop->end);
        }
        if (at < end) fresh(at, end);
        before_.erase(it + 1, stop);
        before_[static_cast<std::size_t>(index)] = merged;
    }
    std::deque<Range>::const_iterator first_ending_after(std::int64_t x) const {
        return std::lower_bound(before_.begin(), before_.end(), x,
                                [](const Range& r, std::int64_t v) { return r.end <= v; });
    }
    std::deque<Range> before_;
    Range last_{0, 0};  // empty only if all is
};

}  // namespace dstcc
