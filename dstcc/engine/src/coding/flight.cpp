#include "coding/flight.hpp"

namespace dstcc {

namespace {

constexpr std::int64_t kPacketThreshold = 3;        // RFC 9002 section 6.1.1
constexpr Time kTimeNumerator = 9, kTimeParts = 8;  // section 6.1.2
constexpr Time kSilenceRtts = 4;                    // for so long an answer's delay is remembered
constexpr Time kPersistent = 3;                     // PTOs, section 7.6.1
constexpr std::int64_t kLeastWindow = 2;            // section 7.2
constexpr unsigned kMaxBackoff = 30;
constexpr std::int64_t kFew = 4;  // ACKs, of which each by itself costs no more
constexpr Time kLooks = 4;        // at what a packet waited for
constexpr Time kProbes = 16;  // of a silent path whose control uses reports: in a round trip, or one of so many packets
constexpr std::int64_t kPrefetch = 8;   // packets ahead in a ring; see tcp/sender_acks.cpp for what it saves
constexpr Time kExact = Time{1} << 50;  // a double has as many nanoseconds
constexpr double kMinRttWindowS = 300;  // Linux tcp_min_rtt_wlen, as tcp/sender.cpp has it

}  // namespace

Flight::Flight(const TransportConfig& transport, std::unique_ptr<CongestionControl> control, const TcpState& initial)
    : tcp_(initial),
      control_(std::move(control)),
      tells_sends_(control_->wants_sends()),
      takes_acks_(control_->takes_acks()),
      wants_rates_(control_->wants_rates()),
      wants_queue_(control_->wants_queue()),
      wants_reports_(control_->wants_reports()),
      owns_window_(control_->owns_window()),
      deaf_(control_->deaf_until(0) == kNever && !tells_sends_),
      constants_(transport.constants) {
    tcp_.constants = &transport.constants;
    tcp_.cwnd = tcp_.initial_cwnd = transport.initial_cwnd;
    min_rtt_window_ = static_cast<Time>(kMinRttWindowS * constants_.scale * kNsPerS);
}

void Flight::establish(Time now, Time rtt) {
    established_ = true;
    rtt_.sample(std::max<Time>(rtt, 1), constants_.rto_min, false);
    tcp_.srtt_ns = rtt_.srtt();
    tcp_.last_rtt_ns = tcp_.min_rtt_ns = rtt;
    min_rtt_.sample(rtt, now, kNever / 4);
    tcp_.delivered_ns = tcp_.first_sent_ns = tcp_.last_sent_ns = progress_ns_ = now;
    control_->init(tcp_, now);
    DSTCC_CHECK(tcp_.cwnd >= 1, "cwnd >= 1");
}

double Flight::rate() const {
    if (!established_) return 0;
    if (tcp_.pacing_bytes_per_ns > 0) return tcp_.pacing_bytes_per_ns * press_;
    if (tcp_.cwnd >= kInfiniteWindow || tcp_.srtt_ns <= 0) return 0;
    return static_cast<double>(tcp_.cwnd) * tcp_.wire_bytes / static_cast<double>(tcp_.srtt_ns);
}

// With the first packet after a time in which nothing was in flight.
void Flight::leave_rest(Time now) {
    control_->on_event(tcp_, CaEvent::kIdleRestart, now);
    if (tcp_.packets_out() == 0) tcp_.first_sent_ns = tcp_.delivered_ns = progress_ns_ = now;
}

void Flight::stamp(Time now) {
    stamps_.push_back({static_cast<std::uint32_t>(tcp_.delivered), static_cast<float>(now - tcp_.delivered_ns),
                       static_cast<float>(now - tcp_.first_sent_ns)});
}

void Flight::watch_queue(Time now, const QueueSeen& seen) {
    const Time gap = control_->on_queue(tcp_, seen, now);
    const bool as_it_is = press_ == 1 && gap < kExact;
    tcp_.pacing_until_ns = now + (as_it_is ? gap : static_cast<Time>(static_cast<double>(gap) / press_ + 0.5));
}

void Flight::finish_sending(bool starved, bool window_full) {
    if (tcp_.snd_una >= tcp_.cwnd_usage_seq || window_full ||
        (!tcp_.is_cwnd_limited && tcp_.packets_out() > tcp_.max_packets_out)) {
        tcp_.is_cwnd_limited = window_full;
        tcp_.max_packets_out = tcp_.packets_out();
        tcp_.cwnd_usage_seq = tcp_.snd_nxt;
    }
    if (starved && tcp_.marks_app_limited && tcp_.in_flight() < tcp_.cwnd)
        tcp_.app_limited = std::max<std::uint64_t>(tcp_.delivered + static_cast<std::uint64_t>(tcp_.in_flight()), 1);
}

// ------------------------------------------------------------------------------------------------------------ timers

Time Flight::probe_timeout() const { return rtt_.rto() + constants_.delayed_ack; }

// When a packet that was sent then is answered, if its path is not silent.
Time Flight::answered_by(Time sent) const {
    if (rtt_samples_ == 0 && !clock_) return sent + probe_timeout();
    const Time round_trip = tcp_.srtt_ns / kTimeParts * kTimeNumerator + constants_.delayed_ack;
    if (rtt_samples_ == 0) return std::max(clock_->due_up(sent), sent + round_trip);
    const Time late = std::max<Time>(-spare_.value(), 0);
    return late + planned_wait(sent) + sent + round_trip;
}

// What was sent then waited for a contact further on, by the plan: at once, or in a queue that was there when its line closed.
bool Flight::waited(Time sent, Time took) const {
    if (!clock_ || !clock_->over_nodes()) return false;
    const Time queued = std::max<Time>(took - tcp_.light_ns, 0);
    for (Time part = 0; part < kLooks; ++part)
        if (clock_->waits_there(sent + queued / kLooks * part) > 0) return true;
    return false;
}

Time Flight::next_timer() const {
    if (!established_ || tcp_.in_flight() == 0) return kNever;
    const Time sent = packets_.front_sent_ns(), timeout = probe_timeout();
    if (wants_reports_ && backoff_ == 0)
        return std::min(loss_ns_, std::max(answered_by(sent), sent < resumed_ns_ ? answered_by(resumed_ns_) : 0));
    if (wants_reports_ && rate() > 0) {
        const auto packets = static_cast<Time>(kProbes * tcp_.wire_bytes / rate());
        return std::min(loss_ns_, tcp_.last_sent_ns + std::max(tcp_.srtt_ns / kProbes, packets));
    }
    const Time wait = timeout > (kNever / 4 >> backoff_) ? kNever / 4 : timeout << backoff_;
    return std::min(loss_ns_, std::max(progress_ns_, sent) + wait);
}

bool Flight::handle_timer(Time now) {
    fates_.clear();
    if (next_timer() > now) return false;
    if (loss_ns_ <= now) {
        const std::uint64_t lost = tcp_.lost;
        if (judge(now, largest_)) reduce(now);
        advance();
        if (tcp_.lost != lost) return true;
        if (next_timer() > now) return false;
    }
    ++timeouts_;
    if (backoff_ == 0) silent_ns_ = now;
    if (backoff_ < kMaxBackoff) ++backoff_;
    probing_ = true;
    if (wants_reports_) doubt(now);
    return true;
}

// Of a silent path all that would have been answered by now.
void Flight::doubt(Time now) {
    for (doubted_ = std::max(doubted_, tcp_.snd_una); doubted_ < tcp_.snd_nxt; ++doubted_) {
        packets_.take_apart(doubted_ + 1);
        SentPacket& packet = packets_[doubted_];
        if (answered_by(packet.sent_ns) > now) break;
        if ((packet.flags & (kArrived | kGone)) != 0) continue;
        packet.flags |= kDoubted;
        fates_.push_back({packet, true, false, false});
    }
}

// ------------------------------------------------------------------------------------------------- acknowledgements

inline void Flight::take_rtt(Time now, Time sample) {
    const bool round_passed = largest_ > round_end_;
    if (round_passed) round_end_ = tcp_.snd_nxt;
    ++rtt_samples_;
    rtt_.sample(std::max<Time>(sample, 1), constants_.rto_min, round_passed);
    tcp_.srtt_ns = rtt_.srtt();
    tcp_.last_rtt_ns = sample;
    min_rtt_.sample(sample, now, min_rtt_window_);
    tcp_.min_rtt_ns = min_rtt_.value();
}

// Of packets that were in flight, of which the first was sent then.
[[gnu::always_inline]] inline void Flight::note_delivery(Time now, Time sent) {
    const Time foreseen = tcp_.srtt_ns + planned_wait(sent);
    spare_.sample(foreseen - (now - sent), now, kSilenceRtts * tcp_.srtt_ns);
    tcp_.delivered_ns = progress_ns_ = now;
    if (tcp_.app_limited != 0 && tcp_.delivered > tcp_.app_limited) tcp_.app_limited = 0;
    backoff_ = 0;
    probing_ = false;
}

// Of the largest number yet: its round trip.
[[gnu::always_inline]] inline Time Flight::take_newest(Time now, std::int64_t newest, const Latest& latest,
                                                       Time wait_ns) {
    largest_ = newest;
    Time rtt_ns = now - latest.sent_ns;
    if (rtt_ns - wait_ns >= tcp_.min_rtt_ns) rtt_ns -= wait_ns;  // RFC 9002 section 5.3
    rtt_sum_ns_ += static_cast<double>(rtt_ns);
    const Time planned =
        planned_wait(latest.sent_ns);  // at most: a short answer may just have been in time for a contact
    if (rtt_ns - planned >= tcp_.min_rtt_ns) rtt_ns -= planned;
    take_rtt(now, rtt_ns);
    if (tcp_.ca_state != CaState::kOpen && newest >= recovery_end_) leave_reduction(now);
    return rtt_ns;
}

// A number that an ACK covers; true if it was in flight until now.
bool Flight::take(std::int64_t number, Latest& latest) {
    SentPacket& packet = packets_[number];
    if ((packet.flags & (kArrived | kGone)) != 0) return false;
    packet.flags |= kArrived;
    ++tcp_.sacked_out;
    ++tcp_.delivered;
    fates_.push_back({packet, false, (packet.flags & kDoubted) != 0});
    latest.sent_ns = packet.sent_ns;
    latest.app_limited = (packet.flags & kLimited) != 0;
    if (wants_rates_) latest.stamp = stamps_[number];
    return true;
}

void Flight::lose(std::int64_t number) {
    SentPacket& packet = packets_[number];
    packet.flags |= kGone;
    ++tcp_.lost_out;
    ++tcp_.lost;
    fates_.push_back({packet, true, (packet.flags & kDoubted) != 0});
    if (number != lost_next_) {
        lost_since_ns_ = packet.sent_ns;
        ++loss_runs_;
    }
    lost_next_ = number + 1;
}

// Between what is known and what the ACK names first.
void Flight::pass_over(const PacketAck& ack) {
    const std::int64_t from = std::max(largest_ + 1, tcp_.snd_una), to = ack.ranges[0].begin, packets = to - from;
    if (packets <= 0) return;
    const std::int64_t lost = packets - std::clamp<std::int64_t>(ack.before - counted_, 0, packets);
    for (std::int64_t i = 0; i < packets; ++i) {
        SentPacket& packet = packets_[from + i];
        const bool arrived = (i + 1) * lost / packets == i * lost / packets;
        packet.flags |= arrived ? kArrived : kGone;
        ++(arrived ? tcp_.sacked_out : tcp_.lost_out);
        ++(arrived ? tcp_.delivered : tcp_.lost);
        fates_.push_back({packet, !arrived, (packet.flags & kDoubted) != 0, true, false});
    }
}

// What is lost of what was sent before `largest`; true if one of it was sent since the last reduction.
bool Flight::judge(Time now, std::int64_t largest) {
    const Time round_trip = std::max(tcp_.srtt_ns, tcp_.last_rtt_ns);
    const Time patience = round_trip / kTimeParts * kTimeNumerator;
    bool anew = false;
    loss_ns_ = kNever;
    for (std::int64_t n = tcp_.snd_una; n < largest; ++n) {
        const SentPacket& packet = packets_[n];
        if ((packet.flags & (kArrived | kGone)) != 0) continue;
        const Time due = packet.sent_ns + patience;
        if (largest - n < kPacketThreshold && due > now) {
            loss_ns_ = std::min(loss_ns_, due);
            continue;
        }
        lose(n);
        anew = anew || n >= recovery_end_;
        if (packet.sent_ns - lost_since_ns_ >= kPersistent * probe_timeout()) collapse(now);
    }
    return anew;
}

// Forget what is decided.
void Flight::advance() {
    while (tcp_.snd_una < packets_.apart()) {
        const std::uint8_t flags = packets_.front().flags;
        if ((flags & (kArrived | kGone)) == 0) break;
        --((flags & kArrived) != 0 ? tcp_.sacked_out : tcp_.lost_out);
        packets_.pop_front();
        if (wants_rates_) stamps_.pop_front();
        ++tcp_.snd_una;
    }
}

void Flight::handle_ack(Time now, const PacketAck& ack) {
    fates_.clear();
    tcp_.one_way_ns = ack.one_way_ns;
    tcp_.was_open = tcp_.ca_state == CaState::kOpen && tcp_.lost_out == 0;
    tcp_.ack_has_sacks = ack.count > 1;
    const std::int64_t newest = ack.ranges[ack.count - 1].end - 1;
    DSTCC_CHECK(newest < tcp_.snd_nxt, "nothing is acknowledged before it is sent");
    packets_.take_apart(newest + 1);
    if (newest > largest_ && waited(packets_[newest].sent_ns, ack.one_way_ns)) tcp_.one_way_ns = -1;
    const std::int64_t in_flight = tcp_.in_flight();
    const std::uint64_t lost = tcp_.lost;
    Latest latest;
    for (int i = 0; i < ack.count; ++i)
        for (std::int64_t n = std::max(ack.ranges[i].begin, tcp_.snd_una); n < ack.ranges[i].end; ++n) take(n, latest);
    if (!fates_.empty()) note_delivery(now, fates_.front().packet.sent_ns);
    const auto named = static_cast<std::int64_t>(fates_.size());
    if (ack.before >= 0) pass_over(ack);
    counted_ = ack.before < 0 ? counted_ + named : ack.before;
    for (int i = 0; ack.before >= 0 && i < ack.count; ++i) counted_ += ack.ranges[i].end - ack.ranges[i].begin;
    std::int64_t delivered = 0, bytes = 0;
    for (const Fate& fate : fates_) {
        delivered += !fate.lost;
        if (!fate.lost) bytes += fate.packet.bytes;
    }
    Time rtt_ns = -1;
    if (newest > largest_) rtt_ns = take_newest(now, newest, latest, ack.wait_ns);
    if (judge(now, largest_)) reduce(now);
    advance();
    control_window(now, latest, delivered, bytes, in_flight, lost, rtt_ns);
    DSTCC_CHECK(tcp_.cwnd >= 1 && tcp_.sacked_out >= 0 && tcp_.lost_out >= 0 && tcp_.in_flight() >= 0,
                "the scoreboard adds up");
}

// Off the front, and into heard().
[[gnu::always_inline]] inline Flight::Row Flight::take_row(std::int64_t end, Time one_way_ns) {
    heard_.clear();
    Row row;
    row.oldest_ns = packets_.front().sent_ns;
    tcp_.delivered += static_cast<std::uint64_t>(end - tcp_.snd_una);
    for (Heard* group = nullptr; tcp_.snd_una < end;) {
        const SentPacket& packet = packets_.front();
        const SentPackets::Alike alike = packets_.alike();
        const std::int64_t count = std::min(alike.count, end - tcp_.snd_una);
        const bool doubted = (packet.flags & kDoubted) != 0;
        if (group == nullptr || group->block != packet.block || group->object != packet.object ||
            group->doubted != doubted) {
            group = &heard_.emplace_back();
            group->block = packet.block;
            group->object = packet.object;
            group->doubted = doubted;
            group->first_ns = packet.sent_ns;
        }
        group->packets += static_cast<std::uint32_t>(count);
        group->bytes += count * packet.bytes;
        row.bytes += count * packet.bytes;
        row.latest.sent_ns = group->last_ns = packet.sent_ns + (count - 1) * alike.spacing;
        packets_.pop_alike(count);
        packets_.prefetch_ahead(kPrefetch);
        tcp_.snd_una += count;
    }
    tcp_.one_way_ns = waited(row.latest.sent_ns, one_way_ns) ? -1 : one_way_ns;
    return row;
}

bool Flight::handle_next_ack(Time now, Range newest, Time wait_ns, Time one_way_ns) {
    if (newest.begin > tcp_.snd_una || newest.end <= tcp_.snd_una || tcp_.snd_una != largest_ + 1) return false;
    if (loss_ns_ != kNever || !paced_only()) return false;
    DSTCC_CHECK(newest.end <= tcp_.snd_nxt, "nothing is acknowledged before it is sent");
    hear_row(now, newest.end, wait_ns, one_way_ns, false);
    return true;
}

// `behind`: after packets that left later, or then.
[[gnu::always_inline]] inline void Flight::hear_row(Time now, std::int64_t end, Time wait_ns, Time one_way_ns,
                                                    bool behind) {
    const std::int64_t in_flight = tcp_.in_flight(), delivered = end - tcp_.snd_una;
    const Row row = take_row(end, one_way_ns);
    counted_ += delivered;
    note_delivery(now, row.oldest_ns);
    const Time rtt_ns = take_newest(now, end - 1, row.latest, wait_ns);
    if (deaf_)
        tcp_.first_sent_ns = row.latest.sent_ns;
    else
        control_window(now, row.latest, delivered, row.bytes, in_flight, tcp_.lost, rtt_ns, behind);
}

void Flight::count(Time now, std::int64_t end, Time wait_ns, Time one_way_ns) {
    hear_row(now, end, wait_ns, one_way_ns, true);
}

// When timers go off at the soonest, of all packets that are in flight or will be.
Time Flight::next_timers(Time now, Time round_trip) const {
    if (!wants_reports_) return now + constants_.rto_min + 1;
    return packets_.front_sent_ns() +
           std::min({round_trip, tcp_.min_rtt_ns, tcp_.srtt_ns}) / kTimeParts * kTimeNumerator;
}

void Flight::count(const Run& times, std::int64_t first, std::int64_t each, Time wait_ns, Time one_way_ns,
                   Time longer_ns) {
    const std::int64_t bytes = packets_.front().bytes, in_flight = tcp_.in_flight();
    const Time apart = packets_.alike().spacing;
    const Time oldest = packets_.front_sent_ns();
    const std::int64_t packets = first + (times.count - 1) * each;
    const Row row = take_row(tcp_.snd_una + packets, one_way_ns + (times.count - 1) * longer_ns);
    counted_ += packets;
    std::int64_t newest = tcp_.snd_una - 1 - (times.count - 1) * each;
    Time sent = oldest, last = oldest + (first - 1) * apart;
    for (std::int64_t k = 0; k < times.count; ++k) {
        note_delivery(times.at(k), sent);
        const Latest latest{last, {}, false};
        const Time rtt_ns = take_newest(times.at(k), newest, latest, wait_ns);
        if (!deaf_) {
            tcp_.one_way_ns = one_way_ns + k * longer_ns;
            const std::int64_t delivered = k == 0 ? first : each, left = tcp_.snd_una - 1 - newest;
            control_window(times.at(k), latest, delivered, delivered * bytes, in_flight - packets + left + delivered,
                           tcp_.lost, rtt_ns, true);
        }
        newest += each;
        sent = last + apart;
        last += each * apart;
        const std::int64_t alike = k == 0 && deaf_ && times.spacing == each * apart ? times.count - 2 : 0;
        if (alike < kFew || !hear_alike(alike, times.at(alike), times.at(1) - sent, times.at(1) - last, wait_ns))
            continue;
        k += alike;
        newest += alike * each;
        sent += alike * times.spacing;
        last += alike * times.spacing;
    }
    tcp_.first_sent_ns = row.latest.sent_ns;
}

// Of ACKs one after another, of which the oldest and the newest packet took as long as those of the others, and that begin no round trip;
// false where there is more to it.
bool Flight::hear_alike(std::int64_t acks, Time last, Time oldest_took, Time newest_took, Time wait_ns) {
    if (answers_wait_) return false;
    const Time rtt_ns = newest_took - (newest_took - wait_ns >= tcp_.min_rtt_ns ? wait_ns : 0);
    RttEstimator rtt = rtt_;
    double sum_ns = rtt_sum_ns_;
    Time srtt = 0;  // between what it is and the round trip
    bool settled = false;
    for (std::int64_t k = 0; k < acks; ++k) {
        sum_ns += static_cast<double>(rtt_ns);
        if (settled) continue;
        const RttEstimator before = rtt;
        srtt = before.srtt();
        rtt.sample(std::max<Time>(rtt_ns, 1), constants_.rto_min, false);
        settled = rtt == before;
    }
    srtt = std::min(srtt, tcp_.srtt_ns);
    if (min_rtt_.ends(last, min_rtt_window_) || spare_.ends(last, kSilenceRtts * srtt)) return false;
    rtt_ = rtt;
    rtt_sum_ns_ = sum_ns;
    rtt_samples_ += acks;
    tcp_.srtt_ns = rtt_.srtt();
    min_rtt_.sample(rtt_ns, last, min_rtt_window_);
    tcp_.min_rtt_ns = min_rtt_.value();
    spare_.sample(srtt - oldest_took, last, kSilenceRtts * srtt);
    return true;
}

// As tcp/sender_acks.cpp's, of packets that are never sent again.
void Flight::control_window(Time now, const Latest& latest, std::int64_t delivered, std::int64_t delivered_bytes,
                            std::int64_t in_flight, std::uint64_t lost, Time rtt_ns, bool behind) {
    if (delivered > 0) control_->pkts_acked(tcp_, delivered, rtt_ns, now);
    bool governed = false;
    if (takes_acks_) {
        // As if light took as long then as it does now.
        if (clock_ && wants_queue_ && tcp_.one_way_ns >= 0)
            tcp_.one_way_ns += tcp_.light_ns - clock_->light_ns(latest.sent_ns);
        RateSample sample;
        sample.acked_sacked = delivered;
        if (wants_queue_) sample.acked_bytes = delivered_bytes + delivered * (tcp_.wire_bytes - tcp_.mss_bytes);
        sample.losses = static_cast<std::int64_t>(tcp_.lost - lost);
        sample.prior_in_flight = in_flight;
        sample.behind = behind;
        sample.rtt_ns = rtt_ns;
        if (rtt_ns >= 0) sample.sent_ns = latest.sent_ns;
        if (wants_rates_ && delivered > 0) {
            const std::uint32_t carried = static_cast<std::uint32_t>(tcp_.delivered) - latest.stamp.delivered;
            sample.delivered = carried;
            sample.prior_delivered = tcp_.delivered - carried;
            sample.is_app_limited = latest.app_limited;
            const Time sending = static_cast<Time>(latest.stamp.since_first);
            const Time answering = now - latest.sent_ns + static_cast<Time>(latest.stamp.since_delivered);
            sample.interval_ns = std::max(sending, answering);
        }
        governed = control_->cong_control(tcp_, sample, now);
    }
    if (!governed && delivered > 0 && tcp_.ca_state == CaState::kOpen) control_->cong_avoid(tcp_, delivered, now);
    if (delivered > 0) tcp_.first_sent_ns = latest.sent_ns;
}

// ------------------------------------------------------------------------------------------------------- reductions

void Flight::reduce(Time now) {
    if (tcp_.ca_state == CaState::kLoss) return;  // persistent congestion has taken more
    tcp_.prior_cwnd = tcp_.cwnd;
    const std::int64_t threshold = control_->ssthresh(tcp_, now);
    if (!control_->owns_window()) tcp_.ssthresh = threshold;
    tcp_.ca_state = CaState::kRecovery;
    tcp_.cwnd_cnt = 0;
    recovery_end_ = tcp_.snd_nxt;
    control_->on_event(tcp_, CaEvent::kEnterRecovery, now);
    if (!control_->governs_recovery()) tcp_.cwnd = std::max<std::int64_t>(std::min(tcp_.cwnd, tcp_.ssthresh), 1);
}

void Flight::collapse(Time now) {
    if (tcp_.ca_state == CaState::kLoss) return;
    tcp_.prior_cwnd = tcp_.cwnd;
    const std::int64_t threshold = control_->ssthresh(tcp_, now);
    if (!control_->owns_window()) tcp_.ssthresh = threshold;
    control_->on_event(tcp_, CaEvent::kEnterLoss, now);
    tcp_.ca_state = CaState::kLoss;
    tcp_.cwnd_cnt = 0;
    recovery_end_ = tcp_.snd_nxt;
    if (!control_->owns_window()) tcp_.cwnd = std::min(tcp_.cwnd, kLeastWindow);
    control_->on_event(tcp_, CaEvent::kLossState, now);
}

void Flight::leave_reduction(Time now) {
    const bool reduced = tcp_.ca_state == CaState::kRecovery;
    tcp_.ca_state = CaState::kOpen;
    if (!reduced || control_->governs_recovery()) return;
    control_->on_event(tcp_, CaEvent::kExitReduction, now);
}

}  // namespace dstcc
