// The interface of a congestion control, shaped like Linux's tcp_congestion_ops so that controls carry over unchanged.
//
// Call order per ACK: pkts_acked (new RTT sample), then either cong_control (if it returns true it has set window and
// pacing; asked only where takes_acks) or, in the Open and Loss states, cong_avoid. ssthresh is asked once when a
// reduction starts; on_event follows.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "core/agent.hpp"
#include "core/registry.hpp"
#include "core/queue_seen.hpp"
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
    // Until when nothing that comes back bears on when it sends, if no answer is quicker than that; -1: something may. kNever: nothing ever.
    virtual Time deaf_until(Time /*round_trip*/) const { return -1; }
    virtual void on_event(TcpState&, CaEvent, Time /*now*/) {}
    // The time goes on, once a slot, whether something is sent or not; of coded packets.
    virtual void on_slot(TcpState&, Time /*now*/) {}
    virtual void on_undo(TcpState&, Time /*now*/) {}
    // An ACK of a joining subflow's handshake, which Linux gives to the control as a duplicate; its SYN was answered at `answered`.
    virtual void on_join(TcpState&, Time /*answered*/, Time /*now*/) {}
    // An action from outside; for `agent`.
    virtual void steer(TcpState&, const WindowAction&, Time /*now*/) {}
    // True: the engine never touches the window (no slow start, no reduction).
    virtual bool owns_window() const { return false; }
    // True: cong_control() sets the window in and after a recovery too (Linux: icsk_ca_ops->cong_control).
    virtual bool governs_recovery() const { return owns_window(); }
    // Before a segment is paced, new or repeated: for controls whose rate follows the clock. Asked for by wants_sends().
    virtual void on_sent(TcpState&, Time /*now*/) {}
    virtual bool wants_sends() const { return false; }
    // `coded`, for laws that look at the queue of their own line (wants_queue()): a packet was put there. Returns how long the next
    // one waits.
    virtual Time on_queue(TcpState&, const QueueSeen&, Time /*now*/) { return 0; }
    virtual bool wants_queue() const { return false; }
    // `coded`: receivers report as often as their uplink allows, and do not acknowledge every second packet.
    virtual bool wants_reports() const { return false; }
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

// What a control is made with.
struct ControlSetup {
    const TcpState& tcp;                     // of its subflow, before the handshake
    std::size_t link = 0;                    // its number, for parameters with a value per link
    double line_bps = 0;                     // the subflow's share of the link's rate, the most where that changes
    std::int64_t bdp_segments = 0;           // the window that fills this share over the longest round trip
    Time slot_ns = kNever;                   // in which an agent acts once
    bool background = false;                 // of somebody else's flow: parameters with a value per link are not for it
    const Parameters* parameters = nullptr;  // the control's own; make_congestion() looks them up
    const Shares* plan = nullptr;            // of the link's rate over time, by the contact plan
    int sharers = 1;                         // of the sender's subflows on the link

    // All values of a parameter; none where it is not set.
    const std::vector<double>& all(const std::string& name) const { return values_of(parameters, name); }
    // The value of a parameter that has one for all links, or what holds where it is not set.
    double one(const std::string& name, double otherwise) const { return value_of(parameters, name, otherwise); }
    // The link's value of a parameter that has one per link, if it is set.
    std::optional<double> per_link(const std::string& name) const {
        const std::vector<double>& values = all(name);
        return background || link >= values.size() ? std::nullopt : std::optional(values[link]);
    }
};

// A row of the table of controls; the file of each enters it.
struct ControlEntry {
    const char* name;
    std::unique_ptr<CongestionControl> (*make)(const ControlSetup&);
    std::vector<std::string> parameters = {};  // the names it takes
    bool steered = false;                      // nobody's choice, but what a controller runs on
};

// Is this a control whose window is decided outside?
inline bool steerable(const std::string& control) {
    const ControlEntry* const entry = registered<ControlEntry>(control);
    return entry != nullptr && entry->steered;
}

// Of a class whose constructor takes the setup, or nothing.
template <class Control>
std::unique_ptr<CongestionControl> make_control([[maybe_unused]] const ControlSetup& setup) {
    if constexpr (std::is_constructible_v<Control, const ControlSetup&>)
        return std::make_unique<Control>(setup);
    else
        return std::make_unique<Control>();
}

// The control of that name with its own parameters of the transport's.
std::unique_ptr<CongestionControl> make_congestion(const TransportConfig& transport, const std::string& name,
                                                   ControlSetup setup);

}  // namespace dstcc
