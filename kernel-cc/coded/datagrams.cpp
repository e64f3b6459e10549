#include "datagrams.hpp"

#include <linux/sock_diag.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace coded {

namespace {

constexpr int kBuffer = 1 << 28;             // bytes that wait between two looks
constexpr std::size_t kDatagram = 2048 * 8;  // the longest that is read whole; longer ones are damaged

}  // namespace

struct Socket::Room {
    mmsghdr headers[kBatch];
    iovec vectors[kBatch];
    std::uint8_t bytes[kBatch][kDatagram];
    alignas(cmsghdr) char control[kBatch][CMSG_SPACE(sizeof(timespec))];
};

Socket::Socket(const sockaddr_in& own, const sockaddr_in* peer)
    : socket_(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)),
      room_(new Room) {
    if (socket_ < 0) transfer::fail_errno("UDP socket");
    const int on = 1;
    const auto option = [this](int name, const int& value, const char* what) {
        if (setsockopt(socket_, SOL_SOCKET, name, &value, sizeof value) != 0) transfer::fail_errno(what);
    };
    option(SO_TIMESTAMPNS, on, "SO_TIMESTAMPNS");
    option(SO_RCVBUFFORCE, kBuffer, "SO_RCVBUFFORCE");
    option(SO_SNDBUFFORCE, kBuffer, "SO_SNDBUFFORCE");
    if (bind(socket_, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0) transfer::fail_errno("bind");
    if (peer != nullptr && connect(socket_, reinterpret_cast<const sockaddr*>(peer), sizeof *peer) != 0)
        transfer::fail_errno("connect");
}

Socket::Socket(Socket&& other) noexcept : socket_(other.socket_), room_(other.room_) {
    other.socket_ = -1;
    other.room_ = nullptr;
}

Socket::~Socket() {
    if (socket_ >= 0) close(socket_);
    delete room_;
}

void Socket::send(const std::vector<std::uint8_t>& datagram, const sockaddr_in* to) const {
    const auto* where = reinterpret_cast<const sockaddr*>(to);
    const socklen_t size = to == nullptr ? 0 : sizeof *to;
    const ssize_t sent = sendto(socket_, datagram.data(), datagram.size(), MSG_DONTWAIT, where, size);
    if (sent != static_cast<ssize_t>(datagram.size())) transfer::fail_errno("a datagram could not be sent");
}

const std::vector<Datagram>& Socket::receive() {
    read_.clear();
    for (std::size_t i = 0; i < kBatch; ++i) {
        room_->vectors[i] = {room_->bytes[i], kDatagram};
        msghdr& header = room_->headers[i].msg_hdr;
        header = {};
        header.msg_iov = &room_->vectors[i];
        header.msg_iovlen = 1;
        header.msg_control = room_->control[i];
        header.msg_controllen = sizeof room_->control[i];
    }
    const int got = recvmmsg(socket_, room_->headers, kBatch, MSG_DONTWAIT, nullptr);
    if (got < 0 && errno != EAGAIN) transfer::fail_errno("a datagram could not be read");
    for (int i = 0; i < got; ++i) {
        msghdr& header = room_->headers[i].msg_hdr;
        timespec at{};
        for (cmsghdr* one = CMSG_FIRSTHDR(&header); one != nullptr; one = CMSG_NXTHDR(&header, one))
            if (one->cmsg_level == SOL_SOCKET && one->cmsg_type == SCM_TIMESTAMPNS)
                std::memcpy(&at, CMSG_DATA(one), sizeof at);
        read_.push_back({room_->bytes[i], room_->headers[i].msg_len, transfer::ns_of(at)});
    }
    return read_;
}

unsigned Socket::lost() const {
    std::uint32_t about[SK_MEMINFO_VARS] = {};
    socklen_t size = sizeof about;
    if (getsockopt(socket_, SOL_SOCKET, SO_MEMINFO, about, &size) != 0) transfer::fail_errno("SO_MEMINFO");
    return about[SK_MEMINFO_DROPS];
}

}  // namespace coded
