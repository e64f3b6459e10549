// What passes between the two ends of ltp: segments of RFC 5326 either way, and those of the erasure coding below it. The ends
// meet in these, in what headers say of a matrix (ltp/matrix.hpp), and in nothing else.
#pragma once

#include "core/base.hpp"

namespace dstcc {

struct DownSegment {
    enum Kind : std::uint32_t {
        kData,
        kMember,  // data that is in a matrix
        kParity,  // a repair segment
        kReportAck,
        kCancel,
        kRefusalAck
    };
    Time arrive_ns;
    std::int64_t number;  // of data its place in the block; kReportAck: the report's serial; kParity: the matrix
    std::uint32_t block;  // which is its session; kParity: one of the matrix
    std::uint32_t kind : 4, checkpoint : 27, run : 1;  // its serial, 0 for none; run: of several (link/way.hpp)

    bool data() const { return kind <= kMember; }
    bool of_layer() const { return kind <= kParity; }
    std::uint32_t ranges() const { return checkpoint != 0 ? 1 : 0; }  // what a checkpoint asks about
};
static_assert(sizeof(DownSegment) == 24, "a segment in flight is as small as it can be");

struct UpSegment {
    enum Kind : std::uint8_t {
        kReport,
        kCancelAck,
        kRefusal,  // the receiver cancels
        kFeedback  // of a matrix
    };
    Time arrive_ns;
    std::int64_t begin, end;  // a report's scope; its claims travel beside it. kFeedback: segments received, sent
    std::uint32_t block, serial, checkpoint, claims;  // kFeedback: claims is 1 if the matrix is whole
    Kind kind;
    bool waited;  // a report, for a matrix; a refusal, as there was no room

    static constexpr bool data() { return false; }
    static constexpr bool of_layer() { return false; }
    std::uint32_t ranges() const { return kind == kReport ? claims : 0; }
};

// Bytes of a number as a self-delimiting numeric value (RFC 6256): seven bits each.
inline std::uint32_t sdnv_bytes(std::int64_t value) {
    std::uint32_t bytes = 1;
    while ((value >>= 7) > 0) ++bytes;
    return bytes;
}

}  // namespace dstcc
