#include "tcp/observers.hpp"

namespace dstcc {

namespace {

std::int64_t window_of(const Subflow& sender) {
    return sender.established() ? std::min(sender.tcp().cwnd, kInfiniteWindow) : 0;
}

}  // namespace

void StepLog::note(Time now, std::size_t s, const Subflow& sender) {
    const TcpState& tcp = sender.tcp();
    constexpr std::int8_t kLinux[] = {0, 3, 4};  // TCP_CA_Open, _Recovery, _Loss
    columns_.t_ns.push_back(now);
    columns_.sender.push_back(static_cast<std::int32_t>(s));
    columns_.una.push_back(tcp.snd_una);
    columns_.cwnd.push_back(std::min(tcp.cwnd, kInfiniteWindow));
    columns_.ssthresh.push_back(std::min(tcp.ssthresh, kInfiniteWindow));
    columns_.srtt_ns.push_back(tcp.srtt_ns);
    columns_.rto_ns.push_back(sender.rto());
    columns_.lost.push_back(tcp.lost_out);
    columns_.inflight.push_back(tcp.in_flight());
    columns_.state.push_back(kLinux[static_cast<std::size_t>(tcp.ca_state)]);
    columns_.backoff.push_back(static_cast<std::int8_t>(sender.backoff()));
    columns_.pacing_bps.push_back(tcp.pacing_bytes_per_ns * 8.0 * kNsPerS);
}

void Sampler::take(Time now, std::size_t s, const SendingEndpoint& from) {
    const TcpState& tcp = from.sender.tcp();
    const Counts counts = counts_of(from), &before = before_[s];
    SampleColumns& out = subflows_;
    out.t_ns.push_back(now);
    out.subflow.push_back(static_cast<std::int64_t>(s));
    out.cwnd.push_back(window_of(from.sender));
    out.inflight.push_back(tcp.in_flight());
    out.srtt_ns.push_back(tcp.srtt_ns);
    out.min_rtt_ns.push_back(tcp.min_rtt_ns == kNever ? 0 : tcp.min_rtt_ns);
    out.sent.push_back(counts.sent - before.sent);
    out.lost.push_back(static_cast<std::int64_t>(counts.lost - before.lost));
    out.retransmitted.push_back(counts.retransmitted - before.retransmitted);
    out.delivered.push_back(counts.delivered_bytes - before.delivered_bytes);
    out.queue.push_back(from.out.queue_bytes(now));
    out.pacing_bps.push_back(tcp.pacing_bytes_per_ns * 8.0 * kNsPerS);
    before_[s] = counts;
}

void Sampler::take_flow(std::size_t f, const SendingEndpoint& from) {
    const TcpState& tcp = from.sender.tcp();
    const Counts counts = counts_of(from), &before = flows_before_[f];
    FlowSampleColumns& out = flows_[f];
    out.cwnd.push_back(window_of(from.sender));
    out.inflight.push_back(tcp.in_flight());
    out.srtt_ns.push_back(tcp.srtt_ns);
    out.sent.push_back(counts.sent - before.sent);
    out.lost.push_back(static_cast<std::int64_t>(counts.lost - before.lost));
    out.delivered.push_back(counts.delivered_bytes - before.delivered_bytes);
    flows_before_[f] = counts;
}

}  // namespace dstcc
