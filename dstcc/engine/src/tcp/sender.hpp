// The sending end of one subflow, without I/O: SACK scoreboard, RACK-TLP (RFC 8985), RTO (RFC 6298), proportional rate
// reduction (RFC 6937), Eifel undo of timeouts (RFC 4015), delivery-rate samples. mptcp/ moves its packets.
//
// Call order: append/mark_retransmitted when something was put on the link, handle_ack when an ACK came in,
// handle_timer when next_timer() passed; poll_retransmit gives what to repeat.
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "congestion/control.hpp"
#include "core/bit_window.hpp"
#include "core/ranges.hpp"
#include "core/ring.hpp"
#include "core/run.hpp"
#include "link/packets.hpp"
#include "tcp/rtt.hpp"

namespace dstcc {

enum SegmentFlag : std::uint8_t {
    kSacked = 1,
    kLost = 2,        // judged lost; stays until delivered
    kRetransOut = 4,  // a repeat is in flight
    kEverRetrans = 8,
    kAppLimited = 16,
    kReinjected = 32,  // given to another subflow as well
    kPushed = 64,      // ends a write of the program
};

// One segment in flight.
struct Segment {
    Time sent_ns;          // of the latest transmission
    std::uint32_t object;  // index of the layer it belongs to
    std::uint32_t order;   // place in its ordering domain, counted in segments
    std::uint16_t bytes;   // payload, at most 65,495
    std::uint8_t flags;
};
static_assert(sizeof(Segment) == 24, "the memory budget counts on it");

// What a delivery-rate sample wants to know of a segment when it is acknowledged: beside it, for controls that take samples.
// The deltas are floats: good to 1 part in 16 million however long the round trip.
struct RateStamp {
    std::uint32_t delivered = 0;                 // low bits of TcpState::delivered when sent
    float since_delivered = 0, since_first = 0;  // ns: sent_ns - delivered_ns, sent_ns - first_sent_ns
};
static_assert(sizeof(RateStamp) == 12, "the memory budget counts on it");

// A segment that an ACK covers for the first time on its subflow.
struct Acked {
    std::uint32_t object, order;
    std::uint16_t bytes;
};

constexpr std::int64_t kUnpacedSegments =
    10;  // of a connection, under Linux's pacing: those before this one leave as they come

struct AckBlocks {
    std::int64_t cumulative = 0;
    bool duplicate = false;  // it answers a segment that was there already (RFC 2883)
    bool more = false;       // there is new data to send; said in the Loss state
    Time echo_ns = 0;        // send time of the transmission this ACK answers (RFC 7323 timestamp echo)
    Time one_way_ns = -1;    // what the newest segment took; -1: receivers do not stamp
    Range sack[kSackBlocks];
    int sacks = 0;
};

enum class TimerResult { kNothing, kRetry, kProbe, kTimeout };

class Subflow {
public:
    Subflow(const TransportConfig& transport, std::unique_ptr<CongestionControl> control, TcpState initial);

    // --- what the connection asks
    const TcpState& tcp() const { return tcp_; }
    TcpState& tcp() { return tcp_; }
    bool established() const { return established_; }
    bool wants_one_way_delay() const { return control_->wants_one_way_delay(); }
    bool deaf() const { return deaf_; }
    bool stale() const { return backoff_ > 0; }
    bool window_open() const { return established_ && !holds_ && tcp_.in_flight() < tcp_.cwnd; }
    // Segments that may go in a run; a probe is one, whatever the window (Linux tcp_send_loss_probe).
    std::int64_t room() const { return probing_ ? 1 : tcp_.cwnd - tcp_.in_flight(); }
    // A probe is one segment, until finish_probe(). After a timeout one is repeated, however wide the window (Linux
    // tcp_retransmit_timer); what follows waits for an ACK, an action, or a push, which comes with data that waits to be sent.
    bool holds() const { return holds_; }
    void push() { holds_ = false; }
    Time pacing_until() const { return tcp_.pacing_until_ns; }
    Time next_timer() const { return timer_; }
    const Segment& segment(std::int64_t number) const { return segments_[number]; }
    std::uint64_t timeouts() const { return timeouts_; }
    unsigned backoff() const { return backoff_; }
    Time rto() const { return rto_ > (constants_.rto_max >> backoff_) ? constants_.rto_max : rto_ << backoff_; }
    Time rtt_deviation() const { return rtt_.deviation(); }
    double rtt_sum_s() const { return rtt_sum_ns_ / kNsPerS; }
    std::int64_t rtt_samples() const { return rtt_samples_; }
    std::int64_t bytes() const { return segments_.bytes() + stamps_.bytes(); }  // of its records
    // Acknowledged one way or another, so that no copy elsewhere is of use.
    bool acknowledged(std::int64_t number) const {
        return number < tcp_.snd_una || (segments_[number].flags & kSacked) != 0;
    }

