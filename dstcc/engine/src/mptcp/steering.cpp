// A trial steered from outside: what an agent's actions do, and what it sees.
#include "mptcp/simulation.hpp"

namespace dstcc {

void Simulation::steer(const std::vector<WindowAction>& windows, const LayerAction* layers) {
    if (over_) return;
    if (layers != nullptr) {
        copied_layers_ = layers->copied;
        layer_gap_ns_ = layers->gap_ns;
        repair_share_ = layers->repair_share;
        if (layers->subflow != layer_table_) reassign(layers->subflow);
    }
    // Contact plans are known: a subflow by turns rests while its link is away, timers too (as LTP's do, RFC 5326).
    if (takes_turns_) {
        dark_ = 0;
        for (std::size_t s = 0; s < subflows_.size(); ++s)
            if (!observe(s).up) insert(dark_, s);
    }
    for (std::size_t s = 0; s < std::min(windows.size(), subflows_.size()); ++s) {
        if (windows[s].kind == WindowAction::Kind::kSilent) continue;
        subflows_[s].sender.steer(windows[s], now_);
        if (config_.trace && subflows_[s].sender.established()) trace_step(s);
    }
    // Where nothing was said nothing changes: a scheduler that waits is not asked again.
    const auto silent = [](const WindowAction& action) { return action.kind == WindowAction::Kind::kSilent; };
    if (layers == nullptr && !takes_turns_ && std::all_of(windows.begin(), windows.end(), silent)) return;
    for (std::size_t s = 0; s < subflows_.size(); ++s)
        if (subflows_[s].sender.established()) pump(s);
}

// The table holds for layers that wait as well, if nothing of them was sent.
void Simulation::reassign(const std::vector<std::int32_t>& table) {
    const auto entry = [](const std::vector<std::int32_t>& from, std::size_t m) {
        return m < from.size() ? from[m] : kAutomatic;
    };
    std::array<bool, 256> changed{};
    for (std::size_t m = 0; m < std::max(table.size(), layer_table_.size()); ++m)
        changed[m] = entry(table, m) != entry(layer_table_, m);
    layer_table_ = table;
    LayerAction action;
    action.subflow = table;
    scheduler_->steer(action);
    if (!pins_) return;
    std::vector<std::uint32_t> moved;
    for (std::size_t s = 0; s < subflows_.size(); ++s) {
        const auto taken = subflows_[s].assigned.extract([&](std::uint32_t object) {
            return outcomes_[object].offset == 0 && changed[static_cast<std::size_t>(config_.objects.layer[object])];
        });
        for (const std::uint32_t object : taken) paths_[s].assigned_bytes -= config_.objects.payload_bytes[object];
        if (subflows_[s].assigned.empty()) erase(has_assigned_, s);
        moved.insert(moved.end(), taken.begin(), taken.end());
    }
    if (moved.empty()) return;
    std::sort(moved.begin(), moved.end());
    for (const std::uint32_t object : moved) assign_released(object);
    for (SubflowState& subflow : subflows_) subflow.assigned.restore_order();
}

// The last byte of a layer has been sent for the first time, or planned.
void Simulation::sent_out(std::uint32_t object) {
    layer_backlog_[static_cast<std::size_t>(config_.objects.layer[object])] -= config_.objects.payload_bytes[object];
    if (watch_ != nullptr && !plans_) watch_->sent.push_back(object);
}

// A planned segment has been sent. Others of its layer may wait at other subflows.
void Simulation::note_planned_sent(std::uint32_t object) {
    if (--planned_segments_[object] > 0) return;
    planned_segments_.erase(object);
    if (watch_ != nullptr && unsent_bytes(object) == 0) watch_->sent.push_back(object);
}

// What a subflow with a timeout owes, and what the agent wants twice, takes the same way.
void Simulation::copy_elsewhere(std::size_t s, std::uint32_t object, std::uint32_t order, std::uint16_t bytes,
                                std::int64_t number) {
    const auto layer = static_cast<std::uint64_t>(config_.objects.layer[object]);
    if (layer >= 64 || (copied_layers_ >> layer & 1) == 0) return;
    if (takes_turns_) {
        if (spares_.size() <= layer) spares_.resize(layer + 1);
        spares_[layer].push_back({{object, order, bytes, number}, static_cast<std::uint16_t>(s)});
        return;
    }
    if (subflows_.size() < 2) return;
    subflows_[s].reinjections.push_back({object, order, bytes, number});
    insert(reinjecting_, s);
}

std::int64_t Simulation::send_window_bytes() const {
    const std::int64_t buffer = config_.transport.receive_buffer_bytes;
    return buffer == 0 ? kNever : std::max<std::int64_t>(buffer - (new_payload_ - peer_delivered_), 0);
}

SubflowView Simulation::observe(std::size_t s) const {
    SubflowView view = view_of(subflows_[s]);
    view.assigned_bytes = paths_[s].assigned_bytes;
    view.one_way_ns = paths_[s].one_way_ns;
    return view;
}

// What any sender knows of itself and of its link.
SubflowView Simulation::view_of(const Endpoint& state) const {
    const TcpState& tcp = state.sender.tcp();
    SubflowView view;
    view.tcp = &tcp;
    view.established = state.sender.established();
    view.sent = state.past_sent + state.slot_sent;
    view.lost = static_cast<std::int64_t>(tcp.lost);
    view.retransmitted = state.past_retransmitted + state.slot_retransmitted;
    view.delivered_bytes = state.past_delivered + state.slot_delivered;
    view.queue_bytes = links_[state.link].down.queue_bytes(now_);
    view.rtt_deviation_ns = state.sender.rtt_deviation();
    const auto& outages = config_.links[state.link].outages_ns;
    const auto next = std::upper_bound(outages.begin(), outages.end(), now_,
                                       [](Time at, const std::pair<Time, Time>& outage) { return at < outage.second; });
    if (next == outages.end()) return view;
    view.up = now_ < next->first;
    view.change_ns = (view.up ? next->first : next->second) - now_;
    return view;
}

// ------------------------------------------------------------------------------------ flows of the same controller

// As steer(), each flow by an action of its own; what was not spoken to, and neither went dark nor came back, stays.
void Simulation::steer_flows(const std::vector<WindowAction>& windows) {
    if (over_) return;
    for (std::size_t i = 0; i < std::min(windows.size(), steered_flows_.size()); ++i) {
        const std::size_t f = steered_flows_[i];
        FlowState& flow = flows_[f];
        const bool was_dark = flow.dark;
        if (takes_turns_) flow.dark = !observe_flow(i).up;
        if (windows[i].kind != WindowAction::Kind::kSilent) flow.sender.steer(windows[i], now_);
        if (windows[i].kind == WindowAction::Kind::kSilent && flow.dark == was_dark) continue;
        if (flow.sender.established()) pump_flow(f);
    }
}

SubflowView Simulation::observe_flow(std::size_t i) const {
    const FlowState& flow = flows_[steered_flows_[i]];
    SubflowView view = view_of(flow);
    view.assigned_bytes = flow_source(i).unsent_bytes;
    view.one_way_ns = flow.light_ns;
    return view;
}

FlowSourceView Simulation::flow_source(std::size_t i) const {
    const FlowState& flow = flows_[steered_flows_[i]];
    const bool greedy = !flow.config.app_limited && flow.config.payload_bytes == 0,
               stopped = now_ >= flow.config.stop_ns;
    FlowSourceView view;
    view.start_ns = flow.config.start_ns;
    view.unsent_bytes = stopped ? 0 : greedy ? kNever : flow.unsent_bytes;
    view.written_bytes = flow.config.app_limited ? flow.written_bytes : greedy ? kNever : flow.config.payload_bytes;
    view.writes = flow.config.app_limited ? flow.writes : 1;
    view.first_write_ns = flow.config.app_limited ? flow.first_write_ns : flow.config.start_ns;
    view.last_write_ns = flow.config.app_limited ? flow.last_write_ns : flow.config.start_ns;
    return view;
}

}  // namespace dstcc
