// The receiving end of `coded`: packets come in, parts of layers go up, ACKs go back. Knows packets and its own way back; of the
// sender nothing.
//
//   part     is there when all of its source packets are (each is usable at once), or when its block is brought back
//   block    is brought back by k packets of any kind (RaptorQ: but for its failures), once a repair packet has told k
//   ACK      with every second packet, with one behind a gap, or after the delayed-ACK time (RFC 9000 section 13.2); it names up to
//            32 ranges
//   report   where the sender's control uses reports: an ACK that waits until the one before has left the uplink and a quarter of that
//            time has passed, and as much on any line further back, of which each subflow has its share. So reports take four fifths of an
//            uplink at most, and none waits long behind another. What three reports have named is left out where there is no time for it.
//            None leaves in an outage of the uplink's plan; what 32 ranges cannot name, as after one, takes several, but what would take
//            longer than the way here, or 32 of them, is passed over: three reports say how many packets arrived before what they name
//
// Of a block it keeps counts, since no packet comes twice: what a real receiver holds of one is at most k packets.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "coding/blocks.hpp"
#include "coding/ranges.hpp"
#include "core/events.hpp"
#include "link/ack_transmitter.hpp"
#include "link/contact.hpp"

namespace dstcc {

constexpr int kPacketsAnAck = 2;  // RFC 9000 section 13.2.2

// What has arrived of a part of a layer.
struct PartArrival {
    Time first_ns = -1, complete_ns = -1;
    Time last_ns = -1;  // of its own packets, which may be taken out of order where they come over several links
    std::int64_t bytes = 0;
    bool recovered = false;  // its block brought it back
};

struct BlockArrival {
    std::uint32_t packets = 0, repair = 0, complete = 0;  // the last: parts that are there
    Time decoded_ns = -1;
};

class CodedReceivingEnd {
public:
    CodedReceivingEnd(const ObjectsConfig& objects, const CodingConfig& coding, std::uint64_t seed,
                      const BlockMap& blocks, const BlockHeaders& headers, std::uint32_t header_bytes, Time ack_delay,
                      Timers delayed_acks);
    struct WayBack {
        PlannedWay own;       // its uplink
        double slowest_back;  // what a byte takes on lines behind that (link/planned_path.hpp)
    };
    // Where the sender's control uses reports, their way back is given.
    void add(AckTransmitter out, AckRanges& ranges, std::optional<WayBack> reports);

    void handle_data(Time now, const DataPacket& packet);
    void handle_timer(Time now, std::size_t receiver);
    // --- packets of one part, one after another over a link that has no other receiver (coding/receiving_runs.cpp)
    // Whether none of so many brings its block back, or nothing does any more: whatever is taken first.
    bool only_counts(const DataPacket& packet, std::int64_t packets) const;
    // Each as handle_data() takes it, up to the first after which a timer is due before the next; how many these are.
    std::int64_t handle_run(const DataPacket& first, const PacketRun& run);

    std::int64_t next(std::size_t receiver) const { return receivers_[receiver].next; }  // number that can come
    const std::vector<PartArrival>& parts() const { return parts_; }
    const std::vector<BlockArrival>& blocks() const { return blocks_; }
    std::size_t complete() const { return complete_; }
    // Of the layers that the sender asks for, in their order: what such an answer says (Named).
    std::vector<bool> there(std::size_t receiver, int answer) const;
    std::int64_t arrived_payload() const { return arrived_payload_; }
    std::int64_t recovered_payload() const { return recovered_payload_; }
    std::int64_t repair_payload() const { return repair_payload_; }
    Time last_delivery_ns() const { return last_delivery_ns_; }

private:
    struct Receiver {
        AckTransmitter out;
        AckRanges* ranges;
        std::optional<WayBack> reports;
        double byte_ns;                                   // on the slowest line back
        std::int64_t next = 0;                            // number
        int pending = 0;                                  // packets not yet acknowledged
        Time one_way_ns = kNever;                         // the least
        std::array<std::int64_t, 3> told = {-1, -1, -1};  // the newest range of the last reports
        Time report_ns = 0;                               // no report before
        int passed = 0;                                   // reports that are still to say that ranges were passed over
        int answers = 0;                                  // to what is asked
        std::array<Time, kAskedReports> answered_ns = {};
        Time due_ns = kNever;  // of its timer, which may go off before
    };
    void take(const DataPacket& packet);
    void acknowledge(std::size_t i, std::int64_t number, Time one_way);
    std::int64_t acknowledge_pairs(std::size_t i, std::int64_t number, const DataPacket& first, const PacketRun& run);
    void try_block(std::uint32_t number);
    bool brought_back(std::uint32_t number) const;
    void complete(std::uint32_t object);
    Named named_next(const Receiver& to) const;
    // Between what the last report named and the oldest of these ranges are others.
    static bool passes_over(const Receiver& to, std::int64_t newest, int named) {
        return newest - named > to.told.front();
    }
    std::uint32_t ack_bytes(const Receiver& to, const Named& said) const;
    void set_due(std::size_t i, Time at) {
        receivers_[i].due_ns = at;
        if (at < delayed_acks_.at(i)) delayed_acks_.set(i, at);
    }
    static Time rest_after(Time back);
    void answer(std::size_t i);
    void send_ack(std::size_t i, Named said);

    const ObjectsConfig& objects_;
    const CodingConfig& coding_;
    std::uint64_t seed_;
    const BlockMap& map_;
    const BlockHeaders& headers_;
    std::uint32_t header_bytes_;
    Time ack_delay_;
    Timers delayed_acks_;
    Time now_ = 0;
    std::vector<Receiver> receivers_;
    std::vector<PartArrival> parts_;
    std::vector<BlockArrival> blocks_;
    std::vector<std::uint32_t> words_;  // packets of each code word, where blocks have several: by BlockMap::word()
    std::size_t complete_ = 0;
    std::int64_t arrived_payload_ = 0, recovered_payload_ = 0, repair_payload_ = 0;
    Time last_delivery_ns_ = -1;
};

}  // namespace dstcc
