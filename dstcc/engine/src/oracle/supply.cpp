#include "oracle/supply.hpp"

#include <algorithm>
#include <limits>

namespace dstcc {

namespace {

// A link with more slots or frames than this by the last deadline is taken for lossless: still an upper bound, and no
// hour's work.
constexpr double kMostDraws = 3e7;

}  // namespace

Supply::Supply(const Channel& channel, const EngineConfig& config, const LinkConfig& link, const WireSizes& sizes,
               Time last, LinkMarks& marks)
    : marks_(marks),
      full_(channel.direction),
      framed_line_(channel.direction),
      by_release_{channel.direction},
      by_end_{channel.direction},
      share_(channel.share),
      outages_(all_outages(link, false)),
      steps_(RateSteps::actual(link, false)),
      horizon_(config.duration_ns),
      slot_ns_(full_.slot_ns()),
      least_ns_(full_.service_ns(sizes.least)),
      longest_ns_(full_.service_ns(sizes.longest)),
      sizes_(sizes) {
    last = std::min(last, horizon_);
    const auto most = static_cast<double>(last) / kMostDraws;
    coarse_ = static_cast<double>(slot_ns_) < most;
    framed_ = full_.framed() && full_.usable_frame_ns() >= most;
    spends_ = full_.draws_by_slot() && steps_.steady() && !coarse_ && longest_ns_ < slot_ns_;
    // Service times are rounded to nanoseconds: the shortest packet with data may take half of one less than its bytes.
    const double ns_per_byte = 8.0 * kNsPerS / link.rate_bps - 0.5 / (config.transport.header_bytes + 1);
    bytes_per_ns_ = ns_per_byte > 0 ? 1 / ns_per_byte : std::numeric_limits<double>::infinity();
}

// Both lists as one that rises, so that the line is walked once.
template <class Release, class End>
void Supply::in_order(const ChunkTimes& times, Time shift, Release&& at_release, End&& at_end) const {
    const std::vector<Time>&release = times.release, &end = times.end;
    const auto released = [&](std::size_t i) { return std::min(release[i], horizon_); };
    const auto ended = [&](std::size_t j) { return std::min(end[j], horizon_) + shift; };
    for (std::size_t i = 0, j = 0; i < release.size() || j < end.size();) {
        if (j == end.size() || (i < release.size() && released(i) <= ended(j))) {
            at_release(i++);
        } else {
            at_end(j++);
        }
    }
}

void Supply::add_full(const ChunkTimes& times, Windows& windows) {
    in_order(
        times, starts_before(0), [&](std::size_t k) { windows.q[k] += full_gone(times.release[k]); },
        [&](std::size_t k) { windows.p[k] += full_by(times.end[k]); });
}

void Supply::add_line(const ChunkTimes& times, Windows& windows) {
    in_order(
        times, 0, [&](std::size_t k) { windows.q[k] += line_gone(times.release[k]); },
        [&](std::size_t k) { windows.p[k] += line_by(times.end[k]); });
}

double Supply::full_gone(Time release) {
    return share_ * sizes_.full * std::max(packets_before(std::min(release, horizon_)) - 1, 0.0);
}

double Supply::full_by(Time end) {
    return share_ * sizes_.full * packets_before(starts_before(std::min(end, horizon_)));
}

double Supply::line_gone(Time release) { return share_ * line_bytes(std::min(release, horizon_), true); }

double Supply::line_by(Time end) { return share_ * line_bytes(std::min(end, horizon_), false); }

double Runs::before(Time at, std::size_t& place) {
    constexpr Time kSlotsAhead = 1024;
    while (next_ < at) {
        const Run run{next_, packets_};
        packets_ += static_cast<double>(line_.count_run(next_, at + kSlotsAhead * slot_ns_));
        if (packets_ > run.before) runs_.push_back(run);
    }
    while (place + 1 < runs_.size() && runs_[place + 1].from < at) ++place;
    if (runs_.empty() || at <= runs_[place].from) return 0;
    const Run& run = runs_[place];
    const double after = place + 1 < runs_.size() ? runs_[place + 1].before : packets_;
    return std::min(run.before + static_cast<double>((at - run.from + slot_ns_ - 1) / slot_ns_), after);
}

double Supply::packets_before(Time at) {
    if (coarse_ && steps_.steady())
        return std::max(0.0, static_cast<double>(lit_before(at + slot_ns_)) / static_cast<double>(slot_ns_));
    if (coarse_) return lit_work_before(at) / static_cast<double>(slot_ns_) + 1;
    if (marks_.runs && marks_.runs->reach(at)) return marks_.runs->before(at, run_);
    marks_.full.go(at, next_, packets_,
                   [&](Time to) { packets_ += static_cast<double>(full_.count_delivering(next_, to)); });
    return packets_;
}

double Supply::line_bytes(Time at, bool begins) {
    if (!framed_) {
        if (!spends_) return lit_work_before(at) * bytes_per_ns_;
        // A slot counts for windows that it lies in as a whole.
        const std::int64_t whole = at / slot_ns_, begun = whole + (at % slot_ns_ > 0 ? 1 : 0);
        const double spent = begins ? spent_below(by_release_, begun) : spent_below(by_end_, whole);
        return (lit_work_before(at) - spent) * bytes_per_ns_;
    }
    // A frame that is being sent counts for windows that end in it and for those that begin in it.
    marks_.frames.go(at, frame_, usable_, [&](Time to) { usable_ += framed_line_.usable_frames(frame_, to); });
    const double frames = begins ? std::max(usable_ - 1, 0.0) : usable_;
    return frames * framed_line_.usable_frame_ns() * bytes_per_ns_;
}

double Supply::spent_below(Walk& walk, std::int64_t end) const {
    for (; walk.slot < end; ++walk.slot)
        walk.spent_ns += walk.direction.spent_in(walk.slot, sizes_.least, least_ns_, longest_ns_);
    return static_cast<double>(walk.spent_ns);
}

Time Supply::lit_before(Time at) const {
    Time lit = at;
    for (const auto& [from, to] : outages_) lit -= std::clamp<Time>(at - from, 0, to - from);
    return std::max<Time>(lit, 0);
}

double Supply::lit_work_before(Time at) const {
    if (steps_.steady()) return static_cast<double>(lit_before(at));
    double lit = steps_.work(0, at);
    for (const auto& [from, to] : outages_)
        if (at > from) lit -= steps_.work(from, std::min(at, to));
    return std::max(lit, 0.0);
}

}  // namespace dstcc
