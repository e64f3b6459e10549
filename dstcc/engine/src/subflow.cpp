#include "subflow.hpp"

#include <cmath>

namespace dstcc {

namespace {

constexpr std::int64_t kDupThreshold = 3;        // RFC 5681; RFC 8985 section 6.2 before reordering is seen
constexpr double kMinRttWindowS = 300;           // Linux tcp_min_rtt_wlen
constexpr std::int64_t kPrefetch = 16;           // segments ahead; about one memory latency
constexpr unsigned kMaxBackoff = 30;             // the shift below stays in range; RTO_MAX caps long before

}  // namespace

// What one ACK changed.
struct Subflow::AckWork {
    AckWork(const TcpState& tcp, Time echo);
    std::int64_t newly_delivered = 0, payload_bytes = 0, prior_una, prior_in_flight;
    std::uint64_t prior_lost;
    bool sacked_more = false;
    Sampled latest;  // of the segments delivered, by when they were sent: for the rate sample and RACK
    Time first_clean_sent_ns = -1, last_clean_sent_ns = -1;  // never repeated: fit for an RTT sample (Karn)
    Time echo_ns;
    Time rtt_ns = -1;
};

Subflow::Subflow(const TransportConfig& transport, std::unique_ptr<CongestionControl> control, TcpState initial)
    : tcp_(initial), control_(std::move(control)), tells_sends_(control_->wants_sends()),
      takes_acks_(control_->takes_acks()), wants_rates_(control_->wants_rates()), constants_(transport.constants) {
    tcp_.constants = &transport.constants;
    tcp_.cwnd = transport.initial_cwnd;
    tcp_.initial_cwnd = transport.initial_cwnd;
    rto_ = constants_.rto_initial;
    min_rtt_window_ = static_cast<Time>(kMinRttWindowS * constants_.scale * kNsPerS);
}

void Subflow::establish(Time now, Time handshake_rtt) {
    established_ = true;
    rtt_.sample(handshake_rtt, constants_.rto_min, false);
    tcp_.srtt_ns = rtt_.srtt();
    tcp_.last_rtt_ns = handshake_rtt;
    min_rtt_.sample(handshake_rtt, now, kNever / 4);
    tcp_.min_rtt_ns = handshake_rtt;
    rto_ = std::min(rtt_.rto(), constants_.rto_max);
    tcp_.delivered_ns = tcp_.first_sent_ns = tcp_.last_sent_ns = now;
    control_->init(tcp_, now);
    DSTCC_CHECK(tcp_.cwnd >= 1, "cwnd >= 1");
}

// Nothing was in flight.
void Subflow::restart(Time now) {
    control_->on_event(tcp_, CaEvent::kIdleRestart, now);
    rack_cursor_ = tcp_.snd_nxt;
    tcp_.first_sent_ns = tcp_.delivered_ns = now;
}

// What every transmission notes of a segment.
void Subflow::stamp(Time now, Segment& segment) {
    segment.sent_ns = now;
    segment.flags = static_cast<std::uint8_t>((segment.flags & ~kAppLimited) |
                                              (tcp_.app_limited != 0 ? kAppLimited : 0));
    tcp_.last_sent_ns = now;
}

bool Subflow::poll_retransmit(std::int64_t& number) {
    while (!to_repeat_.empty()) {
        const std::int64_t candidate = to_repeat_.front();
        if (candidate >= tcp_.snd_una) {
            const std::uint8_t flags = segments_[candidate].flags;
            if ((flags & kLost) != 0 && (flags & (kSacked | kRetransOut)) == 0) {
                number = candidate;
                return true;
            }
        }
        to_repeat_.pop_front();
    }
    return false;
}

void Subflow::mark_retransmitted(Time now, std::int64_t number) {
    Segment& segment = segments_[number];
    stamp(now, segment);
    if (wants_rates_) stamps_[number] = rate_stamp(now);
    segment.flags |= kRetransOut | kEverRetrans;
    ++tcp_.retrans_out;
    repeats_.push_back({number, now});
    if (tcp_.ca_state == CaState::kLoss && undo_stamp_ == kNever) undo_stamp_ = now;
    ++prr_out_;
    pace(now, segment.bytes + tcp_.wire_bytes - tcp_.mss_bytes);
    if (timer_kind_ == Timer::kNone || (number == tcp_.snd_una && timer_kind_ == Timer::kRto)) arm(now);
}

// ---------------------------------------------------------------------------------------------- acknowledgements

inline Subflow::AckWork::AckWork(const TcpState& tcp, Time echo)
    : prior_una(tcp.snd_una), prior_in_flight(tcp.in_flight()), prior_lost(tcp.lost), echo_ns(echo) {}

inline void Subflow::take_block(const Range& block, AckWork& work) {
    sacked_.add(std::max(block.begin, tcp_.snd_una), block.end, [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t n = from; n < to; ++n) {
            deliver(n, work);
            segments_[n].flags |= kSacked;
        }
        tcp_.sacked_out += to - from;
        work.sacked_more = true;
    });
}

