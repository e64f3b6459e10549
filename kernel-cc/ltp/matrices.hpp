// Matrices below ltp (engine/src/ltp/matrix.hpp), with their bytes. A symbol is a source segment: block 4, its place there 4, its
// length 2, its bytes. On a port of their own go, in big-endian numbers,
//
//   repair    matrix 4, source segments 4, row 4; the sum of all symbols
//   feedback  matrix 4, segments that came 4
#pragma once

#include <map>
#include <optional>
#include <set>

#include "field.hpp"
#include "segment.hpp"

namespace ltp {

constexpr std::size_t kPlaceBytes = 10, kRepairBytes = 12, kFeedbackBytes = 8;

// A source segment of a matrix.
struct Place {
    std::uint32_t block, segment;
};
Symbol symbol_of(Place place, const std::uint8_t* data, std::size_t size);
// Place, and bytes within the symbol, if they lie there.
struct Source {
    Place place;
    const std::uint8_t* data;
    std::size_t size;
};
std::optional<Source> source_of(const Symbol& symbol);

struct Repair {
    std::uint32_t matrix, source, row;
    const std::uint8_t* data;
    std::size_t size;
};
void put(const Repair& repair, Bytes& to);
std::optional<Repair> read_repair(const std::uint8_t* bytes, std::size_t size);
struct Feedback {
    std::uint32_t matrix, arrived;
};
void put(const Feedback& feedback, Bytes& to);
std::optional<Feedback> read_feedback(const std::uint8_t* bytes, std::size_t size);

// What a sender keeps of open matrices.
class SentMatrices {
public:
    // Its place in the matrix.
    std::uint64_t add(std::uint64_t matrix, Symbol&& symbol);
    // The next repair segment, as long as the longest symbol.
    void put_repair(std::uint64_t matrix, Bytes& to);
    void forget(std::uint64_t matrix);
    std::int64_t peak_bytes() const { return peak_; }

private:
    struct Open {
        std::vector<Symbol> source;
        std::uint32_t row = 0;
        std::size_t longest = 0;
    };
    std::map<std::uint64_t, Open> open_;
    std::int64_t held_ = 0, peak_ = 0;
};

// What a receiver keeps of matrices that are not over.
class ArrivedMatrices {
public:
    // Nothing is kept of it any more: what still comes waited longer at nodes than the plans say.
    bool over(std::uint64_t matrix) const { return over_.count(matrix) != 0; }
    // False if its place was taken, or cannot be.
    bool add(const Member& member, Symbol&& symbol);
    bool add(const Repair& repair);
    // All source symbols, once as many segments are there; nothing before, or again.
    std::optional<std::vector<Symbol>> decode(std::uint64_t matrix);
    // Of a matrix of which something came: the source segments that it has, as far as is known.
    std::uint32_t source(std::uint64_t matrix) const;
    void forget(std::uint64_t matrix);
    std::int64_t peak_bytes() const { return peak_; }

private:
    struct Open {
        std::map<std::uint64_t, Symbol> source;
        std::map<std::uint32_t, Symbol> repair;
        std::uint32_t k = 0;  // 0: not told yet
        std::size_t bytes = 0;
        bool decoded = false;
        std::int64_t held = 0;
    };
    void hold(Open& open, std::size_t bytes);
    std::map<std::uint64_t, Open> open_;
    std::set<std::uint64_t> over_;
    std::int64_t held_ = 0, peak_ = 0;
};

}  // namespace ltp
