// SPDX-License-Identifier: GPL-2.0
// TCP or MPTCP connections over scripted links, their senders' state written down after every event.
//
//   craft --veth-- relay (this program: packet sockets, link.hpp) --veth-- earth
//
// Lane i is a connection of its own, to port kPort + i; lanes of one link share its queue. A path is a further subflow of
// the connection before it, from an address of its own, which the path manager has join over its link. Of several a layer goes
// whole to the next by turns that is free, and each is written what its window has room for, as by kernel-cc/transfer/sender.cpp. It runs in a guest's virtual
// time, where its own work takes none: the link's times are exact but for the clock's 256 ns a
// look. A case starts at a time of that clock that the plan gives, so that nothing that ran before has a say in where the
// ticks stand. Where layers have places the kernel's scheduler is our module's (kernel-cc/mptcp): a layer is written what its
// subflow has room for, each stretch announced for that subflow, the nearest one until it has joined.
// `trajectory PLAN` reads a plan (a word and its numbers a line, see read_plan) and writes the machine's clock
// as the case starts, in ns since it booted, and a line per event; the last but one to three are BBR's gains in 256ths and
// RTprop, of others 0:
//
//   t_ns acks sent una cwnd ssthresh srtt_us rttvar_us rto_us pacing_Bps state backoff sacked lost retrans unacked
//   pacing_gain cwnd_gain min_rtt_us lane bytes..
//
// where bytes are those of each layer that the lane's subflow has sent, each byte of its own stream once.
//
// A plan that two packets' order at an instant would decide ends with an error that says where (Way::transmit).
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
#include <deque>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "family.hpp"
#include "link.hpp"

