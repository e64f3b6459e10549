#include "endpoints.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace transfer {

namespace {

constexpr int kProtocol = 262;                          // IPPROTO_MPTCP
constexpr int kLevel = 284;                             // SOL_MPTCP
constexpr int kInfo = 1, kTcpInfo = 2, kAddresses = 3;  // linux/mptcp.h
constexpr std::uint32_t kFellBack = 1;
constexpr std::uint16_t kPort = 5000;
constexpr std::size_t kMaxSubflows = 16;
// A listener whose queue of handshakes is more than half full forgets those that take longer than a few timeouts
// (reqsk_timer_handler): with minutes of light, all of them.
constexpr std::size_t kBacklogs = 4;
// Linux gives MPTCP up where the handshake's last packet and the first data are lost together.
constexpr const char* kFallback =
    "it fell back to plain TCP, as MPTCP does when losses hit the handshake; try another seed";

// linux/mptcp.h, whose C++ use needs headers newer than some systems have
struct MptcpInfo {
    std::uint8_t counts[6];
    std::uint8_t pad[2];
    std::uint32_t flags, token;
    std::uint64_t write_seq, snd_una, rcv_nxt;
    std::uint8_t more[8];
};
struct SubflowData {
    std::uint32_t header, count, kernel_size, user_size;
};
struct Addresses {
    sockaddr_storage local, remote;
};

class Inside {  // a namespace, while it lives
public:
    explicit Inside(int space) : home_(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)) {
        if (home_ < 0) fail_errno("setns");
        enter(space);
    }
    ~Inside() {
        if (setns(home_, CLONE_NEWNET) != 0) std::abort();
        close(home_);
    }

private:
    int home_;
};

int new_socket() {
    const int made = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, kProtocol);
    if (made < 0) fail_errno("MPTCP socket");
    const int on = 1;
    setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    return made;
}

void set_buffer(int socket, int option, std::int64_t bytes, const char* what) {
    const int half = static_cast<int>(std::min<std::int64_t>(bytes, INT32_MAX) / 2);  // the kernel doubles it
    if (setsockopt(socket, SOL_SOCKET, option, &half, sizeof half) != 0) fail_errno(what);
}

void set_congestion(int socket, const std::string& name) {
    if (setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name.data(), static_cast<socklen_t>(name.size())) != 0)
        fail_errno("congestion control " + name);
}

MptcpInfo info_of(int socket, const std::string& who) {
    MptcpInfo info{};
    socklen_t size = sizeof info;
    const bool has_info = getsockopt(socket, kLevel, kInfo, &info, &size) == 0;
    if (!has_info && errno != EOPNOTSUPP) fail_errno(who + ": MPTCP_INFO");
    if (!has_info || (info.flags & kFellBack)) throw Failure(who + ": " + kFallback);
    return info;
}

template <class Row>
std::size_t rows(int socket, int option, std::vector<char>& room) {
    room.resize(sizeof(SubflowData) + kMaxSubflows * sizeof(Row));
    const SubflowData head{sizeof(SubflowData), 0, 0, sizeof(Row)};
    std::memset(room.data(), 0, room.size());
    std::memcpy(room.data(), &head, sizeof head);
    auto size = static_cast<socklen_t>(room.size());
    if (getsockopt(socket, kLevel, option, room.data(), &size) != 0) {
        if (errno == ENOTCONN || errno == EINVAL) return 0;
        if (errno == EOPNOTSUPP) throw Failure(std::string("a connection: ") + kFallback);
        fail_errno("MPTCP subflows");
    }
    SubflowData header{};
    std::memcpy(&header, room.data(), sizeof header);
    return std::min<std::size_t>(header.count, kMaxSubflows);
}

std::string lane_name(std::size_t lane) { return "connection " + std::to_string(lane); }

}  // namespace

Craft::Craft(const Plan& plan, Ledger& ledger, Time started)
    : plan_(plan),
      ledger_(ledger),
      lanes_(plan.lane_plans.size()),
      started_(started),
      waiting_(static_cast<int>(lanes_.size())) {
    const Inside space(plan.craft_ns);
    if (plan.placed)
        family_ = std::make_unique<Family>();
    else if (plan.shared)
        family_ = Family::find();
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        const LanePlan& lane_plan = plan.lane_plans[i];
        lanes_[i].first = i == 0 || plan.lane_plans[i - 1].link != lane_plan.link;
        const int made = lanes_[i].socket = new_socket();
        set_buffer(made, SO_SNDBUFFORCE, plan.send_buffer, "send buffer");
        set_congestion(made, plan.congestion);
        const int on = 1;
        if (setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) fail_errno("TCP_NODELAY");
        const sockaddr_in from = address(lane_plan.craft, lane_plan.port);
        if (bind(made, reinterpret_cast<const sockaddr*>(&from), sizeof from) != 0)
            fail_errno("bind " + lane_plan.craft);
        if (lane_plan.opens == 0) begin(i);
    }
}