    // --- going out
    void establish(Time now, Time handshake_rtt);
    // An ACK of a join's handshake, whose SYN was answered at `answered`.
    void handle_join_ack(Time now, Time answered) { control_->on_join(tcp_, answered, now); }
    // New data, one segment; or, unpaced, a run of segments: begin_run, push each, finish_run with their number.
    std::int64_t append(Time now, std::uint32_t object, std::uint32_t order, std::uint16_t bytes);
    // Segments of a layer that leave at those times, one after another, as append() has each, where they go by pace and undisturbed.
    // Returns the least time that the timer was set to.
    Time append_run(const Run& times, std::uint32_t object, std::uint32_t order, std::uint16_t bytes);
    void begin_run(Time now);
    void push(Time now, std::uint32_t object, std::uint32_t order, std::uint16_t bytes);
    void mark_pushed() { segments_[segments_.end() - 1].flags |= kPushed; }  // what was appended last
    void finish_run(Time now, std::int64_t segments);
    // One segment at a time, or what was sent before still holds the next back though the pace is gone.
    bool paced(Time now) const { return tells_sends_ || tcp_.pacing_bytes_per_ns > 0 || tcp_.pacing_until_ns > now; }
    // Segments that leave as the pace lets them, whatever comes back but a loss.
    bool goes_by_pace() const {
        return deaf_ && tcp_.pacing_bytes_per_ns > 0 && window_open() && !probing_ && tcp_.ca_state != CaState::kLoss &&
               to_repeat_.empty();
    }
    Time full_gap() { return pacing_gap(tcp_.wire_bytes); }
    // New segments that leave from now until then set no timer that goes off by then.
    bool undisturbed_until(Time now, Time end) const {
        if (tcp_.packets_out() == 0 || rto() <= end - now || 2 * tcp_.srtt_ns <= end - now) return false;
        return !nothing_missing() || segments_[tcp_.snd_una].sent_ns + rto() > end;
    }
    bool repairs_waiting() const { return !to_repeat_.empty() && !new_data_first_; }
    bool poll_retransmit(std::int64_t& number);
    // New data was to go before repairs and did not: repairs it is.
    bool repairs_instead() {
        if (!new_data_first_ || tcp_.snd_nxt > high_seq_) return false;
        new_data_first_ = frto_ = false;
        return !to_repeat_.empty();
    }
    void mark_retransmitted(Time now, std::int64_t number);
    // Call after a round of sending: `starved` = nothing left to send, `window_full` = more would have gone.
    void finish_sending(Time now, bool starved, bool window_full);
    // Segments to give to other subflows after a timeout.
    template <class Take>
    void reinject(Take&& take) {
        for (std::int64_t n = tcp_.snd_una; n < tcp_.snd_nxt; ++n) {
            Segment& s = segments_[n];
            if ((s.flags & (kSacked | kReinjected)) != 0) continue;
            s.flags |= kReinjected;
            take(n, s);
        }
    }