namespace trajectory {
namespace {

constexpr int kMptcp = 262, kMptcpLevel = 284, kMptcpInfo = 1, kMptcpTcpInfo = 2, kMptcpSubflowAddresses = 3;
constexpr std::size_t kToken = 3;                     // the words before it in struct mptcp_info (linux/mptcp.h)
constexpr unsigned char kMptcpOption = 30, kDss = 2;  // RFC 8684
constexpr std::size_t kMostSubflows = 9;
constexpr int kBuffer = 1 << 30;
constexpr std::uint16_t kPort = 5000;
constexpr std::size_t kChunk = 1 << 20;
constexpr std::size_t kNobody = SIZE_MAX;
constexpr int kEstablished = 1;  // TCP_ESTABLISHED

struct Write {
    Time at;
    std::int64_t bytes;  // below 0: all that goes in, for ever
};

struct Link {
    Way down, up;
};

struct LanePlan {
    std::size_t link;
    std::map<std::int64_t, int> drops;  // segment number: how many of its transmissions never arrive
    std::vector<Write> writes;
    std::size_t connection = 0;  // the lane whose connection it is of: itself, but of paths
    std::string address = "10.0.0.1";
};

struct Plan {
    int craft = -1, relay = -1, earth = -1;  // namespaces
    bool mptcp = false;
    std::string congestion, out;
    int mss = 1460, receive_buffer = 0, send_buffer = 0;
    std::vector<Link> links;
    std::vector<LanePlan> lanes;
    std::vector<Write> layers;
    std::size_t of_layers = 0;        // a connection's writes are of so many layers by turns; 0: nobody counts them
    std::vector<std::size_t> places;  // by layer, the lane that has it; none: the scheduler is the kernel's own
    std::vector<Time> looks;          // times to write a line at, whatever happens
    Time reads = 0;                   // how often the receiving end reads; 0: at each packet
    Time start = 0;                   // of the machine's clock
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
        const auto link = [&]() -> Link& { return plan.links.at(plan.links.size() - 1); };
        const auto lane = [&]() -> LanePlan& { return plan.lanes.at(plan.lanes.size() - 1); };
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
        else if (word == "reads")
            words >> plan.reads;
        else if (word == "buffers")
            words >> plan.receive_buffer >> plan.send_buffer;
        else if (word == "link")  // what follows is of it
            plan.links.emplace_back();
        else if (word == "down")
            words >> link().down.rate_bps >> link().down.queue_bytes >> link().down.free_bytes;
        else if (word == "up")
            words >> link().up.rate_bps >> link().up.queue_bytes >> link().up.free_bytes;
        else if (word == "delay") {
            const Time from = number(), delay = number();
            link().down.delays.push_back({from, delay});
            link().up.delays.push_back({from, delay});
        } else if (word == "outage") {
            const Time from = number(), to = number();
            link().down.outages.push_back({from, to});
            link().up.outages.push_back({from, to});
        } else if (word == "deaf") {  // of the way up alone
            const Time from = number();
            link().up.outages.push_back({from, number()});
        } else if (word == "lane") {  // of the link; what follows is of it
            link();
            plan.lanes.push_back({plan.links.size() - 1, {}, {}, plan.lanes.size()});
        } else if (word == "path") {  // likewise; its address
            link();
            plan.lanes.push_back({plan.links.size() - 1, {}, {}, lane().connection});
            words >> lane().address;
        } else if (word == "layers") {
            plan.of_layers = static_cast<std::size_t>(number());
        } else if (word == "place") {
            plan.places.push_back(static_cast<std::size_t>(number()));
        } else if (word == "drop") {
            const std::int64_t segment = number();
            lane().drops[segment] = static_cast<int>(number());
        } else if (word == "layer") {  // for whichever lane
            const Time at = number();
            plan.layers.push_back({at, number()});
        } else if (word == "write") {
            const Time at = number();
            lane().writes.push_back({at, number()});
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

in_addr address(const std::string& name) {
    in_addr made{};
    inet_pton(AF_INET, name.c_str(), &made);
    return made;
}

sockaddr_in host(const char* name, std::size_t lane) {
    sockaddr_in made{};
    made.sin_family = AF_INET;
    made.sin_port = htons(static_cast<std::uint16_t>(kPort + lane));
    inet_pton(AF_INET, name, &made.sin_addr);
    return made;
}

std::uint32_t big32(const std::string& frame, std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, frame.data() + at, 4);
    return ntohl(value);
}

std::uint16_t big16(const std::string& frame, std::size_t at) {
    std::uint16_t value = 0;
    std::memcpy(&value, frame.data() + at, 2);
    return ntohs(value);
}

struct Parsed {
    std::int64_t ip_bytes = 0, payload = 0;
    std::uint32_t seq = 0, ack = 0;
    std::uint16_t from = 0, to = 0;  // ports
    in_addr source{}, destination{};
    bool tcp = false, syn = false, mapped = false;
    std::uint32_t place = 0;  // of a mapped payload's first byte among the connection's, modulo 2^32
};

// The mapping of a DSS option (RFC 8684 section 3.3), whose subflow sequence number 1 is that of the first byte.
void parse_mapping(const std::string& frame, std::size_t at, std::size_t end, std::uint32_t byte, Parsed& out) {
    while (at + 1 < end && frame[at] != 0) {
        const std::size_t length = frame[at] == 1 ? 1 : static_cast<unsigned char>(frame[at + 1]);
        if (length == 0) return;
        if (static_cast<unsigned char>(frame[at]) == kMptcpOption && (frame[at + 2] >> 4) == kDss) {
            const int flags = frame[at + 3];
            const std::size_t number = at + 4 + ((flags & 1) == 0 ? 0 : (flags & 2) != 0 ? 8 : 4);
            const std::size_t low = number + ((flags & 8) != 0 ? 4 : 0);
            out.mapped = (flags & 4) != 0;
            if (out.mapped) out.place = big32(frame, low) + byte - (big32(frame, low + 4) - 1);
            return;
        }
        at += length;
    }
}

Parsed parse(const std::string& frame) {
    Parsed out;
    constexpr std::size_t ip = ETHER_HDR_LEN;
    if (frame.size() < ip + 40 || (static_cast<unsigned char>(frame[ip]) >> 4) != 4 || frame[ip + 9] != IPPROTO_TCP)
        return out;
    out.ip_bytes = big16(frame, ip + 2);
    const std::size_t tcp = ip + 4u * (static_cast<unsigned char>(frame[ip]) & 15u);
    out.from = big16(frame, tcp);
    out.to = big16(frame, tcp + 2);
    out.seq = big32(frame, tcp + 4);
    out.ack = big32(frame, tcp + 8);
    std::memcpy(&out.source, frame.data() + ip + 12, 4);
    std::memcpy(&out.destination, frame.data() + ip + 16, 4);
    out.syn = (frame[tcp + 13] & 2) != 0;
    out.payload =
        out.ip_bytes - static_cast<std::int64_t>(tcp - ip) - 4 * (static_cast<unsigned char>(frame[tcp + 12]) >> 4);
    out.tcp = true;
    return out;
}

struct Lane {
    int listener = -1, sender = -1, receiver = -1;
    std::uint32_t isn = 0;
    std::int64_t acks = 0, sent = 0, unwritten = 0;
    std::deque<std::int64_t> under_way;  // first bytes of the segments that are not acknowledged in order
    std::int64_t una = 0;                // how many are
    std::int64_t written = 0, left = 0;  // bytes; of these those that have been on the device
    std::int64_t layer = 0;              // what is left of the one that it has; below 0: it has no end
    std::size_t write = 0;               // of the plan's, the next
    in_addr address{};
    std::vector<std::int64_t> placed;  // bytes of each layer
    bool joined = false;               // may send, as our module's scheduler says
    bool based = false;
    std::uint32_t base = 0;  // of a connection: its first byte's place
};

class Recorder {
public:
    explicit Recorder(Plan plan)
        : plan_(std::move(plan)),
          lanes_(plan_.lanes.size()),
          zeros_(kChunk, 0),
          last_(lanes_.size() - 1) {
        enter(plan_.relay);
        craft_side_ = packet_socket("rcraft");
        earth_side_ = packet_socket("rearth");
        timer_ = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
        poll_ = epoll_create1(0);
        for (const int fd : {craft_side_, earth_side_, timer_}) watch(fd, EPOLLIN);
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            lanes_[i].address = address(plan_.lanes[i].address);
            lanes_[i].placed.resize(plan_.of_layers);
            if (connects(i))
                open(i);
            else
                joined_ = true;
        }
        const std::vector<Write>& writes = plan_.lanes[0].writes;
        for (std::size_t k = 0; k < writes.size() && plan_.of_layers > 0 && plan_.places.empty(); ++k)
            stretches_.push_back({k % plan_.of_layers, writes[k].bytes});
        if (!plan_.places.empty()) family_ = std::make_unique<transfer::Family>();
        out_ = std::fopen(plan_.out.c_str(), "w");
        if (out_ == nullptr) fail(plan_.out);
        wait_for_start();
        start_ = clock();
        std::fprintf(out_, "%lld\n", static_cast<long long>(start_));
        std::fflush(out_);  // who decides over windows waits for it
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            if (!connects(i)) continue;
            const sockaddr_in to = host("10.0.0.2", i);
            if (connect(lanes_[i].sender, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 &&
                errno != EINPROGRESS)
                fail("connect");
            watch(lanes_[i].sender, EPOLLOUT | EPOLLET);
        }
    }

