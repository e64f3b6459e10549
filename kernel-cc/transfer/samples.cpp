#include "samples.hpp"

#include <algorithm>

namespace transfer {

Sampler::Sampler(const Plan& plan, Ledger& ledger, Craft& craft)
    : plan_(plan),
      ledger_(ledger),
      craft_(craft),
      past_(static_cast<std::size_t>(plan.subflows)),
      handshakes_(plan.lane_plans.size()) {}

// A connection's SRTT counts by its window; a backup that never carried anything has no part in the sums. TCP_INFO counts
// no losses: marked = repeated so far + marked and not yet repeated. Lanes that share a window have it each, and their SRTTs
// count alike.
void Sampler::take(Time now) {
    const auto count = static_cast<std::size_t>(plan_.subflows);
    std::vector<Sample> made(count);
    std::vector<Past> all(count);
    std::vector<double> srtt(count), weight(count);
    std::vector<std::int64_t> lanes(count);
    for (std::size_t lane = 0; lane < plan_.lane_plans.size(); ++lane) {
        std::size_t place = 0;
        for (const SubflowInfo& info : craft_.look(static_cast<int>(lane))) {
            if (place == handshakes_[lane].size()) handshakes_[lane].push_back(info.tcp.tcpi_total_retrans);
            const std::int64_t repeats =
                static_cast<std::int64_t>(info.tcp.tcpi_total_retrans) - handshakes_[lane][place++];
            const auto s = static_cast<std::size_t>(info.number);
            const tcp_info& tcp = info.tcp;
            const bool own = !plan_.lanes || plan_.subflow_links[s] == plan_.lane_plans[lane].link;
            if (!own && tcp.tcpi_bytes_sent == 0) continue;
            Sample& row = made[s];
            const bool active = !craft_.resting(static_cast<int>(lane));
            lanes[s] += active;
            row.cwnd += active ? tcp.tcpi_snd_cwnd : 0;
            row.inflight +=
                static_cast<std::int64_t>(tcp.tcpi_unacked) - tcp.tcpi_sacked - tcp.tcpi_lost + tcp.tcpi_retrans;
            const double share = plan_.shared ? 1 : tcp.tcpi_snd_cwnd;
            srtt[s] += 1e3 * tcp.tcpi_rtt * share;
            weight[s] += share;
            if (tcp.tcpi_rtt != 0 && tcp.tcpi_min_rtt != UINT32_MAX) {
                const auto least = static_cast<Time>(tcp.tcpi_min_rtt) * 1000;
                row.min_rtt_ns = row.min_rtt_ns == 0 ? least : std::min(row.min_rtt_ns, least);
            }
            if (active && tcp.tcpi_pacing_rate != UINT64_MAX)
                row.pacing_bps += 8.0 * static_cast<double>(tcp.tcpi_pacing_rate);
            all[s].retransmitted += repeats;
            all[s].marked +=
                repeats + std::max<std::int64_t>(static_cast<std::int64_t>(tcp.tcpi_lost) - tcp.tcpi_retrans, 0);
        }
    }
    if (plan_.shared)
        for (std::size_t s = 0; s < count; ++s) {
            made[s].cwnd /= std::max<std::int64_t>(lanes[s], 1);
            if (const auto group = craft_.group(plan_.subflow_links[s])) made[s].cwnd = group->window;
            made[s].pacing_bps /= static_cast<double>(std::max<std::int64_t>(lanes[s], 1));
        }
    const std::vector<SlotCounts> slot = ledger_.take_slot();
    for (std::size_t s = 0; s < count; ++s) {
        Sample& row = made[s];
        row.t = now;
        row.subflow = static_cast<std::int64_t>(s);
        row.srtt_ns = weight[s] > 0 ? static_cast<std::int64_t>(srtt[s] / weight[s]) : 0;
        row.sent = slot[s].sent_segments;
        row.delivered_bytes = slot[s].acked_bytes;
        row.lost = std::max<std::int64_t>(all[s].marked - past_[s].marked, 0);
        row.retransmitted = std::max<std::int64_t>(all[s].retransmitted - past_[s].retransmitted, 0);
        row.queue_bytes = ledger_.queue_bytes(plan_.subflow_links[s], now);
        past_[s] = {std::max(all[s].marked, past_[s].marked), std::max(all[s].retransmitted, past_[s].retransmitted)};
        rows.push_back(row);
    }
}

}  // namespace transfer
