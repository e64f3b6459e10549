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

std::vector<Link> make_links(const EngineConfig& config) {
    const auto full = static_cast<std::uint32_t>(config.transport.mss_bytes + config.transport.header_bytes);
    std::vector<Link> links;
    links.reserve(config.links.size());
    for (std::size_t l = 0; l < config.links.size(); ++l) links.emplace_back(config.links[l], config.seed, l, full);
    return links;
}

std::vector<ContactPlan> make_plans(const EngineConfig& config) {
    std::vector<ContactPlan> plans;
    plans.reserve(config.links.size());
    for (const LinkConfig& link : config.links) plans.emplace_back(link, config.transport.header_bytes);
    return plans;
}

}  // namespace dstcc
