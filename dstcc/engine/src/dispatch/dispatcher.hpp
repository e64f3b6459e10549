// What the connection sends next and where: the subflows and the layers that wait, and what strategies (dispatch/strategy.hpp)
// do with both. Part of the sending end: it knows of links and receivers what that knows.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "core/histogram.hpp"
#include "core/remaining.hpp"
#include "core/run.hpp"
#include "dispatch/chunks.hpp"
#include "dispatch/layer_queue.hpp"
#include "dispatch/layer_sending.hpp"
#include "dispatch/strategy.hpp"
#include "scheduler/scheduler.hpp"
#include "tcp/peer_room.hpp"
#include "tcp/senders.hpp"

namespace dstcc {

// A segment with its place in its ordering domain.
struct Cut {
    std::uint32_t object, order;
    std::uint16_t bytes;
    bool pushed = false;  // ends a write of the program
};

class Dispatcher : protected Senders {
public:
    using Slack = dstcc_dispatch::Slack;
    struct Reinjection {  // what a subflow with a timeout still owes, for the others
        std::uint32_t object, order;
        std::uint16_t bytes;
        std::int64_t number;
    };
    struct Spare : Reinjection {  // what may go a second time where there is room
        std::uint16_t origin;
    };
    struct Outlet : SendingEndpoint {  // a subflow
        int next_lane = 0;
        Time handshake_rtt_ns = -1, confirmed_ns = 0;  // of a join that was answered, and its first ACK to that
        std::deque<Reinjection> reinjections{};
        // Of a layer whose segments leave by themselves: those that are to, and those that have and are not on the line.
        Run ahead{}, left{};
        std::uint32_t going = 0;
    };
    Dispatcher(const TransportConfig& transport, const ObjectsConfig& objects, std::unique_ptr<Scheduler> scheduler,
               LayerHeaders& headers, Timers timers, Timers paces, Remaining& remaining);
    Dispatcher(const Dispatcher&) = delete;  // its parts point at each other
    Dispatcher& operator=(const Dispatcher&) = delete;