// A SACK of what was sent after the head's last transmission says nothing of the head and must not put its timeout off
// (Linux tcp_clean_rtx_queue).
bool Subflow::restarts_timer(const AckWork& work) const {
    return work.sacked_more && work.first_clean_sent_ns >= 0 && tcp_.packets_out() > 0 &&
           work.first_clean_sent_ns < segments_[tcp_.snd_una].sent_ns;
}

// A segment reaches the other side for the first time: leave the loss lists, remember the latest sent of this ACK.
void Subflow::deliver(std::int64_t number, AckWork& work) {
    Segment& s = segments_[number];
    if ((s.flags & kLost) != 0) --tcp_.lost_out;
    if ((s.flags & kRetransOut) != 0) --tcp_.retrans_out;
    s.flags &= static_cast<std::uint8_t>(~(kLost | kRetransOut));
    ++tcp_.delivered;
    ++work.newly_delivered;
    work.payload_bytes += s.bytes;
    if (acked_ != nullptr) acked_->push_back({s.object, s.order, s.bytes});
    if ((s.flags & kEverRetrans) == 0) {
        if (work.first_clean_sent_ns < 0 || s.sent_ns < work.first_clean_sent_ns) work.first_clean_sent_ns = s.sent_ns;
        work.last_clean_sent_ns = std::max(work.last_clean_sent_ns, s.sent_ns);
    } else if (s.sent_ns > work.echo_ns) {
        // The ACK answers an older transmission than the latest: the repeat is still under way and says nothing yet.
        return;
    }
    if (s.sent_ns > work.latest.sent_ns || (s.sent_ns == work.latest.sent_ns && number > work.latest.number))
        work.latest = sample(s, number);
}

// No hole, no doubt, no probe: what the ACK covers was sent once, in order, and needs no scoreboard.
bool Subflow::nothing_amiss(const AckBlocks& ack) const {
    return ack.sacks == 0 && tcp_.ca_state == CaState::kOpen && tcp_.sacked_out == 0 && tcp_.lost_out == 0 &&
           repeats_.empty() && probe_high_ < 0 && timer_kind_ != Timer::kReorder;
}

inline void Subflow::note_delivery(Time now) {
    tcp_.delivered_ns = now;
    if (tcp_.app_limited != 0 && tcp_.delivered > tcp_.app_limited) tcp_.app_limited = 0;
}

// The latest-sent segment known to have arrived is what RACK goes by.
inline void Subflow::note_latest(Time now, const Sampled& latest) {
    if (latest.sent_ns < rack_sent_ns_ || (latest.sent_ns == rack_sent_ns_ && latest.number <= rack_number_)) return;
    rack_sent_ns_ = latest.sent_ns;
    rack_number_ = latest.number;
    rack_rtt_ = now - latest.sent_ns;
}

