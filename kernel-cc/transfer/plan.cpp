// The plan file: lines of a key and its values; the objects lie in a file of int64 rows beside it.
#include <algorithm>
#include <fstream>
#include <sstream>

#include "../links/lines.hpp"
#include "base.hpp"

namespace transfer {

namespace {

void read_objects(const std::string& path, Plan& plan) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw Failure(path + ": cannot be read");
    std::int64_t row[7];
    while (file.read(reinterpret_cast<char*>(row), sizeof row)) {
        plan.objects.push_back({row[0], row[1], row[2], row[3], row[4], row[5], row[6]});
        plan.layers = std::max(plan.layers, static_cast<int>(row[1]) + 1);
    }
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

void read_line(const std::string& key, std::istringstream& in, Plan& plan, links::Lines::Table& config) {
    if (key == "namespaces")
        in >> plan.craft_ns >> plan.earth_ns;
    else if (key == "steer")
        in >> plan.steer_in >> plan.steer_out;
    else if (key == "result")
        std::getline(in >> std::ws, plan.result);
    else if (key == "layer") {
        int link;
        in >> link;
        plan.layer_links.push_back(link);
    } else if (key == "subflow") {
        int link;
        std::string address;
        in >> link >> address;
        plan.subflow_links.push_back(link);
        plan.subflow_addresses.push_back(address);
    } else if (key == "address") {
        std::string address;
        int subflow;
        in >> address >> subflow;
        plan.addresses.push_back(address);
        plan.address_subflow.push_back(subflow);
    } else if (key == "devices") {
        Link link;
        in >> link.earth >> link.depart_device >> link.arrive_device >> link.craft_device >> link.free_bytes;
        plan.links.push_back(link);
    } else if (key == "lane") {
        LanePlan lane;
        in >> lane.link >> lane.craft >> lane.port >> lane.opens;
        plan.lane_plans.push_back(lane);
    } else if (key == "outage") {
        Time from, to;
        in >> from >> to;
        plan.outages.emplace_back(from, to);
    } else if (key == "payload") {
        std::string path;
        std::getline(in >> std::ws, path);
        plan.payloads.push_back(path);
    } else if (key == "objects") {
        std::string path;
        std::getline(in >> std::ws, path);
        read_objects(path, plan);
    } else if (!read_setting(key, in, plan) && !links::read_line(key, in, config))
        throw Failure("plan: unknown key " + key);
    if (in.fail()) throw Failure("plan: " + key + ": a value is missing or no number");
}

}  // namespace

Plan read_plan(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw Failure(path + ": cannot be read");
    Plan plan;
    links::Lines::Table config;
    for (std::string line; std::getline(file, line);) {
        std::istringstream in(line);
        if (std::string key; in >> key) read_line(key, in, plan, config);
    }
    plan.configs = links::links_of(config);
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
