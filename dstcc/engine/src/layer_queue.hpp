// The order in which layers wait.
#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "base.hpp"

namespace dstcc {

// Layers waiting to be sent: oldest first, or (layer_first) the lowest layer first and the oldest within it.
class LayerQueue {
public:
    explicit LayerQueue(bool layer_first = false) : layer_first_(layer_first) {}
    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }
    std::uint32_t front() const { return by_layer_[first()].front(); }
    void pop_front() {
        by_layer_[first()].pop_front();
        --size_;
    }
    void push_back(std::uint32_t object, std::int64_t layer) { place(layer).push_back(object); }
    void push_front(std::uint32_t object, std::int64_t layer) { place(layer).push_front(object); }
    // The queues in sending order; objects rise within each, and so do their deadlines.
    const std::vector<std::deque<std::uint32_t>>& levels() const { return by_layer_; }
    void erase(std::uint32_t object, std::int64_t layer) {
        auto& queue = by_layer_[layer_first_ ? static_cast<std::size_t>(layer) : 0];
        const auto at = queue.front() == object ? queue.begin() : std::find(queue.begin(), queue.end(), object);
        DSTCC_CHECK(at != queue.end(), "a layer is taken from the queue it is in");
        queue.erase(at);
        --size_;
    }
    // Take out what `moves` says, in order.
    template <class Moves>
    std::vector<std::uint32_t> extract(Moves&& moves) {
        std::vector<std::uint32_t> out;
        for (auto& queue : by_layer_) {
            std::deque<std::uint32_t> kept;
            for (const std::uint32_t object : queue)
                if (moves(object))
                    out.push_back(object);
                else
                    kept.push_back(object);
            queue = kept;
        }
        size_ -= out.size();
        return out;
    }

private:
    std::size_t first() const {
        std::size_t i = 0;
        while (by_layer_[i].empty()) ++i;
        return i;
    }
    std::deque<std::uint32_t>& place(std::int64_t layer) {
        const auto i = layer_first_ ? static_cast<std::size_t>(layer) : 0;
        if (by_layer_.size() <= i) by_layer_.resize(i + 1);
        ++size_;
        return by_layer_[i];
    }
    bool layer_first_;
    std::vector<std::deque<std::uint32_t>> by_layer_;
    std::size_t size_ = 0;
};

}  // namespace dstcc
