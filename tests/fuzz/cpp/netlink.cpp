// libFuzzer over what the transfer program reads from netlink (kernel-cc/transfer/family.cpp): any answers of a kernel.
//
// The input is answers, each behind two bytes of its length; then the socket fails. The program's own calls are made in turn.
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fuzz {

const std::uint8_t* at = nullptr;
std::size_t left = 0;

ssize_t receive(void* to, std::size_t room) {
    if (left < 2) {
        errno = ENOBUFS;
        return -1;
    }
    std::size_t length = static_cast<std::size_t>(at[0]) | static_cast<std::size_t>(at[1]) << 8;
    at += 2, left -= 2;
    length = std::min({length, left, room});
    if (length > 0) std::memcpy(to, at, length);
    at += length, left -= length;
    return static_cast<ssize_t>(length);
}

}  // namespace fuzz

#define socket(...) 1000
#define close(...) 0
#define send(handle, from, size, flags) (static_cast<ssize_t>(size))
#define recv(handle, to, room, flags) fuzz::receive(to, room)
#include "family.cpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::at = data;
    fuzz::left = size;
    try {
        const auto family = transfer::Family::find();
        if (!family) return 0;
        family->announce(7, 1, 1000, 5, -1);
        for (int i = 0; i < 3; ++i) {
            family->living(7);
            family->group(3);
        }
    } catch (const std::exception&) {  // a failure, said: what the program ends with
    }
    return 0;
}
