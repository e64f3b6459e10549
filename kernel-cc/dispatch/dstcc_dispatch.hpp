// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
// Which layer goes next and over which paths: the rules of timeliness and of order. The simulator compiles this file, and
// so does the program that carries its trials over a kernel (kernel-cc/transfer). C++17 and its library, nothing else.
//
//   light    a byte sent now arrives                          now + one-way delay
//   window   the same behind what queues on the way
//   late     light > deadline, or window + (bytes - room) * ns_per_byte > due; what is begun, or kLight, goes by light alone
//   due      kWindow      the deadline
//            kRepair      the deadline - min(a round trip, share * (deadline - release - one-way delay))
//            kRoundTrip   the deadline - a round trip
//   blocked  the layer it builds on has not been begun, or was given up
//   turn     release + layer * gap; a gap without end: base layers first
//
// Layers wait in levels, each in the order of release, so deadlines and turns rise along a level; the level of a lower layer
// number comes first. What serves a deadline that light cannot meet on any path is given up (lost_cause).
//
//   next_in_time   Level by level: the first layer with time for a repair, else the first in time at all. If no level has
//                  one, the newest that light could still bring: windows grow only if they are used.
//   next_in_turn   Over all levels, the layer whose turn is first: of those to be sheltered where a round trip is left for
//                  a repair, unless all paths leave it and another's deadline comes before that of the repair; else with time
//                  for a repair; else in time; else in time on a path that the table gives to others. If there is none, the
//                  newest, as above.
//
// Both are asked with a view of the sender:
//
//   Set                                       of paths: an unsigned integer, path s is bit s
//   Layer layer(Object) const                 what the rules go by
//   bool blocked(Object) const
//   Time light(std::size_t s) const           of a path; forecast(s).light_ns without the rest
//   Forecast forecast(std::size_t s) const
//   double repair_share() const               of the time to spare, what is kept for a repair
//   const std::vector<Level>& levels() const
// and for turns
//   Time gap_ns() const                       kNever: base layers first
//   std::int32_t entry(std::int64_t layer) const   of the table that says where a layer may go
//   Set usable() const                        the paths that could be used, with room or not
//   std::size_t paths() const                 how many there are
//   bool strict() const                       the table binds, whether the path it names can be used or not
#ifndef DSTCC_DISPATCH_HPP
#define DSTCC_DISPATCH_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace dstcc_dispatch {

using Time = std::int64_t;     // nanoseconds
using Object = std::uint32_t;  // a chunk's layer, numbered in the order of release
constexpr Time kNever = INT64_MAX;
constexpr double kFarNs = 4e18;         // beyond any deadline, and two of them are within a Time
constexpr std::size_t kLookAhead = 64;  // layers passed over for one that is in turn, and the newest ones tried at last

// Entries of the table; from 0 on, the path.
constexpr std::int32_t kAutomatic = -1;  // any
constexpr std::int32_t kRepairable =
    -3;                               // where it could be repaired in time; other paths are for others while that is so
constexpr std::int32_t kAvoid = -16;  // kAvoid - s: any but path s

enum class Slack { kLight, kWindow, kRepair, kRoundTrip };

struct Layer {
    Time release, deadline;  // kNever: none, or none that counts
    std::int64_t bytes, layer;
    bool begun;  // some of it was sent: it is finished while it can be
};

// A chunk's layers follow one another in their numbers, and each builds on the one before it. `layer` and `chunk` give those of
// an object.
template <class LayerOf, class ChunkOf>
bool builds_on_another(Object object, LayerOf&& layer, ChunkOf&& chunk) {
    return object > 0 && layer(object) > 0 && chunk(object - 1) == chunk(object);
}

// When a path could bring a layer, as far as the sender can tell.
struct Forecast {
    Time light_ns, window_ns;
    double ns_per_byte;  // of what exceeds the room
    std::int64_t room_bytes;
    Time one_way_ns, repair_ns;  // a repair: a round trip
};

// What a sender knows of its path: light time, as any mission planner does; round trips; and, where it measures what the path
// carries, what it has in its own queue and how much of that leaves in a nanosecond (0: not known).
struct Known {
    Time one_way_ns, srtt_ns, min_rtt_ns;
    double queued_bytes, bytes_per_ns;
};

