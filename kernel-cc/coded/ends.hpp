// What an end has whatever its transport (here, and ../ltp): sockets, and by link its own queue in front of the line, whose
// arithmetic is done again. What is lost on the way is not known here.
#pragma once

#include <vector>

#include "../links/direction.hpp"
#include "../links/queues.hpp"
#include "datagrams.hpp"
#include "link/contact.hpp"

namespace coded {

using OwnLines = std::vector<links::Direction>;  // by link; each moves on when it is looked at

// Datagrams that found a buffer full.
inline unsigned lost_at(const std::vector<Socket>& sockets) {
    unsigned lost = 0;
    for (const Socket& socket : sockets) lost += socket.lost();
    return lost;
}

// As of a look: what others' TCP put on the lines is in their queues.
inline void see_others(const links::Queues& queues, const Plan& plan, bool up, OwnLines& lines) {
    for (std::size_t link = 0; link < lines.size(); ++link)
        lines[link].occupy(queues.busy_ns(up ? plan.lines[link].second : plan.lines[link].first, up));
}

inline std::int64_t dropped_on(const OwnLines& lines) {
    std::int64_t dropped = 0;
    for (const links::Direction& each : lines) dropped += each.line().dropped();
    return dropped;
}

// When the last data packet that left will have arrived, at the latest, if it is not lost; over nodes nobody knows, and it is
// beyond all times.
inline Time last_arrival(const Plan& plan, const OwnLines& lines, const std::vector<dstcc::ContactPlan>& plans) {
    Time last = 0;
    for (std::size_t link = 0; link < lines.size(); ++link) {
        if (!plan.engine.links[link].onward.empty()) return dstcc::kNever / 2;
        const Time busy = lines[plan.begins_as(link)].line().busy_ns();
        last = std::max(last, busy + plans[link].light_ns(busy));
    }
    return last;
}

}  // namespace coded