    void run() {
        Time now = 0;
        while (now <= plan_.end) {
            arm();
            epoll_event events[8];
            const int count = epoll_wait(poll_, events, 8, -1);
            now = clock() - start_;
            for (int i = 0; i < count; ++i) handle(events[i].data.fd);
            take(craft_side_, now, true);
            take(earth_side_, now, false);
            for (Link& link : plan_.links) {
                deliver(link.down, earth_side_, now, false);
                deliver(link.up, craft_side_, now, true);
            }
            for (std::size_t i = 0; i < lanes_.size() && plan_.places.empty(); ++i) write_due(i, now);
            offer(now);
            take(craft_side_, now, true);
            for (; plan_.reads > 0 && next_read_ <= now; next_read_ += plan_.reads)
                for (const Lane& lane : lanes_) drain(lane);
            while (look_ < plan_.looks.size() && plan_.looks[look_] <= now) {
                ++look_;
                for (std::size_t i = 0; i < lanes_.size(); ++i) note(i, now);
            }
        }
        std::fclose(out_);
    }

private:
    bool connects(std::size_t i) const { return plan_.lanes[i].connection == i; }
    void open(std::size_t i) {
        Lane& lane = lanes_[i];
        enter(plan_.earth);
        lane.listener = tcp_socket();
        buffer(lane.listener, SO_RCVBUFFORCE, plan_.receive_buffer);
        const sockaddr_in earth = host("10.0.0.2", i);
        if (bind(lane.listener, reinterpret_cast<const sockaddr*>(&earth), sizeof earth) != 0) fail("bind");
        if (listen(lane.listener, 4) != 0) fail("listen");
        watch(lane.listener, EPOLLIN);
        enter(plan_.craft);
        lane.sender = tcp_socket();
        buffer(lane.sender, SO_SNDBUFFORCE, plan_.send_buffer);
        if (setsockopt(lane.sender, IPPROTO_TCP, TCP_CONGESTION, plan_.congestion.data(),
                       static_cast<socklen_t>(plan_.congestion.size())) != 0)
            fail(plan_.congestion);
        const int on = 1;
        if (setsockopt(lane.sender, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) fail("TCP_NODELAY");
    }
    void handle(int fd) {
        if (fd == timer_) {
            std::uint64_t ticks = 0;
            if (read(timer_, &ticks, sizeof ticks) < 0 && errno != EAGAIN) fail("timer");
        }
        for (Lane& lane : lanes_) {
            if (fd == lane.listener) {
                lane.receiver = accept4(lane.listener, nullptr, nullptr, SOCK_NONBLOCK);
                if (lane.receiver < 0) fail("accept");
                if (plan_.reads == 0) watch(lane.receiver, EPOLLIN);
            } else if (fd == lane.receiver) {
                drain(lane);
            }
        }
    }
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
        for (const Link& link : plan_.links)
            for (const Way* way : {&link.down, &link.up})
                if (!way->flying.empty()) next = std::min(next, way->flying.front().arrive);
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            const std::vector<Write>& writes = plan_.lanes[i].writes;
            if (lanes_[i].write < writes.size()) next = std::min(next, writes[lanes_[i].write].at);
        }
        if (layer_ < plan_.layers.size()) next = std::min(next, plan_.layers[layer_].at);
        if (look_ < plan_.looks.size()) next = std::min(next, plan_.looks[look_]);
        if (plan_.reads > 0) next = std::min(next, next_read_);
        next = std::max<Time>(next + start_, 1);
        itimerspec at{};
        at.it_value.tv_sec = next / 1'000'000'000;
        at.it_value.tv_nsec = next % 1'000'000'000;
        if (timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr) != 0) fail("timerfd_settime");
    }
    void drain(const Lane& lane) {
        if (lane.receiver < 0) return;
        for (;;) {
            const ssize_t got = recv(lane.receiver, zeros_.data(), zeros_.size(), MSG_DONTWAIT);
            if (got <= 0) return;
        }
    }
    // What a host has put on its device goes on its lane's link.
    void take(int side, Time now, bool data) {
        std::vector<bool> some(lanes_.size());
        for (;;) {
            char room[70'000];
            const ssize_t got = recv(side, room, sizeof room, MSG_DONTWAIT);
            if (got < 0) break;
            std::string frame(room, static_cast<std::size_t>(got));
            const Parsed packet = parse(frame);
            if (!packet.tcp) continue;
            const std::size_t i = lane_of(packet, data);
            Lane& lane = lanes_[i];
            Link& link = plan_.links[plan_.lanes[i].link];
            Way& way = data ? link.down : link.up;
            if (data && packet.payload == 0 && !packet.syn &&
                !begins(i)) {  // takes no line time: the simulator has none
                way.flying.push_back({way.pass(now), i, std::move(frame)});
                continue;
            }
            const bool alone = packet.syn || (data && packet.payload == 0);
            const std::int64_t charged = alone ? 40 : packet.ip_bytes - way.free_bytes;
            Time arrive = 0;
            const bool taken = way.transmit(now, charged, i, arrive);
            if (data && packet.syn) lane.isn = packet.seq + 1;
            if (data && packet.payload > 0) {
                const std::uint32_t byte = packet.seq - lane.isn;
                some[i] = true;
                ++lane.sent;
                if (byte >= lane.left) lane.under_way.push_back(byte);
                if (plan_.of_layers > 0 && byte + packet.payload > lane.left) place(i, packet, frame, byte);
                lane.left = std::max(lane.left, byte + packet.payload);
                if (dropped(i, byte)) continue;
            }
            if (taken && arrive != kNever) way.flying.push_back({arrive, i, std::move(frame)});
        }
        for (std::size_t i = 0; i < lanes_.size(); ++i)
            if (some[i]) note(i, now);
    }
    // Is an ACK of the sender's the third packet of a handshake? The simulator has that of a lane and of a join.
    bool begins(std::size_t i) const {
        return lanes_[i].sent == 0 && (!connects(i) || (lanes_.size() > 1 && !joined_));
    }
    std::size_t lane_of(const Parsed& packet, bool data) const {
        const auto connection = static_cast<std::size_t>((data ? packet.to : packet.from) - kPort);
        const in_addr craft = data ? packet.source : packet.destination;
        for (std::size_t i = 0; i < lanes_.size(); ++i)
            if (plan_.lanes[i].connection == connection && lanes_[i].address.s_addr == craft.s_addr) return i;
        throw std::runtime_error("a packet of no lane");
    }
    // Counts a packet's payload beyond what the subflow has sent by the layers that it is of. The first packets have no
    // mapping: the connection's own bytes are the first subflow's then.
    void place(std::size_t i, const Parsed& packet, const std::string& frame, std::uint32_t byte) {
        Lane& lane = lanes_[i];
        Lane& connection = lanes_[plan_.lanes[i].connection];
        Parsed mapped;
        constexpr std::size_t ip = ETHER_HDR_LEN;
        const std::size_t tcp = ip + 4u * (static_cast<unsigned char>(frame[ip]) & 15u);
        parse_mapping(frame, tcp + 20, tcp + 4u * (static_cast<unsigned char>(frame[tcp + 12]) >> 4), byte, mapped);
        if (mapped.mapped && !connection.based && &lane == &connection) {
            connection.based = true;
            connection.base = mapped.place - byte;
        }
        if (mapped.mapped != connection.based) throw std::runtime_error("a packet without its place in the connection");
        const std::int64_t old = std::max<std::int64_t>(lane.left - byte, 0);
        const std::int64_t from = (mapped.mapped ? mapped.place - connection.base : byte) + old;
        const std::int64_t to = from + packet.payload - old;
        std::int64_t begin = 0;
        for (std::size_t k = 0; k < stretches_.size() && begin < to; ++k) {
            const std::int64_t end = stretches_[k].bytes < 0 ? INT64_MAX : begin + stretches_[k].bytes;
            lane.placed[stretches_[k].layer] += std::max<std::int64_t>(std::min(end, to) - std::max(begin, from), 0);
            begin = end;
        }
    }
    bool dropped(std::size_t i, std::uint32_t byte) {
        auto& drops = plan_.lanes[i].drops;
        const auto doomed = drops.find(static_cast<std::int64_t>(byte / static_cast<std::uint32_t>(plan_.mss)));
        if (doomed == drops.end() || doomed->second <= 0) return false;
        --doomed->second;
        return true;
    }
    void deliver(Way& way, int side, Time now, bool acks) {
        while (!way.flying.empty() && way.flying.front().arrive <= now) {
            const std::string frame = std::move(way.flying.front().frame);
            const std::size_t i = way.flying.front().lane;
            Lane& lane = lanes_[i];
            way.flying.pop_front();
            if (send(side, frame.data(), frame.size(), 0) < 0) fail("send");
            if (acks) {
                const Parsed packet = parse(frame);
                if (!packet.syn) {
                    ++lane.acks;
                    for (; !lane.under_way.empty() && lane.under_way.front() < packet.ack - lane.isn; ++lane.una)
                        lane.under_way.pop_front();
                }
                note(i, now);
                offer(now);
                take(craft_side_, now, true);
            } else if (plan_.reads == 0) {
                drain(lane);
            }
        }
    }
    void write_due(std::size_t i, Time now) {
        Lane& lane = lanes_[i];
        const std::vector<Write>& writes = plan_.lanes[i].writes;
        while (lane.write < writes.size() && writes[lane.write].at <= now) {
            const std::int64_t bytes = writes[lane.write++].bytes;
            lane.unwritten = bytes < 0 || lane.unwritten < 0 ? -1 : lane.unwritten + bytes;
        }
        while (lane.unwritten != 0) {
            const std::size_t most =
                lane.unwritten < 0 ? zeros_.size()
                                   : std::min<std::size_t>(zeros_.size(), static_cast<std::size_t>(lane.unwritten));
            const ssize_t put = ::send(lane.sender, zeros_.data(), most, MSG_DONTWAIT | MSG_NOSIGNAL);
            if (put <= 0) return;
            if (lane.unwritten > 0) lane.unwritten -= put;
        }
    }
    // Bytes that a lane's window has room for, once all that it was written has left; paced ones are written a segment at a
    // time, one ahead.
    std::int64_t room(const Lane& lane) const {
        tcp_info row{};
        const std::int64_t ahead = paced() ? plan_.mss : 0;
        if (lane.written - lane.left > ahead || !info(lane, row) || row.tcpi_state != kEstablished) return 0;
        const std::int64_t lost = std::int64_t{row.tcpi_sacked} + row.tcpi_lost;
        const std::int64_t segments = row.tcpi_snd_cwnd - (row.tcpi_unacked - lost + row.tcpi_retrans);
        return std::min<std::int64_t>(
            std::max<std::int64_t>(paced() ? std::min<std::int64_t>(segments, 1) : segments, 0) * plan_.mss, kChunk);
    }
    bool paced() const { return plan_.congestion == "bbr"; }
    // A lane that has a layer goes on with it; what waits goes to the next one without.
    bool choose(std::size_t& lane, std::int64_t& bytes) {
        for (lane = 0; lane < lanes_.size(); ++lane)
            if (lanes_[lane].layer != 0 && (bytes = room(lanes_[lane])) > 0) return true;
        if (waiting_.empty()) return false;
        for (std::size_t turn = 1; turn <= lanes_.size(); ++turn) {
            lane = (last_ + turn) % lanes_.size();
            if (lanes_[lane].layer != 0 || (bytes = room(lanes_[lane])) <= 0) continue;
            lanes_[lane].layer = waiting_.front();
            waiting_.pop_front();
            last_ = lane;
            return true;
        }
        return false;
    }
    void offer(Time now) {
        if (!plan_.places.empty()) return offer_placed(now);
        for (; layer_ < plan_.layers.size() && plan_.layers[layer_].at <= now; ++layer_)
            waiting_.push_back(plan_.layers[layer_].bytes);
        std::size_t chosen = 0;
        std::int64_t bytes = 0;
        while (!plan_.layers.empty() && choose(chosen, bytes)) {
            Lane& lane = lanes_[chosen];
            if (lane.layer > 0) bytes = std::min(bytes, lane.layer);
            const ssize_t put = ::send(lane.sender, zeros_.data(), static_cast<std::size_t>(bytes), MSG_DONTWAIT);
            if (put <= 0) return;
            lane.written += put;
            if (lane.layer > 0) lane.layer -= put;
            take(craft_side_, clock() - start_, true);
        }
    }
    // Each subflow takes the oldest of its layers, as much of it as its window has room for.
    void offer_placed(Time now) {
        const std::vector<Write>& writes = plan_.lanes[0].writes;
        for (; lanes_[0].write < writes.size() && writes[lanes_[0].write].at <= now; ++lanes_[0].write)
            due_.push_back({lanes_[0].write % plan_.of_layers, writes[lanes_[0].write].bytes, kNobody});
        for (bool any = room(lanes_[0]) > 0 || token_ != 0; std::exchange(any, false);)
            for (std::size_t i = 0; i < lanes_.size(); ++i) any = give(i) || any;
        while (!due_.empty() && due_.front().bytes == 0) due_.pop_front();
    }
    bool give(std::size_t i) {
        for (Due& due : due_) {
            if (due.bytes == 0) continue;
            if ((due.begun != kNobody ? due.begun : place_of(due.layer)) != i) continue;
            const std::int64_t bytes = std::min(room(lanes_[i]), due.bytes);
            if (bytes <= 0) return false;
            family_->announce(token(), static_cast<int>(due.layer), bytes, 0, static_cast<int>(i));
            const ssize_t put = ::send(lanes_[0].sender, zeros_.data(), static_cast<std::size_t>(bytes), MSG_DONTWAIT);
            if (put != bytes) fail("a placed layer");
            stretches_.push_back({due.layer, put});
            lanes_[i].written += put;
            due.bytes -= put;
            due.begun = i;
            take(craft_side_, clock() - start_, true);
            return true;
        }
        return false;
    }
    // The lane that a layer has, or of those that are there the nearest.
    std::size_t place_of(std::size_t layer) {
        if (joined(plan_.places[layer])) return plan_.places[layer];
        std::size_t nearest = 0;
        const auto delay = [&](std::size_t i) { return plan_.links[plan_.lanes[i].link].down.delays.front().delay; };
        for (std::size_t i = 1; i < lanes_.size(); ++i)
            if (joined(i) && delay(i) < delay(nearest)) nearest = i;
        return nearest;
    }
    // A lane's number is its subflow's local id: the first address has 0, and the endpoints follow.
    bool joined(std::size_t lane) {
        if (lane > 0 && !lanes_[lane].joined)
            for (const int id : family_->living(token())) lanes_.at(static_cast<std::size_t>(id)).joined = true;
        return lane == 0 || lanes_[lane].joined;
    }
    std::uint32_t token() {
        std::uint32_t words[64] = {};
        socklen_t size = sizeof words;
        if (token_ == 0 && getsockopt(lanes_[0].sender, kMptcpLevel, kMptcpInfo, words, &size) != 0) fail("MPTCP_INFO");
        if (token_ == 0) token_ = words[kToken];
        return token_;
    }
    bool info(const Lane& lane, tcp_info& info_row) const {
        if (!plan_.mptcp) {
            socklen_t size = sizeof info_row;
            return getsockopt(lane.sender, IPPROTO_TCP, TCP_INFO, &info_row, &size) == 0;
        }
        const int connection = lanes_[plan_.lanes[static_cast<std::size_t>(&lane - lanes_.data())].connection].sender;
        Rows<tcp_info> infos;
        if (!infos.read(connection, kMptcpTcpInfo)) return false;
        if (!joined_) {
            info_row = infos.rows[0];
            return true;
        }
        struct Ends {
            sockaddr_storage local, remote;
        };
        Rows<Ends> ends;
        if (!ends.read(connection, kMptcpSubflowAddresses)) return false;
        for (std::uint32_t k = 0; k < std::min(infos.count, ends.count); ++k) {
            sockaddr_in local{};
            std::memcpy(&local, &ends.rows[k].local, sizeof local);
            info_row = infos.rows[k];
            if (local.sin_addr.s_addr == lane.address.s_addr) return true;
        }
        return false;
    }
    template <class Row>
    struct Rows {  // what MPTCP tells of each subflow
        std::uint32_t header = 16, count = 0, kernel_size = 0, user_size = sizeof(Row);
        Row rows[kMostSubflows] = {};
        bool read(int fd, int option) {
            socklen_t size = sizeof *this;
            return getsockopt(fd, kMptcpLevel, option, this, &size) == 0 && count > 0;
        }
    };
    void note(std::size_t i, Time now) {
        const Lane& lane = lanes_[i];
        tcp_info info_row{};
        if (!info(lane, info_row) || (!connects(i) && info_row.tcpi_state != kEstablished)) return;
        tcp_cc_info gains{};
        socklen_t size = sizeof gains;
        if (plan_.congestion == "bbr" && lane.sender >= 0 &&
            getsockopt(lane.sender, IPPROTO_TCP, TCP_CC_INFO, &gains, &size) != 0)
            fail("TCP_CC_INFO");
        std::fprintf(
            out_, "%lld %lld %lld %lld %u %u %u %u %u %llu %u %u %u %u %u %u %u %u %u %zu", static_cast<long long>(now),
            static_cast<long long>(lane.acks), static_cast<long long>(lane.sent), static_cast<long long>(lane.una),
            info_row.tcpi_snd_cwnd, info_row.tcpi_snd_ssthresh, info_row.tcpi_rtt, info_row.tcpi_rttvar,
            info_row.tcpi_rto, static_cast<unsigned long long>(info_row.tcpi_pacing_rate), info_row.tcpi_ca_state,
            info_row.tcpi_backoff, info_row.tcpi_sacked, info_row.tcpi_lost, info_row.tcpi_retrans,
            info_row.tcpi_unacked, gains.bbr.bbr_pacing_gain, gains.bbr.bbr_cwnd_gain, gains.bbr.bbr_min_rtt, i);
        for (const std::int64_t bytes : lane.placed) std::fprintf(out_, " %lld", static_cast<long long>(bytes));
        std::fputc('\n', out_);
    }

    struct Stretch {
        std::size_t layer;
        std::int64_t bytes;  // below 0: without end
    };
    struct Due {
        std::size_t layer;
        std::int64_t bytes;  // left of it
        std::size_t begun;   // by that lane
    };

    Plan plan_;
    std::vector<Lane> lanes_;
    std::vector<Stretch> stretches_;  // of the one connection's bytes, where layers are counted
    std::deque<Due> due_;             // layers that have places, in the order of their writes
    std::unique_ptr<transfer::Family> family_;
    std::uint32_t token_ = 0;  // of the connection
    std::string zeros_;
    bool joined_ = false;  // some are further subflows of a connection
    int craft_side_ = -1, earth_side_ = -1, timer_ = -1, poll_ = -1;
    std::FILE* out_ = nullptr;
    Time start_ = 0, next_read_ = 0;
    std::size_t look_ = 0, layer_ = 0;  // of the plan's, the next
    std::deque<std::int64_t> waiting_;  // bytes of layers that no lane has
    std::size_t last_;                  // the lane that got one last
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
