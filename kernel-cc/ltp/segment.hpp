// Segments of the Licklider Transmission Protocol (RFC 5326, section 3) as bytes, with numbers that delimit themselves (RFC 6256).
//
//   all       version 0 and type 1, originator SDNV, session SDNV, counts of header and trailer extensions 1, header extensions
//   data      client service SDNV, offset SDNV, length SDNV; of a checkpoint its serial SDNV and the report's that it answers
//             SDNV (0: none); the bytes
//   report    serial, checkpoint's serial, upper bound, lower bound, claims SDNV; of each its offset from the lower bound and its
//             length SDNV
//   ack       of a report: its serial SDNV
//   cancel    reason 1; its acknowledgements have nothing
//
// Where ltp is coded, two extensions of the tags for private use: kMemberTag of a source segment has its matrix and its place
// there SDNV, kWaitedTag says that a report waited for a matrix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ltp {

using Bytes = std::vector<std::uint8_t>;

enum class Type : std::uint8_t {
    kRed = 0,
    kCheckpoint = 1,
    kEndOfRed = 2,
    kEndOfBlock = 3,  // a checkpoint, as those of the two before it
    kGreen = 4,
    kGreenEnd = 7,
    kReport = 8,
    kReportAck = 9,
    kCancel = 12,
    kCancelAck = 13,
    kRefusal = 14,  // the receiver cancels
    kRefusalAck = 15
};
constexpr bool is_data(Type type) { return type <= Type::kGreenEnd; }
constexpr bool is_checkpoint(Type type) { return type >= Type::kCheckpoint && type <= Type::kEndOfBlock; }

constexpr std::uint8_t kMemberTag = 0xC0, kWaitedTag = 0xC1;
constexpr std::uint64_t kService = 16'384;  // of private use: layers of video
enum class Reason : std::uint8_t { kByService = 0, kRetriesExceeded = 2 };

struct Member {
    std::uint64_t matrix, place;
};
struct Claim {
    std::uint64_t offset, length;
};
struct Segment {
    Type type = Type::kRed;
    std::uint64_t originator = 0, session = 0;
    // data
    std::uint64_t service = kService, offset = 0, length = 0;
    std::uint64_t checkpoint = 0, report = 0;  // serials; of a report and its acknowledgement its own is `report`
    const std::uint8_t* data = nullptr;        // within what was read
    std::optional<Member> member;
    // report
    std::uint64_t upper = 0, lower = 0;
    std::vector<Claim> claims;
    bool waited = false;
    Reason reason = Reason::kByService;
};

void put_number(std::uint64_t value, Bytes& to);
// The segment; of one with data the bytes are `length` from `data` on.
void put(const Segment& segment, Bytes& to);
// Nothing, if these are no whole segment: any bytes may come in.
std::optional<Segment> read(const std::uint8_t* bytes, std::size_t size);

}  // namespace ltp
