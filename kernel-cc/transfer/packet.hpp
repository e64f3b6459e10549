// An IPv4/TCP packet's headers with its MPTCP options (RFC 793, RFC 8684), as far as a ledger needs them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace transfer {

struct Packet {
    std::uint32_t source = 0, destination = 0;  // host order
    std::uint16_t source_port = 0, destination_port = 0;
    std::uint32_t seq = 0, ack = 0;
    bool syn = false, has_ack = false;
    int ip_bytes = 0;
    int payload = 0;
    bool sacks = false;  // the first block, which tells of the newest segment (RFC 2018 section 4)
    std::uint32_t sack_begin = 0, sack_end = 0;
    bool joins = false;  // MP_JOIN on a SYN
    std::uint32_t join_token = 0;
    bool mapped = false;  // a data sequence mapping with 64-bit numbers
    std::uint64_t data_seq = 0;
    std::uint32_t map_seq = 0;  // of the subflow, its SYN's being 0
};

// False for what is no TCP over IPv4 or is cut off within its headers; `frame` begins with an Ethernet header.
bool parse(const std::uint8_t* frame, std::size_t captured, Packet& packet);

}  // namespace transfer
