// What is lost and what follows: RACK (RFC 8985), recoveries and their proportional rate reduction (RFC 6937), undo, and
// the timers.
#include "tcp/ack_work.hpp"

namespace dstcc {

namespace {

constexpr std::int64_t kDupThreshold = 3;  // RFC 5681; RFC 8985 section 6.2 before reordering is seen
constexpr unsigned kMaxBackoff = 30;       // the shift below stays in range; RTO_MAX caps long before

}  // namespace

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
        repeat_lost_ = true;
    }
    if ((s.flags & kLost) == 0) {
        s.flags |= kLost;
        ++tcp_.lost_out;
    }
    ++tcp_.lost;
    to_repeat_.insert(number);
}

// What RACK has the segment wait yet: none when it is lost, or sent after all that it could be judged by.
Time Subflow::patience(Time now, const Segment& segment) const {
    return segment.sent_ns + rack_rtt_ + rack_window() - now;
}

// Linux tcp_rack_detect_loss(). The timer waits for the last of those that are not lost yet.
void Subflow::detect_losses(Time now) {
    Time wait = 0;
    const auto untouched = [](const Segment& s) { return (s.flags & (kSacked | kEverRetrans | kLost)) == 0; };
    for (; rack_cursor_ < tcp_.snd_nxt; ++rack_cursor_) {
        const Segment& s = segments_[rack_cursor_];
        if (!untouched(s)) continue;
        if (!judged(rack_cursor_, s.sent_ns)) break;
        wait = std::max<Time>(patience(now, s), 0);
        if (wait > 0) break;
        mark_lost(rack_cursor_);
    }
    if (wait > 0) {
        std::int64_t last = rack_number_ > rack_cursor_ ? rack_number_ : tcp_.snd_nxt;  // it may be a repeat's
        do last = sacked_.last_missing(rack_cursor_, last);
        while (last > rack_cursor_ && !(untouched(segments_[last]) && judged(last, segments_[last].sent_ns)));
        wait = patience(now, segments_[std::max(last, rack_cursor_)]);
    }
    Time until = 0;
    for (; !repeats_.empty(); repeats_.pop_front()) {
        const Repeat repeat = repeats_.front();
        if (!current(repeat)) continue;
        if (!judged(repeat.number, repeat.sent_ns)) break;
        until = std::max<Time>(patience(now, segments_[repeat.number]), 0);
        if (until > 0) break;
        mark_lost(repeat.number);
    }
    if (until > 0) {
        auto last = repeats_.end() - 1;
        while (!current(*last) || !judged(last->number, last->sent_ns)) --last;
        wait = std::max(wait, patience(now, segments_[last->number]));
    }
    if (wait <= 0) return;
    timer_kind_ = Timer::kReorder;
    armed_at_ = now;
    timer_ = now + std::min(wait + constants_.tlp_min, rto());  // TCP_TIMEOUT_MIN_US; tcp_rack_mark_lost
}

// ------------------------------------------------------------------------------------- states and the reduction

// Linux tcp_current_ssthresh(): a threshold that an undo may bring back.
std::int64_t Subflow::current_ssthresh() const { return std::max(tcp_.ssthresh, tcp_.cwnd / 2 + tcp_.cwnd / 4); }

// The state of an undo outlives its episode while a retransmission may still be in flight (Linux tcp_any_retrans_done).
void Subflow::forget_repeats() {
    const bool repeated = tcp_.packets_out() > 0 && (segments_.front().flags & kEverRetrans) != 0;
    if (tcp_.retrans_out == 0 && !repeated) undo_stamp_ = kNever;
}

void Subflow::enter_recovery(Time now) {
    forget_repeats();
    prior_ssthresh_ = current_ssthresh();
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
    if (!reduced || control_->governs_recovery()) return;
    if (tcp_.ssthresh < kInfiniteWindow) tcp_.cwnd = tcp_.ssthresh;
    control_->on_event(tcp_, CaEvent::kExitReduction, now);
}

