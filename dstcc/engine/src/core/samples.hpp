// Samples: what a sender holds at the end of each slot, and what it did in it.
#pragma once

#include "core/outcome.hpp"

namespace dstcc {

struct Sample {
    std::int64_t cwnd_segments = 0, inflight_segments = 0;
    Time srtt_ns = 0, min_rtt_ns = 0;
    std::int64_t queue_bytes = 0;
    double pacing_bps = 0;
    // ever
    std::int64_t sent_segments = 0, lost_segments = 0, retransmitted_segments = 0, delivered_bytes = 0;
};

class Sampler {
public:
    void resize(std::size_t senders) { before_.resize(senders); }
    // `number`: of the sender, in the numbering of subflows.
    void take(Time now, std::size_t sender, std::int64_t number, const Sample& sample) {
        Sample& before = before_[sender];
        rows_.t_ns.push_back(now);
        rows_.subflow.push_back(number);
        rows_.cwnd_segments.push_back(sample.cwnd_segments);
        rows_.inflight_segments.push_back(sample.inflight_segments);
        rows_.srtt_ns.push_back(sample.srtt_ns);
        rows_.min_rtt_ns.push_back(sample.min_rtt_ns);
        rows_.sent_segments.push_back(sample.sent_segments - before.sent_segments);
        rows_.lost_segments.push_back(sample.lost_segments - before.lost_segments);
        rows_.retransmitted_segments.push_back(sample.retransmitted_segments - before.retransmitted_segments);
        rows_.delivered_bytes.push_back(sample.delivered_bytes - before.delivered_bytes);
        rows_.queue_bytes.push_back(sample.queue_bytes);
        rows_.pacing_bps.push_back(sample.pacing_bps);
        before = sample;
    }
    const SampleColumns& rows() const { return rows_; }

private:
    std::vector<Sample> before_;  // by sender: the last one
    SampleColumns rows_;
};

}  // namespace dstcc
