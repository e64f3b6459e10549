// The packets that one subflow has in flight, and its congestion control: the sending end of `coded`, without I/O.
//
// Packets are numbered as QUIC's are (RFC 9000 section 12.3): each number is used once, and nothing is sent again under it.
// An ACK names ranges of numbers that arrived. What is lost RFC 9002 says (section 6), with one change:
//
//   lost      a packet kPacketThreshold below the largest that was acknowledged, or sent 9/8 round trips before it was;
//   probe     nothing was acknowledged for a PTO (a smoothed round trip, its deviation and the receiver's wait for a second
//             packet) since the last ACK or since the oldest packet left: RFC 9002 counts from the newest, and so would never
//             find out that a path is gone to which a rate is sent all the while. One packet may then leave whatever the
//             window; each further PTO is twice as long.
//   silent    laws that live by reports let their queues grow by no eighth of a round trip, and count from the oldest packet
//             alone: 9/8 round trips, what the contact plan has it and its answer wait, and the most that oldest packets took
//             longer of late. They go on with a packet kProbes times a round trip: a path that is back is heard of a round
//             trip later, and so few packets fill no queue. Nobody counts on what was not answered by then: it is doubted
//   window    a loss of a packet that was sent since the last reduction is a new one (section 7.3.2): the control's threshold,
//             and its window is that at once. All packets lost over three PTOs: persistent congestion (section 7.6), and the
//             window is two packets.
//
// A packet that was held to be lost and is acknowledged later is not looked at again. A receiver whose uplink is too narrow for all
// that it has to say passes ranges over, and says how many of their packets arrived: those count as spread evenly.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "coding/sent_packets.hpp"
#include "congestion/control.hpp"
#include "link/answer_clock.hpp"
#include "tcp/rtt.hpp"
#include "tcp/sender.hpp"

namespace dstcc {

constexpr int kAckRanges = 32;    // in an ACK, at most
constexpr int kAskedReports = 3;  // of a path, its first: they say which of the layers that a sender asks for are there

// What an ACK of packets says.
struct PacketAck {
    Range ranges[kAckRanges];  // rising; the last one ends with the largest number that arrived
    int count = 0;
    Time wait_ns = 0;      // of the largest, at the receiver
    Time one_way_ns = -1;  // what it took
    // After a stretch that no report will name: how many of the packets before the first range arrived. -1: none was passed over.
    std::int64_t before = -1;
};

// What an ACK or a timer tells of a packet.
struct Fate {
    SentPacket packet;
    bool lost;
    bool doubted = false;  // that was said before of it
    bool known = true;     // no: nothing came of it in time, nor of what was sent later
    bool told = true;      // no: no report names it, and it is one of so many
};

// Packets of one object, or repair packets of one block, that an ACK names one after another.
struct Heard {
    std::uint32_t block, object;
    std::uint32_t packets = 0;
    bool doubted;  // that was said before of them
    std::int64_t bytes = 0;
    Time first_ns, last_ns = 0;  // when they were sent
};

class Flight {
public:
    Flight(const TransportConfig& transport, std::unique_ptr<CongestionControl> control, const TcpState& initial);

    const TcpState& tcp() const { return tcp_; }
    bool established() const { return established_; }
    bool window_open() const { return established_ && (probing_ || tcp_.in_flight() < tcp_.cwnd); }
    // Neither a window nor the fate of what is under way bears on when it sends; `may_be`: that is so at times.
    bool may_be_paced_only() const { return owns_window_ && !wants_rates_; }
    bool paced_only() const {
        return established_ && tcp_.cwnd >= kInfiniteWindow && may_be_paced_only() && !probing_ && backoff_ == 0;
    }
    // Until when it only counts what follows all that is known up to counts_to(), where no answer is quicker than that and something is
    // left in flight: what is sent meanwhile may be sent before that is heard. -1: there is more to it.
    Time deaf_until(Time now, Time round_trip) const {
        const bool counts = !tells_sends_ && tcp_.snd_una == largest_ + 1 && loss_ns_ == kNever && paced_only();
        if (!counts || tcp_.in_flight() == 0) return -1;
        return std::min(control_->deaf_until(round_trip), next_timers(now, round_trip) - 1);
    }
    std::int64_t counts_to() const { return std::min(round_end_ + 1, tcp_.snd_nxt - 1); }
    bool probing() const { return probing_; }
    bool stale() const { return backoff_ > 0; }  // nothing was acknowledged since a probe was due
    // Nor for a round trip after that.
    bool gone(Time now) const { return stale() && now - silent_ns_ > tcp_.srtt_ns; }
    Time pacing_until() const { return tcp_.pacing_until_ns; }
    Time next_timer() const;
    std::uint64_t timeouts() const { return timeouts_; }
    std::int64_t loss_runs() const { return loss_runs_; }  // rows of lost packets, one behind the other
    void press(double factor) { press_ = factor; }         // of the control's pace
    void set_light(Time one_way) { tcp_.light_ns = one_way; }
    void set_part(double part) { tcp_.part = part; }
    void join_alike() { packets_.set_joining(); }  // in its records
    void set_clock(const AnswerClock& clock) {
        clock_ = clock;
        answers_wait_ = clock.may_wait();
    }
    void set_gap(Time until, Time length) {
        tcp_.until_gap_ns = until;
        tcp_.gap_ns = length;
    }
    void set_spare(Time spare) { tcp_.spare_ns = spare; }
    bool wants_queue() const { return wants_queue_; }
    bool wants_reports() const { return wants_reports_; }
    double rtt_sum_s() const { return rtt_sum_ns_ / kNsPerS; }
    std::int64_t rtt_samples() const { return rtt_samples_; }
    std::int64_t bytes() const { return packets_.bytes() + stamps_.bytes(); }  // of its records
    // Bytes in a nanosecond that the control allows: its pace, or a window a round trip; 0 while that has no bound.
    double rate() const;

