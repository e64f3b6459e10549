// One direction of a link: drop-tail queue, serialisation at a constant rate, loss per service slot, propagation.
//
//   start  = max(now, busy);  depart = start + bytes / rate;  arrive = depart + delay(depart)
//
// A *service slot* is the time a full-size packet takes on the line; slot k covers [k T, (k+1) T). A packet's draw is
// indexed by the slot in which its service starts, so the channel is a function of (seed, link, direction, time) and two
// policies meet the same one. Later packets that start in the same slot (short ones) take the slot's further draws.
#pragma once

#include <algorithm>

#include "config.hpp"

namespace dstcc {

// Whether the packet served in a slot is lost.
class LossProcess {
public:
    LossProcess() = default;
    LossProcess(const LossConfig& config, std::uint64_t seed, std::uint64_t link, std::uint64_t direction);
    bool lost(std::int64_t slot, std::uint32_t nth, std::uint32_t bytes) {
        if (config_.kind == LossKind::kNone) return false;
        if (config_.kind == LossKind::kPeriodic) return ++served_ % period_ == 0;
        return draws_.bits(static_cast<std::uint64_t>(slot) + (std::uint64_t{nth} << 48)) < threshold(slot, bytes);
    }

private:
    std::uint64_t threshold(std::int64_t slot, std::uint32_t bytes) {
        if (config_.kind == LossKind::kPacket) return packet_threshold_;
        if (config_.kind == LossKind::kBer) return bytes == cached_bytes_ ? packet_threshold_ : size_threshold(bytes);
        return burst_threshold(slot);
    }
    std::uint64_t size_threshold(std::uint32_t bytes);
    std::uint64_t burst_threshold(std::int64_t slot);

    LossConfig config_;
    Stream draws_, sojourns_;
    std::uint64_t packet_threshold_ = 0, good_threshold_ = 0, bad_threshold_ = 0;
    std::uint32_t cached_bytes_ = 0;
    std::int64_t served_ = 0, period_ = 1;
    bool bad_state_ = false;
    std::int64_t sojourn_end_ = 0;
    std::uint64_t sojourn_ = 0;
};

class Direction {
public:
    struct Passage {
        Time arrive_ns;  // kNever: lost or dropped
        Time wait_ns;    // time in the queue before service; -1 when the queue was full
    };

    Direction() = default;
    Direction(const LinkConfig& link, bool up, std::uint64_t seed, std::uint64_t index, std::uint32_t full_bytes);

    Passage transmit(Time now, std::uint32_t bytes) {
        const Time start = busy_ns_ > now ? busy_ns_ : now;
        const Time service = bytes == full_bytes_ ? slot_ns_ : service_ns(bytes);
        ++sent_;
        if (start - now + service > limit_ns_) {
            ++dropped_;
            return {kNever, -1};
        }
        busy_ns_ = start + service;
        bool lost = busy_ns_ > dark_from_ns_ && in_outage(start, busy_ns_);
        if (!lossless_) lost |= loss_at(start, bytes);
        if (lost) {
            ++lost_;
            return {kNever, start - now};
        }
        if (delay_ns_.size() == 1) return {busy_ns_ + first_delay_ns_, start - now};
        // First in, first out, even while the path shortens.
        last_arrival_ns_ = std::max(last_arrival_ns_, busy_ns_ + table_delay(busy_ns_));
        return {last_arrival_ns_, start - now};
    }

    Time service_ns(std::uint32_t bytes) const { return static_cast<Time>(ns_per_byte_ * bytes + 0.5); }
    Time slot_ns() const { return slot_ns_; }
    // How long a packet that comes now waits for its service.
    Time queue_ns(Time now) const { return busy_ns_ > now ? busy_ns_ - now : 0; }
    std::int64_t queue_bytes(Time now) const {
        return busy_ns_ > now ? static_cast<std::int64_t>(static_cast<double>(busy_ns_ - now) / ns_per_byte_) : 0;
    }
    // Propagation delay of a packet that departs at `at`.
    Time delay_lookup(Time at) const;
    // Could a packet served in this slot get through?  For the clairvoyant bound; slots must rise.
    bool slot_delivers(std::int64_t slot) {
        const Time start = slot * slot_ns_;
        in_outage(start, start);  // moves the cursor
        const bool dark = outage_ < outages_.size() && outages_[outage_].first <= start &&
                          start + slot_ns_ <= outages_[outage_].second;
        return !dark && !loss_.lost(slot, 0, full_bytes_);
    }

    std::int64_t sent() const { return sent_; }
    std::int64_t dropped() const { return dropped_; }
    std::int64_t lost() const { return lost_; }

private:
    // Does service in [start, depart) touch an outage?  Moves on to the next outage once this one is over.
    bool in_outage(Time start, Time depart) {
        while (outage_ < outages_.size() && start >= outages_[outage_].second) ++outage_;
        dark_from_ns_ = outage_ < outages_.size() ? outages_[outage_].first : kNever;
        return depart > dark_from_ns_;
    }
    bool loss_at(Time start, std::uint32_t bytes) {
        if (start < slot_end_ns_) {
            ++nth_;
        } else {
            nth_ = 0;
            if (start < slot_end_ns_ + slot_ns_) {
                ++slot_;
                slot_end_ns_ += slot_ns_;
            } else {
                slot_ = start / slot_ns_;
                slot_end_ns_ = (slot_ + 1) * slot_ns_;
            }
        }
        return loss_.lost(slot_, nth_, bytes);
    }
    Time table_delay(Time at);

    double ns_per_byte_ = 0;
    std::uint32_t full_bytes_ = 0;
    Time first_delay_ns_ = 0, dark_from_ns_ = kNever;
    bool lossless_ = true;
    Time slot_ns_ = 1, limit_ns_ = 0, busy_ns_ = 0, last_arrival_ns_ = 0;
    std::int64_t slot_ = -1;
    Time slot_end_ns_ = 0;
    std::uint32_t nth_ = 0;
    LossProcess loss_;
    std::vector<std::pair<Time, Time>> outages_;
    std::size_t outage_ = 0, delay_cursor_ = 0;
    std::vector<Time> delay_t_ns_, delay_ns_;
    std::int64_t sent_ = 0, dropped_ = 0, lost_ = 0;
};

}  // namespace dstcc
