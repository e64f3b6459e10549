// A trial steered from outside: what an agent's actions do, and what it sees.
#include "mptcp/sending_end.hpp"

namespace dstcc {

void SendingEnd::steer(Time now, const std::vector<WindowAction>& windows, const LayerAction* layers) {
    now_ = now;
    if (layers != nullptr) {
        copied_layers_ = layers->copied;
        layer_gap_ns_ = layers->gap_ns;
        repair_share_ = layers->repair_share;
        if (!(repair_share_ <= 1)) least_bytes_.clear();  // what has a later deadline may be due before
        if (layers->subflow != layer_table_) set_table(layers->subflow);
    }
    // Contact plans are known: a subflow in deadline order rests while its link is away, timers too (as LTP's do, RFC 5326).
    if (deadline_order_) {
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
    if (layers == nullptr && !deadline_order_ && std::all_of(windows.begin(), windows.end(), silent)) return;
    for (std::size_t s = 0; s < subflows_.size(); ++s)
        if (subflows_[s].sender.established()) pump(s);
    arm_own_timer();
}

// The table holds for layers that wait as well, if nothing of them was sent.
void SendingEnd::set_table(const std::vector<std::int32_t>& table) {
    const auto entry = [](const std::vector<std::int32_t>& from, std::size_t m) {
        return m < from.size() ? from[m] : kAutomatic;
    };
    LayerSet changed{};
    for (std::size_t m = 0; m < std::max(table.size(), layer_table_.size()); ++m)
        changed[m] = entry(table, m) != entry(layer_table_, m);
    layer_table_ = table;
    LayerAction action;
    action.subflow = table;
    scheduler_->steer(action);
    strategy_->reassign(changed);
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
