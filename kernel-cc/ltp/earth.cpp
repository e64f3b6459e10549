#include "earth.hpp"

#include <algorithm>
#include <cstring>

namespace ltp {

using dstcc::DownSegment;
using dstcc::Range;
using dstcc::UpSegment;

namespace {

constexpr std::uint64_t kMostMatrices = 1 << 22;

}  // namespace

Earth::Earth(const Plan& plan, const dstcc::LtpBlocks& blocks, Check check, Whole whole)
    : plan_(plan),
      blocks_(blocks),
      check_(std::move(check)),
      whole_(std::move(whole)),
      done_(blocks.size(), 0) {
    headers_.of_block.assign(blocks.size(), -1);
    const std::size_t links = plan.engine.links.size();
    lines_.reserve(links);  // they are pointed at
    for (std::size_t l = 0; l < links; ++l) {
        lines_.push_back(links::Direction::seen(plan.last_hop(l), true, plan.engine.seed, l, blocks.full_bytes()));
        ways_.emplace_back(*this, lines_[plan.ends_as(l)], l);
    }
    coded::enter(plan.earth_ns);
    for (std::size_t l = 0; l < links; ++l)
        for (const std::uint16_t port : {kPort, kBelowPort}) {
            peers_.push_back(coded::address(craft_of(plan, l), port));
            sockets_.emplace_back(coded::address(plan.earths[l], port), nullptr);
        }
}

// ------------------------------------------------------------------------------------------------------- coming in

void Earth::handle(Time now, std::size_t link, const Datagram& datagram, bool below,
                   dstcc::LtpReceivingEnd& receiving) {
    if (below) {
        if (!handle_repair(now, link, datagram, receiving)) ++refused_.fields;
        return;
    }
    const std::optional<Segment> segment = read(datagram.bytes, datagram.size);
    if (!segment)
        ++refused_.damaged;
    else if (!handle_segment(now, link, *segment, receiving))
        ++refused_.fields;
}

// False if it is refused.
bool Earth::handle_segment(Time now, std::size_t link, const Segment& segment, dstcc::LtpReceivingEnd& receiving) {
    const std::optional<std::uint32_t> known = block_of(segment, blocks_);
    if (!known) return false;
    const std::uint32_t block = *known;
    const auto tell = [&](DownSegment::Kind kind, std::int64_t number) {
        receiving.handle_segment(now, link, {now, number, block, kind, 0, 0}, {});
        return true;
    };
    if (segment.type == Type::kReportAck)
        return segment.report > 0 && segment.report <= UINT32_MAX &&
               tell(DownSegment::kReportAck, static_cast<std::int64_t>(segment.report) - 1);
    if (segment.type == Type::kCancel) {
        drop(block);
        return tell(DownSegment::kCancel, 0);
    }
    if (segment.type == Type::kRefusalAck) return tell(DownSegment::kRefusalAck, 0);
    if (!is_data(segment.type)) return false;

    if (segment.offset > UINT64_MAX - segment.length) return false;
    const auto place = segments_of(blocks_, block, segment.offset, segment.offset + segment.length);
    const bool red = segment.type < Type::kGreen;
    if (!place || place->end != place->begin + 1 || red != blocks_.red(block) || segment.service != kService)
        return false;
    DownSegment down{now, place->begin, block, DownSegment::kData, 0, 0};
    std::vector<Range> scope;
    if (is_checkpoint(segment.type)) {
        const std::optional<Range> asked = scope_of(block, segment, place->begin);
        if (!asked || segment.checkpoint == 0 || segment.checkpoint >= 1 << 28) return false;
        down.checkpoint = static_cast<std::uint32_t>(segment.checkpoint) & ((1 << 28) - 1);
        scope.push_back(*asked);
    }
    if (segment.member) {
        const Member& member = *segment.member;
        const std::int64_t before = headers_.of_block[block];
        if (member.matrix >= kMostMatrices || plan_.engine.coding.block_ns <= 0 ||
            (before >= 0 && static_cast<std::uint64_t>(before) != member.matrix))
            return false;
        const Place at{block, static_cast<std::uint32_t>(place->begin)};
        if (!matrices_.over(member.matrix) && !matrices_.add(member, symbol_of(at, segment.data, segment.length)))
            return false;
        header(member.matrix);
        headers_.of_block[block] = static_cast<std::int64_t>(member.matrix);
        down.kind = DownSegment::kMember;
    }
    keep(block, place->begin, segment.data);
    receiving.handle_segment(now, link, down, scope);
    return true;
}

// A block's first checkpoint asks about all of it, a later one about the bounds of the report that it answers.
std::optional<Range> Earth::scope_of(std::uint32_t block, const Segment& checkpoint, std::int64_t number) const {
    if (checkpoint.report == 0) return Range{0, number + 1};
    const auto found = reported_.find({block, checkpoint.report});
    return found == reported_.end() ? std::nullopt : std::optional(found->second);
}

bool Earth::handle_repair(Time now, std::size_t link, const Datagram& datagram, dstcc::LtpReceivingEnd& receiving) {
    const std::optional<Repair> repair = read_repair(datagram.bytes, datagram.size);
    if (!repair || repair->matrix >= kMostMatrices || plan_.engine.coding.block_ns <= 0) return false;
    const bool over = matrices_.over(repair->matrix);
    if (!over && !matrices_.add(*repair)) return false;
    dstcc::MatrixHeader& of = header(repair->matrix);
    of.source = repair->source;
    of.repair = std::max<std::int64_t>(of.repair, repair->row + std::int64_t{1});
    if (const auto symbols = over ? std::nullopt : matrices_.decode(repair->matrix)) {
        std::map<std::uint32_t, std::int64_t> parts;
        for (const Symbol& symbol : *symbols) {
            const std::optional<Source> source = source_of(symbol);
            const std::uint32_t block = source ? source->place.block : 0;
            if (!source || block >= blocks_.size() || source->place.segment >= blocks_.segments(block) ||
                source->size != blocks_.segment_bytes(block, source->place.segment))
                throw coded::Failure("a matrix came back damaged");
            headers_.of_block[block] = repair->matrix;
            parts[block] = std::max<std::int64_t>(parts[block], source->place.segment + std::int64_t{1});
            keep(block, source->place.segment, source->data);
        }
        of.parts.clear();
        for (const auto& [block, segments] : parts) of.parts.push_back({block, segments});
    }
    receiving.handle_segment(now, link, {now, static_cast<std::int64_t>(repair->matrix), 0, DownSegment::kParity, 0, 0},
                             {});
    return true;
}

// Both ends tell from the rate and the light time when nothing of a matrix can come any more.
void Earth::handle_matrix_over(Time now, std::size_t link, std::int64_t matrix, dstcc::LtpReceivingEnd& receiving) {
    const auto number = static_cast<std::uint64_t>(matrix);
    dstcc::MatrixHeader& of = header(number);
    of.source = std::max<std::int64_t>(of.source, matrices_.source(number));
    receiving.handle_matrix_over(now, link, matrix);
    matrices_.forget(number);
    of.parts = {};
}

dstcc::MatrixHeader& Earth::header(std::uint64_t matrix) {
    while (headers_.matrices.size() <= matrix) headers_.matrices.emplace_back();
    return headers_[static_cast<std::int64_t>(matrix)];
}

// ------------------------------------------------------------------------------------------------------ the bytes

void Earth::keep(std::uint32_t block, std::int64_t segment, const std::uint8_t* bytes) {
    const std::size_t size = blocks_.segment_bytes(block, segment);
    const std::uint64_t offset = bytes_to(blocks_, block, segment);
    check_(block, offset, bytes, size);
    if (done_[block] != 0) return;
    Held& held = held_[block];
    if (held.there.empty()) {
        held.left = blocks_.segments(block);
        held.there.resize(static_cast<std::size_t>(held.left), 0);
        held.bytes.resize(static_cast<std::size_t>(blocks_.payload(block)));
        now_held_ += static_cast<std::int64_t>(held.bytes.size());
        peak_ = std::max(peak_, now_held_);
    }
    std::uint8_t& there = held.there[static_cast<std::size_t>(segment)];
    if (there != 0) return;
    there = 1;
    checked_ += static_cast<std::int64_t>(size);
    std::memcpy(held.bytes.data() + offset, bytes, size);
    if (--held.left > 0) return;
    whole_(block, held.bytes);
    drop(block);
}

void Earth::drop(std::uint32_t block) {
    done_[block] = 1;
    const auto found = held_.find(block);
    if (found == held_.end()) return;
    now_held_ -= static_cast<std::int64_t>(found->second.bytes.size());
    held_.erase(found);
}

// -------------------------------------------------------------------------------------------------------- going out

void Earth::send(std::size_t link, const UpSegment& segment, const Range* beside, std::size_t ranges) {
    if (segment.kind == UpSegment::kFeedback) {
        ltp::put(Feedback{segment.block, static_cast<std::uint32_t>(segment.begin)}, datagram_);
        return sockets_[2 * link + 1].send(datagram_, &peers_[2 * link + 1]);
    }
    Segment put;
    put.originator = kEngine;
    put.session = segment.block + 1;
    if (segment.kind == UpSegment::kReport) {
        put.type = Type::kReport;
        put.report = segment.serial + 1;
        put.checkpoint = segment.checkpoint;
        put.lower = bytes_to(blocks_, segment.block, segment.begin);
        put.upper = bytes_to(blocks_, segment.block, segment.end);
        put.waited = segment.waited;
        for (std::size_t i = 0; i < ranges; ++i) {
            const std::uint64_t begin = bytes_to(blocks_, segment.block, beside[i].begin);
            put.claims.push_back({begin - put.lower, bytes_to(blocks_, segment.block, beside[i].end) - begin});
        }
        reported_[{segment.block, put.report}] = {segment.begin, segment.end};
    } else {
        put.type = segment.kind == UpSegment::kCancelAck ? Type::kCancelAck : Type::kRefusal;
        put.reason = Reason::kRetriesExceeded;
    }
    ltp::put(put, datagram_);
    sockets_[2 * link].send(datagram_, &peers_[2 * link]);
}

}  // namespace ltp
