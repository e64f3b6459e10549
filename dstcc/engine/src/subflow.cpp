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
    std::int64_t newly_delivered = 0, payload_bytes = 0, prior_una = 0, prior_in_flight = 0;
    std::uint64_t prior_lost = 0;
    bool sacked_more = false;
    // the latest-sent segment delivered, for the rate sample and RACK
    bool sampled = false;
    Time sampled_sent_ns = -1;
    std::int64_t sampled_number = -1;
    std::uint32_t sampled_delivered = 0;
    float since_delivered = 0, since_first = 0;
    bool sampled_app_limited = false;
    Time first_clean_sent_ns = -1, last_clean_sent_ns = -1;  // never repeated: fit for an RTT sample (Karn)
    Time echo_ns = 0;
    Time rtt_ns = -1;
};

Subflow::Subflow(const TransportConfig& transport, std::unique_ptr<CongestionControl> control, TcpState initial)
    : tcp_(initial), control_(std::move(control)), tells_sends_(control_->wants_sends()),
      wants_rates_(control_->wants_rates()), constants_(transport.constants) {
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

void Subflow::pace(Time now, std::uint32_t wire_bytes) {
    if (tells_sends_) control_->on_sent(tcp_, now);
    if (tcp_.pacing_bytes_per_ns <= 0) return;
    const Time gap = static_cast<Time>(wire_bytes / tcp_.pacing_bytes_per_ns + 0.5);
    pacing_until_ = std::max(pacing_until_, now) + gap;
}

void Subflow::stamp(Time now, Segment& segment) {
    if (tcp_.packets_out() == 0) tcp_.first_sent_ns = tcp_.delivered_ns = now;
    segment.sent_ns = now;
    segment.delivered = static_cast<std::uint32_t>(tcp_.delivered);
    segment.since_delivered = static_cast<float>(now - tcp_.delivered_ns);
    segment.since_first = static_cast<float>(now - tcp_.first_sent_ns);
    segment.flags = static_cast<std::uint8_t>((segment.flags & ~kAppLimited) |
                                              (tcp_.app_limited != 0 ? kAppLimited : 0));
    tcp_.last_sent_ns = now;
}

std::int64_t Subflow::append(Time now, std::uint32_t object, std::uint32_t order, std::uint16_t bytes) {
    if (tcp_.packets_out() == 0) {
        control_->on_event(tcp_, CaEvent::kIdleRestart, now);
        rack_cursor_ = tcp_.snd_nxt;
    }
    Segment& segment = segments_.emplace_back();
    segment.object = object;
    segment.order = order;
    segment.bytes = bytes;
    segment.flags = 0;
    segment.repeats = 0;
    stamp(now, segment);
    const std::int64_t number = tcp_.snd_nxt++;
    DSTCC_CHECK(segments_.end() == tcp_.snd_nxt, "a record per segment in flight");
    ++prr_out_;
    pace(now, bytes + tcp_.wire_bytes - tcp_.mss_bytes);
    if (timer_kind_ == Timer::kNone)
        arm(now);
    else if (timer_kind_ == Timer::kProbe && (armed_at_ != now || tcp_.packets_out() == 2))
        arm_probe(now);
    return number;
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
    segment.flags |= kRetransOut | kEverRetrans;
    if (segment.repeats < UINT8_MAX) ++segment.repeats;
    ++tcp_.retrans_out;
    repeats_.push_back({number, now});
    if (tcp_.ca_state == CaState::kLoss && undo_stamp_ == kNever) undo_stamp_ = now;
    ++prr_out_;
    pace(now, segment.bytes + tcp_.wire_bytes - tcp_.mss_bytes);
    if (timer_kind_ == Timer::kNone || (number == tcp_.snd_una && timer_kind_ == Timer::kRto)) arm(now);
}

void Subflow::finish_sending(Time now, bool starved, bool window_full) {
    // tcp_cwnd_validate(): remember whether the window was in use over the last round trip.
    if (tcp_.snd_una >= tcp_.cwnd_usage_seq || window_full ||
        (!tcp_.is_cwnd_limited && tcp_.packets_out() > tcp_.max_packets_out)) {
        tcp_.is_cwnd_limited = window_full;
        tcp_.max_packets_out = tcp_.packets_out();
        tcp_.cwnd_usage_seq = tcp_.snd_nxt;
    }
    if (starved && tcp_.in_flight() < tcp_.cwnd && to_repeat_.empty())
        tcp_.app_limited = std::max<std::uint64_t>(tcp_.delivered + static_cast<std::uint64_t>(tcp_.in_flight()), 1);
    if (tcp_.packets_out() > 0 && timer_kind_ == Timer::kNone) arm(now);
}

// ---------------------------------------------------------------------------------------------- acknowledgements

std::int64_t Subflow::handle_ack(Time now, const AckBlocks& ack) {
    DSTCC_CHECK(ack.cumulative <= tcp_.snd_nxt, "nothing is acknowledged before it is sent");
    AckWork work;
    work.prior_una = tcp_.snd_una;
    work.prior_in_flight = tcp_.in_flight();
    work.prior_lost = tcp_.lost;
    work.echo_ns = ack.echo_ns;
    tcp_.one_way_ns = ack.one_way_ns;
    tcp_.ack_has_sacks = ack.sacks > 0;
    if (nothing_amiss(ack)) {
        advance_clean(ack.cumulative, work);
        finish_delivery(now, work);
        control_window(now, work);
        if (work.newly_delivered > 0 || timer_kind_ == Timer::kNone) arm(now);
        DSTCC_CHECK(tcp_.cwnd >= 1, "cwnd >= 1");
        return work.payload_bytes;
    }
    for (int i = 0; i < ack.sacks; ++i) {
        const Range block = ack.sack[i];
        if (seen_before(block)) continue;  // most blocks repeat the last ACK's
        sacked_.add(std::max(block.begin, tcp_.snd_una), block.end, [&](std::int64_t from, std::int64_t to) {
            for (std::int64_t n = from; n < to; ++n) {
                Segment& s = segments_[n];
                deliver(n, work);
                s.flags |= kSacked;
                ++tcp_.sacked_out;
                work.sacked_more = true;
            }
        });
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
    DSTCC_CHECK(tcp_.cwnd >= 1, "cwnd >= 1");
    DSTCC_CHECK(tcp_.sacked_out >= 0 && tcp_.lost_out >= 0 && tcp_.retrans_out >= 0 &&
                    tcp_.sacked_out + tcp_.lost_out <= tcp_.packets_out(),
                "the scoreboard adds up");
    return work.payload_bytes;
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
    if (s.sent_ns > work.sampled_sent_ns || (s.sent_ns == work.sampled_sent_ns && number > work.sampled_number))
        sample(s, number, work);
}

// No hole, no doubt, no probe: what the ACK covers was sent once, in order, and needs no scoreboard.
bool Subflow::nothing_amiss(const AckBlocks& ack) const {
    return ack.sacks == 0 && tcp_.ca_state == CaState::kOpen && tcp_.sacked_out == 0 && tcp_.lost_out == 0 &&
           repeats_.empty() && probe_high_ < 0 && timer_kind_ != Timer::kReorder;
}

// advance_una() for that case.
void Subflow::advance_clean(std::int64_t to, AckWork& work) {
    if (to <= tcp_.snd_una) return;
    work.first_clean_sent_ns = segments_.front().sent_ns;
    work.newly_delivered = to - tcp_.snd_una;
    tcp_.delivered += static_cast<std::uint64_t>(work.newly_delivered);
    for (; tcp_.snd_una < to; ++tcp_.snd_una) {
        const Segment& s = segments_.front();
        work.payload_bytes += s.bytes;
        if (acked_ != nullptr) acked_->push_back({s.object, s.order, s.bytes});
        if (tcp_.snd_una == to - 1) {
            work.last_clean_sent_ns = s.sent_ns;
            sample(s, to - 1, work);
        }
        segments_.pop_front();
    }
    segments_.prefetch_ahead(kPrefetch);
    rack_cursor_ = to;
}

// What any delivery means: the delivery clock, the RTT, the latest-sent segment known to have arrived.
void Subflow::finish_delivery(Time now, AckWork& work) {
    if (work.newly_delivered > 0) {
        tcp_.delivered_ns = now;
        if (tcp_.app_limited != 0 && tcp_.delivered > tcp_.app_limited) tcp_.app_limited = 0;
    }
    take_rtt(now, work);
    if (work.sampled && (work.sampled_sent_ns > rack_sent_ns_ ||
                         (work.sampled_sent_ns == rack_sent_ns_ && work.sampled_number > rack_number_))) {
        rack_sent_ns_ = work.sampled_sent_ns;
        rack_number_ = work.sampled_number;
        rack_rtt_ = now - work.sampled_sent_ns;
    }
}

void Subflow::sample(const Segment& segment, std::int64_t number, AckWork& work) {
    work.sampled = true;
    work.sampled_sent_ns = segment.sent_ns;
    work.sampled_number = number;
    work.sampled_delivered = segment.delivered;
    work.since_delivered = segment.since_delivered;
    work.since_first = segment.since_first;
    work.sampled_app_limited = (segment.flags & kAppLimited) != 0;
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
    if (!sacked_.empty()) sacked_.drop_below(to);
    rack_cursor_ = std::max(rack_cursor_, to);
}

void Subflow::take_rtt(Time now, AckWork& work) {
    Time sample = -1;
    if (work.first_clean_sent_ns >= 0)
        sample = now - work.first_clean_sent_ns;
    else if (work.newly_delivered > 0 && tcp_.snd_una > work.prior_una)
        sample = now - work.echo_ns;  // RFC 7323 section 4.1: only where SND.UNA advances; fit even for repeats
    if (sample < 0) return;
    work.rtt_ns = work.last_clean_sent_ns >= 0 ? now - work.last_clean_sent_ns : sample;
    const bool round_passed = tcp_.snd_una > rtt_round_end_;
    if (round_passed) rtt_round_end_ = tcp_.snd_nxt;
    rtt_sum_ns_ += static_cast<double>(sample);
    ++rtt_samples_;
    rtt_.sample(std::max<Time>(sample, 1), constants_.rto_min, round_passed);
    tcp_.srtt_ns = rtt_.srtt();
    tcp_.last_rtt_ns = work.rtt_ns;
    min_rtt_.sample(work.rtt_ns, now, min_rtt_window_);
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

void Subflow::detect_losses(Time now) {
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

void Subflow::update_state(Time now, const AckBlocks& ack, AckWork& work) {
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

RateSample Subflow::rate_sample(Time now, const AckWork& work) const {
    RateSample sample;
    sample.acked_sacked = work.newly_delivered;
    sample.losses = static_cast<std::int64_t>(tcp_.lost - work.prior_lost);
    sample.prior_in_flight = work.prior_in_flight;
    sample.rtt_ns = work.rtt_ns;
    if (!work.sampled) return sample;
    const std::uint32_t carried = static_cast<std::uint32_t>(tcp_.delivered) - work.sampled_delivered;
    sample.delivered = carried;
    sample.prior_delivered = tcp_.delivered - carried;
    sample.is_app_limited = work.sampled_app_limited;
    const Time send_interval = static_cast<Time>(work.since_first);
    const Time ack_interval = now - work.sampled_sent_ns + static_cast<Time>(work.since_delivered);
    const Time interval = std::max(send_interval, ack_interval);
    // Shorter than any round trip: the sample spans a repeat and would overestimate (draft section 3.2).
    sample.interval_ns = interval + interval / (1 << 20) < tcp_.min_rtt_ns ? -1 : interval;
    return sample;
}

void Subflow::control_window(Time now, AckWork& work) {
    if (work.newly_delivered > 0) control_->pkts_acked(tcp_, work.newly_delivered, work.rtt_ns, now);
    if (wants_rates_ && control_->cong_control(tcp_, rate_sample(now, work), now)) {
        // window and pacing are set
    } else if (tcp_.ca_state == CaState::kRecovery) {
        reduce_window(work);
    } else if (tcp_.snd_una > work.prior_una) {
        control_->cong_avoid(tcp_, work.newly_delivered, now);
    }
    if (work.sampled) tcp_.first_sent_ns = std::max(tcp_.first_sent_ns, work.sampled_sent_ns);
}

// -------------------------------------------------------------------------------------------------------- timers

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

// RFC 8985 section 7.2: two round trips from now, but no later than the retransmission timeout, in whose place it then
// comes. New data restarts the one and not the other.
void Subflow::arm_probe(Time now) {
    const Time slack = tcp_.packets_out() == 1 ? constants_.rto_min : constants_.tlp_min;
    armed_at_ = now;
    timer_kind_ = Timer::kProbe;
    timer_ = std::min(now + 2 * tcp_.srtt_ns + slack, rto_at_);
}

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
