// The receiving end of ltp: blocks come together here, checkpoints are answered, reports are held until acknowledged. Knows segments
// and its own way back; of the sender nothing.
//
//   red      goes up when it is whole; a checkpoint is answered with reports of what came of its scope, and the session is refused
//            when a report stays unacknowledged
//   green    goes up as it comes
//   custody  a node that sends blocks on refuses one for which it has no room (core/keeper.hpp); such a session is tried again
//   matrix   is decoded by as many segments as it has source segments, which brings back what is missing of its blocks; the answer
//            to a first checkpoint waits until then, or until the matrix is over (ltp/matrix.hpp)
#pragma once

#include <deque>

#include "core/keeper.hpp"
#include "link/line.hpp"
#include "ltp/matrix.hpp"
#include "ltp/segments.hpp"
#include "ltp/session.hpp"
#include "tcp/segment_set.hpp"

namespace dstcc {

__extension__ typedef __int128 ByteTime;  // bytes x nanoseconds, whole

// What has arrived of a block.
struct BlockParts {
    Time first_ns = -1, complete_ns = -1;
    std::int64_t delivered_bytes = 0;
    bool recovered = false;  // a matrix brought some of it back
};

struct MatrixArrival {
    std::int64_t members = 0, arrived = 0;  // source segments, and all
    Time decoded_ns = -1;
    bool over = false;
    std::vector<std::uint32_t> held;  // blocks whose first checkpoint waits for its answer
};

class LtpReceivingEnd {
public:
    LtpReceivingEnd(const CodingConfig& coding, std::uint64_t seed, const LtpBlocks& blocks,
                    const MatrixHeaders& headers, QuickHeads lines, Timers timers, Settlement& settlement);
    void add(const Line<UpSegment>& line, const AnswerClock& clock);

    // --- what happens to it
    void handle_segment(Time now, std::size_t l, const DownSegment& segment, const std::vector<Range>& scope);
    // Segments of a block that come for the first time and are not its last, by then: their times are with them. What is told of
    // them depends on no other block.
    void handle_run(std::size_t l, const DownSegment& of, const Stretch& stretch);
    void handle_line(Time now, std::size_t l);  // the line is free
    void handle_timer(Time now, std::size_t l);
    // Light from the last segment of a matrix is here, as both ends tell from the rate and the plan.
    void handle_matrix_over(Time now, std::size_t l, std::int64_t number);
    // No segment of a block is in flight or to come: its state may be freed once its reports are acknowledged.
    void forget(std::uint32_t block);
    // A node at the other end of a link takes custody.
    void keep(std::size_t l, Keeper* keeper) { links_[l].keeper = keeper; }
    // That node restarts, and neither receives nor sends until then.
    void turn_off(Time now, std::size_t l, Time until);
    bool off(Time now, std::size_t l) const { return lines_.off(now, l); }
    // It loses what came over the link in part, and of what it has custody of these blocks.
    void lose(std::size_t l, const std::vector<std::uint32_t>& blocks);