    // --- coming in
    // Segments that ACKs cover from now on are noted there.
    void note_acked(std::vector<Acked>* acked) { acked_ = acked; }
    // Returns payload bytes newly acknowledged.
    std::int64_t handle_ack(Time now, const AckBlocks& ack);
    // ACKs at those times, each of so many segments more, in order, the first of what is before `to`, where that needs no scoreboard, and
    // a timer goes off no sooner than `timer`. What each lets leave is of one layer, of which there are `most` full segments, and is
    // noted in `left`, for append() of all of it.
    struct Clocked {
        std::int64_t acks = 0, bytes = 0;  // handled; what they acknowledge
        Time timer = kNever;               // the least that it was set to
        bool over = false;  // what the last of them lets leave is not noted: there is more of it, or a pace now
    };
    Clocked clock(std::int64_t to, const Run& times, std::int64_t each, std::int64_t most, Time timer,
                  std::vector<Volleys>& left);
    // Returns the number of the first.
    std::int64_t append(const Volleys& volleys, std::uint32_t object, std::uint32_t order, std::uint16_t bytes);
    // Of ACKs at those times, the first of which is given, and each of which lengthens its first block: how many only count, what
    // they acknowledge, and the least that the timer was set to.
    struct Counted {
        std::int64_t acks = 0, bytes = 0;
        Time timer = kNever;
    };
    Counted count_lengthening(const AckBlocks& first, const Run& times, std::int64_t each);
    TimerResult handle_timer(Time now);
    // Nothing can arrive before `until`: a timer that passed waits a timeout longer than that.
    void rest(Time until) {
        if (timer_kind_ != Timer::kNone) timer_ = rto_at_ = until < kNever - rto_ ? until + rto_ : kNever;
    }
    void steer(const WindowAction& action, Time now) {
        holds_ = false;
        control_->steer(tcp_, action, now);
    }
    // What was to be the probe has left, or could not.
    void finish_probe(Time now);

private:
    struct AckWork;
    // When the first and the last left of those never repeated (Karn), in the order in which an ACK's are looked at.
    struct Clean {
        Time first_ns = -1, last_ns = -1;
    };
    struct Sampled {  // a segment that was delivered
        Time sent_ns = -1;
        std::int64_t number = -1;
        RateStamp stamp;
        bool app_limited = false;
    };
    void deliver(Segment& s, std::int64_t number, AckWork& work, Clean& clean);
    void advance_rack(const Segment& segment, std::int64_t number, const AckWork& work, bool sacked);
    void advance_una(std::int64_t to, AckWork& work);
    bool nothing_amiss(const AckBlocks& ack) const;
    bool restarts_timer(const AckWork& work) const;
    std::int64_t handle_clean_ack(Time now, std::int64_t to);
    std::int64_t handle_empty_ack(Time now, const AckBlocks& ack);
    std::int64_t handle_doubtful_ack(Time now, const AckBlocks& ack);
    bool lengthens_first_block(const AckBlocks& ack) const;
    static bool sent_once(const Segment& segment);
    bool sent_once(std::int64_t from, std::int64_t to) const;
    std::int64_t handle_lengthening_ack(Time now, const AckBlocks& ack);
    void take_block(const Range& block, AckWork& work);
    void finish_delivery(Time now, AckWork& work);
    Sampled sample(const Segment& segment, std::int64_t number) const;
    void note_delivery(Time now);
    // The latest-sent segment known to have arrived is what RACK goes by.
    void note_latest(Time sent_ns, std::int64_t number) {
        if (sent_ns < rack_sent_ns_ || (sent_ns == rack_sent_ns_ && number <= rack_number_)) return;
        rack_sent_ns_ = sent_ns;
        rack_number_ = number;
    }
    void take_rtt(Time now, Time sample, Time latest);
    void detect_losses(Time now);
    Time patience(Time now, const Segment& segment) const;
    bool judged(std::int64_t number, Time sent_ns) const;
    void mark_lost(std::int64_t number);
    void update_state(Time now, const AckBlocks& ack, AckWork& work);
    void enter_recovery(Time now);
    void leave_reduction(Time now);
    void undo(Time now);
    void reduce_window(std::int64_t delivered, bool advanced, bool newly_lost);
    void control_window(Time now, AckWork& work);
    RateSample rate_sample(Time now, const Sampled& latest, std::int64_t delivered, std::int64_t losses,
                           std::int64_t prior_in_flight, Time rtt_ns, bool lone) const;
    void handle_probe_ack(Time now, const AckBlocks& ack, const AckWork& work);
    void forward_recovery(Time now, const AckBlocks& ack, const AckWork& work);
    // Linux's Open state, of which Disorder is no part.
    bool nothing_missing() const {
        return tcp_.ca_state == CaState::kOpen && tcp_.lost_out == 0 && tcp_.sacked_out == 0;
    }
    // Linux keeps it in whole ticks (__tcp_set_rto), and so doubles those. Most samples leave the tick as it was.
    void set_rto() {
        const Time wanted = rtt_.rto();
        if (wanted > rto_ || rto_ - wanted >= constants_.jiffy) set_rto(wanted);
    }
    void set_rto(Time wanted) { rto_ = std::min(constants_.in_ticks(wanted) * constants_.jiffy, constants_.rto_max); }
    void arm(Time now);
    void arm_timeout(Time now, bool stood_in);
    void arm_clean(Time now);
    void arm_probe(Time now);
    void pace(Time now, std::uint32_t wire_bytes);
    Time pacing_gap(std::uint32_t wire_bytes);
    Time payload_gap(std::uint32_t bytes);
    [[gnu::cold]] void restart(Time now);
    void stamp(Time now, Segment& segment);
    RateStamp rate_stamp(Time now) const;
    Time rack_window() const;
    void timeout(Time now);
    std::int64_t current_ssthresh() const;
    void forget_repeats();

