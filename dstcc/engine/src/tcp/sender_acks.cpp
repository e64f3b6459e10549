// What ACKs say: the scoreboard, RTT and delivery-rate samples, the state that follows, and the congestion control's turn.
#include "tcp/ack_work.hpp"

namespace dstcc {

namespace {

// Segments ahead. Without this and the prefetches of link/wire.hpp a packet takes 5 to 10 % longer where windows outgrow the
// caches (100,000 segments and more), and as long where they do not. A quarter of both distances does as well.
// (scripts/engine_times.py on a build of each)
constexpr std::int64_t kPrefetch = 16;

}  // namespace

// A segment reaches the other side for the first time: leave the loss lists, remember the latest sent of this ACK.
// `clean`: where to note when it left, if it was never repeated.
[[gnu::always_inline]] inline void Subflow::deliver(Segment& s, std::int64_t number, AckWork& work, Clean& clean) {
    if ((s.flags & kLost) != 0) --tcp_.lost_out;
    if ((s.flags & kRetransOut) != 0) --tcp_.retrans_out;
    s.flags &= static_cast<std::uint8_t>(~(kLost | kRetransOut));
    ++tcp_.delivered;
    ++work.newly_delivered;
    work.payload_bytes += s.bytes;
    if (acked_ != nullptr) acked_->push_back({s.object, s.order, s.bytes});
    if ((s.flags & kEverRetrans) == 0) {
        if (number < high_seq_) work.original_acked = true;
        if (clean.first_ns < 0) clean.first_ns = s.sent_ns;
        clean.last_ns = s.sent_ns;
    }
    if (s.sent_ns > work.latest.sent_ns || (s.sent_ns == work.latest.sent_ns && number > work.latest.number))
        work.latest = sample(s, number);
    advance_rack(s, number, work, &clean == &work.sacked);
}

// Linux tcp_rack_advance(): RACK's round trip is that of the last segment looked at, which need not be the latest sent.
// A repeat says nothing where the ACK may answer an earlier transmission.
inline void Subflow::advance_rack(const Segment& segment, std::int64_t number, const AckWork& work, bool sacked) {
    const Time rtt = work.now - segment.sent_ns;
    const bool repeated = (segment.flags & kEverRetrans) != 0;
    if (repeated && ((!sacked && segment.sent_ns > work.echo_ns) || rtt < tcp_.min_rtt_ns)) return;
    rack_rtt_ = rtt;
    rack_advanced_ = true;
    note_latest(segment.sent_ns, number);
}

// Most blocks repeat one of the last ACK's, or go on where it ended: what those covered is passed by.
inline void Subflow::take_block(const Range& block, AckWork& work) {
    std::int64_t begin = std::max(block.begin, tcp_.snd_una);
    for (const Range& last : last_sack_)
        if (last.begin <= begin && begin < last.end) begin = last.end;
    const auto take = [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t n = from; n < to; ++n) {
            Segment& segment = segments_[n];
            deliver(segment, n, work, work.sacked);
            segment.flags |= kSacked;
        }
        tcp_.sacked_out += to - from;
        work.sacked_more = true;
    };
    if (begin + 1 != block.end)
        sacked_.add(begin, block.end, take);
    else if (sacked_.insert(begin))
        take(begin, block.end);
}

// A SACK of what was sent after the head's last transmission says nothing of the head and must not put its timeout off
// (Linux tcp_clean_rtx_queue).
bool Subflow::restarts_timer(const AckWork& work) const {
    return work.sacked.first_ns >= 0 && tcp_.packets_out() > 0 &&
           work.sacked.first_ns < segments_[tcp_.snd_una].sent_ns;
}

// No hole, no doubt, no probe: what the ACK covers was sent once, in order, and needs no scoreboard.
bool Subflow::nothing_amiss(const AckBlocks& ack) const {
    return ack.sacks == 0 && !ack.duplicate && tcp_.was_open && repeats_.empty() && probe_high_ < 0 &&
           timer_kind_ != Timer::kReorder;
}

