#include "payloads.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace transfer {

namespace {

// Different for each word of each object, so that misplaced bytes are noticed.
std::uint64_t word(std::uint64_t object, std::uint64_t number) {
    return (object * 0x9E3779B97F4A7C15ull ^ number) * 0xD1342543DE82EF95ull;
}

}  // namespace

Payloads::~Payloads() {
    for (const File& file : files_)
        if (file.data != nullptr) munmap(const_cast<char*>(file.data), static_cast<std::size_t>(file.bytes));
}

const Payloads::File& Payloads::open(std::size_t file) {
    File& found = files_[file];
    if (found.bytes >= 0) return found;
    const std::string& path = plan_.payloads[file];
    const int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat about{};
    if (handle < 0 || fstat(handle, &about) != 0) fail_errno(path);
    found.bytes = about.st_size;
    if (found.bytes > 0) {
        void* data = mmap(nullptr, static_cast<std::size_t>(found.bytes), PROT_READ, MAP_PRIVATE, handle, 0);
        if (data == MAP_FAILED) fail_errno(path);
        found.data = static_cast<const char*>(data);
    }
    close(handle);
    return found;
}

const char* Payloads::at(int object, std::int64_t offset, std::int64_t bytes) {
    const Object& row = plan_.objects[static_cast<std::size_t>(object)];
    const std::int64_t index = row.payload;
    offset += row.begin;
    if (index >= 0) {
        const File& file = open(static_cast<std::size_t>(index));
        if (offset + bytes <= file.bytes) return file.data + offset;
        std::memset(scratch_.data(), 0, static_cast<std::size_t>(bytes));  // a layer without bytes is announced by one
        return scratch_.data();
    }
    const auto first = static_cast<std::uint64_t>(offset) / 8,
               last = static_cast<std::uint64_t>(offset + bytes - 1) / 8;
    for (std::uint64_t i = first; i <= last; ++i) {
        const std::uint64_t value = word(static_cast<std::uint64_t>(object), i);
        std::memcpy(scratch_.data() + (i - first) * 8, &value, 8);
    }
    return scratch_.data() + offset % 8;
}

}  // namespace transfer
