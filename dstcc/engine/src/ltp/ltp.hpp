// ltp: a transfer without TCP, after the Licklider Transmission Protocol (RFC 5326), in virtual time: one trial.
//
//   block      a layer of a chunk: one session, on one link, segments of mss bytes at the rate that the contact plan has then,
//              no window, no handshake
//   red        the last segment is a checkpoint; the receiver answers it with reports of what came (deferred, not per segment);
//              gaps are sent again and end in a new checkpoint that asks about the same stretch
//   green      sent once, handed up as it comes, never repeated
//   timer      departure -> fit(departure + light) + light + margin,   margin = 2 (a full segment down + one up);
//              fit() passes over the other end's known outages: the suspended timers of RFC 5326 sections 6.5 and 6.6
//   limit      a checkpoint, report or cancellation unanswered `retry_limit` times cancels the session (RLEXC)
//
// Which link: the earliest expected delivery, fit and finish over the known outages, decided when a link runs dry. Order on
// a link: control, repairs, repair segments of matrices, blocks begun, new blocks. ltp/sender.cpp and ltp/receiver.cpp are the
// two ends, ltp/choice.cpp the choice, ltp/coding.cpp the erasure coding where the scenario has it (ltp/matrix.hpp).
#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <queue>

#include "core/config.hpp"
#include "core/events.hpp"
#include "core/histogram.hpp"
#include "dispatch/layer_queue.hpp"
#include "link/line.hpp"
#include "ltp/matrix.hpp"
#include "ltp/rate_rule.hpp"
#include "ltp/session.hpp"
#include "core/outcome.hpp"
#include "core/ring.hpp"
#include "core/stall.hpp"
#include "link/traffic.hpp"

namespace dstcc {

constexpr const char* kTransferLtp = "ltp";  // its name among the congestion controls
// Its parameters.
constexpr const char* kLtpRate = "rate_bps";               // the wire rate per link, the link's own unless set
constexpr const char* kLtpGreenFrom = "green_from_layer";  // this layer and those above are green; none unless set
constexpr const char* kLtpRetryLimit = "retry_limit";      // 20 unless set
inline constexpr std::array kLtpParameters = {kLtpRate, kLtpGreenFrom, kLtpRetryLimit};

class Ltp {
public:
    explicit Ltp(const EngineConfig& config);
    // As Simulation::run_until().
    bool run_until(Time until, bool (*interrupted)());

    const EngineConfig& config() const { return config_; }
    ObjectOutcome object(std::size_t object) const { return outcomes_[object]; }
    const SampleColumns& samples() const { return samples_; }
    Time now() const { return now_; }
    std::map<std::string, double> totals() const;
    bool coding() const { return coding_; }
    const std::deque<Matrix>& matrices() const { return matrices_; }
    std::int64_t matrix_of_object(std::size_t object) const { return matrix_of_[object]; }  // -1: in none
    bool recovered(std::size_t object) const { return recovered_[object] != 0; }

private:
    enum class Kind : std::uint8_t {
        kData,
        kReportAck,
        kCancel,
        kRefusalAck,
        kReport,
        kCancelAck,
        kRefusal,
        kMember,   // data that is in a matrix
        kParity,   // a repair segment
        kFeedback  // of a matrix
    };
    struct DownPacket {
        Time arrive_ns;
        std::int64_t segment;  // kReportAck: the report's serial; kParity: the matrix
        std::uint32_t session;
        std::uint32_t kind : 4, checkpoint : 28;  // its serial; 0 for none
    };
    static_assert(sizeof(DownPacket) == 24, "a segment in flight is as small as it can be");
    struct UpPacket {
        Time arrive_ns;
        std::int64_t begin, end;  // a report's scope; its claims are in the link's ring. kFeedback: received, sent
        std::uint32_t session, serial, checkpoint, claims;  // kFeedback: session is the matrix, claims 1 if it is whole
        Kind kind;
        bool waited;  // a report, for a matrix
    };
    struct Control {
        Kind kind;
        std::uint32_t session, serial;
    };
    enum class Clock : std::uint8_t { kCheckpoint, kReport, kCancel, kRefusal, kGreenEnd, kMatrix, kMatrixOver };
    struct Timer {
        Time at;
        std::uint64_t order;  // of setting, so that equal times have one
        std::uint32_t session, generation, serial;
        Clock clock;
        bool operator<(const Timer& other) const {  // the earliest is the greatest of a priority queue
            return at != other.at ? at > other.at : order > other.order;
        }
    };
    struct LinkState {
        Line down, up;
        BlockRing<DownPacket> data;
        BlockRing<UpPacket> answers;
        BlockRing<Range> claims;
        std::deque<Control> down_queue, up_queue;
        std::deque<Repair> repairs;
        LayerQueue bound;
        std::int32_t subflow = 0;  // the link's first, in the numbering of the samples
        std::priority_queue<Timer> timers;
        std::int64_t current = -1, next_segment = 0;  // session under way, if any
        std::int64_t backlog_bytes = 0;               // bound, under way or to be repaired, on the wire
        std::int64_t in_flight = 0;                   // data segments whose fate the sender does not know
        Time one_way_ns = 0;
        Time last_rtt_ns = 0, min_rtt_ns = 0;
        std::optional<RateRule> rule;           // where ltp is coded
        std::vector<std::int64_t> open_matrix;  // by layer; -1: none
        std::deque<std::int64_t> parities;      // matrices with repair segments to send
        // since the last sample
        std::int64_t slot_sent = 0, slot_lost = 0, slot_retransmitted = 0, slot_delivered = 0;
    };
    struct CrossSource {
        TrafficSource traffic;
        std::size_t link;
    };

