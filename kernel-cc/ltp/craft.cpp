#include "craft.hpp"

namespace ltp {

using dstcc::DownSegment;
using dstcc::Range;
using dstcc::UpSegment;

std::optional<std::uint32_t> block_of(const Segment& segment, const dstcc::LtpBlocks& blocks) {
    if (segment.originator != kEngine || segment.session == 0 || segment.session > blocks.size()) return std::nullopt;
    return static_cast<std::uint32_t>(segment.session - 1);
}

std::uint64_t bytes_to(const dstcc::LtpBlocks& blocks, std::uint32_t block, std::int64_t segment) {
    return static_cast<std::uint64_t>(blocks.payload_bytes(block, {0, segment}));
}

std::optional<Range> segments_of(const dstcc::LtpBlocks& blocks, std::uint32_t block, std::uint64_t begin,
                                 std::uint64_t end) {
    const auto payload = static_cast<std::uint64_t>(blocks.payload(block));
    if (begin >= end || end > payload) return std::nullopt;
    const auto mss = static_cast<std::uint64_t>(blocks.full_bytes() - blocks.control_bytes());
    const Range range{static_cast<std::int64_t>(begin / mss), static_cast<std::int64_t>((end + mss - 1) / mss)};
    const bool cut = bytes_to(blocks, block, range.begin) == begin && bytes_to(blocks, block, range.end) == end;
    return cut ? std::optional(range) : std::nullopt;
}

const std::string& craft_of(const Plan& plan, std::size_t link) {
    for (const coded::Path& path : plan.paths)
        if (path.link == link) return path.craft;
    throw coded::Failure("link " + std::to_string(link) + ": no address");
}

Craft::Craft(const Plan& plan, const dstcc::LtpBlocks& blocks, const dstcc::MatrixHeaders& headers,
             transfer::Payloads& payloads)
    : plan_(plan),
      blocks_(blocks),
      headers_(headers),
      payloads_(payloads) {
    const std::size_t links = plan.engine.links.size();
    lines_.reserve(links);  // they are pointed at
    for (std::size_t l = 0; l < links; ++l) {
        lines_.push_back(links::Direction::seen(plan.engine.links[l], false, plan.engine.seed, l, blocks.full_bytes()));
        ways_.emplace_back(*this, lines_[plan.begins_as(l)], l);
    }
    coded::enter(plan.craft_ns);
    for (std::size_t l = 0; l < links; ++l)
        for (const std::uint16_t port : {kPort, kBelowPort}) {
            const sockaddr_in peer = coded::address(plan.earths[l], port);
            sockets_.emplace_back(coded::address(craft_of(plan, l), port), &peer);
        }
}

void Craft::send(std::size_t link, const DownSegment& segment, const Range* beside, std::size_t /*ranges*/) {
    if (segment.kind == DownSegment::kParity) {
        matrices_.put_repair(static_cast<std::uint64_t>(segment.number), datagram_);
        return sockets_[2 * link + 1].send(datagram_, nullptr);
    }
    Segment put;
    put.originator = kEngine;
    put.session = segment.block + 1;
    switch (segment.kind) {
        case DownSegment::kReportAck:
            put.type = Type::kReportAck;
            put.report = static_cast<std::uint64_t>(segment.number) + 1;
            break;
        case DownSegment::kCancel:
            put.type = Type::kCancel;
            break;
        case DownSegment::kRefusalAck:
            put.type = Type::kRefusalAck;
            break;
        default:
            put_data(segment, beside, put);
    }
    ltp::put(put, datagram_);
    sockets_[2 * link].send(datagram_, nullptr);
}

void Craft::put_data(const DownSegment& segment, const Range* scope, Segment& put) {
    const std::uint32_t block = segment.block;
    const bool last = segment.number + 1 == blocks_.segments(block);
    if (segment.checkpoint != 0) {
        put.type = last ? Type::kEndOfBlock : Type::kCheckpoint;
        put.checkpoint = segment.checkpoint;
        put.report = report_for(block, segment.checkpoint, *scope);
    } else if (!blocks_.red(block)) {
        put.type = last ? Type::kGreenEnd : Type::kGreen;
    }
    const std::uint32_t bytes = blocks_.segment_bytes(block, segment.number);
    put.offset = bytes_to(blocks_, block, segment.number);
    put.length = bytes;
    put.data = reinterpret_cast<const std::uint8_t*>(
        payloads_.at(static_cast<int>(block), static_cast<std::int64_t>(put.offset), bytes));
    if (segment.kind != DownSegment::kMember) return;
    const auto matrix = static_cast<std::uint64_t>(headers_.of_block[block]);
    Symbol symbol = symbol_of({block, static_cast<std::uint32_t>(segment.number)}, put.data, bytes);
    put.member = Member{matrix, matrices_.add(matrix, std::move(symbol))};
}

// The first checkpoint of a block asks about all of it; a later one about the bounds of the report that it answers, and again
// about the same.
std::uint64_t Craft::report_for(std::uint32_t block, std::uint32_t checkpoint, const Range& scope) {
    if (checkpoint == 1) return 0;
    Reports& reports = reports_[block];
    const auto known = reports.by_checkpoint.find(checkpoint);
    if (known != reports.by_checkpoint.end()) return known->second;
    const auto answered = reports.by_scope.find({scope.begin, scope.end});
    if (answered == reports.by_scope.end()) throw coded::Failure("a checkpoint that answers no report");
    return reports.by_checkpoint[checkpoint] = answered->second;
}

std::optional<Heard> Craft::read(const Datagram& datagram, bool below) {
    const auto refuse = [](std::int64_t& count) {
        ++count;
        return std::nullopt;
    };
    Heard heard{};
    UpSegment& up = heard.segment;
    if (below) {
        const std::optional<Feedback> feedback = read_feedback(datagram.bytes, datagram.size);
        if (!feedback) return refuse(refused_.damaged);
        if (feedback->matrix >= headers_.matrices.size()) return refuse(refused_.fields);
        const dstcc::MatrixHeader& sent = headers_[feedback->matrix];
        up.kind = UpSegment::kFeedback;
        up.block = feedback->matrix;
        up.begin = feedback->arrived;
        up.end = sent.source + sent.repair;
        up.claims = up.begin >= sent.source ? 1 : 0;
        return up.begin <= up.end ? std::optional(heard) : refuse(refused_.fields);
    }
    const std::optional<Segment> segment = ltp::read(datagram.bytes, datagram.size);
    if (!segment) return refuse(refused_.damaged);
    const std::optional<std::uint32_t> block = block_of(*segment, blocks_);
    if (!block) return refuse(refused_.fields);
    up.block = *block;
    switch (segment->type) {
        case Type::kReport: {
            up.kind = UpSegment::kReport;
            const auto scope = segments_of(blocks_, *block, segment->lower, segment->upper);
            if (!scope || segment->report == 0 || segment->report > UINT32_MAX || segment->checkpoint > UINT32_MAX)
                return refuse(refused_.fields);
            up.begin = scope->begin;
            up.end = scope->end;
            up.serial = static_cast<std::uint32_t>(segment->report - 1);
            up.checkpoint = static_cast<std::uint32_t>(segment->checkpoint);
            up.waited = segment->waited;
            for (const Claim& claim : segment->claims) {
                const std::uint64_t begin = segment->lower + claim.offset, end = begin + claim.length;
                const auto range = segments_of(blocks_, *block, begin, end);
                const bool fits = begin >= segment->lower && end >= begin && end <= segment->upper;
                if (!range || !fits) return refuse(refused_.fields);
                heard.claims.push_back(*range);
            }
            up.claims = static_cast<std::uint32_t>(heard.claims.size());
            reports_[*block].by_scope[{up.begin, up.end}] = segment->report;
            return heard;
        }
        case Type::kCancelAck:
            up.kind = UpSegment::kCancelAck;
            return heard;
        case Type::kRefusal:
            up.kind = UpSegment::kRefusal;
            return heard;
        default:
            return refuse(refused_.fields);
    }
}

}  // namespace ltp
