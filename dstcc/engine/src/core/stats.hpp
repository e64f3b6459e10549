// What a trial counts in all. An entry here, whoever counts it, and a field of TransportStats in dstcc/engine/config.py, which
// says what it is: that is a counter.
#pragma once

#include <limits>

#include "core/base.hpp"

namespace dstcc {

#define DSTCC_TRANSPORT_STATS(COUNT, REAL) \
    COUNT(sent_wire_bytes)                 \
    COUNT(sent_payload_bytes)              \
    COUNT(retransmitted_payload_bytes)     \
    COUNT(repair_payload_bytes)            \
    COUNT(arrived_payload_bytes)           \
    COUNT(recovered_payload_bytes)         \
    COUNT(delivered_payload_bytes)         \
    COUNT(duplicate_payload_bytes)         \
    COUNT(hol_payload_bytes)               \
    COUNT(rtt_samples)                     \
    COUNT(data_packets)                    \
    COUNT(run_packets)                     \
    COUNT(dropped_queue_packets)           \
    COUNT(lost_channel_packets)            \
    COUNT(timeouts)                        \
    COUNT(events)                          \
    COUNT(engine_peak_bytes)               \
    COUNT(reorder_peak_bytes)              \
    REAL(hol_wait_byte_s)                  \
    REAL(rtt_sum_s)                        \
    REAL(queue_p95_s)                      \
    REAL(first_send_s)                     \
    REAL(last_delivery_s)

struct TransportStats {
#define DSTCC_COUNT(name) std::int64_t name = 0;
#define DSTCC_REAL(name) double name = 0;
    DSTCC_TRANSPORT_STATS(DSTCC_COUNT, DSTCC_REAL)
#undef DSTCC_COUNT
#undef DSTCC_REAL

    // Call take(name, value) for each.
    template <class Take>
    void each(Take&& take) const {
#define DSTCC_TAKE(name) take(#name, name);
        DSTCC_TRANSPORT_STATS(DSTCC_TAKE, DSTCC_TAKE)
#undef DSTCC_TAKE
    }
};

#undef DSTCC_TRANSPORT_STATS

// A time that may never have come, which is below 0 then.
inline double seconds_or_nan(Time at) {
    return at < 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(at) / kNsPerS;
}

}  // namespace dstcc
