// OwnQueue: the rate of a sender's own line, by the drain of its own queue from packet to packet, and the pace that keeps this
// queue short. No acknowledgement is waited for.
//
//   search   While the rate is unknown packets go at once until kTarget of them stand in the queue; the next when the first has left. The rate
//            is at which the line took what stood up to the first that left. A packet that was not taken waits as long.
//   train    kTrain packets. Over its time T, with Q the queue and `entered` what the queue took of the sender's packets:
//
//                share = (entered - growth of Q) / T     what left; others' packets in the queue count against it
//                line  = the most that Q lost in a time  what the line carries
//
//            If the queue stood all the time, the share is the mean of this one and the last. If not, it is no less. A packet that
//            came kLate times its wait after the one before ends its train: of a source that sends less the queue took less
//   pace     share + line (target - own) / kHorizon,  own: the sender's bytes in the queue
//
//            A line without others: Q goes to the target within kHorizon packets. One that drains: the pace grows by a quarter
//            from train to train. Others that do the same: each has the target in the queue in the end, and so the same rate.
//   beside   Others that fill the queue leave nothing to who keeps four packets in it (Copa's competitive mode: Arun and Balakrishnan,
//            NSDI 2018). What others have in it is seen here: where it is more than kAlike senders of this kind have, the target is
//            what makes a part of all that stands its own, and so of the line, whatever the others' control: of n subflows each
//            has 1 / (n + kOthers), one beside one of TCP 0.44, and two that do not know of one another leave a ninth. What a train
//            shows is less where the source has less: who plans by that would send less and less
//   full     A queue that took nothing of a packet is shallow: the target is half of what stood in it, at most, and little more than a packet at least.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "core/base.hpp"
#include "core/queue_seen.hpp"
#include "core/ring.hpp"

namespace dstcc {

class OwnQueue {
public:
    // Packets that are kept in the queue; of a train; over which the queue goes to its target.
    static constexpr double kTarget = 4, kTrain = 8, kHorizon = 16;
    static constexpr Time kLate = 2;
    // Others that do the same; those that fill the queue count as so many.
    static constexpr double kAlike = 3, kOthers = 1.25;

    // `wait`: the least one in the search. `sharers`: the sender's subflows on the line.
    OwnQueue(double full_packet, Time wait, int sharers = 1)
        : full_(full_packet),
          target_(kTarget * full_packet),
          wait_(wait),
          part_(1 / (sharers + kOthers)) {}

    // Take in a packet; how long the next one waits at a pace of no more than `limit`, bytes in a nanosecond.
    Time see(Time now, const QueueSeen& seen, double limit);
    bool known() const { return share_ > 0; }
    // Nothing of its own is there to be measured: others may leave more, up to the rate at which the line served what was its last.
    void rest(double grows) {
        line_ = std::max(line_, served());
        share_ = std::min(share_ * grows, std::max(share_, line_));
    }
    // What the line carries, by who knows it, bytes in a nanosecond: nothing is searched.
    void tell(double rate) { share_ = line_ = rate; }
    // Bytes in a nanosecond, 0: unknown. Beside others that fill the queue at least what the target holds.
    double share() const { return besides() > 0 ? std::max(share_, part_ * line_) : share_; }
    double line() const { return line_; }
    double target() const { return target_; }  // bytes

private:
    static constexpr double kLeastTarget = 9.0 / 8;  // packets
    static constexpr double kLeastPace = 1.0 / 64;   // of the line's rate

    void measure(Time now, double before);
    Time next(Time now, double packet, Time leaves, double limit);
    // At which the line took what stood before the last own packet that left.
    double served() const {
        const Time took = served_.leaves_ns - served_.came_ns;
        return took > 0 ? served_.queue / static_cast<double>(took) : 0;
    }
    // The target beside others that fill the queue, bytes; 0: none do.
    double besides() const {
        const double others = queue_ - own_bytes_;
        return others > kAlike * kTarget * full_ ? part_ / (1 - part_) * others : 0;
    }
    void begin_train(Time now, double queue);

    double full_, target_;
    Time wait_;
    double part_;           // beside others
    bool refused_ = false;  // the last packet was not taken
    double share_ = 0, line_ = 0;
    double queue_ = 0;  // after the last packet
    Time last_ns_ = -1, due_ns_ = -1;
    struct Own {
        Time came_ns, leaves_ns;
        double bytes, queue;  // its own; all up to its end
    };
    BlockRing<Own, 4> own_;  // the sender's packets in the queue
    double own_bytes_ = 0;
    std::array<double, 7> gap_of_{};  // the last gap, of these
    Time gap_ns_ = 0;
    double lost_ = 0;  // by the queue since then
    Time lost_from_ns_ = 0;
    Time train_from_ns_ = 0;
    double train_queue_ = 0, entered_ = 0, most_ = 0;
    int packets_ = 0;
    bool stood_ = true, others_ = false;  // of this train: the queue was never empty; others filled it
    Own served_ = {};                     // that left last, after some time: the line took what stood there
};

}  // namespace dstcc
