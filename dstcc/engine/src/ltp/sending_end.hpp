// The sending end of ltp: blocks come in, segments go out, reports come back.
//
//   session   kSending, until every segment of a red block is claimed, or a green one is out
//             kSending -> kCancelling, when a checkpoint stays unanswered or the deadline has passed, until that is acknowledged
//   turn      on a link control segments, repairs, repair segments of matrices, blocks begun, new blocks (ltp/choice.hpp)
//   run       what follows in a block leaves at equal spacing while nothing of an earlier turn waits: the line is served again only
//             where that ends, or before the first of it could arrive; whoever looks at the line before has it catch up
//   known     its own queues and lines, the contact plans, and what reports say
//
// ltp/checkpoints.cpp has what reports and timers do, ltp/encoding.cpp the matrices.
#pragma once

#include <deque>
#include <optional>

#include "core/histogram.hpp"
#include "core/samples.hpp"
#include "ltp/choice.hpp"
#include "ltp/matrix.hpp"
#include "ltp/rate_rule.hpp"
#include "tcp/segment_set.hpp"

namespace dstcc {

// What a sender has done for a matrix.
struct MatrixSending {
    std::uint32_t layer = 0;
    std::uint32_t symbol_bytes = 0;  // payload of a repair segment
    Time last_deadline_ns = 0;
    Time departs_ns = 0;       // of the last segment so far
    std::int64_t planned = 0;  // repair segments
    std::int64_t state = -1;   // what a table's rule went by
    bool due = false;          // its time is up, but a block of it is being sent
    bool over = false;
};

class LtpSendingEnd {
public:
    // What is counted of a link, ever, and what it knows of it.
    LtpSendingEnd(const TransportConfig& transport, const CodingConfig& coding, const LtpBlocks& blocks,
                  MatrixHeaders& headers, QuickHeads lines, Timers timers, Settlement& settlement);
    LtpSendingEnd(const LtpSendingEnd&) = delete;  // its parts point at each other
    LtpSendingEnd& operator=(const LtpSendingEnd&) = delete;
    // A link, whose first subflow has that number in samples.
    void add(const Line<DownSegment>& line, const AnswerClock& clock, std::int16_t subflow);

    // --- what happens to it
    void handle_segment(Time now, std::size_t l, const UpSegment& segment, const std::vector<Range>& claims);
    void handle_line(Time now, std::size_t l);  // the line is free
    void handle_timer(Time now, std::size_t l);
    Time handle_release(Time now);  // when the next block is due
    void handle_slot(Time now);
    // Up to and including then all has been put on the lines.
    void send_until(Time now);
    // --- at a node that sends on what others have captured (sim/hop_by_hop.hpp)
    // Nothing is captured here.
    void capture_nothing() { released_ = blocks_.size(); }
    void go_on(std::size_t l, const Onward& onward) {
        choice_.go_on(l, onward);
        lines_[l].send_at_once();
    }
    // It has custody of a block.
    void handle_custody(Time now, std::uint32_t block);
    // Its node restarts, and neither receives nor sends until then.
    void turn_off(Time now, Time until);
    // It keeps no session over that, and loses these blocks.
    void lose(const std::vector<std::uint32_t>& blocks);
    bool off(Time now) const { return lines_.off(now, 0); }
    // Matrices that became over in the last timer.
    const std::vector<std::int64_t>& ended() const { return ended_; }

    // --- for observers
    std::size_t links() const { return links_.size(); }
    // Of a link, which has no window; in flight are the data segments whose fate it does not know.
    Sample sample(Time now, std::size_t l) const {
        Sample sample = links_[l].counts;
        sample.queue_bytes = line(l).queue_bytes(now);
        sample.pacing_bps = line(l).rate_bps(now);
        return sample;
    }
    const Line<DownSegment>& line(std::size_t l) const { return lines_[l]; }
    const std::vector<LayerSending>& layers() const { return layers_; }
    const std::deque<MatrixSending>& matrices() const { return matrices_; }
    std::int64_t acknowledged(std::size_t block) const { return acknowledged_[block]; }
    std::size_t released() const { return released_; }
    Time longest_one_way_ns() const;
    const LogHistogram& waits() const { return waits_; }
    std::int64_t new_payload() const { return new_payload_; }
    std::int64_t repeated_payload() const { return repeated_payload_; }
    std::int64_t repair_payload() const { return repair_payload_; }
    std::int64_t data_packets() const { return data_packets_; }
    std::int64_t packets_in_runs() const { return packets_in_runs_; }
    std::int64_t control_packets() const { return control_packets_; }
    std::int64_t timeouts() const { return timeouts_; }
    std::int64_t rtt_samples() const { return rtt_samples_; }
    double rtt_sum_s() const { return rtt_sum_s_; }
    Time first_send_ns() const { return first_send_ns_; }
    std::int64_t peak_bytes() const { return sessions_.peak_bytes(); }
    void check() const;

private:
    // A checkpoint that no report has answered yet.
    struct Checkpoint {
        std::uint32_t serial, tries;
        std::int64_t segment;   // the one that carries it
        Range scope;            // the segments it asks about
        std::int64_t covers;    // transmissions whose fate the answer tells
        std::int64_t reported;  // segments that reports have answered for
        Time departed_ns, expires_ns;
    };
    struct Session {
        std::size_t link = 0;
        bool cancelling = false;
        std::uint32_t next_checkpoint = 1, cancels = 0;
        std::int64_t segments = 0;
        SegmentSet claimed, answers;  // segments claimed; serials of the reports seen
        std::vector<Checkpoint> checkpoints;
        std::int64_t in_the_dark = 0;  // transmissions whose fate is unknown
        Time cancel_expires_ns = kNever;
    };
    // Segments of what a link still has to send again: the gaps of one report, or one unanswered checkpoint.
    struct Repair {
        std::uint32_t block;
        std::uint32_t checkpoint;  // of an unanswered one its serial; else 0, and the last segment becomes a new one
        Range scope;               // the report's
        std::vector<Range> gaps;
        std::size_t gap = 0;
        std::int64_t sent = 0;
    };
    struct Control {
        DownSegment::Kind kind;
        std::uint32_t block, serial;
    };
    enum class Clock : std::uint8_t { kCheckpoint, kCancel, kGreenEnd, kMatrix, kMatrixOver };
    using Timer = LinkTimers<Clock>::Timer;
    struct Link {
        AnswerClock clock;
        std::int16_t subflow;
        std::deque<Control> control;
        std::deque<Repair> repairs;
        std::int64_t current = -1, next_segment = 0;  // block being sent, if any
        std::optional<RateRule> rule;                 // where ltp is coded
        std::vector<std::int64_t> open_matrix;        // by layer; -1: none
        std::deque<std::int64_t> parities;            // matrices with repair segments to send
        Sample counts;
        Time hold_off = 0;     // for how long the last refusal held it
        Time plain_until = 0;  // before then the line has nothing to send but what follows in the block
    };

