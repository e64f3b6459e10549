// Until when each direction's line is busy, in memory that the program which plays the links shares with who asks its device how
// long its queue is. Others' TCP packets are known to the player alone: who shares a line with them reads it here.
#pragma once

#include <sys/mman.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstddef>

#include "../transfer/base.hpp"

namespace links {

class Queues {
public:
    Queues() = default;
    // `file`: of 16 bytes a link; below 0: nobody shares.
    explicit Queues(int file) {
        if (file < 0) return;
        struct stat about{};
        if (fstat(file, &about) != 0) transfer::fail_errno("the links' queues");
        void* const at =
            mmap(nullptr, static_cast<std::size_t>(about.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (at == MAP_FAILED) transfer::fail_errno("the links' queues");
        busy_ = static_cast<std::int64_t*>(at);
        size_ = static_cast<std::size_t>(about.st_size) / sizeof *busy_;
    }
    void put(std::size_t link, bool up, std::int64_t busy_ns) const {
        if (busy_ != nullptr) busy_[place(link, up)] = busy_ns;
    }
    // 0: nothing has been on it.
    std::int64_t busy_ns(std::size_t link, bool up) const { return busy_ == nullptr ? 0 : busy_[place(link, up)]; }

private:
    std::size_t place(std::size_t link, bool up) const {
        const std::size_t at = 2 * link + (up ? 1 : 0);
        if (at >= size_) throw transfer::Failure("the links' queues: no link " + std::to_string(link));
        return at;
    }
    volatile std::int64_t* busy_ = nullptr;  // of the trial's time; mapped as long as the program runs
    std::size_t size_ = 0;
};

}  // namespace links