Craft::~Craft() {
    for (const Lane& lane : lanes_)
        if (lane.socket >= 0) close(lane.socket);
}

void Craft::begin(std::size_t index) {
    Lane& lane = lanes_[index];
    lane.begun = true;
    const sockaddr_in to = address(plan_.links[static_cast<std::size_t>(plan_.lane_plans[index].link)].earth, kPort);
    if (connect(lane.socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 && errno != EINPROGRESS)
        fail_errno(lane_name(index));
}

void Craft::poll(Time now) {
    if (waiting_ == 0) return;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        Lane& lane = lanes_[i];
        if (!lane.begun && plan_.lane_plans[i].opens <= now) begin(i);
        if (!lane.begun) continue;
        pollfd ready{lane.socket, POLLOUT, 0};
        if (lane.connected || ::poll(&ready, 1, 0) <= 0) continue;
        int error = 0;
        socklen_t size = sizeof error;
        getsockopt(lane.socket, SOL_SOCKET, SO_ERROR, &error, &size);
        if (error != 0) throw Failure(lane_name(i) + ": " + std::strerror(error));
        const MptcpInfo info = info_of(lane.socket, lane_name(i));
        ledger_.connected(static_cast<int>(i), info.write_seq);
        lane.token = info.token;
        lane.base = info.write_seq;
        lane.connected = true;
        --waiting_;
        look(static_cast<int>(i));
    }
}

void Craft::announce(int lane, int layer, std::int64_t bytes, Time deadline, int subflow) {
    family_->announce(lanes_[static_cast<std::size_t>(lane)].token, layer, bytes,
                      deadline == kNever ? 0 : started_ + deadline, subflow);
}

bool Craft::joined(int subflow) {
    const auto known = [&] { return std::find(joined_.begin(), joined_.end(), subflow) != joined_.end(); };
    if (known()) return true;
    for (const int id : family_->living(lanes_[0].token))
        if (std::find(joined_.begin(), joined_.end(), id) == joined_.end()) joined_.push_back(id);
    return known();
}

std::int64_t Craft::acknowledged(int index) const {
    const Lane& lane = lanes_[static_cast<std::size_t>(index)];
    if (!lane.connected) return 0;
    const MptcpInfo info = info_of(lane.socket, lane_name(static_cast<std::size_t>(index)));
    return static_cast<std::int64_t>(info.snd_una - lane.base);
}

std::vector<Carried> Craft::carried() const {
    if (!plan_.placed || !lanes_[0].connected) return {};
    return family_->carried(lanes_[0].token);
}

std::optional<Group> Craft::group(int link) const {
    return family_ && plan_.shared ? family_->group(static_cast<std::uint32_t>(link) + 1) : std::nullopt;
}

std::int64_t Craft::write(int lane, const char* data, std::int64_t bytes) {
    lanes_[static_cast<std::size_t>(lane)].resting = false;
    const ssize_t taken = send(lanes_[static_cast<std::size_t>(lane)].socket, data, static_cast<std::size_t>(bytes),
                               MSG_DONTWAIT | MSG_NOSIGNAL);
    if (taken >= 0) return taken;
    if (errno == EAGAIN || errno == ENOBUFS) return 0;
    fail_errno(lane_name(static_cast<std::size_t>(lane)) + ": the Earth's end is gone");
}

const std::vector<SubflowInfo>& Craft::look(int index) {
    Lane& lane = lanes_[static_cast<std::size_t>(index)];
    if (lane.resting) return lane.seen;
    thread_local std::vector<char> room;
    const std::size_t count = lane.connected ? rows<tcp_info>(lane.socket, kTcpInfo, room) : 0;
    if (count != lane.numbers.size()) {
        std::vector<char> kept = room;
        number(lane, count);
        room.swap(kept);
    }
    lane.seen.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        lane.seen[i].number = lane.numbers[i];
        std::memcpy(&lane.seen[i].tcp, room.data() + sizeof(SubflowData) + i * sizeof(tcp_info), sizeof(tcp_info));
    }
    lane.resting = plan_.shared && plan_.lanes && !lane.first && count > 0 &&
                   std::all_of(lane.seen.begin(), lane.seen.end(), [](const SubflowInfo& info) {
                       return info.tcp.tcpi_rtt != 0 && info.tcp.tcpi_unacked == 0 && info.tcp.tcpi_notsent_bytes == 0;
                   });
    return lane.seen;
}

