// Sets of subflows, one bit each: what is ready, established, stale, and so on.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dstcc {

// A trial's subflows: 8 links of 16 lanes with a window each fill it.
constexpr std::size_t kMaxSubflows = 128;
__extension__ typedef unsigned __int128 SubflowSet;
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the words of a set come lowest first");
static_assert(sizeof(SubflowSet) * 8 >= kMaxSubflows, "a bit for each subflow");

inline SubflowSet bit(std::size_t i) { return SubflowSet{1} << i; }

// One member's bit, by words: cheaper than a wide shift where every packet passes.
using SubflowWord [[gnu::may_alias]] = std::uint64_t;
inline bool contains(const SubflowSet& set, std::size_t i) {
    return (reinterpret_cast<const SubflowWord*>(&set)[i / 64] >> (i % 64) & 1) != 0;
}
inline void insert(SubflowSet& set, std::size_t i) {
    reinterpret_cast<SubflowWord*>(&set)[i / 64] |= std::uint64_t{1} << (i % 64);
}
inline void erase(SubflowSet& set, std::size_t i) {
    reinterpret_cast<SubflowWord*>(&set)[i / 64] &= ~(std::uint64_t{1} << (i % 64));
}

// The lowest member of a set that has one.
inline int lowest(SubflowSet set) {
    const auto low = static_cast<std::uint64_t>(set);
    return low != 0 ? __builtin_ctzll(low) : 64 + __builtin_ctzll(static_cast<std::uint64_t>(set >> 64));
}

inline std::size_t count(SubflowSet set) {
    return static_cast<std::size_t>(__builtin_popcountll(static_cast<std::uint64_t>(set)) +
                                    __builtin_popcountll(static_cast<std::uint64_t>(set >> 64)));
}

}  // namespace dstcc
