// SPDX-License-Identifier: GPL-2.0
// One TCP or MPTCP connection over a scripted link, its sender's state written down after every event.
//
//   craft --veth-- relay (this program: packet sockets, link.hpp) --veth-- earth
//
// It runs in a guest's virtual time, where its own work takes none: the link's times are exact but for the clock's 256 ns a
// look. A case starts at a time of that clock that the plan gives, so that nothing that ran before has a say in where the
// ticks stand. `trajectory PLAN` reads a plan (a word and its numbers a line, see read_plan) and writes the machine's clock
// as the case starts, in ns since it booted, and a line per event; the last three are BBR's gains in 256ths and RTprop, of
// others 0:
//
//   t_ns acks sent una cwnd ssthresh srtt_us rttvar_us rto_us pacing_Bps state backoff sacked lost retrans unacked
//   pacing_gain cwnd_gain min_rtt_us
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/inet_diag.h>
#include <linux/tcp.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "link.hpp"

namespace trajectory {
namespace {

constexpr int kMptcp = 262, kMptcpLevel = 284, kMptcpTcpInfo = 2;  // linux/mptcp.h
constexpr int kBuffer = 1 << 30;
constexpr std::uint16_t kPort = 5000;
constexpr std::size_t kChunk = 1 << 20;

struct Write {
    Time at;
    std::int64_t bytes;  // below 0: all that goes in, for ever
};

struct Plan {
    int craft = -1, relay = -1, earth = -1;  // namespaces
    bool mptcp = false;
    std::string congestion, out;
    int mss = 1460, receive_buffer = 0, send_buffer = 0;
    Way down, up;
    std::map<std::int64_t, int> drops;  // segment number: how many of its transmissions never arrive
    std::vector<Write> writes;
    std::vector<Time> looks;  // times to write a line at, whatever happens
    Time start = 0;           // of the machine's clock
    Time end = 0;
};

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }

Plan read_plan(const std::string& path) {
    Plan plan;
    std::ifstream file(path);
    std::string line;
    while (std::getline(file, line)) {
        std::istringstream words(line);
        std::string word;
        words >> word;
        const auto number = [&] {
            std::int64_t value = 0;
            words >> value;
            return value;
        };
        if (word == "spaces")
            words >> plan.craft >> plan.relay >> plan.earth;
        else if (word == "mptcp")
            plan.mptcp = number() != 0;
        else if (word == "congestion")
            words >> plan.congestion;
        else if (word == "out")
            words >> plan.out;
        else if (word == "mss")
            plan.mss = static_cast<int>(number());
        else if (word == "buffers")
            words >> plan.receive_buffer >> plan.send_buffer;
        else if (word == "down")
            words >> plan.down.rate_bps >> plan.down.queue_bytes >> plan.down.free_bytes;
        else if (word == "up")
            words >> plan.up.rate_bps >> plan.up.queue_bytes >> plan.up.free_bytes;
        else if (word == "delay") {
            const Time from = number(), delay = number();
            plan.down.delays.push_back({from, delay});
            plan.up.delays.push_back({from, delay});
        } else if (word == "outage") {
            const Time from = number(), to = number();
            plan.down.outages.push_back({from, to});
            plan.up.outages.push_back({from, to});
        } else if (word == "drop") {
            const std::int64_t segment = number();
            plan.drops[segment] = static_cast<int>(number());
        } else if (word == "write") {
            const Time at = number();
            plan.writes.push_back({at, number()});
        } else if (word == "look") {
            const Time first = number(), step = number();
            for (Time at = first; at <= plan.end; at += step) plan.looks.push_back(at);
        } else if (word == "start")
            plan.start = number();
        else if (word == "end")
            plan.end = number();
        else if (!word.empty())
            throw std::runtime_error("unknown word " + word);
        if (words.fail()) throw std::runtime_error("bad line: " + line);
    }
    return plan;
}

void enter(int space) {
    if (setns(space, CLONE_NEWNET) != 0) fail("setns");
}

int packet_socket(const char* device) {
    const int made = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETH_P_ALL));
    if (made < 0) fail("packet socket");
    const int on = 1, room = 256 << 20;
    if (setsockopt(made, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on) != 0) fail("PACKET_IGNORE_OUTGOING");
    if (setsockopt(made, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) != 0) fail("SO_RCVBUFFORCE");
    if (setsockopt(made, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room) != 0) fail("SO_SNDBUFFORCE");
    sockaddr_ll at{};
    at.sll_family = AF_PACKET;
    at.sll_protocol = htons(ETH_P_ALL);
    at.sll_ifindex = static_cast<int>(if_nametoindex(device));
    if (bind(made, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) fail(device);
    return made;
}

