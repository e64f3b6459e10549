#include "mptcp/sending_end.hpp"

namespace dstcc {

SendingEnd::SendingEnd(const Setup& setup, LayerHeaders& headers, Timers timers, Timers paces, Remaining& remaining)
    : Senders(setup.transport, 0, timers, paces),
      objects_(setup.objects),
      headers_(headers),
      remaining_(remaining),
      scheduler_(transport_scheduler({setup.transport, setup.seed, setup.slot_ns, setup.subflows})),
      listens_(scheduler_->listens()),
      heeds_(scheduler_->heeds()),
      duplicates_(scheduler_->duplicates()),
      pins_(scheduler_->pins()),
      plans_(scheduler_->plans()),
      ahead_(scheduler_->ahead()),
      takes_turns_(scheduler_->takes_turns()),
      bounded_(setup.transport.receive_buffer_bytes != 0),
      backups_(setup.backups),
      layers_(setup.objects.size()),
      pending_(setup.transport.layer_first || scheduler_->layers_first()),
      unsent_limit_(setup.unsent_limit) {
    const bool per_subflow = transport_.lanes && !duplicates_;
    const auto lanes = static_cast<std::size_t>(transport_.lanes ? transport_.lanes_per_link : 1);
    next_order_.resize(per_subflow ? lanes * setup.subflows : lanes);
    if (transport_.scheduler == kAgentPolicies) chunks_ = std::make_unique<ChunkManager>(objects_);
    for (const Time deadline : objects_.deadline_ns)
        deadlines_ = deadlines_ || (transport_.drop_late && deadline != kNever);
}

void SendingEnd::add(SendingEndpoint endpoint) {
    DSTCC_CHECK(subflows_.size() < kMaxSubflows, "at most 128 subflows");
    subflows_.push_back({{std::move(endpoint)}, LayerQueue(transport_.layer_first || scheduler_->layers_first())});
}

void SendingEnd::begin() {
    paths_.resize(subflows_.size());
    for (std::size_t i = 0; i < paths_.size(); ++i) {
        paths_[i].subflow = &subflows_[i].sender;
        paths_[i].transmitter = &subflows_[i].out;
        paths_[i].link_index = static_cast<int>(subflows_[i].link);
        for (std::size_t k = 0; k < paths_.size(); ++k)
            if (k == i || (transport_.apart && subflows_[k].link == subflows_[i].link)) insert(paths_[i].peers, k);
    }
    refresh_delays();
    if (chunks_)
        for (SubflowState& subflow : subflows_) subflow.sender.note_acked(&acked_);
    // A lane is a connection of its own and starts at once; the later subflows of one connection wait to join.
    for (std::size_t s = 0; s < subflows_.size(); ++s)
        if (s == 0 || transport_.lanes) open(s, subflows_[s], 0);
}

// ------------------------------------------------------------------------------------------------------ coming in

void SendingEnd::handle_ack(Time now, std::size_t s, AckBlocks& ack) {
    now_ = now;
    SubflowState& subflow = subflows_[s];
    const bool was_stale = subflow.sender.stale();
    if (subflow.sender.tcp().ca_state == CaState::kLoss)
        ack.more = backlog_ > 0 && room_at_receiver(transport_.mss_bytes);
    const std::int64_t acked = subflow.sender.handle_ack(now_, ack);
    subflow.delivered_bytes += acked;
    if (chunks_) {
        for (const Acked& segment : acked_) chunks_->handle_ack(now_, segment, subflow.sender.tcp().srtt_ns);
        acked_.clear();
    }
    if (listens_) scheduler_->on_ack(static_cast<int>(s), acked, ack.echo_ns, now_);
    if (was_stale && !subflow.sender.stale()) erase(stale_, s);
    pump(s);
    log_step(s);
}

// `syn_ns`: when the SYN that was answered left, as its timestamp says (RFC 7323).
void SendingEnd::handle_established(Time now, std::size_t s, Time syn_ns) {
    now_ = now;
    SubflowState& subflow = subflows_[s];
    if (subflow.sender.established()) return;  // an answer to a repeated SYN
    subflow.syn_at = kNever;
    siblings_.push_back(&subflow.sender.tcp());
    subflow.sender.establish(now_, now_ - syn_ns);
    log_step(s);
    if (subflow.copied < log_.begin()) subflow.copied = log_.begin();
    insert(established_, s);
    // The later subflows of a connection join once the first has carried data and its DATA_ACK came back.
    const double rtt = static_cast<double>(now_ - syn_ns);
    const Time join = syn_ns + static_cast<Time>(transport_.join_rtts * rtt);
    for (std::size_t other = 0; other < subflows_.size(); ++other)
        if (subflows_[other].syns == 0 && subflows_[other].syn_at == kNever)
            open(other, subflows_[other], std::max(now_, join));
    pump(s);
}

void SendingEnd::handle_timer(Time now, std::size_t s) {
    now_ = now;
    SubflowState& subflow = subflows_[s];
    timers_.set(s, kNever);
    if (!subflow.sender.established()) {
        if (subflow.syn_at <= now_) send_syn(s, subflow);
        return arm_timer(s);
    }
    if (contains(outage_, s) && rest(s, subflow)) return;
    switch (subflow.sender.handle_timer(now_)) {
        case TimerResult::kNothing:
            return arm_timer(s);
        case TimerResult::kProbe:
            send_probe(s);
            break;
        case TimerResult::kTimeout:
            on_timeout(s);
            break;
        case TimerResult::kRetry:
            break;
    }
    pump(s);
    log_step(s);
}

void SendingEnd::handle_pace(Time now, std::size_t s) {
    now_ = now;
    pump(s);
    if (paces_.at(s) <= now_) paces_.set(s, kNever);
}

// What the path still owes goes to the others as well; layers it has not begun go back to be scheduled anew. A lane that is a
// connection of its own has others only as backups, where a link may not come back.
void SendingEnd::on_timeout(std::size_t s) {
    SubflowState& subflow = subflows_[s];
    insert(stale_, s);
    if ((established_ & ~stale_) == 0) return;
    if (!transport_.apart || backups_)
        subflow.sender.reinject([&](std::int64_t number, const Segment& segment) {
            subflow.reinjections.push_back({segment.object, segment.order, segment.bytes, number});
            insert(reinjecting_, s);
            if (listens_) scheduler_->on_reinjection(static_cast<int>(s), segment.bytes, now_);
        });
    if (contains(has_planned_, s)) move_planned(s, static_cast<std::size_t>(quickest(established_ & ~stale_)));
    if (!transport_.layer_links.empty() && !transport_.apart) return;
    const auto moved = subflow.assigned.extract([&](std::uint32_t object) { return layers_[object].offset == 0; });
    if (subflow.assigned.empty()) erase(has_assigned_, s);
    for (const std::uint32_t object : moved) {
        paths_[s].assigned_bytes -= objects_.payload_bytes[object];
        if (pins_)
            assign_released(object);
        else
            bind(object, static_cast<std::size_t>(quickest(established_ & ~stale_)));
    }
    offer();
}

Time SendingEnd::handle_release(Time now) {
    now_ = now;
    const auto& release = objects_.release_ns;
    while (released_ < release.size() && release[released_] <= now_) {
        const auto object = static_cast<std::uint32_t>(released_++);
        backlog_ += objects_.payload_bytes[object];
        layer_backlog_[static_cast<std::size_t>(objects_.layer[object])] += objects_.payload_bytes[object];
        if (pins_)
            assign_released(object);
        else
            pending_.push_back(object, objects_.layer[object]);
    }
    offer();
    for (std::size_t s = 0; s < subflows_.size(); ++s) {
        if (!subflows_[s].sender.established()) continue;
        const bool pushed = subflows_[s].sender.holds() && data_waits(s, subflows_[s]);
        if (pushed) subflows_[s].sender.push();
        pushed ? pump(s) : finish_sending(s, subflows_[s]);
    }
    return released_ < release.size() ? release[released_] : kNever;
}

void SendingEnd::handle_slot(Time now) {
    now_ = now;
    refresh_delays();
    drop_expired();
}

void SendingEnd::refresh_delays() {
    for (std::size_t s = 0; s < subflows_.size(); ++s) paths_[s].one_way_ns = subflows_[s].plan->light_ns(now_);
}

// --------------------------------------------------------------------------------------------------- bookkeeping

Time SendingEnd::longest_one_way_ns() const {
    Time longest = 0;
    for (const Path& path : paths_) longest = std::max(longest, path.one_way_ns);
    return longest;
}

std::int64_t SendingEnd::bytes() const {
    std::int64_t bytes = 0;
    for (const SubflowState& subflow : subflows_) bytes += subflow.sender.bytes();
    return bytes;
}

void SendingEnd::check_backlog() const {
    std::int64_t unsent = 0;
    for (std::uint32_t object = 0; object < released_; ++object)
        if (!layers_[object].given_up) unsent += unsent_bytes(object);
    DSTCC_CHECK(unsent == backlog_, "what was released is sent, given up, or waits");
}

}  // namespace dstcc
