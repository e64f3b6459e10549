// What a trial of `coded` leaves, put together from both ends: of layers' parts, of blocks, and slot by slot.
#pragma once

#include "coding/receiving_end.hpp"
#include "coding/sending_end.hpp"
#include "core/samples.hpp"
#include "core/stats.hpp"
#include "tcp/view.hpp"

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

inline Sample sample_of(const CodedSendingEnd::Subflow& from, Time now) {
    Sample sample = sample_of(from.flight.tcp(), from.flight.established());
    sample.queue_bytes = from.out.queue_bytes(now);
    sample.sent_segments = from.sent;
    sample.retransmitted_segments = from.repaired;
    sample.delivered_bytes = from.delivered_bytes;
    return sample;
}

// A row per subflow at the end of a slot.
inline void take_samples(Time now, const CodedSendingEnd& sending, Sampler& sampler) {
    for (std::size_t s = 0; s < sending.subflows(); ++s)
        sampler.take(now, s, static_cast<std::int64_t>(s), sample_of(sending.subflow(s), now));
}

inline void add_totals(const CodedSendingEnd& sending, const CodedReceivingEnd& receiving, TransportStats& stats) {
    for (std::size_t s = 0; s < sending.subflows(); ++s) {
        const Flight& from = sending.subflow(s).flight;
        stats.rtt_sum_s += from.rtt_sum_s();
        stats.rtt_samples += from.rtt_samples();
        stats.timeouts += static_cast<std::int64_t>(from.timeouts());
    }
    stats.retransmitted_payload_bytes = sending.fresh_payload();
    stats.repair_payload_bytes = sending.repair_payload();
    stats.sent_payload_bytes = sending.source_payload() + sending.repair_payload() + sending.probe_payload();
    stats.data_packets = sending.data_packets();
    stats.run_packets = sending.packets_in_runs();
    stats.queue_p95_s = sending.waits().quantile(0.95) / kNsPerS;
    stats.first_send_s = seconds_or_nan(sending.first_send_ns());
    stats.arrived_payload_bytes = receiving.arrived_payload();
    stats.recovered_payload_bytes = receiving.recovered_payload();
    stats.delivered_payload_bytes = stats.arrived_payload_bytes + stats.recovered_payload_bytes;
    stats.last_delivery_s = seconds_or_nan(receiving.last_delivery_ns());
}

// What was put on links, ever: handshakes with it.
inline std::int64_t packets_of(const CodedSendingEnd& sending) {
    std::int64_t packets = sending.data_packets();
    for (std::size_t s = 0; s < sending.subflows(); ++s) packets += sending.subflow(s).syns;
    return packets;
}

}  // namespace dstcc
