// The connection and its links in virtual time: one trial.
//
// Each link direction keeps its packets in flight in arrival order, so the next event is the least of a few heads: a
// front per direction, a timer, a pacing and a delayed-ACK deadline per subflow, the source, the sampler, the cross
// traffic. Timers are lazy: a head may be early, and is set anew when it fires.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "channel.hpp"
#include "events.hpp"
#include "histogram.hpp"
#include "layer_queue.hpp"
#include "receiver.hpp"
#include "scheduler.hpp"

namespace dstcc {

struct ObjectOutcome {
    Time first_sent_ns = -1, first_arrival_ns = -1, complete_ns = -1;
    std::int64_t sent_bytes = 0, delivered_bytes = 0, retransmissions = 0, offset = 0;
    std::int32_t subflow = -1;
    std::int32_t domain = -1;  // ordering domain, once known
    bool given_up = false;
};

struct SampleColumns {
    std::vector<std::int64_t> t_ns, subflow, cwnd, inflight, srtt_ns, min_rtt_ns, sent, lost, retransmitted, delivered,
        queue;
    std::vector<double> pacing_bps;
};

inline std::uint64_t bit(std::size_t i) { return std::uint64_t{1} << i; }

class Simulation {
public:
    explicit Simulation(const EngineConfig& config);
    // Process everything up to and including `until`; false when the run is over. `interrupted` is polled now and then.
    bool run_until(Time until, bool (*interrupted)());

    const std::vector<ObjectOutcome>& objects() const { return outcomes_; }
    const SampleColumns& samples() const { return samples_; }
    Time now() const { return now_; }
    std::map<std::string, double> totals() const;

private:
    struct DataPacket {
        Time arrive_ns, sent_ns;
        std::uint32_t number;         // low bits of the segment number
        std::uint32_t object, order;  // of the segment, so that its arrival need not look the sender up
        std::uint16_t bytes;          // payload; 0 for a SYN
        std::uint16_t subflow;
    };
    static_assert(sizeof(DataPacket) == 32, "the memory budget counts on it");
    struct AckPacket {
        Time arrive_ns, echo_ns;
        std::int64_t delivered_bytes;  // in-order payload at the receiver, for its window
        std::uint32_t cumulative;      // low bits
        std::uint16_t subflow;
        std::uint8_t sacks;
        bool syn : 1, duplicate : 1;
    };
    static_assert(sizeof(AckPacket) == 32, "the memory budget counts on it");
    struct SackBlock {
        std::uint32_t offset, length;  // from the cumulative ACK
    };
    struct LinkState {
        Direction down, up;
        BlockRing<DataPacket> data;
        BlockRing<AckPacket> acks;
        BlockRing<SackBlock> blocks;
    };
    struct Reinjection {  // what a subflow with a timeout still owes, for the others
        std::uint32_t object, order;
        std::uint16_t bytes;
        std::int64_t number;
    };
    struct SubflowState {
        Subflow sender;
        SubflowReceiver receiver;
        LayerQueue assigned;  // layers that are this subflow's to send
        int next_lane = 0;
        std::int64_t copied = 0;             // redundant: place in the log
        Time syn_at = kNever, first_syn_ns = -1;
        unsigned syns = 0;
        std::deque<Reinjection> reinjections{};
        // since the last sample
        std::int64_t slot_sent = 0, slot_retransmitted = 0, slot_delivered = 0;
        std::uint64_t slot_lost_base = 0;
    };
    struct Sent {  // redundant: what went out first where
        std::uint32_t object, order;
        std::uint16_t bytes, subflow;
        std::int64_t number;
    };
    struct CrossSource {
        CrossTrafficConfig config;
        std::size_t link;
        Time gap;
    };

    // heads
    // A link's own number is its data head.
    std::size_t head_acks(std::size_t link) const { return links_.size() + link; }
    std::size_t head_timer(std::size_t s) const { return 2 * links_.size() + s; }
    std::size_t head_pace(std::size_t s) const { return 2 * links_.size() + subflows_.size() + s; }
    std::size_t head_delayed_ack(std::size_t s) const { return 2 * links_.size() + 2 * subflows_.size() + s; }
    std::size_t head_release() const { return 2 * links_.size() + 3 * subflows_.size(); }
    std::size_t head_slot() const { return head_release() + 1; }
    std::size_t head_cross(std::size_t i) const { return head_release() + 2 + i; }
    void on_idle_head(std::size_t head);

    // coming in
    void on_data(std::size_t link);
    void on_acks(std::size_t link);
    void on_timer(std::size_t s);
    void on_delayed_ack(std::size_t s);
    void on_release();
    void on_slot();
    void on_cross(std::size_t i);
    void on_segment(const DataPacket& packet);
    void on_established(std::size_t s);
    void on_timeout(std::size_t s);

