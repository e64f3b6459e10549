// Which segments of a block are there: those below `next`, and the ranges beyond the first gap, if there is one.
#pragma once

#include <memory>

#include "core/ranges.hpp"

namespace dstcc {

class SegmentSet {
public:
    // The first segment that is missing.
    std::int64_t next() const { return next_; }
    bool contains(std::int64_t x) const { return x < next_ || (beyond_ && beyond_->contains(x)); }

    // How many of [begin, end) were not there.
    std::int64_t add(std::int64_t begin, std::int64_t end) {
        std::int64_t fresh = 0;
        if (begin > next_) {
            if (!beyond_) beyond_ = std::make_unique<RangeSet>();
            beyond_->add(begin, end, [&](std::int64_t a, std::int64_t b) { fresh += b - a; });
            return fresh;
        }
        if (!beyond_) {
            fresh = std::max<std::int64_t>(end - next_, 0);
            next_ += fresh;
            return fresh;
        }
        beyond_->add(next_, end, [&](std::int64_t a, std::int64_t b) { fresh += b - a; });
        if (beyond_->front().begin == next_) {
            next_ = beyond_->front().end;
            beyond_->pop_front();
            if (beyond_->empty()) beyond_.reset();
        }
        return fresh;
    }

    // Call f(a, b) for what is there of [begin, end), in rising order.
    template <class F>
    void each(std::int64_t begin, std::int64_t end, F&& f) const {
        if (begin < next_) f(begin, std::min(next_, end));
        if (beyond_) beyond_->each(begin, end, f);
    }
    // The same for what is missing.
    template <class F>
    void each_gap(std::int64_t begin, std::int64_t end, F&& f) const {
        std::int64_t at = begin;
        each(begin, end, [&](std::int64_t a, std::int64_t b) {
            if (at < a) f(at, a);
            at = b;
        });
        if (at < end) f(at, end);
    }
    void clear() {
        next_ = 0;
        beyond_.reset();
    }

private:
    std::int64_t next_ = 0;
    std::unique_ptr<RangeSet> beyond_;
};

}  // namespace dstcc
