#include "packet.hpp"

namespace transfer {

namespace {

constexpr std::size_t kEthernet = 14;
constexpr int kSack = 5;    // RFC 2018
constexpr int kMptcp = 30;  // TCP option kind, RFC 8684 section 3
constexpr int kJoin = 1, kDss = 2;

std::uint16_t u16(const std::uint8_t* p) { return static_cast<std::uint16_t>(p[0] << 8 | p[1]); }
std::uint32_t u32(const std::uint8_t* p) { return static_cast<std::uint32_t>(u16(p)) << 16 | u16(p + 2); }

// Figure 9 of RFC 8684: flags F m M a A, the data ACK of 4 or 8 bytes, the data sequence of 4 or 8, the subflow's of 4.
void parse_dss(const std::uint8_t* option, int length, Packet& packet) {
    const int flags = option[3];
    const bool ack = flags & 1, wide_ack = flags & 2, map = flags & 4, wide_map = flags & 8;
    const int at = 4 + (ack ? (wide_ack ? 8 : 4) : 0);
    if (!map || !wide_map || length < at + 14) return;
    packet.mapped = true;
    packet.data_seq = static_cast<std::uint64_t>(u32(option + at)) << 32 | u32(option + at + 4);
    packet.map_seq = u32(option + at + 8);
}

void parse_options(const std::uint8_t* option, const std::uint8_t* end, Packet& packet) {
    while (option < end && *option != 0) {
        if (*option == 1) {
            ++option;
            continue;
        }
        if (end - option < 2 || option[1] < 2 || end - option < option[1]) return;
        const int length = option[1];
        if (option[0] == kMptcp && length >= 4) {
            const int subtype = option[2] >> 4;
            if (subtype == kJoin && packet.syn && !packet.has_ack && length >= 8) {
                packet.joins = true;
                packet.join_token = u32(option + 4);
            } else if (subtype == kDss) {
                parse_dss(option, length, packet);
            }
        }
        if (option[0] == kSack && length >= 10) {
            packet.sacks = true;
            packet.sack_begin = u32(option + 2);
            packet.sack_end = u32(option + 6);
        }
        option += length;
    }
}

}  // namespace

bool parse(const std::uint8_t* frame, std::size_t captured, Packet& packet) {
    if (captured < kEthernet + 40 || u16(frame + 12) != 0x0800) return false;
    const std::uint8_t* ip = frame + kEthernet;
    const std::size_t ip_header = 4u * (ip[0] & 15);
    if (ip[0] >> 4 != 4 || ip[9] != 6 || captured < kEthernet + ip_header + 20) return false;
    const std::uint8_t* tcp = ip + ip_header;
    const std::size_t tcp_header = 4u * (tcp[12] >> 4);
    if (tcp_header < 20 || captured < kEthernet + ip_header + tcp_header) return false;
    packet = Packet{};
    packet.source = u32(ip + 12);
    packet.destination = u32(ip + 16);
    packet.ip_bytes = u16(ip + 2);
    packet.source_port = u16(tcp);
    packet.destination_port = u16(tcp + 2);
    packet.seq = u32(tcp + 4);
    packet.ack = u32(tcp + 8);
    packet.syn = tcp[13] & 2;
    packet.has_ack = tcp[13] & 16;
    packet.payload = packet.ip_bytes - static_cast<int>(ip_header + tcp_header);
    parse_options(tcp + 20, tcp + tcp_header, packet);
    return true;
}

}  // namespace transfer
