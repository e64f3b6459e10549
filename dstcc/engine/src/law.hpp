// Congestion controls by themselves, without links: what the tests of the published laws drive by hand.
#pragma once

#include <string>

#include "congestion.hpp"

namespace dstcc {

// The subflows of one connection under one law. Call order per subflow: send, then ack or lose or time_out; windows are
// in use and never idle. A loss takes the whole reduction at once (recovery entered and left).
class LawBench {
public:
    LawBench(const std::string& law, const TransportConfig& transport, std::size_t subflows);
    LawBench(const LawBench&) = delete;
    LawBench& operator=(const LawBench&) = delete;

    TcpState& state(std::size_t i) { return states_.at(i); }
    void establish(std::size_t i, Time now, Time rtt);
    void send(std::size_t i, std::int64_t segments, Time now);
    void ack(std::size_t i, std::int64_t segments, Time rtt, Time now, Time one_way);
    void lose(std::size_t i, std::int64_t segments, Time now);
    void time_out(std::size_t i, Time now);

private:
    TransportConfig transport_;
    std::vector<TcpState> states_;
    std::vector<const TcpState*> established_;
    std::vector<std::unique_ptr<CongestionControl>> controls_;
};

}  // namespace dstcc
