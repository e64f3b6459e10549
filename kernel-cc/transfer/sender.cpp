#include "sender.hpp"

#include <algorithm>
#include <numeric>

namespace transfer {

namespace {

constexpr Time kRefreshes = 32;    // TCP_INFO is read so many times a round trip
constexpr std::int64_t kFill = 8;  // stream: a share of the windows is kept in the connection beyond what is in flight
constexpr double kRepairShare = 0.5;  // of the time to spare, what is kept for a repair; as the simulator's

}  // namespace

Sender::Sender(const Plan& plan, Ledger& ledger, Craft& craft, Earth& earth, Payloads& payloads)
    : Feeder(plan, ledger, craft, earth, payloads, plan.layer_first),
      lanes_(plan.lane_plans.size()),
      order_(lanes_.size()),
      layer_links_(plan.layer_links) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        lanes_[i].link = plan.lane_plans[i].link;
        lanes_[i].paths.resize(plan.links.size());
    }
    std::iota(order_.begin(), order_.end(), 0);
}

void Sender::pump(Time now, const std::function<void()>& drained) {
    waiting_.release(now);
    Time quickest = kNever;
    for (const Link& link : plan_.links) quickest = std::min(quickest, link.light.at(now));
    waiting_.drop_lost(now + quickest);
    order_lanes(now);
    for (bool any = true; any && !waiting_.empty();) {
        any = false;
        for (const int lane : order_)
            while (!waiting_.empty() && room(lane, now) && offer(lane, now)) {
                any = true;
                drained();
                if (plan_.rotate) break;
            }
    }
}

// The quickest first, and of those the one with the lowest number, as the simulator's minrtt chooses: it takes all that its
// window has room for before the next takes any: so all are looked at, not only those that were offered something. By turns
// where that is asked for.
void Sender::order_lanes(Time now) {
    if (plan_.rotate) {
        std::rotate(order_.begin(), order_.begin() + 1, order_.end());
        return;
    }
    if (waiting_.empty()) return;
    for (const int lane : order_)
        if (plan_.lanes && craft_.connected(lane)) refresh(lanes_[static_cast<std::size_t>(lane)], lane, now);
    std::sort(order_.begin(), order_.end(), [this](int a, int b) {
        const Time of_a = lanes_[static_cast<std::size_t>(a)].srtt, of_b = lanes_[static_cast<std::size_t>(b)].srtt;
        return of_a != of_b ? of_a < of_b : a < b;
    });
}

// A joined subflow sends once the ACK of its handshake is acknowledged in turn, a round trip after TCP has its first sample.
bool Sender::may_send(const SubflowInfo& info, int link, Path& path, Time now) const {
    const tcp_info& tcp = info.tcp;
    if (plan_.lanes || link == 0 || tcp.tcpi_data_segs_out > 0) return true;
    if (path.begins == kNever && tcp.tcpi_rtt > 0)
        path.begins = now + static_cast<Time>(tcp.tcpi_rtt) * 1000 -
                      static_cast<Time>(tcp.tcpi_last_ack_recv) * 1'000'000;  // the answer to its SYN
    return path.begins <= now;
}

void Sender::refresh(Lane& lane, int index, Time now) {
    const std::int64_t heard = ledger_.heard(index);
    const bool news = now > lane.looked && (heard != lane.heard || lane.begins <= now);
    if (lane.looked >= 0 && !news && now - lane.looked < std::max(plan_.tick, lane.srtt / kRefreshes)) return;
    lane.looked = now;
    lane.heard = heard;
    lane.srtt = lane.window = lane.window_room = 0;
    std::uint64_t stale = 0;
    // What a pacer holds has its place in the window, though it is not in flight yet.
    const std::int64_t held = plan_.lanes ? (ledger_.unsent(index) + plan_.mss - 1) / plan_.mss : 0;
    lane.usable = 0;
    lane.begins = kNever;
    for (const SubflowInfo& info : craft_.look(index)) {
        const int link = plan_.subflow_links[static_cast<std::size_t>(info.number)];
        if (plan_.lanes && link != lane.link) continue;
        Path& path = lane.paths[static_cast<std::size_t>(link)];
        if (!may_send(info, link, path, now)) {
            lane.begins = std::min(lane.begins, path.begins);
            continue;
        }
        const tcp_info& tcp = info.tcp;
        const auto in_flight =
            static_cast<std::int64_t>(tcp.tcpi_unacked) - tcp.tcpi_sacked - tcp.tcpi_lost + tcp.tcpi_retrans;
        const auto window = static_cast<std::int64_t>(tcp.tcpi_snd_cwnd);
        path.srtt = static_cast<Time>(tcp.tcpi_rtt) * 1000;
        path.min_rtt = tcp.tcpi_min_rtt == UINT32_MAX ? path.srtt : static_cast<Time>(tcp.tcpi_min_rtt) * 1000;
        path.room = std::max<std::int64_t>(window - in_flight - held, 0) * plan_.mss;
        path.ns_per_byte = window > 0 ? static_cast<double>(path.srtt) / static_cast<double>(window * plan_.mss) : 0.0;
        if (paced() && tcp.tcpi_pacing_rate > 0)
            path.ns_per_byte = std::max(path.ns_per_byte, kNsPerS / static_cast<double>(tcp.tcpi_pacing_rate));
        (tcp.tcpi_retransmits > 0 ? stale : lane.usable) |= std::uint64_t{1} << link;
        lane.window += window * plan_.mss;
        lane.window_room += path.room;
        lane.srtt = lane.srtt == 0 ? path.srtt : std::min(lane.srtt, path.srtt);
    }
    if (lane.usable == 0) lane.usable = stale;
}

