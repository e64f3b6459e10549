// What the ACKs of a receiver name: ranges of packet numbers. A link is first in, first out, so a number comes at the end of
// the newest range or begins the next, and what an ACK in flight says is the place of its newest range here and where that
// ended. The receiving end writes them; only the event loop, which carries ACKs, reads them out for the sender.
#pragma once

#include "coding/flight.hpp"
#include "core/ring.hpp"

namespace dstcc {

class AckRanges {
public:
    // The next number in a row or beyond it, whose predecessors are all known by then.
    void note(std::int64_t number) {
        if (!ranges_.empty() && ranges_[newest()].end == number)
            ++ranges_[newest()].end;
        else
            ranges_.push_back({number, number + 1});
    }
    bool empty() const { return ranges_.empty(); }
    std::int64_t newest() const { return ranges_.end() - 1; }
    std::int64_t largest_end() const { return ranges_[newest()].end; }
    std::int64_t begin(std::int64_t place) const { return ranges_[place].begin; }
    int named() const { return static_cast<int>(std::min<std::int64_t>(ranges_.size(), kAckRanges)); }

    // What the ACK says whose newest range is that one, and ended there; those of ACKs before it are forgotten.
    PacketAck say(std::int64_t newest, std::int64_t end) {
        PacketAck ack;
        const std::int64_t first = std::max(ranges_.begin(), newest + 1 - kAckRanges);
        for (std::int64_t i = first; i <= newest; ++i) ack.ranges[ack.count++] = ranges_[i];
        ack.ranges[ack.count - 1].end = end;
        ranges_.pop_front(first);
        return ack;
    }
    std::int64_t bytes() const { return ranges_.bytes(); }

private:
    BlockRing<Range> ranges_;
};

}  // namespace dstcc
