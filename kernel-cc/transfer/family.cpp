#include "family.hpp"

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

namespace transfer {

namespace {

constexpr const char* kName = "dstcc";
constexpr std::uint8_t kVersion = 1, kAnnounce = 8, kLayersGet = 9, kGroupGet = 11;  // dstcc_netlink.h
constexpr int kToken = 1, kRange = 3, kRow = 4, kLiving = 5;
constexpr int kRangeLayer = 1, kRangeBytes = 2, kRangeDeadline = 3, kRangeLocalId = 4;
constexpr int kGroupId = 1, kGroupBeside = 3, kGroupWindow = 5, kGroupInFlight = 6;
constexpr int kRowLayer = 1, kRowLocalId = 2, kRowCarried = 3, kRowStrayed = 4, kRowMoved = 5, kRowLate = 6;

std::string attribute(int type, const std::string& value) {
    nlattr head{};
    head.nla_len = static_cast<std::uint16_t>(NLA_HDRLEN + value.size());
    head.nla_type = static_cast<std::uint16_t>(type);
    std::string made(reinterpret_cast<const char*>(&head), sizeof head);
    made += value;
    made.resize(NLA_ALIGN(made.size()), '\0');
    return made;
}

template <class Number>
std::string number(int type, Number value) {
    return attribute(type, std::string(reinterpret_cast<const char*>(&value), sizeof value));
}

// Calls each(type, value, bytes) for attributes.
template <class Each>
void each_attribute(const char* at, const char* end, Each&& each) {
    while (at + NLA_HDRLEN <= end) {
        nlattr head{};
        std::memcpy(&head, at, sizeof head);
        if (head.nla_len < NLA_HDRLEN || at + head.nla_len > end) return;
        each(head.nla_type & NLA_TYPE_MASK, at + NLA_HDRLEN, static_cast<std::size_t>(head.nla_len - NLA_HDRLEN));
        at += NLA_ALIGN(head.nla_len);
    }
}

std::uint64_t value_of(const char* value, std::size_t bytes) {
    std::uint64_t made = 0;
    std::memcpy(&made, value, std::min(bytes, sizeof made));
    return made;
}

}  // namespace

Family::Family() : Family(true) {}

Family::Family(bool needed)
    : socket_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC)),
      family_(GENL_ID_CTRL) {
    if (socket_ < 0) fail_errno("netlink");
    errno = ask(CTRL_CMD_GETFAMILY, attribute(CTRL_ATTR_FAMILY_NAME, std::string(kName, std::strlen(kName) + 1)));
    if (errno != 0 && (needed || errno != ENOENT)) fail_errno("the kernel's family dstcc");
}

std::unique_ptr<Family> Family::find() {
    std::unique_ptr<Family> found(new Family(false));
    if (found->family_ == GENL_ID_CTRL) found.reset();
    return found;
}

Family::~Family() {
    if (socket_ >= 0) close(socket_);
}

void Family::announce(std::uint32_t token, int layer, std::int64_t bytes, Time deadline, int local_id) {
    std::string range = number(kRangeLayer, static_cast<std::uint8_t>(layer)) +
                        number(kRangeBytes, static_cast<std::uint32_t>(bytes)) +
                        number(kRangeDeadline, static_cast<std::uint64_t>(deadline));
    if (local_id >= 0) range += number(kRangeLocalId, static_cast<std::uint8_t>(local_id));
    request(kAnnounce, number(kToken, token) + attribute(kRange | NLA_F_NESTED, range));
}

std::vector<Carried> Family::carried(std::uint32_t token) {
    rows_.clear();
    living_.clear();
    request(kLayersGet, number(kToken, token));
    return rows_;
}

std::vector<int> Family::living(std::uint32_t token) {
    carried(token);
    return living_;
}

std::optional<Group> Family::group(std::uint32_t id) {
    group_.reset();
    asked_group_ = true;
    errno = ask(kGroupGet, number(kGroupId, id));
    asked_group_ = false;
    if (errno != 0 && errno != ENOENT) fail_errno("the kernel's groups");
    return group_;
}