    // going out
    void send_syn(std::size_t s);
    void send_ack(std::size_t s, bool syn);
    void transmit(std::size_t s, std::int64_t number, const Segment& segment, bool repeat);
    void pump(std::size_t s);
    void repair(std::size_t s);
    void repeat(std::size_t s, std::int64_t number);
    void send_probe(std::size_t s);
    void offer();
    void offer_reinjections();
    void offer_stream();
    void offer_assigned();
    void offer_copies();
    void drop_expired();
    void drop_lost_causes(const WaitingLevel& waiting);
    bool next_unbound(std::uint64_t& ready, std::uint32_t& object);
    // In time: as far as light goes; at the present window; that, with time to repeat what is lost.
    enum class Slack { kLight, kWindow, kRepair };
    bool first_in_time(const WaitingLevel& waiting, Slack slack, std::uint64_t ready,
                       std::uint32_t& object) const;
    bool last_in_time(const WaitingLevel& waiting, std::uint64_t ready, std::uint32_t& object) const;
    // When a subflow could bring a layer, as far as the sender can tell.
    struct Forecast {
        Time light_ns;        // a byte sent now arrives
        Time window_ns;       // the same behind what queues on the way
        double ns_per_byte;   // of what exceeds `room_bytes`
        std::int64_t room_bytes;
        Time one_way_ns, repair_ns;
    };
    Forecast forecast(std::size_t s) const;
    Time due(std::uint32_t object, const Forecast& path, Slack slack) const;
    bool late(std::uint32_t object, const Forecast& path, Slack slack) const;
    void unbind(std::uint32_t object);
    std::uint64_t in_time(std::uint32_t object, Slack slack, std::uint64_t set) const;
    std::int64_t send_new(std::size_t s, std::uint32_t object);
    void send_copy(std::size_t s, std::uint32_t object, std::uint32_t order, std::uint16_t bytes);
    std::int64_t unsent_bytes(std::uint32_t object) const {
        return config_.objects.payload_bytes[object] - outcomes_[object].offset;
    }
    bool builds_on_another(std::uint32_t object) const;
    bool hopeless(std::uint32_t object) const;
    bool premature(std::uint32_t object) const;
    bool lost_cause(std::uint32_t object) const;
    bool late(std::uint32_t object, std::size_t s, Slack slack) const {
        return deadlines_ && late(object, forecast(s), slack);
    }
    void give_up(std::uint32_t object);
    void drop_from_assigned(std::size_t s);
    void bind(std::uint32_t object, std::size_t s);
    void assign_released(std::uint32_t object);
    bool room_at_receiver(std::int64_t bytes) const;
    bool more_to_send(std::size_t s) const;
    int choose(std::uint64_t idle, std::uint64_t ready, std::uint32_t object, std::int64_t bytes);
    bool anything_under_way() const;
    void finish_sending(std::size_t s);

    // bookkeeping
    void refresh(std::size_t s);
    void arm_timer(std::size_t s);
    std::uint64_t usable() const;
    int quickest(std::uint64_t set) const {  // by least smoothed RTT
        return least(set, [&](int i) { return paths_[static_cast<std::size_t>(i)].subflow->tcp().srtt_ns; });
    }
    void refresh_delays();
    void settle();
    void check_conservation() const;
    void check_deliveries() const;

    EngineConfig config_;
    std::uint32_t wire_bytes_;
    std::vector<LinkState> links_;
    std::vector<SubflowState> subflows_;
    std::vector<OrderingDomain> domains_;
    std::unique_ptr<Scheduler> scheduler_;
    bool listens_;
    std::uint64_t held_ = 0;  // ready, but the scheduler waits
    std::vector<Path> paths_;
    std::vector<CrossSource> cross_;
    EventHeads tree_;
    Time now_ = 0;

    std::vector<ObjectOutcome> outcomes_;
    std::size_t released_ = 0, unsettled_ = 0;
    WaitingLayers pending_;  // released, bound to no subflow
    BlockRing<Sent> log_;
    std::uint64_t ready_ = 0, established_ = 0, stale_ = 0, has_assigned_ = 0, reinjecting_ = 0;

    SampleColumns samples_;
    LogHistogram waits_;
    std::int64_t backlog_ = 0;         // released, neither sent nor given up
    std::int64_t new_payload_ = 0;     // sent for the first time
    std::int64_t peer_delivered_ = 0;  // what the receiver has said of its window
    std::int64_t delivered_payload_ = 0, arrived_payload_ = 0, duplicate_payload_ = 0, hol_payload_ = 0;
    std::int64_t repeated_payload_ = 0, data_packets_ = 0, events_ = 0;
    double hol_wait_byte_s_ = 0;
    Time first_send_ns_ = -1, last_delivery_ns_ = -1;
    bool deadlines_ = false;  // some layer has one, and late ones are dropped
    bool over_ = false;
};

// ------------------------------------------------------------------------ small and in every packet's way

// Is the subflow free to send now? If only pacing holds it, wake it when pacing lets go.
inline void Simulation::refresh(std::size_t s) {
    const Subflow& sender = subflows_[s].sender;
    if (!sender.window_open()) {
        ready_ &= ~bit(s);
    } else if (sender.pacing_until() > now_) {
        ready_ &= ~bit(s);
        tree_.set(head_pace(s), sender.pacing_until());
    } else {
        ready_ |= bit(s);
    }
}

// The timer's head may be early; it is never late.
inline void Simulation::arm_timer(std::size_t s) {
    const SubflowState& subflow = subflows_[s];
    const Time at = subflow.sender.established() ? subflow.sender.next_timer() : subflow.syn_at;
    if (at < tree_.at(head_timer(s))) tree_.set(head_timer(s), std::max(at, now_));
}

// Ready subflows that may take new data: on lanes those with nothing assigned; the stale only when all are.
inline std::uint64_t Simulation::usable() const {
    const std::uint64_t set = ready_ & ~has_assigned_;
    return (established_ & ~stale_) != 0 ? set & ~stale_ : set;
}

}  // namespace dstcc