    // heads; a link's own number is its data head
    std::size_t head_answers(std::size_t l) const { return links_.size() + l; }
    std::size_t head_line(std::size_t l) const { return 2 * links_.size() + l; }
    std::size_t head_up_line(std::size_t l) const { return 3 * links_.size() + l; }
    std::size_t head_timer(std::size_t l) const { return 4 * links_.size() + l; }
    std::size_t head_release() const { return 5 * links_.size(); }
    std::size_t head_slot() const { return head_release() + 1; }
    std::size_t head_cross(std::size_t i) const { return head_release() + 2 + i; }
    void on_busy_head(std::size_t head);
    void on_idle_head(std::size_t head);

    // ltp/ltp.cpp
    void on_timer(std::size_t l);
    void on_expiry(std::size_t l, const Timer& timer);
    void on_release();
    void on_slot();
    void on_cross(std::size_t i);
    void set_timer(std::size_t l, Clock clock, std::uint32_t slot, std::uint32_t serial, Time at);
    void set_matrix_timer(std::size_t l, Clock clock, std::int64_t matrix, Time at);
    void push_timer(std::size_t l, const Timer& timer);
    Time answer_by(std::size_t l, const Line& far, Time departed) const;
    Time margin(std::size_t l, Time departed, Time answered) const;
    void refresh_delays();
    void complete(std::uint32_t object);
    void give_up(std::uint32_t object);
    void settle();
    void settle_if_lost(const Session& session);
    void drop_name(std::uint32_t slot);
    void release_if_over(std::uint32_t slot);
    void check_conservation() const;
    bool silent_for_good() const;

    // ltp/sender.cpp
    void serve(std::size_t l);
    void wake(std::size_t l);
    bool lit(std::size_t l, std::uint32_t bytes);
    bool serve_control(std::size_t l);
    bool serve_repair(std::size_t l);
    bool serve_block(std::size_t l);
    bool begin_block(std::size_t l);
    void end_block(std::size_t l);
    void finish_repair(std::size_t l);
    Line::Sent send_segment(std::size_t l, std::uint32_t slot, std::int64_t segment, std::uint32_t checkpoint,
                            bool repeat);
    void push_down(std::size_t l, const DownPacket& packet);
    void open_checkpoint(std::size_t l, std::uint32_t slot, std::int64_t segment, Range scope, std::int64_t covers,
                         bool repeat);
    void repeat_checkpoint(std::size_t l, std::uint32_t slot, Checkpoint& checkpoint);
    void start_clock(std::size_t l, std::uint32_t slot, Checkpoint& checkpoint, Time departed);
    void checkpoint_expired(std::size_t l, std::uint32_t slot, std::uint32_t serial, Time at);
    void queue_repair(std::size_t l, Repair&& repair);
    void handle_answer(std::size_t l);
    void handle_report(std::size_t l, const UpPacket& packet);
    void answered(std::size_t l, const UpPacket& packet);
    void control(std::size_t l, Kind kind, std::uint32_t slot, std::uint32_t serial);
    void forget_outstanding(Session& session);
    void cancel(std::uint32_t slot);
    void abandon(std::uint32_t slot, Session::Phase phase);
    std::uint32_t segment_bytes(const Session& session, std::int64_t segment) const;
    std::int64_t payload_bytes(const Session& session, Range segments) const;
    std::int64_t wire_bytes(const Session& session, Range segments) const;

