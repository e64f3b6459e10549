#include "paths/own_queue.hpp"

#include <algorithm>
#include <cmath>

namespace dstcc {

Time OwnQueue::see(Time now, const QueueSeen& seen, double limit) {
    const auto before = static_cast<double>(seen.before), after = static_cast<double>(seen.after);
    const double packet = seen.packet, taken = std::max(after - before, 0.0);
    if (last_ns_ < 0) begin_train(now, before);
    const bool late = now - last_ns_ > kLate * (due_ns_ - last_ns_);
    if (known() && late)
        begin_train(now, before);
    else if (known() && now > last_ns_)
        measure(now, before);
    refused_ = taken < packet / 2;
    if (refused_) target_ = std::min(target_, std::max(before / 2, kLeastTarget * packet));
    for (; !own_.empty() && own_.front().leaves_ns <= now; own_.pop_front()) {
        const Own& gone = own_.front();
        own_bytes_ -= gone.bytes;
        if (gone.leaves_ns > gone.came_ns) served_ = gone;
    }
    if (!known() && served() > 0) {
        line_ = served();
        share_ = line_ * std::min((own_bytes_ + packet) / (before + packet), 1.0);
        begin_train(now, before);
    }
    if (taken > 0) own_.push_back({now, seen.leaves_ns, taken, after});
    own_bytes_ += taken;
    entered_ += taken;
    ++packets_;
    queue_ = after;
    others_ = others_ || besides() > 0;
    last_ns_ = now;
    due_ns_ = next(now, packet, seen.leaves_ns, limit);
    return due_ns_ - now;
}

void OwnQueue::begin_train(Time now, double queue) {
    train_from_ns_ = lost_from_ns_ = now;
    train_queue_ = queue;
    entered_ = lost_ = most_ = 0;
    packets_ = 0;
    stood_ = true;
    others_ = false;
}

// What the time since the last packet has shown.
void OwnQueue::measure(Time now, double before) {
    const double drained = queue_ - before;
    lost_ += std::max(drained, 0.0);
    if (before <= 0) stood_ = false;
    if (lost_ >= full_ || before <= 0) {
        most_ = std::max(most_, lost_ / static_cast<double>(now - lost_from_ns_));
        lost_ = 0;
        lost_from_ns_ = now;
    }
    if (packets_ < kTrain) return;
    const double left = (entered_ - (before - train_queue_)) / static_cast<double>(now - train_from_ns_);
    share_ = stood_ ? (share_ + std::max(left, 0.0)) / 2 : std::max(share_, left);
    if (others_) most_ = std::max(most_, served());
    line_ = std::max({stood_ ? most_ : line_, most_, share_});
    begin_train(now, before);
}

Time OwnQueue::next(Time now, double packet, Time leaves, double limit) {
    if (!known()) {
        if (own_bytes_ < target_ && !refused_) return now;
        return std::max(own_.empty() ? leaves : own_.front().leaves_ns, now + wait_);
    }
    const double target = std::max(target_, besides());
    const double horizon = std::max(kHorizon * full_, kHorizon / kTarget * target);
    // What others filled may be empty before a wait at the least pace is over.
    const bool filled = queue_ > kAlike * kTarget * full_ && !refused_ && leaves > now;
    const double empties = filled ? std::min(packet / static_cast<double>(leaves - now), line_) : 0;
    const std::array<double, 7> of = {share_, line_, target, own_bytes_, packet, empties, limit};
    if (of == gap_of_) return now + gap_ns_;
    const double pace = std::max({share_ + line_ * (target - own_bytes_) / horizon, kLeastPace * line_, empties});
    gap_of_ = of;
    gap_ns_ = static_cast<Time>(std::min(packet / std::min(pace, limit) + 0.5, static_cast<double>(kNever / 4)));
    return now + gap_ns_;
}

}  // namespace dstcc
