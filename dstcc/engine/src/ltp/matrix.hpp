// Erasure coding of ltp, after CCSDS 131.5-O-1 and ION's ECLSA: a layer of adaptation below LTP, on each link by itself.
//
//   matrix    the segments of one layer that a link sends for the first time within block_ns of the first of them: k source
//             segments as they are, then r repair segments, each as large as the largest of them
//   decoding  k of the k + r bring all k back (coding/blocks.hpp has the codes)
//   over      a light time after its last segment left, whether that came or not: both ends know the rate and the light time
//   report    a block's first checkpoint is answered at once if the block is whole, else when its matrix is decoded or over; its
//             clock starts when the matrix's last segment leaves. What is then still missing is repeated by LTP, uncoded
//   feedback  where the rule of the rate listens (ltp/rate_rule.hpp): one segment from the receiver as a matrix is over
#pragma once

#include <vector>

#include "core/base.hpp"

namespace dstcc {

struct Matrix {
    std::uint32_t layer = 0;
    Time opened_ns = 0, last_deadline_ns = 0;

    // sender
    std::int64_t source = 0, planned = 0, repair = 0;  // segments; repair: those sent
    std::int64_t state = -1;                           // what a table's rule went by
    std::uint32_t symbol_bytes = 0;                    // payload of a repair segment
    bool due = false;                                  // its time is up, but a block of it is under way
    Time departs_ns = 0;                               // of the last segment so far
    std::vector<std::uint32_t> sessions;               // of its blocks, until it is over

    // receiver
    std::int64_t members = 0, arrived = 0;  // source segments, and all
    Time decoded_ns = -1;
    bool over = false;

    bool whole() const { return members == source || decoded_ns >= 0; }
};

// A session's part in its matrix.
struct Membership {
    std::int64_t matrix = -1;
    std::int64_t members = 0;  // its segments that are in it, from the first on
    std::uint32_t held = 0;    // a checkpoint whose answer waits for the matrix
};

}  // namespace dstcc
