// All that the simulator's ends of `ltp` have of a direction of a link, where its segments are real: this file stands in the place
// of dstcc/engine/src/link/way.hpp, since its folder comes first in the search for headers (dstcc_kernel/native.py).
#pragma once

#include "core/events.hpp"
#include "core/ranges.hpp"
#include "core/settlement.hpp"
#include "../links/direction.hpp"

namespace dstcc {

template <class Segment>
class Line;

// Who carries an end's segments.
template <class Segment>
class Carrier {
public:
    virtual ~Carrier() = default;
    // `beside`: ranges that the segment names.
    virtual void send(std::size_t link, const Segment& segment, const Range* beside, std::size_t ranges) = 0;
};

// As the simulator's, without what is under way, which nobody sees here.
template <class Segment>
class Way {
public:
    Way(Carrier<Segment>& carrier, links::Direction& line, std::size_t link)
        : direction_{&line},
          carrier_(&carrier),
          link_(link) {}

private:
    friend class Line<Segment>;
    // The end's own queue in front of its line. What is lost or dropped behind it no end knows: all is sent.
    struct Own {
        links::Direction* line;
        Own* operator->() { return this; }
        Direction::Passage transmit(Time now, std::uint32_t bytes) { return {now, line->transmit(now, bytes).wait_ns}; }
        Time busy_ns() const { return line->line().busy_ns(); }
        std::int64_t queue_bytes(Time now) const { return line->at(now).queue_bytes(now); }
    };
    Direction::Passage send(Time now, const Segment& segment, std::uint32_t bytes, const Range* beside,
                            std::size_t ranges) {
        const Direction::Passage passage = direction_->transmit(now, bytes);
        carrier_->send(link_, segment, beside, ranges);
        return passage;
    }
    const std::vector<RunPassage::Waits>& put(const Segment& first, const Run& run, std::uint32_t bytes) {
        passage_.clear();
        for (std::int64_t k = 0; k < run.count; ++k) {
            Segment segment = first;
            segment.number += k;
            passage_.waited(direction_->transmit(run.at(k), bytes).wait_ns, 1);
            carrier_->send(link_, segment, nullptr, 0);
        }
        return passage_.waits;
    }

    Own direction_;
    RunPassage passage_;
    Carrier<Segment>* carrier_;
    std::size_t link_;
};

}  // namespace dstcc
