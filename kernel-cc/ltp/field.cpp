#include "field.hpp"

#include <algorithm>

namespace ltp {

namespace {

constexpr std::uint32_t kSize = 1 << 16, kOnes = kSize - 1;
constexpr std::uint32_t kPolynomial = 0x1100B;  // x^16 + x^12 + x^3 + x + 1, primitive

struct Tables {
    std::vector<std::uint16_t> log, power;
    Tables() : log(kSize), power(2 * kSize) {
        std::uint32_t x = 1;
        for (std::uint32_t i = 0; i < kOnes; ++i) {
            power[i] = power[i + kOnes] = static_cast<std::uint16_t>(x);
            log[x] = static_cast<std::uint16_t>(i);
            x <<= 1;
            if (x >= kSize) x ^= kPolynomial;
        }
    }
};

const Tables& tables() {
    static const Tables all;
    return all;
}

std::uint16_t times(std::uint16_t a, std::uint16_t b) {
    const Tables& t = tables();
    return a == 0 || b == 0 ? std::uint16_t{0} : t.power[std::uint32_t{t.log[a]} + t.log[b]];
}

std::uint16_t inverse(std::uint16_t a) {
    const Tables& t = tables();
    return t.power[kOnes - t.log[a]];
}

std::uint16_t coefficient(std::size_t k, std::size_t row, std::size_t column) {
    return inverse(static_cast<std::uint16_t>((k + row) ^ column));
}

// to += factor x from
void add(std::uint16_t factor, const Symbol& from, Symbol& to) {
    if (factor == 0) return;
    const Tables& t = tables();
    const std::uint32_t log = t.log[factor];
    for (std::size_t at = 0; at + 1 < from.size(); at += 2) {
        const std::uint32_t word = from[at] | std::uint32_t{from[at + 1]} << 8;
        if (word == 0) continue;
        const std::uint16_t product = t.power[log + t.log[word]];
        to[at] ^= static_cast<std::uint8_t>(product);
        to[at + 1] ^= static_cast<std::uint8_t>(product >> 8);
    }
}

}  // namespace

Symbol repair_symbol(const std::vector<Symbol>& source, std::size_t row, std::size_t bytes) {
    Symbol sum(bytes, 0);
    for (std::size_t i = 0; i < source.size(); ++i) add(coefficient(source.size(), row, i), source[i], sum);
    return sum;
}

// Gauss and Jordan, with the sums in the place of unit vectors. Every square part of a Cauchy matrix has an inverse.
void decode(std::vector<Symbol>& source, const std::vector<RepairSymbol>& repair, std::size_t bytes) {
    std::vector<std::size_t> missing;
    for (std::size_t i = 0; i < source.size(); ++i)
        if (source[i].empty()) missing.push_back(i);
    const std::size_t e = missing.size(), k = source.size();
    std::vector<std::vector<std::uint16_t>> matrix(e, std::vector<std::uint16_t>(e));
    std::vector<Symbol> sums(e);
    for (std::size_t r = 0; r < e; ++r) {
        sums[r] = repair[r].symbol;
        sums[r].resize(bytes, 0);
        for (std::size_t i = 0; i < k; ++i)
            if (!source[i].empty()) add(coefficient(k, repair[r].row, i), source[i], sums[r]);
        for (std::size_t c = 0; c < e; ++c) matrix[r][c] = coefficient(k, repair[r].row, missing[c]);
    }
    for (std::size_t c = 0; c < e; ++c) {
        std::size_t pivot = c;
        while (matrix[pivot][c] == 0) ++pivot;
        std::swap(matrix[pivot], matrix[c]);
        std::swap(sums[pivot], sums[c]);
        const std::uint16_t scale = inverse(matrix[c][c]);
        for (std::uint16_t& entry : matrix[c]) entry = times(entry, scale);
        Symbol scaled(bytes, 0);
        add(scale, sums[c], scaled);
        sums[c] = std::move(scaled);
        for (std::size_t r = 0; r < e; ++r) {
            const std::uint16_t factor = matrix[r][c];
            if (r == c || factor == 0) continue;
            for (std::size_t j = 0; j < e; ++j) matrix[r][j] ^= times(factor, matrix[c][j]);
            add(factor, sums[c], sums[r]);
        }
    }
    for (std::size_t c = 0; c < e; ++c) source[missing[c]] = std::move(sums[c]);
}

}  // namespace ltp
