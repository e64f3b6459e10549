// What a trial of `coded` leaves, put together from both ends: of layers' parts, of blocks, and slot by slot.
#pragma once

#include "coding/receiving_end.hpp"
#include "coding/sending_end.hpp"
#include "core/outcome.hpp"

namespace dstcc {

inline ObjectOutcome object_outcome(const CodedSendingEnd& sending, const CodedReceivingEnd& receiving,
                                    std::size_t object) {
    const PartArrival& arrived = receiving.parts()[object];
    ObjectOutcome outcome = outcome_of(sending.layers()[object]);
    outcome.first_arrival_ns = arrived.first_ns;
    outcome.complete_ns = arrived.complete_ns;
    outcome.delivered_bytes = arrived.bytes;
    outcome.acknowledged_bytes = sending.acknowledged(object);
    return outcome;
}

// `headers`: the sending end's.
inline BlockOutcome block_outcome(const CodedSendingEnd& sending, const CodedReceivingEnd& receiving,
                                  const BlockMap& map, const BlockHeaders& headers, std::size_t block) {
    const BlockSending& sent = sending.blocks()[block];
    const BlockArrival& arrived = receiving.blocks()[block];
    BlockOutcome outcome;
    outcome.source = sent.source;
    outcome.repair = sent.repair;
    outcome.planned = std::max<std::int64_t>(sent.planned, 0);
    outcome.repair_bytes = static_cast<std::int64_t>(sent.repair) * sent.symbol_bytes;
    outcome.arrived = arrived.packets;
    outcome.decoded_ns = arrived.decoded_ns;
    std::uint32_t whole = 0;
    for (std::uint32_t i = 0; i < map.size(static_cast<std::uint32_t>(block)); ++i)
        whole += headers.whole[map.member(static_cast<std::uint32_t>(block), i)];
    outcome.whole = sent.source > 0 && arrived.complete == whole;
    return outcome;
}

// A row per subflow at the end of each slot.
class CodedSampler {
public:
    explicit CodedSampler(std::size_t subflows) : before_(subflows) {}
    void take(Time now, const CodedSendingEnd& sending);
    const SampleColumns& rows() const { return rows_; }

private:
    struct Counts {  // of a subflow, as of the last sample
        std::int64_t sent = 0, repaired = 0, delivered_bytes = 0;
        std::uint64_t lost = 0;
    };
    std::vector<Counts> before_;
    SampleColumns rows_;
};

inline void CodedSampler::take(Time now, const CodedSendingEnd& sending) {
    SampleColumns& out = rows_;
    for (std::size_t s = 0; s < before_.size(); ++s) {
        const CodedSendingEnd::Subflow& from = sending.subflow(s);
        const TcpState& tcp = from.flight.tcp();
        const Counts counts{from.sent, from.repaired, from.delivered_bytes, tcp.lost};
        const Counts& before = before_[s];
        out.t_ns.push_back(now);
        out.subflow.push_back(static_cast<std::int64_t>(s));
        out.cwnd.push_back(from.flight.established() ? std::min(tcp.cwnd, kInfiniteWindow) : 0);
        out.inflight.push_back(tcp.in_flight());
        out.srtt_ns.push_back(tcp.srtt_ns);
        out.min_rtt_ns.push_back(tcp.min_rtt_ns == kNever ? 0 : tcp.min_rtt_ns);
        out.sent.push_back(counts.sent - before.sent);
        out.lost.push_back(static_cast<std::int64_t>(counts.lost - before.lost));
        out.retransmitted.push_back(counts.repaired - before.repaired);
        out.delivered.push_back(counts.delivered_bytes - before.delivered_bytes);
        out.queue.push_back(from.out.queue_bytes(now));
        out.pacing_bps.push_back(tcp.pacing_bytes_per_ns * 8.0 * kNsPerS);
        before_[s] = counts;
    }
}

}  // namespace dstcc
