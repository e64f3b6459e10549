// What the coupled controls have in common: Reno's slow start, and growth in avoidance by fractions of a segment that depend
// on the windows and round trips of all subflows. A control gives its increase; it is asked once a round trip and whenever the
// window changed, not for every ACK. Background flows have no siblings: there every control is Reno.
#pragma once

#include "congestion/control.hpp"

namespace dstcc {

// The window that a subflow means to hold: during recovery the one it is reducing to (Linux mptcp_get_crt_cwnd()).
inline double window_of(const TcpState& tcp) {
    return static_cast<double>(tcp.ca_state == CaState::kRecovery ? tcp.ssthresh : tcp.cwnd);
}

inline double rtt_of(const TcpState& tcp) { return static_cast<double>(std::max<Time>(tcp.srtt_ns, 1)); }

// The established subflows of the connection; at least `tcp` itself.
template <class Take>
void for_each_sibling(const TcpState& tcp, Take&& take) {
    if (tcp.siblings == nullptr || tcp.siblings->empty()) return take(tcp);
    for (const TcpState* sibling : *tcp.siblings) take(*sibling);
}

class Coupled : public CongestionControl {
public:
    void init(TcpState& tcp, Time) override { round_end_ = tcp.snd_una; }
    std::int64_t ssthresh(TcpState& tcp, Time) override { return std::max<std::int64_t>(tcp.cwnd / 2, 2); }
    void cong_avoid(TcpState& tcp, std::int64_t acked, Time) override {
        if (!tcp.cwnd_limited()) return;
        if (tcp.in_slow_start()) {
            acked = slow_start(tcp, acked);
            stale_ = true;
            if (acked == 0) return;
        }
        if (stale_ || tcp.snd_una > round_end_) {
            stale_ = false;
            round_end_ = tcp.snd_nxt;
            increase_ = increase(tcp);
        }
        growth_ += increase_ * static_cast<double>(acked);
        if (growth_ < 1 && growth_ > -1) return;
        const auto whole = static_cast<std::int64_t>(growth_);
        growth_ -= static_cast<double>(whole);
        tcp.cwnd = std::max<std::int64_t>(tcp.cwnd + whole, 1);
        tcp.ssthresh = std::min(tcp.ssthresh, tcp.cwnd);  // what shrank is not to come back as slow start
        stale_ = true;
    }
    void on_event(TcpState&, CaEvent event, Time) override {
        stale_ = true;
        if (event != CaEvent::kIdleRestart) growth_ = 0;
    }

protected:
    // Segments of growth per segment acknowledged.
    virtual double increase(const TcpState& tcp) const = 0;

private:
    double increase_ = 0, growth_ = 0;
    std::int64_t round_end_ = 0;
    bool stale_ = true;
};

}  // namespace dstcc
