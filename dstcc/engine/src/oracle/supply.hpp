// What one link can carry as a function of time, in bytes, counted in full packets and in line time.
//
//   full packets   Starting each as early as it gets through brings the most of them; from any time on, at most one more
//                  than that count.
//   line time      Lit time at the link's rate, of coded links without frames that are erased behind an erased one, and less
//                  what lost draws take of each slot (Direction::spent_in).
#pragma once

#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/config.hpp"
#include "link/direction.hpp"

namespace dstcc {

// What may be carried up to each chunk's deadline (p), and what is gone by its release (q).
struct Windows {
    std::vector<double> p, q;
    void reset(std::size_t chunks) {
        p.assign(chunks, 0);
        q.assign(chunks, 0);
    }
};

// A link as a sender knows it: its draws, or the share of packets that gets through.
struct Channel {
    Direction direction;
    double share = 1;
    Time open_ns = 0;  // nothing leaves before
};

// Times of the chunks at a link: none leaves before its release, and each is gone by its end. Both rise.
struct ChunkTimes {
    std::vector<Time> release, end;
};

// What of a link is gone by each chunk's release, and in which of its ways that was counted.
struct Gone {
    std::vector<double> full, line;
    std::tuple<bool, bool, bool> way;
};

// What leaves, in bytes on the line: full packets, at most so long ones with data, and no packet shorter than the least.
struct WireSizes {
    std::uint32_t full = 0, longest = 0, least = 0;
};

// What was counted of a link up to times that are a step apart, for walks that come later.
class Marks {
public:
    Marks() = default;
    explicit Marks(Time step) : step_(step) {}
    // Go on to `at`, from the last mark before it if that is ahead; `walk` goes on from `next`, and adds to `count`.
    template <class Walk>
    void go(Time at, Time& next, double& count, Walk&& walk) {
        if (step_ > 0 && at > 0) {
            const auto last = static_cast<std::size_t>(at / step_);
            if (last < known_.size() && known_[last].first > next) std::tie(next, count) = known_[last];
            while (known_.size() <= last) {
                walk(static_cast<Time>(known_.size()) * step_);
                known_.emplace_back(next, count);
            }
        }
        walk(at);
    }

private:
    Time step_ = 0;  // 0: none are kept
    std::vector<std::pair<Time, double>> known_;
};

// A link's full packets as runs of which none is lost and none waits, found once for all walks; of a line of one rate whose
// losses are drawn by slots.
class Runs {
public:
    explicit Runs(const Direction& line) : line_(line), slot_ns_(line.slot_ns()), reach_(kMostSlots * line.slot_ns()) {}
    // Those that start before `at`; `place` is where the last look-up ended, for times that rise.
    double before(Time at, std::size_t& place);
    // Later ones would take too much memory, were most of them lost.
    bool reach(Time at) const { return at <= reach_; }
    static constexpr Time kMostSlots = Time{1} << 22;

private:
    struct Run {
        Time from;
        double before;
    };
    std::vector<Run> runs_;
    Direction line_;
    Time slot_ns_, reach_, next_ = 0;
    double packets_ = 0;
};

// Of a link's full packets, and of its frames.
struct LinkMarks {
    Marks full, frames;
    std::optional<Runs> runs;
};

class Supply {
public:
    Supply(const Channel& channel, const EngineConfig& config, const LinkConfig& link, const WireSizes& sizes,
           Time last, LinkMarks& marks);

    // Full packets that depart by the end, for chunk after chunk, and the least that is used up before the release, in
    // windows that begin there.
    void add_full(const ChunkTimes& times, Windows& windows);
    // The same in line time.
    void add_line(const ChunkTimes& times, Windows& windows);
    // The same for one chunk after another, of their releases or of their ends.
    double full_gone(Time release);
    double full_by(Time end);
    double line_gone(Time release);
    double line_by(Time end);
    // In which of its ways it counts, which depends on the last deadline.
    std::tuple<bool, bool, bool> way() const { return {coarse_, framed_, spends_}; }

private:
    // A walk over a link's slots that goes on from where it is.
    struct Walk {
        Direction direction;
        std::int64_t slot = 0;
        Time spent_ns = 0;
    };
    template <class Release, class End>
    void in_order(const ChunkTimes& times, Time shift, Release&& at_release, End&& at_end) const;
    // The last start of a full packet that ends by then, and a nanosecond.
    Time starts_before(Time end) const { return end - slot_ns_ + 1; }
    double packets_before(Time at);
    double line_bytes(Time at, bool begins);
    // Of the slots below `end`.
    double spent_below(Walk& walk, std::int64_t end) const;
    // Time outside outages, up to `at`, and the same in time at the most rate.
    Time lit_before(Time at) const;
    double lit_work_before(Time at) const;

    LinkMarks& marks_;
    Direction full_, framed_line_;
    Walk by_release_, by_end_;
    double share_;
    std::vector<std::pair<Time, Time>> outages_;
    RateSteps steps_;
    Time horizon_, slot_ns_, least_ns_ = 0, longest_ns_ = 0;
    WireSizes sizes_;
    double bytes_per_ns_ = 0;
    bool coarse_ = false, framed_ = false, spends_ = false;
    Time next_ = 0;
    std::size_t run_ = 0;
    double packets_ = 0, usable_ = 0;
    std::int64_t frame_ = 0;
};

}  // namespace dstcc
