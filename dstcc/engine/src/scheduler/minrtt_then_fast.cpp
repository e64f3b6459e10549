// fast-only, minrtt-then-fast-15, minrtt-then-fast-30: policies that Lee and Yoo's agent chooses from (Sensors 2022).
//
//   fast-only            the path with the least SRTT, waiting while its window is full
//   minrtt-then-fast-15  `minrtt` for the first 15 / 50 of every slot, then fast-only;  -30: for 30 / 50
//
// The paper's slot is 50 ms. Here it is the run's ([run] slot_s or slot_rtts), so that at deep-space delay the policy
// keeps its shares of a time in which something can happen.
#include "scheduler/scheduler.hpp"

namespace dstcc {
namespace {

class MinRttThenFast final : public Scheduler {
public:
    MinRttThenFast(const SchedulerSetup& setup, int minrtt_fiftieths)
        : slot_(setup.slot_ns),
          minrtt_ns_(setup.slot_ns / 50 * minrtt_fiftieths) {}
    int pick(const std::vector<Path>& paths, SubflowSet ready, const Next& next) override {
        if (next.now_ns - slot_begin_ >= slot_) {
            slot_begin_ += slot_;
            if (next.now_ns - slot_begin_ >= slot_)
                slot_begin_ = next.now_ns - next.now_ns % slot_;  // slots passed idle
        }
        if (next.now_ns - slot_begin_ < minrtt_ns_) return fastest(paths, ready);
        const SubflowSet fast = ready & peers_of(paths, fastest(paths, ready | next.busy));
        return fast != 0 ? fastest(paths, fast) : -1;
    }

private:
    Time slot_, minrtt_ns_, slot_begin_ = 0;
};

template <int kMinRttMs>
std::unique_ptr<Scheduler> make_minrtt_then_fast(const SchedulerSetup& setup) {
    return std::make_unique<MinRttThenFast>(setup, kMinRttMs);
}

const Registered<SchedulerEntry> kFastOnly{{"fast-only", make_minrtt_then_fast<0>}};
const Registered<SchedulerEntry> kFifteen{{"minrtt-then-fast-15", make_minrtt_then_fast<15>}};
const Registered<SchedulerEntry> kThirty{{"minrtt-then-fast-30", make_minrtt_then_fast<30>}};

}  // namespace

}  // namespace dstcc
