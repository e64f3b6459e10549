#include "core/memory_watch.hpp"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace dstcc {

constexpr std::int64_t kWorthTrimming = 16 << 20;  // bytes; below, a trim costs more than it gives

void MemoryWatch::note(std::int64_t bytes) {
    note_peak(bytes);
    held_bytes_ = std::max(held_bytes_, bytes);
    if (held_bytes_ < kWorthTrimming || bytes > held_bytes_ / 4) return;
    held_bytes_ = bytes;
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

}  // namespace dstcc
