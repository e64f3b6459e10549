// One direction of a link: drop-tail queue, serialisation, loss, propagation.
//
//   start  = max(now, busy);  depart = start + bytes / rate;  arrive = depart + delay(depart)
//
// The rate is constant, or has steps (link/rate_steps.hpp). A *service slot* is the time a full-size packet takes on the line at
// the most rate; slot k covers [k T, (k+1) T). A full packet's draw is
// the first of the slot in which its service starts (no two start in one), so the channel is a function of (seed, link,
// direction, time) and two policies meet the same one. The nth short packet of a slot takes its nth draw. Coded links have
// a clock of frames instead of slots (link/frames.hpp).
#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "core/run.hpp"
#include "link/delay.hpp"
#include "link/frames.hpp"
#include "link/loss.hpp"
#include "link/rate_steps.hpp"

namespace dstcc {

// Announced and unannounced outages of a direction as one list, rising and disjoint.
std::vector<std::pair<Time, Time>> all_outages(const LinkConfig& link, bool up);

// What became of a run of packets: of those that arrive the place in the run, and how long those that found room waited.
struct RunPassage {
    struct Waits {
        Time wait_ns = 0;
        std::int64_t count = 0;
    };
    std::vector<Stretch> arrive;
    std::vector<Waits> waits;

    void clear() {
        arrive.clear();
        waits.clear();
    }
    void arrives(std::int64_t place, const Run& at) {
        if (!arrive.empty() && arrive.back().place + arrive.back().arrivals.count == place &&
            arrive.back().arrivals.append(at))
            return;
        Stretch& stretch = arrive.emplace_back();  // field by field: see core/ring.hpp
        stretch.place = place;
        stretch.arrivals = at;
    }
    void waited(Time wait_ns, std::int64_t count) {
        if (waits.empty() || waits.back().wait_ns != wait_ns) waits.emplace_back().wait_ns = wait_ns;
        waits.back().count += count;
    }
};

class Direction {
public:
    struct Passage {
        Time arrive_ns;  // kNever: lost or dropped
        Time wait_ns;    // time in the queue before service; -1 when the queue was full
    };

    Direction() = default;
    Direction(const LinkConfig& link, bool up, std::uint64_t seed, std::uint64_t index, std::uint32_t full_bytes);

    // Where rate and delay are constant it is a few instructions, put into both ends; the rest is off their way.
    [[gnu::always_inline]] Passage transmit(Time now, std::uint32_t bytes) {
        if (!steady_) return transmit_unsteady(now, bytes);
        const Time start = busy_ns_ > now ? busy_ns_ : now, wait = start - now;
        if (bytes != last_bytes_) measure(bytes);
        ++sent_;
        if (wait + last_service_ns_ > limit_ns_) {
            ++dropped_;
            return {kNever, -1};
        }
        busy_ns_ = start + last_service_ns_;
        if (busy_ns_ > safe_until_ns_ && lost(start, bytes)) return {kNever, wait};
        return {busy_ns_ + first_delay_ns_, wait};
    }
    // The same for one packet after another at the times of a run; those that are served at equal distances all at once.
    void transmit(const Run& run, std::uint32_t bytes, RunPassage& out) { transmit(run, 0, bytes, out); }
    void transmit(const Volleys& volleys, std::uint32_t bytes, RunPassage& out);
    // How long each of the packets waits that come at that distance from now on, if nothing else comes: -1 where not all wait alike.
    Time wait_alike(Time now, Time distance, std::uint32_t bytes) {
        if (!steady_rate_ || most_packets_ > 0) return -1;
        if (bytes != last_bytes_) measure(bytes);
        const Time wait = std::max<Time>(busy_ns_ - now, 0);
        const bool alike = wait == 0 ? distance >= last_service_ns_ : distance == last_service_ns_;
        return alike && wait + last_service_ns_ <= limit_ns_ ? wait : -1;
    }

    // When its queue has room for a packet: now, or once enough of what stands there has left.
    Time room_at(Time now, std::uint32_t bytes) {
        if (bytes != last_bytes_) measure(bytes);
        const Time start = std::max(busy_ns_, now);
        if (!full(now, start)) return now;
        if (most_packets_ > 0) return departures_[departures_.size() - static_cast<std::size_t>(most_packets_)];
        const Time excess = waiting_ns(now, start) + last_service_ns_ - limit_ns_;
        return steady_rate_ ? now + excess : std::max(steps_.finish(now, excess), now + 1);
    }

