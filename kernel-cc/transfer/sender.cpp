#include "sender.hpp"

#include <algorithm>
#include <numeric>

namespace transfer {

namespace {

constexpr Time kRefreshes = 32;    // TCP_INFO is read so many times a round trip
constexpr std::int64_t kFill = 8;  // stream: a share of the windows is kept in the connection beyond what is under way
constexpr double kRepairShare = 0.5;  // of the time to spare, what is kept for a repair; as the simulator's

}  // namespace

Sender::Sender(const Plan& plan, Ledger& ledger, Craft& craft, Earth& earth, Payloads& payloads)
    : Feeder(plan, ledger, craft, earth, payloads, plan.layer_first),
      lanes_(plan.lane_plans.size()),
      order_(lanes_.size()),
      layer_links_(plan.layer_links) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) lanes_[i].link = plan.lane_plans[i].link;
    std::iota(order_.begin(), order_.end(), 0);
}

void Sender::pump(Time now, const std::function<void()>& drained) {
    waiting_.release(now);
    Time quickest = kNever;
    for (const Link& link : plan_.links) quickest = std::min(quickest, link.light.at(now));
    waiting_.drop_lost(now + quickest);
    order_lanes();
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
// window has room for before the next takes any. By turns where that is asked for.
void Sender::order_lanes() {
    if (plan_.rotate) {
        std::rotate(order_.begin(), order_.begin() + 1, order_.end());
        return;
    }
    std::sort(order_.begin(), order_.end(), [this](int a, int b) {
        const Time of_a = lanes_[static_cast<std::size_t>(a)].srtt, of_b = lanes_[static_cast<std::size_t>(b)].srtt;
        return of_a != of_b ? of_a < of_b : a < b;
    });
}

void Sender::refresh(Lane& lane, int index, Time now) {
    lane.one_way = plan_.links[static_cast<std::size_t>(lane.link)].light.at(now);
    const std::int64_t heard = ledger_.heard(index);
    const bool news = plan_.lanes && heard != lane.heard && now > lane.looked;
    if (lane.looked >= 0 && !news && now - lane.looked < std::max(plan_.tick, lane.srtt / kRefreshes)) return;
    lane.looked = now;
    lane.heard = heard;
    std::int64_t window = 0, flight = 0;
    lane.srtt = lane.min_rtt = 0;
    double pace = 0;  // bytes per second
    Time longest = 0, shortest = kNever;
    for (const SubflowInfo& info : craft_.look(index)) {
        const int link = plan_.subflow_links[static_cast<std::size_t>(info.number)];
        if (plan_.lanes && link != lane.link) continue;
        const Time srtt = static_cast<Time>(info.tcp.tcpi_rtt) * 1000;
        window += static_cast<std::int64_t>(info.tcp.tcpi_snd_cwnd);
        flight += static_cast<std::int64_t>(info.tcp.tcpi_unacked) - info.tcp.tcpi_sacked - info.tcp.tcpi_lost +
                  info.tcp.tcpi_retrans;
        longest = std::max(longest, srtt);
        pace += static_cast<double>(info.tcp.tcpi_pacing_rate);
        if (srtt < shortest) {
            shortest = lane.srtt = srtt;
            lane.min_rtt = info.tcp.tcpi_min_rtt == UINT32_MAX ? srtt : static_cast<Time>(info.tcp.tcpi_min_rtt) * 1000;
        }
    }
    lane.queueing = std::max<Time>(lane.srtt - lane.min_rtt, 0);
    lane.window = window * plan_.mss;
    lane.window_room = std::max<std::int64_t>(window - flight, 0) * plan_.mss;
    lane.ns_per_byte = lane.window > 0 ? static_cast<double>(lane.srtt) / static_cast<double>(lane.window) : 0.0;
    if (paced() && pace > 0) lane.ns_per_byte = std::max(lane.ns_per_byte, kNsPerS / pace);
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

dstcc_dispatch::Forecast Sender::forecast(const Lane& lane, Time now) const {
    const Time light = now + lane.one_way;
    return {light,
            light + lane.queueing,
            lane.ns_per_byte,
            paced() ? 0 : lane.window_room,
            lane.one_way,
            std::max(lane.srtt, 2 * lane.one_way)};
}

// Of what is begun: its next byte.
bool Sender::too_late(int object, const Lane& lane, Time now) const {
    return dstcc_dispatch::late(waiting_.layer(object), forecast(lane, now), dstcc_dispatch::Slack::kLight,
                                kRepairShare);
}

bool Sender::wanted(int object, const Lane& lane) const {
    const auto layer = static_cast<std::size_t>(waiting_.of(object).layer);
    return !plan_.lanes || layer >= layer_links_.size() || layer_links_[layer] < 0 || layer_links_[layer] == lane.link;
}

// One connection as the rules' only path.
class Sender::View {
public:
    View(const Sender& of, const Lane& lane, Time now) : of_(of), lane_(lane), path_(of.forecast(lane, now)) {}
    dstcc_dispatch::Layer layer(dstcc_dispatch::Object object) const {
        return of_.waiting_.layer(static_cast<int>(object));
    }
    bool blocked(dstcc_dispatch::Object object) const {
        return !of_.wanted(static_cast<int>(object), lane_) || of_.waiting_.blocked(static_cast<int>(object));
    }
    Time light(std::size_t) const { return path_.light_ns; }
    const dstcc_dispatch::Forecast& forecast(std::size_t) const { return path_; }
    double repair_share() const { return kRepairShare; }
    const std::vector<Waiting::Level>& levels() const { return of_.waiting_.levels(); }

private:
    const Sender& of_;
    const Lane& lane_;
    dstcc_dispatch::Forecast path_;
};

int Sender::pick(const Lane& lane, Time now) {
    dstcc_dispatch::Object object = 0;
    std::uint64_t paths = 1;
    const bool any = dstcc_dispatch::next_in_time(View(*this, lane, now), paths, object, [](const Waiting::Level&) {});
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
    lane.offset += sent;
    if (sent == rest) lane.object = -1;
    return true;
}

}  // namespace transfer
