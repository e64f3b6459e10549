#include "shared_window.hpp"

#include <algorithm>

namespace transfer {

namespace {

constexpr double kHeaderBytes = 40;  // what links weigh beside a segment's payload (dstcc/wire.py)
constexpr Time kLooks = 16;          // TCP_INFO is read so many times a round trip, and with each new window
constexpr double kAhead = 2;  // looks' worth of data that TCP is given ahead of its pace, as a look may come late

std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

// Links as the rules' paths. Where a table is kept to, a layer waits for its link.
class SharedWindow::View {
public:
    using Set = SharedWindow::Set;
    explicit View(const SharedWindow& of) : of_(of) {}
    dstcc_dispatch::Layer layer(dstcc_dispatch::Object object) const {
        return of_.waiting_.layer(static_cast<int>(object));
    }
    bool blocked(dstcc_dispatch::Object object) const { return of_.waiting_.blocked(static_cast<int>(object)); }
    Time light(std::size_t s) const { return of_.forecasts_[s].light_ns; }
    const dstcc_dispatch::Forecast& forecast(std::size_t s) const { return of_.forecasts_[s]; }
    double repair_share() const { return of_.repair_; }
    const std::vector<Waiting::Level>& levels() const { return of_.waiting_.levels(); }
    Time gap_ns() const { return of_.gap_; }
    std::int32_t entry(std::int64_t layer) const {
        return layer < static_cast<std::int64_t>(of_.layers_.size()) ? of_.layers_[static_cast<std::size_t>(layer)]
                                                                     : dstcc_dispatch::kAutomatic;
    }
    Set usable() const { return of_.established_ & ~of_.dark_; }
    std::size_t paths() const { return of_.paths_.size(); }
    bool strict() const { return of_.strict_; }

private:
    const SharedWindow& of_;
};

SharedWindow::SharedWindow(const Plan& plan, Ledger& ledger, Craft& craft, Earth& earth, Payloads& payloads)
    : Feeder(plan, ledger, craft, earth, payloads, true),
      paths_(plan.links.size()),
      forecasts_(plan.links.size()),
      told_(static_cast<std::size_t>(plan.layers) * plan.links.size()),
      layers_(plan.layer_links),
      gap_(plan.layer_first ? kNever : 0) {
    for (std::size_t i = 0; i < plan.lane_plans.size() && plan.lanes; ++i)
        paths_[at(plan.lane_plans[i].link)].lanes.push_back(static_cast<int>(i));
    for (Path& path : paths_)
        if (!plan.lanes) path.lanes.push_back(0);
    for (Path& path : paths_) path.receive_windows.resize(path.lanes.size());
}

void SharedWindow::steer(const Answer& answer) {
    layers_ = answer.layers;
    gap_ = answer.gap >= 0 ? answer.gap : plan_.layer_first ? kNever : 0;
    repair_ = answer.repair;
    strict_ = tabled_ = answer.gap < 0;
    dark_ = answer.dark;
    for (Path& path : paths_) path.refreshed = -1, path.set = true;  // windows are new
}

void SharedWindow::pump(Time now, const std::function<void()>& drained) {
    now_ = now;
    waiting_.release(now);
    Time quickest = kNever;
    established_ = 0;
    for (std::size_t i = 0; i < paths_.size(); ++i) {
        Path& path = paths_[i];
        path.one_way = plan_.links[i].light.at(now);
        quickest = std::min(quickest, path.one_way);
        refresh(path, static_cast<int>(i), now);
        if (path.established && !waiting_.empty()) ask(path, static_cast<int>(i));
        note_leaving(path, static_cast<int>(i), now);
        if (path.established) established_ |= Set{1} << i;
    }
    waiting_.drop_lost(now + quickest);
    for (;;) {
        Set ready = 0;
        bool any = false;
        for (std::size_t i = 0; i < paths_.size(); ++i) {
            while (paths_[i].object >= 0 && feed(static_cast<int>(i))) {
                any = true;
                drained();
            }
            if (paths_[i].object < 0 && room(paths_[i], static_cast<int>(i)) > 0) ready |= Set{1} << i;
        }
        ready &= established_ & ~dark_;
        if ((ready == 0 || !bind(ready, now)) && !any) return;
    }
}

// The smoothed round trip of a link is that of the lanes that heard something since the last look, as a lane at rest keeps
// an old one; a lane alone is heard while a hole stops its count, too. A stream is asked at each ACK: while a queue grows, a round
// trip of a while ago has layers in time that are not.
void SharedWindow::refresh(Path& path, int link, Time now) {
    const std::int64_t told = ledger_.heard(path.lanes[0]);
    const bool news = plan_.placed && told != path.told;
    if (path.refreshed >= 0 && !news && now - path.refreshed < std::max(plan_.tick, path.srtt / kLooks)) return;
    std::int64_t window = 0, flight = 0, lanes = 0;
    double srtt = 0, heard = 0;
    std::uint32_t least = UINT32_MAX;
    for (std::size_t i = 0; i < path.lanes.size(); ++i)
        for (const SubflowInfo& info : craft_.look(path.lanes[i])) {
            const tcp_info& tcp = info.tcp;
            if (plan_.subflow_links[at(info.number)] != link || tcp.tcpi_rtt == 0) continue;
            if (!craft_.resting(path.lanes[i])) {
                ++lanes;
                window += tcp.tcpi_snd_cwnd;
            }
            flight += static_cast<std::int64_t>(tcp.tcpi_unacked) - tcp.tcpi_sacked - tcp.tcpi_lost + tcp.tcpi_retrans;
            const double news = path.srtt == 0 || path.lanes.size() == 1
                                    ? 1
                                    : static_cast<double>(tcp.tcpi_bytes_acked - path.receive_windows[i].acked);
            srtt += 1e3 * tcp.tcpi_rtt * news;
            least = std::min(least, tcp.tcpi_min_rtt);
            heard += news;
            const std::int64_t under_way = static_cast<std::int64_t>(tcp.tcpi_unacked) * plan_.mss;
            path.receive_windows[i] = {tcp.tcpi_bytes_acked, tcp.tcpi_snd_wnd - under_way, under_way == 0};
        }
    if (lanes == 0 || (plan_.placed && !craft_.joined(link))) return;
    if (heard > 0) path.srtt = static_cast<Time>(srtt / heard);
    path.min_rtt = least == UINT32_MAX ? path.srtt : static_cast<Time>(least) * 1000;
    path.established = true;
    path.refreshed = now;
    path.told = told;
    path.flight = flight * plan_.mss;
    if (plan_.rate && path.set) path.beside = path.flight;
    path.set = false;
    path.window = window * plan_.mss / lanes;
    path.then = ledger_.passed(link);
    path.pace = static_cast<double>(path.window) / static_cast<double>(std::max<Time>(path.srtt, 1));
}

// The kernel's own count, where the link's lanes are a group.
void SharedWindow::ask(Path& path, int link) {
    const std::optional<Group> group = craft_.group(link);
    if (!group) return;
    path.window = group->window * plan_.mss;
    path.beside = group->beside * plan_.mss;
    path.flight = group->in_flight * plan_.mss;
    path.then = ledger_.passed(link);
    path.pace = static_cast<double>(path.window) / static_cast<double>(std::max<Time>(path.srtt, 1));
}

void SharedWindow::note_leaving(Path& path, int link, Time now) {
    for (Path::Open& open : path.open)
        if (const std::int64_t left = unsent(open.lane, link); left != open.unsent) open = {open.lane, left, now};
    path.open.erase(
        std::remove_if(path.open.begin(), path.open.end(), [](const Path::Open& o) { return o.unsent == 0; }),
        path.open.end());
}

// Bytes that may be handed over: within the window, and not far ahead of the pace. A lane may hold back what it has until its
// receiver's window, 64 KiB at first, opens: that is under way, but keeps nothing else from leaving. A stream has one subflow a
// link: what that holds back, behind repeats say, everything waits for, and may come to be too late meanwhile.
std::int64_t SharedWindow::room(const Path& path, int link) const {
    if (!path.established) return 0;
    const Passed& passed = ledger_.passed(link);
    const std::int64_t flight =
        path.flight + (passed.sent - path.then.sent) - (passed.acked - path.then.acked) + passed.written - passed.left;
    const std::int64_t window = path.window + path.beside - std::max<std::int64_t>(flight, 0);
    const Time patience = 2 * plan_.tick + static_cast<Time>(kAhead * plan_.mss / std::max(path.pace, 1e-9));
    double ahead = kAhead * path.pace * static_cast<double>(plan_.tick) + plan_.mss;
    for (const Path::Open& open : path.open)
        if (plan_.placed || now_ - open.moved <= patience) ahead -= static_cast<double>(unsent(open.lane, link));
    return ahead < plan_.mss ? 0 : std::min(window, static_cast<std::int64_t>(ahead)) / plan_.mss * plan_.mss;
}

// Handed to a lane for a link and not yet sent.
std::int64_t SharedWindow::unsent(int lane, int link) const {
    return plan_.lanes ? ledger_.unsent(lane) : ledger_.passed(link).written - ledger_.passed(link).left;
}

// The subflow to tell the kernel for a layer's bytes: none where the table that it has from the controller says it.
int SharedWindow::announced_for(int object, int link) const {
    const std::int64_t layer = waiting_.of(object).layer;
    return layer < static_cast<std::int64_t>(layers_.size()) && layers_[static_cast<std::size_t>(layer)] == link ? -1
                                                                                                                 : link;
}

// A part of the layer being written, in whole segments up to its end.
bool SharedWindow::feed(int link) {
    Path& path = paths_[at(link)];
    const std::int64_t rest = waiting_.of(path.object).bytes - path.offset;
    const std::int64_t stretch = std::min({rest, room(path, link), Payloads::kStretch / plan_.mss * plan_.mss});
    if (stretch <= 0) return false;
    if (plan_.placed) {
        const Object& row = waiting_.of(path.object);
        craft_.announce(path.lane, static_cast<int>(row.layer), stretch, row.deadline,
                        announced_for(path.object, link));
    }
    const std::int64_t sent = hand(path.lane, path.object, path.offset, stretch, link);
    if (sent == 0) return false;
    told_[static_cast<std::size_t>(waiting_.of(path.object).layer) * paths_.size() + at(link)] += sent;
    const auto known =
        std::find_if(path.open.begin(), path.open.end(), [&](const Path::Open& o) { return o.lane == path.lane; });
    if (known == path.open.end())
        path.open.push_back({path.lane, sent, now_});
    else
        *known = {path.lane, unsent(path.lane, link), now_};
    path.offset += sent;
    if (sent == rest) path.object = -1;
    return true;
}

// Of the links that the table has for a layer the nearest by light, -1 for none. A lane waits for its handshake; a subflow joins
// only once others have carried data, which what is told to go on it does until then.
int SharedWindow::place_of(int object, Set ready) const {
    const View view(*this);
    const Set links = dstcc_dispatch::allowed(view.entry(waiting_.of(object).layer), ready, view.usable(),
                                              paths_.size(), plan_.lanes);
    return nearest(links, waiting_.of(object).bytes);
}

int SharedWindow::nearest(Set links, std::int64_t bytes) const {
    int found = -1;
    for (int i = 0; i < static_cast<int>(paths_.size()); ++i)
        if ((links >> i & 1) != 0 && (found < 0 || paths_[at(i)].one_way < paths_[at(found)].one_way) &&
            lane_for(paths_[at(i)], bytes) >= 0)
            found = i;
    return found;
}

// Too late by light, or with less time for a repair than the newest of its level.
bool SharedWindow::outdated(int object, int newest, int link) const {
    using dstcc_dispatch::late;
    using dstcc_dispatch::Slack;
    return dstcc_dispatch::outdated(object, newest, waiting_.hopeless(object), [&](int o, Slack slack) {
        return late(waiting_.layer(o), forecasts_[at(link)], slack, repair_);
    });
}

// The sender's own order, as the simulator's for layers that a table assigns to subflows (dispatch/assigned.cpp): a layer waits
// for its link, whatever it builds on; base layers go first where the playout asks for that, the oldest first of a level, and what
// is outdated is given up.
bool SharedWindow::next_by_table(Set ready, dstcc_dispatch::Object& object, int& link) {
    for (;;) {
        const Waiting::Level* chosen = nullptr;
        for (const Waiting::Level& level : waiting_.levels()) {
            if (level.empty() || place_of(static_cast<int>(level.front()), ready) < 0) continue;
            if (chosen != nullptr && (plan_.layer_first || chosen->front() < level.front())) continue;
            chosen = &level;
        }
        if (chosen == nullptr) return false;
        object = chosen->front();
        link = place_of(static_cast<int>(object), ready);
        dstcc_dispatch::Object newest = object;
        chosen->last([](dstcc_dispatch::Object) { return true; }, newest);
        if (!plan_.drop_late || !outdated(static_cast<int>(object), static_cast<int>(newest), link)) return true;
        waiting_.drop(static_cast<int>(object));
    }
}

// By turns, as the controller's answer says: on the nearest link by light that can bring the layer in time.
bool SharedWindow::next_by_turns(Set ready, dstcc_dispatch::Object& object, int& link) {
    Set links = ready;
    if (!dstcc_dispatch::next_in_turn(View(*this), links, object)) return false;
    link = nearest(links, waiting_.of(static_cast<int>(object)).bytes);
    return link >= 0;
}

// Gives the next layer to a link of `ready`.
bool SharedWindow::bind(Set ready, Time now) {
    forecast(now);
    dstcc_dispatch::Object next = 0;
    int link = -1;
    if (!(tabled_ ? next_by_table(ready, next, link) : next_by_turns(ready, next, link))) return false;
    const auto object = static_cast<int>(next);
    Path& path = paths_[at(link)];
    const auto place = at(lane_for(path, waiting_.of(object).bytes));
    path.lane = path.lanes[place];
    if (place < plan_.rotating) path.next_lane = (place + 1) % std::min(plan_.rotating, path.lanes.size());
    path.receive_windows[place].bytes -= waiting_.of(object).bytes;
    path.receive_windows[place].whole = false;
    waiting_.take(object);
    path.object = object;
    path.offset = 0;
    return true;
}

// A controller that orders the layers measures its paths, and tells the wait from the queue at the sender; one that does not knows
// round trips, as in the simulator (dispatch/choosing.cpp).
void SharedWindow::forecast(Time now) {
    for (std::size_t i = 0; i < paths_.size(); ++i) {
        const Path& path = paths_[i];
        const double queued = static_cast<double>(ledger_.queue_bytes(static_cast<int>(i), now));
        const double wire = path.pace * (plan_.mss + kHeaderBytes) / plan_.mss;
        forecasts_[i] = dstcc_dispatch::forecast(now, {path.one_way, path.srtt, path.min_rtt, queued, wire}, !tabled_,
                                                 path.pace > 0 ? 1 / path.pace : 0, 0);
    }
}

// A lane that is not still sending and whose receiver takes so much, or takes nothing else: by turns, so that what follows
// soon tells of a loss at a layer's end; of the further ones the first. -1 if none.
int SharedWindow::lane_for(const Path& path, std::int64_t bytes) const {
    if (!plan_.lanes) return craft_.connected(0) ? 0 : -1;
    const std::size_t rotating = std::min(plan_.rotating, path.lanes.size());
    for (std::size_t tried = 0; tried < path.lanes.size(); ++tried) {
        const std::size_t place = tried < rotating ? (path.next_lane + tried) % rotating : tried;
        const Path::ReceiveWindow& room = path.receive_windows[place];
        if (craft_.connected(path.lanes[place]) && (room.whole || room.bytes >= bytes) &&
            ledger_.unsent(path.lanes[place]) == 0)
            return static_cast<int>(place);
    }
    return -1;
}

}  // namespace transfer