    // --- what strategies ask and do
    const TransportConfig& transport() const { return transport_; }
    const ObjectsConfig& objects() const { return objects_; }
    bool layer_first() const { return transport_.layer_first || scheduler_->order() != Order::kOldestFirst; }
    std::size_t outlets() const { return subflows_.size(); }
    const Subflow& sender(std::size_t s) const { return subflows_[s].sender; }
    // When TCP's timer of a subflow is due, that of its SYN's repeat before there is an answer; kNever: none runs.
    Time timer(std::size_t s) const {
        const Outlet& subflow = subflows_[s];
        if (subflow.sender.established()) return subflow.sender.next_timer();
        return subflow.syns > 0 && subflow.handshake_rtt_ns < 0 ? subflow.syn_due : kNever;
    }
    const LayerSending& layer(std::uint32_t object) const { return layers_[object]; }
    std::int64_t unsent_bytes(std::uint32_t object) const {
        return objects_.payload_bytes[object] - layers_[object].offset;
    }
    bool anything_waits() const { return !pending_.empty(); }
    std::uint32_t first_waiting() const { return pending_.front(); }
    bool deadlines() const { return deadlines_; }
    Time now() const { return now_; }
    SubflowSet ready() const { return ready_; }
    SubflowSet established() const { return established_; }
    SubflowSet fresh() const { return established_ & ~stale_; }
    SubflowSet outage() const { return outage_; }
    SubflowSet stale() const { return stale_; }
    // Subflows for which something waits, beside what waits for no subflow in particular: the strategy's to keep.
    SubflowSet& bound() { return bound_; }
    SubflowSet usable() const;
    int quickest(SubflowSet set) const { return fastest(paths_, set); }  // by least smoothed RTT
    std::int64_t backlog() const { return backlog_; }  // bytes released, neither given to a subflow nor given up
    // Bytes of the stream: given to subflows; of those, not known to be delivered; and how many more the receiver's window has.
    std::int64_t given() const { return new_payload_ + planned_payload_; }
    std::int64_t unacknowledged() const { return given() - peer_delivered_; }
    std::int64_t window_left() const { return bounded_ ? window_ - unacknowledged() : kInfiniteWindow; }
    bool room_at_receiver(std::int64_t bytes) const { return !bounded_ || unacknowledged() + bytes <= window_; }
    bool room_at_receiver() const { return room_at_receiver(transport_.mss_bytes); }
    // How many segments of so many bytes have room at the receiver.
    std::int64_t room_for(std::int64_t bytes) const {
        if (!bounded_) return kInfiniteWindow;
        return window_left() / bytes;
    }
    // A layer waits, some subflow has room, and the receiver has none.
    void note_blocked() {
        if (wants_feedback_ && !pending_.empty()) scheduler_->on_blocked(now_);
    }
    bool next_unbound(SubflowSet& ready, std::uint32_t& object);
    // `written`: it is part of what a program has written already.
    int choose(SubflowSet idle, SubflowSet ready, std::uint32_t object, std::int64_t bytes, bool written = false);
    bool begins_write(std::uint32_t object) const;        // a program's that writes layers one by one
    std::int64_t write_left(std::uint32_t object) const;  // bytes of the one that is begun
    int pick_by_paths(SubflowSet ready);
    bool may_wait() const { return may_wait_; }
    int assign(std::uint32_t object);  // a pinning scheduler's choice for a whole layer
    SubflowSet in_time(std::uint32_t object, Slack slack, SubflowSet set) const;
    bool late(std::uint32_t object, std::size_t s, Slack slack) const;
    // The layer it builds on was given up: it could not be decoded.
    bool hopeless(std::uint32_t object) const { return deadlines_ && dstcc::hopeless(objects_, layers_, object); }
    bool lost_cause(std::uint32_t object) const;
    void wait(std::uint32_t object) { pending_.push_back(object, objects_.layer[object]); }
    void unbind(std::uint32_t object) { pending_.take(object, objects_.layer[object]); }
    void give_up(std::uint32_t object);
    void set_domain(std::uint32_t object, std::size_t s);  // on lanes the next of a subflow's
    // So many bytes are given to a subflow, or (below 0) no more; a scheduler sees them.
    void note_assigned(std::size_t s, std::int64_t bytes) { paths_[s].assigned_bytes += bytes; }
    // The same of segments that have their place in the stream and are not sent: the receiver's window counts them.
    void note_planned(std::size_t s, std::int64_t bytes) {
        paths_[s].assigned_bytes += bytes;
        planned_payload_ += bytes;
    }
    std::int64_t planned_payload() const { return planned_payload_; }
    // The next segment of a layer that waits, for later; the layer waits no longer when it was the last.
    Cut cut(std::size_t s, std::uint32_t object) { return cut(s, object, transport_.mss_bytes); }
    Cut cut(std::size_t s, std::uint32_t object, std::int64_t most_bytes);
    // Of a layer that waits so many bytes more, in the segment that was cut last and has not been put.
    void extend(std::size_t s, Cut& segment, std::uint32_t object, std::int64_t bytes);
    // Call f(object, bytes) for each layer in a segment.
    template <class F>
    void each_layer(const Cut& segment, F&& f) const {
        headers_.each({segment.order, segment.object, segment.bytes}, f);
    }
    void put_cut(std::size_t s, const Cut& segment);             // for the first time
    std::int64_t send_new(std::size_t s, std::uint32_t object);  // both; returns the segment's number
    // One segment of a layer after another, for as long as nothing else could have come to be chosen.
    void send_run(std::size_t s, std::uint32_t object);
    // --- dispatch/runs.cpp: segments that leave by themselves, at the times that the subflow's pace gives, until something
    // happens there. Whoever looks at the subflow, or does something to it, has them go on so far first.
    void stop(std::size_t s) {
        if (contains(going_, s)) stop_going(s);
    }
    // A further copy of data that another subflow carries too.
    void send_copy(std::size_t s, std::uint32_t object, std::uint32_t order, std::uint16_t bytes);
    void note_sent_out(std::uint32_t object) {  // the last byte of a layer
        if (sent_out_ != nullptr) sent_out_->push_back(object);
    }
    std::vector<std::deque<Spare>>& spares() { return spares_; }

protected:
    using Forecast = dstcc_dispatch::Forecast;
    class View;  // what the rules of timeliness and order ask of a sender

