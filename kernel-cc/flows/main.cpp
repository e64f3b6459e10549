// Others' TCP connections of a trial (link.flows): real ones, from the spacecraft's host to Earth's, each with the control that it
// names. What they carry is made, and thrown away at Earth.
//
//   flows PLAN       reads the trial's time 0 (of the monotonic clock, in ns) from standard input as soon as it is known, and ends
//                    when that ends
//
// A connection begins at its start. It then has as much to send as goes in, or so many bytes, or what a source writes a packet at
// a time; from its stop on it writes nothing more. As little as the kernel takes stands unsent in its socket.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <deque>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>

#include "../links/lines.hpp"
#include "../transfer/base.hpp"
#include "link/traffic.hpp"

namespace flows {

namespace {

using dstcc::kNever;
using transfer::clock_ns;
using transfer::fail_errno;
using transfer::Failure;
using transfer::Time;

constexpr std::uint16_t kPort = 6000;        // at Earth and on the spacecraft, and those after it, by flow
constexpr int kTimestamps = 12;              // bytes of a segment that its payload leaves
constexpr std::int64_t kStretch = 64 << 10;  // of a write
constexpr std::uint64_t kSourceNumbers =
    1 << 16;                                 // draws of flows are apart from those of datagrams (engine's kFlowNumbers)
constexpr std::int64_t kUnsentSegments = 4;  // that stand in a socket

struct FlowPlan {
    std::size_t link = 0, number = 0;
    std::string craft, earth, congestion;
    Time opens = 0;
    dstcc::FlowConfig config = {};
};

struct Plan {
    int craft_ns = -1, earth_ns = -1, mss = 1460, header_bytes = 40;
    std::uint64_t seed = 0;
    std::vector<FlowPlan> flows;
};

Plan read_plan(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw Failure(path + ": cannot be read");
    Plan plan;
    links::Lines::Table config;
    for (std::string line; std::getline(file, line);) {
        std::istringstream in(line);
        std::string key;
        if (!(in >> key)) continue;
        if (key == "namespaces") {
            in >> plan.craft_ns >> plan.earth_ns;
        } else if (key == "segments") {
            in >> plan.mss >> plan.header_bytes >> plan.seed;
        } else if (key == "flow") {
            FlowPlan& flow = plan.flows.emplace_back();
            in >> flow.link >> flow.number >> flow.craft >> flow.earth >> flow.congestion >> flow.opens;
        } else if (!links::read_line(key, in, config)) {
            throw Failure("plan: unknown key " + key);
        }
        if (in.fail()) throw Failure("plan: " + key + ": a value is missing or no number");
    }
    const std::vector<dstcc::LinkConfig> links = links::links_of(config);
    for (FlowPlan& flow : plan.flows) flow.config = links.at(flow.link).flows.at(flow.number);
    if (plan.flows.empty()) throw Failure(path + ": not whole");
    return plan;
}

struct Flow {
    int listener = -1, sender = -1, receiver = -1;
    bool connected = false, begun = false;
    std::int64_t written = 0, due = 0;  // the latter: of a source, and not yet written
    Time next = kNever;                 // of a source
    std::optional<dstcc::TrafficSource> source;
};

class Flows {
public:
    explicit Flows(const Plan& plan) : plan_(plan), flows_(plan.flows.size()), zeros_(kStretch, 0) {
        prctl(PR_SET_TIMERSLACK, 1);  // ns; 50,000 else, for timers to share
        poll_ = epoll_create1(EPOLL_CLOEXEC);
        timer_ = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
        watch(timer_, EPOLLIN);
        watch(STDIN_FILENO, EPOLLIN);
        for (std::size_t i = 0; i < flows_.size(); ++i) listen_for(i);
        for (std::size_t i = 0; i < flows_.size(); ++i) open(i);
    }