    // ltp/coding.cpp
    void join_matrix(std::size_t l, std::uint32_t slot);
    Matrix* matrix_of(std::uint32_t slot);
    void matrix_expired(std::size_t l, std::int64_t number);
    void close_matrix(std::size_t l, std::size_t layer);
    bool serve_parity(std::size_t l);
    void finish_matrix(std::size_t l, std::int64_t number);
    bool held_back(std::uint32_t slot, std::uint32_t serial);
    void handle_parity(std::size_t l, std::int64_t number);
    void recover(std::size_t l, std::uint32_t slot);
    void hold_no_longer(std::size_t l, std::uint32_t slot, std::uint32_t serial);
    void end_matrix(std::size_t l, std::int64_t number);
    static std::size_t index(std::int64_t number) { return static_cast<std::size_t>(number); }

    // ltp/choice.cpp
    bool feed(std::size_t l);
    bool still_good(std::uint32_t object, std::size_t l) const;
    bool choose(std::uint32_t& object);
    bool first_in_time(const WaitingLevel& waiting, bool repairable, std::uint32_t& object) const;
    void drop_lost_causes(const WaitingLevel& waiting);
    void drop_expired();
    Time expected_delivery(std::size_t l, std::int64_t wire, bool queued) const;
    Time due(std::uint32_t object, std::size_t l, bool repairable) const;
    bool in_time(std::uint32_t object, std::size_t l, bool repairable) const;
    int soonest(std::uint32_t object) const;
    bool allowed(std::uint32_t object, std::size_t l) const;
    std::int64_t block_wire(std::uint32_t object) const;
    bool builds_on_another(std::uint32_t object) const;
    bool hopeless(std::uint32_t object) const;
    bool premature(std::uint32_t object) const;
    bool lost_cause(std::uint32_t object) const;
    bool past_light(std::uint32_t object, std::size_t l) const;
    void bind(std::uint32_t object, std::size_t l);
    void unbind(std::uint32_t object);

    // ltp/receiver.cpp
    void handle_down(std::size_t l);
    void handle_data(Session& session, std::int64_t segment);
    void take(Session& session, std::int64_t bytes);
    void handle_checkpoint(std::size_t l, std::uint32_t slot, std::uint32_t serial);
    void make_reports(std::size_t l, std::uint32_t slot, const Checkpoint& checkpoint);
    void queue_report(std::size_t l, std::uint32_t slot, Report& report);
    void report_expired(std::size_t l, std::uint32_t slot, std::uint32_t serial, Time at);
    void refuse(std::size_t l, std::uint32_t slot);
    void answer(std::size_t l, Kind kind, std::uint32_t slot, std::uint32_t serial);
    void serve_answers(std::size_t l);
    void wake_answers(std::size_t l);
    void put_up_feedback(std::size_t l, const Control& entry);
    void put_up(std::size_t l, const Control& entry, Report* report, std::uint32_t bytes);
    std::uint32_t claim_bytes(const Session& session) const;
    std::uint32_t report_bytes(const Session& session, std::size_t claims) const;
    std::size_t most_claims(const Session& session) const;

    static Checkpoint* find_checkpoint(Session& session, std::uint32_t serial);
    static Report* find_report(Session& session, std::uint32_t serial);
    static constexpr std::uint32_t kNoSession = UINT32_MAX;  // of a matrix's timer
    static constexpr double kLongWork = 2e18;                // 63 years in nanoseconds: never, and far from overflow

    EngineConfig config_;
    std::uint32_t full_bytes_, control_bytes_;
    std::int32_t green_from_layer_ = 0;
    std::uint32_t retry_limit_ = 0;
    std::vector<LinkState> links_;
    std::vector<CrossSource> cross_;
    EventHeads tree_;
    Time now_ = 0;
    Sessions sessions_;
    std::uint64_t timers_set_ = 0;

    bool coding_ = false;
    std::deque<Matrix> matrices_;          // of all links, in the order of opening
    std::vector<Membership> membership_;   // by slot
    std::vector<std::int64_t> matrix_of_;  // by object
    std::vector<std::uint8_t> recovered_;  // by object

    std::vector<ObjectOutcome> outcomes_;
    std::size_t released_ = 0, unsettled_ = 0;
    WaitingLayers pending_;

    SampleColumns samples_;
    LogHistogram waits_;
    std::int64_t new_payload_ = 0, repeated_payload_ = 0, repair_payload_ = 0, recovered_payload_ = 0;
    std::int64_t delivered_payload_ = 0, arrived_payload_ = 0, duplicate_payload_ = 0, hol_payload_ = 0;
    std::int64_t data_packets_ = 0, control_packets_ = 0, cross_packets_ = 0, events_ = 0, expired_ = 0,
                 rtt_samples_ = 0;
    double hol_wait_byte_s_ = 0, rtt_sum_s_ = 0;
    Time first_send_ns_ = -1, last_delivery_ns_ = -1;
    bool deadlines_ = false, over_ = false;
};

}  // namespace dstcc