    bool steady_rate() const { return steady_rate_; }
    Time service_ns(std::uint32_t bytes) const { return static_cast<Time>(ns_per_byte_ * bytes + 0.5); }
    Time slot_ns() const { return slot_ns_; }
    Time busy_ns() const { return busy_ns_; }  // until when what was put on the line keeps it
    void occupy(Time until) { busy_ns_ = std::max(busy_ns_, until); }
    // How long a packet that comes now waits for its service, at the rate of now.
    Time queue_ns(Time now) const {
        if (busy_ns_ <= now) return 0;
        if (steady_rate_) return busy_ns_ - now;
        return static_cast<Time>(steps_.work(now, busy_ns_) / steps_.share_at(now) + 0.5);
    }
    // A full packet's service, at that rate.
    Time full_service_ns(Time now) const {
        return steady_rate_ ? slot_ns_ : static_cast<Time>(static_cast<double>(slot_ns_) / steps_.share_at(now) + 0.5);
    }
    std::int64_t queue_bytes(Time now) const {
        return busy_ns_ > now ? static_cast<std::int64_t>(static_cast<double>(waiting_ns(now, busy_ns_)) / ns_per_byte_)
                              : 0;
    }
    // What is sent arrives later than after so long.
    Time least_delay() const { return delay_.least(); }
    // Propagation delay of a packet that departs at `at`.
    Time delay_lookup(Time at) const { return delay_.at(at); }

    // For the clairvoyant bound, in times that rise: how many full packets get through that start in [next, to), each as
    // early as it can; `next` is where the count goes on.
    std::int64_t count_delivering(Time& next, Time to);
    // The same up to the first that is lost or that an outage holds up, where has_runs().
    std::int64_t count_run(Time& next, Time to);
    bool has_runs() const { return steady_rate_ && !framed_; }
    // The line time, in frames, that packets of any size which get through can use, of the frames that begin before
    // `to`; `frame` is where the count goes on. A packet needs every frame in which it has a bit.
    double usable_frames(std::int64_t& frame, Time to);
    bool framed() const { return framed_; }
    // Whether losses are drawn by slots and places in them.
    bool draws_by_slot() const { return !lossless_ && !framed_; }
    // The line time in a lit slot that packets of at most `longest_ns` which get through cannot use, where none is shorter
    // than `least`; at a constant rate, for slots that rise.
    Time spent_in(std::int64_t slot, std::uint32_t least, Time least_ns, Time longest_ns);
    // The most line time of such a frame's packets: of a bit that reaches out of it by less than half, only the middle counts.
    double usable_frame_ns() const { return frames_.frame_ns() + frames_.bit_ns() + 1; }

