// What passes on a link: data one way, acknowledgements the other. The two ends meet in these and in nothing else.
#pragma once

#include <vector>

#include "core/base.hpp"

namespace dstcc {

struct DataPacket {
    Time arrive_ns, sent_ns;
    std::uint32_t number;         // low bits of the segment number
    std::uint32_t object, order;  // the layer, and the segment's place in its ordering domain
    std::uint16_t bytes;          // payload; 0 for a SYN
    std::uint16_t sender : 15;
    std::uint16_t pushed : 1;  // ends a write of the program (PSH); of coded packets: the first of a PacketRun
};
static_assert(sizeof(DataPacket) == 32, "the memory budget counts on it");

// Full packets with numbers one after another, at equal distances when they leave and when they arrive.
struct PacketRun {
    std::int64_t count;
    Time sent_spacing, spacing;
};

// What the header of every segment says of its layer: kept once a layer, so that packets stay small. The sending end writes it
// when it cuts a layer's first segment, the receiving end reads it when one has arrived.
struct LayerHeaders {
    explicit LayerHeaders(std::size_t layers) : domain(layers, -1) {}
    std::vector<std::int32_t> domain;  // the ordering domain; -1: not begun
};

enum AckKind : std::uint8_t { kPlain, kSyn, kDuplicate, kRun };  // the last: the first of an AckRun

struct AckPacket {
    Time arrive_ns, echo_ns;
    std::uint32_t cumulative;  // low bits
    std::uint16_t sender;      // whose data it acknowledges
    std::uint8_t sacks, kind;
};
static_assert(sizeof(AckPacket) == 24, "the memory budget counts on it");

// ACKs at equal distances, each of which acknowledges as many more as the others, and was sent as it came.
struct AckRun {
    std::int64_t count;
    Time spacing, stamp_spacing;
    std::uint32_t acknowledges;
};

constexpr int kSackBlocks = 3;  // in an ACK, at most: as many as fit beside timestamps (RFC 2018)

struct SackBlocks {
    std::uint32_t begin[kSackBlocks], end[kSackBlocks];  // from the cumulative ACK
};

// The full number whose low 32 bits are `low`, nearest to `reference`.
inline std::int64_t widen(std::int64_t reference, std::uint32_t low) {
    return reference + static_cast<std::int32_t>(low - static_cast<std::uint32_t>(reference));
}

}  // namespace dstcc
