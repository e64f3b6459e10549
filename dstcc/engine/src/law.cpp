#include "law.hpp"

namespace dstcc {

LawBench::LawBench(const std::string& law, const TransportConfig& transport, std::size_t subflows)
    : transport_(transport), states_(subflows) {
    for (std::size_t i = 0; i < subflows; ++i) {
        TcpState& tcp = states_[i];
        tcp.constants = &transport_.constants;
        tcp.mss_bytes = static_cast<std::uint32_t>(transport_.mss_bytes);
        tcp.wire_bytes = tcp.mss_bytes + static_cast<std::uint32_t>(transport_.header_bytes);
        tcp.cwnd = tcp.initial_cwnd = transport_.initial_cwnd;
        tcp.subflow = i;
        tcp.remy_rules = &transport_.remy_rules;
        tcp.link_rate_bps = transport_.open_loop_bps.empty() ? 0 : transport_.open_loop_bps[0];
        tcp.siblings = &established_;
        tcp.is_cwnd_limited = true;
        controls_.push_back(make_congestion(law));
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
    DSTCC_CHECK(segments >= 0 && segments <= tcp.packets_out(), "nothing is acknowledged before it is sent");
    RateSample sample;
    sample.acked_sacked = segments;
    sample.prior_in_flight = tcp.in_flight();
    sample.rtt_ns = rtt;
    sample.delivered = sample.prior_in_flight;
    sample.interval_ns = rtt;
    sample.prior_delivered = tcp.delivered;
    tcp.snd_una += segments;
    tcp.delivered += static_cast<std::uint64_t>(segments);
    tcp.delivered_ns = now;
    tcp.last_rtt_ns = rtt;
    tcp.min_rtt_ns = std::min(tcp.min_rtt_ns, rtt);
    tcp.one_way_ns = one_way;
    controls_[i]->pkts_acked(tcp, segments, rtt, now);
    if (!controls_[i]->cong_control(tcp, sample, now)) controls_[i]->cong_avoid(tcp, segments, now);
}

void LawBench::lose(std::size_t i, std::int64_t segments, Time now) {
    TcpState& tcp = states_.at(i);
    CongestionControl& control = *controls_[i];
    tcp.lost += static_cast<std::uint64_t>(segments);
    tcp.prior_cwnd = tcp.cwnd;
    const std::int64_t threshold = control.ssthresh(tcp, now);
    if (!control.owns_window()) tcp.ssthresh = threshold;
    tcp.ca_state = CaState::kRecovery;
    tcp.cwnd_cnt = 0;
    control.on_event(tcp, CaEvent::kEnterRecovery, now);
    tcp.ca_state = CaState::kOpen;
    if (control.governs_recovery()) return;
    if (tcp.ssthresh < kInfiniteWindow) tcp.cwnd = tcp.ssthresh;
    control.on_event(tcp, CaEvent::kExitReduction, now);
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
}

}  // namespace dstcc
