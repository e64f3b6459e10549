// Round-trip time: RFC 6298 as Linux computes it, and a windowed minimum.
#pragma once

#include <algorithm>
#include <cstdlib>

#include "core/base.hpp"

namespace dstcc {

// srtt <- 7/8 srtt + 1/8 m;  the deviation is the largest seen within a round trip, at least RTO_MIN, and decays by a
// quarter of the excess per round trip (Linux tcp_rtt_estimator).  RTO = srtt + rttvar.
class RttEstimator {
public:
    bool operator==(const RttEstimator& other) const {
        return srtt8_ == other.srtt8_ && mdev4_ == other.mdev4_ && rttvar_ == other.rttvar_ &&
               mdev_max_ == other.mdev_max_;
    }
    void sample(Time m, Time rto_min, bool round_passed) {
        if (srtt8_ == 0) {
            srtt8_ = m * 8;
            mdev4_ = m * 2;
            rttvar_ = std::max(mdev4_, rto_min);
            mdev_max_ = rttvar_;
            return;
        }
        Time error = m - srtt();
        srtt8_ += error;
        if (error < 0) {
            error = -error - deviation();
            if (error > 0) error /= 8;  // a falling RTT is no reason to wait longer
        } else {
            error -= deviation();
        }
        mdev4_ += error;
        if (mdev4_ > mdev_max_) {
            mdev_max_ = mdev4_;
            rttvar_ = std::max(rttvar_, mdev_max_);
        }
        if (round_passed) {
            if (mdev_max_ < rttvar_) rttvar_ -= (rttvar_ - mdev_max_) / 4;
            mdev_max_ = rto_min;
        }
    }
    Time srtt() const { return srtt8_ >> 3; }
    // Smoothed mean deviation (RFC 6298's RTTVAR, without Linux's floor).
    Time deviation() const { return mdev4_ >> 2; }
    Time rto() const { return srtt() + rttvar_; }

private:
    Time srtt8_ = 0, mdev4_ = 0, rttvar_ = 0, mdev_max_ = 0;
};

// Minimum over the last one to two windows: two buckets, the older dropped as a window ends.
class WindowedMin {
public:
    void sample(Time value, Time now, Time window) {
        if (now - start_ > window) {
            older_ = now - start_ > 2 * window ? kNever : newer_;
            newer_ = kNever;
            start_ = now;
        }
        newer_ = std::min(newer_, value);
    }
    Time value() const { return std::min(older_, newer_); }
    bool ends(Time now, Time window) const { return now - start_ > window; }

private:
    Time start_ = 0, older_ = kNever, newer_ = kNever;
};

}  // namespace dstcc
