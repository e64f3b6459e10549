// Links that netem has not all of: each packet of them passes through this program, which has the simulator's own line in the
// place of netem (links/direction.hpp): its queue of bytes, its rate over time, its losses, its outages and others' datagrams,
// with the simulator's draws of the trial's seed.
//
//   spacecraft craftN --veth-- nearN  (this program's namespace)  farN --veth-- earthN Earth
//
//   links PLAN       reads the trial's time 0 (of the monotonic clock, in ns) from standard input as soon as it is known, and
//                    ends when that ends; each further line is answered with the numbers of all directions and nodes, `hops`
//                    with those that a trial has of them
//
// A link may lead from one node of the plan to another: what these store waits here for its next hop (ways.hpp).
//
// A packet joins the queue at the time of its own stamp, and goes on when the line says; in a guest to the nanosecond, but for
// the 256 ns that each look at the clock takes. It weighs what the simulator's weighs: TCP's payload with `header_bytes`, a
// datagram's IP length less what the plan says is free.
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sys/socket.h>

#include <array>
#include <cstdio>
#include <deque>

#include "../transfer/base.hpp"
#include "lines.hpp"
#include "queues.hpp"
#include "watch.hpp"
#include "ways.hpp"

namespace links {

namespace {

using dstcc::kNever;
using transfer::clock_ns;
using transfer::fail_errno;
using transfer::Failure;

constexpr std::size_t kFrame = 65'536, kIp = ETHER_HDR_LEN, kIpBytes = 20, kIp6Bytes = 40;
constexpr std::uint8_t kGroup = 0xff;  // how an IPv6 address of many begins
constexpr int kRoom = 256 << 20;       // bytes of a socket's buffer

struct Plan {
    int space = -1, queues = -1;
    std::uint64_t seed = 0;
    std::uint32_t full_bytes = 0, header_bytes = 0;
    int down_free = 0, up_free = 0;  // of a datagram's IP length, not charged
    // Programs are root of their hosts: they may take devices away, and send what no device takes.
    bool of_programs() const { return header_bytes == 0; }
    struct Parts {
        std::vector<dstcc::LinkConfig> links;
        std::vector<dstcc::NodeConfig> nodes;
        DSTCC_FIELDS(links, nodes)
    } parts;
    struct Place {
        std::size_t number;      // in the trial, or the scenario
        std::uint64_t draws;     // index of its random draws
        int from = -1, to = -1;  // nodes, by their place in the plan; -1: an end
    };
    std::vector<Place> places;
};

Plan read_plan(const std::string& path) {
    Plan plan;
    Lines::Table config = read_lines(path, [&](const std::string& key, std::istringstream& in) {
        if (key == "namespace")
            in >> plan.space;
        else if (key == "seed")
            in >> plan.seed;
        else if (key == "bytes")
            in >> plan.full_bytes >> plan.header_bytes >> plan.down_free >> plan.up_free;
        else if (key == "queues")
            in >> plan.queues;
        else if (key == "number") {
            Plan::Place& place = plan.places.emplace_back();
            in >> place.number;
            place.draws = place.number;
        } else if (key == "between" && !plan.places.empty())
            in >> plan.places.back().draws >> plan.places.back().from >> plan.places.back().to;
        else
            return false;
        return true;
    });
    config.try_emplace("nodes");
    read_all(config, "", plan.parts);
    const auto known = [&](int node) { return node >= -1 && node < static_cast<int>(plan.parts.nodes.size()); };
    for (const Plan::Place& place : plan.places)
        if (!known(place.from) || !known(place.to)) throw Failure(path + ": a link of a node that there is not");
    if (plan.places.empty() || plan.parts.links.size() != plan.places.size()) throw Failure(path + ": not whole");
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

class Player {
public:
    explicit Player(const Plan& plan) : plan_(plan), queues_(plan.queues) {
        transfer::enter(plan.space);
        for (const dstcc::NodeConfig& node : plan.parts.nodes) nodes_.emplace_back(node);
        for (std::size_t i = 0; i < plan.places.size(); ++i) {
            const Plan::Place& place = plan.places[i];
            const std::string number = std::to_string(place.number);
            const int near = packet_socket("near" + number), far = packet_socket("far" + number);
            add_way({place.number, false, near, far, plan.down_free}, plan.parts.links[i], place, place.from);
            add_way({place.number, true, far, near, plan.up_free}, plan.parts.links[i], place, place.to);
            watch_.add(near);
            watch_.add(far);
        }
    }

    void run() {
        std::string said;
        if (!hear(said)) return;
        start_ = std::stoll(said);
        realtime_ = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC) + start_;
        for (;;) {
            const Time next = next_time();
            for (const int ready : watch_.wait(next < kNever ? next + start_ : kNever)) {
                if (ready != STDIN_FILENO)
                    handle(ready);
                else if (!hear(said))
                    return;
                else
                    said == "hops" ? say_hops() : say_counts();
            }
            advance(clock_ns(CLOCK_MONOTONIC) - start_);
        }
    }

private:
    void add_way(Way::Ends ends, dstcc::LinkConfig link, const Plan::Place& place, int from) {
        dstcc::Node* const node = from < 0 ? nullptr : &nodes_[static_cast<std::size_t>(from)];
        if (node != nullptr && node->stores()) (ends.up ? link.up_queue_bytes : link.queue_bytes) = kNever;
        std::vector<dstcc::TrafficSource> others;
        for (std::size_t k = 0; node != nullptr && !ends.up && k < link.cross_traffic.size(); ++k)
            others.emplace_back(link.cross_traffic[k], plan_.seed, place.draws, k);
        if (node != nullptr) link.cross_traffic.clear();  // it comes to the node
        const Direction line(link, ends.up, plan_.seed, place.draws, plan_.full_bytes);
        ways_.emplace_back(ends, line, link, node, others);
    }
    // The next line of standard input, and nothing of the one after it, for which epoll is to wake us; false at its end.
    static bool hear(std::string& line) {
        line.clear();
        for (char next = 0; read(STDIN_FILENO, &next, 1) == 1; line += next)
            if (next == '\n') return true;
        return false;
    }
    // Restarts, and what has arrived, until now.
    void advance(Time now) {
        for (dstcc::Node& node : nodes_)
            while (node.next_restart() <= now) {
                const Time at = node.next_restart();
                for (Way& way : ways_)
                    if (way.node() == &node) deliver(way, at);
                node.restart(at);
                for (Way& way : ways_)
                    if (way.node() == &node) way.restart(at);
            }
        for (Way& way : ways_) deliver(way, now);
    }
    // Numbers of all directions and then of all nodes, each as it is in memory.
    void say_counts() {
        const Time now = clock_ns(CLOCK_MONOTONIC) - start_;
        advance(now);
        for (Way& way : ways_) {
            const WayCounts counts = way.counts(now);
            std::fwrite(&counts, sizeof counts, 1, stdout);
        }
        for (const dstcc::Node& node : nodes_) {
            node.check();
            const dstcc::NodeCounts& of = node.counts();
            const StoreCounts counts{of.held_packets, of.held_bytes, of.dropped_packets, of.lost_in_restarts_packets};
            std::fwrite(&counts, sizeof counts, 1, stdout);
        }
        std::fflush(stdout);
    }
    // Of each link down and up, and of all nodes.
    void say_hops() {
        advance(clock_ns(CLOCK_MONOTONIC) - start_);
        for (const Way& way : ways_) {
            const LineCounts counts = way.line_counts();
            std::fwrite(&counts, sizeof counts, 1, stdout);
        }
        for (const dstcc::Node& node : nodes_) {
            node.check();
            const dstcc::NodeCounts& of = node.counts();
            const std::int64_t counts[] = {of.came_packets,    of.left_packets, of.held_packets,
                                           of.dropped_packets, of.held_bytes,   of.lost_in_restarts_packets,
                                           of.most_held_bytes};
            std::fwrite(counts, sizeof counts, 1, stdout);
        }
        std::fflush(stdout);
    }
    // When something happens by itself.
    Time next_time() const {
        Time next = kNever;
        for (const Way& way : ways_) next = std::min(next, way.next());
        for (const dstcc::Node& node : nodes_) next = std::min(next, node.next_restart());
        return next;
    }
    void handle(int fd) {
        for (Way& way : ways_)
            if (way.ends.from == fd) take(way);
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
            const ssize_t got = recvmsg(way.ends.from, &header, MSG_DONTWAIT);
            if (got < 0 && (errno == EAGAIN || (plan_.of_programs() && errno == ENETDOWN))) return;
            if (got < 0) fail_errno("a packet could not be read");
            put(way, static_cast<std::size_t>(got), stamp_of(header));
        }
    }
    Time stamp_of(msghdr& header) const {
        for (cmsghdr* one = CMSG_FIRSTHDR(&header); one != nullptr; one = CMSG_NXTHDR(&header, one)) {
            if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_TIMESTAMPNS) continue;
            timespec at{};
            std::memcpy(&at, CMSG_DATA(one), sizeof at);
            return transfer::ns_of(at) - realtime_;
        }
        throw Failure("a packet without its time");
    }
    void put(Way& way, std::size_t size, Time now) {
        const std::uint32_t bytes = weight(way, size);
        if (bytes == 0) return;  // nothing else is sent
        advance(std::min(now, clock_ns(CLOCK_MONOTONIC) - start_));
        way.put(now, bytes, {frame_.begin(), frame_.begin() + static_cast<long>(size)});
        queues_.put(way.ends.number, way.ends.up, way.busy_ns());
    }
    // What a packet takes of the line; 0: it is not IP's, or for a group of hosts, as IPv6's talk with neighbours is.
    std::uint32_t weight(const Way& way, std::size_t size) const {
        const auto big16 = [&](std::size_t at) { return static_cast<std::size_t>(frame_[at] << 8 | frame_[at + 1]); };
        std::size_t ip_bytes = 0, tcp = 0;
        bool is_tcp = false;
        if (size >= kIp + kIpBytes && frame_[kIp] >> 4 == 4) {
            ip_bytes = big16(kIp + 2);
            tcp = kIp + 4u * (frame_[kIp] & 15u);
            is_tcp = frame_[kIp + 9] == IPPROTO_TCP;
        } else if (size >= kIp + kIp6Bytes && frame_[kIp] >> 4 == 6 && frame_[kIp + 24] != kGroup) {
            ip_bytes = kIp6Bytes + big16(kIp + 4);
            tcp = kIp + kIp6Bytes;
            is_tcp = frame_[kIp + 6] == IPPROTO_TCP;
        } else
            return 0;
        ip_bytes = std::max(ip_bytes, size - kIp);  // a packet may say that it is shorter than it is
        if (plan_.of_programs() || !is_tcp || tcp + 20 > size)
            return static_cast<std::uint32_t>(std::max<int>(static_cast<int>(ip_bytes) - way.ends.free_bytes, 1));
        const std::size_t headers = tcp - kIp + 4u * (frame_[tcp + 12] >> 4);
        return static_cast<std::uint32_t>(ip_bytes > headers ? ip_bytes - headers : 0) + plan_.header_bytes;
    }
    void deliver(Way& way, Time now) const {
        way.deliver(now, [this](int to, const Frame& frame) {
            if (send(to, frame.data(), frame.size(), 0) == static_cast<ssize_t>(frame.size())) return true;
            const bool gone = errno == ENETDOWN || errno == ENXIO || errno == ENODEV || errno == ENOBUFS;
            if (!plan_.of_programs() || !(gone || errno == EMSGSIZE)) fail_errno("a packet could not be sent on");
            return false;
        });
    }

    const Plan& plan_;
    Queues queues_;
    std::deque<dstcc::Node> nodes_;  // ways point at theirs
    std::deque<Way> ways_;
    std::vector<std::uint8_t> frame_ = std::vector<std::uint8_t>(kFrame);
    Watch watch_;
    Time start_ = 0, realtime_ = 0;
};

}  // namespace

}  // namespace links

int main(int argc, char** argv) {
    return transfer::program("links", argc, argv, [](const char* path) {
        const links::Plan plan = links::read_plan(path);
        links::Player(plan).run();
    });
}