// The queue on the way is what the round trip shows above its least; `by_queue`: its own queue tells the wait without a round
// trip's delay. What exceeds `room_bytes` takes `ns_per_byte`.
inline Forecast forecast(Time now, const Known& path, bool by_queue, double ns_per_byte, std::int64_t room_bytes) {
    double wait = static_cast<double>(std::max<Time>(path.srtt_ns - path.min_rtt_ns, 0));
    if (by_queue) wait = path.bytes_per_ns > 0 ? path.queued_bytes / path.bytes_per_ns : 0;
    const Time light = now + path.one_way_ns;
    return {light,           light + static_cast<Time>(std::min(wait, kFarNs)), ns_per_byte, room_bytes,
            path.one_way_ns, std::max(path.srtt_ns, 2 * path.one_way_ns)};
}

// ------------------------------------------------------------------------------------------------------ timeliness

inline Time due(const Layer& layer, const Forecast& path, Slack slack, double repair_share) {
    if (layer.deadline == kNever || slack == Slack::kLight || slack == Slack::kWindow) return layer.deadline;
    if (slack == Slack::kRoundTrip) return layer.deadline - path.repair_ns;
    const Time spare = layer.deadline - layer.release - path.one_way_ns;
    const auto kept = static_cast<Time>(static_cast<double>(spare) * repair_share);
    return layer.deadline - std::clamp<Time>(kept, 0, path.repair_ns);
}

// How long so many bytes take behind the room.
inline Time sending(std::int64_t bytes, const Forecast& path) {
    const auto excess = static_cast<double>(std::max<std::int64_t>(bytes - path.room_bytes, 0));
    return static_cast<Time>(std::min(excess * path.ns_per_byte, kFarNs));
}

// Would the layer arrive after it is due, if nothing more were lost?
inline bool late(const Layer& layer, const Forecast& path, Slack slack, double repair_share) {
    if (layer.deadline == kNever) return false;
    if (path.light_ns > layer.deadline) return true;
    if (slack == Slack::kLight || layer.begun) return false;
    return path.window_ns + sending(layer.bytes, path) > due(layer, path, slack, repair_share);
}

// The same of a path of the view; what light alone says needs no forecast.
template <class View>
bool late_on(const View& view, const Layer& layer, std::size_t s, Slack slack) {
    if (layer.deadline == kNever) return false;
    if (view.light(s) > layer.deadline) return true;
    if (slack == Slack::kLight || layer.begun) return false;
    return late(layer, view.forecast(s), slack, view.repair_share());
}

// The lowest path of a set that has one.
template <class Set>
std::size_t lowest_path(Set set) {
    const auto low = static_cast<std::uint64_t>(set);
    if constexpr (sizeof(Set) > sizeof(std::uint64_t))
        if (low == 0) return 64 + lowest_path(static_cast<std::uint64_t>(set >> 64));
    return static_cast<std::size_t>(__builtin_ctzll(low));
}

// Those of `set` that can bring the layer in time.
template <class View, class Set>
Set in_time(const View& view, Object object, Slack slack, Set set) {
    const Layer layer = view.layer(object);
    if (layer.deadline == kNever) return set;
    Set kept = set;
    for (Set left = set; left != 0; left &= left - 1) {
        const std::size_t s = lowest_path(left);
        if (late_on(view, layer, s, slack)) kept &= ~(Set{1} << s);
    }
    return kept;
}

// Not worth sending: it could not be decoded (`hopeless`: what it builds on was given up), or no path, the quickest light
// being there at `light_ns`, can bring its next byte in time.
inline bool lost_cause(const Layer& layer, bool hopeless, Time light_ns) {
    return hopeless || (layer.deadline != kNever && light_ns > layer.deadline);
}

// A layer whose turn has come on a path: it could not be decoded, is too late, or has less time for a repair than the newest of its
// level. `late` says so of a layer and a slack, there.
template <class Late>
bool outdated(Object object, Object newest, bool hopeless, Late&& late) {
    return hopeless || late(object, Slack::kLight) || (late(object, Slack::kRepair) && !late(newest, Slack::kRepair));
}

