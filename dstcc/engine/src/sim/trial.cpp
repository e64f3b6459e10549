#include "sim/trial.hpp"

#include <cstdlib>
#include <cstring>

namespace dstcc {

bool runs_allowed() {
    const char* const engine = std::getenv("DSTCC_ENGINE");
    if (engine == nullptr || std::strcmp(engine, "runs") == 0) return true;
    if (std::strcmp(engine, "packets") == 0) return false;
    throw std::invalid_argument("DSTCC_ENGINE is \"" + std::string(engine) + "\"; it may be \"runs\" or \"packets\"");
}

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
