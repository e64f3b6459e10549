// The packets of one device with the times at which they passed, without a wake-up for each: a ring that the kernel fills
// (packet(7), TPACKET_V2) and that is looked at now and then.
#pragma once

#include <linux/if_packet.h>

#include <cstddef>
#include <string>

#include "base.hpp"
#include "packet.hpp"

namespace transfer {

class Tap {
public:
    Tap(const std::string& device, bool outgoing);
    Tap(Tap&& other) noexcept;
    Tap(const Tap&) = delete;
    ~Tap();

    // The next packet that passed, at a time of the real-time clock; false when there is none.
    bool next(Packet& packet, Time& realtime);
    // Readable while a packet waits.
    int file() const { return socket_; }
    // Packets that found the ring full, since the last call.
    unsigned lost();

private:
    int socket_ = -1;
    char* ring_ = nullptr;
    std::size_t at_ = 0;
};

}  // namespace transfer
