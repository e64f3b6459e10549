// UDP sockets of both hosts, looked at now and then: datagrams come with the times at which they arrived behind netem.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <vector>

#include "plan.hpp"

namespace coded {

constexpr std::uint16_t kEarthPort = 5000, kCraftPort = 20'000;  // the latter and those after it, by subflow

struct Datagram {
    const std::uint8_t* bytes;
    std::size_t size;
    Time at;  // of the real-time clock
};

using transfer::address;
using transfer::enter;

class Socket {
public:
    // Bound to its own address; `peer`: the only one it talks to, or nullptr.
    Socket(const sockaddr_in& own, const sockaddr_in* peer);
    Socket(Socket&& other) noexcept;
    Socket(const Socket&) = delete;
    ~Socket();

    void send(const std::vector<std::uint8_t>& datagram, const sockaddr_in* to) const;
    // Those that have come, at most kBatch; they are there until the next call.
    const std::vector<Datagram>& receive();
    // Datagrams that found its buffer full.
    unsigned lost() const;

    static constexpr std::size_t kBatch = 128;

private:
    struct Room;
    int socket_ = -1;
    Room* room_ = nullptr;
    std::vector<Datagram> read_;
};

}  // namespace coded
