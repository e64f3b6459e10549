// What left, arrived and was delivered of every layer, from the packets that passed:
//
//   left       a data packet at the far end of the wire that has no delay: the moment its sender sent it
//   arrived    the same packet behind netem
//   delivered  once every earlier byte of its subflow and of its connection is there (RFC 8684 section 3.3)
//   RTT        from a segment's sending to the acknowledgement that first covers it, repeats left out (Karn's rule)
//
// A connection's bytes are counted from 0. Its data sequence maps to them by the number the kernel began with; the first
// packet's, which has no mapping, by its subflow's own.
#pragma once

#include <deque>
#include <map>
#include <unordered_map>

#include "../links/direction.hpp"
#include "base.hpp"
#include "packet.hpp"

namespace transfer {

struct Outcome {
    Time first_sent = -1, first_arrival = -1, complete = -1;
    std::int64_t sent_bytes = 0, delivered_bytes = 0, retransmissions = 0, subflow = -1, given_up = 0;
};

// Disjoint stretches of bytes.
class Stretches {
public:
    // Adds [begin, end); calls fresh(from, to) for what was not in it before.
    template <class Fresh>
    void add(std::int64_t begin, std::int64_t end, Fresh&& fresh);

private:
    std::map<std::int64_t, std::int64_t> ends_;
};

struct Totals {
    std::int64_t sent_wire = 0, sent_payload = 0, retransmitted_payload = 0, arrived_payload = 0, delivered_payload = 0,
                 duplicate_payload = 0, hol_payload = 0, data_packets = 0, arrived_packets = 0, rtt_samples = 0;
    double hol_wait_byte_s = 0, rtt_sum_s = 0;
    Time first_send = -1, last_delivery = -1;
};

// Of a subflow number (a link's subflow, whatever lanes use it), since the last slot.
struct SlotCounts {
    std::int64_t sent_segments = 0, acked_bytes = 0;
};

// Of a subflow number, ever; payload.
struct Passed {
    std::int64_t written = 0;  // handed to its connections; lanes, and where the kernel places layers
    std::int64_t left = 0;     // of that, sent for the first time; where layers are placed, wherever it went
    std::int64_t sent = 0, acked = 0;
};

class Ledger {
public:
    explicit Ledger(const Plan& plan);

    // A connection's first data sequence number, from the kernel; and its token at the Earth, which names it in joins.
    void connected(int lane, std::uint64_t first_data_seq) {
        lanes_[static_cast<std::size_t>(lane)].base = first_data_seq;
    }
    void accepted(int lane, std::uint32_t token) { tokens_[token] = lane; }
    // `bytes` of an object were handed to a connection, to go over a link.
    void wrote(int lane, int object, std::int64_t bytes, int link);

    // Whether a packet of the spacecraft's address, to or from, is one of the link's: paths over nodes may share devices.
    bool is_of(int link, std::uint32_t address) const;
    void handle_departure(int link, const Packet& packet, Time now);
    void handle_arrival(const Packet& packet, Time now);
    void handle_ack(const Packet& packet, Time now);

    std::int64_t written(int lane) const { return lanes_[static_cast<std::size_t>(lane)].written; }
    // Handed to a connection and not yet sent for the first time.
    std::int64_t unsent(int lane) const;
    std::int64_t delivered(int lane) const { return lanes_[static_cast<std::size_t>(lane)].delivered; }
    // ACKs that the spacecraft got for it, ever.
    std::int64_t heard(int lane) const { return lanes_[static_cast<std::size_t>(lane)].heard; }
    // What the line still has to send.
    std::int64_t queue_bytes(int link, Time now) const;
    // The wait of 95 % of the packets that arrived, at most; seconds, or NaN if none did.
    double wait_p95_s();
    std::vector<SlotCounts> take_slot();
    const Passed& passed(int number) const { return passed_[static_cast<std::size_t>(number)]; }
    // Where layers are placed: of a layer, the bytes whose first packet left over a link.
    std::int64_t first_over(int layer, int link) const {
        return first_over_[static_cast<std::size_t>(layer) * plan_.links.size() + static_cast<std::size_t>(link)];
    }
    // What is known of each layer where the first `acknowledged` bytes of each connection are at Earth: how many of its bytes
    // are, and how many have left at least once.
    std::vector<std::int64_t> known(const std::vector<std::int64_t>& acknowledged);
    int finished() const { return finished_; }  // objects delivered or given up
    void give_up(int object);

