// What is under way of one transport on a direction of a link, in order of arrival. Only the event loop takes that off; an end
// puts segments on it through its `Line` and sees nothing else of it.
#pragma once

#include "core/events.hpp"
#include "core/ranges.hpp"
#include "core/ring.hpp"
#include "core/settlement.hpp"
#include "link/direction.hpp"

namespace dstcc {

template <class Segment>
class Line;

// A `Segment` has the time of its arrival, the number of ranges that travel beside it, and the layer whose data it is, if any.
template <class Segment>
class Way {
public:
    Way(Direction& direction, std::size_t index, QuickHeads arrivals, Settlement& settlement)
        : direction_(&direction),
          arrivals_(arrivals),
          head_(index),
          settlement_(&settlement) {}

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
    std::int64_t under_way() const { return under_way_.size(); }
    std::int64_t peak_bytes() const { return under_way_.peak_bytes() + beside_.peak_bytes(); }

private:
    friend class Line<Segment>;
    void put(const Segment& segment, Time arrive_ns, const Range* beside, std::size_t ranges) {
        if (under_way_.empty()) arrivals_.set(head_, arrive_ns);
        Segment& put = under_way_.push_back(segment);
        put.arrive_ns = arrive_ns;
        for (std::size_t i = 0; i < ranges; ++i) beside_.push_back(beside[i]);
        if (put.data()) settlement_->leave(put.block);
    }

    Direction* direction_;
    BlockRing<Segment> under_way_;
    BlockRing<Range> beside_;
    QuickHeads arrivals_;
    std::size_t head_;
    Settlement* settlement_;
};

}  // namespace dstcc
