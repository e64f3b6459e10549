#include "tap.hpp"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <net/if.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>

namespace transfer {

namespace {

constexpr unsigned kFrame =
    256;  // the ring's header (about 80 bytes) and the longest headers of a packet (14 + 20 + 60)
constexpr unsigned kFrames = 32768;
constexpr unsigned kBlock = 1 << 16;
constexpr unsigned kCapture = 96;
constexpr std::size_t kBytes = static_cast<std::size_t>(kFrame) * kFrames;

void option(int socket, int level, int name, const void* value, socklen_t size, const char* what) {
    if (setsockopt(socket, level, name, value, size) != 0) fail_errno(what);
}

}  // namespace

Tap::Tap(const std::string& device, bool outgoing) {
    socket_ = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (socket_ < 0) fail_errno("packet socket");
    const int version = TPACKET_V2;
    option(socket_, SOL_PACKET, PACKET_VERSION, &version, sizeof version, "PACKET_VERSION");
    const auto [leaving, coming] = outgoing ? std::pair{kCapture, 0U} : std::pair{0U, kCapture};
    sock_filter cut[] = {{BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<unsigned>(SKF_AD_OFF + SKF_AD_PKTTYPE)},
                         {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, PACKET_OUTGOING},
                         {BPF_RET | BPF_K, 0, 0, leaving},
                         {BPF_RET | BPF_K, 0, 0, coming}};
    const sock_fprog filter{4, cut};
    option(socket_, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter, "SO_ATTACH_FILTER");
    const tpacket_req ring{kBlock, static_cast<unsigned>(kBytes / kBlock), kFrame, kFrames};
    option(socket_, SOL_PACKET, PACKET_RX_RING, &ring, sizeof ring, "PACKET_RX_RING");
    void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, socket_, 0);
    if (memory == MAP_FAILED) fail_errno("packet ring");
    ring_ = static_cast<char*>(memory);
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_ALL);  // what leaves a device is shown to such sockets only
    address.sll_ifindex = static_cast<int>(if_nametoindex(device.c_str()));
    if (address.sll_ifindex == 0 || bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
        fail_errno(device);
}

Tap::Tap(Tap&& other) noexcept : socket_(other.socket_), ring_(other.ring_), at_(other.at_) {
    other.socket_ = -1;
    other.ring_ = nullptr;
}

Tap::~Tap() {
    if (ring_ != nullptr) munmap(ring_, kBytes);
    if (socket_ >= 0) close(socket_);
}

bool Tap::next(Packet& packet, Time& realtime) {
    for (;;) {
        char* frame = ring_ + at_ * kFrame;
        auto* header = reinterpret_cast<tpacket2_hdr*>(frame);
        const auto* status = reinterpret_cast<std::atomic<std::uint32_t>*>(&header->tp_status);
        if ((status->load(std::memory_order_acquire) & TP_STATUS_USER) == 0) return false;
        at_ = (at_ + 1) % kFrames;
        const bool wanted = parse(reinterpret_cast<std::uint8_t*>(frame) + header->tp_mac, header->tp_snaplen, packet);
        realtime = static_cast<Time>(header->tp_sec) * kNsPerS + header->tp_nsec;
        reinterpret_cast<std::atomic<std::uint32_t>*>(&header->tp_status)
            ->store(TP_STATUS_KERNEL, std::memory_order_release);
        if (wanted) return true;
    }
}

unsigned Tap::lost() {
    tpacket_stats stats{};
    socklen_t size = sizeof stats;
    if (getsockopt(socket_, SOL_PACKET, PACKET_STATISTICS, &stats, &size) != 0) fail_errno("PACKET_STATISTICS");
    return stats.tp_drops;
}

}  // namespace transfer