inline void Subflow::note_delivery(Time now) {
    tcp_.delivered_ns = now;
    if (tcp_.app_limited != 0 && tcp_.delivered > tcp_.app_limited) tcp_.app_limited = 0;
}

// What any delivery means: the delivery clock, the RTT, the latest-sent segment known to have arrived.
[[gnu::always_inline]] inline void Subflow::finish_delivery(Time now, AckWork& work) {
    if (work.newly_delivered > 0) note_delivery(now);
    Time sample = -1;
    const Time covered = work.repeat_acked ? -1 : work.covered.first_ns;
    const Time first = covered >= 0 ? covered : work.sacked.first_ns;
    if (first >= 0)
        sample = now - first;
    else if (work.newly_delivered > 0 && tcp_.snd_una > work.prior_una)
        sample = constants_.stamped(work.echo_ns,
                                    now);  // RFC 7323 section 4.1: only where SND.UNA advances; fit even for repeats
    if (sample >= 0) {
        if (first < 0)
            work.rtt_ns = sample;
        else
            work.rtt_ns = now - (work.sacked.first_ns >= 0 ? work.sacked.last_ns : work.covered.last_ns);
        take_rtt(now, sample, work.rtt_ns);
    }
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
        Segment& segment = segments_.front();
        work.repeat_acked = work.repeat_acked || (segment.flags & kEverRetrans) != 0;
        if ((segment.flags & kSacked) != 0)
            --tcp_.sacked_out;
        else
            deliver(segment, number, work, work.covered);
        segments_.pop_front();
        segments_.prefetch_ahead(kPrefetch);
        ++tcp_.snd_una;
    }
    if (wants_rates_) stamps_.pop_front(to);
    if (!sacked_.empty()) sacked_.drop_below(to);
    rack_cursor_ = std::max(rack_cursor_, to);
}

// `sample`: of the first segment covered, for the timeout; `latest`: of the last.
[[gnu::always_inline]] inline void Subflow::take_rtt(Time now, Time sample, Time latest) {
    const bool round_passed = tcp_.snd_una > rtt_round_end_;
    if (round_passed) rtt_round_end_ = tcp_.snd_nxt;
    rtt_sum_ns_ += static_cast<double>(sample);
    ++rtt_samples_;
    rtt_.sample(std::max<Time>(sample, 1), constants_.rto_min, round_passed);
    tcp_.srtt_ns = rtt_.srtt();
    tcp_.last_rtt_ns = latest;
    min_rtt_.sample(latest, now, min_rtt_window_);
    tcp_.min_rtt_ns = min_rtt_.value();
    set_rto();
    backoff_ = 0;
}

inline RateSample Subflow::rate_sample(Time now, const Sampled& latest, std::int64_t delivered, std::int64_t losses,
                                       std::int64_t prior_in_flight, Time rtt_ns, bool lone) const {
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
    sample.is_ack_delayed = lone && carried == 1;  // FLAG_ACK_MAYBE_DELAYED
    const Time send_interval = static_cast<Time>(latest.stamp.since_first);
    const Time ack_interval = now - latest.sent_ns + static_cast<Time>(latest.stamp.since_delivered);
    const Time interval = std::max(send_interval, ack_interval);
    // Shorter than any round trip: the sample spans a repeat and would overestimate (draft section 3.2).
    sample.interval_ns = interval + interval / (1 << 20) < tcp_.min_rtt_ns ? -1 : interval;
    return sample;
}

[[gnu::always_inline]] inline void Subflow::control_window(Time now, AckWork& work) {
    const auto losses = static_cast<std::int64_t>(tcp_.lost - work.prior_lost);
    if (takes_acks_ && control_->cong_control(tcp_,
                                              rate_sample(now, work.latest, work.newly_delivered, losses,
                                                          work.prior_in_flight, work.rtt_ns, work.lone(tcp_)),
                                              now)) {
        // window and pacing are set
    } else if (tcp_.ca_state == CaState::kRecovery) {
        reduce_window(work.newly_delivered, tcp_.snd_una > work.prior_una, losses != 0);
    } else if (tcp_.snd_una > work.prior_una) {
        control_->cong_avoid(tcp_, work.newly_delivered, now);
    }
    if (work.latest.number >= 0) tcp_.first_sent_ns = work.latest.sent_ns;
}

