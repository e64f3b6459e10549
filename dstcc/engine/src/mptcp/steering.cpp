// A trial steered from outside: what an agent's actions do, and what it sees.
#include "mptcp/sending_end.hpp"

namespace dstcc {

void SendingEnd::steer(Time now, const std::vector<WindowAction>& windows, const LayerAction* layers) {
    now_ = now;
    if (layers != nullptr) {
        copied_layers_ = layers->copied;
        layer_gap_ns_ = layers->gap_ns;
        repair_share_ = layers->repair_share;
        if (layers->subflow != layer_table_) reassign(layers->subflow);
    }
    // Contact plans are known: a subflow by turns rests while its link is away, timers too (as LTP's do, RFC 5326).
    if (takes_turns_) {
        outage_ = 0;
        for (std::size_t s = 0; s < subflows_.size(); ++s)
            if (!subflows_[s].plan->contact(now_).up) insert(outage_, s);
    }
    for (std::size_t s = 0; s < std::min(windows.size(), subflows_.size()); ++s) {
        if (windows[s].kind == WindowAction::Kind::kSilent) continue;
        subflows_[s].sender.steer(windows[s], now_);
        if (subflows_[s].sender.established()) log_step(s);
    }
    // Where nothing was said nothing changes: a scheduler that waits is not asked again.
    const auto silent = [](const WindowAction& action) { return action.kind == WindowAction::Kind::kSilent; };
    if (layers == nullptr && !takes_turns_ && std::all_of(windows.begin(), windows.end(), silent)) return;
    for (std::size_t s = 0; s < subflows_.size(); ++s)
        if (subflows_[s].sender.established()) pump(s);
}

// The table holds for layers that wait as well, if nothing of them was sent.
void SendingEnd::reassign(const std::vector<std::int32_t>& table) {
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
            return layers_[object].offset == 0 && changed[static_cast<std::size_t>(objects_.layer[object])];
        });
        for (const std::uint32_t object : taken) paths_[s].assigned_bytes -= objects_.payload_bytes[object];
        if (subflows_[s].assigned.empty()) erase(has_assigned_, s);
        moved.insert(moved.end(), taken.begin(), taken.end());
    }
    if (moved.empty()) return;
    std::sort(moved.begin(), moved.end());
    for (const std::uint32_t object : moved) assign_released(object);
    for (SubflowState& subflow : subflows_) subflow.assigned.restore_order();
}

// The last byte of a layer has been sent for the first time, or planned.
void SendingEnd::sent_out(std::uint32_t object) {
    layer_backlog_[static_cast<std::size_t>(objects_.layer[object])] -= objects_.payload_bytes[object];
    if (sent_out_ != nullptr && !plans_) sent_out_->push_back(object);
}

// A planned segment has been sent. Others of its layer may wait at other subflows.
void SendingEnd::note_planned_sent(std::uint32_t object) {
    if (--planned_segments_[object] > 0) return;
    planned_segments_.erase(object);
    if (sent_out_ != nullptr && unsent_bytes(object) == 0) sent_out_->push_back(object);
}

// What a subflow with a timeout owes, and what the agent wants twice, takes the same way.
void SendingEnd::copy_elsewhere(std::size_t s, std::uint32_t object, std::uint32_t order, std::uint16_t bytes,
                                std::int64_t number) {
    const auto layer = static_cast<std::uint64_t>(objects_.layer[object]);
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

std::int64_t SendingEnd::send_window_bytes() const {
    const std::int64_t buffer = transport_.receive_buffer_bytes;
    return buffer == 0 ? kNever : std::max<std::int64_t>(buffer - (new_payload_ - peer_delivered_), 0);
}

SubflowView SendingEnd::observe(Time now, std::size_t s) const {
    SubflowView view = view_of(subflows_[s], now);
    view.assigned_bytes = paths_[s].assigned_bytes;
    view.one_way_ns = paths_[s].one_way_ns;
    return view;
}

}  // namespace dstcc
