// Segments that leave in runs, and ACKs that let them.
#include "tcp/sender.hpp"

namespace dstcc {

Time Subflow::append_run(const Run& times, std::uint32_t object, std::uint32_t order, std::uint16_t bytes) {
    const bool missing = !nothing_missing();
    if (tcp_.in_flight() == 0 || wants_rates_ || timer_kind_ == Timer::kNone ||
        (missing && timer_kind_ == Timer::kProbe)) {
        Time least = kNever;
        for (std::int64_t k = 0; k < times.count; ++k) {
            append(times.at(k), object, order + static_cast<std::uint32_t>(k), bytes);
            least = std::min(least, timer_);
        }
        return least;
    }
    const std::uint8_t flags = tcp_.app_limited != 0 ? kAppLimited : 0;
    for (Run left = times; left.count > 0; left.drop(1)) {
        Segment& segment = segments_.emplace_back();
        segment.sent_ns = left.first;
        segment.object = object;
        segment.order = order++;
        segment.bytes = bytes;
        segment.flags = flags;
    }
    const Time last = times.last();
    tcp_.last_sent_ns = last;
    tcp_.snd_nxt += times.count;
    prr_out_ += times.count;
    tcp_.pacing_until_ns = times.at(times.count);
    if (missing) return timer_;
    const Time due = segments_.front().sent_ns + rto();
    rto_at_ = due;  // later than all of them
    arm_probe(times.first);
    const Time least = timer_;
    arm_probe(last);
    return least;
}

// What handle_ack() does of each, with what append() and finish_sending() do of what leaves.
Subflow::Clocked Subflow::clock(std::int64_t to, const Run& times, std::int64_t each, std::int64_t most, Time timer,
                                std::vector<Volleys>& left) {
    Clocked done;
    const bool plain = nothing_missing() && !stale() && !holds_ && !probing_ && !new_data_first_ && probe_high_ < 0 &&
                       timer_kind_ != Timer::kReorder && repeats_.empty() && to_repeat_.empty();
    if (!plain || paced(times.first) || takes_acks_ || wants_rates_ || acked_ != nullptr || tcp_.app_limited != 0 ||
        to <= tcp_.snd_una)
        return done;
    tcp_.one_way_ns = -1;
    tcp_.ack_has_sacks = false;
    tcp_.was_open = true;
    const Time jiffy = constants_.jiffy, rto_min = constants_.rto_min;
    RttEstimator rtt = rtt_;
    double sum = rtt_sum_ns_;
    Time latest_ns = 0;
    for (Run coming = times; coming.count > 0 && coming.first < timer && to < segments_.end() && !done.over;
         coming.drop(1), to += each) {
        const Time now = coming.first, first_ns = now - segments_.front().sent_ns;
        const std::int64_t acked = to - tcp_.snd_una;
        latest_ns = segments_[to - 1].sent_ns;
        segments_.take_front(acked, [&](const Segment& segment) { done.bytes += segment.bytes; });
        ++done.acks;
        tcp_.snd_una = to;
        tcp_.delivered += static_cast<std::uint64_t>(acked);
        tcp_.delivered_ns = now;
        const bool round_passed = to > rtt_round_end_;
        if (round_passed) rtt_round_end_ = tcp_.snd_nxt;
        sum += static_cast<double>(first_ns);
        rtt.sample(std::max<Time>(first_ns, 1), rto_min, round_passed);
        tcp_.srtt_ns = rtt.srtt();
        tcp_.last_rtt_ns = now - latest_ns;
        min_rtt_.sample(tcp_.last_rtt_ns, now, min_rtt_window_);
        tcp_.min_rtt_ns = min_rtt_.value();
        if (const Time wanted = rtt.rto(); wanted > rto_ || rto_ - wanted >= jiffy) set_rto(wanted);
        control_->pkts_acked(tcp_, acked, tcp_.last_rtt_ns, now);
        control_->cong_avoid(tcp_, acked, now);
        DSTCC_CHECK(tcp_.cwnd >= 1, "cwnd >= 1");
        tcp_.first_sent_ns = latest_ns;
        const std::int64_t more = std::max<std::int64_t>(tcp_.cwnd - tcp_.packets_out(), 0);
        done.over = more > most || tcp_.packets_out() == 0 || tcp_.pacing_bytes_per_ns > 0;
        rto_at_ = now + rto_;
        if (more > 0 && !done.over) {
            most -= more;
            if (left.empty() || left.back().each != more || !left.back().times.append({now, 0, 1}))
                left.push_back({{now, 0, 1}, more});
            tcp_.last_sent_ns = now;
            tcp_.snd_nxt += more;
            prr_out_ += more;
            const Time due = segments_.front().sent_ns + rto_;
            rto_at_ = due > now ? due : kNever;
        }
        if (!done.over) {  // finish_sending(), the window full
            tcp_.is_cwnd_limited = true;
            tcp_.max_packets_out = tcp_.packets_out();
            validated_nxt_ = tcp_.cwnd_usage_seq = tcp_.snd_nxt;
        }
        tcp_.packets_out() > 0 ? arm_probe(now) : arm(now);
        done.timer = std::min(done.timer, timer_);
        timer = std::min(timer, timer_);
    }
    if (done.acks == 0) return done;
    rtt_ = rtt;
    rtt_sum_ns_ = sum;
    rtt_samples_ += done.acks;
    rack_cursor_ = tcp_.snd_una;
    rack_rtt_ = tcp_.last_rtt_ns;
    rack_advanced_ = true;
    note_latest(latest_ns, tcp_.snd_una - 1);
    return done;
}

std::int64_t Subflow::append(const Volleys& volleys, std::uint32_t object, std::uint32_t order, std::uint16_t bytes) {
    const std::int64_t number = segments_.end();
    for (Run times = volleys.times; times.count > 0; times.drop(1))
        for (std::int64_t k = 0; k < volleys.each; ++k) {
            Segment& segment = segments_.emplace_back();
            segment.sent_ns = times.first;
            segment.object = object;
            segment.order = order++;
            segment.bytes = bytes;
            segment.flags = 0;
        }
    DSTCC_CHECK(segments_.end() <= tcp_.snd_nxt, "a record per segment in flight");
    return number;
}

}  // namespace dstcc