sockaddr_in host(const char* name) {
    sockaddr_in made{};
    made.sin_family = AF_INET;
    made.sin_port = htons(kPort);
    inet_pton(AF_INET, name, &made.sin_addr);
    return made;
}

std::uint32_t big32(const std::string& frame, std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, frame.data() + at, 4);
    return ntohl(value);
}

struct Parsed {
    std::int64_t ip_bytes = 0, payload = 0;
    std::uint32_t seq = 0, ack = 0;
    bool tcp = false, syn = false;
};

Parsed parse(const std::string& frame) {
    Parsed out;
    constexpr std::size_t ip = ETHER_HDR_LEN;
    if (frame.size() < ip + 40 || (static_cast<unsigned char>(frame[ip]) >> 4) != 4 || frame[ip + 9] != IPPROTO_TCP)
        return out;
    std::uint16_t length = 0;
    std::memcpy(&length, frame.data() + ip + 2, 2);
    out.ip_bytes = ntohs(length);
    const std::size_t tcp = ip + 4u * (static_cast<unsigned char>(frame[ip]) & 15u);
    out.seq = big32(frame, tcp + 4);
    out.ack = big32(frame, tcp + 8);
    out.syn = (frame[tcp + 13] & 2) != 0;
    out.payload =
        out.ip_bytes - static_cast<std::int64_t>(tcp - ip) - 4 * (static_cast<unsigned char>(frame[tcp + 12]) >> 4);
    out.tcp = true;
    return out;
}