// The same where nothing is amiss and an RTT was just taken.
inline void Subflow::arm_clean(Time now) {
    if (tcp_.packets_out() == 0) return arm(now);
    rto_at_ = now + rto_;
    arm_probe(now);
}

// What the ACK covers was sent once, in order, and needs no scoreboard.
inline std::int64_t Subflow::handle_clean_ack(Time now, std::int64_t to) {
    const std::int64_t in_flight = tcp_.in_flight(), acked = to - tcp_.snd_una;
    const Time first_sent_ns = segments_.front().sent_ns;
    const Sampled last = sample(segments_[to - 1], to - 1);
    std::int64_t payload_bytes = 0;
    segments_.take_front(acked, [&, acked_list = acked_](const Segment& s) {
        payload_bytes += s.bytes;
        if (acked_list != nullptr) acked_list->push_back({s.object, s.order, s.bytes});
    });
    segments_.prefetch_ahead(kPrefetch);
    if (wants_rates_) stamps_.pop_front(to);
    tcp_.snd_una = rack_cursor_ = to;
    tcp_.delivered += static_cast<std::uint64_t>(acked);
    note_delivery(now);
    const Time rtt_ns = now - last.sent_ns;
    take_rtt(now, now - first_sent_ns, rtt_ns);
    rack_rtt_ = rtt_ns;
    rack_advanced_ = true;
    note_latest(last.sent_ns, last.number);
    control_->pkts_acked(tcp_, acked, rtt_ns, now);
    const bool lone = acked == 1 && payload_bytes < tcp_.mss_cache();
    if (!takes_acks_ || !control_->cong_control(tcp_, rate_sample(now, last, acked, 0, in_flight, rtt_ns, lone), now))
        control_->cong_avoid(tcp_, acked, now);
    tcp_.first_sent_ns = last.sent_ns;
    arm_clean(now);
    return payload_bytes;
}

// Linux tcp_fastretrans_alert() with RACK.
inline void Subflow::update_state(Time now, const AckBlocks& ack, AckWork& work) {
    const bool advanced = tcp_.snd_una > work.prior_una;
    if (tcp_.was_open && (!advanced || work.sacked_more)) undo_stamp_ = kNever;
    if (probe_high_ >= 0) handle_probe_ack(now, ack, work);
    if (tcp_.ca_state == CaState::kLoss) {
        if (advanced && undo_stamp_ != kNever && work.echo_ns < undo_stamp_)
            undo(now);
        else if (frto_)
            forward_recovery(now, ack, work);
    }
    // What ends comes before losses are judged: an ACK that ends a recovery has them judged by Open's patience.
    if (tcp_.ca_state != CaState::kOpen && tcp_.snd_una >= high_seq_) leave_reduction(now);
    if (std::exchange(rack_advanced_, false)) detect_losses(now);
    // Repeats that are lost in their turn end what a timeout began, as a new reduction.
    const bool anew =
        tcp_.ca_state == CaState::kOpen ? tcp_.lost_out > 0 : tcp_.ca_state == CaState::kLoss && repeat_lost_;
    if (anew) enter_recovery(now);
    if (tcp_.ca_state == CaState::kOpen) forget_repeats();
}

// An ACK that covers nothing new: only controls that take every ACK get it.
std::int64_t Subflow::handle_empty_ack(Time now, const AckBlocks& ack) {
    AckWork work(tcp_, now, ack.echo_ns);
    control_window(now, work);
    if (timer_kind_ == Timer::kNone) arm(now);
    return 0;
}