// ----------------------------------------------------------------------------------------------------------- levels

// Layers that wait, in rising order; they are taken from anywhere. What was taken is skipped by a union-find over places,
// so that every call is next to constant time.
class WaitingLevel {
public:
    bool empty() const { return waiting_ == 0; }
    Object front() const { return front_; }
    void push_back(Object object) {
        if (waiting_ == 0) front_ = object;
        objects_.push_back(object);
        next_.push_back(static_cast<std::uint32_t>(next_.size()));
        ++waiting_;
    }
    // Where newer ones may wait already.
    void insert(Object object) {
        if (objects_.empty() || object > objects_.back()) return push_back(object);
        std::vector<Object> waiting;
        each([&](Object other) {
            waiting.push_back(other);
            return true;
        });
        waiting.insert(std::lower_bound(waiting.begin(), waiting.end(), object), object);
        *this = WaitingLevel();
        for (const Object other : waiting) push_back(other);
    }
    bool holds(Object object) const {
        const std::size_t place = place_of(object);
        return place < objects_.size() && objects_[place] == object && next_[place] == place;
    }
    // False if it does not wait here.
    bool take(Object object) {
        const std::size_t place = place_of(object);
        if (place >= objects_.size() || objects_[place] != object || next_[place] != place) return false;
        next_[place] = static_cast<std::uint32_t>(place + 1);
        --waiting_;
        if (place != head_) return true;
        head_ = find(place + 1);
        if (waiting_ > 0) front_ = objects_[head_];
        return true;
    }
    // The newest waiting layer that `accepts`. False if there is none among the last few dozen.
    template <class Accepts>
    bool last(Accepts&& accepts, Object& object) const {
        const std::size_t stop = objects_.size() > kLookAhead ? std::max(head_, objects_.size() - kLookAhead) : head_;
        for (std::size_t place = objects_.size(); place-- > stop;)
            if (next_[place] == place && accepts(objects_[place])) {
                object = objects_[place];
                return true;
            }
        return false;
    }
    // The first waiting layer for which `skip` (true up to some place, false from there on) is false; `rejects` passes over
    // single layers. False if there is none. `asker` numbers who asks: the answer is looked for near its last one.
    template <class Skip, class Rejects>
    bool first(std::size_t asker, Skip&& skip, Rejects&& rejects, Object& object) const {
        if (hints_.size() <= asker) hints_.resize(asker + 1, 0);
        std::size_t place = find(boundary(hints_[asker], skip));
        hints_[asker] = place;
        while (place < objects_.size() && rejects(objects_[place])) place = find(place + 1);
        if (place >= objects_.size()) return false;
        object = objects_[place];
        return true;
    }
    // Waiting layers from the oldest on, until `more` says no.
    template <class More>
    void each(More&& more) const {
        for (std::size_t place = find(head_); place < objects_.size(); place = find(place + 1))
            if (!more(objects_[place])) return;
    }

private:
    std::size_t place_of(Object object) const {
        if (waiting_ > 0 && object == front_) return head_;
        const auto found =
            std::lower_bound(objects_.begin() + static_cast<std::ptrdiff_t>(head_), objects_.end(), object);
        return static_cast<std::size_t>(found - objects_.begin());
    }
    // Where `skip` turns false, by galloping from `near`.
    template <class Skip>
    std::size_t boundary(std::size_t near, Skip&& skip) const {
        std::size_t low = head_, high = objects_.size();
        near = std::clamp(near, low, high);
        std::size_t step = 1;
        if (near < high && skip(objects_[near])) {
            for (low = near + 1; low + step <= high && skip(objects_[low + step - 1]); step *= 2) low += step;
            high = std::min(high, low + step - 1);
        } else {
            for (high = near; high - low >= step && !skip(objects_[high - step]); step *= 2) high -= step;
            if (high - low >= step) low = high - step + 1;
        }
        const auto from = objects_.begin();
        return static_cast<std::size_t>(std::partition_point(from + static_cast<std::ptrdiff_t>(low),
                                                             from + static_cast<std::ptrdiff_t>(high), skip) -
                                        from);
    }
    // The first place at or after `place` that still waits; objects_.size() if none does.
    std::size_t find(std::size_t place) const {
        std::size_t root = place;
        while (root < next_.size() && next_[root] != root) root = next_[root];
        while (place < root && place < next_.size()) {
            const std::size_t after = next_[place];
            next_[place] = static_cast<std::uint32_t>(root);
            place = after;
        }
        return root;
    }
    std::vector<Object> objects_;
    mutable std::vector<std::uint32_t> next_;
    mutable std::vector<std::size_t> hints_;
    std::size_t head_ = 0, waiting_ = 0;
    Object front_ = 0;
};