    TcpState tcp_;
    std::unique_ptr<CongestionControl> control_;
    bool tells_sends_, takes_acks_, wants_rates_;
    bool deaf_;  // nothing that comes back bears on the pace, nor on a window
    const ConstantsNs& constants_;
    BlockRing<Segment> segments_;
    BlockRing<RateStamp> stamps_;  // beside segments_ while wants_rates_, else empty
    BitWindow sacked_;             // of those in flight
    Range last_sack_[kSackBlocks]{};
    // Judged lost, not yet repeated; some may have arrived since. The lowest is repeated first, whenever it was lost
    // (tcp_verify_retransmit_hint).
    BitWindow to_repeat_;
    struct Repeat {
        std::int64_t number;
        Time sent_ns;
    };
    bool current(const Repeat& repeat) const;
    std::deque<Repeat> repeats_;    // repeats in flight, oldest first
    std::int64_t rack_cursor_ = 0;  // first never-repeated segment not yet judged
    Time rack_sent_ns_ = -1, rack_rtt_ = 0;
    std::int64_t rack_number_ = -1;
    bool rack_advanced_ = false;  // since losses were last judged

    bool established_ = false;
    RttEstimator rtt_;
    WindowedMin min_rtt_;
    Time min_rtt_window_ = 0;
    std::int64_t rtt_round_end_ = 0;
    Time rto_ = 0;
    double rtt_sum_ns_ = 0;
    std::int64_t rtt_samples_ = 0;
    unsigned backoff_ = 0, retransmits_ = 0;  // timeouts since the last RTT sample; since snd_una moved
    bool frto_ = false;                       // F-RTO (RFC 5682) has yet to find out whether the timeout was spurious
    bool repeat_lost_ = false;                // this ACK showed that a repeat is lost
    bool new_data_first_ = false;             // its second step: no repeats until the next ACK
    std::uint64_t timeouts_ = 0;

    enum class Timer { kNone, kRto, kProbe, kReorder };
    Timer timer_kind_ = Timer::kNone;
    Time timer_ = kNever, armed_at_ = -1, rto_at_ = kNever;
    bool stood_in_ = false;                   // RACK's timer was the last
    std::int64_t probe_high_ = -1;            // TLP: snd_nxt when the probe left; -1: none out
    bool probing_ = false;                    // a probe is due: what leaves next is it
    bool probe_repeats_ = false;              // it was a repeat of the last segment (else new data)
    bool timed_out_ = false, holds_ = false;  // the timeout's repeat is due; has left, and nothing follows

