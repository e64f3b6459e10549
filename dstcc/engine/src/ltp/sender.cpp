// The sending end of ltp: what goes on a link next, checkpoints and repairs, and what answers mean.
#include "ltp/ltp.hpp"

namespace dstcc {

using Phase = Session::Phase;

// ------------------------------------------------------------------------------------------------------- going out

// One thing leaves when the line is free: control, else repairs, else repair segments, else the block under way, else a new one.
void Ltp::serve(std::size_t l) {
    LinkState& link = links_[l];
    tree_.set_busy(head_line(l), kNever);
    if (link.down.free_ns() > now_) return tree_.set_busy(head_line(l), link.down.free_ns());
    if (!link.down_queue.empty() ? serve_control(l) : serve_repair(l) || serve_parity(l) || serve_block(l))
        tree_.set_busy(head_line(l), link.down.free_ns());
}

void Ltp::wake(std::size_t l) {
    const Time at = std::max(now_, links_[l].down.free_ns());
    if (at < tree_.at(head_line(l))) tree_.set_busy(head_line(l), at);
}

// May something of that size start now? If an outage is in the way, the line is served again when it is over.
bool Ltp::lit(std::size_t l, std::uint32_t bytes) {
    const Time at = links_[l].down.fit_bytes(now_, bytes);
    if (at > now_) tree_.set_busy(head_line(l), at);
    return at <= now_;
}

bool Ltp::serve_control(std::size_t l) {
    LinkState& link = links_[l];
    if (!lit(l, control_bytes_)) return false;
    const Control entry = link.down_queue.front();
    link.down_queue.pop_front();
    const auto sent = link.down.transmit(now_, control_bytes_);
    ++control_packets_;
    Session& session = sessions_[entry.session];
    if (entry.kind == Kind::kCancel && session.phase == Phase::kCancelling) {
        ++session.cancels;
        session.cancel_expires_ns = answer_by(l, link.up, sent.departs_ns);
        set_timer(l, Clock::kCancel, entry.session, 0, session.cancel_expires_ns);
    }
    if (sent.arrives_ns == kNever) {
        drop_name(entry.session);
    } else {
        push_down(l, {sent.arrives_ns, entry.serial, entry.session, static_cast<std::uint32_t>(entry.kind), 0});
    }
    return true;
}

// False if there is nothing to repair; also while an outage is in the way.
bool Ltp::serve_repair(std::size_t l) {
    LinkState& link = links_[l];
    while (!link.repairs.empty()) {
        Repair& repair = link.repairs.front();
        Session& session = sessions_[repair.session];
        Checkpoint* unanswered = nullptr;
        if (session.phase == Phase::kSending && repair.checkpoint != 0) {
            unanswered = find_checkpoint(session, repair.checkpoint);
        }
        if (session.phase != Phase::kSending || (repair.checkpoint != 0 && unanswered == nullptr)) {
            finish_repair(l);
            continue;
        }
        if (hopeless(session.object) || past_light(session.object, l)) {
            cancel(repair.session);
            continue;
        }
        Range& gap = repair.gaps[repair.gap];
        const std::int64_t segment = gap.begin;
        const std::uint32_t wire = segment_bytes(session, segment) + control_bytes_;
        if (!lit(l, wire)) return false;
        const bool last = repair.gap + 1 == repair.gaps.size() && gap.begin + 1 == gap.end;
        if (++gap.begin == gap.end) ++repair.gap;
        ++repair.sent;
        link.backlog_bytes -= wire;
        if (unanswered != nullptr) {
            ++unanswered->covers;
            repeat_checkpoint(l, repair.session, *unanswered);
        } else if (last) {
            open_checkpoint(l, repair.session, segment, {repair.begin, repair.end}, repair.sent, true);
        } else {
            send_segment(l, repair.session, segment, 0, true);
        }
        if (last) finish_repair(l);
        return true;
    }
    return false;
}

bool Ltp::serve_block(std::size_t l) {
    LinkState& link = links_[l];
    for (;;) {
        if (link.current < 0 && !begin_block(l)) return false;
        const auto slot = static_cast<std::uint32_t>(link.current);
        Session& session = sessions_[slot];
        if (session.phase == Phase::kSending && past_light(session.object, l)) cancel(slot);
        if (session.phase != Phase::kSending) {
            end_block(l);
            continue;
        }
        const std::int64_t segment = link.next_segment;
        const std::uint32_t wire = segment_bytes(session, segment) + control_bytes_;
        if (!lit(l, wire)) return false;
        ++link.next_segment;
        link.backlog_bytes -= wire;
        const bool last = link.next_segment == session.segments;
        if (!last) {
            send_segment(l, slot, segment, 0, false);
        } else if (session.red) {
            open_checkpoint(l, slot, segment, {0, session.segments}, session.segments, false);
        } else {
            const auto sent = send_segment(l, slot, segment, 0, false);
            if (matrix_of(slot) == nullptr)  // else its matrix ends it
                set_timer(l, Clock::kGreenEnd, slot, 0,
                          sent.departs_ns + link.down.direction().delay_lookup(sent.departs_ns));
        }
        if (last) end_block(l);
        return true;
    }
}

// Open a session for the next block of this link, if there is one and the line is lit.
bool Ltp::begin_block(std::size_t l) {
    LinkState& link = links_[l];
    if (link.bound.empty() && (pending_.empty() || !lit(l, full_bytes_))) return false;
    if (!feed(l)) return false;
    const std::uint32_t object = link.bound.front();
    const std::int64_t mss = config_.transport.mss_bytes, payload = config_.objects.payload_bytes[object];
    if (!lit(l, static_cast<std::uint32_t>(std::min(mss, payload)) + control_bytes_)) return false;
    link.bound.pop_front();
    const std::uint32_t slot = sessions_.open();
    Session& session = sessions_[slot];
    session.object = object;
    session.link = static_cast<std::uint32_t>(l);
    session.red = config_.objects.layer[object] < green_from_layer_;
    session.segments = (payload + mss - 1) / mss;
    ++session.named;
    if (coding_) join_matrix(l, slot);
    link.current = slot;
    link.next_segment = 0;
    ObjectOutcome& outcome = outcomes_[object];
    outcome.first_sent_ns = now_;
    outcome.subflow = link.subflow;
    if (first_send_ns_ < 0) first_send_ns_ = now_;
    return true;
}

void Ltp::end_block(std::size_t l) {
    LinkState& link = links_[l];
    const auto slot = static_cast<std::uint32_t>(link.current);
    const Session& session = sessions_[slot];
    link.backlog_bytes -= wire_bytes(session, {link.next_segment, session.segments});
    link.current = -1;
    if (const Matrix* matrix = matrix_of(slot); matrix != nullptr && matrix->due) close_matrix(l, matrix->layer);
    drop_name(slot);
}

void Ltp::finish_repair(std::size_t l) {
    LinkState& link = links_[l];
    const Repair repair = std::move(link.repairs.front());
    link.repairs.pop_front();
    const Session& session = sessions_[repair.session];
    for (std::size_t i = repair.gap; i < repair.gaps.size(); ++i)
        link.backlog_bytes -= wire_bytes(session, repair.gaps[i]);
    drop_name(repair.session);
}

Line::Sent Ltp::send_segment(std::size_t l, std::uint32_t slot, std::int64_t segment, std::uint32_t checkpoint,
                             bool repeat) {
    LinkState& link = links_[l];
    Session& session = sessions_[slot];
    ObjectOutcome& outcome = outcomes_[session.object];
    const std::uint32_t bytes = segment_bytes(session, segment);
    const auto sent = link.down.transmit(now_, bytes + control_bytes_);
    ++data_packets_;
    ++link.slot_sent;
    ++link.in_flight;
    ++session.in_the_dark;
    outcome.sent_bytes += bytes;
    if (repeat) {
        repeated_payload_ += bytes;
        ++link.slot_retransmitted;
        ++outcome.retransmissions;
    } else {
        new_payload_ += bytes;
        outcome.offset += bytes;
    }
    if (sent.waited_ns >= 0) waits_.add(sent.waited_ns);
    Matrix* const matrix = repeat ? nullptr : matrix_of(slot);
    if (matrix != nullptr) {
        ++matrix->source;
        matrix->symbol_bytes = std::max(matrix->symbol_bytes, bytes);
        ++membership_[slot].members;
    }
    if (sent.arrives_ns == kNever) return sent;
    ++session.named;
    ++session.flying;
    const Kind kind = matrix == nullptr ? Kind::kData : Kind::kMember;
    push_down(l, {sent.arrives_ns, segment, slot, static_cast<std::uint32_t>(kind), checkpoint});
    return sent;
}

void Ltp::push_down(std::size_t l, const DownPacket& packet) {
    LinkState& link = links_[l];
    const bool first = link.data.empty();
    link.data.push_back(packet);
    if (first) tree_.set_busy(l, packet.arrive_ns);
}

// -------------------------------------------------------------------------------------------------------- checkpoints

// Send a segment as a checkpoint that asks about `scope`.
void Ltp::open_checkpoint(std::size_t l, std::uint32_t slot, std::int64_t segment, Range scope, std::int64_t covers,
                          bool repeat) {
    Session& session = sessions_[slot];
    const std::uint32_t serial = session.next_checkpoint++;
    session.checkpoints.push_back({serial, 1, segment, scope.begin, scope.end, covers, 0, 0, 0});
    const auto sent = send_segment(l, slot, segment, serial, repeat);
    session.checkpoints.back().departed_ns = sent.departs_ns;
    session.checkpoints.back().expires_ns = kNever;
    // The answer of one in a matrix may wait for that; its clock starts when the matrix is sent.
    if (repeat || matrix_of(slot) == nullptr) start_clock(l, slot, session.checkpoints.back(), sent.departs_ns);
}

void Ltp::repeat_checkpoint(std::size_t l, std::uint32_t slot, Checkpoint& checkpoint) {
    ++checkpoint.tries;
    const auto sent = send_segment(l, slot, checkpoint.segment, checkpoint.serial, true);
    checkpoint.departed_ns = sent.departs_ns;
    start_clock(l, slot, checkpoint, sent.departs_ns);
}

void Ltp::start_clock(std::size_t l, std::uint32_t slot, Checkpoint& checkpoint, Time departed) {
    checkpoint.expires_ns = answer_by(l, links_[l].up, departed);
    set_timer(l, Clock::kCheckpoint, slot, checkpoint.serial, checkpoint.expires_ns);
}

Checkpoint* Ltp::find_checkpoint(Session& session, std::uint32_t serial) {
    for (Checkpoint& checkpoint : session.checkpoints)
        if (checkpoint.serial == serial) return &checkpoint;
    return nullptr;
}

void Ltp::checkpoint_expired(std::size_t l, std::uint32_t slot, std::uint32_t serial, Time at) {
    Session& session = sessions_[slot];
    if (session.phase != Phase::kSending) return;
    Checkpoint* checkpoint = find_checkpoint(session, serial);
    if (checkpoint == nullptr || checkpoint->expires_ns != at) return;
    ++expired_;
    if (checkpoint->tries > retry_limit_) return cancel(slot);
    checkpoint->expires_ns = kNever;
    queue_repair(l,
                 {slot, serial, checkpoint->begin, checkpoint->end, {{checkpoint->segment, checkpoint->segment + 1}}});
}

void Ltp::queue_repair(std::size_t l, Repair&& repair) {
    Session& session = sessions_[repair.session];
    ++session.named;
    for (const Range& gap : repair.gaps) links_[l].backlog_bytes += wire_bytes(session, gap);
    links_[l].repairs.push_back(std::move(repair));
    wake(l);
}

// -------------------------------------------------------------------------------------------------------- coming in

void Ltp::handle_answer(std::size_t l) {
    LinkState& link = links_[l];
    const UpPacket packet = link.answers.front();
    link.answers.pop_front();
    tree_.set_busy(head_answers(l), link.answers.empty() ? kNever : link.answers.front().arrive_ns);
    if (packet.kind == Kind::kFeedback) return link.rule->heard(packet.end, packet.begin, packet.claims == 1);
    Session& session = sessions_[packet.session];
    if (packet.kind == Kind::kReport) {
        handle_report(l, packet);
    } else if (packet.kind == Kind::kRefusal) {
        if (session.phase == Phase::kSending) abandon(packet.session, Phase::kClosed);
        if (session.phase == Phase::kCancelling) session.phase = Phase::kClosed;
        control(l, Kind::kRefusalAck, packet.session, 0);
    } else if (session.phase == Phase::kCancelling) {
        session.phase = Phase::kClosed;
    }
    drop_name(packet.session);
}

// Learn what came, stop the checkpoint's clock, and send the gaps of the report's scope again.
void Ltp::handle_report(std::size_t l, const UpPacket& packet) {
    LinkState& link = links_[l];
    Session& session = sessions_[packet.session];
    const bool fresh = session.phase == Phase::kSending && session.answers.add(packet.serial, packet.serial + 1) > 0;
    for (std::uint32_t i = 0; i < packet.claims; ++i) {
        const Range claim = link.claims.front();
        link.claims.pop_front();
        if (!fresh) continue;
        std::int64_t found = 0;
        session.claimed.each_gap(claim.begin, claim.end,
                                 [&](std::int64_t a, std::int64_t b) { found += payload_bytes(session, {a, b}); });
        link.slot_delivered += found;
        outcomes_[session.object].acknowledged_bytes += found;
        session.claimed.add(claim.begin, claim.end);
    }
    if (session.phase != Phase::kCancelling) control(l, Kind::kReportAck, packet.session, packet.serial);
    if (!fresh) return;
    answered(l, packet);
    if (session.claimed.next() == session.segments) {
        forget_outstanding(session);
        session.checkpoints.clear();
        session.phase = Phase::kClosed;
        return;
    }
    Repair repair{packet.session, 0, packet.begin, packet.end, {}};
    session.claimed.each_gap(packet.begin, packet.end, [&](std::int64_t a, std::int64_t b) {
        repair.gaps.push_back({a, b});
        link.slot_lost += b - a;
    });
    if (!repair.gaps.empty()) queue_repair(l, std::move(repair));
}

// A checkpoint's clock stops when reports have answered for all of its scope. One sent once gives a round-trip time (Karn).
void Ltp::answered(std::size_t l, const UpPacket& packet) {
    LinkState& link = links_[l];
    Session& session = sessions_[packet.session];
    Checkpoint* checkpoint = find_checkpoint(session, packet.checkpoint);
    if (checkpoint == nullptr) return;
    if (checkpoint->tries == 1 && checkpoint->reported == 0 && !packet.waited) {
        link.last_rtt_ns = now_ - checkpoint->departed_ns;
        link.min_rtt_ns = link.min_rtt_ns == 0 ? link.last_rtt_ns : std::min(link.min_rtt_ns, link.last_rtt_ns);
        rtt_sum_s_ += static_cast<double>(link.last_rtt_ns) / kNsPerS;
        ++rtt_samples_;
    }
    link.in_flight -= checkpoint->covers;
    session.in_the_dark -= checkpoint->covers;
    checkpoint->covers = 0;
    checkpoint->reported += packet.end - packet.begin;
    if (checkpoint->reported < checkpoint->end - checkpoint->begin) {
        checkpoint->expires_ns = answer_by(l, link.up, now_);
        return set_timer(l, Clock::kCheckpoint, packet.session, checkpoint->serial, checkpoint->expires_ns);
    }
    session.checkpoints.erase(session.checkpoints.begin() + (checkpoint - session.checkpoints.data()));
}

// ----------------------------------------------------------------------------------------------------------- the end

void Ltp::control(std::size_t l, Kind kind, std::uint32_t slot, std::uint32_t serial) {
    ++sessions_[slot].named;
    links_[l].down_queue.push_back({kind, slot, serial});
    wake(l);
}

// Nothing will tell any more what became of these.
void Ltp::forget_outstanding(Session& session) {
    links_[session.link].in_flight -= session.in_the_dark;
    session.in_the_dark = 0;
}

// The layer is late, of no use, or out of reach: tell the receiver to forget it. Of a green part it knows nothing.
void Ltp::cancel(std::uint32_t slot) {
    Session& session = sessions_[slot];
    const std::size_t l = session.link;
    const bool red = session.red;
    ++session.named;
    abandon(slot, red ? Phase::kCancelling : Phase::kClosed);
    if (red) control(l, Kind::kCancel, slot, 0);
    drop_name(slot);
}

void Ltp::abandon(std::uint32_t slot, Phase phase) {
    Session& session = sessions_[slot];
    session.abandoned = true;
    session.phase = phase;
    session.checkpoints.clear();
    forget_outstanding(session);
    settle_if_lost(session);
    release_if_over(slot);
}

// ------------------------------------------------------------------------------------------------------------- sizes

std::uint32_t Ltp::segment_bytes(const Session& session, std::int64_t segment) const {
    const std::int64_t mss = config_.transport.mss_bytes;
    if (segment + 1 < session.segments) return static_cast<std::uint32_t>(mss);
    return static_cast<std::uint32_t>(config_.objects.payload_bytes[session.object] - segment * mss);
}

std::int64_t Ltp::payload_bytes(const Session& session, Range segments) const {
    if (segments.begin >= segments.end) return 0;
    const std::int64_t mss = config_.transport.mss_bytes, payload = config_.objects.payload_bytes[session.object];
    return std::min(segments.end * mss, payload) - segments.begin * mss;
}

std::int64_t Ltp::wire_bytes(const Session& session, Range segments) const {
    return payload_bytes(session, segments) + control_bytes_ * std::max<std::int64_t>(segments.end - segments.begin, 0);
}

}  // namespace dstcc
