// agent-policies: the seven scheduling policies of Lee and Yoo (Sensors 2022, section 3), of which an agent chooses one a
// slot. Every one keeps its own state, chosen or not; before the first action it is minrtt.
#include <array>

#include "scheduler/scheduler.hpp"

namespace dstcc {
namespace {

// In the order of the actions; kept in step with POLICIES of dstcc/learn/spaces/schedulers.py.
constexpr std::array<SchedulerFactory, 7> kPolicies = {
    make_probabilistic_25, make_probabilistic_50,    make_probabilistic_75,    make_fast_only,
    make_minrtt,           make_minrtt_then_fast_15, make_minrtt_then_fast_30,
};
constexpr std::size_t kMinRtt = 4;

class AgentPolicies final : public Scheduler {
public:
    explicit AgentPolicies(const SchedulerSetup& setup) {
        for (const SchedulerFactory make : kPolicies) {
            policies_.push_back(make(setup));
            DSTCC_CHECK(!policies_.back()->pins() && !policies_.back()->duplicates() && !policies_.back()->listens(),
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

}  // namespace

std::unique_ptr<Scheduler> make_agent_policies(const SchedulerSetup& setup) {
    return std::make_unique<AgentPolicies>(setup);
}

}  // namespace dstcc
