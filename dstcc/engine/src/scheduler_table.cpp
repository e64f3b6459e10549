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

std::unique_ptr<Scheduler> make_scheduler(const TransportConfig& transport) {
    for (const auto& [known, factory] : scheduler_table())
        if (known == transport.scheduler) return factory(transport);
    throw std::invalid_argument("unknown scheduler '" + transport.scheduler + "'");
}

}  // namespace dstcc
