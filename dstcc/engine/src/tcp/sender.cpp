#include "tcp/sender.hpp"

namespace dstcc {

namespace {

constexpr double kMinRttWindowS = 300;  // Linux tcp_min_rtt_wlen

}  // namespace

Subflow::Subflow(const TransportConfig& transport, std::unique_ptr<CongestionControl> control, TcpState initial)
    : tcp_(initial),
      control_(std::move(control)),
      tells_sends_(control_->wants_sends()),
      takes_acks_(control_->takes_acks()),
      wants_rates_(control_->wants_rates()),
      deaf_(control_->deaf_until(0) == kNever && !tells_sends_),
      constants_(transport.constants) {
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
    set_rto();
    tcp_.delivered_ns = tcp_.first_sent_ns = tcp_.last_sent_ns = now;
    control_->init(tcp_, now);
    DSTCC_CHECK(tcp_.cwnd >= 1, "cwnd >= 1");
}

// Nothing is in flight: nothing was to be sent, or all that was is held to be lost (Linux tcp_event_data_sent).
void Subflow::restart(Time now) {
    control_->on_event(tcp_, CaEvent::kIdleRestart, now);
    if (tcp_.packets_out() > 0) return;
    rack_cursor_ = tcp_.snd_nxt;
    tcp_.first_sent_ns = tcp_.delivered_ns = now;
}

// What every transmission notes of a segment.
void Subflow::stamp(Time now, Segment& segment) {
    segment.sent_ns = now;
    segment.flags =
        static_cast<std::uint8_t>((segment.flags & ~kAppLimited) | (tcp_.app_limited != 0 ? kAppLimited : 0));
    tcp_.last_sent_ns = now;
}

bool Subflow::poll_retransmit(std::int64_t& number) {
    if (new_data_first_) return false;
    while (!to_repeat_.empty()) {
        const std::int64_t candidate = to_repeat_.least();
        if (candidate >= tcp_.snd_una) {
            const std::uint8_t flags = segments_[candidate].flags;
            if ((flags & kLost) != 0 && (flags & (kSacked | kRetransOut)) == 0) {
                number = candidate;
                return true;
            }
        }
        to_repeat_.drop_below(candidate + 1);
    }
    return false;
}

void Subflow::mark_retransmitted(Time now, std::int64_t number) {
    Segment& segment = segments_[number];
    if (tcp_.in_flight() == 0) restart(now);
    stamp(now, segment);
    if (wants_rates_) stamps_[number] = rate_stamp(now);
    segment.flags |= kEverRetrans;
    repeats_.push_back({number, now});
    if (undo_stamp_ == kNever) undo_stamp_ = now;
    if (probing_) {  // Linux does not count it as in flight once more (tcp_send_loss_probe)
        probing_ = false;
        probe_repeats_ = true;
        return pace(now, segment.bytes + tcp_.wire_bytes - tcp_.mss_bytes);
    }
    segment.flags |= kRetransOut;
    ++tcp_.retrans_out;
    holds_ = timed_out_;
    timed_out_ = false;
    ++prr_out_;
    pace(now, segment.bytes + tcp_.wire_bytes - tcp_.mss_bytes);
    if (timer_kind_ != Timer::kNone && (number != tcp_.snd_una || timer_kind_ == Timer::kReorder)) return;
    timer_kind_ = Timer::kNone;  // the timeout anew, from now
    arm(now);
}

}  // namespace dstcc