    std::int64_t high_seq_ = 0;
    std::int64_t validated_nxt_ = 0;  // snd_nxt when it was last asked whether the window was in use
    std::int64_t prr_delivered_ = 0, prr_out_ = 0;
    std::int64_t prior_ssthresh_ = 0;  // what an undo brings back, beside prior_cwnd
    Time undo_stamp_ = kNever;         // when the first repeat of this episode left (Linux's retrans_stamp)
    double gap_rate_ = 0;              // the pacing rate at which a full packet takes full_gap_
    Time full_gap_ = 0;
    std::vector<Acked>* acked_ = nullptr;
};

// ------------------------------------------------------------------------ small and in every packet's way

inline Time Subflow::pacing_gap(std::uint32_t wire_bytes) {
    const double rate = tcp_.pacing_bytes_per_ns;
    if (wire_bytes != tcp_.wire_bytes) return static_cast<Time>(wire_bytes / rate + 0.5);
    if (rate != gap_rate_) {
        gap_rate_ = rate;
        full_gap_ = static_cast<Time>(wire_bytes / rate + 0.5);
    }
    return full_gap_;
}

// Of a short segment, whose headers Linux does not count.
inline Time Subflow::payload_gap(std::uint32_t bytes) {
    return static_cast<Time>(bytes * static_cast<double>(tcp_.wire_bytes) / tcp_.mss_bytes / tcp_.pacing_bytes_per_ns +
                             0.5);
}

inline void Subflow::pace(Time now, std::uint32_t wire_bytes) {
    if (tells_sends_) control_->on_sent(tcp_, now);
    if (tcp_.pacing_bytes_per_ns <= 0) return;
    const bool whole = wire_bytes == tcp_.wire_bytes || !tcp_.payload_paced;
    Time gap = whole ? pacing_gap(wire_bytes) : payload_gap(wire_bytes + tcp_.mss_bytes - tcp_.wire_bytes);
    if (tcp_.linux_pacing) {  // tcp_update_skb_after_send()
        if (tcp_.snd_nxt < kUnpacedSegments) return;
        gap -= std::clamp<Time>(now - tcp_.pacing_until_ns, 0, gap / 2);  // what left late lets the next leave sooner
    }
    tcp_.pacing_until_ns = std::max(tcp_.pacing_until_ns, now) + gap;
}

inline RateStamp Subflow::rate_stamp(Time now) const {
    return {static_cast<std::uint32_t>(tcp_.delivered), static_cast<float>(now - tcp_.delivered_ns),
            static_cast<float>(now - tcp_.first_sent_ns)};
}

// RFC 8985 section 7.2: two round trips from now, but no later than the retransmission timeout, in whose place it then
// comes: counted from now after an ACK, from when the oldest segment left after new data (Linux tcp_schedule_loss_probe).
// No timer runs for longer than RTO_MAX (tcp_reset_xmit_timer).
inline void Subflow::arm_probe(Time now) {
    const Time slack = tcp_.packets_out() == 1 ? constants_.rto_min : constants_.tlp_min;
    armed_at_ = now;
    timer_kind_ = Timer::kProbe;
    timer_ = std::min(now + std::min(2 * tcp_.srtt_ns + slack, constants_.rto_max), rto_at_);
}

[[gnu::always_inline]] inline std::int64_t Subflow::append(Time now, std::uint32_t object, std::uint32_t order,
                                                           std::uint16_t bytes) {
    begin_run(now);
    push(now, object, order, bytes);
    finish_run(now, 1);
    pace(now, bytes + tcp_.wire_bytes - tcp_.mss_bytes);
    return tcp_.snd_nxt - 1;
}

inline void Subflow::begin_run(Time now) {
    if (tcp_.in_flight() == 0) restart(now);
}

[[gnu::always_inline]] inline void Subflow::push(Time now, std::uint32_t object, std::uint32_t order,
                                                 std::uint16_t bytes) {
    Segment& segment = segments_.emplace_back();
    segment.sent_ns = now;
    segment.object = object;
    segment.order = order;
    segment.bytes = bytes;
    segment.flags = tcp_.app_limited != 0 ? kAppLimited : 0;
    if (wants_rates_) stamps_.emplace_back() = rate_stamp(now);
}

[[gnu::always_inline]] inline void Subflow::finish_run(Time now, std::int64_t segments) {
    tcp_.last_sent_ns = now;
    tcp_.snd_nxt += segments;
    DSTCC_CHECK(segments_.end() == tcp_.snd_nxt, "a record per segment in flight");
    prr_out_ += segments;
    if (probing_) {
        probing_ = false;
        holds_ = true;
        probe_high_ = tcp_.snd_nxt;
    } else if (timer_kind_ == Timer::kNone) {
        arm(now);
    } else if (!nothing_missing()) {
        if (timer_kind_ == Timer::kProbe) arm(now);
    } else {  // whatever ran, and though a probe is out (tcp_write_xmit)
        const Time due = segments_.front().sent_ns + rto();
        rto_at_ = due > now ? due : kNever;
        arm_probe(now);
    }
}

inline void Subflow::finish_sending(Time now, bool starved, bool window_full) {
    // tcp_write_xmit() and tcp_cwnd_validate(): where new data left, or none could, remember whether the window was in use
    // over the last round trip. It was where it is full, though nothing waits.
    const bool sent = std::exchange(validated_nxt_, tcp_.snd_nxt) != tcp_.snd_nxt;
    const bool limited = window_full || tcp_.in_flight() >= tcp_.cwnd;
    if ((sent || (limited && !starved)) && (tcp_.snd_una >= tcp_.cwnd_usage_seq || limited ||
                                            (!tcp_.is_cwnd_limited && tcp_.packets_out() > tcp_.max_packets_out))) {
        tcp_.is_cwnd_limited = limited;
        tcp_.max_packets_out = tcp_.packets_out();
        tcp_.cwnd_usage_seq = tcp_.snd_nxt;
    }
    if (starved && tcp_.marks_app_limited && tcp_.in_flight() < tcp_.cwnd && to_repeat_.empty())
        tcp_.app_limited = std::max<std::uint64_t>(tcp_.delivered + static_cast<std::uint64_t>(tcp_.in_flight()), 1);
    if (timer_kind_ == Timer::kNone && tcp_.packets_out() > 0) arm(now);
}

}  // namespace dstcc
