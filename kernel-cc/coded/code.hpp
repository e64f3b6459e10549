// One code word: k source symbols and up to 255 - k repair symbols, any k of which bring the rest back. Cauchy Reed-Solomon
// over GF(2^8) by ISA-L: with C[j][i] = 1 / ((k + j) xor i),
//
//   encode   repair j = sum over i of C[j][i] source i
//   decode   of e missing sources M, with e repairs R: sums = repair R + C[R][there] source there, source M = inverse(C[R][M])
//            sums, so that a matrix of e x e is inverted, not one of k x k
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace coded {

// Repair symbols `first` to `first` + `rows` of `bytes` each, from k source symbols.
void encode(int k, std::size_t bytes, const std::uint8_t* const* source, int first, int rows,
            std::uint8_t* const* repair);

// The missing source symbols (source[i] == nullptr), in rising order, to `out`; `repairs` has as many rows as are missing, with
// their symbols.
struct RepairSymbol {
    int row;
    const std::uint8_t* symbol;
};
void decode(int k, std::size_t bytes, const std::uint8_t* const* source, const std::vector<RepairSymbol>& repairs,
            std::uint8_t* const* out);

}  // namespace coded
