#include "scheduler.hpp"

namespace dstcc {

const std::vector<std::pair<std::string, SchedulerFactory>>& scheduler_table() {
    static const std::vector<std::pair<std::string, SchedulerFactory>> table = {
        {"minrtt", make_minrtt},
        {"round-robin", make_round_robin},
        {"redundant", make_redundant},
        {"layer-pinned", make_layer_pinned},
    };
    return table;
}

std::unique_ptr<Scheduler> make_scheduler(const SchedulerSetup& setup) {
    for (const auto& [known, factory] : scheduler_table())
        if (known == setup.transport.scheduler) return factory(setup);
    throw std::invalid_argument("unknown scheduler '" + setup.transport.scheduler + "'");
}

}  // namespace dstcc
