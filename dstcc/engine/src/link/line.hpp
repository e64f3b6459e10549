// A transmitter that knows from the contact plan when its link is dark, and its rate over time, as a station does. An end puts
// what it sends on its own direction through it; what becomes of that it does not hear.
//
// It starts nothing that an outage would cut (`PlannedWay::fit`), and work of length w begun at t is done at finish(t, w), the
// outages in between passed over. Lengths are those at the plan's rates (link/rate_steps.hpp).
#pragma once

#include "link/contact.hpp"
#include "link/way.hpp"

namespace dstcc {

template <class Segment>
class Line {
public:
    // `told_bps` above 0 spaces transmissions at that wire rate, always, instead of the plan's, of which it has a share
    // where several begin with one line.
    // What is sent up to `unseen_ns` after its time, nobody misses (0: each at its time).
    Line(Way<Segment>& way, const PlannedWay& plan, std::uint32_t full_bytes, double told_bps, int sharers = 1,
         Time unseen_ns = 0)
        : way_(&way),
          plan_(&plan),
          ns_per_byte_(told_bps > 0 ? 8.0 * kNsPerS / told_bps : plan.ns_per_byte() * sharers),
          full_bytes_(full_bytes),
          full_gap_(gap_of(full_bytes)),
          unseen_ns_(unseen_ns),
          pace_(told_bps > 0 ? RateSteps() : plan.rate()) {}

    // `departs_ns`: the end of service, which is when the timers of RFC 5326 start; where the queue was full, now, and the wait
    // is below 0.
    struct Sent {
        Time departs_ns, waited_ns;
    };
    // `beside`: ranges that the segment names.
    Sent send(Time now, const Segment& segment, std::uint32_t bytes, const Range* beside = nullptr,
              std::size_t ranges = 0) {
        const Direction::Passage passage = way_->send(now, segment, bytes, beside, ranges);
        free_ns_ = pace_.finish(now, bytes == full_bytes_ ? full_gap_ : gap_of(bytes));
        return {passage.wait_ns < 0 ? now : way_->direction_->busy_ns(), passage.wait_ns};
    }

    // The same at the times of a run for full segments, the first of which is given; tells how long they waited.
    const std::vector<RunPassage::Waits>& send(const Segment& first, const Run& run) {
        free_ns_ = run.at(run.count);
        return way_->put(first, run, full_bytes_);
    }
    // As many full segments as can follow one another once it is free, while the plan has no outage and no other rate.
    Run ahead() const {
        const Time from = free_ns_, service = plan_->service_ns(full_bytes_);
        const Time takes = plan_->rate().finish(from, service) - from, gap = this->gap(from);
        const auto outage = plan_->outage_after(from);
        Time lit = outage == plan_->outages().end() ? kNever : outage->first;
        if (plan_->rate().change_after(from) < lit) lit = plan_->rate().change_after(from) - 1;
        const Time longest = std::max(takes, gap);
        return {from, gap, lit - longest < from ? 0 : (lit - longest - from) / gap + 1};
    }
    Time gap(Time at) const { return pace_.finish(at, full_gap_) - at; }  // behind a full segment
    Time unseen_ns() const { return unseen_ns_; }
    void send_at_once() { unseen_ns_ = 0; }

    Time free_ns() const { return free_ns_; }
    double ns_per_byte() const { return ns_per_byte_; }  // at the most rate
    // The share of the most rate that transmissions keep to at a time.
    double share_at(Time at) const { return pace_.share_at(at); }
    double rate_bps(Time at) const { return 8.0 * kNsPerS / ns_per_byte_ * share_at(at); }
    std::int64_t queue_bytes(Time now) const {
        return way_->direction_->queue_bytes(now);
    }  // its own queue, in front of the line
    // When so many bytes may start, from `at` on.
    Time fit(Time at, std::uint32_t bytes) const { return plan_->fit(at, plan_->service_ns(bytes)); }
    Time finish(Time at, Time work) const {
        for (auto next = plan_->outage_after(at); next != plan_->outages().end(); ++next) {
            const Time dark = std::max(next->first, at);
            const Time lit = pace_.steady() ? dark - at : static_cast<Time>(pace_.work(at, dark));
            if (work <= lit) break;
            work -= lit;
            at = next->second;
        }
        return pace_.finish(at, work);
    }

private:
    Time gap_of(std::uint32_t bytes) const { return std::max<Time>(static_cast<Time>(ns_per_byte_ * bytes + 0.5), 1); }

    Way<Segment>* way_;
    const PlannedWay* plan_;
    double ns_per_byte_;
    std::uint32_t full_bytes_;
    Time full_gap_, unseen_ns_, free_ns_ = 0;
    RateSteps pace_;
};

// The lines of an end, by link, and when each is to be served next.
template <class Segment>
class Lines {
public:
    explicit Lines(QuickHeads heads) : heads_(heads) {}
    void add(const Line<Segment>& line) {
        lines_.push_back(line);
        off_until_.push_back(0);
    }
    std::size_t size() const { return lines_.size(); }
    Line<Segment>& operator[](std::size_t l) { return lines_[l]; }
    const Line<Segment>& operator[](std::size_t l) const { return lines_[l]; }

    // Something waits: it is served when the line is free.
    void wake(Time now, std::size_t l) {
        const Time at = std::max(now, lines_[l].free_ns());
        if (at < heads_.at(l)) heads_.set(l, at);
    }
    void serve(std::size_t l, Time at) { heads_.set(l, at); }
    // Its node boots until then.
    void turn_off(std::size_t l, Time until) { off_until_[l] = until; }
    bool off(Time now, std::size_t l) const { return now < off_until_[l]; }
    // May something of that size start now? If an outage or a boot is in the way, the line is served again when it is over.
    bool lit(Time now, std::size_t l, std::uint32_t bytes) {
        const Time at = lines_[l].fit(std::max(now, off_until_[l]), bytes);
        if (at > now) heads_.set(l, at);
        return at <= now;
    }

private:
    std::vector<Line<Segment>> lines_;
    std::vector<Time> off_until_;
    QuickHeads heads_;
};

}  // namespace dstcc
