// One LTP session (RFC 5326): a block on its way over one link, as its sender and its receiver see it.
//
//   sender    kSending -> kClosed, when every segment of the red part is claimed, or the green part is out
//             kSending -> kCancelling -> kClosed, when a checkpoint stays unanswered or the deadline has passed
//   receiver  answers checkpoints with reports, holds each until it is acknowledged; refuses the session when one is not
//
// Both ends stand in one record; what one end knows of the other comes to it in segments only.
#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "tcp/segment_set.hpp"

namespace dstcc {

// A checkpoint that no report has answered yet.
struct Checkpoint {
    std::uint32_t serial, tries;
    std::int64_t segment;     // the one that carries it
    std::int64_t begin, end;  // the segments it asks about
    std::int64_t covers;      // transmissions whose fate the answer tells
    std::int64_t reported;    // segments that reports have answered for
    Time departed_ns, expires_ns;
};

// A report that is not acknowledged yet.
struct Report {
    std::uint32_t serial, checkpoint, tries;
    bool queued;
    bool waited;  // for a matrix (ltp/matrix.hpp)
    std::int64_t begin, end;
    std::vector<Range> claims;
    Time expires_ns;
};

struct Session {
    enum class Phase : std::uint8_t { kFree, kSending, kCancelling, kClosed };

    std::uint32_t object = 0, generation = 0, link = 0;
    bool red = true;
    Phase phase = Phase::kFree;
    bool abandoned = false;    // the sender gave it up, or has no more to send of its green part
    std::uint32_t named = 0;   // entries of queues and segments in flight that name this record
    std::uint32_t flying = 0;  // of those, data segments
    std::int64_t segments = 0;

    // sender
    SegmentSet claimed, answers;  // segments claimed; serials of the reports seen
    std::vector<Checkpoint> checkpoints;
    std::uint32_t next_checkpoint = 1, cancels = 0;
    std::int64_t in_the_dark = 0;  // transmissions whose fate is unknown
    Time cancel_expires_ns = kNever;

    // receiver
    SegmentSet received, asked;  // segments; serials of the checkpoints seen
    std::vector<Report> reports;
    std::uint32_t next_report = 0, refusals = 0;
    bool refusing = false, deaf = false;  // deaf: cancelled, takes no more
    Time refusal_expires_ns = kNever;
    double held_byte_s = 0;  // Σ bytes × arrival, from the first arrival on
};

// Segments of what a link still has to send again: the gaps of one report, or one unanswered checkpoint.
struct Repair {
    std::uint32_t session;
    std::uint32_t checkpoint;  // of an unanswered one its serial; else 0, and the last segment becomes a new one
    std::int64_t begin, end;   // the report's scope
    std::vector<Range> gaps;
    std::size_t gap = 0;
    std::int64_t sent = 0;
};

// Sessions by slot: as many as were ever open at once. A slot's generation tells its tenants apart.
class Sessions {
public:
    Session& operator[](std::uint32_t slot) { return *slots_[slot]; }
    std::uint32_t open() {
        if (free_.empty()) {
            slots_.push_back(std::make_unique<Session>());
            free_.push_back(static_cast<std::uint32_t>(slots_.size() - 1));
        }
        const std::uint32_t slot = free_.back();
        free_.pop_back();
        slots_[slot]->phase = Session::Phase::kSending;
        return slot;
    }
    void close(std::uint32_t slot) {
        const std::uint32_t generation = slots_[slot]->generation + 1;
        *slots_[slot] = Session();
        slots_[slot]->generation = generation;
        free_.push_back(slot);
    }
    std::int64_t peak_bytes() const { return static_cast<std::int64_t>(slots_.size() * sizeof(Session)); }

private:
    std::vector<std::unique_ptr<Session>> slots_;
    std::vector<std::uint32_t> free_;
};

// Bytes of a number as a self-delimiting numeric value (RFC 6256): seven bits each.
inline std::uint32_t sdnv_bytes(std::int64_t value) {
    std::uint32_t bytes = 1;
    while ((value >>= 7) > 0) ++bytes;
    return bytes;
}

}  // namespace dstcc
