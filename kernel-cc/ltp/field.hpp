// Erasure coding of a matrix: k source symbols and up to 2^16 - k repair symbols, any k of which bring the rest back. Cauchy
// Reed-Solomon over GF(2^16), whose words are as long as the simulator's (coding/blocks.hpp). With C[j][i] = 1 / ((k + j) xor i),
//
//   encode   repair j = sum over i of C[j][i] source i
//   decode   of e missing sources M, with e repairs R: sums = repair R + C[R][there] source there, source M = inverse(C[R][M])
//            sums
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ltp {

using Symbol = std::vector<std::uint8_t>;  // of an even number of bytes; shorter ones are filled up with zeros

// Repair symbol `row` of `bytes`, from all source symbols.
Symbol repair_symbol(const std::vector<Symbol>& source, std::size_t row, std::size_t bytes);

struct RepairSymbol {
    std::size_t row;
    Symbol symbol;
};
// Puts together those of the k that are empty, from as many repair symbols as those are.
void decode(std::vector<Symbol>& source, const std::vector<RepairSymbol>& repair, std::size_t bytes);

}  // namespace ltp
