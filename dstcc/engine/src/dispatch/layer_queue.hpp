// The order in which layers wait.
#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "../../../../kernel-cc/dispatch/dstcc_dispatch.hpp"
#include "core/base.hpp"

namespace dstcc {

// Layers bound to a subflow: oldest first, or (layer_first) the lowest layer first and the oldest within it.
class LayerQueue {
public:
    explicit LayerQueue(bool layer_first = false) : layer_first_(layer_first) {}
    bool empty() const { return size_ == 0; }
    std::uint32_t front() const { return by_layer_[first()].front(); }
    // The newest of the front's layer.
    std::uint32_t newest() const { return by_layer_[first()].back(); }
    void pop_front() {
        by_layer_[first()].pop_front();
        --size_;
    }
    void push_back(std::uint32_t object, std::int64_t layer) {
        const auto i = layer_first_ ? static_cast<std::size_t>(layer) : 0;
        if (by_layer_.size() <= i) by_layer_.resize(i + 1);
        by_layer_[i].push_back(object);
        ++size_;
    }
    // Oldest first again, after older ones were pushed behind newer.
    void restore_order() {
        for (auto& queue : by_layer_) std::sort(queue.begin(), queue.end());
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
    bool layer_first_;
    std::vector<std::deque<std::uint32_t>> by_layer_;
    std::size_t size_ = 0;
};

// Layers bound to nothing yet, at one level of urgency.
using dstcc_dispatch::WaitingLevel;

class WaitingLayers {
public:
    explicit WaitingLayers(bool layer_first = false) : layer_first_(layer_first) {}
    bool empty() const { return size_ == 0; }
    // The next in sending order; only for a queue that is not empty.
    std::uint32_t front() const {
        std::size_t i = 0;
        while (levels_[i].empty()) ++i;
        return levels_[i].front();
    }
    const std::vector<WaitingLevel>& levels() const { return levels_; }
    void push_back(std::uint32_t object, std::int64_t layer) {
        level(layer).push_back(object);
        ++size_;
    }
    // Among older and newer ones.
    void insert(std::uint32_t object, std::int64_t layer) {
        level(layer).insert(object);
        ++size_;
    }
    bool holds(std::uint32_t object, std::int64_t layer) const {
        const std::size_t i = place(layer);
        return i < levels_.size() && levels_[i].holds(object);
    }
    void take(std::uint32_t object, std::int64_t layer) {
        DSTCC_CHECK(levels_[place(layer)].take(object), "a layer is taken where it waits");
        --size_;
    }

private:
    std::size_t place(std::int64_t layer) const { return layer_first_ ? static_cast<std::size_t>(layer) : 0; }
    WaitingLevel& level(std::int64_t layer) {
        const std::size_t i = place(layer);
        if (levels_.size() <= i) levels_.resize(i + 1);
        return levels_[i];
    }
    bool layer_first_;
    std::vector<WaitingLevel> levels_;
    std::size_t size_ = 0;
};

}  // namespace dstcc
