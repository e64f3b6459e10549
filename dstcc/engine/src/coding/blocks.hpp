// What layers are coded in: blocks. A block is one layer over some time: k source packets as they are, and repair packets.
//
//   number   period x layers + layer; its members are the layer's parts in that period, oldest first
//   word     a code whose words are short has several in a block, interleaved: source packet i is in word i mod words, and each word is
//            brought back by itself; the block is back when all are
//   any k    of its packets bring the block back (MDS), or k + e of them but for the failures of RaptorQ (RFC 6330):
//            with e = 0, 1, 2 packets more than k in one block of 1e2, 1e4, 1e6, and of 100 times as many for each further
#pragma once

#include <vector>

#include "core/config.hpp"

namespace dstcc {

constexpr std::uint32_t kNoObject = UINT32_MAX;  // in a packet's header: a repair packet's, or a probe's
constexpr std::uint32_t kNoBlock = UINT32_MAX;   // a probe's

// A packet's header names its block and, of the code words that the block is interleaved of, its own.
constexpr std::uint32_t kMostBlocks = (1u << 24) - 1, kMostWords = 256;
inline std::uint32_t in_block(std::uint32_t block, std::uint32_t word) { return block | word << 24; }
inline std::uint32_t block_in(std::uint32_t order) { return order & kMostBlocks; }
inline std::uint32_t word_in(std::uint32_t order) { return order >> 24; }

// Source packets of a block of k that are in one of its code words: the i-th is in word i mod words.
inline std::uint32_t in_word(std::uint32_t source, std::uint32_t word, std::uint32_t words) {
    return (source + words - 1 - word) / words;
}

// Which layers' parts are in which block.
class BlockMap {
public:
    BlockMap(const ObjectsConfig& objects, const CodingConfig& coding);
    std::size_t blocks() const { return first_.size() - 1; }
    std::size_t layers() const { return layers_; }
    std::uint32_t block_of(std::uint32_t object) const { return block_[object]; }
    std::size_t layer_of(std::uint32_t block) const { return block % layers_; }
    // Code words that it is interleaved of; their places in a row of all words of all blocks, or of none where each block is one.
    std::uint32_t words(std::uint32_t block) const { return interleaved_ ? words_[block % layers_] : 1; }
    std::size_t word(std::uint32_t block, std::uint32_t word) const {
        return block / layers_ * words_a_period_ + words_before_[block % layers_] + word;
    }
    std::size_t interleaved_words() const { return interleaved_ ? blocks() / layers_ * words_a_period_ : 0; }
    std::uint32_t size(std::uint32_t block) const { return first_[block + 1] - first_[block]; }
    std::uint32_t member(std::uint32_t block, std::uint32_t i) const { return members_[first_[block] + i]; }

private:
    std::size_t layers_ = 1;
    bool interleaved_ = false;
    std::vector<std::uint32_t> words_, words_before_;  // by layer
    std::size_t words_a_period_ = 0;
    std::vector<std::uint32_t> block_;    // by object
    std::vector<std::uint32_t> first_;    // by block: where its members begin
    std::vector<std::uint32_t> members_;  // objects, block after block
};

// What every repair packet's header says of its block: kept once a block, so that packets stay small. The sending end writes
// it before the first repair packet leaves, the receiving end reads it when one has arrived.
struct BlockHeaders {
    BlockHeaders(std::size_t blocks, std::size_t objects) : source(blocks, 0), whole(objects, 0) {}
    std::vector<std::uint32_t> source;  // k: source packets that the repair packets are made of
    std::vector<std::uint8_t> whole;    // by object: all of its packets are among them
};

// The probability that RaptorQ does not decode a block from k + extra packets (RFC 6330; measured in its section 1).
inline double raptorq_failure(std::int64_t extra) {
    double failure = 1e-2;
    for (; extra > 0 && failure > 1e-300; --extra) failure /= 100;
    return failure;
}

// Do so many packets of a block bring back k? `draw` in (0, 1] is the block's own: more packets never undo a success.
inline bool brings_back(ErasureCode code, std::int64_t arrived, std::int64_t source, double draw) {
    if (arrived < source) return false;
    return code == ErasureCode::kMds || draw > raptorq_failure(arrived - source);
}

// The most packets of a block, and the most source packets among them: Reed-Solomon's over GF(2^16) has 2^16 - 1 symbols,
// RaptorQ at most 56,403 source symbols (RFC 6330 section 5.1.2) and 2^24 in all.
constexpr std::int64_t most_packets(ErasureCode code) { return code == ErasureCode::kMds ? 65'535 : 1 << 24; }
inline std::int64_t most_in_word(const CodingConfig& coding) {
    return coding.word_packets > 0 ? coding.word_packets : most_packets(coding.code);
}
constexpr std::int64_t most_source(ErasureCode code) { return code == ErasureCode::kMds ? 65'535 : 56'403; }

// Packets for which a sender that knows of a lost source packet aims: with RaptorQ two more than k, of which one block in a
// million fails.
inline std::int64_t wanted_extra(ErasureCode code) { return code == ErasureCode::kMds ? 0 : 2; }

}  // namespace dstcc
