#include "code.hpp"

#include <isa-l/erasure_code.h>

#include <stdexcept>

namespace coded {

namespace {

std::uint8_t factor(int k, int row, int i) { return gf_inv(static_cast<std::uint8_t>((k + row) ^ i)); }

// out[r] = sum over i of matrix[r][i] in[i]
void multiply(std::size_t bytes, const std::vector<std::uint8_t>& matrix, const std::vector<const std::uint8_t*>& in,
              std::uint8_t* const* out) {
    const auto columns = in.size(), rows = matrix.size() / columns;
    std::vector<std::uint8_t> tables(32 * matrix.size());
    ec_init_tables(static_cast<int>(columns), static_cast<int>(rows), const_cast<std::uint8_t*>(matrix.data()),
                   tables.data());
    ec_encode_data(static_cast<int>(bytes), static_cast<int>(columns), static_cast<int>(rows), tables.data(),
                   const_cast<std::uint8_t**>(in.data()), const_cast<std::uint8_t**>(out));
}

}  // namespace

void encode(int k, std::size_t bytes, const std::uint8_t* const* source, int first, int rows,
            std::uint8_t* const* repair) {
    std::vector<std::uint8_t> matrix;
    for (int row = first; row < first + rows; ++row)
        for (int i = 0; i < k; ++i) matrix.push_back(factor(k, row, i));
    multiply(bytes, matrix, {source, source + k}, repair);
}

void decode(int k, std::size_t bytes, const std::uint8_t* const* source, const std::vector<RepairSymbol>& repairs,
            std::uint8_t* const* out) {
    std::vector<int> missing;
    std::vector<const std::uint8_t*> in;
    for (int i = 0; i < k; ++i) {
        if (source[i] == nullptr)
            missing.push_back(i);
        else
            in.push_back(source[i]);
    }
    const std::size_t e = missing.size(), columns = in.size() + e;
    if (e != repairs.size()) throw std::logic_error("as many repair symbols as source symbols are missing");
    if (e == 0) return;
    std::vector<std::uint8_t> square, inverse(e * e), matrix;
    for (std::size_t r = 0; r < e; ++r) {
        for (int i = 0; i < k; ++i) (source[i] == nullptr ? square : matrix).push_back(factor(k, repairs[r].row, i));
        matrix.resize((r + 1) * columns, 0);
        matrix[r * columns + in.size() + r] = 1;
    }
    if (gf_invert_matrix(square.data(), inverse.data(), static_cast<int>(e)) != 0)
        throw std::logic_error("each square of a Cauchy matrix has an inverse");
    for (const RepairSymbol& repair : repairs) in.push_back(repair.symbol);
    std::vector<std::uint8_t> sums(e * bytes);
    std::vector<std::uint8_t*> rows;
    for (std::size_t r = 0; r < e; ++r) rows.push_back(&sums[r * bytes]);
    multiply(bytes, matrix, in, rows.data());
    multiply(bytes, inverse, {rows.begin(), rows.end()}, out);
}

}  // namespace coded
