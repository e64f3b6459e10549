// The sending end of ltp: matrices of erasure coding (ltp/matrix.hpp).
#include "coding/blocks.hpp"
#include "ltp/sending_end.hpp"

namespace dstcc {

// A block that begins is in the open matrix of its layer on this link, or opens one.
void LtpSendingEnd::join_matrix(std::size_t l, std::uint32_t block) {
    Link& link = links_[l];
    const std::size_t layer = blocks_.layer(block);
    if (!link.rule->codes(layer)) return;
    if (link.open_matrix.size() <= layer) link.open_matrix.resize(layer + 1, -1);
    std::int64_t& open = link.open_matrix[layer];
    if (open >= 0 && headers_[open].source + blocks_.segments(block) > most_source(coding_.code))
        close_matrix(l, layer);
    if (open < 0) {
        open = static_cast<std::int64_t>(matrices_.size());
        headers_.matrices.emplace_back();
        matrices_.emplace_back().layer = static_cast<std::uint32_t>(layer);
        timers_.set(l, Clock::kMatrix, static_cast<std::uint32_t>(open), 0, now_ + coding_.block_ns);
    }
    headers_.of_block[block] = open;
    headers_[open].parts.push_back({block, 0});
    matrix(open).last_deadline_ns = std::max(matrix(open).last_deadline_ns, blocks_.objects().deadline_ns[block]);
}

MatrixSending* LtpSendingEnd::matrix_of(std::uint32_t block) {
    if (headers_.of_block.empty() || headers_.of_block[block] < 0) return nullptr;
    return &matrix(headers_.of_block[block]);
}

// The time of a matrix is up; a block of it that is under way ends first.
void LtpSendingEnd::matrix_expired(std::size_t l, std::int64_t number) {
    Link& link = links_[l];
    const std::size_t layer = matrix(number).layer;
    if (link.open_matrix[layer] != number) return;
    matrix(number).due = true;
    if (link.current < 0 || headers_.of_block[static_cast<std::size_t>(link.current)] != number) close_matrix(l, layer);
}

void LtpSendingEnd::close_matrix(std::size_t l, std::size_t layer) {
    Link& link = links_[l];
    const Line<DownSegment>& line = lines_[l];
    const std::int64_t number = link.open_matrix[layer];
    MatrixSending& closed = matrix(number);
    const MatrixHeader& header = headers_[number];
    link.open_matrix[layer] = -1;
    const std::uint32_t wire = closed.symbol_bytes + blocks_.control_bytes();
    if (header.source > 0) {
        PlannedLayer planned;
        planned.objects = static_cast<std::int64_t>(header.parts.size());
        planned.source = header.source;
        planned.packet_bytes = wire;
        planned.bytes = static_cast<double>(header.source) * planned.packet_bytes;
        planned.most_repair = most_packets(coding_.code) - header.source;
        closed.state = link.rule->state();
        const double carried = static_cast<double>(coding_.block_ns) / line.ns_per_byte() * line.share_at(now_);
        closed.planned = link.rule->repair(layer, planned, carried / static_cast<double>(link.open_matrix.size()));
    }
    if (closed.planned == 0) return finish_matrix(l, number);
    choice_.backlog_bytes(l) += closed.planned * wire;
    link.parities.push_back(number);
    wake(l);
}

// False if there is no repair segment to send; also while an outage is in the way.
bool LtpSendingEnd::serve_parity(std::size_t l) {
    Link& link = links_[l];
    while (!link.parities.empty()) {
        const std::int64_t number = link.parities.front();
        MatrixSending& open = matrix(number);
        std::int64_t& repair = headers_[number].repair;
        const std::uint32_t wire = open.symbol_bytes + blocks_.control_bytes();
        const bool late = choice_.past_light(now_, open.last_deadline_ns, l);
        if (!late) {
            if (!lines_.lit(now_, l, wire)) return false;
            ++data_packets_;
            ++link.counts.sent_segments;
            ++repair;
            choice_.backlog_bytes(l) -= wire;
            repair_payload_ += open.symbol_bytes;
            const auto sent = lines_[l].send(
                now_, {0, number, headers_[number].parts.front().block, DownSegment::kParity, 0, 0}, wire);
            open.departs_ns = sent.departs_ns;
            if (sent.waited_ns >= 0) waits_.add(sent.waited_ns);
            if (repair < open.planned) return true;
        }
        choice_.backlog_bytes(l) -= (open.planned - repair) * wire;
        link.parities.pop_front();
        finish_matrix(l, number);
        if (!late) return true;
    }
    return false;
}

// The last segment of a matrix has left: now its blocks' checkpoints are due an answer.
void LtpSendingEnd::finish_matrix(std::size_t l, std::int64_t number) {
    const Time departed = std::max(matrix(number).departs_ns, now_);  // now, where repair is too late to be sent
    const Time over = links_[l].clock.arrival(departed);
    timers_.set(l, Clock::kMatrixOver, static_cast<std::uint32_t>(number), 0, std::max(over, now_));
    for (const MatrixHeader::Part& part : headers_[number].parts) {
        Session* const session = sending(part.block);
        if (session == nullptr) continue;
        for (Checkpoint& checkpoint : session->checkpoints)
            if (checkpoint.expires_ns == kNever) start_clock(l, part.block, checkpoint, departed);
    }
}

// Nothing of a matrix comes any more: LTP repeats what is missing of red blocks, and is through with green ones.
void LtpSendingEnd::end_matrix(std::int64_t number) {
    matrix(number).over = true;
    for (const MatrixHeader::Part& part : headers_[number].parts) {
        if (sessions_.find(part.block) == nullptr)
            settlement_.close(part.block);
        else if (!blocks_.red(part.block))
            abandon(part.block, false);
    }
    ended_.push_back(number);
}

}  // namespace dstcc
