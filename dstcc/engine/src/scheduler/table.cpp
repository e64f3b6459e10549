#include "scheduler/scheduler.hpp"

namespace dstcc {

std::unique_ptr<Scheduler> named_scheduler(const std::string& name, const SchedulerSetup& setup) {
    const SchedulerEntry* const entry = registered<SchedulerEntry>(name);
    if (entry == nullptr) throw std::invalid_argument("unknown scheduler '" + name + "'");
    return entry->make(setup);
}

std::unique_ptr<Scheduler> transport_scheduler(const SchedulerSetup& setup) {
    const TransportConfig& transport = setup.transport;
    return transport.make_scheduler ? transport.make_scheduler(setup) : named_scheduler(transport.scheduler, setup);
}

}  // namespace dstcc
