// What a trial of `ltp` leaves, put together from both ends: of layers, of matrices, and in all.
#pragma once

#include "core/stats.hpp"
#include "ltp/receiving_end.hpp"
#include "ltp/sending_end.hpp"

namespace dstcc {

inline ObjectOutcome object_outcome(const LtpSendingEnd& sending, const LtpReceivingEnd& receiving, std::size_t object,
                                    bool given_up) {
    const BlockParts& arrived = receiving.blocks()[object];
    ObjectOutcome outcome = outcome_of(sending.layers()[object]);
    outcome.first_arrival_ns = arrived.first_ns;
    outcome.complete_ns = arrived.complete_ns;
    outcome.delivered_bytes = arrived.delivered_bytes;
    outcome.given_up = given_up;
    outcome.acknowledged_bytes = sending.acknowledged(object);
    return outcome;
}

// `headers`: the sending end's.
inline BlockOutcome matrix_outcome(const LtpSendingEnd& sending, const LtpReceivingEnd& receiving,
                                   const MatrixHeaders& headers, std::size_t matrix) {
    const MatrixSending& sent = sending.matrices()[matrix];
    const MatrixHeader& header = headers.matrices[matrix];
    const MatrixArrival& arrived = receiving.matrix(matrix);
    const bool whole = header.source > 0 && (arrived.members == header.source || arrived.decoded_ns >= 0);
    return {header.source,   header.repair,      sent.planned, header.repair * sent.symbol_bytes,
            arrived.arrived, arrived.decoded_ns, whole,        sent.state};
}

inline void add_totals(const LtpSendingEnd& sending, const LtpReceivingEnd& receiving, TransportStats& stats) {
    stats.retransmitted_payload_bytes = sending.repeated_payload();
    stats.repair_payload_bytes = sending.repair_payload();
    stats.sent_payload_bytes = sending.new_payload() + sending.repeated_payload() + sending.repair_payload();
    stats.data_packets = sending.data_packets();
    stats.rtt_sum_s = sending.rtt_sum_s();
    stats.rtt_samples = sending.rtt_samples();
    stats.timeouts = sending.timeouts() + receiving.timeouts();
    stats.queue_p95_s = sending.waits().quantile(0.95) / kNsPerS;
    stats.first_send_s = seconds_or_nan(sending.first_send_ns());
    stats.arrived_payload_bytes = receiving.arrived_payload();
    stats.recovered_payload_bytes = receiving.recovered_payload();
    stats.delivered_payload_bytes = receiving.delivered_payload();
    stats.duplicate_payload_bytes = receiving.duplicate_payload();
    stats.hol_payload_bytes = receiving.hol_payload();
    stats.hol_wait_byte_s = receiving.hol_wait_byte_s();
    stats.last_delivery_s = seconds_or_nan(receiving.last_delivery_ns());
}

}  // namespace dstcc
