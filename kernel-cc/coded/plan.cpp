#include "plan.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "../links/config.hpp"

namespace coded {

namespace {

using Words = std::istringstream;

void read_objects(const std::string& path, Plan& plan) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw Failure(path + ": cannot be read");
    std::vector<std::int64_t> chunk, bytes;
    std::vector<std::uint8_t> layer;
    std::vector<Time> release, deadline;
    std::vector<std::uint32_t> period;
    std::int64_t row[7];
    while (file.read(reinterpret_cast<char*>(row), sizeof row)) {
        chunk.push_back(row[0]);
        layer.push_back(static_cast<std::uint8_t>(row[1]));
        bytes.push_back(row[2]);
        release.push_back(row[3]);
        deadline.push_back(row[4]);
        period.push_back(static_cast<std::uint32_t>(row[6]));
        plan.payloads.objects.push_back({row[0], row[1], row[2], row[3], row[4], row[5]});
    }
    if (chunk.empty()) throw Failure(path + ": no objects");
    dstcc::ObjectsConfig& objects = plan.engine.objects;
    objects.chunk = std::move(chunk);
    objects.layer = std::move(layer);
    objects.payload_bytes = std::move(bytes);
    objects.release_ns = std::move(release);
    objects.deadline_ns = std::move(deadline);
    plan.engine.coding.period = std::move(period);
}

void read_constants(Words& in, dstcc::ConstantsNs& to) {
    to.scale = 1;
    in >> to.rto_initial >> to.rto_min >> to.rto_max >> to.delayed_ack >> to.delayed_ack_max >> to.compressed_ack >>
        to.tlp_min >> to.hystart >> to.hystart_ack_delta >> to.hystart_delay_min >> to.hystart_delay_max >>
        to.bbr_min_rtt_window >> to.bbr_probe_rtt >> to.westwood_rtt_min >> to.jiffy >> to.uptime >> to.ledbat_target >>
        to.ledbat_minute >> to.quick_acks;
}

void read_place(const std::string& key, Words& in, Plan& plan) {
    std::size_t index;
    std::string address;
    in >> index >> address;
    if (key == "earth")
        plan.earths.push_back(address);
    else if (key == "craft")
        plan.paths.push_back({index, address});
    else
        throw Failure("plan: unknown key " + key);
}

void read_line(const std::string& key, Words& in, Plan& plan) {
    dstcc::EngineConfig& engine = plan.engine;
    dstcc::TransportConfig& transport = engine.transport;
    if (key == "namespaces")
        in >> plan.craft_ns >> plan.earth_ns;
    else if (key == "steer")
        in >> plan.steer_in >> plan.steer_out;
    else if (key == "seed")
        in >> engine.seed;
    else if (key == "transport")
        in >> transport.congestion >> transport.mss_bytes >> transport.header_bytes >> transport.initial_cwnd >>
            transport.drop_late >> transport.layer_first >> transport.handshake;
    else if (key == "constants")
        read_constants(in, transport.constants);
    else if (key == "parameter") {
        std::string control, name;
        in >> control >> name;
        std::vector<double>& values = transport.parameters[control][name];
        for (double value; in >> value;) values.push_back(value);
        in.clear();
    } else if (key == "times")
        in >> plan.tick >> engine.slot_ns >> engine.duration_ns >> plan.stall;
    else if (key == "coding") {
        std::string place;
        in >> engine.coding.automatic >> place >> engine.coding.block_ns >> engine.coding.word_packets;
        engine.coding.place = place == "same"    ? dstcc::RepairPlace::kSame
                              : place == "other" ? dstcc::RepairPlace::kOther
                                                 : dstcc::RepairPlace::kSpread;
    } else if (key == "words") {
        std::uint32_t words;
        in >> words;
        engine.coding.words.push_back(words);
    } else if (key == "share") {
        double share;
        in >> share;
        engine.coding.repair.push_back(share);
    } else if (key == "payload") {
        std::string path;
        std::getline(in >> std::ws, path);
        plan.payloads.payloads.push_back(path);
    } else if (key == "objects") {
        std::string path;
        std::getline(in >> std::ws, path);
        read_objects(path, plan);
    } else if (key == "result")
        std::getline(in >> std::ws, plan.result);
    else if (key == "received")
        std::getline(in >> std::ws, plan.received);
    else if (!links::read_line(key, in, engine.links))
        read_place(key, in, plan);
    if (in.fail()) throw Failure("plan: " + key + ": a value is missing or no number");
}

}  // namespace

Plan read_plan(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw Failure(path + ": cannot be read");
    Plan plan;
    plan.engine.transport.coded = true;
    for (std::string line; std::getline(file, line);) {
        Words in(line);
        if (std::string key; in >> key) read_line(key, in, plan);
    }
    const std::size_t links = plan.engine.links.size();
    bool whole = plan.engine.objects.size() > 0 && !plan.paths.empty() && plan.earths.size() == links;
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
