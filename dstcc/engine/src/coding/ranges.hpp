// What the ACKs of a receiver name: ranges of packet numbers. A link is first in, first out, so a number comes at the end of
// the newest range or begins the next, and what an ACK in flight says is the place of the newest range that it names here and where that
// ended. The receiving end writes them; only the event loop, which carries ACKs, reads them out for the sender.
#pragma once

#include "coding/flight.hpp"
#include "core/ring.hpp"

namespace dstcc {

class AckRanges {
public:
    struct Arrived {
        Range range;
        Time at_ns, one_way_ns;  // of its last
    };
    // The next number in a row or beyond it, whose predecessors are all known by then.
    void note(std::int64_t number, Time at, Time one_way) {
        if (ranges_.empty() || ranges_.back().range.end != number) ranges_.push_back({{number, number}, 0, 0});
        Arrived& last = ranges_.back();
        last.range.end = number + 1;
        last.at_ns = at;
        last.one_way_ns = one_way;
    }
    bool empty() const { return ranges_.empty(); }
    std::int64_t newest() const { return ranges_.end() - 1; }
    std::int64_t begin(std::int64_t place) const { return ranges_[place].range.begin; }
    const Arrived& at(std::int64_t place) const { return ranges_[place]; }
    // In an ACK whose newest is that one.
    int named(std::int64_t place) const {
        return static_cast<int>(std::min<std::int64_t>(place + 1 - ranges_.begin(), kAckRanges));
    }
    // The newest of the next report behind one whose newest was that one: all ranges are named, the oldest first, and twice if another
    // report follows; but those of a receiver that cannot keep up are not.
    std::int64_t next_report(std::int64_t told) const {
        return newest() - told > kMostBehind ? newest() : std::min(newest(), told + kAckRanges / 2);
    }

    // What the ACK says whose newest range is that one, and ended there; those of ACKs before it are forgotten.
    PacketAck say(std::int64_t newest, std::int64_t end) {
        PacketAck ack;
        const std::int64_t first = std::max(ranges_.begin(), newest + 1 - kAckRanges);
        for (std::int64_t i = first; i <= newest; ++i) ack.ranges[ack.count++] = ranges_[i].range;
        ack.ranges[ack.count - 1].end = end;
        ranges_.pop_front(first);
        return ack;
    }
    std::int64_t bytes() const { return ranges_.bytes(); }

private:
    static constexpr std::int64_t kMostBehind = 512;
    BlockRing<Arrived> ranges_;
};

}  // namespace dstcc