    std::int64_t sent() const { return sent_; }
    std::int64_t dropped() const { return dropped_; }
    std::int64_t lost() const { return lost_; }

private:
    // No room for a packet that comes now, and that is served from `start` on.
    bool full(Time now, Time start) {
        if (most_packets_ == 0) return waiting_ns(now, start) + last_service_ns_ > limit_ns_;
        while (!departures_.empty() && departures_.front() <= now) departures_.pop_front();
        return static_cast<std::int64_t>(departures_.size()) >= most_packets_;
    }
    // What is served from `now` to `start`, in time at the most rate.
    Time waiting_ns(Time now, Time start) const {
        return steady_rate_ || start <= now ? start - now : static_cast<Time>(steps_.work(now, start) + 0.5);
    }
    // How long the line takes for so many bytes: mostly as many as the last time.
    [[gnu::noinline]] void measure(std::uint32_t bytes) {
        last_bytes_ = bytes;
        last_service_ns_ = bytes == full_bytes_ ? slot_ns_ : service_ns(bytes);
    }
    [[gnu::noinline]] Passage transmit_unsteady(Time now, std::uint32_t bytes);
    // Of packets of a run: when their services begin; how long the first waits, and each longer than the one before.
    struct Services {
        Run begin;
        Time wait_ns, longer_ns = 0;
    };
    Services at_once(const Run& run, std::int64_t place, std::uint32_t bytes) const;
    void transmit(const Run& run, std::int64_t before, std::uint32_t bytes, RunPassage& out);
    void serve(const Run& begin, std::int64_t place, std::uint32_t bytes, RunPassage& out);
    void draw(const Run& begin, std::int64_t place, std::uint32_t bytes, RunPassage& out);
    void arrive(Run begin, std::int64_t from, std::int64_t to, std::int64_t place, RunPassage& out);
    bool lost_in_slot(std::uint32_t nth, std::uint32_t bytes) {
        const ConstantLoss* const constant = loss_.constant();
        return constant != nullptr ? constant->lost(slot_, nth) : loss_.lost(slot_, nth, bytes);
    }
    // Is what is in service from `start` to `busy_ns_` lost?
    [[gnu::noinline]] bool lost(Time start, std::uint32_t bytes) {
        const ConstantLoss* const constant = loss_.constant();
        if (constant == nullptr || busy_ns_ > dark_from_ns_) return lost_anyhow(start, bytes);
        const std::uint32_t draw = draw_in_slot(start, bytes);
        return count_lost(constant->lost(slot_, draw));
    }
    // The same by an outage, or of whatever kind.
    [[gnu::noinline]] bool lost_anyhow(Time start, std::uint32_t bytes) {
        bool lost = busy_ns_ > dark_from_ns_ && in_outage(start, busy_ns_);
        if (!lossless_) lost |= loss_at(start, bytes);
        if (lossless_) safe_until_ns_ = dark_from_ns_;
        return count_lost(lost);
    }
    bool count_lost(bool lost) {
        lost_ += lost ? 1 : 0;
        return lost;
    }
    // Does service in [start, depart) touch an outage?  Moves on to the next outage once this one is over.
    bool in_outage(Time start, Time depart) {
        while (outage_ < outages_.size() && start >= outages_[outage_].second) ++outage_;
        dark_from_ns_ = outage_ < outages_.size() ? outages_[outage_].first : kNever;
        return depart > dark_from_ns_;
    }
    bool loss_at(Time start, std::uint32_t bytes) {
        if (framed_) return frames_.lost(start, bytes);
        const std::uint32_t draw = draw_in_slot(start, bytes);
        return loss_.lost(slot_, draw, bytes);
    }
    // Enter the slot of `start`; which of its draws a packet takes.
    std::uint32_t draw_in_slot(Time start, std::uint32_t bytes) {
        if (start >= slot_end_ns_) {
            nth_ = 0;
            if (start < slot_end_ns_ + slot_ns_) {
                ++slot_;
                slot_end_ns_ += slot_ns_;
            } else {
                slot_ = start / slot_ns_;
                slot_end_ns_ = (slot_ + 1) * slot_ns_;
            }
        }
        const std::uint32_t nth = nth_++;
        return bytes == full_bytes_ ? 0 : nth;
    }

    double ns_per_byte_ = 0;
    std::uint32_t full_bytes_ = 0;
    Time first_delay_ns_ = 0, dark_from_ns_ = kNever;
    bool lossless_ = true, framed_ = false, steady_delay_ = true, steady_rate_ = true;
    bool steady_ = true;           // rate and delay, and a queue of bytes
    Time safe_until_ns_ = kNever;  // what has left by then is not lost
    std::uint32_t last_bytes_ = 0;
    Time last_service_ns_ = 0;
    std::int64_t most_packets_ = 0;  // a queue that counts packets; 0: bytes
    std::deque<Time> departures_;    // of those in it, where it does
    Time slot_ns_ = 1, limit_ns_ = 0, busy_ns_ = 0, last_arrival_ns_ = 0;
    std::int64_t slot_ = -1;
    Time slot_end_ns_ = 0;
    std::uint32_t nth_ = 0;
    Losses loss_;
    FrameLoss frames_;
    RateSteps steps_;
    std::vector<std::pair<Time, Time>> outages_;
    std::size_t outage_ = 0, delay_row_ = 0;
    DelayTable delay_;
    std::int64_t sent_ = 0, dropped_ = 0, lost_ = 0;
};

}  // namespace dstcc