// What any delivery means: the delivery clock, the RTT, the latest-sent segment known to have arrived.
[[gnu::always_inline]] inline void Subflow::finish_delivery(Time now, AckWork& work) {
    if (work.newly_delivered > 0) note_delivery(now);
    Time sample = -1;
    if (work.first_clean_sent_ns >= 0)
        sample = now - work.first_clean_sent_ns;
    else if (work.newly_delivered > 0 && tcp_.snd_una > work.prior_una)
        sample = now - work.echo_ns;  // RFC 7323 section 4.1: only where SND.UNA advances; fit even for repeats
    if (sample >= 0) {
        work.rtt_ns = work.last_clean_sent_ns >= 0 ? now - work.last_clean_sent_ns : sample;
        take_rtt(now, sample, work.rtt_ns);
    }
    if (work.latest.number >= 0) note_latest(now, work.latest);
}

inline Subflow::Sampled Subflow::sample(const Segment& segment, std::int64_t number) const {
    Sampled sampled;
    sampled.sent_ns = segment.sent_ns;
    sampled.number = number;
    if (!wants_rates_) return sampled;
    sampled.stamp = stamps_[number];
    sampled.app_limited = (segment.flags & kAppLimited) != 0;
    return sampled;
}

void Subflow::advance_una(std::int64_t to, AckWork& work) {
    while (tcp_.snd_una < to) {
        const std::int64_t number = tcp_.snd_una;
        if ((segments_[number].flags & kSacked) != 0)
            --tcp_.sacked_out;
        else
            deliver(number, work);
        segments_.pop_front();
        segments_.prefetch_ahead(kPrefetch);
        ++tcp_.snd_una;
    }
    if (wants_rates_) stamps_.pop_front(to);
    if (!sacked_.empty()) sacked_.drop_below(to);
    rack_cursor_ = std::max(rack_cursor_, to);
}

// `sample`: of the first segment covered, for the timeout; `latest`: of the last.
inline void Subflow::take_rtt(Time now, Time sample, Time latest) {
    const bool round_passed = tcp_.snd_una > rtt_round_end_;
    if (round_passed) rtt_round_end_ = tcp_.snd_nxt;
    rtt_sum_ns_ += static_cast<double>(sample);
    ++rtt_samples_;
    rtt_.sample(std::max<Time>(sample, 1), constants_.rto_min, round_passed);
    tcp_.srtt_ns = rtt_.srtt();
    tcp_.last_rtt_ns = latest;
    min_rtt_.sample(latest, now, min_rtt_window_);
    tcp_.min_rtt_ns = min_rtt_.value();
    rto_ = std::min(rtt_.rto(), constants_.rto_max);
    backoff_ = 0;
}

// ----------------------------------------------------------------------------------------------- RACK (RFC 8985)

Time Subflow::rack_window() const {
    // Links are first in, first out, so no reordering is ever seen: RFC 8985 section 6.2 step 4 with reo_wnd_mult 1.
    if (tcp_.ca_state != CaState::kOpen || tcp_.sacked_out >= kDupThreshold) return 0;
    return tcp_.min_rtt_ns == kNever ? 0 : std::min(tcp_.min_rtt_ns / 4, tcp_.srtt_ns);
}

void Subflow::mark_lost(std::int64_t number) {
    Segment& s = segments_[number];
    if ((s.flags & kRetransOut) != 0) {
        s.flags &= static_cast<std::uint8_t>(~kRetransOut);
        --tcp_.retrans_out;
    }
    if ((s.flags & kLost) == 0) {
        s.flags |= kLost;
        ++tcp_.lost_out;
    }
    ++tcp_.lost;
    to_repeat_.push_back(number);
}

// True when the segment is settled (lost now, or nothing to judge); false when it must still wait.
bool Subflow::judge(Time now, std::int64_t number) {
    const Segment& s = segments_[number];
    const Time remaining = s.sent_ns + rack_rtt_ + rack_window() - now;
    if (remaining > 0) {
        timer_kind_ = Timer::kReorder;
        timer_ = now + remaining;
        return false;
    }
    mark_lost(number);
    return true;
}

