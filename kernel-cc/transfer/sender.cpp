#include "sender.hpp"

#include <algorithm>
#include <numeric>

namespace transfer {

namespace {

constexpr Time kRefreshes = 32;      // TCP_INFO is read so many times a round trip
constexpr std::int64_t kFill = 2;    // stream: windows kept in the connection beyond what is under way, as Linux tunes sndbuf
constexpr std::size_t kScan = 4096;  // waiting layers looked at for one decision

}  // namespace

Sender::Sender(const Plan& plan, Ledger& ledger, Craft& craft, Earth& earth, Payloads& payloads)
    : plan_(plan), ledger_(ledger), craft_(craft), earth_(earth), payloads_(payloads), lanes_(plan.lane_plans.size()),
      order_(lanes_.size()), layer_links_(plan.layer_links), levels_(plan.layer_first ? static_cast<std::size_t>(plan.layers) : 1),
      begun_(plan.objects.size()), taken_(plan.objects.size()), backlog_(static_cast<std::size_t>(plan.layers)) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) lanes_[i].link = plan.lane_plans[i].link;
    std::iota(order_.begin(), order_.end(), 0);
}

std::vector<std::int64_t> Sender::backlog() const { return backlog_; }

std::vector<Time> Sender::oldest() const {
    std::vector<Time> found(backlog_.size(), kNever);
    for (const Level& of : levels_)
        for (std::size_t i = of.head, seen = 0; i < of.objects.size() && seen < kScan; ++i, ++seen) {
            const Object& told = plan_.objects[static_cast<std::size_t>(of.objects[i])];
            Time& least = found[static_cast<std::size_t>(told.layer)];
            if (!taken_[static_cast<std::size_t>(of.objects[i])]) least = std::min(least, told.deadline);
        }
    return found;
}

Time Sender::one_way(int link, Time now) const {
    const auto& rows = plan_.links[static_cast<std::size_t>(link)].delays;
    auto row = std::upper_bound(rows.begin(), rows.end(), now, [](Time at, const DelayRow& r) { return at < r.from; });
    return row == rows.begin() ? rows.front().delay : std::prev(row)->delay;
}

void Sender::release(Time now) {
    for (; released_ < plan_.objects.size() && plan_.objects[released_].release <= now; ++released_) {
        const int object = static_cast<int>(released_);
        levels_[level(object)].objects.push_back(object);
        backlog_[static_cast<std::size_t>(plan_.objects[released_].layer)] += plan_.objects[released_].bytes;
        ++waiting_;
    }
}

// Out of the queue, to be sent or given up.
void Sender::take(int object) {
    taken_[static_cast<std::size_t>(object)] = 1;
    Level& of = levels_[level(object)];
    while (of.head < of.objects.size() && taken_[static_cast<std::size_t>(of.objects[of.head])]) ++of.head;
}

bool Sender::hopeless(int object) const {
    const Object& told = plan_.objects[static_cast<std::size_t>(object)];
    return told.layer > 0 && ledger_.outcomes[static_cast<std::size_t>(object) - 1].given_up;
}

// The layer it builds on has not been begun, and comes first.
bool Sender::premature(int object) const {
    return plan_.objects[static_cast<std::size_t>(object)].layer > 0 && !begun_[static_cast<std::size_t>(object) - 1];
}

