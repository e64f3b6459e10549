// agent-policies: the seven scheduling policies of Lee and Yoo (Sensors 2022, section 3), of which an agent chooses one a
// slot. Every one keeps its own state, chosen or not; before the first action it is minrtt.
#include <array>

#include "scheduler/scheduler.hpp"

namespace dstcc {
namespace {

// In the order of the actions; kept in step with POLICIES of dstcc/learn/spaces/schedulers.py.
constexpr std::array<const char*, 7> kPolicies = {
    "probabilistic-0.25",  "probabilistic-0.5",   "probabilistic-0.75", "fast-only", "minrtt",
    "minrtt-then-fast-15", "minrtt-then-fast-30",
};
constexpr std::size_t kMinRtt = 4;

class AgentPolicies final : public Scheduler {
public:
    explicit AgentPolicies(const SchedulerSetup& setup) {
        for (const char* const name : kPolicies) {
            policies_.push_back(named_scheduler(name, setup));
            DSTCC_CHECK(policies_.back()->dispatch() == Dispatch::kStream && !policies_.back()->wants_feedback(),
                        "a policy decides segment by segment, by what it is asked");
        }
    }
    int pick(const std::vector<Path>& paths, SubflowSet ready, const Next& next) override {
        return policies_[chosen_]->pick(paths, ready, next);
    }
    void steer(const LayerAction& action) override {
        if (!action.subflow.empty() && action.subflow[0] >= 0)
            chosen_ = std::min(static_cast<std::size_t>(action.subflow[0]), policies_.size() - 1);
    }

private:
    std::vector<std::unique_ptr<Scheduler>> policies_;
    std::size_t chosen_ = kMinRtt;
};

const Registered<SchedulerEntry> kEntry{{kAgentPolicies, make_scheduler<AgentPolicies>, true}};

}  // namespace

}  // namespace dstcc
