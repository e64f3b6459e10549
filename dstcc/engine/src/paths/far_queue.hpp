// FarQueue: a queue that is not the sender's own, by what reports say of the newest packet that has arrived, and the pace that keeps
// it short. For senders that get reports; those that get ACKs and decide once a slot have paths/further_on.hpp.
//
//   between two looks    packets were sent over ds and came in over da, of which the line further on brought `arrived` bytes. The
//                        wait W of the newest beyond light and own queue grew by dW = da - ds
//   line       C         the most that arrived in a time, where the queue stood: less than the line, where others use it
//   available  A         what leaves the queue as it is. Sent at r it grows by dW / ds = (r - A) / C, so where it stands
//
//                            A = r - C dW / ds,    r = arrived / ds: what a full queue dropped did not make it longer
//
//                        the mean of this and the last, at most kRises of C more, and kLeastShown of arrived / da at least: after
//                        a line has become slower C is too much for a while, and this too little. Where nothing stands it is r at least: the pace is more
//                        than A then, and what passes without a queue is there
//   ahead      W + (in flight - A x the time since that packet was sent) / C: the wait of what is sent now
//   target     kTarget of a round trip, kTargetOfLongest of the longest wait that was ever seen, or kTargetOfSpare of the time that
//              a layer has beyond light, whichever is least: the line further on has something to send until a rate that rose is
//              heard of. Times 1 - kRoom (A / C)^2: who has all of the line leaves room for others that come. Who shares it has
//              most to win where they go; and of two senders there the one with less of the line aims at more
//   pace       A + A^2 / C (target - ahead) / kHorizon round trips, from A / 4 to 5/4 A. Several senders correct one queue, each a round
//              trip late: all of them together no more than one does that is alone
//   stands     W is kStands of a round trip, or kStandsShallow once more than kDrops was lost between two looks twice in a row: a shallow
//              queue drops what is sent long before; and longer than kServed packets take there: one that finds no queue waits as
//              long as the line takes for it
//   full       W is kFull of the longest wait at least: what is lost meanwhile is what the queue did not take
//   held       where others keep it full, as CUBIC does, what one takes less they take more, and A falls with the pace. So where it has
//              been full for kHeld round trips, in which no report said that it grew by a 1/kGrown since the one before, and A is
//              kLeft of the greatest, and where less stands than the target, the pace is kKeeps of the greatest A at least. Not after
//              more than kGivesUp was lost in a round trip, since those others do not give way: for 1, 2, 4, .. round trips, and for
//              1 again after kWell times as long without
//
// Before a gap in the contacts of the own line what stands is to last for the gap: the target is longer by it, but at most
// kGapOfLongest of the longest wait and kGapOfSpare of the spare time; it is to stand when the gap begins, and the pace is corrected
// by C in the place of A^2 / C and bounded by the own line alone.
//
// While nothing is sent, what stands there is served: the wait of what is sent next falls with time.
//
// Nothing is limited until a queue stands and grows by what is sent, nor once A is more than the sender's own line carries; where its other
// subflows share that line and leave less now and then, not before that was so for a round trip.
#pragma once

#include "core/base.hpp"

namespace dstcc {

class FarQueue {
public:
    // Of a round trip.
    static constexpr double kStands = 1.0 / 32, kStandsShallow = 1.0 / 512, kTarget = 1.0 / 2, kHorizon = 1.0 / 2;
    static constexpr double kServed = 1;  // packets
    // Of other times.
    static constexpr double kTargetOfLongest = 7.0 / 8, kTargetOfSpare = 1.0 / 2, kFull = 3.0 / 4, kDrops = 1.0 / 20;
    static constexpr double kRoom = 7.0 / 8, kRises = 1.0 / 4;
    static constexpr double kHeld = 2, kLeft = 1.0 / 16, kKeeps = 1.0 / 4, kGivesUp = 3.0 / 20, kWell = 4;
    static constexpr double kGapOfLongest = 2.0, kGapOfSpare = 1.0 / 2, kLeastHorizon = 1.0 / 16;

    // `shared`: whether the sender has more subflows on its own line.
    explicit FarQueue(bool shared = false) : shared_(shared) {}

    struct Gap {
        Time until, length;
    };

    // The newest packet that arrived: when it was sent, and its wait there; the bytes that arrived since the one before.
    void hear(Time sent, Time wait, double arrived);
    // The bytes of a full packet.
    void set_packet(double bytes) { packet_ = bytes; }
    // So many bytes did not arrive.
    void lose(double bytes) { lost_ += bytes; }
    // Of a packet that waited for a contact by the plan, which says nothing of a queue.
    void skip() { from_sent_ = -1; }
    // The pace at most, bytes in a nanosecond. `under_way`: bytes sent since the newest; `shown`: what the own line carries;
    // `spare`: the time that a layer has beyond light; `gap`: the own line's next by the plan, of length 0 where none comes.
    double pace(Time now, double under_way, double shown, Time round_trip, Time spare, Gap gap);
    // Whether a queue stood there, ever.
    bool found() const { return found_; }
    bool full() const { return found_ && static_cast<double>(wait_) >= kFull * static_cast<double>(longest_); }
    // Nothing is in flight, and it may carry so many times as much by now.
    void rest(double grows) { available_ *= grows; }
    // Nothing was sent from then until now.
    void pause(Time from, Time now);
    // How long what is sent now waits there, as far as anybody can say.
    Time ahead() const { return ahead_; }

private:
    void look(double shown, double round_trip);

    bool shared_;
    Time sent_ = -1, from_sent_ = -1, wait_ = 0, from_wait_ = 0, ahead_ = 0, longest_ = 0;
    Time grew_ = 0;                                          // when the longest came in
    Time standing_ = 0, paused_from_ = -1, paused_to_ = -1;  // what is left of wait_; the last pause
    double arrived_ = 0, lost_ = 0;                          // since from_sent_
    double lost_share_ = 0;                                  // over a round trip
    double packet_ = 0;                                      // bytes of a full one
    Time holds_from_ = 0;
    Time limits_ns_ = -kNever / 2;  // when A was last no more than the own line carries
    double yields_ = 1;             // round trips
    double line_ = 0, available_ = 0, greatest_ = 0;
    bool found_ = false;
    bool dropped_ = false, shallow_ = false;  // more than kDrops was lost between the last two looks; twice in a row
};

}  // namespace dstcc
