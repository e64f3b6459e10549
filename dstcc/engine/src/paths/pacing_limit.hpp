// PacingLimit: the limit of a path's pacing rate, from what was acknowledged and lost of the data that was sent.
//
// The sender's own queue shows within a slot what a path carries, but only if it is deep enough to hold the excess. A shallow
// queue drops the excess, and a bottleneck further on shows in no queue of the sender. So this limit is drawn from losses, a
// round trip later. It finds out whether the sender causes them. L is the share lost of the segments whose fate became known,
// u is the base loss, and
//
//     D = (acknowledged bytes per second) / (1 - u)
//
// is what came through. The states:
//
//     probe     The path was probed at its start (dstcc/learn/paths/probing.py). Nothing is judged until a round trip after
//               that. Then the limit is 0.98 of what came through in the fastest slot of the echo. If 5 % were lost, that is
//               what the path carries, and trials begin at 5 %. If a queue showed the rate meanwhile, there is no limit.
//     cruise    Losses are normal while L <= u + 5 %, judged after two round trips at the latest. Every so often they must be
//               L <= u + 1 %. Higher losses start a trial at 0.98 D. A path whose queue was never seen to hold the excess
//               gets no more than it has, once some of it was acknowledged. This path and every other limited one has a
//               trial at a higher rate after 1, 2, 4, .. 64 round trips. The first is 25 % higher, those after a trial that
//               lost 5, 10, 20, 25 %.
//     trial     The path has the rate of the trial for half a round trip.
//     echo      The path has the lower of both rates until that half was acknowledged. After a trial at a lower rate: if the
//               part of L beyond u fell by half or more, the sender caused the losses, and the limit stays. If L rose by
//               5 %, there is another trial. Otherwise the sender did not cause them, and u <- L. After a trial at a higher
//               rate: if the sender's queue grew, it holds the excess, and the limit goes. Otherwise the limit is 0.98 D,
//               but not less than before.
//
//     alternate If it has been told to, a trial has its rate and the one of before in turn, slot by slot, and what is compared is what
//               was lost of both: a fade that comes or passes takes its share of both, a slower path of the faster one. The sender
//               caused the losses if the slower one lost half as much beyond u or less, and the faster one so much more as is
//               half of the excess over it. Until then the rate of before is gone on with.
//
// Losses in bursts vary more than counts do, and two halves of a trial differ by chance. How much more (the dispersion) is measured
// between trials: what a slot lost beyond the slot before and the slot after. A rate that rises or falls moves one of both.
//
// An overload shows the capacity, as D is what the path carries. Trials that grow rare are BBR's (Cardwell et al.,
// draft-ietf-ccwg-bbr). A trial of a rate is PCC's (Dong et al., NSDI 2015), here once per suspicion and not all the time.
#pragma once

#include <array>
#include <limits>

namespace dstcc {

// How much higher the rate of a trial is. A few repairs make up for the least; the greatest is that of BBR's probes.
constexpr double kMinStep = 0.05, kMaxStep = 0.25;

// What became known of what was sent in some slots.
struct SentThen {
    double delivered = 0, lost = 0, busy_s = 0;
};

// How many times the variance of a Poisson count that of the losses in a slot is: 1 or more.
class Dispersion {
public:
    void add(double segments, double lost);
    // The next slot follows none.
    void skip() { before_ = {}; }
    double times() const;

private:
    struct Seen {
        double segments = 0, lost = 0;
    };
    std::array<Seen, 2> before_{};
    double varied_ = 0, share_ = 0;
};

// One path in one slot.
struct PathSlot {
    double slot_s = 0;
    double srtt_s = 0;  // 0 before the handshake
    bool up = false;
    double delivered = 0;     // bytes on the wire that were acknowledged in the slot
    double lost = 0;          // segments that were marked lost in the slot
    double limit = 0;         // bytes on the wire per second that the path was allowed
    bool queue_seen = false;  // whether a queue at the sender was seen to hold the excess
    double rate = 0;          // bytes on the wire per second that this queue shows
    bool probed = false;      // whether the path may have been asked for more than its share
    double busy_s = -1;       // what it took to send the data whose fate became known in the slot; -1: a slot
    // Of these, what was sent in a trial's turns, by PacingLimit::turn(), and how long that took.
    SentThen slower{}, faster{};
};

// Segments whose fate became known during some time.
struct FateCount {
    double segments = 0, lost = 0, time_s = 0, busy_s = 0;

    void add(double more_segments, double more_lost, const PathSlot& slot);
    // The share lost.
    double share() const;
    // Segments a second, as they were sent.
    double rate() const;
    // Whether the losses exceed that share by so many standard deviations of a count whose variance is so many times a Poisson count's.
    bool beyond(double share, double dispersion, double deviations = 2.0) const;
    // Whether the count is as long as that and has enough segments.
    bool complete(double round_s) const;
};

class PacingLimit {
public:
    enum class Phase { kProbe, kCruise, kTrial, kEcho };

    enum Turn { kNoTurn = -1, kSlower, kFaster };

    // `alternates`: whether a trial takes turns, for who can say of what was lost in which turn it was sent.
    explicit PacingLimit(double packet_bytes, bool alternates = false);

    // Take in a slot.
    void update(const PathSlot& slot);
    // Bytes on the wire per second.
    double limit() const { return limit_; }
    // Nothing is in flight, and the path may carry so many times as much by now.
    void rest(double grows);
    // The share of segments that is lost at any rate.
    double base_loss() const { return base_loss_; }
    void set_base_loss(double share) { base_loss_ = share; }
    Phase phase() const { return phase_; }
    // Whose turn it is in a trial.
    Turn turn() const { return turn_; }

private:
    static constexpr double kNone = std::numeric_limits<double>::infinity();

    bool faster() const { return trial_ > before_; }
    double lag() const;
    void go_down();
    bool overloaded(const FateCount& window, const PathSlot& slot);
    void probe(const PathSlot& slot, double round_s);
    void cruise(double round_s);
    void end_trial(const PathSlot& slot, double round_s);
    void try_slower(const FateCount& count);
    double came_through(const FateCount& count) const;
    void try_rate(double rate);
    void enter(Phase phase);
    void judge_slower();
    void judge_faster();
    void take_turns(const PathSlot& slot, double round_s);
    void judge_turns();
    bool beyond(const FateCount& count, double share, double deviations = 2.0) const;
    double rate_of(Turn turn) const { return (turn == kFaster) == faster() ? trial_ : before_; }
    void pause_longer();

    double packet_bytes_;
    bool alternates_;
    double limit_ = kNone, base_loss_ = 0;
    Phase phase_ = Phase::kCruise;
    double phase_s_ = 0, up_s_ = 0;
    double counted_from_ = kNone;  // round trips after the path came up; acknowledgements count from then on
    FateCount window_, count_;
    Dispersion dispersion_;
    Turn turn_ = kNoTurn;
    FateCount turns_[2];  // of a trial
    double proven_ = 0, suspected_ = 0, fastest_ = 0, highest_ = 0;
    double before_ = kNone, trial_ = 0;
    int high_rounds_ = 0;
    double pause_, step_ = kMaxStep;
    bool queue_grew_ = false;
};

}  // namespace dstcc