inline void Subflow::detect_losses(Time now) {
    while (rack_cursor_ < tcp_.snd_nxt) {
        const Segment& s = segments_[rack_cursor_];
        if ((s.flags & (kSacked | kEverRetrans | kLost)) == 0) {
            const bool before = s.sent_ns < rack_sent_ns_ || (s.sent_ns == rack_sent_ns_ && rack_cursor_ < rack_number_);
            if (!before || !judge(now, rack_cursor_)) break;
        }
        ++rack_cursor_;
    }
    while (!repeats_.empty()) {
        const Repeat repeat = repeats_.front();
        const bool current = repeat.number >= tcp_.snd_una && segments_[repeat.number].sent_ns == repeat.sent_ns &&
                             (segments_[repeat.number].flags & (kSacked | kRetransOut)) == kRetransOut;
        if (current) {
            const bool before = repeat.sent_ns < rack_sent_ns_ ||
                                (repeat.sent_ns == rack_sent_ns_ && repeat.number < rack_number_);
            if (!before || !judge(now, repeat.number)) break;
        }
        repeats_.pop_front();
    }
}

// ------------------------------------------------------------------------------------- states and the reduction

void Subflow::enter_recovery(Time now) {
    tcp_.prior_cwnd = tcp_.cwnd;
    prr_delivered_ = prr_out_ = 0;
    high_seq_ = tcp_.snd_nxt;
    probe_high_ = -1;
    const std::int64_t threshold = control_->ssthresh(tcp_, now);
    if (!control_->owns_window()) tcp_.ssthresh = threshold;
    tcp_.ca_state = CaState::kRecovery;
    tcp_.cwnd_cnt = 0;
    control_->on_event(tcp_, CaEvent::kEnterRecovery, now);
}

void Subflow::leave_reduction(Time now) {
    const bool reduced = tcp_.ca_state == CaState::kRecovery;
    tcp_.ca_state = CaState::kOpen;
    undo_stamp_ = kNever;
    if (!reduced || control_->governs_recovery()) return;
    if (tcp_.ssthresh < kInfiniteWindow) tcp_.cwnd = tcp_.ssthresh;
    control_->on_event(tcp_, CaEvent::kExitReduction, now);
}

// The timeout was spurious (an ACK answers a first transmission): take the reduction back, doubt nothing but what was
// lost twice.
void Subflow::undo(Time now) {
    for (std::int64_t n = tcp_.snd_una; n < tcp_.snd_nxt; ++n) {
        Segment& s = segments_[n];
        const bool lost_twice = (s.flags & (kEverRetrans | kRetransOut)) == kEverRetrans;
        if ((s.flags & kLost) == 0 || lost_twice) continue;
        s.flags &= static_cast<std::uint8_t>(~kLost);
        --tcp_.lost_out;
    }
    rack_cursor_ = tcp_.snd_una;
    if (!control_->owns_window()) {
        tcp_.cwnd = std::max(tcp_.cwnd, undo_cwnd_);
        tcp_.ssthresh = std::max(tcp_.ssthresh, undo_ssthresh_);
    }
    control_->on_undo(tcp_, now);
    tcp_.ca_state = CaState::kOpen;
    undo_stamp_ = kNever;
    backoff_ = 0;
}

void Subflow::handle_probe_ack(Time now, const AckBlocks& ack) {
    if (probe_high_ < 0 || tcp_.snd_una < probe_high_) return;
    const bool repaired =
        probe_repeats_ && ack.echo_ns == probe_sent_ns_ && !ack.duplicate && tcp_.ca_state == CaState::kOpen;
    probe_high_ = -1;
    if (!repaired) return;
    // The probe repaired a tail loss that nothing else showed: reduce as for any loss (RFC 8985 section 7.4.2).
    enter_recovery(now);
    if (!control_->governs_recovery()) tcp_.cwnd = std::max<std::int64_t>(1, std::min(tcp_.cwnd, tcp_.ssthresh));
    leave_reduction(now);
}

