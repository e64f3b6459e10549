#include "ltp/receiving_end.hpp"

namespace dstcc {

LtpReceivingEnd::LtpReceivingEnd(const CodingConfig& coding, std::uint64_t seed, const LtpBlocks& blocks,
                                 const MatrixHeaders& headers, QuickHeads lines, Timers timers, Settlement& settlement)
    : coding_(coding),
      seed_(seed),
      blocks_(blocks),
      headers_(headers),
      settlement_(settlement),
      lines_(lines),
      timers_(timers),
      sessions_(blocks.size()),
      parts_(blocks.size()),
      came_over_(blocks.size(), 0) {}

void LtpReceivingEnd::add(const Line<UpSegment>& line, const AnswerClock& clock) {
    lines_.add(line);
    timers_.add();
    links_.push_back({clock, {}, nullptr});
}

void LtpReceivingEnd::handle_segment(Time now, std::size_t l, const DownSegment& segment,
                                     const std::vector<Range>& scope) {
    now_ = now;
    const std::uint32_t block = segment.block;
    switch (segment.kind) {
        case DownSegment::kParity:
            return handle_parity(l, segment.number);
        case DownSegment::kMember:
            ++arrival(headers_.of_block[block]).members;
            ++arrival(headers_.of_block[block]).arrived;
            [[fallthrough]];
        case DownSegment::kData:
            handle_data(l, block, segment.number);
            if (segment.checkpoint != 0)
                handle_checkpoint(l, block, segment.checkpoint, scope.front(), segment.kind == DownSegment::kMember);
            return;
        case DownSegment::kReportAck:
            return acknowledged(block, segment.number);
        case DownSegment::kCancel:
            answer(l, UpSegment::kCancelAck, block, 0);
            if (Session* session = sessions_.find(block); session != nullptr) {
                session->deaf = true;
                session->reports.clear();
            }
            break;
        default:  // kRefusalAck
            break;
    }
    if (Session* session = sessions_.find(block); session != nullptr) {
        session->refusing = false;
        if (session->no_room) return close_session(block);
    }
    forget_if_quiet(block);
}

void LtpReceivingEnd::turn_off(Time now, std::size_t l, Time until) {
    lines_.turn_off(l, until);
    lines_.wake(now, l);
}

void LtpReceivingEnd::lose(std::size_t l, const std::vector<std::uint32_t>& blocks) {
    links_[l].control.clear();
    for (std::uint32_t block = 0; block < blocks_.size(); ++block)
        if (const Session* session = sessions_.find(block); session != nullptr && session->link == l) {
            if (parts_[block].complete_ns < 0) parts_[block] = {};
            close_session(block);
        }
    for (const std::uint32_t block : blocks) {
        if (parts_[block].complete_ns < 0) continue;
        delivered_payload_ -= parts_[block].delivered_bytes;
        parts_[block] = {};
        settlement_.lose(block);
    }
}

// A segment of a block opens its session here.
LtpReceivingEnd::Session& LtpReceivingEnd::session_of(std::size_t l, std::uint32_t block) {
    Session* const known = sessions_.find(block);
    if (known != nullptr) return *known;
    Session& session = sessions_.open(block);
    session.link = l;
    session.segments = blocks_.segments(block);
    if (parts_[block].complete_ns >= 0) {  // all of it came before, and its sender does not know
        session.received.add(0, session.segments);
    } else if (Keeper* const keeper = links_[l].keeper;
               keeper != nullptr && !keeper->takes(block, blocks_.wire_bytes(block))) {
        session.deaf = session.refusing = session.no_room = true;
        answer(l, UpSegment::kRefusal, block, 0);
    }
    return session;
}

void LtpReceivingEnd::close_session(std::uint32_t block) {
    const Session& session = *sessions_.find(block);
    Keeper* const keeper = links_[session.link].keeper;
    if (keeper != nullptr && !session.no_room && parts_[block].complete_ns < 0) keeper->drops(block);
    sessions_.close(block);
}

// Red parts go up when they are whole, green segments as they come.
void LtpReceivingEnd::handle_data(std::size_t l, std::uint32_t block, std::int64_t segment) {
    Session& session = session_of(l, block);
    const std::int64_t bytes = blocks_.segment_bytes(block, segment);
    const bool blocked = blocks_.red(block) && segment > session.received.next();
    if (session.deaf || session.received.add(segment, segment + 1) == 0) {
        duplicate_payload_ += bytes;
        return;
    }
    arrived_payload_ += bytes;
    if (blocked) hol_payload_ += bytes;
    take(block, session, bytes);
}

void LtpReceivingEnd::handle_run(std::size_t l, const DownSegment& of, const Stretch& stretch) {
    const std::uint32_t block = of.block;
    const Run& times = stretch.arrivals;
    Session& session = session_of(l, block);
    const bool red = blocks_.red(block), blocked = stretch.place > session.received.next();
    const std::int64_t fresh = session.received.add(stretch.place, stretch.place + times.count);
    DSTCC_CHECK(fresh == times.count && !session.deaf && !session.whole(), "a run is of what comes for the first time");
    const std::int64_t size = blocks_.segment_bytes(block, stretch.place), bytes = size * times.count;
    if (of.kind == DownSegment::kMember) {
        MatrixArrival& matrix = arrival(headers_.of_block[block]);
        matrix.members += times.count;
        matrix.arrived += times.count;
    }
    arrived_payload_ += bytes;
    BlockParts& parts = parts_[block];
    if (parts.first_ns < 0) parts.first_ns = times.first;
    if (red) {
        if (blocked) hol_payload_ += bytes;
        const ByteTime pairs = static_cast<ByteTime>(times.count) * (times.count - 1) / 2;
        session.held_byte_ns +=
            bytes * static_cast<ByteTime>(times.first - parts.first_ns) + pairs * size * times.spacing;
    } else {
        parts.delivered_bytes += bytes;
        delivered_payload_ += bytes;
        last_delivery_ns_ = std::max(last_delivery_ns_, times.last());
    }
}

// New bytes of a block, arrived or brought back.
void LtpReceivingEnd::take(std::uint32_t block, Session& session, std::int64_t bytes) {
    BlockParts& parts = parts_[block];
    if (parts.first_ns < 0) parts.first_ns = now_;
    const ByteTime since_first = now_ - parts.first_ns;
    const bool red = blocks_.red(block), whole = session.whole();
    if (red) session.held_byte_ns += bytes * since_first;
    const std::int64_t up = !red ? bytes : whole ? blocks_.payload(block) : 0;
    if (up > 0) {
        parts.delivered_bytes += up;
        delivered_payload_ += up;
        last_delivery_ns_ = std::max(last_delivery_ns_, now_);
    }
    if (!whole) return;
    if (red) hol_wait_byte_s_ += static_cast<double>(up * since_first - session.held_byte_ns) / kNsPerS;
    DSTCC_CHECK(parts.delivered_bytes == blocks_.payload(block) && parts.complete_ns < 0, "bytes are delivered once");
    parts.complete_ns = now_;
    came_over_[block] = static_cast<std::uint16_t>(session.link);
    settlement_.complete(block);
}

// A checkpoint seen before asks for its reports again, as far as they are not acknowledged (section 6.8).
void LtpReceivingEnd::handle_checkpoint(std::size_t l, std::uint32_t block, std::uint32_t serial, Range scope,
                                        bool member) {
    Session& session = *sessions_.find(block);
    if (session.deaf) return;
    if (session.asked.add(serial - 1, serial) == 0) {
        for (std::size_t i = 0; i < session.reports.size() && !session.deaf; ++i)
            if (session.reports[i].checkpoint == serial) queue_report(l, block, session, session.reports[i]);
        return;
    }
    if (member && held_back(block, session)) return;
    make_reports(l, block, serial, scope);
}

void LtpReceivingEnd::acknowledged(std::uint32_t block, std::int64_t serial) {
    Session* const session = sessions_.find(block);
    if (session == nullptr) return;
    std::vector<Report>& reports = session->reports;
    for (auto report = reports.begin(); report != reports.end(); ++report)
        if (report->serial == serial) {
            reports.erase(report);
            break;
        }
    forget_if_quiet(block);
}

void LtpReceivingEnd::forget(std::uint32_t block) {
    if (Session* session = sessions_.find(block); session != nullptr) session->forgotten = true;
    forget_if_quiet(block);
}

void LtpReceivingEnd::forget_if_quiet(std::uint32_t block) {
    const Session* const session = sessions_.find(block);
    if (session != nullptr && session->forgotten && session->reports.empty() && !session->refusing)
        close_session(block);
}

}  // namespace dstcc
