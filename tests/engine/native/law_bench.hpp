// Congestion controls by themselves, without links: what the tests of the published laws drive by hand.
#pragma once

#include <string>

#include "congestion/control.hpp"

namespace dstcc {

// The subflows of one connection under one law. Call order per subflow: send, then ack or sample, lose or time_out; windows
// are in use. A loss takes the whole reduction at once (recovery entered and left), unless a test does each by itself.
class LawBench {
public:
    // `line_bps` and `bdp_segments` are of each subflow's line, for laws that are given them.
    LawBench(const std::string& law, const TransportConfig& transport, std::size_t subflows, double line_bps,
             std::int64_t bdp_segments);
    LawBench(const LawBench&) = delete;
    LawBench& operator=(const LawBench&) = delete;

    TcpState& state(std::size_t i) { return states_.at(i); }
    void establish(std::size_t i, Time now, Time rtt);
    // An ACK of a join's handshake, of which the SYN was answered then.
    void join(std::size_t i, Time answered, Time now) { controls_.at(i)->on_join(states_.at(i), answered, now); }
    void send(std::size_t i, std::int64_t segments, Time now);
    void ack(std::size_t i, std::int64_t segments, Time rtt, Time now, Time one_way);
    // The same where a delivery-rate sample says other things than that a flight took a round trip.
    void sample(std::size_t i, const RateSample& sample, Time now);
    void lose(std::size_t i, std::int64_t segments, Time now);
    void enter_recovery(std::size_t i, std::int64_t segments, Time now);
    void leave_recovery(std::size_t i, Time now);
    void restart_idle(std::size_t i, Time now);
    void undo(std::size_t i, Time now);
    void time_out(std::size_t i, Time now);

private:
    TransportConfig transport_;
    std::vector<TcpState> states_;
    std::vector<const TcpState*> established_;
    std::vector<std::unique_ptr<CongestionControl>> controls_;
};

}  // namespace dstcc
