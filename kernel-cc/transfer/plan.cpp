// The plan file: lines of a key and its values; the objects lie in a file of int64 rows beside it.
#include <algorithm>

#include "../links/lines.hpp"
#include "base.hpp"

namespace transfer {

namespace {

void read_objects(const std::string& path, Plan& plan) {
    links::each_row<7>(path, [&](const auto& row) {
        plan.objects.push_back({row[0], row[1], row[2], row[3], row[4], row[5], row[6]});
        plan.layers = std::max(plan.layers, static_cast<int>(row[1]) + 1);
    });
    if (plan.objects.empty()) throw Failure(path + ": no objects");
}

// A setting by its own name.
bool read_setting(const std::string& key, std::istringstream& in, Plan& plan) {
    bool known = false;
    plan.fields([&](const std::string& name, auto& member) {
        if (name != key) return;
        in >> member;
        known = true;
    });
    return known;
}

bool read_line(const std::string& key, std::istringstream& in, Plan& plan) {
    if (key == "namespaces")
        in >> plan.craft_ns >> plan.earth_ns;
    else if (key == "steer")
        in >> plan.steer_in >> plan.steer_out;
    else if (key == "result")
        plan.result = links::rest_of(in);
    else if (key == "layer")
        in >> plan.layer_links.emplace_back();
    else if (key == "subflow")
        in >> plan.subflow_links.emplace_back() >> plan.subflow_addresses.emplace_back();
    else if (key == "address")
        in >> plan.addresses.emplace_back() >> plan.address_subflow.emplace_back();
    else if (key == "devices") {
        Link& link = plan.links.emplace_back();
        in >> link.earth >> link.depart_device >> link.arrive_device >> link.craft_device >> link.free_bytes;
    } else if (key == "lane") {
        LanePlan& lane = plan.lane_plans.emplace_back();
        in >> lane.link >> lane.craft >> lane.port >> lane.opens;
    } else if (key == "outage") {
        auto& [from, to] = plan.outages.emplace_back();
        in >> from >> to;
    } else if (key == "payload")
        plan.payloads.push_back(links::rest_of(in));
    else if (key == "objects")
        read_objects(links::rest_of(in), plan);
    else
        return read_setting(key, in, plan);
    return true;
}

}  // namespace

Plan read_plan(const std::string& path) {
    Plan plan;
    plan.configs = links::links_of(links::read_lines(
        path, [&](const std::string& key, std::istringstream& in) { return read_line(key, in, plan); }));
    const bool links = !plan.links.empty() && plan.links.size() == plan.configs.size();
    if (plan.objects.empty() || plan.lane_plans.empty() || !links) throw Failure(path + ": not whole");
    for (std::size_t i = 0; i < plan.links.size(); ++i) {
        const dstcc::LinkConfig& own = plan.configs[i];
        if (own.delay_t_ns.empty()) throw Failure(path + ": a link without a delay");
        plan.links[i].light = dstcc::DelayTable(own.delay_t_ns, own.delay_ns, own.delay_slope);
    }
    plan.subflows = static_cast<int>(plan.subflow_links.size());
    return plan;
}

}  // namespace transfer