bool Sender::room(int index, Time now) {
    if (!craft_.connected(index)) return false;
    Lane& lane = lanes_[static_cast<std::size_t>(index)];
    const std::int64_t unsent = ledger_.unsent(index);
    if (plan_.lanes) {
        if (unsent > (lane.object >= 0 && paced() ? plan_.mss : 0)) return false;
        refresh(lane, index, now);
        return lane.window_room > 0 || (lane.object >= 0 && !plan_.drop_late);
    }
    refresh(lane, index, now);
    return !plan_.drop_late || kFill * unsent <= lane.window;
}

dstcc_dispatch::Forecast Sender::forecast(const Lane& lane, std::size_t link, Time now) const {
    const Path& path = lane.paths[link];
    const Time one_way = plan_.links[link].light.at(now), light = now + one_way;
    return {light,
            light + std::max<Time>(path.srtt - path.min_rtt, 0),
            path.ns_per_byte,
            paced() ? 0 : path.room,
            one_way,
            std::max(path.srtt, 2 * one_way)};
}

// Of what is begun: its next byte.
bool Sender::too_late(int object, const Lane& lane, Time now) const {
    const auto path = forecast(lane, static_cast<std::size_t>(lane.link), now);
    return dstcc_dispatch::late(waiting_.layer(object), path, dstcc_dispatch::Slack::kLight, kRepairShare);
}

bool Sender::wanted(int object, const Lane& lane) const {
    const auto layer = static_cast<std::size_t>(waiting_.of(object).layer);
    return !plan_.lanes || layer >= layer_links_.size() || layer_links_[layer] < 0 || layer_links_[layer] == lane.link;
}

// A connection's subflows as the rules' paths.
class Sender::View {
public:
    View(const Sender& of, const Lane& lane, Time now) : of_(of), lane_(lane), forecasts_(lane.paths.size()) {
        for (std::uint64_t left = lane.usable; left != 0; left &= left - 1) {
            const std::size_t s = dstcc_dispatch::lowest_path(left);
            forecasts_[s] = of.forecast(lane, s, now);
        }
    }
    dstcc_dispatch::Layer layer(dstcc_dispatch::Object object) const {
        return of_.waiting_.layer(static_cast<int>(object));
    }
    bool blocked(dstcc_dispatch::Object object) const {
        return !of_.wanted(static_cast<int>(object), lane_) || of_.waiting_.blocked(static_cast<int>(object));
    }
    Time light(std::size_t s) const { return forecasts_[s].light_ns; }
    const dstcc_dispatch::Forecast& forecast(std::size_t s) const { return forecasts_[s]; }
    double repair_share() const { return kRepairShare; }
    const std::vector<Waiting::Level>& levels() const { return of_.waiting_.levels(); }

private:
    const Sender& of_;
    const Lane& lane_;
    std::vector<dstcc_dispatch::Forecast> forecasts_;
};

int Sender::pick(const Lane& lane, Time now) {
    dstcc_dispatch::Object object = 0;
    std::uint64_t paths = lane.usable;
    const bool any =
        paths != 0 && dstcc_dispatch::next_in_time(View(*this, lane, now), paths, object, [](const Waiting::Level&) {});
    return any ? static_cast<int>(object) : -1;
}

// Hands a stretch of a layer to a connection; false when there is nothing for it, or it takes nothing.
bool Sender::offer(int index, Time now) {
    Lane& lane = lanes_[static_cast<std::size_t>(index)];
    if (plan_.lanes && plan_.drop_late && lane.object >= 0 &&
        (waiting_.hopeless(lane.object) || too_late(lane.object, lane, now))) {
        waiting_.leave(lane.object, waiting_.of(lane.object).bytes - lane.offset);
        lane.object = -1;
        return lane.window_room > 0;
    }
    if (lane.object < 0) {
        lane.object = pick(lane, now);
        lane.offset = 0;
        if (lane.object < 0) return false;
        waiting_.take(lane.object);
    }
    const int object = lane.object;
    const std::int64_t rest = waiting_.of(object).bytes - lane.offset;
    std::int64_t stretch = std::min(rest, Payloads::kStretch);
    if (plan_.lanes && plan_.drop_late)
        stretch = std::min<std::int64_t>(stretch, paced() ? plan_.mss : lane.window_room);
    const std::int64_t sent = hand(index, object, lane.offset, stretch, lane.link);
    if (sent == 0) return false;
    lane.window_room = std::max<std::int64_t>(lane.window_room - (sent + plan_.mss - 1) / plan_.mss * plan_.mss, 0);
    lane.paths[static_cast<std::size_t>(lane.link)].room = lane.window_room;
    if (!plan_.lanes) lane.looked = -1;  // the kernel says which subflow has it
    lane.offset += sent;
    if (sent == rest) lane.object = -1;
    return true;
}

}  // namespace transfer
