// The chunk manager of Lee and Yoo (Sensors 2022, section 4): what a sender knows of its chunks' downloads.
//
//   every byte of a chunk is counted once, whichever subflow's ACK brings it first and in whatever order
//   download = (the ACK that leaves no byte out) - (the first segment's sending) - RTT / 2
//
// The RTT is the smoothed one of the subflow whose ACK was the last. The paper also takes off the ACK's delay, which QUIC
// tells and TCP does not: a download may seem longer by the delayed-ACK time.
#pragma once

#include <unordered_map>
#include <vector>

#include "dispatch/layer_sending.hpp"
#include "tcp/sender.hpp"

namespace dstcc {

class ChunkManager {
public:
    struct View {  // of the oldest chunk that is neither acknowledged nor given up; zeros if none is released
        std::int64_t bytes = 0, acked_bytes = 0;
        Time elapsed_ns = 0;   // since its first segment was sent
        Time due_ns = kNever;  // until it is to be played: what the client has in store
    };
    explicit ChunkManager(const ObjectsConfig& objects);
    // The segment `order` was cut off a layer at `offset`.
    void handle_cut(Time now, std::uint32_t object, std::uint32_t order, std::int64_t offset);
    void handle_ack(Time now, const Acked& segment, Time srtt_ns);
    View view(Time now, std::size_t released, const std::vector<LayerSending>& layers);
    void begin_slot() { done_ = bytes_per_s_ = 0; }
    double done() const { return done_; }                // slot: chunks whose last byte was acknowledged
    double bytes_per_s() const { return bytes_per_s_; }  // slot: the sum of their size / download time

private:
    struct Chunk {
        std::uint32_t first, end;  // its layers
        std::int64_t bytes = 0, acked = 0;
        Time first_sent = -1;
    };
    struct Layer {
        std::vector<std::pair<std::uint32_t, std::int64_t>> cuts;  // order, offset; both rising
        RangeSet acked;
    };
    const ObjectsConfig& objects_;
    std::vector<Chunk> chunks_;
    std::vector<std::uint32_t> chunk_of_;                 // per layer
    std::unordered_map<std::uint32_t, Layer> under_way_;  // layers with bytes that are sent and not acknowledged
    std::size_t oldest_ = 0;
    double done_ = 0, bytes_per_s_ = 0;
};

}  // namespace dstcc
