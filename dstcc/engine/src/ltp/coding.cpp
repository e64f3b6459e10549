// Erasure coding of ltp: matrices at both ends (ltp/matrix.hpp).
#include <algorithm>

#include "coding/blocks.hpp"
#include "ltp/ltp.hpp"

namespace dstcc {

using Phase = Session::Phase;

// ------------------------------------------------------------------------------------------------------------ sender

// A block that begins is in the open matrix of its layer on this link, or opens one.
void Ltp::join_matrix(std::size_t l, std::uint32_t slot) {
    LinkState& link = links_[l];
    Session& session = sessions_[slot];
    const std::size_t layer = config_.objects.layer[session.object];
    if (membership_.size() <= slot) membership_.resize(slot + std::size_t{1});
    membership_[slot] = {};
    if (!link.rule->codes(layer)) return;
    if (link.open_matrix.size() <= layer) link.open_matrix.resize(layer + 1, -1);
    if (link.open_matrix[layer] >= 0 &&
        matrices_[index(link.open_matrix[layer])].source + session.segments > most_source(config_.coding.code))
        close_matrix(l, layer);
    if (link.open_matrix[layer] < 0) {
        link.open_matrix[layer] = static_cast<std::int64_t>(matrices_.size());
        Matrix& fresh = matrices_.emplace_back();
        fresh.layer = static_cast<std::uint32_t>(layer);
        fresh.opened_ns = now_;
        set_matrix_timer(l, Clock::kMatrix, link.open_matrix[layer], now_ + config_.coding.block_ns);
    }
    Matrix& matrix = matrices_[index(link.open_matrix[layer])];
    membership_[slot].matrix = matrix_of_[session.object] = link.open_matrix[layer];
    matrix.sessions.push_back(slot);
    matrix.last_deadline_ns = std::max(matrix.last_deadline_ns, config_.objects.deadline_ns[session.object]);
    ++session.named;
}

Matrix* Ltp::matrix_of(std::uint32_t slot) {
    if (!coding_ || membership_[slot].matrix < 0) return nullptr;
    return &matrices_[index(membership_[slot].matrix)];
}

// The time of a matrix is up; a block of it that is under way ends first.
void Ltp::matrix_expired(std::size_t l, std::int64_t number) {
    LinkState& link = links_[l];
    Matrix& matrix = matrices_[index(number)];
    if (link.open_matrix[matrix.layer] != number) return;
    matrix.due = true;
    if (link.current < 0 || membership_[static_cast<std::size_t>(link.current)].matrix != number)
        close_matrix(l, matrix.layer);
}

void Ltp::close_matrix(std::size_t l, std::size_t layer) {
    LinkState& link = links_[l];
    const std::int64_t number = link.open_matrix[layer];
    Matrix& matrix = matrices_[index(number)];
    link.open_matrix[layer] = -1;
    if (matrix.source > 0) {
        PlannedLayer planned;
        planned.objects = static_cast<std::int64_t>(matrix.sessions.size());
        planned.source = matrix.source;
        planned.packet_bytes = matrix.symbol_bytes + control_bytes_;
        planned.bytes = static_cast<double>(matrix.source) * planned.packet_bytes;
        planned.most_repair = most_packets(config_.coding.code) - matrix.source;
        matrix.state = link.rule->state();
        const double carried =
            static_cast<double>(config_.coding.block_ns) / link.down.ns_per_byte() * link.down.share_at(now_);
        matrix.planned = link.rule->repair(layer, planned, carried / static_cast<double>(link.open_matrix.size()));
    }
    if (matrix.planned == 0) return finish_matrix(l, number);
    link.backlog_bytes += matrix.planned * (matrix.symbol_bytes + control_bytes_);
    link.parities.push_back(number);
    wake(l);
}

// False if there is no repair segment to send; also while an outage is in the way.
bool Ltp::serve_parity(std::size_t l) {
    LinkState& link = links_[l];
    while (!link.parities.empty()) {
        const std::int64_t number = link.parities.front();
        Matrix& matrix = matrices_[index(number)];
        const std::uint32_t wire = matrix.symbol_bytes + control_bytes_;
        const bool late = deadlines_ && now_ > matrix.last_deadline_ns - link.one_way_ns;
        if (!late) {
            if (!lit(l, wire)) return false;
            const auto sent = link.down.transmit(now_, wire);
            ++data_packets_;
            ++link.slot_sent;
            ++matrix.repair;
            link.backlog_bytes -= wire;
            repair_payload_ += matrix.symbol_bytes;
            matrix.departs_ns = sent.departs_ns;
            if (sent.waited_ns >= 0) waits_.add(sent.waited_ns);
            if (sent.arrives_ns != kNever)
                push_down(l, {sent.arrives_ns, number, 0, static_cast<std::uint32_t>(Kind::kParity), 0});
            if (matrix.repair < matrix.planned) return true;
        }
        link.backlog_bytes -= (matrix.planned - matrix.repair) * wire;
        link.parities.pop_front();
        finish_matrix(l, number);
        if (!late) return true;
    }
    return false;
}

// The last segment of a matrix has left: now its blocks' checkpoints are due an answer.
void Ltp::finish_matrix(std::size_t l, std::int64_t number) {
    const Matrix& matrix = matrices_[index(number)];
    const Time departed = std::max(matrix.departs_ns, now_);  // now, where repair is too late to be sent
    const Time over = departed + links_[l].down.direction().delay_lookup(departed);
    set_matrix_timer(l, Clock::kMatrixOver, number, std::max(over, now_));
    for (const std::uint32_t slot : matrix.sessions) {
        Session& session = sessions_[slot];
        if (session.phase != Phase::kSending) continue;
        for (Checkpoint& checkpoint : session.checkpoints)
            if (checkpoint.expires_ns == kNever) start_clock(l, slot, checkpoint, departed);
    }
}

// ---------------------------------------------------------------------------------------------------------- receiver

// Does the answer to a block's first checkpoint wait for the block's matrix?
bool Ltp::held_back(std::uint32_t slot, std::uint32_t serial) {
    const Matrix* matrix = matrix_of(slot);
    if (matrix == nullptr || serial != 1 || matrix->over || matrix->decoded_ns >= 0) return false;
    const Session& session = sessions_[slot];
    if (session.received.next() == session.segments) return false;
    membership_[slot].held = serial;
    return true;
}

void Ltp::handle_parity(std::size_t l, std::int64_t number) {
    Matrix& matrix = matrices_[index(number)];
    ++matrix.arrived;
    if (matrix.decoded_ns >= 0) return;
    const ErasureCode code = config_.coding.code;
    const double draw = code == ErasureCode::kMds
                            ? 1.0
                            : Stream(config_.seed, kStreamDecode, static_cast<std::uint64_t>(number)).uniform(0);
    if (!brings_back(code, matrix.arrived, matrix.source, draw)) return;
    matrix.decoded_ns = now_;
    for (const std::uint32_t slot : matrix.sessions) recover(l, slot);
}

// The source segments of a block are all there: what was missing goes up with them, and its checkpoint is answered.
void Ltp::recover(std::size_t l, std::uint32_t slot) {
    Session& session = sessions_[slot];
    Membership& part = membership_[slot];
    ObjectOutcome& outcome = outcomes_[session.object];
    if (session.deaf || outcome.given_up) return;
    std::int64_t bytes = 0;
    session.received.each_gap(0, part.members,
                              [&](std::int64_t a, std::int64_t b) { bytes += payload_bytes(session, {a, b}); });
    if (bytes > 0) {
        session.received.add(0, part.members);
        recovered_payload_ += bytes;
        recovered_[session.object] = 1;
        take(session, bytes);
    }
    const std::uint32_t held = part.held;
    part.held = 0;
    if (held != 0) return hold_no_longer(l, slot, held);
    if (session.red && part.members == session.segments && !session.asked.contains(0)) handle_checkpoint(l, slot, 1);
}

void Ltp::hold_no_longer(std::size_t l, std::uint32_t slot, std::uint32_t serial) {
    Session& session = sessions_[slot];
    const Checkpoint* checkpoint = find_checkpoint(session, serial);
    if (session.deaf || checkpoint == nullptr) return;
    make_reports(l, slot, *checkpoint);
    for (Report& report : session.reports) report.waited = report.waited || report.checkpoint == serial;
}

// Nothing of a matrix comes any more: LTP repeats what is missing, and the sender hears how many segments came.
void Ltp::end_matrix(std::size_t l, std::int64_t number) {
    Matrix& matrix = matrices_[index(number)];
    matrix.over = true;
    for (const std::uint32_t slot : matrix.sessions) {
        Session& session = sessions_[slot];
        const std::uint32_t held = membership_[slot].held;
        membership_[slot].held = 0;
        if (held != 0) hold_no_longer(l, slot, held);
        if (!session.red && session.phase == Phase::kSending) abandon(slot, Phase::kClosed);
        drop_name(slot);
    }
    matrix.sessions.clear();
    matrix.sessions.shrink_to_fit();
    if (!links_[l].rule->listens() || matrix.source == 0) return;
    links_[l].up_queue.push_back({Kind::kFeedback, static_cast<std::uint32_t>(number), 0});
    wake_answers(l);
}

}  // namespace dstcc
