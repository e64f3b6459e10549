// What the ACKs of a receiver name: ranges of packet numbers. A link is first in, first out, so a number comes at the end of
// the newest range or begins the next, and what an ACK in flight says is the place of the newest range that it names here and where that
// ended. The receiving end writes them; only the event loop, which carries ACKs, reads them out for the sender.
#pragma once

#include "coding/flight.hpp"
#include "core/ring.hpp"

namespace dstcc {

// Those of an ACK, as the event loop carries them.
struct Named {
    std::int64_t newest;  // its place
    int count;
    int answer = 0;       // which answer to what is asked it has, from 1 on; 0: none
    bool passed = false;  // whether some before them were passed over of late

    static Named unpack(std::int64_t packed) {
        const std::int64_t named = packed / kMarks;
        const auto marks = static_cast<int>(packed % kMarks);
        return {named / kPlaces, static_cast<int>(named % kPlaces), marks / 2, marks % 2 != 0};
    }
    std::int64_t pack() const { return (newest * kPlaces + count) * kMarks + 2 * answer + (passed ? 1 : 0); }

private:
    static constexpr int kPlaces = 2 * kAckRanges, kMarks = 2 * (kAskedReports + 1);
};

class AckRanges {
public:
    struct Arrived {
        Range range;
        Time at_ns, one_way_ns;  // of its last
        std::int64_t before;     // packets that arrived before it
    };
    // The next number in a row or beyond it, whose predecessors are all known by then.
    void note(std::int64_t number, Time at, Time one_way) {
        if (ranges_.empty() || ranges_.back().range.end != number)
            ranges_.push_back({{number, number}, 0, 0, arrived_});
        ++arrived_;
        Arrived& last = ranges_.back();
        last.range.end = number + 1;
        last.at_ns = at;
        last.one_way_ns = one_way;
    }
    // So many that go on with the newest row.
    void note(std::int64_t number, std::int64_t packets, Time at, Time one_way) {
        Arrived& last = ranges_.back();
        DSTCC_CHECK(last.range.end == number, "what comes in a row ends it");
        arrived_ += packets;
        last.range.end += packets;
        last.at_ns = at;
        last.one_way_ns = one_way;
    }
    bool empty() const { return ranges_.empty(); }
    std::int64_t newest() const { return ranges_.end() - 1; }
    std::int64_t begin(std::int64_t place) const { return ranges_[place].range.begin; }
    const Arrived& at(std::int64_t place) const { return ranges_[place]; }
    // In an ACK whose newest is that one and whose oldest is `from` or newer.
    int named(std::int64_t place, std::int64_t from) const {
        return static_cast<int>(std::min<std::int64_t>(place + 1 - std::max(ranges_.begin(), from), kAckRanges));
    }
    // The newest of the next report behind one whose newest was that one: all ranges are named, the oldest first, and twice if another
    // report follows; but a receiver that is further behind passes over what it cannot name.
    std::int64_t next_report(std::int64_t told, std::int64_t most_behind) const {
        return newest() - told > most_behind ? newest() : std::min(newest(), told + kAckRanges / 2);
    }

    // What the ACK says that names so many, of which the newest is that one and ended there.
    PacketAck read(Named said, std::int64_t end) const {
        PacketAck ack;
        for (std::int64_t i = said.newest + 1 - said.count; i <= said.newest; ++i)
            ack.ranges[ack.count++] = ranges_[i].range;
        ack.ranges[ack.count - 1].end = end;
        if (said.passed) ack.before = ranges_[said.newest + 1 - said.count].before;
        return ack;
    }
    // The same; what no later one can name is forgotten.
    PacketAck say(Named said, std::int64_t end) {
        const PacketAck ack = read(said, end);
        ranges_.pop_front(std::max(ranges_.begin(), said.newest + 1 - kAckRanges));
        return ack;
    }
    std::int64_t bytes() const { return ranges_.bytes(); }

private:
    BlockRing<Arrived> ranges_;
    std::int64_t arrived_ = 0;
};

}  // namespace dstcc
