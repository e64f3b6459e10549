#include "turns.hpp"

#include <algorithm>

namespace transfer {

namespace {

constexpr Time kLooks = 16;  // TCP_INFO is read so many times a round trip, and with each new window
constexpr double kLate = 2;  // looks' worth of data that may leave at once when a look came late

std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

// Links as the rules' paths. A controller that gives no order of layers has its table kept to: a layer waits for its link.
class Turns::View {
public:
    using Set = Turns::Set;
    explicit View(const Turns& of) : of_(of) {}
    dstcc_dispatch::Layer layer(dstcc_dispatch::Object object) const {
        return of_.waiting_.layer(static_cast<int>(object));
    }
    bool blocked(dstcc_dispatch::Object object) const { return of_.waiting_.blocked(static_cast<int>(object)); }
    Time light(std::size_t s) const { return of_.paths_[s].light_ns; }
    const dstcc_dispatch::Forecast& forecast(std::size_t s) const { return of_.paths_[s]; }
    double repair_share() const { return of_.repair_; }
    const std::vector<Waiting::Level>& levels() const { return of_.waiting_.levels(); }
    Time gap_ns() const { return of_.gap_; }
    std::int32_t entry(std::int64_t layer) const {
        return layer < static_cast<std::int64_t>(of_.layers_.size()) ? of_.layers_[static_cast<std::size_t>(layer)]
                                                                     : dstcc_dispatch::kAutomatic;
    }
    Set usable() const { return of_.established_ & ~of_.dark_; }
    std::size_t paths() const { return of_.roads_.size(); }
    bool strict() const { return of_.pinned_; }

private:
    const Turns& of_;
};

Turns::Turns(const Plan& plan, Ledger& ledger, Craft& craft, Earth& earth, Payloads& payloads)
    : Feeder(plan, ledger, craft, earth, payloads, true),
      roads_(plan.links.size()),
      paths_(plan.links.size()),
      layers_(plan.layer_links),
      gap_(plan.layer_first ? kNever : 0) {
    for (std::size_t i = 0; i < plan.lane_plans.size(); ++i)
        roads_[at(plan.lane_plans[i].link)].lanes.push_back(static_cast<int>(i));
    for (Road& road : roads_) road.rooms.resize(road.lanes.size());
}

void Turns::steer(const Answer& answer) {
    layers_ = answer.layers;
    gap_ = answer.gap >= 0 ? answer.gap : plan_.layer_first ? kNever : 0;
    repair_ = answer.repair;
    pinned_ = answer.gap < 0;
    dark_ = answer.dark;
    for (Road& road : roads_) road.looked = -1, road.set = true;  // windows are new
}

void Turns::pump(Time now, const std::function<void()>& drained) {
    waiting_.release(now);
    Time quickest = kNever;
    established_ = 0;
    for (std::size_t i = 0; i < roads_.size(); ++i) {
        Road& road = roads_[i];
        road.one_way = plan_.links[i].one_way(now);
        quickest = std::min(quickest, road.one_way);
        refresh(road, now);
        allow(road, static_cast<int>(i), now);
        if (road.there) established_ |= Set{1} << i;
    }
    waiting_.drop_lost(now + quickest);
    for (;;) {
        Set ready = 0;
        bool any = false;
        for (std::size_t i = 0; i < roads_.size(); ++i) {
            while (roads_[i].object >= 0 && feed(static_cast<int>(i))) {
                any = true;
                drained();
            }
            if (roads_[i].object < 0 && room(roads_[i], static_cast<int>(i)) > 0) ready |= Set{1} << i;
        }
        ready &= established_ & ~dark_;
        if ((ready == 0 || !bind(ready, now)) && !any) return;
    }
}

// The smoothed round trip of a link is that of the lanes that heard something since the last look, as a lane at rest keeps
// an old one.
void Turns::refresh(Road& road, Time now) {
    if (road.looked >= 0 && now - road.looked < std::max(plan_.tick, road.srtt / kLooks)) return;
    std::int64_t window = 0, flight = 0, lanes = 0;
    double srtt = 0, heard = 0;
    for (std::size_t i = 0; i < road.lanes.size(); ++i)
        for (const SubflowInfo& info : craft_.look(road.lanes[i])) {
            const tcp_info& tcp = info.tcp;
            if (plan_.subflow_links[at(info.number)] != plan_.lane_plans[at(road.lanes[i])].link || tcp.tcpi_rtt == 0)
                continue;
            if (!craft_.resting(road.lanes[i])) {
                ++lanes;
                window += tcp.tcpi_snd_cwnd;
            }
            flight += static_cast<std::int64_t>(tcp.tcpi_unacked) - tcp.tcpi_sacked - tcp.tcpi_lost + tcp.tcpi_retrans;
            const double news = road.srtt == 0 ? 1 : static_cast<double>(tcp.tcpi_bytes_acked - road.rooms[i].acked);
            srtt += 1e3 * tcp.tcpi_rtt * news;
            heard += news;
            const std::int64_t under_way = static_cast<std::int64_t>(tcp.tcpi_unacked) * plan_.mss;
            road.rooms[i] = {tcp.tcpi_bytes_acked, tcp.tcpi_snd_wnd - under_way, under_way == 0};
        }
    if (lanes == 0) return;
    if (heard > 0) road.srtt = static_cast<Time>(srtt / heard);
    road.there = true;
    road.looked = now;
    road.flight = flight * plan_.mss;
    if (plan_.rate && road.set) road.beside = road.flight;
    road.set = false;
    road.window = window * plan_.mss / lanes;
    road.then = ledger_.passed(plan_.lane_plans[at(road.lanes[0])].link);
    road.pace = static_cast<double>(road.window) / static_cast<double>(std::max<Time>(road.srtt, 1));
}

// A token bucket of a look or two: nothing is saved up while there is nothing to send. What leaves is charged, not what is
// handed over: a lane may hold it back until its receiver's window, 64 KiB at first, opens.
void Turns::allow(Road& road, int link, Time now) {
    const std::int64_t sent = ledger_.passed(link).sent;
    const double most = kLate * road.pace * static_cast<double>(plan_.tick) + plan_.mss;
    road.due = std::min(road.due + road.pace * static_cast<double>(now - road.fed), most) -
               static_cast<double>(sent - road.charged);
    road.charged = sent;
    road.fed = now;
    for (Road::Open& open : road.open)
        if (const std::int64_t unsent = ledger_.unsent(open.lane); unsent != open.unsent)
            open = {open.lane, unsent, now};
    road.open.erase(
        std::remove_if(road.open.begin(), road.open.end(), [](const Road::Open& o) { return o.unsent == 0; }),
        road.open.end());
}

// Bytes that may be handed over: within the window, and not ahead of the pace.
std::int64_t Turns::room(const Road& road, int link) const {
    if (!road.there) return 0;
    const Passed& passed = ledger_.passed(link);
    const std::int64_t flight =
        road.flight + (passed.sent - road.then.sent) - (passed.acked - road.then.acked) + passed.written - passed.left;
    const std::int64_t window = road.window + road.beside - std::max<std::int64_t>(flight, 0);
    const Time patience = 2 * plan_.tick + static_cast<Time>(kLate * plan_.mss / std::max(road.pace, 1e-9));
    std::int64_t leaving = 0;
    for (const Road::Open& open : road.open)
        if (road.fed - open.moved <= patience) leaving += ledger_.unsent(open.lane);
    const double due = road.due - static_cast<double>(leaving + passed.sent - road.charged);
    return due < plan_.mss ? 0 : std::min(window, static_cast<std::int64_t>(due)) / plan_.mss * plan_.mss;
}

// A stretch of the layer under way, in whole segments up to its end.
bool Turns::feed(int link) {
    Road& road = roads_[at(link)];
    const std::int64_t rest = waiting_.of(road.object).bytes - road.offset;
    const std::int64_t stretch = std::min({rest, room(road, link), Payloads::kStretch / plan_.mss * plan_.mss});
    if (stretch <= 0) return false;
    const std::int64_t sent = hand(road.lane, road.object, road.offset, stretch);
    if (sent == 0) return false;
    const auto known =
        std::find_if(road.open.begin(), road.open.end(), [&](const Road::Open& o) { return o.lane == road.lane; });
    if (known == road.open.end())
        road.open.push_back({road.lane, sent, road.fed});
    else
        *known = {road.lane, ledger_.unsent(road.lane), road.fed};
    road.offset += sent;
    if (sent == rest) road.object = -1;
    return true;
}

// Gives the next layer to a link of `ready`, the nearest by light that can bring it in time.
bool Turns::bind(Set ready, Time now) {
    for (std::size_t i = 0; i < roads_.size(); ++i) {
        const Road& road = roads_[i];
        const Time light = now + road.one_way, repair = std::max(road.srtt, 2 * road.one_way);
        const double wire = road.pace * (plan_.mss + 40.0) / plan_.mss;
        const double wait =
            road.pace > 0 ? static_cast<double>(ledger_.queue_bytes(static_cast<int>(i), now)) / wire : 0;
        paths_[i] = {light,
                     light + static_cast<Time>(std::min(wait, dstcc_dispatch::kFarNs)),
                     road.pace > 0 ? 1 / road.pace : 0,
                     0,
                     road.one_way,
                     repair};
    }
    dstcc_dispatch::Object next = 0;
    Set links = ready;
    if (!dstcc_dispatch::next_in_turn(View(*this), links, next)) return false;
    const auto object = static_cast<int>(next);
    int nearest = -1;
    for (int i = 0; i < static_cast<int>(roads_.size()); ++i)
        if ((links >> i & 1) != 0 && (nearest < 0 || roads_[at(i)].one_way < roads_[at(nearest)].one_way) &&
            lane_for(roads_[at(i)], waiting_.of(object).bytes) >= 0)
            nearest = i;
    if (nearest < 0) return false;
    Road& road = roads_[at(nearest)];
    const auto place = at(lane_for(road, waiting_.of(object).bytes));
    road.lane = road.lanes[place];
    if (place < plan_.turning) road.next_lane = (place + 1) % std::min(plan_.turning, road.lanes.size());
    road.rooms[place].bytes -= waiting_.of(object).bytes;
    road.rooms[place].whole = false;
    waiting_.take(object);
    road.object = object;
    road.offset = 0;
    return true;
}

// A lane that is not still sending and whose receiver takes so much, or takes nothing else: by turns, so that what follows
// soon tells of a loss at a layer's end; of the further ones the first. -1 if none.
int Turns::lane_for(const Road& road, std::int64_t bytes) const {
    const std::size_t turning = std::min(plan_.turning, road.lanes.size());
    for (std::size_t tried = 0; tried < road.lanes.size(); ++tried) {
        const std::size_t place = tried < turning ? (road.next_lane + tried) % turning : tried;
        const Road::Room& room = road.rooms[place];
        if (craft_.connected(road.lanes[place]) && (room.whole || room.bytes >= bytes) &&
            ledger_.unsent(road.lanes[place]) == 0)
            return static_cast<int>(place);
    }
    return -1;
}

}  // namespace transfer
