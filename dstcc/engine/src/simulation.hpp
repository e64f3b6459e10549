// The connection and its links in virtual time: one trial.
//
// Each link direction keeps its packets in flight in arrival order, so the next event is the least of a few heads: a
// front per direction, a timer, a pacing and a delayed-ACK deadline per subflow, the source, the sampler, the cross
// traffic. Timers are lazy: a head may be early, and is set anew when it fires.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "channel.hpp"
#include "events.hpp"
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

// Layers waiting to be sent: oldest first, or (layer_first) the lowest layer first and the oldest within it.
class LayerQueue {
public:
    explicit LayerQueue(bool layer_first = false) : layer_first_(layer_first) {}
    bool empty() const { return size_ == 0; }
    std::uint32_t front() const { return by_layer_[first()].front(); }
    void pop_front() {
        by_layer_[first()].pop_front();
        --size_;
    }
    void push_back(std::uint32_t object, std::int64_t layer) { place(layer).push_back(object); }
    void push_front(std::uint32_t object, std::int64_t layer) { place(layer).push_front(object); }
    // The queues in sending order; objects rise within each, and so do their deadlines.
    const std::vector<std::deque<std::uint32_t>>& levels() const { return by_layer_; }
    void erase(std::uint32_t object, std::int64_t layer) {
        auto& queue = by_layer_[layer_first_ ? static_cast<std::size_t>(layer) : 0];
        const auto at = queue.front() == object ? queue.begin() : std::find(queue.begin(), queue.end(), object);
        DSTCC_CHECK(at != queue.end(), "a layer is taken from the queue it is in");
        queue.erase(at);
        --size_;
    }
    // Take out what `moves` says, in order.
    template <class Moves>
    std::vector<std::uint32_t> extract(Moves&& moves) {
        std::vector<std::uint32_t> out;
        for (auto& queue : by_layer_) {
            std::deque<std::uint32_t> kept;
            for (const std::uint32_t object : queue)
                if (moves(object))
                    out.push_back(object);
                else
                    kept.push_back(object);
            queue = kept;
        }
        size_ -= out.size();
        return out;
    }

private:
    std::size_t first() const {
        std::size_t i = 0;
        while (by_layer_[i].empty()) ++i;
        return i;
    }
    std::deque<std::uint32_t>& place(std::int64_t layer) {
        const auto i = layer_first_ ? static_cast<std::size_t>(layer) : 0;
        if (by_layer_.size() <= i) by_layer_.resize(i + 1);
        ++size_;
        return by_layer_[i];
    }
    bool layer_first_;
    std::vector<std::deque<std::uint32_t>> by_layer_;
    std::size_t size_ = 0;
};

// Counts per 1/16 octave: a quantile within 5 % at a few instructions a packet.
class LogHistogram {
public:
    void add(Time value) { ++counts_[bin(value)]; ++total_; }
    double quantile(double q) const;

private:
    static std::size_t bin(Time value) {
        if (value <= 0) return 0;
        const auto v = static_cast<std::uint64_t>(value) << 4;
        const int top = 63 - __builtin_clzll(v);
        return static_cast<std::size_t>((top - 3) * 16 + static_cast<int>((v >> (top - 4)) & 15));
    }
    std::array<std::int64_t, 64 * 16> counts_{};
    std::int64_t total_ = 0;
};

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
        std::uint8_t syn;
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
    struct SubflowState {
        Subflow sender;
        SubflowReceiver receiver;
        LayerQueue assigned;  // layers that are this subflow's to send
        int next_lane = 0;
        std::int64_t copied = 0;             // redundant: place in the log
        Time syn_at = kNever, first_syn_ns = -1;
        unsigned syns = 0;
        // since the last sample
        std::int64_t slot_sent = 0, slot_retransmitted = 0, slot_delivered = 0;
        std::uint64_t slot_lost_base = 0;
    };
    struct Reinjection {
        std::uint32_t object, order;
        std::uint16_t bytes, origin;
        std::int64_t number;
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
    void dispatch(std::size_t head);

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
    void send_probe(std::size_t s);
    void offer();
    void offer_reinjections();
    void offer_stream();
    void offer_assigned();
    void offer_copies();
    bool next_unbound(std::uint64_t& ready, std::uint32_t& object);
    bool first_in_time(const std::deque<std::uint32_t>& queue, std::uint64_t ready, std::uint32_t& object) const;
    void unbind(std::uint32_t object);
    std::uint64_t in_time(std::uint32_t object, std::uint64_t set) const;
    std::int64_t send_new(std::size_t s, std::uint32_t object);
    void send_copy(std::size_t s, std::uint32_t object, std::uint32_t order, std::uint16_t bytes);
    bool hopeless(std::uint32_t object) const;
    bool lost_cause(std::uint32_t object) const;
    bool late(std::uint32_t object, std::size_t s) const;
    void give_up(std::uint32_t object);
    void drop_from_assigned(std::size_t s);
    void bind(std::uint32_t object, std::size_t s);
    void assign_released(std::uint32_t object);
    bool room_at_receiver(std::int64_t bytes) const;
    bool more_to_send(std::size_t s) const;

    // bookkeeping
    void refresh(std::size_t s);
    void arm_timer(std::size_t s);
    std::uint64_t usable() const;
    void refresh_delays();
    void settle();
    void check_conservation() const;

    EngineConfig config_;
    std::uint32_t wire_bytes_;
    std::vector<LinkState> links_;
    std::vector<SubflowState> subflows_;
    std::vector<OrderingDomain> domains_;
    std::unique_ptr<Scheduler> scheduler_;
    std::vector<Path> paths_;
    std::vector<CrossSource> cross_;
    EventHeads tree_;
    Time now_ = 0;

    std::vector<ObjectOutcome> outcomes_;
    std::size_t released_ = 0, unsettled_ = 0;
    LayerQueue pending_;  // released, bound to no subflow
    std::deque<Reinjection> reinjections_;
    BlockRing<Sent> log_;
    std::uint64_t ready_ = 0, established_ = 0, stale_ = 0, has_assigned_ = 0;

    SampleColumns samples_;
    LogHistogram waits_;
    std::int64_t new_payload_ = 0, peer_delivered_ = 0;  // receive window bookkeeping, sender's side
    std::int64_t delivered_payload_ = 0, arrived_payload_ = 0, duplicate_payload_ = 0, hol_payload_ = 0;
    std::int64_t sent_payload_ = 0, repeated_payload_ = 0, sent_wire_ = 0, data_packets_ = 0, events_ = 0;
    double hol_wait_byte_s_ = 0;
    Time first_send_ns_ = -1, last_delivery_ns_ = -1;
    bool deadlines_ = false;  // some layer has one, and late ones are dropped
    bool over_ = false;
};

}  // namespace dstcc
