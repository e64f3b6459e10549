#include "plan.hpp"

#include <algorithm>

#include "../links/lines.hpp"

namespace coded {

namespace {

void read_objects(const std::string& path, Plan& plan) {
    std::vector<std::int64_t> chunk, bytes;
    std::vector<std::uint8_t> layer;
    std::vector<Time> release, deadline;
    std::vector<std::uint32_t> period;
    links::each_row<8>(path, [&](const auto& row) {
        chunk.push_back(row[0]);
        layer.push_back(static_cast<std::uint8_t>(row[1]));
        bytes.push_back(row[2]);
        release.push_back(row[3]);
        deadline.push_back(row[4]);
        period.push_back(static_cast<std::uint32_t>(row[7]));
        plan.payloads.objects.push_back({row[0], row[1], row[2], row[3], row[4], row[5], row[6]});
    });
    if (chunk.empty()) throw Failure(path + ": no objects");
    dstcc::ObjectsConfig& objects = plan.engine.objects;
    objects.chunk = std::move(chunk);
    objects.layer = std::move(layer);
    objects.payload_bytes = std::move(bytes);
    objects.release_ns = std::move(release);
    objects.deadline_ns = std::move(deadline);
    plan.engine.coding.period = std::move(period);
}

bool read_line(const std::string& key, std::istringstream& in, Plan& plan) {
    if (key == "namespaces")
        in >> plan.craft_ns >> plan.earth_ns;
    else if (key == "steer")
        in >> plan.steer_in >> plan.steer_out;
    else if (key == "queues")
        in >> plan.queues;
    else if (key == "times")
        in >> plan.tick >> plan.stall;
    else if (key == "earth")
        in >> plan.earths.emplace_back();
    else if (key == "lines") {
        auto& [first, last] = plan.lines.emplace_back();
        in >> first >> last;
    } else if (key == "craft") {
        Path& path = plan.paths.emplace_back();
        in >> path.link >> path.craft;
    } else if (key == "payload")
        plan.payloads.payloads.push_back(links::rest_of(in));
    else if (key == "objects")
        read_objects(links::rest_of(in), plan);
    else if (key == "result")
        plan.result = links::rest_of(in);
    else if (key == "received")
        plan.received = links::rest_of(in);
    else
        return false;
    return true;
}

}  // namespace

Plan read_plan(const std::string& path) {
    Plan plan;
    const auto take = [&](const std::string& key, std::istringstream& in) { return read_line(key, in, plan); };
    links::read_all(links::read_lines(path, take), "", plan.engine);
    const std::size_t links = plan.engine.links.size();
    bool whole = plan.engine.objects.size() > 0 && !plan.paths.empty() && plan.earths.size() == links &&
                 plan.lines.size() == links;
    for (const Path& each : plan.paths) whole = whole && each.link < links;
    if (!whole) throw Failure(path + ": not whole");
    // netem needs a moment to let the first packet through after an outage: it is over a look later than it is for the plan.
    for (dstcc::LinkConfig& link : plan.engine.links)
        for (auto* outages : {&link.outages_ns, &link.up_outages_ns})
            for (auto& outage : *outages)
                outage.second = std::min(outage.second, dstcc::kNever - plan.tick) + plan.tick;
    return plan;
}

}  // namespace coded