    void connect();  // once all subflows are there
    // The receiver's window is that of its SYN's answer; or has been heard of since.
    void begin_window() { bound_by(kFirstWindow); }
    void open_window() { bound_by(transport_.receive_buffer_bytes); }
    void bound_by(std::int64_t bytes) {
        window_ = bytes;
        bounded_ = bytes != 0;
    }
    void note_least();
    void pump(std::size_t s);
    void offer();
    void send_probe(std::size_t s);
    bool data_waits(std::size_t s) const {
        return contains(bound_, s) || (!contains(held_, s) && (!pending_.empty() || more_to_send(s)));
    }
    bool anything_to_offer() const {
        return !pending_.empty() || reinjecting_ != 0 || (ready_ & bound_) != 0 || any_spares();
    }
    void finish_sending(std::size_t s, Outlet& subflow);
    void finish_all_sending();
    void drop_expired();
    void refresh_delays();
    using Senders::arm_timer;
    void arm_timer(std::size_t s) { arm_timer(s, subflows_[s]); }
    // Where nodes end subflows: what waits for room there asks for it.
    void arm_for_rooms();
    // What leaves by itself up to and including then has left.
    void go_on(Time to) {
        for (SubflowSet set = going_; set != 0; set &= set - 1) go_on(static_cast<std::size_t>(lowest(set)), to);
    }
    void go_on(std::size_t s, Time to) {
        Outlet& subflow = subflows_[s];
        if (subflow.ahead.count == 0 || subflow.ahead.first > to) return;
        const std::int64_t before = backlog_;
        leave(s, to);
        note_assigned(s, backlog_ - before);
    }
    void put_on_line(std::size_t s);
    void stop_all() {
        while (going_ != 0) stop_going(static_cast<std::size_t>(lowest(going_)));
    }
    // Is there what subflows that are free, or come to be, may take?
    bool may_offer() const { return ready_ != 0 && anything_to_offer(); }
    bool goes_on_undisturbed(std::size_t s) const;
    // ACKs at those times, in order, the first of what is before a number, and each of so many segments more: each lets segments leave, and
    // nothing else happens. How many there are.
    std::int64_t go_by_acks(std::size_t s, std::int64_t to, const Run& times, std::int64_t each);
    // What they have let leave goes on the line only now.
    void put_volleys(std::size_t s);

private:
    bool begin_going(std::size_t s, std::uint32_t object);
    void leave(std::size_t s, Time to);
    void put_on_line(std::size_t s, const Volleys& volleys, std::int64_t number, std::uint32_t object,
                     std::uint32_t order);
    void stop_going(std::size_t s);
    void repair(std::size_t s);
    void repeat(std::size_t s, std::int64_t number);
    void offer_reinjections();
    // Beside what no subflow was given.
    bool more_to_send(std::size_t s) const { return contains(bound_, s) || reinjecting_ != 0 || any_spares(); }
    bool any_spares() const {
        for (const auto& waiting : spares_)
            if (!waiting.empty()) return true;
        return false;
    }
    bool next_in_time(SubflowSet& ready, std::uint32_t& object);
    bool next_in_deadline_order(SubflowSet& ready, std::uint32_t& object);
    void drop_lost_causes(const WaitingLevel& waiting);
    bool anything_under_way() const;
    bool premature(std::uint32_t object) const;
    Forecast forecast(std::size_t s) const;
    void transmit(std::size_t s, Outlet& subflow, std::int64_t number, const Cut& segment, bool repeat);
    void send_burst(std::size_t s, Outlet& subflow, std::uint32_t object, LayerSending& layer, std::int64_t payload);
    std::uint32_t& order_of(Outlet& subflow, std::uint32_t object);
    void note_first(std::size_t s, LayerSending& layer);
    void note_cut(std::uint32_t object, std::int64_t bytes);
    void note_again(std::size_t s, const Cut& segment);
    void cut_whole(std::uint32_t object);
    void copy_elsewhere(std::size_t s, std::uint32_t object, std::uint32_t order, std::uint16_t bytes,
                        std::int64_t number);
    Cut take(Outlet& subflow, std::uint32_t object, LayerSending& layer, std::int64_t most_bytes);
    std::int64_t put(std::size_t s, Outlet& subflow, const Cut& segment);
    void refresh(std::size_t s) { refresh(s, subflows_[s].sender); }
    void refresh(std::size_t s, const Subflow& sender);

protected:
    const ObjectsConfig& objects_;
    LayerHeaders& headers_;
    Remaining& remaining_;
    std::vector<Outlet> subflows_;
    std::vector<std::uint32_t> next_order_;  // per ordering domain
    std::unique_ptr<Scheduler> scheduler_;
    std::vector<PeerRoom> rooms_;  // of subflows that end at nodes; none: no node ends any
    // What the scheduler says of itself, asked once: it is in every packet's way.
    bool wants_feedback_, may_wait_, deadline_order_;
    bool bounded_;         // the receiver has a window
    std::int64_t window_;  // of so many bytes
    // A program that keeps lanes with deadlines writes to each what its window has room for, and so does each write's last
    // segment push (kernel-cc/transfer/sender.cpp).
    bool writes_what_fits_;
    SubflowSet held_ = 0;  // ready, but the scheduler waits
    std::vector<Path> paths_;
    Time least_one_way_ns_ = 0;  // of all paths
    std::unique_ptr<Strategy> strategy_;