// An ACK with holes below it, or in a state in which every ACK is looked at: the scoreboard decides.
std::int64_t Subflow::handle_doubtful_ack(Time now, const AckBlocks& ack) {
    AckWork work(tcp_, now, ack.echo_ns);
    work.duplicate = ack.duplicate || tcp_.sacked_out > 0;
    repeat_lost_ = holds_ = timed_out_ = probing_ = false;
    for (int i = 0; i < ack.sacks; ++i) take_block(ack.sack[i], work);
    for (int i = 0; i < ack.sacks; ++i) last_sack_[i] = ack.sack[i];
    if (ack.cumulative > tcp_.snd_una) advance_una(ack.cumulative, work);
    // An ACK of what was there already has the timestamp of the last segment in order before it (tcp_validate_incoming).
    if (const Time last = std::max(work.covered.last_ns, work.sacked.last_ns); ack.duplicate && last >= 0)
        work.echo_ns = last;
    finish_delivery(now, work);
    // The control gets it before the state follows (tcp_clean_rtx_queue(), tcp_in_ack_event(), then tcp_fastretrans_alert()).
    if (work.newly_delivered > 0) control_->pkts_acked(tcp_, tcp_.snd_una - work.prior_una, work.rtt_ns, now);
    if (ack.duplicate) {  // a needless repeat was delivered, too (tcp_dsack_seen)
        ++tcp_.delivered;
        ++work.newly_delivered;
        note_delivery(now);
    }
    const bool una_advanced = tcp_.snd_una > work.prior_una;
    if (una_advanced) retransmits_ = 0;
    new_data_first_ = false;
    const bool waited = timer_kind_ == Timer::kReorder;
    const Time due = timer_, armed_at = armed_at_;
    if (waited) {
        timer_kind_ = Timer::kNone;
        stood_in_ = true;
    }
    update_state(now, ack, work);
    control_window(now, work);
    const bool anew = una_advanced || restarts_timer(work) || tcp_.packets_out() == 0;
    if (timer_kind_ == Timer::kNone && waited && !anew) {  // RACK's timer runs on though what it waited for is lost now
        timer_kind_ = Timer::kReorder;
        timer_ = due;
        armed_at_ = armed_at;
        stood_in_ = false;
    } else if (timer_kind_ != Timer::kReorder && (anew || timer_kind_ == Timer::kNone)) {
        arm(now);
    }
    DSTCC_CHECK(tcp_.sacked_out >= 0 && tcp_.lost_out >= 0 && tcp_.retrans_out >= 0 &&
                    tcp_.sacked_out + tcp_.lost_out <= tcp_.packets_out(),
                "the scoreboard adds up");
    return work.payload_bytes;
}

// Behind an open hole nearly every ACK says no more than that the first block of the last one goes on: what it covers was
// sent once, in order, and follows all that arrived before.
bool Subflow::lengthens_first_block(const AckBlocks& ack) const {
    const Range &first = ack.sack[0], &last = last_sack_[0];
    if (ack.sacks == 0 || ack.duplicate || ack.cumulative != tcp_.snd_una || first.begin <= tcp_.snd_una) return false;
    if (first.begin != last.begin || last.end != sacked_.end() || first.end <= last.end) return false;
    for (int i = 1; i < ack.sacks; ++i)
        if (ack.sack[i].begin != last_sack_[i].begin || ack.sack[i].end != last_sack_[i].end) return false;
    if (probe_high_ >= 0 || timer_kind_ == Timer::kReorder || tcp_.ca_state == CaState::kLoss) return false;
    if (tcp_.ca_state == CaState::kRecovery && tcp_.snd_una >= high_seq_) return false;
    return sent_once(last.end, first.end);
}

inline bool Subflow::sent_once(const Segment& segment) {
    constexpr int kOnce = kAppLimited | kReinjected | kPushed;
    return (segment.flags & ~kOnce) == 0;
}

bool Subflow::sent_once(std::int64_t from, std::int64_t to) const {
    for (std::int64_t n = from; n < to; ++n)
        if (!sent_once(segments_[n])) return false;
    return true;
}

