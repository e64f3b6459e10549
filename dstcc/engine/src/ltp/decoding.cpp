// The receiving end of ltp: matrices of erasure coding (ltp/matrix.hpp).
#include "coding/blocks.hpp"
#include "ltp/rate_rule.hpp"
#include "ltp/receiving_end.hpp"

namespace dstcc {

MatrixArrival& LtpReceivingEnd::arrival(std::int64_t number) {
    const auto place = static_cast<std::size_t>(number);
    if (matrices_.size() <= place) matrices_.resize(place + 1);
    return matrices_[place];
}

const MatrixArrival& LtpReceivingEnd::matrix(std::size_t number) const {
    static const MatrixArrival none;
    return number < matrices_.size() ? matrices_[number] : none;
}

// Does the answer to a block's first checkpoint wait for the block's matrix?
bool LtpReceivingEnd::held_back(std::uint32_t block, Session& session) {
    MatrixArrival& matrix = arrival(headers_.of_block[block]);
    if (matrix.over || matrix.decoded_ns >= 0 || session.whole()) return false;
    matrix.held.push_back(block);
    return session.held = true;
}

void LtpReceivingEnd::handle_parity(std::size_t l, std::int64_t number) {
    MatrixArrival& matrix = arrival(number);
    ++matrix.arrived;
    if (matrix.decoded_ns >= 0) return;
    const double draw = coding_.code == ErasureCode::kMds
                            ? 1.0
                            : Stream(seed_, kStreamDecode, static_cast<std::uint64_t>(number)).uniform(0);
    if (!brings_back(coding_.code, matrix.arrived, headers_[number].source, draw)) return;
    matrix.decoded_ns = now_;
    for (const MatrixHeader::Part& part : headers_[number].parts) recover(l, part);
}

// The source segments of a block are all there: what was missing goes up with them, and its checkpoint is answered.
void LtpReceivingEnd::recover(std::size_t l, const MatrixHeader::Part& part) {
    Session& session = session_of(l, part.block);
    if (session.deaf) return;
    std::int64_t bytes = 0;
    session.received.each_gap(
        0, part.segments, [&](std::int64_t a, std::int64_t b) { bytes += blocks_.payload_bytes(part.block, {a, b}); });
    if (bytes > 0) {
        session.received.add(0, part.segments);
        recovered_payload_ += bytes;
        parts_[part.block].recovered = true;
        take(part.block, session, bytes);
    }
    if (session.held) return answer_held(l, part.block);
    if (blocks_.red(part.block) && part.segments == session.segments && !session.asked.contains(0))
        handle_checkpoint(l, part.block, 1, {0, session.segments}, false);
}

void LtpReceivingEnd::answer_held(std::size_t l, std::uint32_t block) {
    Session& session = *sessions_.find(block);
    if (!session.held) return;
    session.held = false;
    if (session.deaf) return;
    make_reports(l, block, 1, {0, session.segments});
    for (Report& report : session.reports) report.waited = report.waited || report.checkpoint == 1;
}

// The receiver reports how many segments arrived, where the sender's rule uses that.
void LtpReceivingEnd::handle_matrix_over(Time now, std::size_t l, std::int64_t number) {
    now_ = now;
    MatrixArrival& matrix = arrival(number);
    matrix.over = true;
    for (const std::uint32_t block : matrix.held) answer_held(l, block);
    matrix.held = {};
    if (RateRule::listens(coding_) && headers_[number].source > 0)
        answer(l, UpSegment::kFeedback, static_cast<std::uint32_t>(number), 0);
}

UpSegment LtpReceivingEnd::feedback(std::uint32_t number) const {
    const MatrixArrival& came = matrix(number);
    const MatrixHeader& header = headers_[number];
    const bool whole = came.members == header.source || came.decoded_ns >= 0;
    return {0, came.arrived, header.source + header.repair, number, 0, 0, whole ? 1U : 0U, UpSegment::kFeedback, false};
}

}  // namespace dstcc
