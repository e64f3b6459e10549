// Time, checks and counter-based randomness: what every other file of the engine stands on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace dstcc {

using Time = std::int64_t;  // nanoseconds of mission time since the start of the run
constexpr Time kNever = INT64_MAX;
constexpr double kNsPerS = 1e9;

// A broken invariant is a bug in the engine, never bad input; it ends the trial in release builds too.
struct InvariantError : std::logic_error {
    using std::logic_error::logic_error;
};

[[noreturn]] inline void invariant_failed(const char* rule, const char* file, int line) {
    throw InvariantError(std::string("engine invariant broken: ") + rule + " (" + file + ":" + std::to_string(line) +
                         ")");
}

#define DSTCC_CHECK(condition, rule)                                                                \
    do {                                                                                            \
        if (__builtin_expect(!(condition), 0)) ::dstcc::invariant_failed(rule, __FILE__, __LINE__); \
    } while (0)

// The last of some rising times that is not after `at` (0 if all are), sought near `row`, where the last search ended.
inline std::size_t row_before(const std::vector<Time>& times, Time at, std::size_t row) {
    if (times[row] > at || (row + 2 < times.size() && times[row + 2] <= at)) {
        const auto after = std::upper_bound(times.begin(), times.end(), at);
        return after == times.begin() ? 0 : static_cast<std::size_t>(after - times.begin()) - 1;
    }
    return row + 1 < times.size() && times[row + 1] <= at ? row + 1 : row;
}

// SplitMix64 finaliser (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
constexpr std::uint64_t kMixAdd = 0x9E3779B97F4A7C15, kMixFirst = 0xBF58476D1CE4E5B9, kMixThen = 0x94D049BB133111EB;
constexpr int kMixShifts[] = {30, 27, 31};
inline std::uint64_t mix64(std::uint64_t x) {
    x += kMixAdd;
    x = (x ^ (x >> kMixShifts[0])) * kMixFirst;
    x = (x ^ (x >> kMixShifts[1])) * kMixThen;
    return x ^ (x >> kMixShifts[2]);
}

// A named stream of draws: draw(i) depends on the key and i only, never on how many draws came before.
class Stream {
public:
    Stream() = default;
    Stream(std::uint64_t seed, std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0)
        : key_(mix64(mix64(mix64(mix64(seed) ^ a) + b) ^ c)) {}
    static constexpr std::uint64_t kIndex = 0xD1342543DE82EF95;
    std::uint64_t key() const { return key_; }
    std::uint64_t bits(std::uint64_t index) const { return mix64(key_ ^ (index * kIndex)); }
    // Uniform in (0, 1], so that its logarithm is finite.
    double uniform(std::uint64_t index) const { return static_cast<double>((bits(index) >> 11) + 1) * 0x1p-53; }

private:
    std::uint64_t key_ = 0;
};

// What each stream is for; the numbers are part of the seed's meaning and never change.
enum StreamName : std::uint64_t {
    kStreamLoss = 1,
    kStreamSojourn = 2,
    kStreamBbr = 3,
    kStreamScheduler = 4,
    kStreamFrame = 5,
    kStreamFrameGroup = 6,
    kStreamGain = 7,
    kStreamTraffic = 10,
    kStreamDecode = 11,
    kStreamTimers = 12
};

}  // namespace dstcc
