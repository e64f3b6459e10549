// The receiving end of ltp: blocks come together here, checkpoints are answered, reports are held until acknowledged.
#include "ltp/ltp.hpp"

namespace dstcc {

using Phase = Session::Phase;

namespace {

constexpr std::uint32_t kReportFields = 12;  // two serials, two bounds and the number of claims, beside the headers

}  // namespace

void Ltp::handle_down(std::size_t l) {
    LinkState& link = links_[l];
    const DownPacket packet = link.data.front();
    link.data.pop_front();
    tree_.set_busy(l, link.data.empty() ? kNever : link.data.front().arrive_ns);
    if (static_cast<Kind>(packet.kind) == Kind::kParity) return handle_parity(l, packet.segment);
    Session& session = sessions_[packet.session];
    switch (static_cast<Kind>(packet.kind)) {
        case Kind::kMember:
            ++matrix_of(packet.session)->members;
            ++matrix_of(packet.session)->arrived;
            [[fallthrough]];
        case Kind::kData:
            handle_data(session, packet.segment);
            if (packet.checkpoint != 0) handle_checkpoint(l, packet.session, packet.checkpoint);
            break;
        case Kind::kReportAck:
            for (std::size_t i = 0; i < session.reports.size(); ++i)
                if (session.reports[i].serial == packet.segment) {
                    session.reports.erase(session.reports.begin() + static_cast<std::ptrdiff_t>(i));
                    break;
                }
            break;
        case Kind::kCancel:
            session.deaf = true;
            session.reports.clear();
            session.refusing = false;
            answer(l, Kind::kCancelAck, packet.session, 0);
            break;
        default:  // kRefusalAck
            session.refusing = false;
    }
    drop_name(packet.session);
}

// Red parts go up when they are whole, green segments as they come.
void Ltp::handle_data(Session& session, std::int64_t segment) {
    --session.flying;
    const std::int64_t bytes = segment_bytes(session, segment);
    const bool blocked = session.red && segment > session.received.next();
    if (session.deaf || session.received.add(segment, segment + 1) == 0) {
        duplicate_payload_ += bytes;
        return settle_if_lost(session);
    }
    arrived_payload_ += bytes;
    if (blocked) hol_payload_ += bytes;
    take(session, bytes);
}

// New bytes of a block, arrived or brought back.
void Ltp::take(Session& session, std::int64_t bytes) {
    ObjectOutcome& outcome = outcomes_[session.object];
    if (outcome.first_arrival_ns < 0) outcome.first_arrival_ns = now_;
    const double since_first = static_cast<double>(now_ - outcome.first_arrival_ns) / kNsPerS;
    const bool whole = session.received.next() == session.segments;
    if (session.red) session.held_byte_s += static_cast<double>(bytes) * since_first;
    const std::int64_t up = !session.red ? bytes : whole ? config_.objects.payload_bytes[session.object] : 0;
    if (up > 0) {
        outcome.delivered_bytes += up;
        delivered_payload_ += up;
        last_delivery_ns_ = now_;
    }
    if (!whole) return settle_if_lost(session);
    if (session.red) hol_wait_byte_s_ += static_cast<double>(up) * since_first - session.held_byte_s;
    complete(session.object);
}

// A checkpoint seen before asks for its reports again, as far as they are not acknowledged (section 6.8).
void Ltp::handle_checkpoint(std::size_t l, std::uint32_t slot, std::uint32_t serial) {
    Session& session = sessions_[slot];
    if (session.deaf) return;
    if (session.asked.add(serial - 1, serial) == 0) {
        for (std::size_t i = 0; i < session.reports.size() && !session.deaf; ++i)
            if (session.reports[i].checkpoint == serial) queue_report(l, slot, session.reports[i]);
        return;
    }
    if (held_back(slot, serial)) return;
    // The scope is in the checkpoint's record for as long as the sender waits for an answer.
    const Checkpoint* checkpoint = find_checkpoint(session, serial);
    if (checkpoint != nullptr) make_reports(l, slot, *checkpoint);
}

// As many reports as the claims need, each as long as a full segment at most and with a scope of its own.
void Ltp::make_reports(std::size_t l, std::uint32_t slot, const Checkpoint& checkpoint) {
    Session& session = sessions_[slot];
    const std::size_t most = most_claims(session), first = session.reports.size();
    const auto open = [&](std::int64_t begin) {
        session.reports.push_back(
            {session.next_report++, checkpoint.serial, 0, false, false, begin, checkpoint.end, {}, kNever});
    };
    open(checkpoint.begin);
    session.received.each(checkpoint.begin, checkpoint.end, [&](std::int64_t a, std::int64_t b) {
        if (session.reports.back().claims.size() == most) {
            session.reports.back().end = session.reports.back().claims.back().end;
            open(session.reports.back().end);
        }
        session.reports.back().claims.push_back({a, b});
    });
    for (std::size_t i = first; i < session.reports.size(); ++i) queue_report(l, slot, session.reports[i]);
}

void Ltp::queue_report(std::size_t l, std::uint32_t slot, Report& report) {
    if (report.queued) return;
    if (report.tries > retry_limit_) return refuse(l, slot);
    report.queued = true;
    report.expires_ns = kNever;
    answer(l, Kind::kReport, slot, report.serial);
}

void Ltp::report_expired(std::size_t l, std::uint32_t slot, std::uint32_t serial, Time at) {
    Report* report = find_report(sessions_[slot], serial);
    if (report == nullptr || report->expires_ns != at) return;
    ++expired_;
    queue_report(l, slot, *report);
}

Report* Ltp::find_report(Session& session, std::uint32_t serial) {
    for (Report& report : session.reports)
        if (report.serial == serial) return &report;
    return nullptr;
}

// No acknowledgement comes: cancel the session from this end.
void Ltp::refuse(std::size_t l, std::uint32_t slot) {
    Session& session = sessions_[slot];
    session.deaf = session.refusing = true;
    session.reports.clear();
    answer(l, Kind::kRefusal, slot, 0);
}

void Ltp::answer(std::size_t l, Kind kind, std::uint32_t slot, std::uint32_t serial) {
    ++sessions_[slot].named;
    links_[l].up_queue.push_back({kind, slot, serial});
    wake_answers(l);
}

void Ltp::wake_answers(std::size_t l) {
    const Time at = std::max(now_, links_[l].up.free_ns());
    if (at < tree_.at(head_up_line(l))) tree_.set_busy(head_up_line(l), at);
}

// The next answer leaves when the line is free and lit.
void Ltp::serve_answers(std::size_t l) {
    LinkState& link = links_[l];
    tree_.set_busy(head_up_line(l), kNever);
    while (!link.up_queue.empty()) {
        if (link.up.free_ns() > now_) return tree_.set_busy(head_up_line(l), link.up.free_ns());
        const Control entry = link.up_queue.front();
        if (entry.kind == Kind::kFeedback) {
            const Time lit_at = link.up.fit_bytes(now_, control_bytes_);
            if (lit_at > now_) return tree_.set_busy(head_up_line(l), lit_at);
            put_up_feedback(l, entry);
            link.up_queue.pop_front();
            continue;
        }
        Session& session = sessions_[entry.session];
        Report* report = entry.kind == Kind::kReport ? find_report(session, entry.serial) : nullptr;
        const bool wanted =
            entry.kind == Kind::kReport ? report != nullptr : entry.kind != Kind::kRefusal || session.refusing;
        if (wanted) {
            const std::uint32_t bytes =
                report != nullptr ? report_bytes(session, report->claims.size()) : control_bytes_;
            const Time lit_at = link.up.fit_bytes(now_, bytes);
            if (lit_at > now_) return tree_.set_busy(head_up_line(l), lit_at);
            put_up(l, entry, report, bytes);
        }
        link.up_queue.pop_front();
        drop_name(entry.session);
    }
}

void Ltp::put_up(std::size_t l, const Control& entry, Report* report, std::uint32_t bytes) {
    LinkState& link = links_[l];
    Session& session = sessions_[entry.session];
    const auto sent = link.up.transmit(now_, bytes);
    UpPacket packet{sent.arrives_ns, 0, 0, entry.session, entry.serial, 0, 0, entry.kind, false};
    if (report != nullptr) {
        report->queued = false;
        ++report->tries;
        report->expires_ns = answer_by(l, link.down, sent.departs_ns);
        set_timer(l, Clock::kReport, entry.session, report->serial, report->expires_ns);
        packet.begin = report->begin;
        packet.end = report->end;
        packet.checkpoint = report->checkpoint;
        packet.claims = static_cast<std::uint32_t>(report->claims.size());
        packet.waited = report->waited;
    } else if (entry.kind == Kind::kRefusal) {
        ++session.refusals;
        session.refusal_expires_ns = answer_by(l, link.down, sent.departs_ns);
        set_timer(l, Clock::kRefusal, entry.session, 0, session.refusal_expires_ns);
    }
    if (sent.arrives_ns == kNever) return;
    if (report != nullptr)
        for (const Range& claim : report->claims) link.claims.push_back(claim);
    ++session.named;
    const bool first = link.answers.empty();
    link.answers.push_back(packet);
    if (first) tree_.set_busy(head_answers(l), packet.arrive_ns);
}

void Ltp::put_up_feedback(std::size_t l, const Control& entry) {
    LinkState& link = links_[l];
    const Matrix& matrix = matrices_[entry.session];
    const auto sent = link.up.transmit(now_, control_bytes_);
    if (sent.arrives_ns == kNever) return;
    const bool first = link.answers.empty();
    link.answers.push_back({sent.arrives_ns, matrix.arrived, matrix.source + matrix.repair, entry.session, 0, 0,
                            matrix.whole() ? 1U : 0U, Kind::kFeedback, false});
    if (first) tree_.set_busy(head_answers(l), sent.arrives_ns);
}

// A claim is an offset and a length, each a number no larger than the block.
std::uint32_t Ltp::claim_bytes(const Session& session) const {
    return 2 * sdnv_bytes(config_.objects.payload_bytes[session.object]);
}

std::uint32_t Ltp::report_bytes(const Session& session, std::size_t claims) const {
    return control_bytes_ + kReportFields + static_cast<std::uint32_t>(claims) * claim_bytes(session);
}

std::size_t Ltp::most_claims(const Session& session) const {
    const std::uint32_t fixed = control_bytes_ + kReportFields;
    return full_bytes_ > fixed ? std::max<std::size_t>((full_bytes_ - fixed) / claim_bytes(session), 1) : 1;
}

}  // namespace dstcc