    std::vector<LayerSending> layers_;
    WaitingLayers pending_;                  // released, bound to no subflow
    std::vector<std::int64_t> least_bytes_;  // of layers that wait there, by level, as next_in_time() wants it
    SubflowSet ready_ = 0, established_ = 0, stale_ = 0, reinjecting_ = 0, bound_ = 0;
    SubflowSet outage_ = 0;         // at rest, see SendingEnd::steer()
    SubflowSet sent_ = 0;           // new segments left on them since finish_all_sending()
    SubflowSet going_ = 0;          // on which segments leave by themselves
    bool runs_ = false;             // some may
    bool by_acks_ = false;          // segments of a layer leave in volleys, as ACKs come
    std::vector<Volleys> volleys_;  // that ACKs at hand let leave
    bool copied_ = false;           // data that one subflow carries went over another, too
    std::int64_t packets_in_runs_ = 0;

    LogHistogram waits_;
    std::int64_t planned_payload_ = 0;               // waits at subflows
    std::int64_t backlog_ = 0;                       // released, neither sent nor given up
    std::array<std::int64_t, 256> layer_backlog_{};  // the same by layer, a layer begun counted whole
    std::uint64_t copied_layers_ = 0;                // LayerAction::copied
    std::vector<std::deque<Spare>> spares_;          // by layer
    std::vector<std::int32_t> layer_table_;          // LayerAction::subflow
    Time layer_gap_ns_ = kNever;                     // LayerAction::gap_ns
    double repair_share_ = 0.5;                      // LayerAction::repair_share
    std::vector<std::uint32_t>* sent_out_ = nullptr;
    std::unique_ptr<ChunkManager> chunks_;
    std::int64_t new_payload_ = 0;     // sent for the first time
    std::int64_t peer_delivered_ = 0;  // what the receiver has said of its window
    std::int64_t repeated_payload_ = 0, data_packets_ = 0;
    Time first_send_ns_ = -1;
    bool deadlines_ = false;  // some layer has one, and late ones are dropped
};

// ------------------------------------------------------------------------ small and in every packet's way

// Is the subflow free to send now? If only pacing holds it, wake it when pacing lets go.
inline void Dispatcher::refresh(std::size_t s, const Subflow& sender) {
    if (!sender.window_open() || (__builtin_expect(!rooms_.empty(), 0) && rooms_[s].full(sender))) {
        erase(ready_, s);
    } else if (sender.pacing_until() > now_) {
        erase(ready_, s);
        if (paces_.at(s) != sender.pacing_until()) paces_.set(s, sender.pacing_until());
    } else {
        insert(ready_, s);
    }
}

// A subflow with room that the scheduler passes over is as starved as one without data.
inline void Dispatcher::finish_sending(std::size_t s, Outlet& subflow) {
    Subflow& sender = subflow.sender;
    const bool more = data_waits(s);
    sender.finish_sending(now_, !more, more && !sender.window_open());
    arm_timer(s, subflow);
}

// The next place in the ordering domain of a layer. One that has none gets the connection's, or the subflow's next lane.
inline std::uint32_t& Dispatcher::order_of(Outlet& subflow, std::uint32_t object) {
    std::int32_t& domain = headers_.domain[object];
    if (domain < 0) {
        const int lanes = transport_.lanes ? transport_.lanes_per_link : 1;
        domain = static_cast<std::int32_t>(subflow.next_lane);
        subflow.next_lane = (subflow.next_lane + 1) % lanes;
    }
    return next_order_[static_cast<std::size_t>(domain)];
}

inline void Dispatcher::note_first(std::size_t s, LayerSending& layer) {
    if (layer.first_sent_ns >= 0) return;
    layer.first_sent_ns = now_;
    layer.subflow = static_cast<std::int16_t>(s);
    if (first_send_ns_ < 0) first_send_ns_ = now_;
}

inline void Dispatcher::offer() {
    if (reinjecting_ != 0) offer_reinjections();
    strategy_->offer();
}

// Let a subflow use what an event gave it: repairs first, then new data.
[[gnu::always_inline]] inline void Dispatcher::pump(std::size_t s) {
    Outlet& subflow = subflows_[s];
    if (subflow.sender.repairs_waiting()) repair(s);
    refresh(s, subflow.sender);
    if (ready_ != 0 && anything_to_offer()) offer();
    if (subflow.sender.repairs_instead()) repair(s);
    insert(sent_, s);
    finish_all_sending();
}

// An event of one subflow lets others send, too: each sees whether its window was in use (tcp_write_xmit).
[[gnu::always_inline]] inline void Dispatcher::finish_all_sending() {
    for (SubflowSet set = std::exchange(sent_, 0); set != 0; set &= set - 1) {
        const auto s = static_cast<std::size_t>(lowest(set));
        finish_sending(s, subflows_[s]);
    }
    if (__builtin_expect(!rooms_.empty(), 0)) arm_for_rooms();
}

// Ready subflows that may take new data: the stale only when all are.
inline SubflowSet Dispatcher::usable() const {
    if (stale_ == 0) return ready_;
    return (established_ & ~stale_) != 0 ? ready_ & ~stale_ : ready_;
}

// For schedulers that go by their paths alone.
inline int Dispatcher::pick_by_paths(SubflowSet ready) {
    static const Next unread{};
    return scheduler_->pick(paths_, ready, unread);
}

// The next layer, bound to no subflow, that one of `ready` can bring in time; `ready` is narrowed to those that can.
inline bool Dispatcher::next_unbound(SubflowSet& ready, std::uint32_t& object) {
    if (deadline_order_) return next_in_deadline_order(ready, object);
    if (deadlines_) return next_in_time(ready, object);
    if (pending_.empty()) return false;
    object = pending_.front();
    return true;
}

static_assert(kAutomatic == dstcc_dispatch::kAutomatic && kRepairable == dstcc_dispatch::kRepairable &&
                  kAvoid == dstcc_dispatch::kAvoid,
              "an agent's table means the same to the rules");

// For kernel-cc/dispatch/dstcc_dispatch.hpp. Where nothing late is dropped, nothing has a deadline.
class Dispatcher::View {
public:
    using Set = SubflowSet;
    explicit View(const Dispatcher& of) : of_(of) {}
    dstcc_dispatch::Layer layer(std::uint32_t object) const {
        const ObjectsConfig& objects = of_.objects_;
        return {objects.release_ns[object], of_.deadlines_ ? objects.deadline_ns[object] : kNever,
                objects.payload_bytes[object], objects.layer[object], of_.layers_[object].offset > 0};
    }
    bool blocked(std::uint32_t object) const { return of_.premature(object); }
    Time light(std::size_t s) const { return of_.now_ + of_.paths_[s].one_way_ns; }
    Forecast forecast(std::size_t s) const { return of_.forecast(s); }
    double repair_share() const { return of_.repair_share_; }
    const std::vector<WaitingLevel>& levels() const { return of_.pending_.levels(); }
    Time gap_ns() const { return of_.layer_gap_ns_; }
    std::int32_t entry(std::int64_t layer) const {
        const auto m = static_cast<std::size_t>(layer);
        return m < of_.layer_table_.size() ? of_.layer_table_[m] : kAutomatic;
    }
    SubflowSet usable() const { return of_.established_ & ~of_.stale_ & ~of_.outage_; }
    std::size_t paths() const { return of_.paths_.size(); }
    bool strict() const { return false; }

private:
    const Dispatcher& of_;
};

// Over every path.
inline bool Dispatcher::lost_cause(std::uint32_t object) const {
    if (!deadlines_) return false;
    return dstcc_dispatch::lost_cause(View(*this).layer(object), hopeless(object), now_ + least_one_way_ns_);
}

// Would the layer come too late over a subflow?
inline bool Dispatcher::late(std::uint32_t object, std::size_t s, Slack slack) const {
    if (!deadlines_) return false;
    const View view(*this);
    return dstcc_dispatch::late_on(view, view.layer(object), s, slack);
}

}  // namespace dstcc