    void establish(Time now, Time rtt);
    [[gnu::always_inline]] std::int64_t append(Time now, std::uint32_t block, std::uint32_t object,
                                               std::uint16_t bytes) {
        if (__builtin_expect(tcp_.in_flight() == 0, 0)) leave_rest(now);
        const std::uint8_t flags = tcp_.app_limited != 0 ? std::uint8_t{kLimited} : std::uint8_t{0};
        packets_.push_back({now, block, object, bytes, flags});
        if (wants_rates_) stamp(now);
        probing_ = false;
        tcp_.last_sent_ns = now;
        const std::int64_t number = tcp_.snd_nxt++;
        DSTCC_CHECK(packets_.end() == tcp_.snd_nxt, "a record per packet in flight");
        if (!wants_queue_ || tells_sends_) pace(now, bytes + tcp_.wire_bytes - tcp_.mss_bytes);
        return number;
    }
    // At what distance packets of so many bytes leave; -1: that is asked for each.
    Time distance(std::uint32_t bytes) {
        const bool steady = !wants_queue_ && !tells_sends_ && !wants_rates_ && !tcp_.linux_pacing;
        return steady && tcp_.pacing_bytes_per_ns > 0 ? gap_of(bytes + tcp_.wire_bytes - tcp_.mss_bytes) : -1;
    }
    // Packets that leave at that distance, behind others. The number of the first.
    std::int64_t append(const Run& times, std::uint32_t block, std::uint32_t object, std::uint16_t bytes) {
        const std::uint8_t flags = tcp_.app_limited != 0 ? std::uint8_t{kLimited} : std::uint8_t{0};
        const std::int64_t number = tcp_.snd_nxt;
        packets_.push_run({times.first, block, object, bytes, flags}, times.spacing, times.count);
        tcp_.last_sent_ns = times.last();
        tcp_.snd_nxt += times.count;
        tcp_.pacing_until_ns = times.at(times.count);
        return number;
    }
    // What its own queue was around a packet that has left; for controls that use it.
    void watch_queue(Time now, const QueueSeen& seen);
    // Its queue has room for the next packet then, which is due.
    void wait_until(Time room) { tcp_.pacing_until_ns = room; }
    // Call after a round of sending: `starved` = nothing left to send, `window_full` = more would have gone.
    void finish_sending(bool starved, bool window_full);

