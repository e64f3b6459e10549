// The order in which layers wait.
#pragma once

#include <algorithm>
#include <deque>
#include <vector>

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

// Layers bound to nothing yet, at one level of urgency: they come in rising order (and so with rising deadlines) and are
// taken from anywhere. What was taken is skipped by a union-find over places, so every call is next to constant time.
class WaitingLevel {
public:
    bool empty() const { return waiting_ == 0; }
    std::uint32_t front() const { return front_; }
    void push_back(std::uint32_t object) {
        if (waiting_ == 0) front_ = object;
        objects_.push_back(object);
        next_.push_back(static_cast<std::uint32_t>(next_.size()));
        ++waiting_;
    }
    void take(std::uint32_t object) {
        const std::size_t place = place_of(object);
        DSTCC_CHECK(place < objects_.size() && objects_[place] == object && next_[place] == place,
                    "a layer is taken where it waits");
        next_[place] = static_cast<std::uint32_t>(place + 1);
        --waiting_;
        if (place != head_) return;
        head_ = find(place + 1);
        if (waiting_ > 0) front_ = objects_[head_];
    }
    // The newest waiting layer that `accepts`. False if there is none among the last few dozen.
    template <class Accepts>
    bool last(Accepts&& accepts, std::uint32_t& object) const {
        const std::size_t stop = objects_.size() > kLastFew ? std::max(head_, objects_.size() - kLastFew) : head_;
        for (std::size_t place = objects_.size(); place-- > stop;)
            if (next_[place] == place && accepts(objects_[place])) {
                object = objects_[place];
                return true;
            }
        return false;
    }
    // The first waiting layer for which `skip` (true up to some place, false from there on) is false; `rejects` passes over
    // single layers. False if there is none. `asker` numbers who asks: the answer is looked for near its last one.
    template <class Skip, class Rejects>
    bool first(std::size_t asker, Skip&& skip, Rejects&& rejects, std::uint32_t& object) const {
        if (hints_.size() <= asker) hints_.resize(asker + 1, 0);
        std::size_t place = find(boundary(hints_[asker], skip));
        hints_[asker] = place;
        while (place < objects_.size() && rejects(objects_[place])) place = find(place + 1);
        if (place >= objects_.size()) return false;
        object = objects_[place];
        return true;
    }

private:
    static constexpr std::size_t kLastFew = 64;
    std::size_t place_of(std::uint32_t object) const {
        if (waiting_ > 0 && object == front_) return head_;
        const auto found =
            std::lower_bound(objects_.begin() + static_cast<std::ptrdiff_t>(head_), objects_.end(), object);
        return static_cast<std::size_t>(found - objects_.begin());
    }
    // Where `skip` turns false, by galloping from `near`.
    template <class Skip>
    std::size_t boundary(std::size_t near, Skip&& skip) const {
        std::size_t low = head_, high = objects_.size();
        near = std::clamp(near, low, high);
        std::size_t step = 1;
        if (near < high && skip(objects_[near])) {
            for (low = near + 1; low + step <= high && skip(objects_[low + step - 1]); step *= 2) low += step;
            high = std::min(high, low + step - 1);
        } else {
            for (high = near; high - low >= step && !skip(objects_[high - step]); step *= 2) high -= step;
            if (high - low >= step) low = high - step + 1;
        }
        const auto from = objects_.begin();
        return static_cast<std::size_t>(std::partition_point(from + static_cast<std::ptrdiff_t>(low),
                                                             from + static_cast<std::ptrdiff_t>(high), skip) -
                                        from);
    }
    // The first place at or after `place` that still waits; objects_.size() if none does.
    std::size_t find(std::size_t place) const {
        std::size_t root = place;
        while (root < next_.size() && next_[root] != root) root = next_[root];
        while (place < root && place < next_.size()) {
            const std::size_t after = next_[place];
            next_[place] = static_cast<std::uint32_t>(root);
            place = after;
        }
        return root;
    }
    std::vector<std::uint32_t> objects_;
    mutable std::vector<std::uint32_t> next_;
    mutable std::vector<std::size_t> hints_;
    std::size_t head_ = 0, waiting_ = 0;
    std::uint32_t front_ = 0;
};

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
        const std::size_t i = place(layer);
        if (levels_.size() <= i) levels_.resize(i + 1);
        levels_[i].push_back(object);
        ++size_;
    }
    void take(std::uint32_t object, std::int64_t layer) {
        levels_[place(layer)].take(object);
        --size_;
    }

private:
    std::size_t place(std::int64_t layer) const { return layer_first_ ? static_cast<std::size_t>(layer) : 0; }
    bool layer_first_;
    std::vector<WaitingLevel> levels_;
    std::size_t size_ = 0;
};

}  // namespace dstcc
