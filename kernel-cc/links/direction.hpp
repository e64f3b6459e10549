// One direction of a link with the simulator's own arithmetic (dstcc/engine/src/link/direction.hpp), and others' datagrams in
// it: those join the queue at their own times, and have no bytes.
#pragma once

#include <algorithm>
#include <vector>

#include "link/direction.hpp"
#include "link/traffic.hpp"

namespace links {

using dstcc::Time;

class Direction {
public:
    Direction(const dstcc::LinkConfig& link, bool up, std::uint64_t seed, std::size_t index, std::uint32_t full_bytes)
        : line_(link, up, seed, index, full_bytes) {
        if (up) return;
        for (std::size_t k = 0; k < link.cross_traffic.size(); ++k) {
            const dstcc::TrafficSource source(link.cross_traffic[k], seed, index, k);
            sources_.push_back({source, source.start()});
        }
    }
    // What its sender sees of it, which is its own queue: when packets leave, and not which are lost.
    static Direction seen(dstcc::LinkConfig link, bool up, std::uint64_t seed, std::size_t index,
                          std::uint32_t full_bytes) {
        link.loss = link.up_loss = {};
        return {link, up, seed, index, full_bytes};
    }

    // `now` never falls by more than a look; a packet that is reported late joins behind the others.
    dstcc::Direction::Passage transmit(Time now, std::uint32_t bytes) {
        advance(now);
        return line_.transmit(now, bytes);
    }
    // As of a time: others' packets before it are in the queue. At the same time one's own go first, as in the simulator.
    const dstcc::Direction& at(Time now) {
        advance(now);
        return line_;
    }
    Time room_at(Time now, std::uint32_t bytes) {
        advance(now);
        return line_.room_at(now, bytes);
    }
    const dstcc::Direction& line() const { return line_; }
    // What somebody else put on it keeps it until then.
    void occupy(Time until) { line_.occupy(until); }

private:
    struct Source {
        dstcc::TrafficSource traffic;
        Time next;
    };
    void advance(Time now) {
        for (;;) {
            Source* first = nullptr;
            for (Source& source : sources_)
                if (source.next < now && (first == nullptr || source.next < first->next)) first = &source;
            if (first == nullptr) return;
            const Time at = first->next;
            if (first->traffic.poll(at, first->next)) line_.transmit(at, first->traffic.packet_bytes());
        }
    }

    dstcc::Direction line_;
    std::vector<Source> sources_;
};

}  // namespace links
