// What Earth holds of blocks until they are whole: symbols of source packets, and of repair packets as many as their word lacks.
//
// Of a word at most k + (255 - k) symbols are ever held, of a block so its own size and what repair came for it; the layers' parts
// are put together when they are whole and held against what was encoded, and a block is forgotten when all of its parts are there
// or its last deadline is over.
#pragma once

#include <functional>
#include <memory>

#include "packet.hpp"

namespace coded {

class Store {
public:
    // `part`: a part is there, with all of its bytes; false ends the trial.
    using Check = std::function<void(std::uint32_t object, const std::uint8_t* bytes, std::size_t size)>;
    Store(const Catalogue& catalogue, Check check);

    // Takes a source or repair packet, unless it is refused.
    bool take(const Data& data, Refused& refused);
    // Its words are all back: source packets that did not arrive were put together from repair packets, just now or before.
    bool decoded(std::uint32_t block) const { return blocks_[block].decoded; }
    // Its last deadline was over before all of it was there: what comes of it now is of no use.
    bool late(std::uint32_t block) const {
        return blocks_[block].over && blocks_[block].parts > 0 && !blocks_[block].decoded;
    }
    // k, once a repair packet has told it; else 0.
    std::uint32_t source(std::uint32_t block) const { return blocks_[block].source; }
    // All of a part's packets are known to be among the k.
    bool whole(std::uint32_t object) const { return whole_[object] != 0; }
    // Of those whose last deadline is over.
    void forget(Time now);

    std::int64_t held_bytes() const { return held_; }
    std::int64_t peak_bytes() const { return peak_; }
    std::int64_t block_peak_bytes() const { return block_peak_; }
    std::int64_t checked_bytes() const { return checked_; }

private:
    struct Symbol {
        std::unique_ptr<std::uint8_t[]> bytes;
        std::size_t size = 0;
    };
    struct Word {
        std::vector<Symbol> source;  // by index; nullptr: not there
        std::vector<std::pair<std::uint8_t, Symbol>> repair;
        std::uint32_t arrived = 0;  // source symbols
        bool done = false;
    };
    struct Block {
        std::vector<Word> words;
        std::uint32_t source = 0, symbol_bytes = 0, longest = 0;
        std::uint32_t parts = 0;  // not yet there
        std::int64_t held = 0;
        bool decoded = false, over = false;
    };
    struct Part {
        std::vector<const std::uint8_t*> packets;  // payloads; nullptr: not there
        std::size_t there = 0;
    };

    Symbol keep(Block& block, const std::uint8_t* from, std::size_t bytes, std::size_t filled);
    void put(Block& block, const Piece& piece, const std::uint8_t* payload);
    void try_decode(std::uint32_t number);
    bool restore(std::uint32_t number, std::uint32_t word);
    void drop(Block& block);

    const Catalogue& catalogue_;
    Check check_;
    std::vector<Block> blocks_;
    std::vector<Part> parts_;
    std::vector<std::uint8_t> whole_;
    std::vector<std::uint32_t> open_;  // blocks that hold anything, as they began
    std::vector<Time> last_deadline_;  // by block
    std::int64_t held_ = 0, peak_ = 0, block_peak_ = 0, checked_ = 0;
};

}  // namespace coded
