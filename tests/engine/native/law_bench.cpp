#include "law_bench.hpp"

namespace dstcc {

LawBench::LawBench(const std::string& law, const TransportConfig& transport, std::size_t subflows, double line_bps,
                   std::int64_t bdp_segments)
    : transport_(transport),
      states_(subflows) {
    for (std::size_t i = 0; i < subflows; ++i) {
        TcpState& tcp = states_[i];
        tcp.constants = &transport_.constants;
        tcp.mss_bytes = static_cast<std::uint32_t>(transport_.mss_bytes);
        tcp.wire_bytes = tcp.mss_bytes + static_cast<std::uint32_t>(transport_.header_bytes);
        tcp.cwnd = tcp.initial_cwnd = transport_.initial_cwnd;
        tcp.subflow = i;
        tcp.siblings = &established_;
        tcp.is_cwnd_limited = true;
        controls_.push_back(make_congestion(transport_, law, {tcp, i, line_bps, bdp_segments}));
    }
}

void LawBench::establish(std::size_t i, Time now, Time rtt) {
    TcpState& tcp = states_.at(i);
    tcp.srtt_ns = tcp.min_rtt_ns = tcp.last_rtt_ns = rtt;
    tcp.delivered_ns = tcp.first_sent_ns = tcp.last_sent_ns = now;
    established_.push_back(&tcp);
    controls_[i]->init(tcp, now);
}

void LawBench::send(std::size_t i, std::int64_t segments, Time now) {
    TcpState& tcp = states_.at(i);
    tcp.snd_nxt += segments;
    tcp.max_packets_out = tcp.packets_out();
    tcp.last_sent_ns = now;
    controls_[i]->on_sent(tcp, now);
}

void LawBench::ack(std::size_t i, std::int64_t segments, Time rtt, Time now, Time one_way) {
    TcpState& tcp = states_.at(i);
    RateSample flight;
    flight.acked_sacked = segments;
    flight.prior_in_flight = tcp.in_flight();
    flight.rtt_ns = rtt;
    flight.delivered = flight.prior_in_flight;
    flight.interval_ns = rtt;
    flight.prior_delivered = tcp.delivered;
    tcp.one_way_ns = one_way;
    sample(i, flight, now);
}

void LawBench::sample(std::size_t i, const RateSample& sample, Time now) {
    TcpState& tcp = states_.at(i);
    const std::int64_t segments = sample.acked_sacked;
    DSTCC_CHECK(segments >= 0 && segments <= tcp.packets_out(), "nothing is acknowledged before it is sent");
    tcp.snd_una += segments;
    tcp.delivered += static_cast<std::uint64_t>(segments);
    tcp.delivered_ns = now;
    tcp.last_rtt_ns = sample.rtt_ns;
    if (sample.rtt_ns >= 0) tcp.min_rtt_ns = std::min(tcp.min_rtt_ns, sample.rtt_ns);
    tcp.was_open = tcp.ca_state == CaState::kOpen;
    controls_[i]->pkts_acked(tcp, segments, sample.rtt_ns, now);
    if (!controls_[i]->cong_control(tcp, sample, now)) controls_[i]->cong_avoid(tcp, segments, now);
}

void LawBench::lose(std::size_t i, std::int64_t segments, Time now) {
    enter_recovery(i, segments, now);
    leave_recovery(i, now);
}

void LawBench::enter_recovery(std::size_t i, std::int64_t segments, Time now) {
    TcpState& tcp = states_.at(i);
    CongestionControl& control = *controls_[i];
    tcp.lost += static_cast<std::uint64_t>(segments);
    tcp.prior_cwnd = tcp.cwnd;
    const std::int64_t threshold = control.ssthresh(tcp, now);
    if (!control.owns_window()) tcp.ssthresh = threshold;
    tcp.ca_state = CaState::kRecovery;
    tcp.cwnd_cnt = 0;
    control.on_event(tcp, CaEvent::kEnterRecovery, now);
}

void LawBench::leave_recovery(std::size_t i, Time now) {
    TcpState& tcp = states_.at(i);
    CongestionControl& control = *controls_[i];
    tcp.ca_state = CaState::kOpen;
    if (control.governs_recovery()) return;
    if (tcp.ssthresh < kInfiniteWindow) tcp.cwnd = tcp.ssthresh;
    control.on_event(tcp, CaEvent::kExitReduction, now);
}

void LawBench::restart_idle(std::size_t i, Time now) {
    controls_.at(i)->on_event(states_.at(i), CaEvent::kIdleRestart, now);
}

void LawBench::undo(std::size_t i, Time now) {
    controls_.at(i)->on_undo(states_.at(i), now);
    states_.at(i).ca_state = CaState::kOpen;
}

void LawBench::time_out(std::size_t i, Time now) {
    TcpState& tcp = states_.at(i);
    CongestionControl& control = *controls_[i];
    const std::int64_t threshold = control.ssthresh(tcp, now);
    if (!control.owns_window()) tcp.ssthresh = threshold;
    control.on_event(tcp, CaEvent::kEnterLoss, now);
    tcp.ca_state = CaState::kLoss;
    tcp.cwnd_cnt = 0;
    if (!control.owns_window()) tcp.cwnd = 1;
    control.on_event(tcp, CaEvent::kLossState, now);
}

}  // namespace dstcc