    void run() {
        std::string said;
        if (!std::getline(std::cin, said)) return;
        start_ = std::stoll(said);
        for (Time now = 0;; now = clock_ns(CLOCK_MONOTONIC) - start_) {
            for (std::size_t i = 0; i < flows_.size(); ++i) serve(i, now);
            arm(now);
            std::array<epoll_event, 64> events;
            const int count = epoll_wait(poll_, events.data(), static_cast<int>(events.size()), -1);
            if (count < 0 && errno != EINTR) fail_errno("epoll");
            for (int i = 0; i < count; ++i) {
                const int fd = events[static_cast<std::size_t>(i)].data.fd;
                if (fd == STDIN_FILENO) return;
                handle(fd);
            }
        }
    }

private:
    void watch(int fd, std::uint32_t what) const {
        epoll_event event{};
        event.events = what;
        event.data.fd = fd;
        if (epoll_ctl(poll_, EPOLL_CTL_ADD, fd, &event) != 0) fail_errno("epoll");
    }
    static sockaddr_in address(const std::string& host, std::size_t flow) {
        sockaddr_in made{};
        made.sin_family = AF_INET;
        made.sin_port = htons(static_cast<std::uint16_t>(kPort + flow));
        inet_pton(AF_INET, host.c_str(), &made.sin_addr);
        return made;
    }
    static int bound(int space, const std::string& host, std::size_t flow) {
        if (setns(space, CLONE_NEWNET) != 0) fail_errno("setns");
        const int made = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
        if (made < 0) fail_errno("TCP socket");
        const sockaddr_in at = address(host, flow);
        if (bind(made, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) fail_errno("bind " + host);
        return made;
    }
    void listen_for(std::size_t i) {
        const int made = flows_[i].listener = bound(plan_.earth_ns, plan_.flows[i].earth, i);
        if (listen(made, 4) != 0) fail_errno("listen");
        watch(made, EPOLLIN);
    }
    void open(std::size_t i) {
        const FlowPlan& plan = plan_.flows[i];
        Flow& flow = flows_[i];
        flow.sender = bound(plan_.craft_ns, plan.craft, i);
        const auto option = [&](int name, int value, const char* what) {
            if (setsockopt(flow.sender, IPPROTO_TCP, name, &value, sizeof value) != 0) fail_errno(what);
        };
        if (setsockopt(flow.sender, IPPROTO_TCP, TCP_CONGESTION, plan.congestion.data(),
                       static_cast<socklen_t>(plan.congestion.size())) != 0)
            fail_errno("congestion control " + plan.congestion);
        option(TCP_MAXSEG, plan_.mss + kTimestamps, "TCP_MAXSEG");
        option(TCP_NODELAY, 1, "TCP_NODELAY");
        option(TCP_NOTSENT_LOWAT, static_cast<int>(kUnsentSegments * plan_.mss), "TCP_NOTSENT_LOWAT");
        if (plan.config.app_limited) {
            flow.source.emplace(plan.config.source, plan_.seed, plan.link, kSourceNumbers + plan.number);
            flow.next = flow.source->start();
        }
    }
    void handle(int fd) {
        if (fd == timer_) {
            std::uint64_t ticks = 0;
            if (read(timer_, &ticks, sizeof ticks) < 0 && errno != EAGAIN) fail_errno("timer");
        }
        for (Flow& flow : flows_) {
            if (fd == flow.listener) {
                flow.receiver = accept4(fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
                if (flow.receiver < 0) fail_errno("accept");
                watch(flow.receiver, EPOLLIN);
            } else if (fd == flow.receiver) {
                while (recv(fd, zeros_.data(), zeros_.size(), MSG_DONTWAIT | MSG_TRUNC) > 0) {}
            } else if (fd == flow.sender) {
                flow.connected = true;
            }
        }
    }
    // Begins what is due, takes what a source writes, and writes what goes in.
    void serve(std::size_t i, Time now) {
        const FlowPlan& plan = plan_.flows[i];
        Flow& flow = flows_[i];
        if (!flow.begun && now >= plan.opens && now < plan.config.stop_ns) {
            flow.begun = true;
            const sockaddr_in to = address(plan.earth, i);
            if (connect(flow.sender, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 && errno != EINPROGRESS)
                fail_errno("a flow of others");
            watch(flow.sender, EPOLLOUT | EPOLLET);
        }
        while (flow.next <= now) {
            const Time at = flow.next;
            if (flow.source->poll(at, flow.next))
                flow.due += std::max<std::int64_t>(plan.config.source.packet_bytes - plan_.header_bytes, 1);
        }
        while (flow.connected && now < plan.config.stop_ns) {
            std::int64_t wanted = flow.source ? flow.due : kStretch;
            if (plan.config.payload_bytes > 0) wanted = std::min(wanted, plan.config.payload_bytes - flow.written);
            wanted = std::min(wanted, kStretch);
            if (wanted <= 0) break;
            const ssize_t sent =
                send(flow.sender, zeros_.data(), static_cast<std::size_t>(wanted), MSG_DONTWAIT | MSG_NOSIGNAL);
            if (sent < 0 && errno != EAGAIN && errno != ENOBUFS) fail_errno("a flow of others");
            if (sent <= 0) break;
            flow.written += sent;
            flow.due -= flow.source ? sent : 0;
        }
    }
    void arm(Time now) {
        Time next = kNever;
        for (std::size_t i = 0; i < flows_.size(); ++i) {
            if (!flows_[i].begun && plan_.flows[i].opens > now) next = std::min(next, plan_.flows[i].opens);
            next = std::min(next, flows_[i].next);
        }
        itimerspec at{};
        if (next < kNever) {
            const Time due = std::max<Time>(next + start_, 1);
            at.it_value = {static_cast<time_t>(due / transfer::kNsPerS), static_cast<long>(due % transfer::kNsPerS)};
        }
        if (timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr) != 0) fail_errno("timerfd_settime");
    }

    const Plan& plan_;
    std::vector<Flow> flows_;
    std::vector<char> zeros_;
    int poll_ = -1, timer_ = -1;
    Time start_ = 0;
};

}  // namespace

}  // namespace flows

int main(int argc, char** argv) {
    return transfer::program("flows", argc, argv, [](const char* path) {
        std::signal(SIGPIPE, SIG_IGN);
        const rlimit files{1 << 16, 1 << 16};  // three sockets a flow
        setrlimit(RLIMIT_NOFILE, &files);
        const flows::Plan plan = flows::read_plan(path);
        flows::Flows(plan).run();
    });
}