// Give up the lost causes at the front of a level.
template <class Lost, class GiveUp>
void drop_lost(const WaitingLevel& level, Lost&& lost, GiveUp&& give_up) {
    while (!level.empty() && lost(level.front())) give_up(level.front());
}

// Of a level the first layer that some path of `ready` can bring in time, the oldest of these over all paths: a path with
// a longer light time passes over what only a shorter one can still save. `passable` says of each that is passed over
// whether to look further. `least_bytes`: what is passed over unseen, if it is late with so many.
template <class View, class Set, class Passable>
bool first_in_time(const View& view, const WaitingLevel& level, Slack slack, Set ready, Object& object,
                   Passable&& passable, std::int64_t least_bytes) {
    object = level.front();
    if (!view.blocked(object) && in_time(view, object, slack, ready) != 0) return true;
    bool found = false;
    const double share = view.repair_share();
    for (; ready != 0; ready &= ready - 1) {
        const std::size_t s = lowest_path(ready);
        const Forecast path = view.forecast(s);
        const Time least = path.window_ns + sending(least_bytes, path);
        const auto rejects = [&](Object o) { return late(view.layer(o), path, slack, share) || view.blocked(o); };
        std::size_t looked = 0;
        Object candidate = 0;
        // Deadlines rise along the level: search by them, then pass over what is late for its size, or blocked.
        const bool any = level.first(
            4 * s + static_cast<std::size_t>(slack),
            [&](Object o) { return due(view.layer(o), path, slack, share) < least; },
            [&](Object o) { return passable(o, looked++) && rejects(o); }, candidate);
        if (!any || rejects(candidate) || (found && candidate >= object)) continue;
        object = candidate;
        found = true;
    }
    return found;
}

// Of a level what light could still bring: what is begun, else the newest.
template <class View, class Set>
bool last_in_time(const View& view, const WaitingLevel& level, Set ready, Object& object) {
    object = level.front();
    if (view.layer(object).begun && in_time(view, object, Slack::kLight, ready) != 0) return true;
    return level.last([&](Object o) { return !view.blocked(o) && in_time(view, o, Slack::kLight, ready) != 0; },
                      object);
}

// ------------------------------------------------------------------------------------------------------------ order

// The next layer, and in `paths` (at first those with room) those of them that can bring it in time. False: nothing can be.
// `drop_lost` is to give up the lost causes at the front of a level, just before that is looked at.
// `least_bytes`, by level: of layers that wait there none has fewer, or is begun, and no deadline falls.
template <class View, class Set, class Drop>
bool next_in_time(const View& view, Set& paths, Object& object, Drop&& drop_lost,
                  const std::vector<std::int64_t>& least_bytes = {}) {
    const auto all = [](Object, std::size_t) { return true; };
    std::size_t place = 0;
    for (const WaitingLevel& level : view.levels()) {
        drop_lost(level);
        const std::int64_t least = place < least_bytes.size() ? least_bytes[place++] : 0;
        for (const Slack slack : {Slack::kRepair, Slack::kWindow})
            if (!level.empty() && first_in_time(view, level, slack, paths, object, all, least)) {
                paths = in_time(view, object, slack, paths);
                return true;
            }
    }
    for (const WaitingLevel& level : view.levels())
        if (!level.empty() && last_in_time(view, level, paths, object)) {
            paths = in_time(view, object, Slack::kLight, paths);
            return true;
        }
    return false;
}

// When a layer's turn comes. Base layers first: no release comes between the turns of two layer numbers.
inline Time turn(const Layer& layer, Time gap_ns) {
    return layer.release + layer.layer * std::min(gap_ns, kNever / 256);
}