    std::vector<Outcome> outcomes;
    Totals totals;

private:
    struct Piece {
        std::int64_t begin, end;
        int object;
        std::int64_t offset;
        int link;
    };
    struct Waiting {
        std::int64_t end;
        Time arrived;
    };
    struct Lane {
        std::uint64_t base = 0;
        std::int64_t written = 0, departed_bytes = 0, delivered = 0, heard = 0;
        std::vector<Piece> pieces;
        std::size_t delivering = 0;
        Stretches departed, arrived;
        std::map<std::int64_t, Waiting> waiting;
    };
    struct Sent {
        std::int64_t end;
        Time at, waited;  // the latter in the queue; -1: it was full
        bool repeated;
        bool sacked = false;
    };
    struct Held {
        std::int64_t end, offset;
        Time arrived;
    };
    struct Subflow {
        int lane = -1, number = 0;
        std::uint32_t isn = 0;
        std::int64_t sent = 0, acked = 0, received = 0;
        std::deque<Sent> flight;
        std::map<std::int64_t, Held> held;
    };

    Subflow* find(std::uint32_t address, std::uint16_t port);
    void open(const Packet& syn);
    std::int64_t offset_of(const Subflow& subflow, const Packet& packet, std::int64_t at) const;
    Time queue(int link, const Packet& packet, Time now, bool others);
    // Likewise they may begin on one.
    links::Direction& line(int link) const {
        const int first = plan_.configs[static_cast<std::size_t>(link)].first_hop_of;
        return lines_[static_cast<std::size_t>(first < 0 ? link : first)];
    }
    void release(Lane& lane, std::int64_t begin, std::int64_t end, Time arrived, Time now);
    void deliver(Lane& lane, std::int64_t to, Time arrived, Time now);
    template <class Each>
    void each_piece(const Lane& lane, std::int64_t begin, std::int64_t end, Each&& each);
    template <class Each>
    void each_object(const Lane& lane, std::int64_t begin, std::int64_t end, Each&& each);

    const Plan& plan_;
    std::vector<Lane> lanes_;
    mutable std::vector<links::Direction> lines_;  // by link; each moves on when it is looked at
    std::vector<SlotCounts> slot_;
    std::vector<std::int64_t> first_over_;
    std::vector<Passed> passed_;
    std::vector<std::int64_t> begun_;  // by object, where the plan asks for it
    std::vector<float> waits_;
    std::unordered_map<std::uint64_t, Subflow> subflows_;
    std::unordered_map<std::uint32_t, int> tokens_;
    std::unordered_map<std::uint32_t, int> numbers_;  // by the spacecraft's address
    std::unordered_map<std::uint16_t, int> ports_;
    int finished_ = 0;
};

template <class Fresh>
void Stretches::add(std::int64_t begin, std::int64_t end, Fresh&& fresh) {
    auto after = ends_.upper_bound(begin);
    if (after != ends_.begin()) {
        auto before = std::prev(after);
        if (before->second >= begin) {
            if (before->second >= end) return;
            begin = before->second;
            after = before;
        } else {
            after = ends_.emplace_hint(after, begin, begin);
        }
    } else {
        after = ends_.emplace_hint(after, begin, begin);
    }
    const auto grown = after++;
    std::int64_t at = begin;
    while (at < end) {
        const std::int64_t stop = after == ends_.end() ? end : std::min(end, after->first);
        if (at < stop) fresh(at, stop);
        at = stop;
        if (after != ends_.end() && after->first == at) {
            at = std::max(at, after->second);
            after = ends_.erase(after);
        }
    }
    grown->second = std::max(grown->second, at);
}

}  // namespace transfer
