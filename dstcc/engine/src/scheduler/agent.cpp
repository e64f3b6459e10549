// agent: each layer stays whole on the subflow that a table says, and the table is set from outside.
//
// Where the table is silent, or names a subflow that cannot be used (its timer expired, or light on it is too late for
// the layer), the subflow with the earliest expected delivery takes the layer.
//
// agent-late: nothing is bound before a subflow has room for it. The connection keeps to the table and to the order of
// LayerAction::gap_ns (Dispatcher::next_in_deadline_order); of several free subflows the one nearest by light takes the layer.
#include "scheduler/scheduler.hpp"

namespace dstcc {
namespace {

class AgentScheduler final : public Scheduler {
public:
    Dispatch dispatch() const override { return Dispatch::kPinned; }
    int pick(const std::vector<Path>&, SubflowSet ready, const Next&) override { return lowest(ready); }
    int assign(const std::vector<Path>& paths, int layer, std::int64_t bytes, SubflowSet usable) override {
        const auto m = static_cast<std::size_t>(layer);
        const std::int32_t told = m < table_.size() ? table_[m] : kAutomatic;
        if (told >= 0 && static_cast<std::size_t>(told) < paths.size() && (usable & bit_of(told)) != 0) return told;
        return least(usable, [&](int i) { return paths[static_cast<std::size_t>(i)].expected_delivery_s(bytes); });
    }
    void steer(const LayerAction& action) override { table_ = action.subflow; }

private:
    std::vector<std::int32_t> table_;
};

class AgentLate final : public Scheduler {
public:
    Order order() const override { return Order::kDeadline; }
    int pick(const std::vector<Path>& paths, SubflowSet ready, const Next&) override {
        return least(ready, [&](int i) { return paths[static_cast<std::size_t>(i)].one_way_ns; });
    }
};

const Registered<SchedulerEntry> kPinning{{kAgent, make_scheduler<AgentScheduler>, true}};
const Registered<SchedulerEntry> kLate{{kAgentLate, make_scheduler<AgentLate>, true}};

}  // namespace

}  // namespace dstcc