// What handle_doubtful_ack() does of such an ACK. RACK has no more to judge than it had, but for what it left off at.
std::int64_t Subflow::handle_lengthening_ack(Time now, const AckBlocks& ack) {
    const std::int64_t from = last_sack_[0].end, to = ack.sack[0].end, delivered = to - from;
    const std::int64_t in_flight = tcp_.in_flight();
    const std::uint64_t lost = tcp_.lost;
    repeat_lost_ = holds_ = timed_out_ = probing_ = new_data_first_ = false;
    const Time first_sent_ns = segments_[from].sent_ns;
    const Sampled last = sample(segments_[to - 1], to - 1);
    std::int64_t payload_bytes = 0;
    for (std::int64_t n = from; n < to; ++n) {
        Segment& segment = segments_[n];
        segment.flags |= kSacked;
        payload_bytes += segment.bytes;
        if (acked_ != nullptr) acked_->push_back({segment.object, segment.order, segment.bytes});
        sacked_.insert(n);
    }
    last_sack_[0].end = to;
    tcp_.sacked_out += delivered;
    tcp_.delivered += static_cast<std::uint64_t>(delivered);
    note_delivery(now);
    const Time rtt_ns = now - last.sent_ns;
    take_rtt(now, now - first_sent_ns, rtt_ns);
    control_->pkts_acked(tcp_, 0, rtt_ns, now);
    rack_rtt_ = rtt_ns;
    note_latest(last.sent_ns, to - 1);
    rack_advanced_ = false;
    const bool settled =
        rack_cursor_ == from && rack_number_ == to - 1 &&
        (repeats_.empty() || (current(repeats_.front()) && !judged(repeats_.front().number, repeats_.front().sent_ns)));
    if (settled)
        rack_cursor_ = to;
    else
        detect_losses(now);
    if (tcp_.ca_state == CaState::kOpen) {
        if (tcp_.lost_out > 0)
            enter_recovery(now);
        else
            forget_repeats();
    }
    const auto losses = static_cast<std::int64_t>(tcp_.lost - lost);
    if (takes_acks_ &&
        control_->cong_control(tcp_, rate_sample(now, last, delivered, losses, in_flight, rtt_ns, false), now)) {
        // window and pacing are set
    } else if (tcp_.ca_state == CaState::kRecovery) {
        reduce_window(delivered, false, losses != 0);
    }
    tcp_.first_sent_ns = last.sent_ns;
    // As restarts_timer() has it: the head was repeated since.
    const bool anew = first_sent_ns < segments_[tcp_.snd_una].sent_ns;
    if (timer_kind_ != Timer::kReorder && (anew || timer_kind_ == Timer::kNone)) arm(now);
    DSTCC_CHECK(tcp_.sacked_out + tcp_.lost_out <= tcp_.packets_out(), "the scoreboard adds up");
    return payload_bytes;
}