// The timeout was spurious (an ACK answers a first transmission): take the reduction back, that of a recovery which the
// timeout ended as well, and hold nothing to be lost any more (Linux tcp_undo_cwnd_reduction). RACK judges all anew, by
// when each was sent last.
void Subflow::undo(Time now) {
    repeats_.clear();
    for (std::int64_t n = tcp_.snd_una; n < tcp_.snd_nxt; ++n) {
        Segment& s = segments_[n];
        s.flags &= static_cast<std::uint8_t>(~kLost);
        if ((s.flags & (kSacked | kEverRetrans)) == kEverRetrans) repeats_.push_back({n, s.sent_ns});
    }
    std::stable_sort(repeats_.begin(), repeats_.end(),
                     [](const Repeat& a, const Repeat& b) { return a.sent_ns < b.sent_ns; });
    tcp_.lost_out = 0;
    rack_cursor_ = tcp_.snd_una;
    if (!control_->owns_window()) tcp_.cwnd = std::max(tcp_.cwnd, tcp_.prior_cwnd);
    tcp_.ssthresh = std::max(tcp_.ssthresh, prior_ssthresh_);
    control_->on_undo(tcp_, now);
    tcp_.ca_state = CaState::kOpen;
    backoff_ = retransmits_ = 0;
    frto_ = false;
}

// Linux tcp_process_tlp_ack(): an ACK beyond the probe says what the probe, if a repeat, repaired a loss that nothing else
// showed, unless it was a needless one (RFC 8985 section 7.4.2).
void Subflow::handle_probe_ack(Time now, const AckBlocks& ack, const AckWork& work) {
    if (tcp_.snd_una < probe_high_) return;
    const bool advanced = tcp_.snd_una > work.prior_una;
    if (probe_repeats_ && !ack.duplicate && tcp_.snd_una == probe_high_ && (advanced || work.sacked_more)) return;
    const bool repaired =
        probe_repeats_ && !ack.duplicate && tcp_.snd_una > probe_high_ && tcp_.ca_state == CaState::kOpen;
    probe_high_ = -1;
    if (!repaired) return;
    enter_recovery(now);
    if (!control_->governs_recovery()) tcp_.cwnd = std::max<std::int64_t>(1, std::min(tcp_.cwnd, tcp_.ssthresh));
    leave_reduction(now);
}

// RFC 5682 section 3.1 with SACK, Linux tcp_process_loss(): after a timeout's repeat new data goes out, and what comes
// back tells whether the rest was lost.
void Subflow::forward_recovery(Time now, const AckBlocks& ack, const AckWork& work) {
    const bool advanced = tcp_.snd_una > work.prior_una;
    if (work.original_acked) {
        undo(now);
        return;
    }
    if (tcp_.snd_nxt > high_seq_) {
        if (work.sacked_more || !advanced) frto_ = false;
    } else if (advanced && tcp_.snd_una < high_seq_) {
        new_data_first_ = ack.more;
        frto_ = ack.more;
    }
}

// Proportional rate reduction with the safe-ACK heuristic, as Linux's tcp_cwnd_reduction().
void Subflow::reduce_window(std::int64_t delivered, bool advanced, bool newly_lost) {
    if (delivered <= 0 || tcp_.prior_cwnd <= 0) return;
    const std::int64_t pipe = tcp_.in_flight();
    const std::int64_t room = tcp_.ssthresh - pipe;
    prr_delivered_ += delivered;
    std::int64_t send = 0;
    if (room < 0) {
        send = (tcp_.ssthresh * prr_delivered_ + tcp_.prior_cwnd - 1) / tcp_.prior_cwnd - prr_out_;
    } else {
        send = std::max(prr_delivered_ - prr_out_, delivered);
        if (advanced && !newly_lost) ++send;
        send = std::min(room, send);
    }
    send = std::max<std::int64_t>(send, prr_out_ != 0 ? 0 : 1);
    tcp_.cwnd = std::max<std::int64_t>(pipe + send, 1);
}

// -------------------------------------------------------------------------------------------------------- timers

