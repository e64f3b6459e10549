// A row per slot and subflow number: what TCP_INFO says of its connections together, and what passed in the slot.
#pragma once

#include "endpoints.hpp"

namespace transfer {

struct Sample {
    Time t;
    std::int64_t subflow, cwnd, inflight, srtt_ns, min_rtt_ns, sent, lost, retransmitted, delivered_bytes, queue_bytes;
    double pacing_bps;
};
static_assert(sizeof(Sample) == 12 * 8, "rows are read as 12 numbers of 8 bytes");

class Sampler {
public:
    Sampler(const Plan& plan, Ledger& ledger, Craft& craft);
    // Describes the slot that ends now; appends the rows.
    void take(Time now);
    std::vector<Sample> rows;

private:
    struct Past {
        std::int64_t marked = 0, retransmitted = 0;
    };
    const Plan& plan_;
    Ledger& ledger_;
    Craft& craft_;
    std::vector<Past> past_;
    std::vector<std::vector<std::int64_t>>
        handshakes_;  // by connection and subflow: repeats before it was first seen, of its SYN
};

}  // namespace transfer