inline void Subflow::update_state(Time now, const AckBlocks& ack, AckWork& work) {
    const bool advanced = tcp_.snd_una > work.prior_una;
    handle_probe_ack(now, ack);
    if (tcp_.ca_state == CaState::kLoss && advanced && undo_stamp_ != kNever && work.echo_ns < undo_stamp_) {
        undo(now);
        return;
    }
    if (tcp_.ca_state != CaState::kOpen && tcp_.snd_una >= high_seq_) leave_reduction(now);
    if (tcp_.ca_state == CaState::kOpen && tcp_.lost_out > 0) enter_recovery(now);
}

// Proportional rate reduction with the safe-ACK heuristic, as Linux's tcp_cwnd_reduction().
void Subflow::reduce_window(AckWork& work) {
    if (work.newly_delivered <= 0 || tcp_.prior_cwnd <= 0) return;
    const std::int64_t pipe = tcp_.in_flight();
    const std::int64_t room = tcp_.ssthresh - pipe;
    const bool newly_lost = tcp_.lost != work.prior_lost;
    prr_delivered_ += work.newly_delivered;
    std::int64_t send = 0;
    if (room < 0) {
        send = (tcp_.ssthresh * prr_delivered_ + tcp_.prior_cwnd - 1) / tcp_.prior_cwnd - prr_out_;
    } else {
        send = std::max(prr_delivered_ - prr_out_, work.newly_delivered);
        if (tcp_.snd_una > work.prior_una && !newly_lost) ++send;
        send = std::min(room, send);
    }
    send = std::max<std::int64_t>(send, prr_out_ != 0 ? 0 : 1);
    tcp_.cwnd = std::max<std::int64_t>(pipe + send, 1);
}

inline RateSample Subflow::rate_sample(Time now, const Sampled& latest, std::int64_t delivered, std::int64_t losses,
                                       std::int64_t prior_in_flight, Time rtt_ns) const {
    RateSample sample;
    sample.acked_sacked = delivered;
    sample.losses = losses;
    sample.prior_in_flight = prior_in_flight;
    sample.rtt_ns = rtt_ns;
    if (!wants_rates_ || latest.number < 0) return sample;
    const std::uint32_t carried = static_cast<std::uint32_t>(tcp_.delivered) - latest.stamp.delivered;
    sample.delivered = carried;
    sample.prior_delivered = tcp_.delivered - carried;
    sample.is_app_limited = latest.app_limited;
    const Time send_interval = static_cast<Time>(latest.stamp.since_first);
    const Time ack_interval = now - latest.sent_ns + static_cast<Time>(latest.stamp.since_delivered);
    const Time interval = std::max(send_interval, ack_interval);
    // Shorter than any round trip: the sample spans a repeat and would overestimate (draft section 3.2).
    sample.interval_ns = interval + interval / (1 << 20) < tcp_.min_rtt_ns ? -1 : interval;
    return sample;
}

[[gnu::always_inline]] inline void Subflow::control_window(Time now, AckWork& work) {
    if (work.newly_delivered > 0) control_->pkts_acked(tcp_, work.newly_delivered, work.rtt_ns, now);
    const auto losses = static_cast<std::int64_t>(tcp_.lost - work.prior_lost);
    if (takes_acks_ &&
        control_->cong_control(
            tcp_, rate_sample(now, work.latest, work.newly_delivered, losses, work.prior_in_flight, work.rtt_ns), now)) {
        // window and pacing are set
    } else if (tcp_.ca_state == CaState::kRecovery) {
        reduce_window(work);
    } else if (tcp_.snd_una > work.prior_una) {
        control_->cong_avoid(tcp_, work.newly_delivered, now);
    }
    if (work.latest.number >= 0) tcp_.first_sent_ns = std::max(tcp_.first_sent_ns, work.latest.sent_ns);
}

// --------------------------------------------------------------------------------------------------------- arming

void Subflow::arm(Time now) {
    if (tcp_.packets_out() == 0) {
        timer_kind_ = Timer::kNone;
        timer_ = kNever;
        return;
    }
    rto_at_ = now + (rto_ > (constants_.rto_max >> backoff_) ? constants_.rto_max : rto_ << backoff_);
    timer_kind_ = Timer::kRto;
    timer_ = rto_at_;
    const bool probe_allowed =
        tcp_.ca_state == CaState::kOpen && tcp_.lost_out == 0 && probe_high_ < 0 && tcp_.srtt_ns > 0 && backoff_ == 0;
    if (probe_allowed) arm_probe(now);
}

