// Those who look on and change nothing: samples slot by slot, and the steps of senders.
#pragma once

#include "core/outcome.hpp"
#include "tcp/senders.hpp"

namespace dstcc {

// What a sender holds after each ACK and each timer: kept with the packets, on request.
struct StepColumns {
    std::vector<std::int64_t> t_ns, una, cwnd, ssthresh, srtt_ns, rto_ns, lost, inflight;
    std::vector<std::int32_t> sender;
    std::vector<std::int8_t> state, backoff;
    std::vector<double> pacing_bps;
};

class StepLog {
public:
    void note(Time now, std::size_t s, const Subflow& sender);
    const StepColumns& columns() const { return columns_; }

private:
    StepColumns columns_;
};

// What senders did since the last sample.
class Sampler {
public:
    void take(Time now, std::size_t s, const SendingEndpoint& from);
    void take_flow(std::size_t f, const SendingEndpoint& from);
    const SampleColumns& subflows() const { return subflows_; }
    const FlowSampleColumns& flow(std::size_t f) const { return flows_[f]; }
    void resize(std::size_t subflows, std::size_t flows) {
        before_.resize(subflows);
        flows_before_.resize(flows);
        flows_.resize(flows);
    }

private:
    struct Counts {
        std::int64_t sent = 0, retransmitted = 0, delivered_bytes = 0;
        std::uint64_t lost = 0;
    };
    static Counts counts_of(const SendingEndpoint& from) {
        return {from.sent, from.retransmitted, from.delivered_bytes, from.sender.tcp().lost};
    }
    std::vector<Counts> before_, flows_before_;
    SampleColumns subflows_;
    std::vector<FlowSampleColumns> flows_;
};

}  // namespace dstcc