// What handle_lengthening_ack() does of each, where the control takes no notice and nothing is judged. What each changes is at hand
// in the loop, and not in memory.
Subflow::Counted Subflow::count_lengthening(const AckBlocks& first, const Run& times, std::int64_t each) {
    Counted counted;
    std::int64_t from = last_sack_[0].end, to = first.sack[0].end;
    const bool judges = rack_cursor_ != from || (tcp_.ca_state == CaState::kOpen && tcp_.lost_out > 0) ||
                        (!repeats_.empty() && !current(repeats_.front()));
    if (!deaf_ || judges || holds_ || stale() || timer_kind_ != Timer::kRto || acked_ != nullptr ||
        tcp_.snd_una > rtt_round_end_ || !lengthens_first_block(first))
        return counted;
    const Repeat repeat = repeats_.empty() ? Repeat{0, kNever} : repeats_.front();
    const Time head_ns = segments_[tcp_.snd_una].sent_ns, jiffy = constants_.jiffy, rto_min = constants_.rto_min;
    RttEstimator rtt = rtt_;
    WindowedMin least = min_rtt_;
    double sum = rtt_sum_ns_;
    Time now = -1, latest = 0, last_sent_ns = rack_sent_ns_;
    std::int64_t last_number = rack_number_, bytes = 0, acks = 0;
    for (Run left = times; left.count > 0; left.drop(1), from = to, to += each) {
        Segment& last = segments_[to - 1];
        const Time sent_ns = last.sent_ns;
        if (sent_ns < last_sent_ns || (sent_ns == last_sent_ns && to - 1 <= last_number)) break;
        if (repeat.sent_ns < sent_ns || (repeat.sent_ns == sent_ns && repeat.number < to - 1)) break;
        const bool alone = to - from == 1;
        if (timer_ <= left.first || (acks > 0 && !(alone ? sent_once(last) : sent_once(from, to)))) break;
        now = left.first;
        const Time first_sent_ns = alone ? sent_ns : segments_[from].sent_ns;
        for (std::int64_t n = from; n < to - 1; ++n) {
            Segment& segment = segments_[n];
            segment.flags |= kSacked;
            bytes += segment.bytes;
        }
        last.flags |= kSacked;
        bytes += last.bytes;
        latest = now - sent_ns;
        sum += static_cast<double>(now - first_sent_ns);
        rtt.sample(std::max<Time>(now - first_sent_ns, 1), rto_min, false);
        least.sample(latest, now, min_rtt_window_);
        if (const Time wanted = rtt.rto(); wanted > rto_ || rto_ - wanted >= jiffy) set_rto(wanted);
        last_sent_ns = sent_ns;
        last_number = to - 1;
        if (first_sent_ns < head_ns) {
            if (stood_in_) arm(now);
            armed_at_ = now;
            timer_ = rto_at_ = now + rto();
        }
        counted.timer = std::min(counted.timer, timer_);
        ++acks;
    }
    if (acks == 0) return counted;
    counted.acks = acks;
    counted.bytes = bytes;
    rtt_ = rtt;
    min_rtt_ = least;
    rtt_sum_ns_ = sum;
    rtt_samples_ += acks;
    tcp_.srtt_ns = rtt.srtt();
    tcp_.last_rtt_ns = rack_rtt_ = latest;
    tcp_.min_rtt_ns = least.value();
    const std::int64_t begin = last_sack_[0].end;
    sacked_.add(begin, from, [](std::int64_t, std::int64_t) {});
    tcp_.one_way_ns = -1;
    tcp_.ack_has_sacks = true;
    tcp_.was_open = false;
    repeat_lost_ = timed_out_ = probing_ = new_data_first_ = rack_advanced_ = false;
    last_sack_[0].end = rack_cursor_ = from;
    tcp_.sacked_out += from - begin;
    tcp_.delivered += static_cast<std::uint64_t>(from - begin);
    note_delivery(now);
    if (tcp_.ca_state == CaState::kOpen) forget_repeats();
    tcp_.first_sent_ns = rack_sent_ns_ = last_sent_ns;
    rack_number_ = last_number;
    return counted;
}

std::int64_t Subflow::handle_ack(Time now, const AckBlocks& ack) {
    DSTCC_CHECK(ack.cumulative <= tcp_.snd_nxt, "nothing is acknowledged before it is sent");
    tcp_.one_way_ns = ack.one_way_ns;
    tcp_.ack_has_sacks = ack.sacks > 0;
    tcp_.was_open = nothing_missing();
    const std::int64_t acked = !nothing_amiss(ack) ? (lengthens_first_block(ack) ? handle_lengthening_ack(now, ack)
                                                                                 : handle_doubtful_ack(now, ack))
                               : ack.cumulative > tcp_.snd_una ? handle_clean_ack(now, ack.cumulative)
                                                               : handle_empty_ack(now, ack);
    DSTCC_CHECK(tcp_.cwnd >= 1, "cwnd >= 1");
    return acked;
}

}  // namespace dstcc
