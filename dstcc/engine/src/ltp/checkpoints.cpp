// The sending end of ltp: checkpoints and their clocks, and what comes back.
#include "ltp/sending_end.hpp"

namespace dstcc {

// ------------------------------------------------------------------------------------------------------------- clocks

void LtpSendingEnd::handle_timer(Time now, std::size_t l) {
    go_to(now, links_.size());
    ended_.clear();
    timers_.fire(now_, l, [&](const Timer& timer) { on_expiry(l, timer); });
}

void LtpSendingEnd::on_expiry(std::size_t l, const Timer& timer) {
    switch (timer.clock) {
        case Clock::kCheckpoint:
            return checkpoint_expired(l, timer.subject, timer.serial, timer.at);
        case Clock::kCancel: {
            const Session* const session = sessions_.find(timer.subject);
            if (session == nullptr || !session->cancelling || session->cancel_expires_ns != timer.at) return;
            ++timeouts_;
            if (session->cancels <= blocks_.retry_limit()) return control(l, DownSegment::kCancel, timer.subject, 0);
            return close(timer.subject);
        }
        case Clock::kGreenEnd:
            if (sending(timer.subject) != nullptr) abandon(timer.subject, false);
            return;
        case Clock::kMatrix:
            return matrix_expired(l, timer.subject);
        case Clock::kMatrixOver:
            return end_matrix(timer.subject);
    }
}

// Send a segment as a checkpoint that asks about `scope`.
void LtpSendingEnd::open_checkpoint(std::size_t l, std::uint32_t block, std::int64_t segment, Range scope,
                                    std::int64_t covers, bool repeat) {
    Session& session = *sessions_.find(block);
    session.checkpoints.push_back({session.next_checkpoint++, 1, segment, scope, covers, 0, 0, kNever});
    Checkpoint& checkpoint = session.checkpoints.back();
    checkpoint.departed_ns = send_segment(l, block, segment, &checkpoint, repeat);
    // The answer of one in a matrix may wait for that; its clock starts when the matrix is sent.
    if (repeat || matrix_of(block) == nullptr) start_clock(l, block, checkpoint, checkpoint.departed_ns);
}

void LtpSendingEnd::repeat_checkpoint(std::size_t l, std::uint32_t block, Checkpoint& checkpoint) {
    ++checkpoint.tries;
    checkpoint.departed_ns = send_segment(l, block, checkpoint.segment, &checkpoint, true);
    start_clock(l, block, checkpoint, checkpoint.departed_ns);
}

void LtpSendingEnd::start_clock(std::size_t l, std::uint32_t block, Checkpoint& checkpoint, Time departed) {
    checkpoint.expires_ns = links_[l].clock.due_up(departed);
    timers_.set(l, Clock::kCheckpoint, block, checkpoint.serial, checkpoint.expires_ns);
}

LtpSendingEnd::Checkpoint* LtpSendingEnd::find_checkpoint(Session& session, std::uint32_t serial) {
    for (Checkpoint& checkpoint : session.checkpoints)
        if (checkpoint.serial == serial) return &checkpoint;
    return nullptr;
}

void LtpSendingEnd::checkpoint_expired(std::size_t l, std::uint32_t block, std::uint32_t serial, Time at) {
    Session* const session = sending(block);
    if (session == nullptr) return;
    Checkpoint* const checkpoint = find_checkpoint(*session, serial);
    if (checkpoint == nullptr || checkpoint->expires_ns != at) return;
    ++timeouts_;
    if (checkpoint->tries > blocks_.retry_limit()) return cancel(block);
    checkpoint->expires_ns = kNever;
    queue_repair(l, {block, serial, checkpoint->scope, {{checkpoint->segment, checkpoint->segment + 1}}});
}

void LtpSendingEnd::queue_repair(std::size_t l, Repair&& repair) {
    for (const Range& gap : repair.gaps) choice_.backlog_bytes(l) += blocks_.wire_bytes(repair.block, gap);
    links_[l].repairs.push_back(std::move(repair));
    wake(l);
}

// -------------------------------------------------------------------------------------------------------- coming in

void LtpSendingEnd::handle_segment(Time now, std::size_t l, const UpSegment& segment,
                                   const std::vector<Range>& claims) {
    go_to(now, 0);
    const Session* session = segment.kind == UpSegment::kFeedback ? nullptr : sessions_.find(segment.block);
    switch (segment.kind) {
        case UpSegment::kFeedback:
            return links_[l].rule->heard(segment.end, segment.begin, segment.claims == 1);
        case UpSegment::kReport:
            return handle_report(l, segment, claims);
        case UpSegment::kRefusal:
            // One that is repeated, as its answer was lost, is of a session before, if another link has the block by now.
            if (session != nullptr && session->link != l) session = nullptr;
            if (session != nullptr && !session->cancelling && segment.waited) {
                put_off(l, segment.block);
            } else if (session != nullptr && !session->cancelling) {
                layers_[segment.block].given_up = true;
                abandon(segment.block, false);
            } else if (session != nullptr) {
                close(segment.block);
            }
            return control(l, DownSegment::kRefusalAck, segment.block, 0);
        case UpSegment::kCancelAck:
            if (session != nullptr && session->cancelling) close(segment.block);
    }
}

// Learn what came, stop the checkpoint's clock, and send the gaps of the report's scope again.
void LtpSendingEnd::handle_report(std::size_t l, const UpSegment& segment, const std::vector<Range>& claims) {
    Sample& counts = links_[l].counts;
    Session* const session = sending(segment.block);
    const bool fresh = session != nullptr && session->answers.add(segment.serial, segment.serial + 1) > 0;
    if (session != nullptr || sessions_.find(segment.block) == nullptr)  // else it is cancelled
        control(l, DownSegment::kReportAck, segment.block, segment.serial);
    if (!fresh) return;
    for (const Range& claim : claims) {
        std::int64_t found = 0;
        session->claimed.each_gap(claim.begin, claim.end, [&](std::int64_t a, std::int64_t b) {
            found += blocks_.payload_bytes(segment.block, {a, b});
        });
        counts.delivered_bytes += found;
        acknowledged_[segment.block] += found;
        session->claimed.add(claim.begin, claim.end);
    }
    links_[l].hold_off = 0;
    answered(l, *session, segment);
    if (session->claimed.next() == session->segments) {
        forget_outstanding(*session);
        return close(segment.block);
    }
    Repair repair{segment.block, 0, {segment.begin, segment.end}, {}};
    session->claimed.each_gap(segment.begin, segment.end, [&](std::int64_t a, std::int64_t b) {
        repair.gaps.push_back({a, b});
        counts.lost_segments += b - a;
    });
    if (!repair.gaps.empty()) queue_repair(l, std::move(repair));
}

// A checkpoint's clock stops when reports have answered for all of its scope. One sent once gives a round-trip time (Karn).
void LtpSendingEnd::answered(std::size_t l, Session& session, const UpSegment& segment) {
    Link& link = links_[l];
    Sample& counts = link.counts;
    Checkpoint* const checkpoint = find_checkpoint(session, segment.checkpoint);
    if (checkpoint == nullptr) return;
    if (checkpoint->tries == 1 && checkpoint->reported == 0 && !segment.waited) {
        counts.srtt_ns = now_ - checkpoint->departed_ns;
        counts.min_rtt_ns = counts.min_rtt_ns == 0 ? counts.srtt_ns : std::min(counts.min_rtt_ns, counts.srtt_ns);
        rtt_sum_s_ += static_cast<double>(counts.srtt_ns) / kNsPerS;
        ++rtt_samples_;
    }
    counts.inflight_segments -= checkpoint->covers;
    session.in_the_dark -= checkpoint->covers;
    checkpoint->covers = 0;
    checkpoint->reported += segment.end - segment.begin;
    if (checkpoint->reported < checkpoint->scope.end - checkpoint->scope.begin)
        return start_clock(l, segment.block, *checkpoint, now_);
    session.checkpoints.erase(session.checkpoints.begin() + (checkpoint - session.checkpoints.data()));
}

// Nothing will tell any more what became of these.
void LtpSendingEnd::forget_outstanding(Session& session) {
    links_[session.link].counts.inflight_segments -= session.in_the_dark;
    session.in_the_dark = 0;
}

}  // namespace dstcc