    // ltp/sending_end.cpp
    void go_to(Time now, std::size_t turn);
    void catch_up(std::size_t l);
    void send_run(std::size_t l, const Run& run);
    void wake(std::size_t l);
    void look_ahead(std::size_t l);
    bool serve_control(std::size_t l);
    bool serve_repair(std::size_t l);
    bool serve_block(std::size_t l);
    bool begin_block(std::size_t l);
    void end_block(std::size_t l);
    void finish_repair(std::size_t l);
    void count_out(std::size_t l, const Repair& repair);
    Time send_segment(std::size_t l, std::uint32_t block, std::int64_t segment, const Checkpoint* checkpoint,
                      bool repeat);
    void control(std::size_t l, DownSegment::Kind kind, std::uint32_t block, std::uint32_t serial);
    Session* sending(std::uint32_t block);
    void cancel(std::uint32_t block);
    void put_off(std::size_t l, std::uint32_t block);
    void drop_session(std::uint32_t block);
    void abandon(std::uint32_t block, bool cancelling);
    void close(std::uint32_t block);

    // ltp/checkpoints.cpp
    void on_expiry(std::size_t l, const Timer& timer);
    void open_checkpoint(std::size_t l, std::uint32_t block, std::int64_t segment, Range scope, std::int64_t covers,
                         bool repeat);
    void repeat_checkpoint(std::size_t l, std::uint32_t block, Checkpoint& checkpoint);
    void start_clock(std::size_t l, std::uint32_t block, Checkpoint& checkpoint, Time departed);
    void checkpoint_expired(std::size_t l, std::uint32_t block, std::uint32_t serial, Time at);
    void queue_repair(std::size_t l, Repair&& repair);
    void handle_report(std::size_t l, const UpSegment& segment, const std::vector<Range>& claims);
    void answered(std::size_t l, Session& session, const UpSegment& segment);
    void forget_outstanding(Session& session);
    static Checkpoint* find_checkpoint(Session& session, std::uint32_t serial);

    // ltp/encoding.cpp
    void join_matrix(std::size_t l, std::uint32_t block);
    MatrixSending* matrix_of(std::uint32_t block);
    void matrix_expired(std::size_t l, std::int64_t number);
    void close_matrix(std::size_t l, std::size_t layer);
    bool serve_parity(std::size_t l);
    void finish_matrix(std::size_t l, std::int64_t number);
    void end_matrix(std::int64_t number);
    MatrixSending& matrix(std::int64_t number) { return matrices_[static_cast<std::size_t>(number)]; }

    const CodingConfig& coding_;
    const LtpBlocks& blocks_;
    MatrixHeaders& headers_;
    Settlement& settlement_;
    Lines<DownSegment> lines_;
    LinkTimers<Clock> timers_;
    std::vector<LayerSending> layers_;
    std::vector<std::int64_t> acknowledged_;  // bytes, by block
    BlockChoice choice_;
    Time now_ = 0;
    std::size_t turn_ = 0;  // lines before that have sent at `now_`
    std::vector<Link> links_;
    Sessions<Session> sessions_;
    std::deque<MatrixSending> matrices_;
    std::vector<std::int64_t> ended_;
    std::size_t released_ = 0;
    LogHistogram waits_;
    std::int64_t new_payload_ = 0, repeated_payload_ = 0, repair_payload_ = 0, data_packets_ = 0, packets_in_runs_ = 0,
                 control_packets_ = 0, timeouts_ = 0, rtt_samples_ = 0;
    double rtt_sum_s_ = 0;
    Time first_send_ns_ = -1;
};

}  // namespace dstcc
