#include "sim/trial.hpp"

namespace dstcc {

std::size_t count_sources(const EngineConfig& config) {
    std::size_t sources = 0;
    for (const LinkConfig& link : config.links) {
        sources += link.cross_traffic.size();
        for (const FlowConfig& flow : link.flows) sources += flow.app_limited;
    }
    return sources;
}

std::vector<ContactPlan> make_plans(const EngineConfig& config) {
    std::vector<ContactPlan> plans;
    plans.reserve(config.links.size());
    for (const LinkConfig& link : config.links) plans.emplace_back(link, config.transport.header_bytes);
    return plans;
}

}  // namespace dstcc
