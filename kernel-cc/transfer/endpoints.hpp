// The sockets of both hosts: connections of the spacecraft, listeners and accepted connections of the Earth.
#pragma once

#include <linux/tcp.h>

#include <memory>

#include "family.hpp"
#include "ledger.hpp"
#include "payloads.hpp"

namespace transfer {

// A subflow as TCP_INFO tells of it.
struct SubflowInfo {
    int number = 0;
    tcp_info tcp{};
};

class Craft {
public:
    // `started`: the trial's time 0 by the kernel's monotonic clock.
    Craft(const Plan& plan, Ledger& ledger, Time started);
    ~Craft();
    Craft(const Craft&) = delete;

    // Begins the handshakes that are due, and looks which connections have come to be.
    void poll(Time now);
    bool connected(int lane) const { return lanes_[static_cast<std::size_t>(lane)].connected; }
    // Hands over bytes; how many were taken.
    std::int64_t write(int lane, const char* data, std::int64_t bytes);
    // Of the bytes that are written to a connection next: what they are, and the subflow that they are for; -1: its table's.
    void announce(int lane, int layer, std::int64_t bytes, Time deadline, int subflow);
    // What the kernel's scheduler says that each subflow carried of each layer; nothing without it, or before the handshake.
    std::vector<Carried> carried() const;
    // Bytes of a connection that the Earth's end is known to have in order.
    std::int64_t acknowledged(int lane) const;
    // Whether a subflow of the connection has joined for good: a round trip after TCP's handshake, and it stays so.
    bool joined(int subflow);
    // What the subflows on a link share; nothing before the controller has them share it, or without our module.
    std::optional<Group> group(int link) const;
    // The subflows of a connection as they are now.
    const std::vector<SubflowInfo>& look(int lane);
    // Shared windows: nothing is in flight on the connection, and what was last seen of it holds but for its window. It is not
    // asked again, as asking is what a guest takes longest for; but for each link's first, which tells the window of a link
    // that has no group.
    bool resting(int lane) const { return lanes_[static_cast<std::size_t>(lane)].resting; }
    const std::vector<SubflowInfo>& last(int lane) const { return lanes_[static_cast<std::size_t>(lane)].seen; }

private:
    struct Lane {
        int socket = -1;
        bool begun = false, connected = false, first = false, resting = false;
        std::uint32_t token = 0;
        std::uint64_t base = 0;  // its first byte's number
        std::vector<int> numbers;
        std::vector<SubflowInfo> seen;
    };
    void begin(std::size_t lane);
    void number(Lane& lane, std::size_t subflows);

    const Plan& plan_;
    Ledger& ledger_;
    std::vector<Lane> lanes_;
    Time started_;
    std::unique_ptr<Family> family_;
    std::vector<int> joined_;
    int waiting_;
};

class Earth {
public:
    Earth(const Plan& plan, Ledger& ledger, Payloads& payloads);
    ~Earth();
    Earth(const Earth&) = delete;

    void poll();
    // Reads what was delivered and holds it against what was sent; a byte that differs ends the trial.
    void read();
    // The ledger counts by TCP's packets. What MPTCP then throws away, as it does with what is beyond its window, was no delivery.
    void require_all_read() const;
    void wrote(int lane, int object, std::int64_t offset, std::int64_t bytes);

private:
    struct Piece {
        int object;
        std::int64_t bytes, offset;
    };
    struct Lane {
        int socket = -1;
        std::int64_t read = 0;
        std::deque<Piece> due;
    };
    void check(Lane& lane, const char* data, std::int64_t bytes);

    const Plan& plan_;
    Ledger& ledger_;
    Payloads& payloads_;
    std::vector<int> listeners_;
    std::vector<Lane> lanes_;
    std::size_t accepted_ = 0;
    std::vector<char> buffer_ = std::vector<char>(1 << 20);
};

}  // namespace transfer
