// The connection's sending end: layers come in, segments go out over its subflows, acknowledgements come back.
//
// It has its subflows, its own queues, a transmitter and a contact plan a subflow, and what ACKs say. It has no way to the
// receiving end or to what a link does with a packet.
#pragma once

#include <memory>
#include <vector>

#include "dispatch/acknowledged.hpp"
#include "dispatch/dispatcher.hpp"
#include "tcp/observers.hpp"

namespace dstcc {

class SendingEnd : private Dispatcher {
public:
    // What it is given beforehand.
    struct Setup {
        const TransportConfig& transport;
        const ObjectsConfig& objects;
        std::uint64_t seed;
        Time slot_ns;
        std::size_t subflows;
        std::int64_t unsent_limit;  // bytes of a subflow that heeds tcp_notsent_lowat
        double send_buffer;         // bytes of memory, of each subflow's socket
        Time longest_rtt;           // of light
        bool backups;               // some link has an outage without end
        Time begin_ns;              // of the first handshakes
        bool ledger;                // keep what is acknowledged of each layer
        bool runs;                  // each subflow has a line of its own, on which segments may go in runs
    };
    // `headers`: what its segments say of their layers.
    SendingEnd(const Setup& setup, LayerHeaders& headers, Timers timers, Timers paces, Timers own_timer,
               Remaining& remaining);
    std::size_t domains() const { return next_order_.size(); }  // ordering domains
    // The established subflows, for coupled controls.
    const std::vector<const TcpState*>& siblings() const { return siblings_; }
    void add(SendingEndpoint endpoint);
    // The subflow added last ends at a node that holds so many segments of it.
    void bound_by_node(std::int64_t segments) {
        rooms_.resize(subflows_.size(), PeerRoom(PeerRoom::kAny));
        rooms_.back() = PeerRoom(segments);
    }
    void begin();  // once all subflows are there

    // --- what happens to it
    void handle_established(Time now, std::size_t s, Time syn_ns);
    void handle_ack(Time now, std::size_t s, AckBlocks& ack);
    // An ACK said so much of what the receiver has, whose window is bounded.
    void note_window(std::int64_t delivered) { peer_delivered_ = std::max(peer_delivered_, delivered); }
    // Of a subflow's first `freed` segments the node where it ends has none any more; and it said so alone, or with a handshake.
    void note_room(std::size_t s, std::int64_t freed) { rooms_[s].note(freed); }
    void handle_room(Time now, std::size_t s);
    void handle_timer(Time now, std::size_t s);
    void handle_pace(Time now, std::size_t s);
    Time handle_release(Time now);  // when the next layer is due
    void handle_slot(Time now);
    void handle_own_timer(Time now);
    // What leaves up to and including then is on the line. Before then nothing happens to it.
    void put_until(Time to) {
        go_on(to);
        for (SubflowSet set = going_; set != 0; set &= set - 1) put_on_line(static_cast<std::size_t>(lowest(set)));
    }
    bool goes_on() const { return going_ != 0; }
    bool may_go() const { return runs_ || by_acks_; }
    bool goes_by_acks() const { return by_acks_; }
    bool copied() const { return copied_; }
    // Up to then, which is before a given time, what comes back to a subflow is of no matter to others.
    Time counts_until(Time until) const;
    // ACKs at those times, of which each lengthens the first block or, without blocks, what is in order, the first as it says and the
    // others by so many: how many of them, up to a time, only count, or let segments leave by the window.
    std::int64_t hear_run(std::size_t s, const AckBlocks& first, Run times, std::int64_t each, Time until);
    void finish_hearing(std::size_t s) { put_volleys(s); }  // behind the last of those
    std::int64_t packets_in_runs() const { return packets_in_runs_; }
    bool wants_deliveries() const { return wants_acks_; }  // each ACK says how much was delivered in order

    // --- steered from outside (mptcp/steering.cpp), slot by slot
    // An action per subflow (those beyond the vector are silent) and one for the layers (nullptr: as before).
    void steer(Time now, const std::vector<WindowAction>& windows, const LayerAction* layers);
    SubflowView observe(Time now, std::size_t s) const;
    std::int64_t layer_backlog(std::size_t layer) const { return layer_backlog_[layer]; }
    std::int64_t send_window_bytes() const;           // room at the receiver, as far as the sender knows
    ChunkManager* chunks() { return chunks_.get(); }  // `agent-policies` only
    bool rests() const { return deadline_order_; }    // do steered subflows rest in outages?

    // --- for observers
    // Layers whose last byte is sent from now on are noted there.
    void watch(std::vector<std::uint32_t>* sent_out) {
        sent_out_ = sent_out;
        if (sent_out == nullptr) return;
        stop_all();
        runs_ = by_acks_ = false;
    }
    void log_steps(StepLog* steps) { steps_ = steps; }
    std::size_t subflows() const { return subflows_.size(); }
    const SendingEndpoint& subflow(std::size_t s) const { return subflows_[s]; }
    const std::vector<LayerSending>& layers() const { return layers_; }
    std::size_t released() const { return released_; }
    bool drops_late() const { return deadlines_; }
    // Bytes of a layer that the receiver is known to have handed on; 0 without a ledger.
    std::int64_t acknowledged(std::size_t object) const { return ledger_ ? ledger_->bytes(object) : 0; }
    bool all_sent() const { return released_ == objects_.size() && backlog_ == 0; }  // or given up, every layer
    Time longest_one_way_ns() const;
    const LogHistogram& waits() const { return waits_; }  // in its own queues
    std::int64_t new_payload() const { return new_payload_; }
    std::int64_t repeated_payload() const { return repeated_payload_; }
    std::int64_t data_packets() const { return data_packets_; }
    Time first_send_ns() const { return first_send_ns_; }
    std::int64_t bytes() const;  // of the records kept of segments
    void check_backlog() const;

private:
    void ask_for_room(std::size_t s);
    void run_late_paces(Time now);
    void on_timeout(std::size_t s);
    // Does some timer go off now? At one instant it does before a pace lets go, and so does what comes in.
    bool timer_goes_off(Time now) const {
        for (std::size_t s = 0; s < subflows_.size(); ++s)
            if (timers_.at(s) == now) return true;
        return false;
    }
    void go_on_before(Time now) { go_on(timer_goes_off(now) ? now - 1 : now); }
    // What goes on by itself must not be what others wait for.
    void look_at_going() {
        if (going_ != 0 && may_offer()) stop_all();
    }
    bool joins(std::size_t s) const { return s > 0 && !transport_.lanes; }
    void join();
    void confirm(std::size_t s);
    void acknowledge(Outlet& subflow);
    void arm_own_timer() {
        if (wants_acks_) own_timer_.set(0, strategy_->due());
    }
    void set_table(const std::vector<std::int32_t>& table);
    void log_step(std::size_t s) {
        if (steps_ != nullptr) steps_->note(now_, s, subflows_[s].sender);
    }

    Program program_;
    bool backups_;
    Time begin_ns_;
    SubflowSet late_ = 0;  // whose pacing lets go, and whose timer has yet to go off
    Stream late_draws_;
    std::uint64_t late_drawn_ = 0;
    bool wants_acks_ = false;
    Timers own_timer_;         // of the connection
    bool joins_wait_ = false;  // for the first acknowledgement of data
    std::unique_ptr<Acknowledged> ledger_;
    std::vector<const TcpState*> siblings_;  // the established ones
    std::size_t released_ = 0;
    std::vector<Acked> acked_;  // of the ACK at hand, for those who want to know
    StepLog* steps_ = nullptr;
};

}  // namespace dstcc