class Recorder {
public:
    explicit Recorder(Plan plan) : plan_(std::move(plan)), zeros_(kChunk, 0) {
        enter(plan_.relay);
        craft_side_ = packet_socket("rcraft");
        earth_side_ = packet_socket("rearth");
        enter(plan_.earth);
        listener_ = tcp_socket();
        buffer(listener_, SO_RCVBUFFORCE, plan_.receive_buffer);
        const sockaddr_in earth = host("10.0.0.2");
        if (bind(listener_, reinterpret_cast<const sockaddr*>(&earth), sizeof earth) != 0) fail("bind");
        if (listen(listener_, 4) != 0) fail("listen");
        enter(plan_.craft);
        sender_ = tcp_socket();
        buffer(sender_, SO_SNDBUFFORCE, plan_.send_buffer);
        if (setsockopt(sender_, IPPROTO_TCP, TCP_CONGESTION, plan_.congestion.data(),
                       static_cast<socklen_t>(plan_.congestion.size())) != 0)
            fail(plan_.congestion);
        const int on = 1;
        if (setsockopt(sender_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) fail("TCP_NODELAY");
        timer_ = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
        poll_ = epoll_create1(0);
        for (const int fd : {craft_side_, earth_side_, listener_, timer_}) watch(fd, EPOLLIN);
        out_ = std::fopen(plan_.out.c_str(), "w");
        if (out_ == nullptr) fail(plan_.out);
        wait_for_start();
        start_ = clock();
        std::fprintf(out_, "%lld\n", static_cast<long long>(start_));
        std::fflush(out_);  // who decides over windows waits for it
        const sockaddr_in to = host("10.0.0.2");
        if (connect(sender_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 && errno != EINPROGRESS)
            fail("connect");
        watch(sender_, EPOLLOUT | EPOLLET);
    }

    void run() {
        Time now = 0;
        while (now <= plan_.end) {
            arm();
            epoll_event events[8];
            const int count = epoll_wait(poll_, events, 8, -1);
            now = clock() - start_;
            for (int i = 0; i < count; ++i) {
                const int fd = events[i].data.fd;
                if (fd == timer_) {
                    std::uint64_t ticks = 0;
                    if (read(timer_, &ticks, sizeof ticks) < 0 && errno != EAGAIN) fail("timer");
                } else if (fd == listener_) {
                    receiver_ = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK);
                    if (receiver_ < 0) fail("accept");
                    watch(receiver_, EPOLLIN);
                } else if (fd == receiver_) {
                    drain();
                }
            }
            take(craft_side_, plan_.down, now, true);
            take(earth_side_, plan_.up, now, false);
            deliver(plan_.down, earth_side_, now, false);
            deliver(plan_.up, craft_side_, now, true);
            write_due(now);
            take(craft_side_, plan_.down, now, true);
            while (look_ < plan_.looks.size() && plan_.looks[look_] <= now) {
                ++look_;
                note(now);
            }
        }
        std::fclose(out_);
    }

private:
    int tcp_socket() const {
        const int made = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, plan_.mptcp ? kMptcp : IPPROTO_TCP);
        if (made < 0) fail("socket");
        return made;
    }
    static void buffer(int fd, int option, int bytes) {
        const int half = bytes / 2;  // the kernel doubles it
        if (bytes > 0 && setsockopt(fd, SOL_SOCKET, option, &half, sizeof half) != 0) fail("buffer");
    }
    static Time clock() {
        timespec t{};
        clock_gettime(CLOCK_MONOTONIC, &t);
        return static_cast<Time>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
    }
    void wait_for_start() const {
        if (clock() >= plan_.start) throw std::runtime_error("the machine's clock is past the start of the case");
        prctl(PR_SET_TIMERSLACK, 1);  // ns; 50,000 else, for timers to share
        timespec at{};
        at.tv_sec = plan_.start / 1'000'000'000;
        at.tv_nsec = plan_.start % 1'000'000'000;
        while (const int error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr))
            if (error != EINTR) throw std::runtime_error(std::string("clock_nanosleep: ") + std::strerror(error));
    }
    void watch(int fd, std::uint32_t what) {
        epoll_event event{};
        event.events = what;
        event.data.fd = fd;
        if (epoll_ctl(poll_, EPOLL_CTL_ADD, fd, &event) != 0) fail("epoll");
    }
    void arm() {
        Time next = plan_.end + 1;
        for (const Way* way : {&plan_.down, &plan_.up})
            if (!way->flying.empty()) next = std::min(next, way->flying.front().arrive);
        if (write_ < plan_.writes.size()) next = std::min(next, plan_.writes[write_].at);
        if (look_ < plan_.looks.size()) next = std::min(next, plan_.looks[look_]);
        next = std::max<Time>(next + start_, 1);
        itimerspec at{};
        at.it_value.tv_sec = next / 1'000'000'000;
        at.it_value.tv_nsec = next % 1'000'000'000;
        if (timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr) != 0) fail("timerfd_settime");
    }
    void drain() {
        for (;;) {
            const ssize_t got = recv(receiver_, zeros_.data(), zeros_.size(), MSG_DONTWAIT);
            if (got <= 0) return;
        }
    }
    // What a host has put on its device goes on the link.
    void take(int side, Way& way, Time now, bool data) {
        bool some = false;
        for (;;) {
            char room[70'000];
            const ssize_t got = recv(side, room, sizeof room, MSG_DONTWAIT);
            if (got < 0) break;
            std::string frame(room, static_cast<std::size_t>(got));
            const Parsed packet = parse(frame);
            if (!packet.tcp) continue;
            Time arrive = 0;
            const bool empty = data && packet.payload == 0 && !packet.syn;
            if (empty) {  // the sender's own ACKs take no line time: the simulator has none
                way.flying.push_back({now + way.delays.front().delay, std::move(frame)});
                std::inplace_merge(way.flying.begin(), way.flying.end() - 1, way.flying.end(),
                                   [](const Packet& a, const Packet& b) { return a.arrive < b.arrive; });
                continue;
            }
            const std::int64_t charged = packet.syn ? 40 : packet.ip_bytes - way.free_bytes;
            const bool taken = way.transmit(now, charged, arrive);
            if (data && packet.syn) isn_ = packet.seq + 1;
            if (data && packet.payload > 0) {
                some = true;
                ++sent_;
                const auto segment =
                    static_cast<std::int64_t>((packet.seq - isn_) / static_cast<std::uint32_t>(plan_.mss));
                const auto doomed = plan_.drops.find(segment);
                if (doomed != plan_.drops.end() && doomed->second > 0) {
                    --doomed->second;
                    continue;
                }
            }
            if (taken && arrive != kNever) way.flying.push_back({arrive, std::move(frame)});
        }
        if (some) note(now);
    }
    void deliver(Way& way, int side, Time now, bool acks) {
        while (!way.flying.empty() && way.flying.front().arrive <= now) {
            const std::string frame = std::move(way.flying.front().frame);
            way.flying.pop_front();
            if (send(side, frame.data(), frame.size(), 0) < 0) fail("send");
            if (acks) {
                const Parsed packet = parse(frame);
                if (!packet.syn) {
                    ++acks_;
                    una_ = std::max(una_, static_cast<std::int64_t>(packet.ack - isn_));
                }
                note(now);
                take(craft_side_, plan_.down, now, true);
            } else if (receiver_ >= 0) {
                drain();
            }
        }
    }
    void write_due(Time now) {
        while (write_ < plan_.writes.size() && plan_.writes[write_].at <= now)
            unwritten_ = add(plan_.writes[write_++].bytes);
        while (unwritten_ != 0) {
            const std::size_t most = unwritten_ < 0
                                         ? zeros_.size()
                                         : std::min<std::size_t>(zeros_.size(), static_cast<std::size_t>(unwritten_));
            const ssize_t put = send(sender_, zeros_.data(), most, MSG_DONTWAIT | MSG_NOSIGNAL);
            if (put <= 0) return;
            if (unwritten_ > 0) unwritten_ -= put;
        }
    }
    std::int64_t add(std::int64_t bytes) const { return bytes < 0 || unwritten_ < 0 ? -1 : unwritten_ + bytes; }
    bool info(tcp_info& info_row) const {
        if (!plan_.mptcp) {
            socklen_t size = sizeof info_row;
            return getsockopt(sender_, IPPROTO_TCP, TCP_INFO, &info_row, &size) == 0;
        }
        struct {
            std::uint32_t header, count, kernel_size, user_size;
            tcp_info rows[2];
        } room{};
        room.header = 16;
        room.user_size = sizeof(tcp_info);
        socklen_t size = sizeof room;
        if (getsockopt(sender_, kMptcpLevel, kMptcpTcpInfo, &room, &size) != 0 || room.count == 0) return false;
        info_row = room.rows[0];
        return true;
    }
    void note(Time now) {
        tcp_info info_row{};
        if (!info(info_row)) return;
        tcp_cc_info gains{};
        socklen_t size = sizeof gains;
        if (plan_.congestion == "bbr" && getsockopt(sender_, IPPROTO_TCP, TCP_CC_INFO, &gains, &size) != 0)
            fail("TCP_CC_INFO");
        std::fprintf(out_, "%lld %lld %lld %lld %u %u %u %u %u %llu %u %u %u %u %u %u %u %u %u\n",
                     static_cast<long long>(now), static_cast<long long>(acks_), static_cast<long long>(sent_),
                     static_cast<long long>(una_ / plan_.mss), info_row.tcpi_snd_cwnd, info_row.tcpi_snd_ssthresh,
                     info_row.tcpi_rtt, info_row.tcpi_rttvar, info_row.tcpi_rto,
                     static_cast<unsigned long long>(info_row.tcpi_pacing_rate), info_row.tcpi_ca_state,
                     info_row.tcpi_backoff, info_row.tcpi_sacked, info_row.tcpi_lost, info_row.tcpi_retrans,
                     info_row.tcpi_unacked, gains.bbr.bbr_pacing_gain, gains.bbr.bbr_cwnd_gain, gains.bbr.bbr_min_rtt);
    }

    Plan plan_;
    std::string zeros_;
    int craft_side_ = -1, earth_side_ = -1, listener_ = -1, sender_ = -1, receiver_ = -1, timer_ = -1, poll_ = -1;
    std::FILE* out_ = nullptr;
    Time start_ = 0;
    std::uint32_t isn_ = 0;
    std::int64_t acks_ = 0, sent_ = 0, una_ = 0, unwritten_ = 0;
    std::size_t write_ = 0, look_ = 0;
};

}  // namespace
}  // namespace trajectory

int main(int count, char** words) {
    try {
        if (count != 2) throw std::runtime_error("usage: trajectory PLAN");
        trajectory::Recorder(trajectory::read_plan(words[1])).run();
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
