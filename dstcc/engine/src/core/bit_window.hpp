// A set of integers within a window that moves up: a bit each, in a ring of words. Scoreboards of TCP are such sets: a
// segment is added where it arrived, in order or not, and all below the cumulative ACK goes at once. An addition costs
// a few instructions wherever it comes, and a look over a range a 64th of its length; a list of ranges would be searched
// and moved at every repaired hole.
#pragma once

#include <algorithm>
#include <vector>

#include "core/base.hpp"

namespace dstcc {

class BitWindow {
public:
    bool empty() const { return begin_ == end_; }
    // One beyond the greatest member.
    std::int64_t end() const { return end_; }
    bool contains(std::int64_t x) const { return x >= begin_ && x < end_ && (word(x >> kLog) >> (x & kLast) & 1) != 0; }

    // Add x; false if it was there.
    bool insert(std::int64_t x) {
        cover(x, x + 1);
        std::uint64_t& there = word(x >> kLog);
        const std::uint64_t bit = std::uint64_t{1} << (x & kLast);
        const bool fresh = (there & bit) == 0;
        there |= bit;
        return fresh;
    }
    // Add [begin, end) and call fresh(a, b) for parts that were not there, in rising order.
    template <class Fresh>
    void add(std::int64_t begin, std::int64_t end, Fresh&& fresh) {
        if (begin >= end) return;
        cover(begin, end);
        for (std::int64_t number = begin >> kLog; number <= (end - 1) >> kLog; ++number) {
            std::uint64_t wanted = ~std::uint64_t{0};
            if (number == begin >> kLog) wanted &= from(begin);
            if (number == end >> kLog) wanted &= ~from(end);
            std::uint64_t missing = wanted & ~word(number);
            word(number) |= wanted;
            while (missing != 0) {
                const std::uint64_t past = missing + (missing & -missing);  // carries through the first run of ones
                const int first = __builtin_ctzll(missing), last = past == 0 ? 64 : __builtin_ctzll(past);
                fresh((number << kLog) + first, (number << kLog) + last);
                missing &= past;
            }
        }
    }
    // The first integer from x on that is no member.
    std::int64_t first_missing(std::int64_t x) const {
        if (x < begin_ || x >= end_) return x;
        std::uint64_t gaps = ~word(x >> kLog) & from(x);
        for (std::int64_t number = x >> kLog;; gaps = ~word(number)) {
            if (gaps != 0) return (number << kLog) + __builtin_ctzll(gaps);
            if (++number > (end_ - 1) >> kLog) return number << kLog;
        }
    }
    // The last integer from `least` to before x that is no member; least - 1 if there is none.
    std::int64_t last_missing(std::int64_t least, std::int64_t x) const {
        if (x <= least || x > end_ || x <= begin_) return std::max(x, least) - 1;
        const std::int64_t floor = std::max(least, begin_);
        for (; x > floor; x = (x - 1) >> kLog << kLog) {
            const std::int64_t number = (x - 1) >> kLog;
            std::uint64_t gaps = ~word(number);
            if ((x & kLast) != 0) gaps &= ~from(x);
            if (gaps != 0) return std::max((number << kLog) + kLast - __builtin_clzll(gaps), floor - 1);
        }
        return floor - 1;
    }
    // The least member, of which there has to be one. The window begins with it then.
    std::int64_t least() {
        std::int64_t number = begin_ >> kLog;
        std::uint64_t there = word(number) & from(begin_);
        while (there == 0) there = word(++number);
        return begin_ = (number << kLog) + __builtin_ctzll(there);
    }
    // Forget everything below x.
    void drop_below(std::int64_t x) {
        if (x <= begin_) return;
        const std::int64_t to = std::min(x, end_);
        for (std::int64_t number = begin_ >> kLog; number < to >> kLog; ++number) word(number) = 0;
        if ((to & kLast) != 0) word(to >> kLog) &= from(to);
        begin_ = to;
    }

private:
    static constexpr int kLog = 6;
    static constexpr std::int64_t kLast = 63;
    // The bits of x and what follows it in its word.
    static std::uint64_t from(std::int64_t x) { return ~std::uint64_t{0} << (x & kLast); }

    std::uint64_t& word(std::int64_t number) { return words_[static_cast<std::size_t>(number) & mask_]; }
    std::uint64_t word(std::int64_t number) const { return words_[static_cast<std::size_t>(number) & mask_]; }
    // Make the window reach over [begin, end): mostly a step up, for which there is room.
    void cover(std::int64_t begin, std::int64_t end) {
        if (begin >= begin_ && begin_ < end_ && words_between(begin_, end) <= words_.size())
            end_ = std::max(end_, end);
        else
            reach(begin, end);
    }
    [[gnu::noinline]] void reach(std::int64_t begin, std::int64_t end) {
        const std::int64_t first = empty() ? begin : std::min(begin, begin_);
        const std::int64_t last = empty() ? end : std::max(end, end_);
        if (words_between(first, last) > words_.size()) widen(words_between(first, last));
        begin_ = first;
        end_ = last;
    }
    void widen(std::size_t needed) {
        std::size_t size = std::max<std::size_t>(words_.size(), 1);
        while (size < needed) size *= 2;
        std::vector<std::uint64_t> wider(size, 0);
        for (std::int64_t number = begin_ >> kLog; number << kLog < end_; ++number)
            wider[static_cast<std::size_t>(number) & (size - 1)] = word(number);
        words_ = std::move(wider);
        mask_ = size - 1;
    }
    // That [begin, end) touches.
    static std::size_t words_between(std::int64_t begin, std::int64_t end) {
        return static_cast<std::size_t>(((end - 1) >> kLog) - (begin >> kLog) + 1);
    }

    std::vector<std::uint64_t> words_;  // a power of two of them; zero outside the window
    std::size_t mask_ = 0;
    std::int64_t begin_ = 0, end_ = 0;  // members lie in [begin_, end_), and end_ - 1 is one, if there are any
};

}  // namespace dstcc
