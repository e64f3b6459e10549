// Links that netem has not all of: each packet of them passes through this program, which has the simulator's own line in the
// place of netem (links/direction.hpp): its queue of bytes, its rate over time, its losses, its outages and others' datagrams,
// with the simulator's draws of the trial's seed.
//
//   spacecraft craftN --veth-- nearN  (this program's namespace)  farN --veth-- earthN Earth
//
//   links PLAN       reads the trial's time 0 (of the monotonic clock, in ns) from standard input as soon as it is known, and
//                    ends when that ends
//
// A packet joins the queue at the time of its own stamp, and goes on when the line says; in a guest to the nanosecond, but for
// the 256 ns that each look at the clock takes. It weighs what the simulator's weighs: TCP's payload with `header_bytes`, a
// datagram's IP length less what the plan says is free.
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <deque>
#include <fstream>
#include <iostream>
#include <memory>

#include "../transfer/base.hpp"
#include "direction.hpp"
#include "lines.hpp"
#include "queues.hpp"

namespace links {

namespace {

using dstcc::kNever;
using transfer::clock_ns;
using transfer::fail_errno;
using transfer::Failure;

constexpr std::size_t kFrame = 65'536, kIp = ETHER_HDR_LEN, kIpBytes = 20;
constexpr int kRoom = 256 << 20;  // bytes of a socket's buffer

struct Plan {
    int space = -1, queues = -1;
    std::uint64_t seed = 0;
    std::uint32_t full_bytes = 0, header_bytes = 0;
    int down_free = 0, up_free = 0;  // of a datagram's IP length, not charged
    std::vector<dstcc::LinkConfig> links;
    std::vector<std::size_t> numbers;  // theirs, in the trial
};

Plan read_plan(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw Failure(path + ": cannot be read");
    Plan plan;
    Lines::Table config;
    for (std::string line; std::getline(file, line);) {
        std::istringstream in(line);
        std::string key;
        if (!(in >> key)) continue;
        if (key == "namespace")
            in >> plan.space;
        else if (key == "seed")
            in >> plan.seed;
        else if (key == "bytes")
            in >> plan.full_bytes >> plan.header_bytes >> plan.down_free >> plan.up_free;
        else if (key == "queues")
            in >> plan.queues;
        else if (key == "number")
            in >> plan.numbers.emplace_back();
        else if (!read_line(key, in, config))
            throw Failure("plan: unknown key " + key);
        if (in.fail()) throw Failure("plan: " + key + ": a value is missing or no number");
    }
    plan.links = links_of(config);
    if (plan.links.empty() || plan.links.size() != plan.numbers.size()) throw Failure(path + ": not whole");
    return plan;
}

int packet_socket(const std::string& device) {
    const int made = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
    if (made < 0) fail_errno("packet socket");
    const auto option = [&](int level, int name, int value, const char* what) {
        if (setsockopt(made, level, name, &value, sizeof value) != 0) fail_errno(what);
    };
    option(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1, "PACKET_IGNORE_OUTGOING");
    option(SOL_SOCKET, SO_TIMESTAMPNS, 1, "SO_TIMESTAMPNS");
    option(SOL_SOCKET, SO_RCVBUFFORCE, kRoom, "SO_RCVBUFFORCE");
    option(SOL_SOCKET, SO_SNDBUFFORCE, kRoom, "SO_SNDBUFFORCE");
    sockaddr_ll at{};
    at.sll_family = AF_PACKET;
    at.sll_protocol = htons(ETH_P_ALL);
    at.sll_ifindex = static_cast<int>(if_nametoindex(device.c_str()));
    if (bind(made, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) fail_errno(device);
    return made;
}

// A direction, with what is under way on it in order of arrival.
struct Way {
    Direction line;
    std::size_t number;
    bool up;
    int from, to;  // sockets
    int free_bytes;
    Time last = 0;
    struct Frame {
        Time arrive;
        std::vector<std::uint8_t> bytes;
    };
    std::deque<Frame> flying = {};
};

class Player {
public:
    explicit Player(const Plan& plan) : plan_(plan), queues_(plan.queues) {
        if (setns(plan.space, CLONE_NEWNET) != 0) fail_errno("setns");
        prctl(PR_SET_TIMERSLACK, 1);  // ns; 50,000 else, for timers to share
        poll_ = epoll_create1(EPOLL_CLOEXEC);
        timer_ = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
        watch(timer_);
        watch(STDIN_FILENO);
        for (std::size_t i = 0; i < plan.links.size(); ++i) {
            const std::string number = std::to_string(plan.numbers[i]);
            const int near = packet_socket("near" + number), far = packet_socket("far" + number);
            const auto line = [&](bool up) {
                return Direction(plan.links[i], up, plan.seed, plan.numbers[i], plan.full_bytes);
            };
            ways_.push_back({line(false), plan.numbers[i], false, near, far, plan.down_free});
            ways_.push_back({line(true), plan.numbers[i], true, far, near, plan.up_free});
            watch(near);
            watch(far);
        }
    }

    void run() {
        std::string said;
        if (!std::getline(std::cin, said)) return;
        start_ = std::stoll(said);
        realtime_ = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC) + start_;
        for (;;) {
            arm();
            std::array<epoll_event, 64> events;
            const int count = epoll_wait(poll_, events.data(), static_cast<int>(events.size()), -1);
            if (count < 0 && errno != EINTR) fail_errno("epoll");
            for (int i = 0; i < count; ++i) {
                if (events[static_cast<std::size_t>(i)].data.fd == STDIN_FILENO) return;
                handle(events[static_cast<std::size_t>(i)].data.fd);
            }
            const Time now = clock_ns(CLOCK_MONOTONIC) - start_;
            for (Way& way : ways_) deliver(way, now);
        }
    }

private:
    void watch(int fd) const {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.fd = fd;
        if (epoll_ctl(poll_, EPOLL_CTL_ADD, fd, &event) != 0) fail_errno("epoll");
    }
    void arm() {
        Time next = kNever;
        for (const Way& way : ways_)
            if (!way.flying.empty()) next = std::min(next, way.flying.front().arrive);
        if (next == armed_) return;
        armed_ = next;
        itimerspec at{};
        if (next < kNever) {
            const Time due = std::max<Time>(next + start_, 1);
            at.it_value = {static_cast<time_t>(due / transfer::kNsPerS), static_cast<long>(due % transfer::kNsPerS)};
        }
        if (timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr) != 0) fail_errno("timerfd_settime");
    }
    void handle(int fd) {
        if (fd == timer_) {
            std::uint64_t ticks = 0;
            if (read(timer_, &ticks, sizeof ticks) < 0 && errno != EAGAIN) fail_errno("timer");
            armed_ = kNever;
            return;
        }
        for (Way& way : ways_)
            if (way.from == fd) take(way);
    }
    void take(Way& way) {
        for (;;) {
            iovec room{frame_.data(), frame_.size()};
            alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(timespec))> control;
            msghdr header{};
            header.msg_iov = &room;
            header.msg_iovlen = 1;
            header.msg_control = control.data();
            header.msg_controllen = control.size();
            const ssize_t got = recvmsg(way.from, &header, MSG_DONTWAIT);
            if (got < 0 && errno == EAGAIN) return;
            if (got < 0) fail_errno("a packet could not be read");
            put(way, static_cast<std::size_t>(got), stamp_of(header));
        }
    }
    Time stamp_of(msghdr& header) const {
        for (cmsghdr* one = CMSG_FIRSTHDR(&header); one != nullptr; one = CMSG_NXTHDR(&header, one)) {
            if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_TIMESTAMPNS) continue;
            timespec at{};
            std::memcpy(&at, CMSG_DATA(one), sizeof at);
            return static_cast<Time>(at.tv_sec) * transfer::kNsPerS + at.tv_nsec - realtime_;
        }
        throw Failure("a packet without its time");
    }
    void put(Way& way, std::size_t size, Time now) const {
        if (size < kIp + kIpBytes || (frame_[kIp] >> 4) != 4) return;  // nothing else is sent
        way.last = std::max({way.last, now, Time{0}});
        const Time arrive = way.line.transmit(way.last, weight(way, size)).arrive_ns;
        queues_.put(way.number, way.up, way.line.line().busy_ns());
        if (arrive != kNever)
            way.flying.push_back({arrive, {frame_.begin(), frame_.begin() + static_cast<long>(size)}});
    }
    std::uint32_t weight(const Way& way, std::size_t size) const {
        const auto big16 = [&](std::size_t at) { return static_cast<std::size_t>(frame_[at] << 8 | frame_[at + 1]); };
        const std::size_t ip_bytes = big16(kIp + 2), tcp = kIp + 4u * (frame_[kIp] & 15u);
        if (frame_[kIp + 9] != IPPROTO_TCP || tcp + 20 > size)
            return static_cast<std::uint32_t>(std::max<int>(static_cast<int>(ip_bytes) - way.free_bytes, 0));
        const std::size_t headers = tcp - kIp + 4u * (frame_[tcp + 12] >> 4);
        return static_cast<std::uint32_t>(ip_bytes > headers ? ip_bytes - headers : 0) + plan_.header_bytes;
    }
    void deliver(Way& way, Time now) const {
        for (; !way.flying.empty() && way.flying.front().arrive <= now; way.flying.pop_front()) {
            const std::vector<std::uint8_t>& frame = way.flying.front().bytes;
            if (send(way.to, frame.data(), frame.size(), 0) != static_cast<ssize_t>(frame.size()))
                fail_errno("a packet could not be sent on");
        }
    }

    const Plan& plan_;
    Queues queues_;
    std::vector<Way> ways_;
    std::vector<std::uint8_t> frame_ = std::vector<std::uint8_t>(kFrame);
    int poll_ = -1, timer_ = -1;
    Time start_ = 0, realtime_ = 0, armed_ = kNever;
};

}  // namespace

}  // namespace links

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: links PLAN\n");
        return 2;
    }
    try {
        const links::Plan plan = links::read_plan(argv[1]);
        links::Player(plan).run();
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