// Which subflow of the plan each of a connection's is, by its source address.
void Craft::number(Lane& lane, std::size_t subflows) {
    std::vector<char> room;
    const std::size_t count = rows<Addresses>(lane.socket, kAddresses, room);
    lane.numbers.assign(subflows, 0);
    for (std::size_t i = 0; i < std::min(count, subflows); ++i) {
        Addresses found{};
        std::memcpy(&found, room.data() + sizeof(SubflowData) + i * sizeof(Addresses), sizeof found);
        char text[INET_ADDRSTRLEN];
        inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in*>(&found.local)->sin_addr, text, sizeof text);
        const auto at = std::find(plan_.addresses.begin(), plan_.addresses.end(), text);
        if (at != plan_.addresses.end())
            lane.numbers[i] = plan_.address_subflow[static_cast<std::size_t>(at - plan_.addresses.begin())];
    }
}

Earth::Earth(const Plan& plan, Ledger& ledger, Payloads& payloads)
    : plan_(plan),
      ledger_(ledger),
      payloads_(payloads),
      lanes_(plan.lane_plans.size()) {
    const Inside space(plan.earth_ns);
    for (const Link& link : plan.links) {
        const int made = new_socket();
        listeners_.push_back(made);
        set_buffer(made, SO_RCVBUFFORCE, plan.receive_buffer, "receive buffer");
        if (plan.shared) set_congestion(made, plan.congestion);  // our module's opens the receiver's window at once
        const sockaddr_in at = address(link.earth, kPort);
        if (bind(made, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) fail_errno("bind " + link.earth);
        if (listen(made, static_cast<int>(kBacklogs * lanes_.size())) != 0) fail_errno("listen");
    }
}

Earth::~Earth() {
    for (const int listener : listeners_) close(listener);
    for (const Lane& lane : lanes_)
        if (lane.socket >= 0) close(lane.socket);
}

void Earth::poll() {
    if (accepted_ == lanes_.size()) return;
    for (const int listener : listeners_)
        for (;;) {
            sockaddr_in peer{};
            socklen_t size = sizeof peer;
            const int made = accept4(listener, reinterpret_cast<sockaddr*>(&peer), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
            if (made < 0) break;
            std::size_t lane = 0;
            while (lane < lanes_.size() && plan_.lane_plans[lane].port != ntohs(peer.sin_port)) ++lane;
            if (lane == lanes_.size() || lanes_[lane].socket >= 0) throw Failure("the Earth accepted what nobody sent");
            lanes_[lane].socket = made;
            ledger_.accepted(static_cast<int>(lane), info_of(made, lane_name(lane)).token);
            ++accepted_;
        }
}

void Earth::wrote(int lane, int object, std::int64_t offset, std::int64_t bytes) {
    auto& due = lanes_[static_cast<std::size_t>(lane)].due;
    if (due.empty() || due.back().object != object) due.push_back({object, 0, offset});
    due.back().bytes += bytes;
}

void Earth::read() {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        Lane& lane = lanes_[i];
        while (lane.socket >= 0 && lane.read < ledger_.delivered(static_cast<int>(i))) {
            const ssize_t got = recv(lane.socket, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
            if (got == 0) throw Failure(lane_name(i) + ": the spacecraft's end is gone");
            if (got < 0 && errno != EAGAIN) fail_errno(lane_name(i) + ", the Earth's end");
            if (got < 0) break;
            check(lane, buffer_.data(), got);
            lane.read += got;
        }
    }
}

void Earth::require_all_read() const {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        const std::int64_t missing = ledger_.delivered(static_cast<int>(i)) - lanes_[i].read;
        if (lanes_[i].socket < 0 || missing <= 0) continue;
        throw Failure(lane_name(i) + ": " + std::to_string(missing) +
                      " bytes cannot be read: the receiver's buffer was " +
                      "full, and MPTCP threw away what TCP had acknowledged; a larger transport.receive_buffer_bytes");
    }
}

void Earth::check(Lane& lane, const char* data, std::int64_t bytes) {
    while (bytes > 0) {
        while (lane.due.size() > 1 && lane.due.front().bytes == 0) lane.due.pop_front();
        if (lane.due.empty() || lane.due.front().bytes == 0) throw Failure("bytes arrived that were not sent");
        Piece& piece = lane.due.front();
        const std::int64_t part = std::min({bytes, piece.bytes, Payloads::kStretch});
        if (std::memcmp(data, payloads_.at(piece.object, piece.offset, part), static_cast<std::size_t>(part)) != 0)
            throw Failure("layer " + std::to_string(plan_.objects[static_cast<std::size_t>(piece.object)].layer) +
                          " of chunk " + std::to_string(plan_.objects[static_cast<std::size_t>(piece.object)].chunk) +
                          ": damaged on the way");
        data += part;
        bytes -= part;
        piece.offset += part;
        piece.bytes -= part;
        if (piece.bytes == 0 && lane.due.size() > 1)
            lane.due.pop_front();
        else if (piece.bytes == 0 && piece.offset == plan_.objects[static_cast<std::size_t>(piece.object)].bytes)
            lane.due.pop_front();
    }
}

}  // namespace transfer
