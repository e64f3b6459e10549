// The receiving end of ltp: reports and refusals, and the line that they leave on.
#include "ltp/receiving_end.hpp"

namespace dstcc {

namespace {

constexpr std::uint32_t kReportFields = 12;  // two serials, two bounds and the number of claims, beside the headers

}  // namespace

// As many reports as the claims need, each as long as a full segment at most and with a scope of its own.
void LtpReceivingEnd::make_reports(std::size_t l, std::uint32_t block, std::uint32_t checkpoint, Range scope) {
    Session& session = *sessions_.find(block);
    const std::size_t most = most_claims(block), first = session.reports.size();
    const auto open = [&](std::int64_t begin) {
        session.reports.push_back({session.next_report++, checkpoint, 0, false, false, {begin, scope.end}, {}, kNever});
    };
    open(scope.begin);
    session.received.each(scope.begin, scope.end, [&](std::int64_t a, std::int64_t b) {
        if (session.reports.back().claims.size() == most) {
            session.reports.back().scope.end = session.reports.back().claims.back().end;
            open(session.reports.back().scope.end);
        }
        session.reports.back().claims.push_back({a, b});
    });
    for (std::size_t i = first; i < session.reports.size(); ++i) queue_report(l, block, session, session.reports[i]);
}

// Where no acknowledgement comes the session is cancelled from this end.
void LtpReceivingEnd::queue_report(std::size_t l, std::uint32_t block, Session& session, Report& report) {
    if (report.queued) return;
    if (report.tries > blocks_.retry_limit()) {
        session.deaf = session.refusing = true;
        session.reports.clear();
        return answer(l, UpSegment::kRefusal, block, 0);
    }
    report.queued = true;
    report.expires_ns = kNever;
    answer(l, UpSegment::kReport, block, report.serial);
}

void LtpReceivingEnd::handle_timer(Time now, std::size_t l) {
    now_ = now;
    timers_.fire(now_, l, [&](const LinkTimers<Clock>::Timer& timer) {
        timer.clock == Clock::kReport ? report_expired(l, timer.subject, timer.serial, timer.at)
                                      : refusal_expired(l, timer.subject, timer.at);
    });
}

void LtpReceivingEnd::report_expired(std::size_t l, std::uint32_t block, std::uint32_t serial, Time at) {
    Session* const session = sessions_.find(block);
    Report* const report = session == nullptr ? nullptr : find_report(*session, serial);
    if (report == nullptr || report->expires_ns != at) return;
    ++timeouts_;
    queue_report(l, block, *session, *report);
}

void LtpReceivingEnd::refusal_expired(std::size_t l, std::uint32_t block, Time at) {
    Session* const session = sessions_.find(block);
    if (session == nullptr || !session->refusing || session->refusal_expires_ns != at) return;
    ++timeouts_;
    if (session->refusals <= blocks_.retry_limit()) return answer(l, UpSegment::kRefusal, block, 0);
    session->refusing = false;
    if (session->no_room) return close_session(block);
    forget_if_quiet(block);
}

LtpReceivingEnd::Report* LtpReceivingEnd::find_report(Session& session, std::uint32_t serial) {
    for (Report& report : session.reports)
        if (report.serial == serial) return &report;
    return nullptr;
}

void LtpReceivingEnd::answer(std::size_t l, UpSegment::Kind kind, std::uint32_t block, std::uint32_t serial) {
    links_[l].control.push_back({kind, block, serial});
    lines_.wake(now_, l);
}

// The next answer leaves when the line is free and lit.
void LtpReceivingEnd::handle_line(Time now, std::size_t l) {
    now_ = now;
    lines_.serve(l, kNever);
    std::deque<Control>& waiting = links_[l].control;
    while (!waiting.empty()) {
        if (lines_[l].free_ns() > now_) return lines_.serve(l, lines_[l].free_ns());
        if (!serve(l, waiting.front())) return;
        waiting.pop_front();
    }
}

// False while an outage is in the way. What is wanted no more is passed over.
bool LtpReceivingEnd::serve(std::size_t l, const Control& entry) {
    Session* const session = entry.kind == UpSegment::kFeedback ? nullptr : sessions_.find(entry.block);
    std::uint32_t bytes = blocks_.control_bytes();
    if (entry.kind == UpSegment::kReport) {
        Report* const report = session == nullptr ? nullptr : find_report(*session, entry.serial);
        if (report == nullptr) return true;
        bytes = report_bytes(entry.block, report->claims.size());
        if (!lines_.lit(now_, l, bytes)) return false;
        put_report(l, entry.block, *report, bytes);
        return true;
    }
    if (entry.kind == UpSegment::kRefusal && (session == nullptr || !session->refusing)) return true;
    if (!lines_.lit(now_, l, bytes)) return false;
    const bool no_room = session != nullptr && session->no_room;
    const UpSegment segment = entry.kind == UpSegment::kFeedback
                                  ? feedback(entry.block)
                                  : UpSegment{0, 0, 0, entry.block, entry.serial, 0, 0, entry.kind, no_room};
    const auto sent = lines_[l].send(now_, segment, bytes);
    if (entry.kind != UpSegment::kRefusal) return true;
    ++session->refusals;
    session->refusal_expires_ns = links_[l].clock.due_down(sent.departs_ns);
    timers_.set(l, Clock::kRefusal, entry.block, 0, session->refusal_expires_ns);
    return true;
}

void LtpReceivingEnd::put_report(std::size_t l, std::uint32_t block, Report& report, std::uint32_t bytes) {
    const auto claims = static_cast<std::uint32_t>(report.claims.size());
    const UpSegment segment{0,      report.scope.begin, report.scope.end, block, report.serial, report.checkpoint,
                            claims, UpSegment::kReport, report.waited};
    const auto sent = lines_[l].send(now_, segment, bytes, report.claims.data(), claims);
    report.queued = false;
    ++report.tries;
    report.expires_ns = links_[l].clock.due_down(sent.departs_ns);
    timers_.set(l, Clock::kReport, block, report.serial, report.expires_ns);
}

// A claim is an offset and a length, each a number no larger than the block.
std::uint32_t LtpReceivingEnd::claim_bytes(std::uint32_t block) const { return 2 * sdnv_bytes(blocks_.payload(block)); }

std::uint32_t LtpReceivingEnd::report_bytes(std::uint32_t block, std::size_t claims) const {
    return blocks_.control_bytes() + kReportFields + static_cast<std::uint32_t>(claims) * claim_bytes(block);
}

std::size_t LtpReceivingEnd::most_claims(std::uint32_t block) const {
    const std::uint32_t fixed = blocks_.control_bytes() + kReportFields, full = blocks_.full_bytes();
    return full > fixed ? std::max<std::size_t>((full - fixed) / claim_bytes(block), 1) : 1;
}

}  // namespace dstcc
