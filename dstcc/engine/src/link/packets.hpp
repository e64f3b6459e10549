// What passes on a link: data one way, acknowledgements the other. The two ends meet in these and in nothing else.
#pragma once

#include <algorithm>
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

// Full packets with numbers one after another, at equal distances when they leave and when they arrive. Where they leave in volleys, so
// many at once, these are at equal distances; of the first volley so many have arrived already.
struct PacketRun {
    std::int64_t count;
    Time sent_spacing, spacing;
    std::uint32_t volley = 1, passed = 0;

    // How long after the first the nth leaves.
    Time sent_after(std::int64_t n) const { return (volley == 1 ? n : (passed + n) / volley) * sent_spacing; }
    void drop(std::int64_t from_front) {
        count -= from_front;
        if (volley > 1) passed = static_cast<std::uint32_t>((passed + from_front) % volley);
    }
};

// A layer's bytes in a segment.
struct Piece {
    std::uint32_t order, object;  // the segment's place in its ordering domain
    std::uint16_t bytes;
};

// What segments say of their layers: kept once a layer, and of each segment that holds bytes of several, so that packets stay
// small. The sending end writes it when it cuts a segment, the receiving end reads it when one has arrived.
struct LayerHeaders {
    explicit LayerHeaders(std::size_t layers) : domain(layers, -1) {}
    // More of a layer at the end of the segment cut last, which has had so many bytes, of another layer or of several.
    void join(const Piece& had, std::uint32_t object, std::uint16_t bytes) {
        if (shared.empty() || shared.back().order != had.order) {
            if (object == had.object) return;
            shared.push_back(had);
        }
        if (shared.back().object == object)
            shared.back().bytes = static_cast<std::uint16_t>(shared.back().bytes + bytes);
        else
            shared.push_back({had.order, object, bytes});
    }
    // Call f(object, bytes) for each layer in a segment.
    template <class F>
    void each(const Piece& segment, F&& f) const {
        auto piece = shared.end();
        if (!shared.empty())
            piece =
                std::lower_bound(shared.begin(), shared.end(), segment.order, [](const Piece& p, std::uint32_t order) {
                    return static_cast<std::int32_t>(p.order - order) < 0;  // 32 bits wrap
                });
        if (piece == shared.end() || piece->order != segment.order) return f(segment.object, segment.bytes);
        for (; piece != shared.end() && piece->order == segment.order; ++piece) f(piece->object, piece->bytes);
    }

    std::vector<std::int32_t> domain;  // the ordering domain; -1: not begun
    std::vector<Piece> shared;         // of segments with several layers, in the order of the only domain
};

enum AckKind : std::uint8_t { kPlain, kSyn, kDuplicate, kRun };  // the last: the first of an AckRun

struct AckPacket {
    Time arrive_ns, echo_ns;
    std::uint32_t cumulative;  // low bits
    std::uint16_t sender;      // whose data it acknowledges
    std::uint8_t sacks, kind;
};
static_assert(sizeof(AckPacket) == 24, "the memory budget counts on it");

// ACKs at equal distances, each of which acknowledges as many more as the others, in order or in its first block, and was sent as it
// came. What goes on with them is their stamps, or without those the times that they echo.
struct AckRun {
    std::int64_t count;
    Time spacing, stamp_spacing;
    std::uint32_t acknowledges, lengthens = 0;
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
