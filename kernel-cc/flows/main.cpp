// Others' TCP connections of a trial (link.flows): real ones, from the spacecraft's host to Earth's, each with the control that it
// names. What they carry is made, and thrown away at Earth.
//
//   flows PLAN       reads the trial's time 0 (of the monotonic clock, in ns) from standard input as soon as it is known, and ends
//                    when that ends
//
// A connection begins at its start. It then has as much to send as goes in, or so many bytes, or what a source writes a packet at
// a time; from its stop on it writes nothing more. As little as the kernel takes stands unsent in its socket.
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <csignal>
#include <iostream>
#include <optional>

#include "../links/lines.hpp"
#include "../links/watch.hpp"
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
    Plan plan;
    const auto take = [&](const std::string& key, std::istringstream& in) {
        if (key == "namespaces")
            in >> plan.craft_ns >> plan.earth_ns;
        else if (key == "segments")
            in >> plan.mss >> plan.header_bytes >> plan.seed;
        else if (key == "flow") {
            FlowPlan& flow = plan.flows.emplace_back();
            in >> flow.link >> flow.number >> flow.craft >> flow.earth >> flow.congestion >> flow.opens;
        } else
            return false;
        return true;
    };
    const std::vector<dstcc::LinkConfig> links = links::links_of(links::read_lines(path, take));
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
        for (std::size_t i = 0; i < flows_.size(); ++i) listen_for(i);
        for (std::size_t i = 0; i < flows_.size(); ++i) open(i);
    }

    void run() {
        std::string said;
        if (!std::getline(std::cin, said)) return;
        const Time start = std::stoll(said);
        for (Time now = 0;; now = clock_ns(CLOCK_MONOTONIC) - start) {
            for (std::size_t i = 0; i < flows_.size(); ++i) serve(i, now);
            const Time next = next_after(now);
            for (const int fd : watch_.wait(next < kNever ? next + start : kNever)) {
                if (fd == STDIN_FILENO) return;
                handle(fd);
            }
        }
    }

private:
    static int bound(int space, const std::string& host, std::size_t flow) {
        transfer::enter(space);
        const int made = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
        if (made < 0) fail_errno("TCP socket");
        const sockaddr_in at = transfer::address(host, kPort + flow);
        if (bind(made, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) fail_errno("bind " + host);
        return made;
    }
    void listen_for(std::size_t i) {
        const int made = flows_[i].listener = bound(plan_.earth_ns, plan_.flows[i].earth, i);
        if (listen(made, 4) != 0) fail_errno("listen");
        watch_.add(made);
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
        for (Flow& flow : flows_) {
            if (fd == flow.listener) {
                flow.receiver = accept4(fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
                if (flow.receiver < 0) fail_errno("accept");
                watch_.add(flow.receiver);
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
            const sockaddr_in to = transfer::address(plan.earth, kPort + i);
            if (connect(flow.sender, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 && errno != EINPROGRESS)
                fail_errno("a flow of others");
            watch_.add(flow.sender, EPOLLOUT | EPOLLET);
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
    // When something is due by itself.
    Time next_after(Time now) const {
        Time next = kNever;
        for (std::size_t i = 0; i < flows_.size(); ++i) {
            if (!flows_[i].begun && plan_.flows[i].opens > now) next = std::min(next, plan_.flows[i].opens);
            next = std::min(next, flows_[i].next);
        }
        return next;
    }

    const Plan& plan_;
    std::vector<Flow> flows_;
    std::vector<char> zeros_;
    links::Watch watch_;
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
