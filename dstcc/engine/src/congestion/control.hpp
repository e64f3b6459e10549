// The interface of a congestion control, shaped like Linux's tcp_congestion_ops so that laws carry over unchanged.
//
// Call order per ACK: pkts_acked (new RTT sample), then either cong_control (if it returns true it has set window and
// pacing; asked only where takes_acks) or, in the Open and Loss states, cong_avoid. ssthresh is asked once when a
// reduction starts; on_event follows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/agent.hpp"
#include "tcp/state.hpp"

namespace dstcc {

// kEnterLoss: with the reduction, once; kLossState: at every timeout, after the window was cut (Linux set_state).
enum class CaEvent { kEnterRecovery, kEnterLoss, kLossState, kExitReduction, kIdleRestart };

class CongestionControl {
public:
    virtual ~CongestionControl() = default;
    virtual void init(TcpState& tcp, Time now) = 0;
    // Slow-start threshold after a loss, in segments.
    virtual std::int64_t ssthresh(TcpState& tcp, Time now) = 0;
    virtual void cong_avoid(TcpState& tcp, std::int64_t acked, Time now) = 0;
    virtual void pkts_acked(TcpState&, std::int64_t /*acked*/, Time /*rtt_ns*/, Time /*now*/) {}
    // Asked for by takes_acks(); the sample holds a delivery rate if wants_rates().
    virtual bool cong_control(TcpState&, const RateSample&, Time /*now*/) { return false; }
    virtual bool takes_acks() const { return wants_rates(); }
    virtual bool wants_rates() const { return false; }
    virtual void on_event(TcpState&, CaEvent, Time /*now*/) {}
    virtual void on_undo(TcpState&, Time /*now*/) {}
    // An action from outside; for `agent`.
    virtual void steer(TcpState&, const WindowAction&, Time /*now*/) {}
    // True: the engine never touches the window (no slow start, no reduction).
    virtual bool owns_window() const { return false; }
    // True: cong_control() sets the window in and after a recovery too (Linux: icsk_ca_ops->cong_control).
    virtual bool governs_recovery() const { return owns_window(); }
    // Before a segment is paced, new or repeated: for laws whose rate follows the clock. Asked for by wants_sends().
    virtual void on_sent(TcpState&, Time /*now*/) {}
    virtual bool wants_sends() const { return false; }
    // True: TcpState::one_way_ns is wanted; receivers then stamp their ACKs.
    virtual bool wants_one_way_delay() const { return false; }
};

// Linux's tcp_slow_start(): grow by what was acked up to ssthresh; the rest is returned.
inline std::int64_t slow_start(TcpState& tcp, std::int64_t acked) {
    const std::int64_t grown = std::min(tcp.cwnd + acked, tcp.ssthresh);
    acked -= grown - tcp.cwnd;
    tcp.cwnd = grown;
    return acked;
}

// Linux's tcp_cong_avoid_ai(): one segment per `w` acked.
inline void additive_increase(TcpState& tcp, std::int64_t w, std::int64_t acked) {
    if (tcp.cwnd_cnt >= w) {
        tcp.cwnd_cnt = 0;
        ++tcp.cwnd;
    }
    tcp.cwnd_cnt += acked;
    if (tcp.cwnd_cnt >= w) {
        const std::int64_t delta = tcp.cwnd_cnt / w;
        tcp.cwnd_cnt -= delta * w;
        tcp.cwnd += delta;
    }
}

// RFC 5681 / Linux tcp_reno_cong_avoid().
inline void reno_cong_avoid(TcpState& tcp, std::int64_t acked) {
    if (!tcp.cwnd_limited()) return;
    if (tcp.in_slow_start()) {
        acked = slow_start(tcp, acked);
        if (acked == 0) return;
    }
    additive_increase(tcp, tcp.cwnd, acked);
}

using CongestionFactory = std::unique_ptr<CongestionControl> (*)();

std::unique_ptr<CongestionControl> make_agent();  // not in the table: nobody's choice, but what a controller runs on
std::unique_ptr<CongestionControl> make_agent_rate();
std::unique_ptr<CongestionControl> make_agent_bbr();

// One factory per algorithm file.
std::unique_ptr<CongestionControl> make_fixed();
std::unique_ptr<CongestionControl> make_open_loop();
std::unique_ptr<CongestionControl> make_newreno();
std::unique_ptr<CongestionControl> make_cubic();
std::unique_ptr<CongestionControl> make_westwood();
std::unique_ptr<CongestionControl> make_bbr();
std::unique_ptr<CongestionControl> make_bbr_scaled();
std::unique_ptr<CongestionControl> make_bic();
std::unique_ptr<CongestionControl> make_vegas();
std::unique_ptr<CongestionControl> make_ledbat();
std::unique_ptr<CongestionControl> make_lia();
std::unique_ptr<CongestionControl> make_olia();
std::unique_ptr<CongestionControl> make_balia();
std::unique_ptr<CongestionControl> make_wvegas();
std::unique_ptr<CongestionControl> make_tp_planet();
std::unique_ptr<CongestionControl> make_remy();

const std::vector<std::pair<std::string, CongestionFactory>>& congestion_table();
std::unique_ptr<CongestionControl> make_congestion(const std::string& name);

}  // namespace dstcc
