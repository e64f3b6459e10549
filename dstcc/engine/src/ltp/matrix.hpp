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

#include <deque>
#include <vector>

#include "core/base.hpp"

namespace dstcc {

// What the headers of a matrix's segments say, and what it holds: kept once a matrix, so that segments stay small. The sending
// end writes it; the receiving end reads whose matrix it is when a segment has arrived, the rest when it is decoded or over.
struct MatrixHeader {
    struct Part {
        std::uint32_t block;
        std::int64_t segments;  // of it, from the first on
    };
    std::int64_t source = 0, repair = 0;  // segments sent
    std::vector<Part> parts;              // until it is over
};

struct MatrixHeaders {
    std::vector<std::int64_t> of_block;  // -1: in none
    std::deque<MatrixHeader> matrices;   // of all links, in the order of opening
    MatrixHeader& operator[](std::int64_t number) { return matrices[static_cast<std::size_t>(number)]; }
    const MatrixHeader& operator[](std::int64_t number) const { return matrices[static_cast<std::size_t>(number)]; }
};

}  // namespace dstcc
