#include "segment.hpp"

namespace ltp {

namespace {

constexpr int kNumberBytes = 10;  // of a 64-bit number, at most

// What was read so far; once something is missing everything is.
class Reader {
public:
    Reader(const std::uint8_t* bytes, std::size_t size) : at_(bytes), end_(bytes + size) {}
    std::uint8_t byte() { return take(1) == nullptr ? 0 : at_[-1]; }
    std::uint64_t number() {
        std::uint64_t value = 0;
        for (int i = 0; i < kNumberBytes; ++i) {
            const std::uint8_t next = byte();
            if (failed_ || value > UINT64_MAX >> 7) break;
            value = value << 7 | (next & 0x7F);
            if ((next & 0x80) == 0) return value;
        }
        failed_ = true;
        return 0;
    }
    const std::uint8_t* take(std::uint64_t size) {
        if (failed_ || size > static_cast<std::uint64_t>(end_ - at_)) {
            failed_ = true;
            return nullptr;
        }
        at_ += size;
        return at_ - size;
    }
    std::uint64_t left() const { return failed_ ? 0 : static_cast<std::uint64_t>(end_ - at_); }
    bool failed() const { return failed_; }

private:
    const std::uint8_t *at_, *end_;
    bool failed_ = false;
};

void read_extension(Reader& from, Segment& segment) {
    const std::uint8_t tag = from.byte();
    const std::uint64_t size = from.number();
    const std::uint8_t* const value = from.take(size);
    if (value == nullptr) return;
    if (tag == kWaitedTag) segment.waited = true;
    if (tag != kMemberTag) return;
    Reader inner(value, size);
    const std::uint64_t matrix = inner.number(), place = inner.number();
    if (!inner.failed() && inner.left() == 0) segment.member = Member{matrix, place};
}

void read_data(Reader& from, Segment& segment) {
    segment.service = from.number();
    segment.offset = from.number();
    segment.length = from.number();
    if (is_checkpoint(segment.type)) {
        segment.checkpoint = from.number();
        segment.report = from.number();
    }
    segment.data = from.take(segment.length);
}

void read_report(Reader& from, Segment& segment) {
    segment.report = from.number();
    segment.checkpoint = from.number();
    segment.upper = from.number();
    segment.lower = from.number();
    const std::uint64_t claims = from.number();
    for (std::uint64_t i = 0; i < claims && !from.failed(); ++i) {
        const std::uint64_t offset = from.number(), length = from.number();
        segment.claims.push_back({offset, length});
    }
}

}  // namespace

void put_number(std::uint64_t value, Bytes& to) {
    int shift = 0;
    while (shift + 7 < 64 && value >> (shift + 7) != 0) shift += 7;
    for (; shift > 0; shift -= 7) to.push_back(static_cast<std::uint8_t>(0x80 | (value >> shift & 0x7F)));
    to.push_back(static_cast<std::uint8_t>(value & 0x7F));
}

void put(const Segment& segment, Bytes& to) {
    to.clear();
    to.push_back(static_cast<std::uint8_t>(segment.type));
    put_number(segment.originator, to);
    put_number(segment.session, to);
    const int extensions = (segment.member ? 1 : 0) + (segment.waited ? 1 : 0);
    to.push_back(static_cast<std::uint8_t>(extensions << 4));
    if (segment.member) {
        Bytes value;
        put_number(segment.member->matrix, value);
        put_number(segment.member->place, value);
        to.push_back(kMemberTag);
        put_number(value.size(), to);
        to.insert(to.end(), value.begin(), value.end());
    }
    if (segment.waited) {
        to.push_back(kWaitedTag);
        put_number(0, to);
    }
    if (is_data(segment.type)) {
        put_number(segment.service, to);
        put_number(segment.offset, to);
        put_number(segment.length, to);
        if (is_checkpoint(segment.type)) {
            put_number(segment.checkpoint, to);
            put_number(segment.report, to);
        }
        to.insert(to.end(), segment.data, segment.data + segment.length);
    } else if (segment.type == Type::kReport) {
        for (const std::uint64_t value :
             {segment.report, segment.checkpoint, segment.upper, segment.lower, std::uint64_t{segment.claims.size()}})
            put_number(value, to);
        for (const Claim& claim : segment.claims) {
            put_number(claim.offset, to);
            put_number(claim.length, to);
        }
    } else if (segment.type == Type::kReportAck) {
        put_number(segment.report, to);
    } else if (segment.type == Type::kCancel || segment.type == Type::kRefusal) {
        to.push_back(static_cast<std::uint8_t>(segment.reason));
    }
}

std::optional<Segment> read(const std::uint8_t* bytes, std::size_t size) {
    Reader from(bytes, size);
    const std::uint8_t control = from.byte();
    Segment segment;
    segment.type = static_cast<Type>(control & 0x0F);
    segment.originator = from.number();
    segment.session = from.number();
    const std::uint8_t extensions = from.byte();
    for (int i = 0; i < extensions >> 4; ++i) read_extension(from, segment);
    switch (segment.type) {
        case Type::kReport:
            read_report(from, segment);
            break;
        case Type::kReportAck:
            segment.report = from.number();
            break;
        case Type::kCancel:
        case Type::kRefusal:
            segment.reason = static_cast<Reason>(from.byte());
            break;
        case Type::kCancelAck:
        case Type::kRefusalAck:
            break;
        default:
            if (!is_data(segment.type)) return std::nullopt;
            read_data(from, segment);
    }
    for (int i = 0; i < (extensions & 0x0F); ++i) read_extension(from, segment);
    const bool whole = control >> 4 == 0 && !from.failed() && from.left() == 0;
    return whole ? std::optional(segment) : std::nullopt;
}

}  // namespace ltp
