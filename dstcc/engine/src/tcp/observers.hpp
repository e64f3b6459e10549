// Those who look on and change nothing: the steps of senders, and what one holds for a sample.
#pragma once

#include "core/samples.hpp"
#include "tcp/senders.hpp"

namespace dstcc {

// What a sender holds after each ACK and each timer: kept with the packets, on request.
struct StepColumns {
    std::vector<std::int64_t> t_ns, una, cwnd_segments, ssthresh_segments, srtt_ns, rto_ns, lost_segments,
        inflight_segments;
    std::vector<std::int32_t> subflow;
    std::vector<std::int8_t> state, backoff;
    std::vector<double> pacing_bps;
    DSTCC_FIELDS(t_ns, subflow, una, cwnd_segments, ssthresh_segments, srtt_ns, rto_ns, state, backoff, lost_segments,
                 inflight_segments, pacing_bps)
};

class StepLog {
public:
    void note(Time now, std::size_t s, const Subflow& sender);
    const StepColumns& columns() const { return columns_; }

private:
    StepColumns columns_;
};

inline Sample sample_of(const SendingEndpoint& from, Time now) {
    Sample sample = sample_of(from.sender.tcp(), from.sender.established());
    sample.queue_bytes = from.out.queue_bytes(now);
    sample.sent_segments = from.sent;
    sample.retransmitted_segments = from.retransmitted;
    sample.delivered_bytes = from.delivered_bytes;
    return sample;
}

}  // namespace dstcc