// Linux tcp_set_xmit_timer(): a probe where nothing is missing, else the timeout; one that RACK's or a probe's timer stood
// in for counts from when the oldest segment left (tcp_rearm_rto).
void Subflow::arm(Time now) {
    const bool stood_in = stood_in_ || timer_kind_ == Timer::kProbe;
    stood_in_ = false;
    if (tcp_.packets_out() == 0) {
        timer_kind_ = Timer::kNone;
        timer_ = kNever;
        return;
    }
    if (nothing_missing() && tcp_.srtt_ns > 0 && backoff_ == 0) {
        rto_at_ = now + rto();
        return arm_probe(now);
    }
    arm_timeout(now, stood_in);
}

void Subflow::arm_timeout(Time now, bool stood_in) {
    armed_at_ = now;
    timer_kind_ = Timer::kRto;
    timer_ = rto_at_ = stood_in ? std::max(segments_.front().sent_ns + rto(), now + 1) : now + rto();
}

void Subflow::finish_probe(Time now) {
    holds_ = false;
    if (!probing_) return;
    probing_ = false;
    probe_high_ = -1;
    arm_timeout(now, true);
}

TimerResult Subflow::handle_timer(Time now) {
    if (timer_ > now) return TimerResult::kNothing;
    if (armed_at_ >= 0) {
        timer_ = std::max(timer_, constants_.wheel(armed_at_, timer_));
        armed_at_ = -1;  // on the wheel
        if (timer_ > now) return TimerResult::kNothing;
    }
    const Timer kind = timer_kind_;
    timer_kind_ = Timer::kNone;
    timer_ = kNever;
    stood_in_ = kind == Timer::kReorder;
    if (kind == Timer::kReorder) {
        holds_ = false;
        detect_losses(now);
        if (tcp_.ca_state == CaState::kOpen && tcp_.lost_out > 0) {
            enter_recovery(now);
            if (!control_->governs_recovery()) {
                ++prr_delivered_;  // as if one segment had been delivered, so that the first repeat leaves
                tcp_.cwnd = std::max<std::int64_t>(tcp_.in_flight() + 1, 1);
            }
        }
        if (timer_kind_ != Timer::kReorder) arm(now);
        return TimerResult::kRetry;
    }
    if (kind == Timer::kProbe) {
        // One probe at a time; what a second would stand in for is due.
        if (probe_high_ >= 0) {
            arm_timeout(now, true);
            return TimerResult::kNothing;
        }
        probe_high_ = tcp_.snd_nxt;
        probing_ = true;
        probe_repeats_ = false;
        arm_timeout(now, false);
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
    frto_ = tcp_.ca_state == CaState::kOpen || retransmits_ > 0;
    new_data_first_ = false;
    if (tcp_.ca_state == CaState::kOpen || tcp_.snd_una >= high_seq_ ||
        (tcp_.ca_state == CaState::kLoss && retransmits_ == 0)) {
        prior_ssthresh_ = current_ssthresh();
        tcp_.prior_cwnd = tcp_.cwnd;
        const std::int64_t threshold = control_->ssthresh(tcp_, now);
        if (!control_->owns_window()) tcp_.ssthresh = threshold;
        control_->on_event(tcp_, CaEvent::kEnterLoss, now);
    }
    to_repeat_.drop_below(to_repeat_.end());
    for (std::int64_t n = tcp_.snd_una; n < tcp_.snd_nxt; ++n) {
        const Segment& s = segments_[n];
        if ((s.flags & kSacked) != 0) continue;
        const bool recent = n != tcp_.snd_una && s.sent_ns + rack_rtt_ > now;
        if (recent && (s.flags & kLost) == 0) continue;
        if (recent && (s.flags & kRetransOut) != 0) continue;
        if ((s.flags & kLost) != 0 && (s.flags & kRetransOut) == 0)
            to_repeat_.insert(n);  // counted already
        else
            mark_lost(n);
    }
    tcp_.ca_state = CaState::kLoss;
    high_seq_ = tcp_.snd_nxt;
    tcp_.cwnd_cnt = 0;
    if (!control_->owns_window()) tcp_.cwnd = std::max<std::int64_t>(tcp_.in_flight() + 1, 1);
    control_->on_event(tcp_, CaEvent::kLossState, now);
    timed_out_ = true;
    holds_ = probing_ = false;
    ++retransmits_;
    if (backoff_ < kMaxBackoff) ++backoff_;
    arm(now);
}

}  // namespace dstcc