// What not even light could bring in time by any link.
void Sender::drop_lost(Time now) {
    if (!plan_.drop_late) return;
    Time quickest = kNever;
    for (std::size_t link = 0; link < plan_.links.size(); ++link) quickest = std::min(quickest, one_way(static_cast<int>(link), now));
    for (Level& of : levels_)
        while (of.head < of.objects.size()) {
            const int object = of.objects[of.head];
            const Object& told = plan_.objects[static_cast<std::size_t>(object)];
            if (taken_[static_cast<std::size_t>(object)]) { ++of.head; continue; }
            if (!hopeless(object) && (told.deadline == kNever || now + quickest <= told.deadline)) break;
            ledger_.give_up(object);
            backlog_[static_cast<std::size_t>(told.layer)] -= told.bytes;
            --waiting_;
            take(object);
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
    lane.one_way = one_way(lane.link, now);
    if (lane.looked >= 0 && now - lane.looked < std::max(plan_.tick, lane.srtt / kRefreshes)) return;
    lane.looked = now;
    std::int64_t window = 0, flight = 0;
    lane.srtt = lane.min_rtt = 0;
    Time longest = 0, shortest = kNever;
    for (const SubflowInfo& info : craft_.look(index)) {
        const int link = plan_.subflow_links[static_cast<std::size_t>(info.number)];
        if (plan_.lanes && link != lane.link) continue;
        const Time srtt = static_cast<Time>(info.tcp.tcpi_rtt) * 1000;
        window += static_cast<std::int64_t>(info.tcp.tcpi_snd_cwnd);
        flight += static_cast<std::int64_t>(info.tcp.tcpi_unacked) - info.tcp.tcpi_sacked - info.tcp.tcpi_lost + info.tcp.tcpi_retrans;
        longest = std::max(longest, srtt);
        if (srtt < shortest) {
            shortest = lane.srtt = srtt;
            lane.min_rtt = info.tcp.tcpi_min_rtt == UINT32_MAX ? srtt : static_cast<Time>(info.tcp.tcpi_min_rtt) * 1000;
        }
    }
    lane.queueing = std::max<Time>(lane.srtt - lane.min_rtt, 0);
    lane.window = window * plan_.mss;
    lane.window_room = std::max<std::int64_t>(window - flight, 0) * plan_.mss;
}

bool Sender::room(int index, Time now) {
    if (!craft_.connected(index)) return false;
    Lane& lane = lanes_[static_cast<std::size_t>(index)];
    const std::int64_t unsent = ledger_.unsent(index);
    if (plan_.lanes) {
        if (unsent > 0) return false;
        refresh(lane, index, now);
        return true;
    }
    refresh(lane, index, now);
    return !plan_.drop_late || unsent <= kFill * lane.window;
}

// Would its last byte (what is begun: its next) arrive after it is due, if nothing more were lost?
bool Sender::fits(int object, const Lane& lane, Slack slack, Time now) const {
    const Object& told = plan_.objects[static_cast<std::size_t>(object)];
    if (told.deadline == kNever) return true;
    const Time light = now + lane.one_way;
    if (slack == Slack::kLight) return light <= told.deadline;
    Time due = told.deadline;
    if (slack == Slack::kRepair) {
        const Time spare = told.deadline - told.release - lane.one_way;
        due -= std::clamp<Time>(spare / 2, 0, std::max(lane.srtt, 2 * lane.one_way));
    }
    const auto excess = static_cast<double>(std::max<std::int64_t>(told.bytes - lane.window_room, 0));
    const double ns_per_byte = lane.window > 0 ? static_cast<double>(lane.srtt) / static_cast<double>(lane.window) : 0.0;
    return light + lane.queueing + static_cast<Time>(std::min(excess * ns_per_byte, 1e18)) <= due;
}

bool Sender::wanted(int object, const Lane& lane) const {
    const auto layer = static_cast<std::size_t>(plan_.objects[static_cast<std::size_t>(object)].layer);
    return !plan_.lanes || layer >= layer_links_.size() || layer_links_[layer] < 0 || layer_links_[layer] == lane.link;
}

// Base layers first where that is asked for; those with time for a repair before those without; if nothing would be in
// time at the present window, the newest all the same, as windows grow only if used.
int Sender::pick(const Lane& lane, Time now) {
    for (const Slack slack : {Slack::kRepair, Slack::kWindow})
        for (Level& of : levels_) {
            auto at = of.objects.begin() + static_cast<std::ptrdiff_t>(of.head);
            if (plan_.drop_late)  // deadlines rise along the queue
                at = std::partition_point(at, of.objects.end(), [&](int o) {
                    return plan_.objects[static_cast<std::size_t>(o)].deadline < now + lane.one_way;
                });
            for (std::size_t seen = 0; at != of.objects.end() && seen < kScan; ++at, ++seen)
                if (!taken_[static_cast<std::size_t>(*at)] && wanted(*at, lane) && !premature(*at) && !hopeless(*at) &&
                    fits(*at, lane, slack, now))
                    return *at;
        }
    for (Level& of : levels_)
        for (std::size_t i = of.objects.size(), seen = 0; i > of.head && seen < kScan; --i, ++seen) {
            const int object = of.objects[i - 1];
            if (!taken_[static_cast<std::size_t>(object)] && wanted(object, lane) && !premature(object) && !hopeless(object) &&
                fits(object, lane, Slack::kLight, now))
                return object;
        }
    return -1;
}

// Hands a stretch of a layer to a connection; false when there is nothing for it, or it takes nothing.
bool Sender::offer(int index, Time now) {
    Lane& lane = lanes_[static_cast<std::size_t>(index)];
    if (lane.object < 0) {
        lane.object = pick(lane, now);
        lane.offset = 0;
        if (lane.object < 0) return false;
        take(lane.object);
    }
    const Object& told = plan_.objects[static_cast<std::size_t>(lane.object)];
    const std::int64_t stretch = std::min(told.bytes - lane.offset, Payloads::kStretch);
    const std::int64_t sent = craft_.write(index, payloads_.at(lane.object, lane.offset, stretch), stretch);
    if (sent <= 0) return false;
    begun_[static_cast<std::size_t>(lane.object)] = 1;
    ledger_.wrote(index, lane.object, sent);
    earth_.wrote(index, lane.object, sent);
    lane.window_room = std::max<std::int64_t>(lane.window_room - sent, 0);
    backlog_[static_cast<std::size_t>(told.layer)] -= sent;
    lane.offset += sent;
    if (lane.offset == told.bytes) {
        lane.object = -1;
        --waiting_;
    }
    return true;
}

}  // namespace transfer
