// The event loop's heads, and which of them a party to a trial has: a transport, or others' flows.
#pragma once

#include "core/config.hpp"
#include "core/events.hpp"

namespace dstcc {

// How many of each kind. Quick ones move with every packet: what arrives over links, and lines that come free.
struct HeadCounts {
    std::size_t sending = 0, receiving = 0;  // quick
    std::size_t timers = 0, paces = 0;       // of a sending end
    std::size_t answers = 0;                 // timers of a receiving end
    std::size_t last = 0;                    // of a sending end, after all others of an instant
};

// Where they begin.
struct Places {
    QuickHeads sending, receiving;
    Timers timers, paces, answers, last;
};

// The heads of a trial: those of its transport first, then those of the flows; of the sending ends' idle heads then the source,
// the slot, the sources of traffic, and what comes last.
struct Heads {
    Heads(const HeadCounts& transport, const HeadCounts& flows, std::size_t sources)
        : of_transport(transport),
          timers(transport.timers + flows.timers),
          last(timers + 2 + sources),
          sending(transport.sending + flows.sending, last + transport.last),
          receiving(transport.receiving + flows.receiving, transport.answers + flows.answers),
          paces(transport.paces + flows.paces) {}
    std::size_t release() const { return timers; }
    std::size_t slot() const { return timers + 1; }
    std::size_t source(std::size_t i) const { return timers + 2 + i; }
    // Of the transport; of the flows, whose heads stand behind so many.
    Places places(const HeadCounts& before = {}) {
        return {{sending.quick(), before.sending},    {receiving.quick(), before.receiving},
                {sending.timers(), before.timers},    {paces, before.paces},
                {receiving.timers(), before.answers}, {sending.timers(), last}};
    }

    HeadCounts of_transport;
    std::size_t timers, last;
    EventHeads sending, receiving;
    TimerTree paces;  // of the sending ends, too: a deadline moves with every paced packet
};

}  // namespace dstcc
