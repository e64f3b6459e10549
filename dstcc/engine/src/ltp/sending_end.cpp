#include "ltp/sending_end.hpp"

namespace dstcc {

namespace {

constexpr Time kLongestHoldOff = 600 * static_cast<Time>(kNsPerS);

}  // namespace

LtpSendingEnd::LtpSendingEnd(const TransportConfig& transport, const CodingConfig& coding, const LtpBlocks& blocks,
                             MatrixHeaders& headers, QuickHeads lines, Timers timers, Settlement& settlement)
    : coding_(coding),
      blocks_(blocks),
      headers_(headers),
      settlement_(settlement),
      lines_(lines),
      timers_(timers),
      layers_(blocks.size()),
      acknowledged_(blocks.size(), 0),
      choice_(transport, blocks, layers_, lines_, settlement),
      sessions_(blocks.size()) {}

void LtpSendingEnd::add(const Line<DownSegment>& line, const AnswerClock& clock, std::int16_t subflow) {
    lines_.add(line);
    timers_.add();
    choice_.add(clock);
    Link link{clock, subflow, {}, {}, -1, 0, {}, {}, {}, {}, 0};
    if (coding_.block_ns > 0) link.rule.emplace(coding_);
    links_.push_back(std::move(link));
}

Time LtpSendingEnd::handle_release(Time now) {
    go_to(now, links_.size());
    const auto& release = blocks_.objects().release_ns;
    for (; released_ < release.size() && release[released_] <= now_; ++released_)
        if (!layers_[released_].given_up)
            choice_.wait(static_cast<std::uint32_t>(released_));  // else lost while it booted
    for (std::size_t l = 0; l < links_.size(); ++l)
        if (links_[l].plain_until <= now_) wake(l);  // else a block is being sent
    return released_ < release.size() ? release[released_] : kNever;
}

void LtpSendingEnd::handle_custody(Time now, std::uint32_t block) {
    go_to(now, links_.size());
    layers_[block].given_up = false;
    settlement_.begin(block);
    choice_.wait_among(block);
    for (std::size_t l = 0; l < links_.size(); ++l) wake(l);
}

void LtpSendingEnd::turn_off(Time now, Time until) {
    for (std::size_t l = 0; l < links_.size(); ++l) {
        lines_.turn_off(l, until);
        lines_.wake(now, l);
    }
}

void LtpSendingEnd::lose(const std::vector<std::uint32_t>& blocks) {
    for (Link& link : links_) link.control.clear();
    for (const std::uint32_t block : blocks) {
        layers_[block].given_up = true;
        choice_.forget(block);
    }
    for (std::uint32_t block = 0; block < blocks_.size(); ++block)
        if (sessions_.find(block) != nullptr) {
            drop_session(block);
            settlement_.close(block);
        }
    for (const std::uint32_t block : blocks) settlement_.close(block);
}

// What has been put off may have become urgent, or hopeless.
void LtpSendingEnd::handle_slot(Time now) {
    send_until(now);
    choice_.handle_slot(now_);
    for (std::size_t l = 0; l < links_.size(); ++l) wake(l);
}

void LtpSendingEnd::send_until(Time now) {
    go_to(now, links_.size());
    for (std::size_t l = 0; l < links_.size(); ++l) catch_up(l);
}

// ------------------------------------------------------------------------------------------------------- going out

void LtpSendingEnd::go_to(Time now, std::size_t turn) {
    now_ = now;
    turn_ = turn;
}

// Put on the line what follows in the block, as far as it should be there by now.
void LtpSendingEnd::catch_up(std::size_t l) {
    Link& link = links_[l];
    Line<DownSegment>& line = lines_[l];
    const Time to = std::min(link.plain_until, l < turn_ ? now_ + 1 : now_);
    if (line.free_ns() >= to) return;
    Run run = line.ahead();
    run.count = run.until(to - 1);
    send_run(l, run);
}

// What follows in the block, and is not its last.
void LtpSendingEnd::send_run(std::size_t l, const Run& run) {
    Link& link = links_[l];
    const auto block = static_cast<std::uint32_t>(link.current);
    const std::int64_t count = run.count, first = link.next_segment;
    const std::int64_t payload = blocks_.payload_bytes(block, {first, first + count});
    LayerSending& layer = layers_[block];
    MatrixSending* const matrix = matrix_of(block);
    link.next_segment += count;
    link.counts.sent_segments += count;
    link.counts.inflight_segments += count;
    choice_.backlog_bytes(l) -= blocks_.wire_bytes(block, {first, first + count});
    sessions_.find(block)->in_the_dark += count;
    data_packets_ += count;
    packets_in_runs_ += count;
    new_payload_ += payload;
    layer.sent_bytes += payload;
    layer.offset += payload;
    if (matrix != nullptr) {
        MatrixHeader& header = headers_[headers_.of_block[block]];
        header.source += count;
        header.parts.back().segments += count;
        matrix->symbol_bytes = std::max(matrix->symbol_bytes, blocks_.segment_bytes(block, first));
    }
    const DownSegment segment{0, first, block, matrix == nullptr ? DownSegment::kData : DownSegment::kMember, 0, 0};
    for (const auto& [wait_ns, times] : lines_[l].send(segment, run)) waits_.add(wait_ns, times);
}

// Something else is to be sent.
void LtpSendingEnd::wake(std::size_t l) {
    catch_up(l);
    links_[l].plain_until = 0;
    lines_.wake(now_, l);
}

// The line is served when it is free, or later if only segments of the block are to follow that nobody misses until then.
void LtpSendingEnd::look_ahead(std::size_t l) {
    Link& link = links_[l];
    const Time free = lines_[l].free_ns(), unseen = lines_[l].unseen_ns();
    link.plain_until = 0;
    lines_.serve(l, free);
    if (unseen == 0 || link.current < 0 || !link.control.empty() || !link.repairs.empty() || !link.parities.empty())
        return;
    const auto block = static_cast<std::uint32_t>(link.current);
    const Session* const session = sending(block);
    if (session == nullptr) return;
    Run run = lines_[l].ahead();
    run.count = std::min(run.count, session->segments - 1 - link.next_segment);  // the last one closes the block
    run.count = run.until(choice_.last_light(block, l));
    if (run.count <= 0) return;
    link.plain_until = run.at(run.count);
    lines_.serve(l, std::min(link.plain_until, std::max(free, free + unseen - 1)));
}

void LtpSendingEnd::handle_line(Time now, std::size_t l) {
    go_to(now, l);
    catch_up(l);
    lines_.serve(l, kNever);
    if (lines_[l].free_ns() > now_) return look_ahead(l);
    links_[l].plain_until = 0;
    if (!links_[l].control.empty() ? serve_control(l) : serve_repair(l) || serve_parity(l) || serve_block(l))
        look_ahead(l);
}

bool LtpSendingEnd::serve_control(std::size_t l) {
    Link& link = links_[l];
    if (!lines_.lit(now_, l, blocks_.control_bytes())) return false;
    const Control entry = link.control.front();
    link.control.pop_front();
    const auto sent = lines_[l].send(now_, {0, entry.serial, entry.block, entry.kind, 0, 0}, blocks_.control_bytes());
    ++control_packets_;
    Session* session = sessions_.find(entry.block);
    if (entry.kind != DownSegment::kCancel || session == nullptr || !session->cancelling) return true;
    ++session->cancels;
    session->cancel_expires_ns = link.clock.due_up(sent.departs_ns);
    timers_.set(l, Clock::kCancel, entry.block, 0, session->cancel_expires_ns);
    return true;
}

// False if there is nothing to repair; also while an outage is in the way.
bool LtpSendingEnd::serve_repair(std::size_t l) {
    Link& link = links_[l];
    while (!link.repairs.empty()) {
        Repair& repair = link.repairs.front();
        Session* session = sending(repair.block);
        Checkpoint* unanswered = nullptr;
        if (session != nullptr && repair.checkpoint != 0) unanswered = find_checkpoint(*session, repair.checkpoint);
        if (session == nullptr || (repair.checkpoint != 0 && unanswered == nullptr)) {
            finish_repair(l);
            continue;
        }
        if (choice_.hopeless(repair.block) || choice_.past_light(now_, repair.block, l)) {
            cancel(repair.block);
            continue;
        }
        Range& gap = repair.gaps[repair.gap];
        const std::int64_t segment = gap.begin;
        const std::uint32_t wire = blocks_.segment_bytes(repair.block, segment) + blocks_.control_bytes();
        if (!lines_.lit(now_, l, wire)) return false;
        const bool last = repair.gap + 1 == repair.gaps.size() && gap.begin + 1 == gap.end;
        if (++gap.begin == gap.end) ++repair.gap;
        ++repair.sent;
        choice_.backlog_bytes(l) -= wire;
        if (unanswered != nullptr) {
            ++unanswered->covers;
            repeat_checkpoint(l, repair.block, *unanswered);
        } else if (last) {
            open_checkpoint(l, repair.block, segment, repair.scope, repair.sent, true);
        } else {
            send_segment(l, repair.block, segment, nullptr, true);
        }
        if (last) finish_repair(l);
        return true;
    }
    return false;
}

void LtpSendingEnd::finish_repair(std::size_t l) {
    count_out(l, links_[l].repairs.front());
    links_[l].repairs.pop_front();
}

// What it has not sent is no backlog any more.
void LtpSendingEnd::count_out(std::size_t l, const Repair& repair) {
    for (std::size_t i = repair.gap; i < repair.gaps.size(); ++i)
        choice_.backlog_bytes(l) -= blocks_.wire_bytes(repair.block, repair.gaps[i]);
}

bool LtpSendingEnd::serve_block(std::size_t l) {
    Link& link = links_[l];
    for (;;) {
        if (link.current < 0 && !begin_block(l)) return false;
        const auto block = static_cast<std::uint32_t>(link.current);
        if (sending(block) != nullptr && choice_.past_light(now_, block, l)) cancel(block);
        const Session* const session = sending(block);
        if (session == nullptr) {
            end_block(l);
            continue;
        }
        const std::int64_t segment = link.next_segment, segments = session->segments;
        const bool last = segment + 1 == segments;
        const std::uint32_t wire = blocks_.segment_bytes(block, segment) + blocks_.control_bytes();
        if (!lines_.lit(now_, l, wire)) return false;
        if (!last && lines_[l].unseen_ns() > 0) {
            send_run(l, {now_, lines_[l].gap(now_), 1});
            return true;
        }
        ++link.next_segment;
        choice_.backlog_bytes(l) -= wire;
        if (last && blocks_.red(block)) {
            open_checkpoint(l, block, segment, {0, segments}, segments, false);
        } else {
            const Time departs_ns = send_segment(l, block, segment, nullptr, false);
            if (last && matrix_of(block) == nullptr)  // else its matrix ends it
                timers_.set(l, Clock::kGreenEnd, block, 0, link.clock.arrival(departs_ns));
        }
        if (last) end_block(l);
        return true;
    }
}

// Open a session for the next block of this link, if there is one and the line is lit.
bool LtpSendingEnd::begin_block(std::size_t l) {
    Link& link = links_[l];
    if (choice_.held_until(l) > now_) {
        if (choice_.bound(l) || choice_.any_wait()) lines_.serve(l, choice_.held_until(l));
        return false;
    }
    if (!choice_.bound(l) && (!choice_.any_wait() || !lines_.lit(now_, l, blocks_.full_bytes()))) return false;
    for (std::size_t other = 0; other < links_.size(); ++other) catch_up(other);
    if (!choice_.feed(now_, l)) return false;
    const std::uint32_t block = choice_.next(l);
    if (!lines_.lit(now_, l, blocks_.segment_bytes(block, 0) + blocks_.control_bytes())) return false;
    choice_.take(l);
    Session& session = sessions_.open(block);
    session.link = l;
    session.segments = blocks_.segments(block);
    if (coding_.block_ns > 0) join_matrix(l, block);
    link.current = block;
    link.next_segment = 0;
    layers_[block].first_sent_ns = now_;
    layers_[block].subflow = link.subflow;
    if (first_send_ns_ < 0) first_send_ns_ = now_;
    return true;
}

void LtpSendingEnd::end_block(std::size_t l) {
    Link& link = links_[l];
    const auto block = static_cast<std::uint32_t>(link.current);
    choice_.backlog_bytes(l) -= blocks_.wire_bytes(block, {link.next_segment, blocks_.segments(block)});
    link.current = -1;
    if (const MatrixSending* matrix = matrix_of(block); matrix != nullptr && matrix->due)
        close_matrix(l, matrix->layer);
}

// When it departs.
Time LtpSendingEnd::send_segment(std::size_t l, std::uint32_t block, std::int64_t segment, const Checkpoint* checkpoint,
                                 bool repeat) {
    Sample& counts = links_[l].counts;
    LayerSending& layer = layers_[block];
    const std::uint32_t bytes = blocks_.segment_bytes(block, segment);
    ++data_packets_;
    ++counts.sent_segments;
    ++counts.inflight_segments;
    ++sessions_.find(block)->in_the_dark;
    layer.sent_bytes += bytes;
    if (repeat) {
        repeated_payload_ += bytes;
        ++counts.retransmitted_segments;
        ++layer.retransmissions;
    } else {
        new_payload_ += bytes;
        layer.offset += bytes;
    }
    MatrixSending* const matrix = repeat ? nullptr : matrix_of(block);
    if (matrix != nullptr) {
        MatrixHeader& header = headers_[headers_.of_block[block]];
        ++header.source;
        ++header.parts.back().segments;
        matrix->symbol_bytes = std::max(matrix->symbol_bytes, bytes);
    }
    const auto sent =
        lines_[l].send(now_,
                       {0, segment, block, matrix == nullptr ? DownSegment::kData : DownSegment::kMember,
                        checkpoint == nullptr ? 0 : checkpoint->serial, 0},
                       bytes + blocks_.control_bytes(), checkpoint == nullptr ? nullptr : &checkpoint->scope,
                       checkpoint == nullptr ? 0 : 1);
    if (sent.waited_ns >= 0) waits_.add(sent.waited_ns);
    return sent.departs_ns;
}

void LtpSendingEnd::control(std::size_t l, DownSegment::Kind kind, std::uint32_t block, std::uint32_t serial) {
    links_[l].control.push_back({kind, block, serial});
    wake(l);
}

// ----------------------------------------------------------------------------------------------------------- the end

// The session of a block that is neither through nor cancelled.
LtpSendingEnd::Session* LtpSendingEnd::sending(std::uint32_t block) {
    Session* const session = sessions_.find(block);
    return session == nullptr || session->cancelling ? nullptr : session;
}

// The layer is late, of no use, or out of reach: tell the receiver to forget it. Of a green part it knows nothing.
void LtpSendingEnd::cancel(std::uint32_t block) {
    const std::size_t l = sessions_.find(block)->link;
    const bool red = blocks_.red(block);
    layers_[block].given_up = true;
    abandon(block, red);
    if (red) control(l, DownSegment::kCancel, block, 0);
}

// There is no room for it at the other end now. It waits again, and the link for a round trip, or twice as long as after the
// refusal before.
void LtpSendingEnd::put_off(std::size_t l, std::uint32_t block) {
    Link& link = links_[l];
    drop_session(block);
    choice_.wait_among(block);
    if (choice_.held_until(l) > now_) return;
    link.hold_off = std::min(std::max(2 * link.hold_off, link.clock.due_up(now_) - now_), kLongestHoldOff);
    choice_.hold(l, now_ + link.hold_off);
    wake(l);
}

// Without a word to the other end.
void LtpSendingEnd::drop_session(std::uint32_t block) {
    Session& session = *sessions_.find(block);
    const std::size_t l = session.link;
    forget_outstanding(session);
    sessions_.close(block);
    if (links_[l].current == static_cast<std::int64_t>(block)) end_block(l);
    std::deque<Repair>& repairs = links_[l].repairs;
    for (const Repair& repair : repairs)
        if (repair.block == block) count_out(l, repair);
    const auto dropped = [block](const Repair& repair) { return repair.block == block; };
    repairs.erase(std::remove_if(repairs.begin(), repairs.end(), dropped), repairs.end());
}

void LtpSendingEnd::abandon(std::uint32_t block, bool cancelling) {
    Session& session = *sessions_.find(block);
    session.checkpoints.clear();
    session.cancelling = cancelling;
    forget_outstanding(session);
    settlement_.send_no_more(block);
    if (!cancelling) close(block);
}

// The receiving end keeps what it has of a block as long as a matrix may bring more of it.
void LtpSendingEnd::close(std::uint32_t block) {
    sessions_.close(block);
    const MatrixSending* const matrix = matrix_of(block);
    if (matrix == nullptr || matrix->over) settlement_.close(block);
}

// ------------------------------------------------------------------------------------------------------- bookkeeping

Time LtpSendingEnd::longest_one_way_ns() const {
    Time longest = 0;
    for (std::size_t l = 0; l < links_.size(); ++l) longest = std::max(longest, choice_.light_ns(l));
    return longest;
}

void LtpSendingEnd::check() const {
    for (std::size_t l = 0; l < links_.size(); ++l)
        DSTCC_CHECK(choice_.backlog_bytes(l) >= 0 && links_[l].counts.inflight_segments >= 0,
                    "what is counted in is counted out once");
}

}  // namespace dstcc