void Family::request(std::uint8_t command, const std::string& attributes) {
    errno = ask(command, attributes);
    if (errno != 0) fail_errno("the kernel's scheduler dstcc");
}

// Sends a request and reads answers up to its acknowledgement; the error's number, 0 for none.
int Family::ask(std::uint8_t command, const std::string& attributes) {
    nlmsghdr head{};
    genlmsghdr genl{};
    head.nlmsg_len = static_cast<std::uint32_t>(NLMSG_HDRLEN + GENL_HDRLEN + attributes.size());
    head.nlmsg_type = family_;
    head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    head.nlmsg_seq = ++sequence_;
    genl.cmd = command;
    genl.version = kVersion;
    std::string message(reinterpret_cast<const char*>(&head), sizeof head);
    message.append(reinterpret_cast<const char*>(&genl), sizeof genl);
    message += attributes;
    if (send(socket_, message.data(), message.size(), 0) != static_cast<ssize_t>(message.size()))
        fail_errno("netlink, dstcc");
    return receive();
}

int Family::receive() {
    for (;;) {
        const ssize_t got = recv(socket_, room_.data(), room_.size(), 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail_errno("netlink, dstcc");
        const char* at = room_.data();
        const char* end = at + got;
        while (at + NLMSG_HDRLEN <= end) {
            nlmsghdr head{};
            std::memcpy(&head, at, sizeof head);
            if (head.nlmsg_len < NLMSG_HDRLEN || at + head.nlmsg_len > end) break;
            const char* body = at + NLMSG_HDRLEN;
            const char* stop = at + head.nlmsg_len;
            if (head.nlmsg_type == NLMSG_ERROR) {
                nlmsgerr error{};
                std::memcpy(&error, body, std::min(sizeof error, static_cast<std::size_t>(stop - body)));
                return error.error == INT_MIN ? EIO : -error.error;  // any bytes may come
            }
            if (head.nlmsg_type == GENL_ID_CTRL)
                read_family(body + GENL_HDRLEN, stop);
            else if (asked_group_)
                read_group(body + GENL_HDRLEN, stop);
            else
                read_rows(body + GENL_HDRLEN, stop);
            at += NLMSG_ALIGN(head.nlmsg_len);
        }
    }
}

void Family::read_family(const char* at, const char* end) {
    each_attribute(at, end, [this](int type, const char* value, std::size_t bytes) {
        if (type == CTRL_ATTR_FAMILY_ID) family_ = static_cast<std::uint16_t>(value_of(value, bytes));
    });
}

void Family::read_group(const char* at, const char* end) {
    Group& made = group_.emplace();
    each_attribute(at, end, [&made](int type, const char* value, std::size_t bytes) {
        const auto read = static_cast<std::int64_t>(value_of(value, bytes));
        if (type == kGroupWindow) made.window = read;
        if (type == kGroupBeside) made.beside = read;
        if (type == kGroupInFlight) made.in_flight = read;
    });
}

void Family::read_rows(const char* at, const char* end) {
    each_attribute(at, end, [this](int type, const char* row, std::size_t row_bytes) {
        if (type == kLiving) living_.push_back(static_cast<int>(value_of(row, row_bytes)));
        if (type != kRow) return;
        Carried made;
        each_attribute(row, row + row_bytes, [&made](int part, const char* value, std::size_t bytes) {
            const auto read = static_cast<std::int64_t>(value_of(value, bytes));
            if (part == kRowLayer) made.layer = static_cast<int>(read);
            if (part == kRowLocalId) made.local_id = static_cast<int>(read);
            if (part == kRowCarried) made.carried = read;
            if (part == kRowStrayed) made.strayed = read;
            if (part == kRowMoved) made.moved = read;
            if (part == kRowLate) made.late = read;
        });
        rows_.push_back(made);
    });
}

}  // namespace transfer
