// A node on the way: what it holds for each of its lines, and what it drops.
//
// Without storage a packet joins the queue in front of its line at once, as at a sender, and an outage loses what is in
// service. With storage a packet waits until its line is free and lit by the contact plan (`PlannedWay::fit`: nothing starts
// that an announced outage would cut), and counts against the storage until its service ends. All lines of a node share that:
//
//     drop-tail      what comes and does not fit is dropped
//     drop-head      the oldest packets that wait for the same line make room
//     lowest-layer   the newest packets there of the highest layer above that of what comes make room; base layers stay longest
//
// Who has no room even then is dropped itself. A restart loses what is held unless that is kept, and what comes while the node
// boots; the packet on the line goes on.
#pragma once

#include <deque>
#include <vector>

#include "core/ring.hpp"
#include "link/contact.hpp"
#include "link/direction.hpp"

namespace dstcc {

// A packet between two hops of a path. Who put it there finds it by its number.
struct Token {
    std::uint32_t number;  // low bits
    std::uint32_t step;    // of its route (link/network.hpp)
    std::uint32_t bytes;
    std::uint8_t layer;
};
static_assert(sizeof(Token) == 16, "the memory budget counts on it: with a packet's record 48 bytes");
constexpr std::uint32_t kNobody = UINT32_MAX;  // the step of others' datagrams, which go no further

struct NodeCounts {
    std::int64_t came_packets = 0, left_packets = 0, held_packets = 0, dropped_packets = 0,
                 lost_in_restarts_packets = 0;
    std::int64_t held_bytes = 0, most_held_bytes = 0;
    DSTCC_FIELDS(came_packets, left_packets, held_packets, dropped_packets, lost_in_restarts_packets, most_held_bytes)
};

class Node {
public:
    explicit Node(const NodeConfig& config) : config_(config) {}
    bool stores() const { return config_.storage_bytes > 0; }
    const NodeConfig& config() const { return config_; }
    const NodeCounts& counts() const { return counts_; }
    bool boots(Time now) const { return now < up_at_ns_; }
    Time up_at_ns() const { return up_at_ns_; }
    bool fits(std::uint32_t bytes) const { return counts_.held_bytes + bytes <= config_.storage_bytes; }

    // When the next restart is due.
    Time next_restart() const { return restart_ < config_.restart_ns.size() ? config_.restart_ns[restart_] : kNever; }
    void restart(Time now) {
        ++restart_;
        up_at_ns_ = now + config_.boot_ns;
    }

    void come() { ++counts_.came_packets; }
    void leave() { ++counts_.left_packets; }
    void hold(std::uint32_t bytes) {
        ++counts_.held_packets;
        counts_.held_bytes += bytes;
        counts_.most_held_bytes = std::max(counts_.most_held_bytes, counts_.held_bytes);
    }
    void release(std::uint32_t bytes) {
        --counts_.held_packets;
        counts_.held_bytes -= bytes;
    }
    void drop() { ++counts_.dropped_packets; }
    void lose_in_restart() { ++counts_.lost_in_restarts_packets; }

    void check() const {
        const NodeCounts& c = counts_;
        DSTCC_CHECK(c.came_packets == c.left_packets + c.held_packets + c.dropped_packets + c.lost_in_restarts_packets,
                    "a node conserves packets");
        DSTCC_CHECK(c.held_bytes >= 0 && (c.held_packets > 0) == (c.held_bytes > 0), "a node counts what it holds");
        DSTCC_CHECK(c.most_held_bytes <= config_.storage_bytes, "a node holds no more than its storage");
    }

private:
    NodeConfig config_;
    NodeCounts counts_;
    std::size_t restart_ = 0;
    Time up_at_ns_ = 0;
};

// What waits at a node for one of its lines, in order.
class Waiting {
public:
    explicit Waiting(bool by_layer) : by_layer_(by_layer) {}
    bool empty() const { return packets_.empty(); }
    const Token& front() { return packets_.front(); }
    std::int64_t bytes() const {
        std::int64_t bytes = packets_.bytes();
        for (const auto& places : places_) bytes += static_cast<std::int64_t>(places.size() * sizeof(std::int64_t));
        return bytes;
    }

