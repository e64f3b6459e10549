#include "mptcp/sending_end.hpp"

namespace dstcc {

SendingEnd::SendingEnd(const Setup& setup, LayerHeaders& headers, Timers timers, Timers paces, Timers own_timer,
                       Remaining& remaining)
    : Dispatcher(setup.transport, setup.objects,
                 transport_scheduler({setup.transport, setup.seed, setup.slot_ns, setup.subflows, setup.send_buffer,
                                      setup.unsent_limit}),
                 headers, timers, paces, remaining),
      program_{setup.longest_rtt, setup.send_buffer, setup.unsent_limit},
      backups_(setup.backups),
      begin_ns_(setup.begin_ns),
      late_draws_(setup.seed, kStreamTimers),
      own_timer_(own_timer) {
    const bool per_subflow = transport_.lanes && scheduler_->dispatch() != Dispatch::kRedundant;
    const auto lanes = static_cast<std::size_t>(transport_.lanes ? transport_.lanes_per_link : 1);
    next_order_.resize(per_subflow ? lanes * setup.subflows : lanes);
    if (transport_.scheduler == kAgentPolicies) chunks_ = std::make_unique<ChunkManager>(objects_);
    runs_ = setup.runs;
    if (setup.ledger) ledger_ = std::make_unique<Acknowledged>(next_order_.size(), headers_);
}

void SendingEnd::add(SendingEndpoint endpoint) {
    DSTCC_CHECK(subflows_.size() < kMaxSubflows, "at most 128 subflows");
    subflows_.push_back({{std::move(endpoint)}});
    if (!rooms_.empty()) rooms_.resize(subflows_.size(), PeerRoom(PeerRoom::kAny));
}

void SendingEnd::begin() {
    connect();
    const Dispatch dispatch = scheduler_->dispatch();
    if (dispatch == Dispatch::kRedundant)
        strategy_ = make_redundant(*this);
    else if (transport_.lanes || dispatch == Dispatch::kPinned)
        strategy_ = make_assigned(*this, dispatch == Dispatch::kPinned);
    else if (dispatch == Dispatch::kStream)
        strategy_ = make_stream(*this);
    else
        strategy_ = make_planned(*this, dispatch != Dispatch::kPlanned, dispatch == Dispatch::kPlannedAtOnce, program_);
    if (strategy_->binds_whole()) note_least();
    wants_acks_ = strategy_->wants_acks();
    if (wants_acks_) begin_window();
    const bool waits = may_wait_ && dispatch != Dispatch::kPinned;
    runs_ = runs_ && !waits && !wants_acks_ && !wants_feedback_ && !deadline_order_ && !chunks_ && !ledger_ &&
            !bounded_ && !writes_what_fits_ && rooms_.empty() && transport_.constants.timer_late == 0;
    by_acks_ = runs_ && dispatch == Dispatch::kStream && !transport_.lanes && !deadlines_ && subflows_.size() == 1 &&
               !subflows_[0].sender.wants_one_way_delay();
    runs_ = runs_ && transport_.lanes && strategy_->binds_whole();
    for (const Outlet& subflow : subflows_) runs_ = runs_ && subflow.sender.deaf();
    if (chunks_ || ledger_)
        for (Outlet& subflow : subflows_) subflow.sender.note_acked(&acked_);
    // A lane is a connection of its own and starts at once; the later subflows of one connection wait to join.
    for (std::size_t s = 0; s < subflows_.size(); ++s)
        if (!joins(s)) open(s, subflows_[s], begin_ns_);
    joins_wait_ = !transport_.lanes && subflows_.size() > 1;
}

// ------------------------------------------------------------------------------------------------------ coming in

void SendingEnd::handle_ack(Time now, std::size_t s, AckBlocks& ack) {
    if (__builtin_expect(late_ != 0, 0)) run_late_paces(now);
    if (going_ != 0) go_on_before(now);
    now_ = now;
    Outlet& subflow = subflows_[s];
    const bool was_stale = subflow.sender.stale();
    if (subflow.sender.tcp().ca_state == CaState::kLoss) ack.more = backlog_ > 0 && room_at_receiver();
    const std::int64_t acked = subflow.sender.handle_ack(now_, ack);
    subflow.delivered_bytes += acked;
    if (joins_wait_) join();
    if (wants_acks_) {
        open_window();
        strategy_->handle_ack(s, peer_delivered_);
    }
    if (!acked_.empty()) {
        for (const Acked& segment : acked_) {
            if (chunks_) chunks_->handle_ack(now_, segment, subflow.sender.tcp().srtt_ns);
            if (ledger_) ledger_->handle_ack(static_cast<std::size_t>(headers_.domain[segment.object]), segment);
        }
        acked_.clear();
    }
    if (wants_feedback_) scheduler_->on_ack(static_cast<int>(s), acked, ack.echo_ns, now_);
    if (was_stale && !subflow.sender.stale()) erase(stale_, s);
    if (contains(going_, s)) {
        if (goes_on_undisturbed(s)) return arm_timer(s);
        stop(s);
    }
    pump(s);
    look_at_going();
    arm_own_timer();
    log_step(s);
}

Time SendingEnd::counts_until(Time until) const {
    if (may_offer() || joins_wait_) return -1;
    for (std::size_t s = 0; s < subflows_.size(); ++s) until = std::min({until, timers_.at(s) - 1, paces_.at(s) - 1});
    return until;
}

std::int64_t SendingEnd::hear_run(std::size_t s, const AckBlocks& first, Run times, std::int64_t each, Time until) {
    times.count = times.until(std::min(until, timers_.at(s) - 1));
    if (times.count == 0) return 0;
    if (first.sacks == 0) return go_by_acks(s, first.cumulative, times, each);
    Outlet& subflow = subflows_[s];
    const Subflow::Counted counted = subflow.sender.count_lengthening(first, times, each);
    if (counted.acks == 0) return 0;
    now_ = times.at(counted.acks - 1);
    subflow.delivered_bytes += counted.bytes;
    if (counted.timer < timers_.at(s)) timers_.set(s, counted.timer);
    if (contains(going_, s) && !goes_on_undisturbed(s)) {
        go_on(s, now_);
        stop(s);
    }
    return counted.acks;
}

// MPTCP's, where a scheduler is Linux's.
void SendingEnd::handle_own_timer(Time now) {
    now_ = now;
    strategy_->handle_timer();
    offer();
    finish_all_sending();
    arm_own_timer();
}

// The later subflows of a connection join with the first acknowledgement of data: Linux's subflow is fully established with the
// first DATA_ACK (check_fully_established() of net/mptcp/options.c), which has the path manager send all joins
// (mptcp_pm_nl_fully_established()).
void SendingEnd::join() {
    joins_wait_ = false;
    for (std::size_t s = 1; s < subflows_.size(); ++s) open(s, subflows_[s], now_);
}

// The third packet of a join, which carries its proof, and again after two round trips without an answer
// (schedule_3rdack_retransmission() of net/mptcp/protocol.c).
void SendingEnd::confirm(std::size_t s) {
    Outlet& subflow = subflows_[s];
    ++subflow.syns;
    subflow.syn_at = subflow.plan->opening(transport_.constants.wheel(now_, now_ + 2 * subflow.handshake_rtt_ns));
    subflow.out.send(now_, s, 0, 0, 0, 0, header_bytes_, false);
    arm_timer(s);
}

// The third packet of a lane's handshake, which goes before its data. Lanes begin one behind the other by a SYN each, which
// HyStart's 16 ms tell apart where the line is slow; this makes up for it. One connection's would only put all off alike.
void SendingEnd::acknowledge(Outlet& subflow) {
    ++subflow.syns;
    subflow.out.pass(now_, header_bytes_);
}

// `syn_ns`: when the packet that was answered left, as its timestamp says (RFC 7323). A subflow that joins sends once its ACK is
// acknowledged in turn (RFC 8684 section 3.2; __mptcp_subflow_active() of net/mptcp/protocol.h), a second round trip after its SYN.
void SendingEnd::handle_established(Time now, std::size_t s, Time syn_ns) {
    go_on_before(now);
    stop_all();
    now_ = now;
    Outlet& subflow = subflows_[s];
    TcpState& tcp = subflow.sender.tcp();
    if (subflow.sender.established()) {  // an answer to a repeated SYN, or to the ACK of one: that makes the pace anew
        if (!joins(s) || syn_ns < subflow.confirmed_ns) return;
        if (wants_acks_) strategy_->handle_ack(s, peer_delivered_);
        if (tcp.packets_out() > 0) tcp.syn_repeated = false;
        subflow.sender.handle_join_ack(now_, subflow.confirmed_ns);
        pump(s);
        arm_own_timer();
        return log_step(s);
    }
    if (subflow.handshake_rtt_ns < 0) {
        subflow.handshake_rtt_ns = now_ - syn_ns;
        subflow.confirmed_ns = now_;
        tcp.syn_repeated = subflow.syns > 1;
        if (joins(s)) return confirm(s);
    } else if (syn_ns < subflow.confirmed_ns) {
        return confirm(s);  // an answer to a repeated SYN is acknowledged again (tcp_send_challenge_ack())
    }
    subflow.syn_at = kNever;
    siblings_.push_back(&tcp);
    subflow.sender.establish(now_, subflow.handshake_rtt_ns);
    if (joins(s)) subflow.sender.handle_join_ack(now_, subflow.confirmed_ns);
    if (transport_.apart) acknowledge(subflow);
    log_step(s);
    insert(established_, s);
    strategy_->handle_established(s);
    pump(s);
    arm_own_timer();
}

void SendingEnd::handle_room(Time now, std::size_t s) {
    now_ = now;
    if (subflows_[s].sender.established()) pump(s);
}

// The node where it ends had none, and has not spoken since.
void SendingEnd::ask_for_room(std::size_t s) {
    Outlet& subflow = subflows_[s];
    if (rooms_[s].ask(now_, data_waits(s))) {
        ++subflow.syns;
        subflow.out.send(now_, s, 0, 0, 0, 0, header_bytes_, false);
    }
    arm_for_rooms();
}

void SendingEnd::handle_timer(Time now, std::size_t s) {
    go_on(now - 1);
    now_ = now;
    Outlet& subflow = subflows_[s];
    timers_.set(s, kNever);
    if (!rooms_.empty() && subflow.sender.established()) ask_for_room(s);
    if (!subflow.sender.established()) {
        if (subflow.syn_at <= now_) subflow.handshake_rtt_ns >= 0 ? confirm(s) : send_syn(s, subflow);
        return arm_timer(s);
    }
    if (contains(outage_, s) && rest(s, subflow)) return;
    const TimerResult result = subflow.sender.handle_timer(now_);
    if (result != TimerResult::kNothing) stop_all();
    switch (result) {
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
    look_at_going();
    arm_own_timer();
    log_step(s);
}

// A machine's timers are late. But an interrupt runs all that are due (hrtimer_interrupt()), and before the ACK that it brings: the
// pacer's in softirqs of the first round, those of netem, which hands packets to a tasklet, in the second.
void SendingEnd::run_late_paces(Time now) {
    while (late_ != 0) {
        const auto s = static_cast<std::size_t>(lowest(late_));
        paces_.set(s, kNever);
        handle_pace(now, s);
    }
}

void SendingEnd::handle_pace(Time now, std::size_t s) {
    if (going_ != 0) {
        for (std::size_t i = 0; i < subflows_.size(); ++i)
            if (contains(going_, i)) go_on(i, i <= s ? now : now - 1);
        stop(s);
    }
    now_ = now;
    const auto most = static_cast<double>(transport_.constants.timer_late);
    if (most > 0 && !contains(late_, s)) {
        insert(late_, s);
        return paces_.set(s, now + static_cast<Time>(late_draws_.uniform(late_drawn_++) * most));
    }
    erase(late_, s);
    pump(s);
    look_at_going();
    arm_own_timer();
    if (paces_.at(s) <= now_) paces_.set(s, kNever);
}

// What the path still owes goes to the others as well; layers it has not begun go back to be scheduled anew. A lane that is a
// connection of its own has others only as backups, where a link may not come back. Linux's MPTCP hears nothing of it.
void SendingEnd::on_timeout(std::size_t s) {
    if (wants_acks_) return;
    Outlet& subflow = subflows_[s];
    insert(stale_, s);
    if ((established_ & ~stale_) == 0) return;
    if (!transport_.apart || backups_)
        subflow.sender.reinject([&](std::int64_t number, const Segment& segment) {
            subflow.reinjections.push_back({segment.object, segment.order, segment.bytes, number});
            insert(reinjecting_, s);
            if (wants_feedback_) scheduler_->on_reinjection(static_cast<int>(s), segment.bytes, now_);
        });
    strategy_->handle_timeout(s);
    if (transport_.layer_links.empty() || transport_.apart) offer();
}

Time SendingEnd::handle_release(Time now) {
    go_on(now);
    now_ = now;
    const auto& release = objects_.release_ns;
    while (released_ < release.size() && release[released_] <= now_) {
        const auto object = static_cast<std::uint32_t>(released_++);
        backlog_ += objects_.payload_bytes[object];
        layer_backlog_[static_cast<std::size_t>(objects_.layer[object])] += objects_.payload_bytes[object];
        strategy_->handle_release(object);
    }
    offer();
    sent_ = 0;  // all of them see to it now
    for (std::size_t s = 0; s < subflows_.size(); ++s) {
        if (!subflows_[s].sender.established()) continue;
        const bool pushed = subflows_[s].sender.holds() && data_waits(s);
        if (pushed) subflows_[s].sender.push();
        pushed ? pump(s) : finish_sending(s, subflows_[s]);
    }
    look_at_going();
    if (!rooms_.empty()) arm_for_rooms();
    arm_own_timer();
    return released_ < release.size() ? release[released_] : kNever;
}

void SendingEnd::handle_slot(Time now) {
    go_on(now);
    stop_all();
    now_ = now;
    refresh_delays();
    drop_expired();
}

// --------------------------------------------------------------------------------------------------- bookkeeping

Time SendingEnd::longest_one_way_ns() const {
    Time longest = 0;
    for (const Path& path : paths_) longest = std::max(longest, path.one_way_ns);
    return longest;
}

std::int64_t SendingEnd::bytes() const {
    std::int64_t bytes = 0;
    for (const Outlet& subflow : subflows_) bytes += subflow.sender.bytes();
    return bytes;
}

void SendingEnd::check_backlog() const {
    std::int64_t unsent = 0;
    for (std::uint32_t object = 0; object < released_; ++object)
        if (!layers_[object].given_up) unsent += unsent_bytes(object);
    DSTCC_CHECK(unsent == backlog_, "what was released is sent, given up, or waits");
}

}  // namespace dstcc
