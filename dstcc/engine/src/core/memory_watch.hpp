// The memory that a trial holds.
#pragma once

#include "core/base.hpp"

namespace dstcc {

// The records kept of packets: the most seen. What falling windows free, the allocator keeps for later; much of it is handed on
// to the system.
class MemoryWatch {
public:
    void note(std::int64_t bytes);
    void note_peak(std::int64_t bytes) { peak_bytes_ = std::max(peak_bytes_, bytes); }
    std::int64_t peak_bytes() const { return peak_bytes_; }

private:
    std::int64_t peak_bytes_ = 0;
    std::int64_t held_bytes_ = 0;  // the most since the last trim
};

}  // namespace dstcc
