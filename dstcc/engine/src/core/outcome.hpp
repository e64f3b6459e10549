// What a trial leaves: an outcome per layer, a row of samples per subflow and slot, and what became of others' flows.
#pragma once

#include <string>
#include <vector>

#include "core/base.hpp"
#include "core/fields.hpp"

namespace dstcc {

struct ObjectOutcome {
    Time first_sent_ns = -1, first_arrival_ns = -1, complete_ns = -1;
    std::int64_t sent_bytes = 0, delivered_bytes = 0, retransmissions = 0, offset = 0;
    std::int64_t acknowledged_bytes = 0;  // as far as its sender knows; filled in where the configuration asks
    std::int32_t subflow = -1;
    bool given_up = false;
};

// What became of a block of layers that are coded together.
struct BlockOutcome {
    std::int64_t source = 0, repair = 0, planned = 0, repair_bytes = 0, arrived = 0;
    Time decoded_ns = -1;
    bool whole = false;       // all of its source packets are there, one way or the other
    std::int64_t state = -1;  // what a table's rule went by
};

// Names of columns and of a flow's members are those of dstcc/engine/config.py.
struct SampleColumns {
    std::vector<std::int64_t> t_ns, subflow, cwnd_segments, inflight_segments, srtt_ns, min_rtt_ns, sent_segments,
        lost_segments, retransmitted_segments, delivered_bytes, queue_bytes;
    std::vector<double> pacing_bps;
    DSTCC_FIELDS(t_ns, subflow, cwnd_segments, inflight_segments, srtt_ns, min_rtt_ns, sent_segments, lost_segments,
                 retransmitted_segments, delivered_bytes, queue_bytes, pacing_bps)
};

struct FlowOutcome {
    std::int64_t link = 0, start_ns = 0, stop_ns = kNever, complete_ns = -1;
    std::int64_t sent_bytes = 0, retransmitted_bytes = 0, delivered_bytes = 0;  // payload
    std::int64_t lost_segments = 0, timeouts = 0, rtt_samples = 0;
    double rtt_sum_s = 0;
    std::string congestion;
    bool app_limited = false;
    DSTCC_FIELDS(link, congestion, app_limited, start_ns, stop_ns, complete_ns, sent_bytes, retransmitted_bytes,
                 delivered_bytes, lost_segments, timeouts, rtt_samples, rtt_sum_s)
};

}  // namespace dstcc
