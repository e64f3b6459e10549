// Which block ltp sends next and on which link, what is too late to be sent, and what waits.
//
// A block goes where its delivery is expected first:  finish(now, backlog + block) + light,  over the known outages. It is
// bound when a link has nothing more to send, so that repairs elsewhere count. With deadlines those that leave time for a
// repair go before those that do not, as with the TCP senders.
#include "ltp/ltp.hpp"

namespace dstcc {

// Bind waiting blocks to the links they suit best until this link has one. False if it gets none.
bool Ltp::feed(std::size_t l) {
    LinkState& link = links_[l];
    for (;;) {
        while (!link.bound.empty() && !still_good(link.bound.front(), l)) {
            const std::uint32_t object = link.bound.front();
            link.bound.pop_front();
            link.backlog_bytes -= block_wire(object);
            const int other = hopeless(object) ? -1 : soonest(object);
            if (other >= 0 && static_cast<std::size_t>(other) != l &&
                in_time(object, static_cast<std::size_t>(other), false))
                bind(object, static_cast<std::size_t>(other));
            else
                give_up(object);
        }
        if (!link.bound.empty()) return true;
        std::uint32_t object = 0;
        if (!choose(object)) return false;
        unbind(object);
        bind(object, static_cast<std::size_t>(soonest(object)));
    }
}

// A bound block whose turn has come: would it be there in time, and is it not in the way of one that has time for a repair?
bool Ltp::still_good(std::uint32_t object, std::size_t l) const {
    if (!deadlines_) return true;
    if (hopeless(object) || expected_delivery(l, block_wire(object), false) > config_.objects.deadline_ns[object])
        return false;
    const auto repairable = [&](std::uint32_t o) {
        return expected_delivery(l, block_wire(o), false) <= due(o, l, true);
    };
    return repairable(object) || !repairable(links_[l].bound.newest());
}

// The next waiting block that some link can bring in time; without deadlines simply the next.
bool Ltp::choose(std::uint32_t& object) {
    if (pending_.empty()) return false;
    if (!deadlines_) {
        object = pending_.front();
        return true;
    }
    for (const WaitingLevel& waiting : pending_.levels()) {
        drop_lost_causes(waiting);
        if (waiting.empty()) continue;
        for (const bool repairable : {true, false})
            if (first_in_time(waiting, repairable, object)) return true;
    }
    return false;
}

bool Ltp::first_in_time(const WaitingLevel& waiting, bool repairable, std::uint32_t& object) const {
    const auto no_link = [&](std::uint32_t o, std::int64_t wire) {
        for (std::size_t l = 0; l < links_.size(); ++l)
            if (allowed(o, l) && expected_delivery(l, wire, true) <= due(o, l, repairable)) return false;
        return true;
    };
    // Deadlines rise along the queue: search by them, then pass over what is late for its size.
    return waiting.first(
        repairable ? 1 : 0, [&](std::uint32_t o) { return no_link(o, 0); },
        [&](std::uint32_t o) { return premature(o) || no_link(o, block_wire(o)); }, object);
}

void Ltp::drop_lost_causes(const WaitingLevel& waiting) {
    while (!waiting.empty() && lost_cause(waiting.front())) {
        const std::uint32_t lost = waiting.front();
        unbind(lost);
        give_up(lost);
    }
}

// What has become too late is given up even where no line is free.
void Ltp::drop_expired() {
    if (!deadlines_) return;
    for (const WaitingLevel& waiting : pending_.levels()) drop_lost_causes(waiting);
}

// When the last byte of so much more would be there if nothing were lost.
Time Ltp::expected_delivery(std::size_t l, std::int64_t wire, bool queued) const {
    const LinkState& link = links_[l];
    const double work = static_cast<double>(wire + (queued ? link.backlog_bytes : 0)) * link.down.ns_per_byte();
    if (work > kLongWork) return kNever;
    const Time sent = link.down.finish(std::max(now_, link.down.free_ns()), static_cast<Time>(work));
    return sent + link.down.direction().delay_lookup(sent);
}

// When the block must be there; repairable wants time in hand: a round trip for one repeat, but no more than half of what
// the playout delay leaves beyond the light time.
Time Ltp::due(std::uint32_t object, std::size_t l, bool repairable) const {
    const Time deadline = config_.objects.deadline_ns[object];
    if (!repairable || deadline == kNever) return deadline;
    const Time light = links_[l].one_way_ns, spare = deadline - config_.objects.release_ns[object] - light;
    return deadline - std::clamp<Time>(spare / 2, 0, 2 * light + margin(l, now_, now_));
}

bool Ltp::in_time(std::uint32_t object, std::size_t l, bool repairable) const {
    return expected_delivery(l, block_wire(object), true) <= due(object, l, repairable);
}

// The link of the earliest expected delivery; ties go to the lower one.
int Ltp::soonest(std::uint32_t object) const {
    int best = -1;
    Time earliest = kNever;
    for (std::size_t l = 0; l < links_.size(); ++l) {
        if (!allowed(object, l)) continue;
        const Time at = expected_delivery(l, block_wire(object), true);
        if (best >= 0 && at >= earliest) continue;
        best = static_cast<int>(l);
        earliest = at;
    }
    return best;
}

// With layer_links a layer has one link, layers beyond the list the last one's.
bool Ltp::allowed(std::uint32_t object, std::size_t l) const {
    const std::vector<int>& pins = config_.transport.layer_links;
    if (pins.empty()) return true;
    const auto layer = static_cast<std::size_t>(config_.objects.layer[object]);
    return static_cast<std::size_t>(pins[std::min(layer, pins.size() - 1)]) == l;
}

std::int64_t Ltp::block_wire(std::uint32_t object) const {
    const std::int64_t payload = config_.objects.payload_bytes[object], mss = config_.transport.mss_bytes;
    return payload + (payload + mss - 1) / mss * control_bytes_;
}

bool Ltp::builds_on_another(std::uint32_t object) const {
    return config_.objects.layer[object] > 0 && object > 0 &&
           config_.objects.chunk[object - 1] == config_.objects.chunk[object];
}

// The layer it builds on was given up: it could not be decoded.
bool Ltp::hopeless(std::uint32_t object) const {
    return deadlines_ && builds_on_another(object) && outcomes_[object - 1].given_up;
}

// The layer it builds on has no link yet, and comes first.
bool Ltp::premature(std::uint32_t object) const {
    return builds_on_another(object) && (outcomes_[object - 1].domain < 0 || outcomes_[object - 1].given_up);
}

// No link's rate and light could bring it in time, were it sent at once.
bool Ltp::lost_cause(std::uint32_t object) const {
    if (!deadlines_ || config_.objects.deadline_ns[object] == kNever) return false;
    if (hopeless(object)) return true;
    for (std::size_t l = 0; l < links_.size(); ++l)
        if (allowed(object, l) &&
            expected_delivery(l, block_wire(object), false) <= config_.objects.deadline_ns[object])
            return false;
    return true;
}

// Not even light could bring a further segment in time.
bool Ltp::past_light(std::uint32_t object, std::size_t l) const {
    return deadlines_ && now_ > config_.objects.deadline_ns[object] - links_[l].one_way_ns;
}

void Ltp::bind(std::uint32_t object, std::size_t l) {
    outcomes_[object].domain = 0;  // every block is an ordering domain of its own; this says that it has a link
    links_[l].bound.push_back(object, config_.objects.layer[object]);
    links_[l].backlog_bytes += block_wire(object);
    wake(l);
}

void Ltp::unbind(std::uint32_t object) { pending_.take(object, config_.objects.layer[object]); }

}  // namespace dstcc
