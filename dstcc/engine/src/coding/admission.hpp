// Which of the layers that wait are sent, where not all can be: the plan that a sender makes over its contacts.
//
//   C(t)     what the paths bring by t, from now on: each at the rate that its control has now, in the contacts of its plan and at their
//            rates, and no more in a stay at a node further on than that has room for. A path whose rate nobody knows yet counts as the
//            mean of the others
//   D(t)     what is admitted and due by t. All that waits is there already and leaves in the order of its deadlines, so all of it
//            is in time if D(t) <= C(t) for every t (Hall's condition)
//   layers   one after the other, base layers first; of a layer the oldest first: admitted is what leaves D <= C everywhere. Then
//            what the source will release of the layer, if it goes on as it did, takes its part of C before the next layer does.
//            So a higher layer never takes the place of a lower one that is still to come
//
// The plan ends with the mission: after it C grows no more, and what the source would release then is not counted.
//
// t goes by kHorizon times the longest wait from release to deadline, in steps of a kSteps-th of it and at each change of a contact. Where
// waits are unlike, steps grow from a kSteps-th of the shortest, by a kFiner-th of the time until then.
// It is arithmetic on bytes and times; what to do with the answer is coding/sending_end.hpp's.
#pragma once

#include <algorithm>
#include <vector>

#include "coding/storage_seen.hpp"
#include "link/answer_clock.hpp"
#include "link/contact.hpp"

namespace dstcc {

class Admission {
public:
    static constexpr int kHorizon = 8, kSteps = 64, kFiner = 16;

    struct Path {
        const ContactPlan* plan;
        double rate;  // bytes in a nanosecond, in a contact as of now; 0: nobody knows yet
        Time wait_ns, light_ns;
        // Where nodes were seen to overflow: what waits there, and how much they have room for.
        const AnswerClock* clock = nullptr;
        const StorageSeen* storage = nullptr;
    };

    // Begin: nothing is admitted. `shortest`, `longest`: from a release to its deadline; `ends`: the mission. False where no path's rate is known.
    bool begin(Time now, Time shortest, Time longest, Time ends, const std::vector<Path>& paths);
    // A layer; then what waits of it, the oldest first; then its future.
    void begin_layer();
    void begin_layer_again();  // nothing of it is admitted
    bool admit(Time deadline, double bytes);
    void take(Time deadline, double bytes);  // whether it fits or not
    bool expect(double bytes_per_ns);        // whether all of it fits

    // Bytes in a nanosecond that the paths bring on average, over the time of a wait after the next one; 0 before a plan.
    double later() const { return later_; }
    void forget() { later_ = 0; }
    // By then, what nothing that is admitted or still to come takes; 0 before a plan.
    double left(Time deadline) const {
        return later_ > 0 ? std::max(least_[step_before(std::max(deadline, now_))] - total_, 0.0) : 0;
    }

private:
    std::size_t step_before(Time at) const;
    void add_path(const Path& path, double rate);

    Time now_ = 0, longest_ = 0, ends_ = kNever;
    std::vector<Time> at_;
    std::vector<double> spare_;     // C - D of the layers before, by step
    std::vector<double> least_;     // of this and all later steps
    std::vector<double> admitted_;  // of this layer, due by that step and not before
    double total_ = 0, later_ = 0;  // of these; see later()
};

}  // namespace dstcc
