// BlockRing: a FIFO with absolute indices, kept in fixed blocks that are freed as the front moves on.
// Sequential use touches memory in order; memory follows the number of live records, both ways.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base.hpp"

namespace dstcc {

template <class T, unsigned kLog = 7>
class BlockRing {
public:
    static constexpr std::int64_t kBlock = std::int64_t{1} << kLog;

    std::int64_t begin() const { return begin_; }
    std::int64_t end() const { return end_; }
    bool empty() const { return begin_ == end_; }
    std::int64_t size() const { return end_ - begin_; }

    T& operator[](std::int64_t i) { return table_[static_cast<std::size_t>(i >> kLog) & mask_][i & (kBlock - 1)]; }
    const T& operator[](std::int64_t i) const {
        return table_[static_cast<std::size_t>(i >> kLog) & mask_][i & (kBlock - 1)];
    }
    T& front() { return *front_; }
    T& back() { return back_[-1]; }
    // Bring what the front will reach soon into the cache; rings are longer than any. What begins a block is brought when
    // the front comes to the block before it.
    void prefetch_ahead(std::int64_t steps) const {
        if (front_end_ - front_ > steps) __builtin_prefetch(front_ + steps);
    }

    // A new back for the caller to fill in, field by field: a record that is made elsewhere and copied waits for its own
    // stores.
    T& emplace_back() {
        if (back_ == back_end_) open_block(end_ >> kLog);
        ++end_;
        return *back_++;
    }
    T& push_back(const T& value) { return emplace_back() = value; }
    void pop_front() {
        ++begin_;
        if (++front_ == front_end_) next_block();
    }
    // Call f(record) for so many at the front, which leave.
    template <class F>
    void take_front(std::int64_t count, F&& f) {
        while (count > 0) {
            const std::int64_t here = std::min(count, static_cast<std::int64_t>(front_end_ - front_));
            for (T* const end = front_ + here; front_ != end; ++front_) f(*front_);
            begin_ += here;
            count -= here;
            if (front_ == front_end_) next_block();
        }
    }
    // All up to and not including `to`.
    void pop_front(std::int64_t to) {
        while (begin_ < to) pop_front();
    }
    std::int64_t bytes() const { return live_blocks_ * kBlock * static_cast<std::int64_t>(sizeof(T)); }
    std::int64_t peak_bytes() const { return peak_blocks_ * kBlock * static_cast<std::int64_t>(sizeof(T)); }

private:
    using Block = std::unique_ptr<T[]>;
    static constexpr std::size_t kSpares = 8;

    // Once a block: off every record's way, so that its registers are free.
    [[gnu::noinline, gnu::cold]] void open_block(std::int64_t number) {
        const std::int64_t first = begin_ >> kLog;
        while (table_.empty() || number - first > static_cast<std::int64_t>(mask_)) grow(first);
        auto& place = table_[static_cast<std::size_t>(number) & mask_];
        if (spares_.empty()) {
            place = Block(new T[kBlock]);
        } else {
            place = std::move(spares_.back());
            spares_.pop_back();
        }
        if (++live_blocks_ > peak_blocks_) peak_blocks_ = live_blocks_;
        back_ = place.get();
        back_end_ = back_ + kBlock;
        if (number != first) return;
        front_ = back_;
        front_end_ = back_end_;
    }
    // The front has left its block: free it and move on (to none, if the ring is empty).
    [[gnu::noinline, gnu::cold]] void next_block() {
        auto& left = table_[static_cast<std::size_t>((begin_ - 1) >> kLog) & mask_];
        if (spares_.size() < kSpares)
            spares_.push_back(std::move(left));
        else
            left.reset();
        --live_blocks_;
        if (begin_ == end_) return;
        front_ = table_[static_cast<std::size_t>(begin_ >> kLog) & mask_].get();
        front_end_ = front_ + kBlock;
    }
    void grow(std::int64_t first) {
        const std::size_t old = table_.size(), now = old == 0 ? 4 : old * 2;
        std::vector<Block> wider(now);
        for (std::size_t k = 0; k < old; ++k) {
            const auto number = static_cast<std::size_t>(first) + k;
            wider[number & (now - 1)] = std::move(table_[number & (old - 1)]);
        }
        table_ = std::move(wider);
        mask_ = now - 1;
    }

    std::vector<Block> table_;
    std::size_t mask_ = 0;
    std::vector<Block> spares_;  // freed ones for the back, which is written while they are in the cache
    // The front, the place behind the back, and where the block of each ends.
    T *front_ = nullptr, *front_end_ = nullptr, *back_ = nullptr, *back_end_ = nullptr;
    std::int64_t begin_ = 0, end_ = 0, live_blocks_ = 0, peak_blocks_ = 0;
};

}  // namespace dstcc
