#include "tcp/observers.hpp"

namespace dstcc {

void StepLog::note(Time now, std::size_t s, const Subflow& sender) {
    const TcpState& tcp = sender.tcp();
    constexpr std::int8_t kLinux[] = {0, 3, 4};  // TCP_CA_Open, _Recovery, _Loss
    columns_.t_ns.push_back(now);
    columns_.subflow.push_back(static_cast<std::int32_t>(s));
    columns_.una.push_back(tcp.snd_una);
    columns_.cwnd_segments.push_back(std::min(tcp.cwnd, kInfiniteWindow));
    columns_.ssthresh_segments.push_back(std::min(tcp.ssthresh, kInfiniteWindow));
    columns_.srtt_ns.push_back(tcp.srtt_ns);
    columns_.rto_ns.push_back(sender.rto());
    columns_.lost_segments.push_back(tcp.lost_out);
    columns_.inflight_segments.push_back(tcp.in_flight());
    columns_.state.push_back(kLinux[static_cast<std::size_t>(tcp.ca_state)]);
    columns_.backoff.push_back(static_cast<std::int8_t>(sender.backoff()));
    columns_.pacing_bps.push_back(tcp.pacing_bytes_per_ns * 8.0 * kNsPerS);
}

}  // namespace dstcc
