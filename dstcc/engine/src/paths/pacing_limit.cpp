#include "paths/pacing_limit.hpp"

#include <algorithm>
#include <cmath>

namespace dstcc {

namespace {

// Shares lost beyond the base loss. High loss starts a trial at once or in the second round trip, slight loss later.
constexpr double kHighLoss = 0.05;
constexpr double kSlightLoss = 0.01;
// The limit as a share of the rate that came through. The rest drains the path's queue.
constexpr double kMargin = 0.98;
// The least limit as a share of the pacing rate, so that a path that lost everything still gets some data.
constexpr double kMinShare = 0.1;
// High losses up to this many times the fastest rate that came through may be a burst. They are judged in the second round
// trip.
constexpr double kProven = 1.1;
// A share of losses means something if the fate of so many segments is known.
constexpr double kMinSegments = 50.0;
// Round trips between two trials.
constexpr double kFirstPause = 4.0;
constexpr double kLongestPause = 64.0;
// Round trips that a trial lasts.
constexpr double kTrial = 0.5;
// Of a rate beyond what a path carries it loses the excess. So much of it is the sender's doing.
constexpr double kOfExcess = 0.5;
// Slots of a trial that takes turns, at least.
constexpr double kLeastTurns = 4.0;
// Round trips until everything that comes in was sent after a change: one, and a quarter until losses are detected.
constexpr double kLag = 1.25;
// Round trips over which an overload is detected.
constexpr double kWindow = 0.25;
// If the sender's queue shows less than this share of a trial's rate, it grew, and so it holds the excess.
constexpr double kGrown = 0.97;
// Slots of fewer segments tell no dispersion, and it is remembered for so many. It is 1 until more was lost: the sum of slots' shares.
constexpr double kSlotSegments = 8.0;
constexpr double kRemembered = 128.0;
constexpr double kOwnShare = 0.05;
// No path loses more than this at any rate: what came through is not divided by nothing.
constexpr double kMostBaseLoss = 0.9;

}  // namespace

void FateCount::add(double more_segments, double more_lost, const PathSlot& slot) {
    segments += more_segments;
    lost += more_lost;
    time_s += slot.slot_s;
    busy_s += slot.busy_s < 0 ? slot.slot_s : slot.busy_s;
}

double FateCount::share() const { return lost / std::max(segments, 1.0); }

double FateCount::rate() const { return segments / busy_s; }

bool FateCount::beyond(double share, double dispersion, double deviations) const {
    const double most = share * segments;
    return lost > most + deviations * std::sqrt(dispersion * (most + 1));
}

bool FateCount::complete(double round_s) const { return time_s >= round_s && segments >= kMinSegments; }

// Of independent slots E[(x1 - x0) (x2 - x1)] is -Var[x1], and of a step it is 0.
void Dispersion::add(double segments, double lost) {
    const Seen now{segments, lost}, last = before_[0], first = before_[1];
    before_ = {now, last};
    const double least = std::min({now.segments, last.segments, first.segments});
    if (least < kSlotSegments) return;
    const double x0 = first.lost / first.segments, x1 = last.lost / last.segments, x2 = now.lost / now.segments;
    varied_ += (x1 - x0) * (x1 - x2) * least - varied_ / kRemembered;
    share_ += (x0 + x1 + x2) / 3 - share_ / kRemembered;
}

double Dispersion::times() const { return std::max((varied_ + kOwnShare) / (share_ + kOwnShare), 1.0); }

PacingLimit::PacingLimit(double packet_bytes, bool alternates)
    : packet_bytes_(packet_bytes),
      alternates_(alternates),
      pause_(kFirstPause) {}

void PacingLimit::update(const PathSlot& slot) {
    if (!slot.up || slot.srtt_s <= 0) return go_down();
    const double round_s = std::max(slot.srtt_s, slot.slot_s);
    up_s_ += slot.slot_s;
    phase_s_ += slot.slot_s;
    if (slot.probed) {
        phase_ = Phase::kProbe;
        counted_from_ = (up_s_ + slot.slot_s) / round_s + 1;
    } else if (counted_from_ == kNone && slot.delivered != 0) {  // the first of it was sent in part of a slot
        counted_from_ = (up_s_ + slot.slot_s) / round_s;
    }
    if (phase_ == Phase::kProbe) return probe(slot, round_s);
    if (up_s_ > counted_from_ * round_s) {
        const double segments = slot.lost + slot.delivered / packet_bytes_;
        window_.add(segments, slot.lost, slot);
        if (alternates_ && phase_ == Phase::kCruise)
            dispersion_.add(segments, slot.lost);
        else
            dispersion_.skip();
        if (phase_ == Phase::kCruise || phase_s_ > lag() * round_s) count_.add(segments, slot.lost, slot);
    }
    const FateCount window = window_;
    const bool complete = window.complete(kWindow * round_s);
    if (complete) window_ = FateCount();
    if (phase_ == Phase::kCruise) {
        if (complete && overloaded(window, slot))
            try_slower(window);
        else
            cruise(round_s);
    } else if (alternates_) {
        take_turns(slot, round_s);
    } else if (phase_ == Phase::kTrial) {
        end_trial(slot, round_s);
    } else if (phase_s_ >= (lag() + kTrial) * round_s && count_.segments >= kMinSegments) {
        if (faster())
            judge_faster();
        else
            judge_slower();
    }
}

bool PacingLimit::beyond(const FateCount& count, double share, double deviations) const {
    return count.beyond(share, dispersion_.times(), deviations);
}

void PacingLimit::rest(double grows) {
    if (phase_ == Phase::kTrial || phase_ == Phase::kEcho) {
        if (alternates_) limit_ = before_;
        enter(Phase::kCruise);
    }
    limit_ *= grows;
}

// Round trips until a trial is acknowledged. After a slower one, losses from before it must not count.
double PacingLimit::lag() const { return faster() ? 1.0 : kLag; }

// The path is down. What was in flight comes back as lost when it is up again, and does not count.
void PacingLimit::go_down() {
    up_s_ = 0;
    if (counted_from_ < kNone) counted_from_ = kLag;
    if (phase_ == Phase::kProbe) enter(Phase::kCruise);  // its echo was lost
}

// Whether more was sent than ever came through, and did not come through. Updates what did.
bool PacingLimit::overloaded(const FateCount& window, const PathSlot& slot) {
    const double sent = window.segments * packet_bytes_ / window.busy_s;
    if (beyond(window, base_loss_ + kHighLoss)) return sent > kProven * proven_;
    proven_ = std::max(proven_, sent);
    if (alternates_) highest_ = std::max(highest_, sent);
    if (limit_ == kNone && !slot.queue_seen) {
        limit_ = slot.limit;
        pause_ = 1.0;
        phase_s_ = 0;
    }
    return false;
}

// Measure what comes through of a probe in the fastest slot.
void PacingLimit::probe(const PathSlot& slot, double round_s) {
    count_.add(slot.lost + slot.delivered / packet_bytes_, slot.lost, slot);
    fastest_ = std::max(fastest_, slot.delivered / slot.slot_s);
    if (up_s_ <= counted_from_ * round_s) return;
    if (!slot.queue_seen) {
        limit_ = kMargin * fastest_;
        proven_ = fastest_;
        pause_ = 1.0;
        step_ = beyond(count_, base_loss_ + kHighLoss) ? kMinStep : kMaxStep;
        counted_from_ = up_s_ / round_s + kLag;
    }
    enter(Phase::kCruise);
}

// Judge a round trip's losses. Start a trial if they are high, or if the pause is over.
void PacingLimit::cruise(double round_s) {
    if (!count_.complete(round_s)) return;
    high_rounds_ = beyond(count_, base_loss_ + kHighLoss) ? high_rounds_ + 1 : 0;
    if (high_rounds_ > 1) return try_slower(count_);
    if (high_rounds_ > 0 || phase_s_ < pause_ * round_s) {
        count_ = FateCount();
        return;
    }
    if (beyond(count_, base_loss_ + kSlightLoss))
        try_slower(count_);
    else if (limit_ < kNone)
        try_rate(limit_ * (1 + step_));
    else
        enter(Phase::kCruise);
}

// After half a round trip, wait for the echo at the lower of both rates.
void PacingLimit::end_trial(const PathSlot& slot, double round_s) {
    if (phase_s_ < kTrial * round_s) return;
    phase_ = Phase::kEcho;
    queue_grew_ = slot.rate < kGrown * limit_;
    limit_ = std::min(limit_, before_);
}

// Try the rate that came through, to see whether the losses go away.
void PacingLimit::try_slower(const FateCount& count) {
    suspected_ = count.share();
    try_rate(std::min(came_through(count), limit_));
}

// 0.98 D.
double PacingLimit::came_through(const FateCount& count) const {
    const double acknowledged = std::max(count.segments - count.lost, kMinShare * count.segments);
    return kMargin * (acknowledged * packet_bytes_ / count.busy_s) / (1 - std::min(base_loss_, kMostBaseLoss));
}

void PacingLimit::try_rate(double rate) {
    before_ = limit_;
    trial_ = limit_ = rate;
    enter(Phase::kTrial);
}

void PacingLimit::enter(Phase phase) {
    phase_ = phase;
    turn_ = alternates_ && phase == Phase::kTrial ? kSlower : kNoTurn;
    if (turn_ != kNoTurn) limit_ = rate_of(turn_);
    turns_[kSlower] = turns_[kFaster] = FateCount();
    phase_s_ = 0;
    count_ = FateCount();
    high_rounds_ = 0;
}

// Whether the sender caused the losses.
void PacingLimit::judge_slower() {
    const FateCount count = count_;
    const double before = before_;
    if (beyond(count, suspected_ + kHighLoss)) {  // something else has changed
        try_slower(count);
        before_ = before;
        return;
    }
    if (count.share() > (suspected_ + base_loss_) / 2) {
        limit_ = before;
        pause_longer();
    } else {
        pause_ = 1.0;
        step_ = kMinStep;
        proven_ = limit_;
    }
    base_loss_ = count.share();
    enter(Phase::kCruise);
}

// A trial that takes turns, and its echo. One of which too little is heard has shown nothing.
void PacingLimit::take_turns(const PathSlot& slot, double round_s) {
    double segments = kMinSegments;
    for (const Turn turn : {kSlower, kFaster}) {
        const SentThen& of = turn == kSlower ? slot.slower : slot.faster;
        FateCount& count = turns_[turn];
        count.segments += of.lost + of.delivered / packet_bytes_;
        count.lost += of.lost;
        count.busy_s += of.busy_s;
        segments = std::min(segments, count.segments);
    }
    const double sends_s = std::max(kTrial * round_s, kLeastTurns * slot.slot_s);
    if (phase_ == Phase::kTrial) {
        turn_ = turn_ == kSlower ? kFaster : kSlower;
        limit_ = rate_of(turn_);
        if (phase_s_ < sends_s) return;
        phase_ = Phase::kEcho;
        turn_ = kNoTurn;
        queue_grew_ = slot.rate < kGrown * trial_;
        limit_ = before_;
    } else if (phase_s_ >= kLag * round_s + sends_s) {
        if (segments >= kMinSegments) return judge_turns();
        if (phase_s_ < 2 * (kLag * round_s + sends_s)) return;
        limit_ = before_;
        enter(Phase::kCruise);
    }
}

void PacingLimit::judge_turns() {
    const FateCount slower = turns_[kSlower], faster_count = turns_[kFaster];
    FateCount both = slower;
    both.segments += faster_count.segments;
    both.lost += faster_count.lost;
    if (faster()) {  // what is lost at the rate of before is no more than what it is held against
        const double base = base_loss_;
        base_loss_ = slower.share();
        count_ = faster_count;
        judge_faster();
        base_loss_ = base;
        return;
    }
    const double deviations = 2 * std::sqrt(1 + faster_count.segments / slower.segments);  // of the difference of both
    const double excess = 1 - slower.rate() / faster_count.rate();
    const double more = (faster_count.share() - slower.share()) / (1 - slower.share());
    const bool caused = beyond(faster_count, slower.share(), deviations) &&
                        slower.share() <= (faster_count.share() + base_loss_) / 2 && more >= kOfExcess * excess;
    base_loss_ = caused ? slower.share() : both.share();
    if (caused) {
        limit_ = proven_ = trial_;
        pause_ = 1.0;
        step_ = kMinStep;
    } else {
        limit_ = before_;
        pause_longer();
    }
    enter(Phase::kCruise);
}

// Whether the path carries the higher rate. A rate that was not used shows nothing.
void PacingLimit::judge_faster() {
    const bool lossy = beyond(count_, base_loss_ + kSlightLoss / 2, 1.0);
    limit_ = std::max(before_, std::min(came_through(count_), trial_));
    if (lossy) {
        step_ = kMinStep;
        pause_longer();
    } else if (queue_grew_) {
        limit_ = kNone;
        pause_ = kFirstPause;
    } else if (limit_ > before_) {
        pause_ = 1.0;
        // A rate that came through before is tried for again in steps that double.
        step_ = std::min(2 * step_, std::max(kMaxStep, highest_ / limit_ - 1));
    }
    enter(Phase::kCruise);
}

void PacingLimit::pause_longer() { pause_ = std::min(2 * pause_, kLongestPause); }

}  // namespace dstcc
