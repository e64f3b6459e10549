#include "ltp/choice.hpp"

namespace dstcc {

namespace {

constexpr double kLongWork = 2e18;  // 63 years in nanoseconds: never, and far from overflow
constexpr double kRepairShare = 0.5;

}  // namespace

BlockChoice::BlockChoice(const TransportConfig& transport, const LtpBlocks& blocks, std::vector<LayerSending>& layers,
                         Lines<DownSegment>& lines, Settlement& settlement)
    : transport_(transport),
      blocks_(blocks),
      layers_(layers),
      lines_(lines),
      settlement_(settlement),
      waiting_(transport.layer_first),
      has_link_(blocks.size(), 0) {
    for (const Time deadline : blocks.objects().deadline_ns)
        deadlines_ = deadlines_ || (transport.drop_late && deadline != kNever);
}

void BlockChoice::add(const AnswerClock& clock) {
    links_.push_back({clock, LayerQueue(transport_.layer_first), 0, clock.light_ns(0), 0, {}});
}

void BlockChoice::forget(std::uint32_t block) {
    if (waiting_.holds(block, blocks_.objects().layer[block])) return unbind(block);
    for (Link& link : links_)
        for (std::size_t n = link.bound.extract([&](std::uint32_t other) { return other == block; }).size(); n > 0; --n)
            link.backlog_bytes -= blocks_.wire_bytes(block);
}

bool BlockChoice::feed(Time now, std::size_t l) {
    now_ = now;
    Link& link = links_[l];
    for (;;) {
        while (!link.bound.empty() && !still_good(link.bound.front(), l)) {
            const std::uint32_t block = link.bound.front();
            link.bound.pop_front();
            link.backlog_bytes -= blocks_.wire_bytes(block);
            const int other = hopeless(block) ? -1 : soonest(block);
            if (other >= 0 && static_cast<std::size_t>(other) != l && in_time(block, static_cast<std::size_t>(other)))
                bind(block, static_cast<std::size_t>(other));
            else
                give_up(block);
        }
        if (!link.bound.empty()) return true;
        std::uint32_t block = 0;
        if (!choose(block)) return false;
        unbind(block);
        bind(block, static_cast<std::size_t>(soonest(block)));
    }
}

// A bound block whose turn has come: would it be there in time, and is it not in the way of one that has time for a repair?
bool BlockChoice::still_good(std::uint32_t block, std::size_t l) const {
    if (!deadlines_) return true;
    if (hopeless(block) ||
        expected_delivery(l, blocks_.wire_bytes(block), false) > blocks_.objects().deadline_ns[block])
        return false;
    const auto repairable = [&](std::uint32_t b) {
        return expected_delivery(l, blocks_.wire_bytes(b), false) <= due(b, l, true);
    };
    return repairable(block) || !repairable(links_[l].bound.newest());
}

// The next waiting block that some link can bring in time; without deadlines simply the next.
bool BlockChoice::choose(std::uint32_t& block) {
    if (waiting_.empty()) return false;
    if (!deadlines_) {
        block = waiting_.front();
        return true;
    }
    for (const WaitingLevel& waiting : waiting_.levels()) {
        drop_lost_causes(waiting);
        if (waiting.empty()) continue;
        for (const bool repairable : {true, false})
            if (first_in_time(waiting, repairable, block)) return true;
    }
    return false;
}

bool BlockChoice::first_in_time(const WaitingLevel& waiting, bool repairable, std::uint32_t& block) const {
    const auto no_link = [&](std::uint32_t b, std::int64_t wire) {
        for (std::size_t l = 0; l < links_.size(); ++l)
            if (allowed(b, l) && expected_delivery(l, wire, true) <= due(b, l, repairable)) return false;
        return true;
    };
    // Deadlines rise along the queue: search by them, then pass over what is late for its size.
    return waiting.first(
        repairable ? 1 : 0, [&](std::uint32_t b) { return no_link(b, 0); },
        [&](std::uint32_t b) { return premature(b) || no_link(b, blocks_.wire_bytes(b)); }, block);
}

void BlockChoice::drop_lost_causes(const WaitingLevel& waiting) {
    dstcc_dispatch::drop_lost(
        waiting, [this](std::uint32_t block) { return lost_cause(block); },
        [this](std::uint32_t block) {
            unbind(block);
            give_up(block);
        });
}

// What has become too late is given up even where no line is free.
void BlockChoice::drop_expired(Time now) {
    now_ = now;
    if (!deadlines_) return;
    for (const WaitingLevel& waiting : waiting_.levels()) drop_lost_causes(waiting);
}

void BlockChoice::handle_slot(Time now) {
    for (Link& link : links_) link.light_ns = link.clock.light_ns(now);
    drop_expired(now);
}

void BlockChoice::give_up(std::uint32_t block) {
    layers_[block].given_up = true;
    settlement_.send_no_more(block);
}

// When the last byte of so much more would be there if nothing were lost.
Time BlockChoice::expected_delivery(std::size_t l, std::int64_t wire, bool queued) const {
    const Link& link = links_[l];
    const Line<DownSegment>& line = lines_[l];
    const double work = static_cast<double>(wire + (queued ? link.backlog_bytes : 0)) * line.ns_per_byte();
    if (work > kLongWork) return kNever;
    const Time sent = line.finish(std::max({now_, line.free_ns(), link.held_until}), static_cast<Time>(work));
    return link.onward.arrival(link.clock.arrival(sent));
}

// When the block must be there; repairable wants time in hand: a round trip for one repeat, but no more than half of what
// the playout delay leaves beyond the light time.
Time BlockChoice::due(std::uint32_t block, std::size_t l, bool repairable) const {
    const ObjectsConfig& objects = blocks_.objects();
    const Time deadline = objects.deadline_ns[block], light = links_[l].light_ns;
    if (!repairable || deadline == kNever) return deadline;
    dstcc_dispatch::Forecast path{};
    const Time arrives = arrival(now_, l);
    path.one_way_ns = (arrives < kNever ? arrives : deadline) - now_;
    path.repair_ns = 2 * light + links_[l].clock.margin(now_, now_);
    return dstcc_dispatch::due({objects.release_ns[block], deadline, 0, 0, false}, path, dstcc_dispatch::Slack::kRepair,
                               kRepairShare);
}

bool BlockChoice::in_time(std::uint32_t block, std::size_t l) const {
    return expected_delivery(l, blocks_.wire_bytes(block), true) <= blocks_.objects().deadline_ns[block];
}

// The link of the earliest expected delivery; ties go to the lower one.
int BlockChoice::soonest(std::uint32_t block) const {
    int best = -1;
    Time earliest = kNever;
    for (std::size_t l = 0; l < links_.size(); ++l) {
        if (!allowed(block, l)) continue;
        const Time at = expected_delivery(l, blocks_.wire_bytes(block), true);
        if (best >= 0 && at >= earliest) continue;
        best = static_cast<int>(l);
        earliest = at;
    }
    return best;
}

// With layer_links a layer has one link, layers beyond the list the last one's.
bool BlockChoice::allowed(std::uint32_t block, std::size_t l) const {
    const std::vector<int>& pins = transport_.layer_links;
    return pins.empty() || static_cast<std::size_t>(pins[std::min(blocks_.layer(block), pins.size() - 1)]) == l;
}

bool BlockChoice::hopeless(std::uint32_t block) const {
    return deadlines_ && dstcc::hopeless(blocks_.objects(), layers_, block);
}

// The layer it builds on has no link yet, and comes first.
bool BlockChoice::premature(std::uint32_t block) const {
    return builds_on_another(blocks_.objects(), block) && (has_link_[block - 1] == 0 || layers_[block - 1].given_up);
}

// No link's rate and light could bring it in time, were it sent at once.
bool BlockChoice::lost_cause(std::uint32_t block) const {
    const Time deadline = blocks_.objects().deadline_ns[block];
    if (!deadlines_ || deadline == kNever) return false;
    if (hopeless(block)) return true;
    for (std::size_t l = 0; l < links_.size(); ++l)
        if (allowed(block, l) && expected_delivery(l, blocks_.wire_bytes(block), false) <= deadline) return false;
    return true;
}

void BlockChoice::bind(std::uint32_t block, std::size_t l) {
    has_link_[block] = 1;
    links_[l].bound.push_back(block, blocks_.objects().layer[block]);
    links_[l].backlog_bytes += blocks_.wire_bytes(block);
    lines_.wake(now_, l);
}

}  // namespace dstcc