    // --- for observers
    const std::vector<BlockParts>& blocks() const { return parts_; }
    // Over which a block became whole here: one that a node refused may come over another than it was first sent on.
    std::size_t link_of(std::uint32_t block) const { return came_over_[block]; }
    const MatrixArrival& matrix(std::size_t number) const;
    std::int64_t arrived_payload() const { return arrived_payload_; }
    std::int64_t recovered_payload() const { return recovered_payload_; }
    std::int64_t delivered_payload() const { return delivered_payload_; }
    std::int64_t duplicate_payload() const { return duplicate_payload_; }
    std::int64_t hol_payload() const { return hol_payload_; }
    double hol_wait_byte_s() const { return hol_wait_byte_s_; }
    std::int64_t timeouts() const { return timeouts_; }
    Time last_delivery_ns() const { return last_delivery_ns_; }
    std::int64_t peak_bytes() const { return sessions_.peak_bytes(); }

private:
    // A report that is not acknowledged yet.
    struct Report {
        std::uint32_t serial, checkpoint, tries;
        bool queued;
        bool waited;  // for a matrix
        Range scope;
        std::vector<Range> claims;
        Time expires_ns;
    };
    struct Session {
        std::size_t link = 0;
        bool no_room = false;
        std::int64_t segments = 0;
        SegmentSet received, asked;  // segments; serials of the checkpoints seen
        std::vector<Report> reports;
        std::uint32_t next_report = 0, refusals = 0;
        bool refusing = false, deaf = false;  // deaf: cancelled, takes no more
        bool held = false;                    // its first checkpoint waits for a matrix
        bool forgotten = false;
        Time refusal_expires_ns = kNever;
        ByteTime held_byte_ns = 0;  // Σ bytes × arrival, from the first arrival on
        bool whole() const { return received.next() == segments; }
    };
    struct Control {
        UpSegment::Kind kind;
        std::uint32_t block, serial;  // kFeedback: the matrix
    };
    enum class Clock : std::uint8_t { kReport, kRefusal };
    struct Link {
        AnswerClock clock;
        std::deque<Control> control;
        Keeper* keeper = nullptr;
    };

    // ltp/receiving_end.cpp
    Session& session_of(std::size_t l, std::uint32_t block);
    void close_session(std::uint32_t block);
    void handle_data(std::size_t l, std::uint32_t block, std::int64_t segment);
    void take(std::uint32_t block, Session& session, std::int64_t bytes);
    void handle_checkpoint(std::size_t l, std::uint32_t block, std::uint32_t serial, Range scope, bool member);
    void acknowledged(std::uint32_t block, std::int64_t serial);
    void forget_if_quiet(std::uint32_t block);

    // ltp/reports.cpp
    void make_reports(std::size_t l, std::uint32_t block, std::uint32_t checkpoint, Range scope);
    void queue_report(std::size_t l, std::uint32_t block, Session& session, Report& report);
    void report_expired(std::size_t l, std::uint32_t block, std::uint32_t serial, Time at);
    void refusal_expired(std::size_t l, std::uint32_t block, Time at);
    static Report* find_report(Session& session, std::uint32_t serial);
    void answer(std::size_t l, UpSegment::Kind kind, std::uint32_t block, std::uint32_t serial);
    bool serve(std::size_t l, const Control& entry);
    void put_report(std::size_t l, std::uint32_t block, Report& report, std::uint32_t bytes);
    UpSegment feedback(std::uint32_t number) const;
    std::uint32_t claim_bytes(std::uint32_t block) const;
    std::uint32_t report_bytes(std::uint32_t block, std::size_t claims) const;
    std::size_t most_claims(std::uint32_t block) const;

    // ltp/decoding.cpp
    MatrixArrival& arrival(std::int64_t number);
    bool held_back(std::uint32_t block, Session& session);
    void handle_parity(std::size_t l, std::int64_t number);
    void recover(std::size_t l, const MatrixHeader::Part& part);
    void answer_held(std::size_t l, std::uint32_t block);

    const CodingConfig& coding_;
    std::uint64_t seed_;
    const LtpBlocks& blocks_;
    const MatrixHeaders& headers_;
    Settlement& settlement_;
    Lines<UpSegment> lines_;
    LinkTimers<Clock> timers_;
    Time now_ = 0;
    std::vector<Link> links_;
    Sessions<Session> sessions_;
    std::vector<BlockParts> parts_;
    std::vector<std::uint16_t> came_over_;  // by block that is whole: the link
    std::deque<MatrixArrival> matrices_;
    std::int64_t arrived_payload_ = 0, recovered_payload_ = 0, delivered_payload_ = 0, duplicate_payload_ = 0,
                 hol_payload_ = 0, timeouts_ = 0;
    double hol_wait_byte_s_ = 0;
    Time last_delivery_ns_ = -1;
};

}  // namespace dstcc
