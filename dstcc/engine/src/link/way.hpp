// What is under way of one transport on a direction of a link, in order of arrival. Only the event loop takes that off; an end
// puts segments on it through its `Line` and sees nothing else of it.
#pragma once

#include <memory>

#include "core/events.hpp"
#include "core/ranges.hpp"
#include "core/ring.hpp"
#include "core/settlement.hpp"
#include "link/network.hpp"
#include "link/packets.hpp"

namespace dstcc {

template <class Segment>
class Line;

// A `Segment` has the time of its arrival, the number of ranges that travel beside it, and the layer whose data it is, if any.
// On a path over nodes the network takes it on from the first of them, and says what became of it.
template <class Segment>
class Way {
public:
    Way(Direction& direction, std::size_t index, QuickHeads arrivals, Settlement& settlement)
        : direction_(&direction),
          arrivals_(arrivals),
          head_(index),
          settlement_(&settlement) {}
    // It leads to a node.
    void go_over(const Link& path, bool up) { beyond_ = std::make_unique<Beyond>(*this, path, up); }

    // What arrives next, and the ranges beside it.
    Segment take(std::vector<Range>& beside) {
        const Segment segment = under_way_.front();
        under_way_.pop_front();
        arrivals_.set(head_, under_way_.empty() ? kNever : under_way_.front().arrive_ns);
        beside.clear();
        for (std::uint32_t i = 0; i < segment.ranges(); ++i) {
            beside.push_back(beside_.front());
            beside_.pop_front();
        }
        return segment;
    }
    std::int64_t under_way() const { return under_way_.size() + (beyond_ ? beyond_->under_way : 0); }
    std::int64_t peak_bytes() const {
        return under_way_.peak_bytes() + beside_.peak_bytes() +
               (beyond_ ? beyond_->segments.peak_bytes() + beyond_->beside.peak_bytes() : 0);
    }

private:
    friend class Line<Segment>;
    void put(const Segment& segment, Time at, std::uint32_t bytes, const Range* beside, std::size_t ranges) {
        if (segment.data()) settlement_->leave(segment.block);
        if (beyond_ != nullptr) return beyond_->enter(segment, at, bytes, beside, ranges);
        for (std::size_t i = 0; i < ranges; ++i) beside_.push_back(beside[i]);
        arrive(segment, at);
    }
    // Its ranges are there already.
    void arrive(const Segment& segment, Time at) {
        if (under_way_.empty()) arrivals_.set(head_, at);
        under_way_.push_back(segment).arrive_ns = at;
    }

    // What is between two nodes, in the order of sending; of what was lost on the way the place stays until a later one arrives.
    struct Beyond : Carrier {
        Beyond(Way& of, const Link& path, bool up)
            : way(&of),
              network(path.network),
              entry(path.network->add(*this, path.number, up)) {}
        void enter(const Segment& segment, Time at, std::uint32_t bytes, const Range* ranges, std::size_t count) {
            network->enter(entry, at, static_cast<std::uint32_t>(segments.end()), bytes,
                           segment.of_layer() ? network->layer_of(segment.block, 0) : std::uint8_t{0});
            segments.push_back(segment);
            for (std::size_t i = 0; i < count; ++i) beside.push_back(ranges[i]);
            ++under_way;
        }
        void arrives(std::uint32_t number, Time at) override {
            const std::int64_t place = widen(segments.begin(), number);
            while (segments.begin() < place) take(nullptr);
            const Segment segment = take(&way->beside_);
            way->arrive(segment, at);
            --under_way;
        }
        void is_lost(std::uint32_t number) override {
            const Segment& segment = segments[widen(segments.begin(), number)];
            --under_way;
            if (segment.data()) way->settlement_->arrive(segment.block);
        }
        // The first of them, and the ranges beside it.
        Segment take(BlockRing<Range>* to) {
            const Segment segment = segments.front();
            segments.pop_front();
            for (std::uint32_t i = 0; i < segment.ranges(); ++i) {
                if (to != nullptr) to->push_back(beside.front());
                beside.pop_front();
            }
            return segment;
        }

        Way* way;
        Network* network;
        std::uint32_t entry;
        BlockRing<Segment> segments;
        BlockRing<Range> beside;
        std::int64_t under_way = 0;
    };

    Direction* direction_;
    std::unique_ptr<Beyond> beyond_;  // points here: a way stays where it is made
    BlockRing<Segment> under_way_;
    BlockRing<Range> beside_;
    QuickHeads arrivals_;
    std::size_t head_;
    Settlement* settlement_;
};

}  // namespace dstcc