// The same where nothing is amiss and an RTT was just taken.
inline void Subflow::arm_clean(Time now) {
    if (tcp_.packets_out() == 0) return arm(now);
    rto_at_ = now + rto_;
    arm_probe(now);
}

// ------------------------------------------------------------------------------------------------- the ACK at hand

// What the ACK covers was sent once, in order, and needs no scoreboard.
inline std::int64_t Subflow::handle_clean_ack(Time now, std::int64_t to) {
    const std::int64_t in_flight = tcp_.in_flight(), acked = to - tcp_.snd_una;
    const Time first_sent_ns = segments_.front().sent_ns;
    std::int64_t payload_bytes = 0;
    Sampled last;
    for (std::int64_t number = tcp_.snd_una; number < to; ++number) {
        const Segment& s = segments_.front();
        payload_bytes += s.bytes;
        if (acked_ != nullptr) acked_->push_back({s.object, s.order, s.bytes});
        if (number == to - 1) last = sample(s, number);
        segments_.pop_front();
    }
    segments_.prefetch_ahead(kPrefetch);
    if (wants_rates_) stamps_.pop_front(to);
    tcp_.snd_una = rack_cursor_ = to;
    tcp_.delivered += static_cast<std::uint64_t>(acked);
    note_delivery(now);
    const Time rtt_ns = now - last.sent_ns;
    take_rtt(now, now - first_sent_ns, rtt_ns);
    note_latest(now, last);
    control_->pkts_acked(tcp_, acked, rtt_ns, now);
    if (!takes_acks_ || !control_->cong_control(tcp_, rate_sample(now, last, acked, 0, in_flight, rtt_ns), now))
        control_->cong_avoid(tcp_, acked, now);
    tcp_.first_sent_ns = std::max(tcp_.first_sent_ns, last.sent_ns);
    arm_clean(now);
    DSTCC_CHECK(tcp_.cwnd >= 1, "cwnd >= 1");
    return payload_bytes;
}

// It says what was known.
std::int64_t Subflow::handle_empty_ack(Time now, const AckBlocks& ack) {
    AckWork work(tcp_, ack.echo_ns);
    control_window(now, work);
    if (timer_kind_ == Timer::kNone) arm(now);
    DSTCC_CHECK(tcp_.cwnd >= 1, "cwnd >= 1");
    return 0;
}

std::int64_t Subflow::handle_doubtful_ack(Time now, const AckBlocks& ack) {
    if (nothing_amiss(ack)) return handle_empty_ack(now, ack);
    AckWork work(tcp_, ack.echo_ns);
    for (int i = 0; i < ack.sacks; ++i) {
        const Range block = ack.sack[i];
        if (!seen_before(i, block)) take_block(block, work);  // most blocks repeat the last ACK's
    }
    for (int i = 0; i < ack.sacks; ++i) last_sack_[i] = ack.sack[i];
    if (ack.cumulative > tcp_.snd_una) advance_una(ack.cumulative, work);
    finish_delivery(now, work);
    const bool una_advanced = tcp_.snd_una > work.prior_una;
    if (timer_kind_ == Timer::kReorder) timer_kind_ = Timer::kNone;
    detect_losses(now);
    update_state(now, ack, work);
    control_window(now, work);
    if (timer_kind_ != Timer::kReorder &&
        (una_advanced || restarts_timer(work) || tcp_.packets_out() == 0 || timer_kind_ == Timer::kNone))
        arm(now);
    DSTCC_CHECK(tcp_.sacked_out >= 0 && tcp_.lost_out >= 0 && tcp_.retrans_out >= 0 &&
                    tcp_.sacked_out + tcp_.lost_out <= tcp_.packets_out(),
                "the scoreboard adds up");
    DSTCC_CHECK(tcp_.cwnd >= 1, "cwnd >= 1");
    return work.payload_bytes;
}

