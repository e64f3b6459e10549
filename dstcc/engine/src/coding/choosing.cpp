// Which packet goes next, and over which subflow.
#include "coding/sending_end.hpp"

namespace dstcc {

namespace {

constexpr Time kBlocksAhead = 2;  // a block is short if so many of its length are within the time there is

}  // namespace

// When what is put on the link now arrives: its own queue and the plan's light time are all the sender knows.
Time CodedSendingEnd::arrival(std::size_t s) const {
    const Subflow& subflow = subflows_[s];
    return now_ + subflow.out.queue_ns(now_) + subflow.out.slot_ns() + subflow.light_ns;
}

SubflowSet CodedSendingEnd::in_time(SubflowSet set, Time deadline) const {
    if (!deadlines_ || deadline == kNever) return set;
    SubflowSet timely = 0;
    for (; set != 0; set &= set - 1) {
        const auto s = static_cast<std::size_t>(lowest(set));
        if (arrival(s) <= deadline) insert(timely, s);
    }
    return timely;
}

// Those of the subflows over which it is in time, with its block's repair.
SubflowSet CodedSendingEnd::fitting(SubflowSet set, std::uint32_t object) const {
    const Time deadline = objects_.deadline_ns[object];
    if (!deadlines_ || deadline == kNever) return set;
    SubflowSet timely = 0;
    for (; set != 0; set &= set - 1) {
        const auto s = static_cast<std::size_t>(lowest(set));
        const bool its_own = layers_[object].subflow == static_cast<std::int16_t>(s);  // it was begun there
        if (arrival(s) + (its_own ? 0 : behind(object, subflows_[s].light_ns)) <= deadline) insert(timely, s);
    }
    return timely;
}

// The established subflows from which something is heard, or all of them.
SubflowSet CodedSendingEnd::heard() const {
    SubflowSet heard = 0;
    for (SubflowSet set = established_; set != 0; set &= set - 1)
        if (const int s = lowest(set); !subflows_[static_cast<std::size_t>(s)].flight.stale())
            insert(heard, static_cast<std::size_t>(s));
    return heard != 0 ? heard : established_;
}

// When what goes now arrives over the quickest of these.
Time CodedSendingEnd::earliest(SubflowSet set) const {
    Time earliest = kNever;
    for (; set != 0; set &= set - 1) earliest = std::min(earliest, arrival(static_cast<std::size_t>(lowest(set))));
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
    const SubflowSet ready = ready_ & heard();  // ready only: what is silent takes nothing while another is heard
    Choice best;
    Time first = kNever;
    for (std::size_t l = 0; ready != 0 && l < levels_.size(); ++l) {
        const Choice choice = choose_of(levels_[l], ready);
        if (choice.subflow < 0) continue;
        const std::uint32_t object = choice.object != kNoObject ? choice.object : map_.member(choice.block, 0);
        const Time turn = objects_.release_ns[object] + static_cast<Time>(l) * gap_ns_;
        if (turn >= first) continue;
        first = turn;
        best = choice;
    }
    return best;
}

CodedSendingEnd::Choice CodedSendingEnd::choose_of(Level& level, SubflowSet ready) {
    for (std::size_t i = 0; i < level.blocks.size();) {
        const std::uint32_t number = level.blocks[i];
        BlockSending& block = sent_[number];
        if (block.waiting == 0 || !reachable(last_deadline(number, only_fresh(block)))) {
            want_no_more(number);
            block.queued = false;
            level.blocks.erase(level.blocks.begin() + static_cast<std::ptrdiff_t>(i));
            continue;
        }
        if (const int s = choose_repair(number, ready); s >= 0) return {s, kNoObject, number};
        ++i;
    }
    const std::uint32_t object = next_source(level, ready);
    if (object == kNoObject) return {};
    return {quickest(fitting(ready, object)), object, kNoBlock};
}

// The oldest object that is in time over what is free; before others one that was begun.
std::uint32_t CodedSendingEnd::next_source(Level& level, SubflowSet ready) {
    drop_expired(level);
    if (level.objects.empty()) return kNoObject;
    if (fitting(ready, level.objects.front()) != 0) return level.objects.front();
    if (level.begun != kNoObject && !expired(level.begun) && fitting(ready, level.begun) != 0) return level.begun;
    const auto found = std::partition_point(level.objects.begin(), level.objects.end(),
                                            [&](std::uint32_t waiting) { return fitting(ready, waiting) == 0; });
    return found != level.objects.end() && !expired(*found) ? *found : kNoObject;
}

// The subflow for a repair packet of that block, of those that are ready; -1: it waits for another. One that is too late for a
// part which another could still bring back is passed over.
int CodedSendingEnd::choose_repair(std::uint32_t number, SubflowSet ready) {
    const BlockSending& block = sent_[number];
    const SubflowSet open = heard();
    const Time deadline = next_deadline(number, only_fresh(block), earliest(open));
    const SubflowSet timely = in_time(ready, deadline);
    if (timely == 0) return -1;
    if (coding_.place == RepairPlace::kSpread) {
        const SubflowSet from = turn_ < subflows_.size() ? timely >> turn_ << turn_ : SubflowSet{0};
        return lowest(from != 0 ? from : timely);
    }
    const std::size_t link = subflows_[static_cast<std::size_t>(block.main)].link;
    SubflowSet placed = 0;
    for (SubflowSet set = open; set != 0; set &= set - 1) {
        const auto s = static_cast<std::size_t>(lowest(set));
        if ((subflows_[s].link == link) == (coding_.place == RepairPlace::kSame)) insert(placed, s);
    }
    if (in_time(placed, deadline) == 0)
        return quickest(timely);  // where it belongs it would be late, or there is no such
    return (timely & placed) != 0 ? quickest(timely & placed) : -1;
}

// No subflow can bring the rest of it in time, its block's repair would be late for it, or what it builds on was given up.
bool CodedSendingEnd::expired(std::uint32_t object) const {
    if (!deadlines_ || objects_.deadline_ns[object] == kNever) return false;
    const LayerSending& layer = layers_[object];
    const std::int64_t left = objects_.payload_bytes[object] - layer.offset;
    const std::int64_t packets = (left + transport_.mss_bytes - 1) / transport_.mss_bytes;
    const Time sending = rate_ > 0 ? static_cast<Time>(static_cast<double>(left + packets * header_bytes_) / rate_) : 0;
    if (!reachable(objects_.deadline_ns[object] - sending - (layer.offset > 0 ? 0 : behind(object, least_light_ns_))))
        return true;
    return objects_.layer[object] > 0 && object > 0 && objects_.chunk[object - 1] == objects_.chunk[object] &&
           layers_[object - 1].given_up;
}

// How long before its deadline an object leaves at the latest, over a path of that light time: the length of its block, where
// objects wait for longer than a block. They are served as fast as they are captured then, so that the block's repair leaves so
// long after its first object. Else one that waits at the edge of its deadline would never be brought back. None where the block
// is long for the time there is or has no repair, or where the object was begun: what is left of it goes as long as it is in time.
Time CodedSendingEnd::behind(std::uint32_t object, Time light) const {
    const std::uint32_t block = map_.block_of(object);
    const std::size_t layer = objects_.layer[object];
    if (!coding_.automatic && (layer >= coding_.repair.size() || coding_.repair[layer] <= 0)) return 0;
    const std::uint32_t last = map_.member(block, map_.size(block) - 1);
    if (last >= released_) return 0;
    const Time length = objects_.release_ns[last] - objects_.release_ns[map_.member(block, 0)];
    if (kBlocksAhead * length > objects_.deadline_ns[object] - objects_.release_ns[object] - light) return 0;
    return length;
}

void CodedSendingEnd::give_up(std::uint32_t object) {
    layers_[object].given_up = true;
    backlog_ -= objects_.payload_bytes[object] - layers_[object].offset;
    member_done(map_.block_of(object));
}

void CodedSendingEnd::drop_expired(Level& level) {
    while (!level.objects.empty() && expired(level.objects.front())) {
        const std::uint32_t object = level.objects.front();
        level.objects.pop_front();
        if (level.begun == object) level.begun = kNoObject;
        give_up(object);
    }
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