    void handle_ack(Time now, const PacketAck& ack);
    // The same, where it names as new what follows all that is known, and no gap: `end` is its last. False if it is not so.
    bool handle_next_ack(Time now, Range newest, Time wait_ns, Time one_way_ns);
    // The same of one that is only counted.
    void count(Time now, std::int64_t end, Time wait_ns, Time one_way_ns);
    // Of ACKs at the times of a run, of which the first acknowledges so many packets and the others each as many as one another; all are alike.
    // What the first newest one took, and how much longer each further one.
    void count(const Run& times, std::int64_t first, std::int64_t each, Time wait_ns, Time one_way_ns, Time longer_ns);
    // The oldest in flight, and how many stand in one record with it.
    const SentPacket& oldest() { return packets_.front(); }
    std::int64_t alike() { return packets_.alike().count; }
    const std::vector<Heard>& heard() const { return heard_; }  // of the last of these
    void pass_slot(Time now) {
        if (established_) control_->on_slot(tcp_, now);
    }
    // Nothing could arrive until now.
    void resume(Time now) { progress_ns_ = resumed_ns_ = now; }
    // Whether the timer went off; fates() and probing() then say what for.
    bool handle_timer(Time now);
    // Of the last ACK or timer; each packet's comes once.
    const std::vector<Fate>& fates() const { return fates_; }

private:
    enum PacketFlag : std::uint8_t { kArrived = 1, kGone = 2, kLimited = 4, kDoubted = 8 };
    struct Latest {  // of the packets that an ACK covers, the one sent last
        Time sent_ns = -1;
        RateStamp stamp;
        bool app_limited = false;
    };
    Time probe_timeout() const;
    Time planned_wait(Time sent) const { return answers_wait_ ? clock_->waits_both(sent) : 0; }
    Time answered_by(Time sent) const;
    bool waited(Time sent, Time took) const;
    bool take(std::int64_t number, Latest& latest);
    struct Row {  // of packets that an ACK names one after another
        Time oldest_ns;
        std::int64_t bytes = 0;
        Latest latest{};
    };
    Row take_row(std::int64_t end, Time one_way_ns);
    void hear_row(Time now, std::int64_t end, Time wait_ns, Time one_way_ns, bool behind);
    Time next_timers(Time now, Time round_trip) const;
    void note_delivery(Time now, Time sent);
    Time take_newest(Time now, std::int64_t newest, const Latest& latest, Time wait_ns);
    bool hear_alike(std::int64_t acks, Time last, Time oldest_took, Time newest_took, Time wait_ns);
    void doubt(Time now);
    void take_rtt(Time now, Time sample);
    bool judge(Time now, std::int64_t largest);
    void lose(std::int64_t number);
    void pass_over(const PacketAck& ack);
    void advance();
    void reduce(Time now);
    void collapse(Time now);
    void leave_reduction(Time now);
    void control_window(Time now, const Latest& latest, std::int64_t delivered, std::int64_t delivered_bytes,
                        std::int64_t in_flight, std::uint64_t lost, Time rtt_ns, bool behind = false);
    void leave_rest(Time now);
    void stamp(Time now);
    Time gap_of(std::uint32_t wire_bytes) {
        const double rate = tcp_.pacing_bytes_per_ns * press_;
        if (rate != gap_rate_ || wire_bytes != gap_bytes_) {
            gap_rate_ = rate;
            gap_bytes_ = wire_bytes;
            gap_ns_ = static_cast<Time>(wire_bytes / rate + 0.5);
        }
        return gap_ns_;
    }
    // As tcp/sender.hpp's.
    void pace(Time now, std::uint32_t wire_bytes) {
        if (tells_sends_) control_->on_sent(tcp_, now);
        if (tcp_.pacing_bytes_per_ns <= 0) return;
        Time gap = gap_of(wire_bytes);
        if (tcp_.linux_pacing) {
            if (tcp_.snd_nxt < kUnpacedSegments) return;
            gap -= std::clamp<Time>(now - tcp_.pacing_until_ns, 0, gap / 2);
        }
        tcp_.pacing_until_ns = std::max(tcp_.pacing_until_ns, now) + gap;
    }

    TcpState tcp_;
    std::optional<AnswerClock> clock_;  // of those that have a contact plan
    bool answers_wait_ = false;         // now and then, by that
    std::unique_ptr<CongestionControl> control_;
    bool tells_sends_, takes_acks_, wants_rates_, wants_queue_, wants_reports_, owns_window_, deaf_;
    const ConstantsNs& constants_;
    SentPackets packets_;
    BlockRing<RateStamp> stamps_;  // beside them, for controls that take samples
    std::vector<Fate> fates_;
    std::vector<Heard> heard_;
    double gap_rate_ = 0;  // a packet of so many bytes at that pace keeps the next for so long
    std::uint32_t gap_bytes_ = 0;
    Time gap_ns_ = 0;
    bool established_ = false;
    RttEstimator rtt_;
    WindowedMin min_rtt_;
    Time min_rtt_window_ = 0;
    std::int64_t round_end_ = 0;
    std::int64_t doubted_ = 0;  // one behind the newest that was doubted
    double rtt_sum_ns_ = 0;
    std::int64_t rtt_samples_ = 0;
    std::int64_t largest_ = -1;  // acknowledged
    std::int64_t counted_ = 0;   // packets up to then that arrived
    WindowedMin spare_;          // of a round trip, when the oldest packet that an ACK names was answered
    Time progress_ns_ = 0;       // of the last ACK that said anything new
    Time resumed_ns_ = 0;        // nothing could arrive before
    Time loss_ns_ = kNever;      // when a packet below the largest will have waited long enough
    unsigned backoff_ = 0;       // probes without an answer
    Time silent_ns_ = 0;         // since when it is stale
    bool probing_ = false;       // one is due
    std::uint64_t timeouts_ = 0;
    std::int64_t recovery_end_ = 0;  // a packet from here on was sent since the last reduction
    std::int64_t lost_next_ = -1;    // one behind the last of a row of lost packets
    double press_ = 1;
    std::int64_t loss_runs_ = 0;
    Time lost_since_ns_ = 0;  // when the first of them was sent
};

}  // namespace dstcc
