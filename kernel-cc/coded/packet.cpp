#include "packet.hpp"

#include <isa-l/crc.h>

#include <algorithm>
#include <cstring>

#include "link/packets.hpp"

namespace coded {

namespace {

constexpr std::uint16_t kMagic = 0xD5CD;
constexpr std::uint16_t kPassed = 0x8000;  // beside the count of ranges
constexpr std::size_t kPassedBytes = 4;
constexpr std::uint16_t kLongest = 0xFFFF;  // of a range behind the newest, and of what is missing before it

template <class Number>
Number get(const std::uint8_t* from) {
    Number value;
    std::memcpy(&value, from, sizeof value);
    return value;
}
template <class Number>
void set(std::uint8_t* to, Number value) {
    std::memcpy(to, &value, sizeof value);
}
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are copied as they are");

std::uint32_t crc(const std::uint8_t* bytes, std::size_t size) {
    constexpr std::uint8_t zeros[4] = {};
    const std::uint32_t before = crc32_gzip_refl(crc32_gzip_refl(0, bytes, 4), zeros, sizeof zeros);
    return crc32_gzip_refl(before, bytes + kCommonBytes, size - kCommonBytes);
}

void begin(Kind kind, std::uint8_t subflow, std::size_t bytes, std::vector<std::uint8_t>& to) {
    to.assign(bytes, 0);
    set(to.data(), kMagic);
    to[2] = static_cast<std::uint8_t>(kind);
    to[3] = subflow;
}

bool ours(const std::uint8_t* bytes, std::size_t size) {
    return size >= kCommonBytes && size <= kMostBytes && get<std::uint16_t>(bytes) == kMagic &&
           get<std::uint32_t>(bytes + 4) == crc(bytes, size);
}

}  // namespace

void put(const Piece& piece, std::uint8_t* to) {
    set(to, piece.object);
    set(to + 4, piece.offset);
    set(to + 8, piece.size);
    set(to + 12, piece.length);
    set<std::uint16_t>(to + 14, 0);
}

Piece piece_at(const std::uint8_t* from) {
    return {get<std::uint32_t>(from), get<std::uint32_t>(from + 4), get<std::uint32_t>(from + 8),
            get<std::uint16_t>(from + 12)};
}

void put(const DataHeader& header, std::vector<std::uint8_t>& to) {
    begin(header.kind, header.subflow, kDataBytes, to);
    set(&to[8], header.number);
    set(&to[12], header.sent);
    set(&to[20], header.block);
    to[24] = header.word;
    to[25] = header.index;
    set(&to[26], header.source);
}

void put_answer(std::uint8_t subflow, Time sent, Time took, std::vector<std::uint8_t>& to) {
    begin(Kind::kAnswer, subflow, kAnswerBytes, to);
    set(&to[8], sent);
    set(&to[16], took);
    seal(to);
}

// Of a range as many of the newest packets are named as fit; behind a wider hole nothing is.
void put_ack(std::uint8_t subflow, const dstcc::PacketAck& ack, const std::vector<bool>& there,
             std::vector<std::uint8_t>& to) {
    begin(Kind::kAck, subflow, kAckBytes, to);
    const dstcc::Range& newest = ack.ranges[ack.count - 1];
    set(&to[8], static_cast<std::uint32_t>(newest.end));
    set(&to[12], ack.wait_ns);
    set(&to[20], ack.one_way_ns);
    set(&to[32], static_cast<std::uint32_t>(newest.end - newest.begin));
    std::uint16_t named = 1;
    for (int i = ack.count - 2; i >= 0; --i, ++named) {
        const dstcc::Range &range = ack.ranges[i], &after = ack.ranges[i + 1];
        const std::int64_t missing = after.begin - range.end, packets = range.end - range.begin;
        if (missing > kLongest) break;
        const std::size_t at = to.size();
        to.resize(at + kAckRangeBytes);
        set(&to[at], static_cast<std::uint16_t>(missing));
        set(&to[at + 2], static_cast<std::uint16_t>(std::min<std::int64_t>(packets, kLongest)));
        if (packets > kLongest) {
            ++named;
            break;
        }
    }
    set(&to[28], static_cast<std::uint16_t>(named | (ack.before < 0 ? 0 : kPassed)));
    if (ack.before >= 0) {
        std::int64_t before = ack.before;
        for (int i = 0; i < ack.count - named; ++i) before += ack.ranges[i].end - ack.ranges[i].begin;
        to.resize(to.size() + kPassedBytes);
        set(&to[to.size() - kPassedBytes], static_cast<std::uint32_t>(before));
    }
    const std::size_t end = to.size(), bytes = (there.size() + 7) / 8;
    set(&to[30], static_cast<std::uint16_t>(bytes));
    to.resize(end + bytes, 0);
    for (std::size_t i = 0; i < there.size(); ++i)
        to[end + i / 8] |= static_cast<std::uint8_t>(static_cast<unsigned>(there[i]) << i % 8);
    seal(to);
}

void seal(std::vector<std::uint8_t>& datagram) { set(&datagram[4], crc(datagram.data(), datagram.size())); }

Catalogue::Catalogue(const dstcc::ObjectsConfig& objects, const dstcc::BlockMap& map, std::size_t mss,
                     std::size_t subflows)
    : objects(objects),
      map(map),
      mss(mss),
      subflows(subflows),
      packets(map.blocks(), 0) {
    for (std::uint32_t object = 0; object < objects.size(); ++object)
        packets[map.block_of(object)] +=
            static_cast<std::uint32_t>((static_cast<std::size_t>(objects.payload_bytes[object]) + mss - 1) / mss);
}

std::size_t Catalogue::payload(const Piece& piece) const {
    return std::min<std::size_t>(mss, piece.size - piece.offset);
}

bool fits(const Catalogue& of, const Piece& piece, std::uint32_t block) {
    return piece.object < of.objects.size() && of.map.block_of(piece.object) == block &&
           static_cast<std::int64_t>(piece.size) == of.objects.payload_bytes[piece.object] &&
           piece.offset < piece.size && piece.offset % of.mss == 0 && piece.length == of.payload(piece);
}

std::optional<Data> read_data(const Catalogue& of, const std::uint8_t* bytes, std::size_t size, Refused& refused) {
    if (!ours(bytes, size)) {
        ++refused.damaged;
        return std::nullopt;
    }
    const auto refuse = [&]() {
        ++refused.fields;
        return std::nullopt;
    };
    if (size < kDataBytes) return refuse();
    Data data;
    DataHeader& header = data.header;
    header.kind = static_cast<Kind>(bytes[2]);
    header.subflow = bytes[3];
    header.number = get<std::uint32_t>(bytes + 8);
    header.sent = get<Time>(bytes + 12);
    header.block = get<std::uint32_t>(bytes + 20);
    header.word = bytes[24];
    header.index = bytes[25];
    header.source = get<std::uint16_t>(bytes + 26);
    if (header.subflow >= of.subflows || header.sent < 0) return refuse();
    if (header.kind == Kind::kSyn) return size == kDataBytes + kPrefixBytes ? std::optional(data) : refuse();
    if (header.kind == Kind::kProbe) return size == kDataBytes + kPrefixBytes + 1 ? std::optional(data) : refuse();
    if (header.kind != Kind::kSource && header.kind != Kind::kRepair) return refuse();
    if (header.block >= of.map.blocks() || header.word >= of.map.words(header.block) ||
        size <= kDataBytes + kPrefixBytes)
        return refuse();
    data.symbol = bytes + kDataBytes;
    data.symbol_bytes = size - kDataBytes;
    if (header.kind == Kind::kSource) {
        data.piece = piece_at(data.symbol);
        const bool cut = fits(of, data.piece, header.block) && data.symbol_bytes == kPrefixBytes + data.piece.length;
        return cut && header.index < kWordPackets && header.source == 0 ? std::optional(data) : refuse();
    }
    const std::uint32_t source = dstcc::in_word(header.source, header.word, of.map.words(header.block));
    const bool coded = header.source > 0 && header.source <= of.packets[header.block] && source > 0 &&
                       source + header.index < kWordPackets && data.symbol_bytes <= kPrefixBytes + of.mss;
    return coded ? std::optional(data) : refuse();
}

std::optional<Heard> read_heard(const std::vector<std::int64_t>& sent, std::size_t asked, const std::uint8_t* bytes,
                                std::size_t size, Refused& refused) {
    if (!ours(bytes, size)) {
        ++refused.damaged;
        return std::nullopt;
    }
    Heard heard{static_cast<Kind>(bytes[2]), bytes[3], 0, {}, {}};
    const auto refuse = [&]() {
        ++refused.fields;
        return std::nullopt;
    };
    if (heard.subflow >= sent.size()) return refuse();
    if (heard.kind == Kind::kAnswer) {
        if (size != kAnswerBytes) return refuse();
        heard.echo = get<Time>(bytes + 8);
        return heard.echo >= 0 ? std::optional(heard) : refuse();
    }
    if (heard.kind != Kind::kAck || size < kAckBytes) return refuse();
    const bool passed = (get<std::uint16_t>(bytes + 28) & kPassed) != 0;
    const std::size_t named = get<std::uint16_t>(bytes + 28) & ~kPassed;
    const std::size_t answer = get<std::uint16_t>(bytes + 30);
    const std::size_t ranges = kAckBytes + kAckRangeBytes * (named - 1) + (passed ? kPassedBytes : 0);
    if (named == 0 || named > dstcc::kAckRanges || size != ranges + answer) return refuse();
    if (answer > 0 && answer != (asked + 7) / 8) return refuse();
    for (std::size_t i = 0; answer > 0 && i < asked; ++i)
        heard.there.push_back((bytes[ranges + i / 8] >> i % 8 & 1) != 0);
    const std::int64_t used = sent[heard.subflow];
    dstcc::PacketAck& ack = heard.ack;
    ack.wait_ns = get<Time>(bytes + 12);
    ack.one_way_ns = get<Time>(bytes + 20);
    ack.count = static_cast<int>(named);
    if (passed) ack.before = get<std::uint32_t>(bytes + ranges - kPassedBytes);
    std::int64_t end = dstcc::widen(used, get<std::uint32_t>(bytes + 8));
    std::int64_t packets = get<std::uint32_t>(bytes + 32), missing = 1;
    if (end > used || ack.wait_ns < 0) return refuse();
    for (std::size_t i = 0; i < named; ++i) {
        if (packets <= 0 || missing <= 0 || end - packets < 0) return refuse();
        ack.ranges[named - 1 - i] = {end - packets, end};
        if (i + 1 == named) break;
        const std::uint8_t* older = bytes + kAckBytes + kAckRangeBytes * i;
        missing = get<std::uint16_t>(older);
        end -= packets + missing;
        packets = get<std::uint16_t>(older + 2);
    }
    return heard;
}

}  // namespace coded
