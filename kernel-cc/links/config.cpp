#include "config.hpp"

#include <functional>
#include <map>
#include <memory>

namespace links {

namespace {

using dstcc::LinkConfig;
using dstcc::Time;
using Words = std::istringstream;

std::pair<Time, Time> times(Words& in) {
    std::pair<Time, Time> read;
    in >> read.first >> read.second;
    return read;
}

void read_delay(Words& in, LinkConfig& link) {
    const auto [t, delay] = times(in);
    link.delay_t_ns.push_back(t);
    link.delay_ns.push_back(delay);
    if (double slope; in && in >> slope)
        link.delay_slope.push_back(slope);
    else if (in.eof())
        in.clear();
}

void read_share(Words& in, dstcc::Shares& shares) {
    Time from;
    double share;
    in >> from >> share;
    shares.t_ns.push_back(from);
    shares.share.push_back(share);
}

dstcc::CrossTrafficConfig traffic_of(Words& in) {
    dstcc::CrossTrafficConfig source;
    int periods;
    in >> source.rate_bps >> source.packet_bytes >> source.start_ns >> source.stop_ns >> source.on_ns >>
        source.off_ns >> periods >> source.pareto_shape;
    source.periods = static_cast<dstcc::Periods>(periods);
    return source;
}

void read_relay(Words& in, LinkConfig& link) {
    dstcc::RelayConfig& relay = link.relay.emplace();
    in >> relay.at >> relay.rate_bps >> relay.queue_bytes;
}

void read_relay_traffic(Words& in, LinkConfig& link) {
    if (!link.relay) link.relay.emplace();
    link.relay->cross_traffic.push_back(traffic_of(in));
}

dstcc::LossConfig loss_of(Words& in) {
    dstcc::LossConfig loss;
    in >> loss.kind;
    std::string name;
    for (double number; in >> name >> number;) loss.numbers[name] = {number};
    if (in.eof() && name.empty() == loss.numbers.empty()) in.clear();
    return loss;
}

// Shared and constant from then on: a copy with the row.
template <class Table>
Table& grown(std::shared_ptr<const Table>& table) {
    auto own = std::const_pointer_cast<Table>(table);
    if (!own) table = own = std::make_shared<Table>();
    return *own;
}

void read_loss_row(Words& in, dstcc::LossConfig& loss) {
    dstcc::LossSchedule& schedule = grown(loss.schedule);
    Time at;
    double rate;
    in >> at >> rate;
    schedule.t_ns.push_back(at);
    schedule.rate.push_back(rate);
}

void read_frames(Words& in, dstcc::LossConfig& loss) {
    dstcc::FrameSchedule& frames = grown(loss.frames);
    in >> frames.frame_bits >> frames.coherence_ns >> frames.curve_from_db >> frames.curve_step_db;
    for (double rate; in >> rate;) frames.log10_fer.push_back(rate);
    if (in.eof() && !frames.log10_fer.empty()) in.clear();
}

void read_frame_row(Words& in, dstcc::LossConfig& loss) {
    dstcc::FrameSchedule& frames = grown(loss.frames);
    Time at;
    double ebn0, scintillation;
    in >> at >> ebn0 >> scintillation;
    frames.t_ns.push_back(at);
    frames.ebn0_db.push_back(ebn0);
    frames.scintillation.push_back(scintillation);
}

const std::map<std::string, std::function<void(Words&, LinkConfig&)>> kKeys{
    {"delay", read_delay},
    {"outage", [](Words& in, LinkConfig& link) { link.outages_ns.push_back(times(in)); }},
    {"up-outage", [](Words& in, LinkConfig& link) { link.up_outages_ns.push_back(times(in)); }},
    {"unannounced", [](Words& in, LinkConfig& link) { link.unannounced_ns.push_back(times(in)); }},
    {"rate", [](Words& in, LinkConfig& link) { read_share(in, link.rate); }},
    {"up-rate", [](Words& in, LinkConfig& link) { read_share(in, link.up_rate); }},
    {"hidden-rate", [](Words& in, LinkConfig& link) { read_share(in, link.hidden); }},
    {"traffic", [](Words& in, LinkConfig& link) { link.cross_traffic.push_back(traffic_of(in)); }},
    {"relay", read_relay},
    {"relay-traffic", read_relay_traffic},
    {"loss", [](Words& in, LinkConfig& link) { link.loss = loss_of(in); }},
    {"up-loss", [](Words& in, LinkConfig& link) { link.up_loss = loss_of(in); }},
    {"loss-row", [](Words& in, LinkConfig& link) { read_loss_row(in, link.loss); }},
    {"up-loss-row", [](Words& in, LinkConfig& link) { read_loss_row(in, link.up_loss); }},
    {"frames", [](Words& in, LinkConfig& link) { read_frames(in, link.loss); }},
    {"up-frames", [](Words& in, LinkConfig& link) { read_frames(in, link.up_loss); }},
    {"frame-row", [](Words& in, LinkConfig& link) { read_frame_row(in, link.loss); }},
    {"up-frame-row", [](Words& in, LinkConfig& link) { read_frame_row(in, link.up_loss); }},
};

}  // namespace

bool read_line(const std::string& key, Words& in, std::vector<LinkConfig>& links) {
    if (key == "link") {
        LinkConfig& link = links.emplace_back();
        in >> link.rate_bps >> link.up_rate_bps >> link.queue_bytes >> link.up_queue_bytes >> link.queue_packets >>
            link.subflows;
        return true;
    }
    const auto known = key.front() == '.' && !links.empty() ? kKeys.find(key.substr(1)) : kKeys.end();
    if (known == kKeys.end()) return false;
    known->second(in, links.back());
    return true;
}

}  // namespace links
