#include "sender.hpp"

#include <algorithm>
#include <numeric>

namespace transfer {

namespace {

constexpr Time kRefreshes = 32;      // TCP_INFO is read so many times a round trip
constexpr std::int64_t kFill = 8;    // stream: a share of the windows is kept in the connection beyond what is under way

}  // namespace

Sender::Sender(const Plan& plan, Ledger& ledger, Craft& craft, Earth& earth, Payloads& payloads)
    : Feeder(plan, ledger, craft, earth, payloads, plan.layer_first),
      lanes_(plan.lane_plans.size()), order_(lanes_.size()), layer_links_(plan.layer_links) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) lanes_[i].link = plan.lane_plans[i].link;
    std::iota(order_.begin(), order_.end(), 0);
}

void Sender::pump(Time now, const std::function<void()>& drained) {
    waiting_.release(now);
    Time quickest = kNever;
    for (const Link& link : plan_.links) quickest = std::min(quickest, link.one_way(now));
    waiting_.drop_lost(now + quickest);
    order_lanes();
    for (bool any = true; any && !waiting_.empty();) {
        any = false;
        for (const int lane : order_)
            if (room(lane, now) && offer(lane, now)) {
                any = true;
                drained();
            }
    }
}

// The quickest first; by turns where that is asked for.
void Sender::order_lanes() {
    if (plan_.rotate) {
        std::rotate(order_.begin(), order_.begin() + 1, order_.end());
        return;
    }
    std::stable_sort(order_.begin(), order_.end(), [this](int a, int b) {
        return lanes_[static_cast<std::size_t>(a)].srtt < lanes_[static_cast<std::size_t>(b)].srtt;
    });
}

void Sender::refresh(Lane& lane, int index, Time now) {
    lane.one_way = plan_.links[static_cast<std::size_t>(lane.link)].one_way(now);
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
        flight += static_cast<std::int64_t>(info.tcp.tcpi_unacked) - info.tcp.tcpi_sacked - info.tcp.tcpi_lost + info.tcp.tcpi_retrans;
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

// Would its last byte (what is begun: its next) arrive after it is due, if nothing more were lost?
bool Sender::fits(int object, const Lane& lane, Slack slack, Time now) const {
    const Object& told = waiting_.of(object);
    if (told.deadline == kNever) return true;
    const Time light = now + lane.one_way;
    if (slack == Slack::kLight) return light <= told.deadline;
    Time due = told.deadline;
    if (slack == Slack::kRepair) {
        const Time spare = told.deadline - told.release - lane.one_way;
        due -= std::clamp<Time>(spare / 2, 0, std::max(lane.srtt, 2 * lane.one_way));
    }
    const auto excess = static_cast<double>(std::max<std::int64_t>(told.bytes - (paced() ? 0 : lane.window_room), 0));
    return light + lane.queueing + static_cast<Time>(std::min(excess * lane.ns_per_byte, 1e18)) <= due;
}

bool Sender::wanted(int object, const Lane& lane) const {
    const auto layer = static_cast<std::size_t>(waiting_.of(object).layer);
    return !plan_.lanes || layer >= layer_links_.size() || layer_links_[layer] < 0 || layer_links_[layer] == lane.link;
}

// Base layers first where that is asked for; of each level those with time for a repair before those without; if nothing
// would be in time at the present window, the newest all the same, as windows grow only if used.
int Sender::pick(const Lane& lane, Time now) {
    for (const Waiting::Level& of : waiting_.levels())
        for (const Slack slack : {Slack::kRepair, Slack::kWindow}) {
            auto at = of.objects.begin() + static_cast<std::ptrdiff_t>(of.head);
            if (plan_.drop_late)  // deadlines rise along the queue
                at = std::partition_point(at, of.objects.end(), [&](int o) {
                    return waiting_.of(o).deadline < now + lane.one_way;
                });
            for (std::size_t seen = 0; at != of.objects.end() && seen < kScan; ++at, ++seen)
                if (!waiting_.taken(*at) && wanted(*at, lane) && !waiting_.premature(*at) && !waiting_.hopeless(*at) &&
                    fits(*at, lane, slack, now))
                    return *at;
        }
    for (const Waiting::Level& of : waiting_.levels())
        for (std::size_t i = of.objects.size(), seen = 0; i > of.head && seen < kScan; --i, ++seen) {
            const int object = of.objects[i - 1];
            if (!waiting_.taken(object) && wanted(object, lane) && !waiting_.premature(object) && !waiting_.hopeless(object) &&
                fits(object, lane, Slack::kLight, now))
                return object;
        }
    return -1;
}

// Hands a stretch of a layer to a connection; false when there is nothing for it, or it takes nothing.
bool Sender::offer(int index, Time now) {
    Lane& lane = lanes_[static_cast<std::size_t>(index)];
    if (plan_.lanes && plan_.drop_late && lane.object >= 0 && (waiting_.hopeless(lane.object) || !fits(lane.object, lane, Slack::kLight, now))) {
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
    const std::int64_t sent = hand(index, object, lane.offset, stretch);
    if (sent == 0) return false;
    lane.window_room = std::max<std::int64_t>(lane.window_room - (sent + plan_.mss - 1) / plan_.mss * plan_.mss, 0);
    lane.offset += sent;
    if (sent == rest) lane.object = -1;
    return true;
}

}  // namespace transfer