    void push(const Token& packet) {
        if (by_layer_) {
            if (packet.layer >= places_.size()) places_.resize(packet.layer + std::size_t{1});
            places_[packet.layer].push_back(packets_.end());
        }
        packets_.push_back(packet);
    }
    void pop() {
        if (by_layer_) places_[packets_.front().layer].pop_front();
        do packets_.pop_front();
        while (!packets_.empty() && packets_.front().bytes == 0);  // taken out before
    }
    // The oldest; false if there is none.
    bool take_oldest(Token& taken) {
        if (empty()) return false;
        taken = packets_.front();
        pop();
        return true;
    }
    // The newest of the highest layer above `layer`, likewise. From behind the front its place stays, empty.
    bool take_above(std::uint8_t layer, Token& taken) {
        for (std::size_t of = places_.size(); of-- > layer + std::size_t{1};) {
            if (places_[of].empty()) continue;
            const std::int64_t place = places_[of].back();
            if (place == packets_.begin()) return take_oldest(taken);
            places_[of].pop_back();
            taken = packets_[place];
            packets_[place].bytes = 0;
            return true;
        }
        return false;
    }

private:
    bool by_layer_;
    BlockRing<Token> packets_;
    std::vector<std::deque<std::int64_t>> places_;  // of each layer's packets, the newest last
};

// What a node does with packets for one of its lines. A `Line`
//
//     busy_ns(now)        until when what was put on it keeps it
//     put(now, packet)    puts a packet on it; false: it has no room
//     done(packet)        is told of the end of a service
//     lose(packet, dropped)   and of each that the node does not keep, dropped or lost in a restart
class Store {
public:
    // `node`: none where the line begins at an end.
    Store(Node* node, const PlannedWay& plan)
        : node_(node),
          waiting_(node != nullptr && node->config().when_full == WhenFull::kLowestLayer),
          plan_(plan) {}
    Node& node() const { return *node_; }
    std::int64_t bytes() const { return waiting_.bytes(); }
    // When the service of the front ends, or the next may begin.
    Time next() const { return next_; }

    // `alone`: nothing else comes to the node at this instant, and a service that ends may end now, which is returned.
    template <class Line>
    [[gnu::always_inline]] bool join(Time now, const Token& packet, Line&& line, bool alone = false) {
        node_->come();
        if (__builtin_expect(!takes(now, packet, line), 0)) return false;
        node_->hold(packet.bytes);
        const bool ends = next_ == now && alone && serving_ && waiting_.empty();
        if (ends) end_service(line);
        if (serving_ || !waiting_.empty() || !begin_service(now, packet, line)) waiting_.push(packet);
        return ends;
    }
    // At its next time.
    template <class Line>
    void serve(Line&& line) {
        const Time now = next_;
        if (serving_) end_service(line);
        begin_next(now, line);
    }
    // Its node restarts; it is served again once that is up.
    template <class Line>
    void restart(Time now, Line&& line) {
        Token taken;
        while (!node_->config().keeps_over_restart && waiting_.take_oldest(taken)) {
            node_->release(taken.bytes);
            node_->lose_in_restart();
            line.lose(taken, false);
        }
        if (!serving_) begin_next(now, line);
    }

private:
    // Into the storage; what does not get there goes to the line at once, or nowhere.
    template <class Line>
    [[gnu::always_inline]] bool takes(Time now, const Token& packet, Line& line) {
        if (node_->boots(now)) {
            node_->lose_in_restart();
            line.lose(packet, false);
            return false;
        }
        if (!node_->stores()) {
            line.put(now, packet) ? node_->leave() : node_->drop();
            return false;
        }
        if (!node_->fits(packet.bytes)) make_room(packet, line);
        if (node_->fits(packet.bytes)) return true;
        node_->drop();
        line.lose(packet, true);
        return false;
    }
    template <class Line>
    [[gnu::noinline, gnu::cold]] void make_room(const Token& packet, Line& line) {
        const WhenFull when_full = node_->config().when_full;
        if (when_full == WhenFull::kDropTail) return;
        Token taken;
        while (!node_->fits(packet.bytes) &&
               (when_full == WhenFull::kDropHead ? waiting_.take_oldest(taken)
                                                 : waiting_.take_above(packet.layer, taken))) {
            node_->release(taken.bytes);
            node_->drop();
            line.lose(taken, true);
        }
    }
    template <class Line>
    void end_service(Line& line) {
        serving_ = false;
        node_->release(served_.bytes);
        node_->leave();
        line.done(served_);
    }
    template <class Line>
    void begin_next(Time now, Line& line) {
        next_ = kNever;
        if (!waiting_.empty() && begin_service(now, waiting_.front(), line)) waiting_.pop();
    }
    // False: not yet, but at its next time.
    template <class Line>
    [[gnu::always_inline]] bool begin_service(Time now, const Token& packet, Line& line) {
        const Time free = std::max({now, line.busy_ns(now), node_->up_at_ns()});
        next_ = plan_.fit(free, plan_.service_ns(packet.bytes));
        if (next_ > now) return false;
        serving_ = true;
        served_ = packet;
        line.put(now, packet);
        next_ = line.busy_ns(now);
        return true;
    }

    Node* node_;
    Time next_ = kNever;
    bool serving_ = false;
    Token served_{};
    Waiting waiting_;
    PlannedWay plan_;
};

}  // namespace dstcc
