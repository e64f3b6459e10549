// Which packet goes next, and over which subflow.
#include "coding/sending_end.hpp"

namespace dstcc {

namespace {

constexpr Time kBlocksAhead = 2;  // a block is short if so many of its length are within the time there is

}  // namespace

// Which subflows count for the packet that is chosen next, and when it would arrive over them: their own queues and the plan's
// light times are all the sender knows. Those without feedback count only where all are silent. Of those that are not free nobody asks
// but for repair.
void CodedSendingEnd::look() {
    for (SubflowSet set = queued_ > 0 ? established_ : ready_; set != 0; set &= set - 1) {
        const auto s = static_cast<std::size_t>(lowest(set));
        const Subflow& subflow = subflows_[s];
        const Time rests = !subflow.up && subflow.change_ns != kNever ? std::max<Time>(subflow.change_ns - now_, 0) : 0;
        arrival_ns_[s] =
            now_ + rests + subflow.out.queue_ns(now_) + subflow.out.full_service_ns(now_) + subflow.one_way_ns();
    }
    open_ = heard();
}

SubflowSet CodedSendingEnd::in_time(SubflowSet set, Time deadline) const {
    if (!deadlines_ || deadline == kNever) return set;
    SubflowSet timely = 0;
    for (; set != 0; set &= set - 1) {
        const auto s = static_cast<std::size_t>(lowest(set));
        if (arrival_ns_[s] <= deadline) insert(timely, s);
    }
    return timely;
}

// Is an object the first in turn of all that waits, and the only thing? Then it goes next over whatever subflow has time for it, until
// something may have to be given up.
bool CodedSendingEnd::look_ahead() {
    if (next_ != kNoObject && now_ <= next_until_ns_) return true;
    next_ = kNoObject;
    if (queued_ > 0) return false;
    Time first = kNever, until = plans() ? next_plan_ns_ - 1 : kNever;
    for (std::size_t l = 0; l < levels_.size(); ++l) {
        Level& level = levels_[l];
        if (level.objects.empty()) continue;
        const std::uint32_t object = level.objects.front();
        if (hopeless(objects_, layers_, object)) return false;
        if (object != level.looked_at || now_ > level.quiet_ns) {
            if (expired(object)) return false;
            note_quiet(level, object);
        }
        until = std::min(until, now_ <= level.quiet_ns ? level.quiet_ns : expiry(object));
        const Time turn = turn_of(object, l);
        if (turn >= first) continue;
        first = turn;
        next_ = object;
    }
    next_until_ns_ = until;
    return next_ != kNoObject && now_ <= until;
}

// Those of the subflows over which it is in time, with its block's repair.
SubflowSet CodedSendingEnd::fitting(SubflowSet set, std::uint32_t object) const {
    const Time deadline = objects_.deadline_ns[object];
    if (!deadlines_ || deadline == kNever) return set;
    const Time early = deadline - length_of(map_.block_of(object));
    SubflowSet timely = 0;
    for (; set != 0; set &= set - 1) {
        const auto s = static_cast<std::size_t>(lowest(set));
        const Time arrival = arrival_ns_[s] - shorter_by(object, s);
        if (arrival <= early || arrival + latest(object, s) <= deadline) insert(timely, s);
    }
    return timely;
}

// How much sooner than a full packet the next of the object has left.
Time CodedSendingEnd::shorter_by(std::uint32_t object, std::size_t s) const {
    const std::int64_t left = objects_.payload_bytes[object] - layers_[object].offset;
    if (left >= transport_.mss_bytes) return 0;
    const auto full = static_cast<double>(transport_.mss_bytes + header_bytes_);
    return static_cast<Time>(
        static_cast<double>(subflows_[s].out.full_service_ns(now_) * (transport_.mss_bytes - left)) / full);
}

// When what goes now arrives over the quickest of these.
Time CodedSendingEnd::earliest(SubflowSet set) const {
    Time earliest = kNever;
    for (; set != 0; set &= set - 1) earliest = std::min(earliest, arrival_ns_[static_cast<std::size_t>(lowest(set))]);
    return earliest;
}

int CodedSendingEnd::quickest(SubflowSet set) const {
    int best = -1;
    for (; set != 0; set &= set - 1) {
        const int s = lowest(set);
        if (best < 0 || subflows_[static_cast<std::size_t>(s)].flight.tcp().srtt_ns <
                            subflows_[static_cast<std::size_t>(best)].flight.tcp().srtt_ns)
            best = s;
    }
    return best;
}

// Of all levels the packet whose turn is first, and of a level repair before source.
CodedSendingEnd::Choice CodedSendingEnd::choose() {
    look();
    const SubflowSet ready = ready_ & open_;
    // What can still be in time is due then or later, so that a level may be passed over without a search.
    const Time oldest = deadlines_ ? earliest(ready) : 0;
    Choice best;
    Time first = kNever;
    for (std::size_t l = 0; ready != 0 && l < levels_.size(); ++l) {
        Level& level = levels_[l];
        Choice choice;
        if (!level.blocks.empty()) choice = choose_repair_of(level, ready);
        if (choice.subflow < 0) {
            drop_expired(level);
            if (level.objects.empty()) continue;
            if (turn_of(level.objects.front(), l, oldest) >= first) continue;
            choice = choose_source(level, ready);
            if (choice.subflow < 0) continue;
        }
        const std::uint32_t object = choice.object != kNoObject ? choice.object : map_.member(choice.block, 0);
        const Time turn = turn_of(object, l);
        if (turn >= first) continue;
        first = turn;
        best = choice;
    }
    return best.subflow < 0 ? choose_for_silent(ready_ & ~open_) : best;
}

// What the plan has no place for over the others costs no layer anything over a subflow of which nothing is heard.
CodedSendingEnd::Choice CodedSendingEnd::choose_for_silent(SubflowSet silent) {
    for (std::size_t l = map_.layers(); silent != 0 && l < levels_.size(); ++l) {
        drop_expired(levels_[l]);
        if (levels_[l].objects.empty()) continue;
        if (const Choice choice = choose_source(levels_[l], silent); choice.subflow >= 0) return choice;
    }
    return {};
}

CodedSendingEnd::Choice CodedSendingEnd::choose_repair_of(Level& level, SubflowSet ready) {
    for (std::size_t i = 0; i < level.blocks.size();) {
        const std::uint32_t number = level.blocks[i];
        BlockSending& block = sent_[number];
        if (block.waiting == 0 || !reachable(last_deadline(number, only_fresh(block)))) {
            want_no_more(number);
            block.queued = false;
            --queued_;
            level.blocks.erase(level.blocks.begin() + static_cast<std::ptrdiff_t>(i));
            continue;
        }
        if (const int s = choose_repair(number, ready); s >= 0) return {s, kNoObject, number};
        ++i;
    }
    return {};
}

// The oldest object that is in time over what is free; before others one that was begun.
CodedSendingEnd::Choice CodedSendingEnd::choose_source(const Level& level, SubflowSet ready) const {
    if (const SubflowSet timely = fitting(ready, level.objects.front()); timely != 0)
        return {quickest(timely), level.objects.front(), kNoBlock};
    if (level.begun != kNoObject && !expired(level.begun))
        if (const SubflowSet timely = fitting(ready, level.begun); timely != 0)
            return {quickest(timely), level.begun, kNoBlock};
    const auto found = std::partition_point(level.objects.begin(), level.objects.end(),
                                            [&](std::uint32_t waiting) { return fitting(ready, waiting) == 0; });
    if (found == level.objects.end() || expired(*found)) return {};
    return {quickest(fitting(ready, *found)), *found, kNoBlock};
}

SubflowSet CodedSendingEnd::up(SubflowSet set) const {
    SubflowSet up = 0;
    for (; set != 0; set &= set - 1)
        if (const auto s = static_cast<std::size_t>(lowest(set)); subflows_[s].up) insert(up, s);
    return up;
}

// Of these, without those that lose much more than another does.
SubflowSet CodedSendingEnd::losing_least(SubflowSet set) const {
    double least = 1;
    for (SubflowSet all = set; all != 0; all &= all - 1)
        least = std::min(least, loses_of(static_cast<std::size_t>(lowest(all))));
    SubflowSet losing_least = 0;
    for (; set != 0; set &= set - 1)
        if (const auto s = static_cast<std::size_t>(lowest(set)); !loses_more(s, least)) insert(losing_least, s);
    return losing_least;
}

// Of these, those over which repair goes where paths lose unlike shares: that lose the least, if they have room for what the others lose; and for
// what is planned, if what waits leaves there before the next blocks are closed.
SubflowSet CodedSendingEnd::for_repair(SubflowSet set, bool fresh) const {
    const SubflowSet good = losing_least(set);
    if (good == set) return set;
    double rate = 0, lost = 0;
    for (SubflowSet all = set; all != 0; all &= all - 1) {
        const auto s = static_cast<std::size_t>(lowest(all));
        (contains(good, s) ? rate : lost) += contains(good, s) ? subflows_[s].flight.rate() : loses(s);
    }
    const bool soon = fresh || static_cast<double>(waiting_bytes_) <= rate * static_cast<double>(coding_.block_ns);
    return soon && lost * used_ <= rate ? good : set;
}

// The subflow for a repair packet of that block, of those that are ready; -1: it waits for another. One that is too late for a
// part which another could still bring back is passed over.
int CodedSendingEnd::choose_repair(std::uint32_t number, SubflowSet ready) {
    const BlockSending& block = sent_[number];
    const Time deadline = next_deadline(number, only_fresh(block), earliest(open_));
    const SubflowSet timely = in_time(ready, deadline);
    if (timely == 0) return -1;
    if (const SubflowSet all = in_time(up(open_), deadline), good = for_repair(all, only_fresh(block));
        place() == RepairPlace::kSame && good != all && !leaves_out())
        return (timely & good) != 0 ? quickest(timely & good) : -1;
    if (place() == RepairPlace::kSpread) {
        const SubflowSet from = turn_ < subflows_.size() ? timely >> turn_ << turn_ : SubflowSet{0};
        return lowest(from != 0 ? from : timely);
    }
    const std::size_t link = subflows_[static_cast<std::size_t>(block.main)].link;
    SubflowSet placed = 0;
    for (SubflowSet set = open_ & ~giving_way_; set != 0; set &= set - 1) {
        const auto s = static_cast<std::size_t>(lowest(set));
        if ((subflows_[s].link == link) == (place() == RepairPlace::kSame)) insert(placed, s);
    }
    if (in_time(placed, deadline) == 0)
        return quickest(timely);  // where it belongs it would be late, or there is no such
    return (timely & placed) != 0 ? quickest(timely & placed) : -1;
}

// No subflow can bring the rest of it in time, its block's repair would be late for it, or what it builds on was given up.
bool CodedSendingEnd::expired(std::uint32_t object) const {
    const Time deadline = objects_.deadline_ns[object];
    if (!deadlines_ || deadline == kNever) return false;
    return (now_ > soonest_expiry(object) && now_ > expiry(object)) || hopeless(objects_, layers_, object);
}

// As things are, it expires by itself after that time.
Time CodedSendingEnd::expiry(std::uint32_t object) const {
    const LayerSending& layer = layers_[object];
    const std::int64_t left = objects_.payload_bytes[object] - layer.offset;
    const std::int64_t packets = (left + transport_.mss_bytes - 1) / transport_.mss_bytes;
    const Time sending =
        rates_known_ && rate_ > 0 ? static_cast<Time>(static_cast<double>(left + packets * header_bytes_) / rate_) : 0;
    return objects_.deadline_ns[object] - sending - (layer.offset > 0 ? 0 : behind(object, least_light_ns_)) -
           least_queue_ns_ - least_light_ns_;
}

// Before then it does not expire by itself: with its block's length, and no less than what is left of it takes.
Time CodedSendingEnd::soonest_expiry(std::uint32_t object) const {
    const auto left = static_cast<double>(objects_.payload_bytes[object] - layers_[object].offset + header_bytes_);
    return objects_.deadline_ns[object] - least_queue_ns_ - least_light_ns_ - length_of(map_.block_of(object)) -
           static_cast<Time>(left * most_ns_per_byte_);
}

// How long before its deadline an object leaves at the latest over a path of that light time: the length of its block, where
// objects wait for longer than a block. They are served as fast as they are captured then, so that the block's repair leaves so
// long after its first object. Else one that waits at the edge of its deadline would never be brought back. None where the block
// is long for the time there is, or has no repair.
Time CodedSendingEnd::behind(std::uint32_t object, Time light) const {
    const std::uint32_t block = map_.block_of(object);
    const Time length = length_of(block);
    if (length == 0 || map_.member(block, map_.size(block) - 1) >= released_) return 0;
    return kBlocksAhead * length > objects_.deadline_ns[object] - objects_.release_ns[object] - light ? 0 : length;
}

// The same over a subflow; none where the object was begun there: what is left of it goes as long as it is in time.
Time CodedSendingEnd::latest(std::uint32_t object, std::size_t s) const {
    return layers_[object].subflow == static_cast<std::int16_t>(s) ? 0 : behind(object, subflows_[s].one_way_ns());
}

void CodedSendingEnd::give_up(std::uint32_t object) {
    next_ = kNoObject;
    layers_[object].given_up = true;
    if (layers_[object].offset > 0) note_waste(static_cast<double>(layers_[object].offset));
    backlog_ -= objects_.payload_bytes[object] - layers_[object].offset;
    member_done(map_.block_of(object));
}

void CodedSendingEnd::drop_expired(Level& level) {
    while (!level.objects.empty()) {
        const std::uint32_t object = level.objects.front();
        if (object == level.looked_at && now_ <= level.quiet_ns && !hopeless(objects_, layers_, object)) return;
        if (!expired(object)) return note_quiet(level, object);
        level.objects.pop_front();
        if (level.begun == object) level.begun = kNoObject;
        give_up(object);
    }
}

// Until when it cannot expire by itself, so that few looks are worth their arithmetic.
void CodedSendingEnd::note_quiet(Level& level, std::uint32_t object) {
    level.looked_at = object;
    level.quiet_ns = objects_.deadline_ns[object] == kNever || !deadlines_ ? kNever : soonest_expiry(object);
}

// What has become too late is given up even where nothing is free to send.
void CodedSendingEnd::drop_expired() {
    for (Level& level : levels_) drop_expired(level);
    for (std::size_t i = 0; i < closed_.size();) {
        const std::uint32_t block = closed_[i];
        if (!sent_[block].over && !reachable(last_deadline(block, false))) end(block);
        if (sent_[block].over)
            closed_.erase(closed_.begin() + static_cast<std::ptrdiff_t>(i));
        else
            ++i;
    }
}

}  // namespace dstcc
