#include "scheduler/scheduler.hpp"

namespace dstcc {

const std::vector<std::pair<std::string, SchedulerFactory>>& scheduler_table() {
    static const std::vector<std::pair<std::string, SchedulerFactory>> table = {
        {"minrtt", make_minrtt},
        {"round-robin", make_round_robin},
        {"redundant", make_redundant},
        {"layer-pinned", make_layer_pinned},
        {"blest", make_blest},
        {"ecf", make_ecf},
        {"daps", make_daps},
        {"qaware", make_qaware},
        {"po-mptcp", make_po_mptcp},
        {"probabilistic-0.25", make_probabilistic_25},
        {"probabilistic-0.5", make_probabilistic_50},
        {"probabilistic-0.75", make_probabilistic_75},
        {"fast-only", make_fast_only},
        {"minrtt-then-fast-15", make_minrtt_then_fast_15},
        {"minrtt-then-fast-30", make_minrtt_then_fast_30},
        {"peekaboo", make_peekaboo},
        {"qle-ds", make_qle_ds},
        {"linux", make_linux},
    };
    return table;
}

std::unique_ptr<Scheduler> make_scheduler(const SchedulerSetup& setup) {
    if (setup.transport.make_scheduler) return setup.transport.make_scheduler(setup);
    for (const auto& [known, factory] : scheduler_table())
        if (known == setup.transport.scheduler) return factory(setup);
    if (setup.transport.scheduler == kAgent) return make_agent_scheduler(setup);
    if (setup.transport.scheduler == kAgentLate) return make_agent_late(setup);
    if (setup.transport.scheduler == kAgentPolicies) return make_agent_policies(setup);
    throw std::invalid_argument("unknown scheduler '" + setup.transport.scheduler + "'");
}

}  // namespace dstcc