// Of `set`, the paths that the table's entry lets a layer take. Where it names none that can be used, all; `strict`: none.
template <class Set>
Set allowed(std::int32_t entry, Set set, Set usable, std::size_t paths, bool strict) {
    constexpr std::int32_t kMost = 8 * sizeof(Set);
    if (entry <= kAvoid && kAvoid - entry < kMost) {
        const Set others = ~(Set{1} << static_cast<unsigned>(kAvoid - entry));
        return (usable & others) != 0 ? set & others : set;
    }
    if (entry < 0 || static_cast<std::size_t>(entry) >= paths) return set;
    const Set own = Set{1} << static_cast<unsigned>(entry);
    return strict || (usable & own) != 0 ? set & own : set;
}

// The paths on which a repair of the layer would be in time; none if that is so of all.
template <class View>
typename View::Set shelters(const View& view, Object object) {
    const auto usable = view.usable();
    const auto found = in_time(view, object, Slack::kRoundTrip, usable);
    return found == usable ? 0 : found;
}

// Whether a layer that is not to be sheltered is needed before the repair of one that is would have to leave.
template <class View>
bool needed_before_repair(const View& view, Object sheltered) {
    Time repair = 0;
    for (auto left = view.usable(); left != 0; left &= left - 1)
        repair = std::max(repair, view.forecast(lowest_path(left)).repair_ns);
    const Time before = view.layer(sheltered).deadline - repair;
    return std::any_of(view.levels().begin(), view.levels().end(), [&](const WaitingLevel& level) {
        if (level.empty()) return false;
        const Layer front = view.layer(level.front());
        return view.entry(front.layer) != kRepairable && front.deadline < before;
    });
}

// As next_in_time(), by turns.
template <class View>
bool next_in_turn(const View& view, typename View::Set& paths, Object& object) {
    using Set = typename View::Set;
    struct Pass {
        Slack slack;
        bool by_table;
    };
    constexpr Pass passes[] = {
        {Slack::kRoundTrip, true}, {Slack::kRepair, true}, {Slack::kWindow, true}, {Slack::kWindow, false}};
    const Set ready = paths;
    const auto entry = [&](Object o) { return view.entry(view.layer(o).layer); };
    const auto of_table = [&](Object o) {
        return allowed(entry(o), ready, view.usable(), view.paths(), view.strict());
    };
    const auto turn_of = [&](Object o) { return turn(view.layer(o), view.gap_ns()); };
    for (const auto& [slack, by_table] : passes) {
        Time best = kNever;
        Set chosen = 0;
        if (!by_table && view.strict()) continue;
        for (const WaitingLevel& level : view.levels()) {
            if (level.empty()) continue;
            const bool sheltered = entry(level.front()) == kRepairable;
            if (slack == Slack::kRoundTrip && !sheltered) continue;
            Set set = by_table ? of_table(level.front()) : ready;
            // Deadlines rise along the level: what holds for the front holds for all behind it.
            const Set there = by_table && sheltered ? shelters(view, level.front()) : 0;
            if (there != 0) set &= there;
            if (slack == Slack::kRoundTrip && there == 0 && needed_before_repair(view, level.front())) continue;
            Object candidate = 0;
            // What has its turn later than the best is not looked for, and no more than a few dozen are passed over.
            const auto passable = [&](Object o, std::size_t looked) {
                return turn_of(o) < best && looked < kLookAhead;
            };
            if (set == 0 || !first_in_time(view, level, slack, set, candidate, passable, 0) ||
                turn_of(candidate) >= best)
                continue;
            best = turn_of(candidate);
            object = candidate;
            chosen = set;
        }
        if (best == kNever) continue;
        paths = in_time(view, object, slack, chosen);
        return true;
    }
    for (const WaitingLevel& level : view.levels()) {
        if (level.empty()) continue;
        const Set set = view.strict() ? of_table(level.front()) : ready;
        if (set == 0 || !last_in_time(view, level, set, object)) continue;
        paths = in_time(view, object, Slack::kLight, set);
        return true;
    }
    return false;
}

}  // namespace dstcc_dispatch

#endif
