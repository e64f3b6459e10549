// Eight draws at a time where the processor multiplies eight words at once: the same ones.
#include "link/slot_draws.hpp"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dstcc {
namespace {

#if defined(__x86_64__)
constexpr std::int64_t kAtOnce = 8;
const bool kWide = __builtin_cpu_supports("avx512dq");

// Stream::bits() and mix64() of eight places in each round; those behind `count` are drawn for nothing.
[[gnu::target("avx512f,avx512dq")]] std::int64_t first_below_wide(std::uint64_t key, std::uint64_t slot,
                                                                  std::uint64_t step, std::int64_t count,
                                                                  std::uint64_t threshold) {
    using Words = std::uint64_t __attribute__((vector_size(8 * kAtOnce)));
    const Words places = {0, 1, 2, 3, 4, 5, 6, 7};
    Words index = (slot + places * step) * Stream::kIndex;
    const std::uint64_t ahead = static_cast<std::uint64_t>(kAtOnce) * step * Stream::kIndex;
    const Words bound = Words{} + threshold;
    for (std::int64_t from = 0; from < count; from += kAtOnce) {
        Words x = (index ^ key) + kMixAdd;
        x = (x ^ (x >> kMixShifts[0])) * kMixFirst;
        x = (x ^ (x >> kMixShifts[1])) * kMixThen;
        x = x ^ (x >> kMixShifts[2]);
        const auto below = _mm512_cmplt_epu64_mask(reinterpret_cast<__m512i>(x), reinterpret_cast<__m512i>(bound));
        if (below != 0) return std::min<std::int64_t>(count, from + __builtin_ctz(below));
        index += ahead;
    }
    return count;
}
#endif

}  // namespace

std::int64_t SlotDraws::first_below(std::int64_t slot, std::int64_t step, std::int64_t count,
                                    std::uint64_t threshold) const {
#if defined(__x86_64__)
    if (kWide && count >= kAtOnce)
        return first_below_wide(draws_.key(), static_cast<std::uint64_t>(slot), static_cast<std::uint64_t>(step), count,
                                threshold);
#endif
    std::int64_t k = 0;
    while (k < count && !below(slot + k * step, 0, threshold)) ++k;
    return k;
}

}  // namespace dstcc
