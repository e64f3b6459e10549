// The sending end of one subflow, without I/O: SACK scoreboard, RACK-TLP (RFC 8985), RTO (RFC 6298), proportional rate
// reduction (RFC 6937), Eifel undo of timeouts (RFC 4015), delivery-rate samples. `Simulation` moves its packets.
//
// Call order: append/mark_retransmitted when something was put on the link, handle_ack when an ACK came in,
// handle_timer when next_timer() passed; poll_retransmit gives what to repeat.
#pragma once

#include <deque>
#include <vector>

#include "congestion.hpp"
#include "ranges.hpp"
#include "ring.hpp"
#include "rtt.hpp"

namespace dstcc {

enum SegmentFlag : std::uint8_t {
    kSacked = 1,
    kLost = 2,         // judged lost; stays until delivered
    kRetransOut = 4,   // a repeat is in flight
    kEverRetrans = 8,
    kAppLimited = 16,
    kReinjected = 32,  // given to another subflow as well
};

// One segment in flight. 32 bytes; the deltas are floats: good to 1 part in 16 million however long the round trip.
struct Segment {
    Time sent_ns;              // of the latest transmission
    std::uint32_t object;      // index of the layer it belongs to
    std::uint32_t order;       // place in its ordering domain, counted in segments
    std::uint32_t delivered;   // low bits of TcpState::delivered when sent
    float since_delivered, since_first;  // ns: sent_ns - delivered_ns, sent_ns - first_sent_ns
    std::uint16_t bytes;       // payload, at most 65,495
    std::uint8_t flags;
    std::uint8_t repeats;
};
static_assert(sizeof(Segment) == 32, "the memory budget counts on it");

// A segment that an ACK covers for the first time on its subflow.
struct Acked {
    std::uint32_t object, order;
    std::uint16_t bytes;
};

struct AckBlocks {
    std::int64_t cumulative = 0;
    bool duplicate = false;  // it answers a segment that was there already (RFC 2883)
    Time echo_ns = 0;  // send time of the transmission this ACK answers (RFC 7323 timestamp echo)
    Time one_way_ns = -1;  // what the newest segment took; -1: receivers do not stamp
    Range sack[3];
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
    bool stale() const { return backoff_ > 0; }
    bool window_open() const { return established_ && tcp_.in_flight() < tcp_.cwnd; }
    Time pacing_until() const { return pacing_until_; }
    Time next_timer() const { return timer_; }
    const Segment& segment(std::int64_t number) const { return segments_[number]; }
    std::uint64_t timeouts() const { return timeouts_; }
    Time rtt_deviation() const { return rtt_.deviation(); }
    double rtt_sum_s() const { return rtt_sum_ns_ / kNsPerS; }
    std::int64_t rtt_samples() const { return rtt_samples_; }
    std::int64_t peak_bytes() const { return segments_.peak_bytes(); }
    // Acknowledged one way or another, so that no copy elsewhere is of use.
    bool acknowledged(std::int64_t number) const {
        return number < tcp_.snd_una || (segments_[number].flags & kSacked) != 0;
    }

    // --- going out
    void establish(Time now, Time handshake_rtt);
    std::int64_t append(Time now, std::uint32_t object, std::uint32_t order, std::uint16_t bytes);
    bool repairs_waiting() const { return !to_repeat_.empty(); }
    bool poll_retransmit(std::int64_t& number);
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
    TimerResult handle_timer(Time now);
    // Nothing can be heard before `until`: a timer that passed waits a timeout longer than that.
    void rest(Time until) {
        if (timer_kind_ != Timer::kNone) timer_ = rto_at_ = until < kNever - rto_ ? until + rto_ : kNever;
    }
    void steer(const WindowAction& action, Time now) { control_->steer(tcp_, action, now); }
    // The probe went out as a repeat of the last segment (else it was new data).
    void mark_probe_repeated() { probe_repeats_ = true; }

private:
    struct AckWork;
    bool seen_before(const Range& block) const {
        for (const Range& last : last_sack_)
            if (last.begin == block.begin && last.end == block.end) return true;
        return false;
    }
    void deliver(std::int64_t number, AckWork& work);
    void advance_una(std::int64_t to, AckWork& work);
    bool nothing_amiss(const AckBlocks& ack) const;
    bool restarts_timer(const AckWork& work) const;
    void advance_clean(std::int64_t to, AckWork& work);
    void finish_delivery(Time now, AckWork& work);
    static void sample(const Segment& segment, std::int64_t number, AckWork& work);
    void take_rtt(Time now, AckWork& work);
    void detect_losses(Time now);
    bool judge(Time now, std::int64_t number);
    void mark_lost(std::int64_t number);
    void update_state(Time now, const AckBlocks& ack, AckWork& work);
    void enter_recovery(Time now);
    void leave_reduction(Time now);
    void undo(Time now);
    void reduce_window(AckWork& work);
    void control_window(Time now, AckWork& work);
    RateSample rate_sample(Time now, const AckWork& work) const;
    void handle_probe_ack(Time now, const AckBlocks& ack);
    void arm(Time now);
    void arm_probe(Time now);
    void pace(Time now, std::uint32_t wire_bytes);
    void stamp(Time now, Segment& segment);
    Time rack_window() const;
    void timeout(Time now);

    TcpState tcp_;
    std::unique_ptr<CongestionControl> control_;
    bool tells_sends_, wants_rates_;
    const ConstantsNs& constants_;
    BlockRing<Segment> segments_;
    RangeSet sacked_;
    Range last_sack_[3]{};
    std::deque<std::int64_t> to_repeat_;  // judged lost, not yet repeated; entries may have gone stale
    struct Repeat {
        std::int64_t number;
        Time sent_ns;
    };
    std::deque<Repeat> repeats_;     // repeats in flight, oldest first
    std::int64_t rack_cursor_ = 0;   // first never-repeated segment not yet judged
    Time rack_sent_ns_ = -1, rack_rtt_ = 0;
    std::int64_t rack_number_ = -1;

    bool established_ = false;
    RttEstimator rtt_;
    WindowedMin min_rtt_;
    Time min_rtt_window_ = 0;
    std::int64_t rtt_round_end_ = 0;
    Time rto_ = 0;
    double rtt_sum_ns_ = 0;
    std::int64_t rtt_samples_ = 0;
    unsigned backoff_ = 0;
    std::uint64_t timeouts_ = 0;

    enum class Timer { kNone, kRto, kProbe, kReorder };
    Timer timer_kind_ = Timer::kNone;
    Time timer_ = kNever, armed_at_ = -1, rto_at_ = kNever;
    std::int64_t probe_high_ = -1;  // TLP: snd_nxt when the probe left; -1: none out
    Time probe_sent_ns_ = 0;
    bool probe_repeats_ = false;

    std::int64_t high_seq_ = 0;
    std::int64_t prr_delivered_ = 0, prr_out_ = 0;
    std::int64_t undo_cwnd_ = 0, undo_ssthresh_ = 0;
    Time undo_stamp_ = kNever;  // when the first repeat of this episode left
    Time pacing_until_ = 0;
    std::vector<Acked>* acked_ = nullptr;
};

}  // namespace dstcc