std::int64_t Subflow::handle_ack(Time now, const AckBlocks& ack) {
    DSTCC_CHECK(ack.cumulative <= tcp_.snd_nxt, "nothing is acknowledged before it is sent");
    tcp_.one_way_ns = ack.one_way_ns;
    tcp_.ack_has_sacks = ack.sacks > 0;
    if (ack.cumulative > tcp_.snd_una && nothing_amiss(ack)) return handle_clean_ack(now, ack.cumulative);
    return handle_doubtful_ack(now, ack);
}

// -------------------------------------------------------------------------------------------------------- timers

TimerResult Subflow::handle_timer(Time now) {
    if (timer_ > now) return TimerResult::kNothing;
    const Timer kind = timer_kind_;
    timer_kind_ = Timer::kNone;
    timer_ = kNever;
    if (kind == Timer::kReorder) {
        detect_losses(now);
        if (tcp_.ca_state == CaState::kOpen && tcp_.lost_out > 0) {
            enter_recovery(now);
            if (!control_->governs_recovery())  // the first repeat leaves at once (tcp_cwnd_reduction with one segment)
                tcp_.cwnd = std::max<std::int64_t>(tcp_.in_flight() + 1, 1);
        }
        if (timer_kind_ != Timer::kReorder) arm(now);
        return TimerResult::kRetry;
    }
    if (kind == Timer::kProbe) {
        probe_high_ = tcp_.snd_nxt;
        probe_sent_ns_ = now;
        probe_repeats_ = false;
        arm(now);
        return TimerResult::kProbe;
    }
    if (kind == Timer::kRto) {
        timeout(now);
        return TimerResult::kTimeout;
    }
    return TimerResult::kNothing;
}

// RFC 6298 section 5 and Linux's tcp_enter_loss() with RACK: what was sent within an RTT is not lost yet.
void Subflow::timeout(Time now) {
    ++timeouts_;
    probe_high_ = -1;
    if (tcp_.ca_state == CaState::kOpen || tcp_.snd_una >= high_seq_ ||
        (tcp_.ca_state == CaState::kLoss && backoff_ == 0)) {
        undo_cwnd_ = tcp_.cwnd;
        undo_ssthresh_ = tcp_.ssthresh;
        undo_stamp_ = kNever;
        tcp_.prior_cwnd = tcp_.cwnd;
        const std::int64_t threshold = control_->ssthresh(tcp_, now);
        if (!control_->owns_window()) tcp_.ssthresh = threshold;
        control_->on_event(tcp_, CaEvent::kEnterLoss, now);
    } else if (tcp_.ca_state == CaState::kRecovery) {
        // The losses that began the recovery were real: an undo takes back the timeout, not the reduction.
        undo_cwnd_ = std::min(tcp_.ssthresh, tcp_.prior_cwnd);
        undo_ssthresh_ = tcp_.ssthresh;
        undo_stamp_ = kNever;
    }
    to_repeat_.clear();
    for (std::int64_t n = tcp_.snd_una; n < tcp_.snd_nxt; ++n) {
        const Segment& s = segments_[n];
        if ((s.flags & kSacked) != 0) continue;
        const bool recent = n != tcp_.snd_una && s.sent_ns + rack_rtt_ > now;
        if (recent && (s.flags & kLost) == 0) continue;
        if (recent && (s.flags & kRetransOut) != 0) continue;
        if ((s.flags & kLost) != 0 && (s.flags & kRetransOut) == 0)
            to_repeat_.push_back(n);  // counted already
        else
            mark_lost(n);
    }
    tcp_.ca_state = CaState::kLoss;
    high_seq_ = tcp_.snd_nxt;
    tcp_.cwnd_cnt = 0;
    if (!control_->owns_window()) tcp_.cwnd = std::max<std::int64_t>(tcp_.in_flight() + 1, 1);
    if (backoff_ < kMaxBackoff) ++backoff_;
    arm(now);
}

}  // namespace dstcc
