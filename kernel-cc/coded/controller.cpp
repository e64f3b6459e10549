#include "controller.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <sstream>

#include "../transfer/base.hpp"

namespace coded {

namespace {

using dstcc::Time;

constexpr std::size_t kMostBytes = 1 << 16;  // of a line; a longer one comes from nobody who answers

Time clock() { return transfer::clock_ns(CLOCK_MONOTONIC); }

// Behind an answer's number; false: it is none.
bool read_action(std::istringstream& in, std::size_t layers, dstcc::CodedAction& action) {
    action.repair.resize(layers);
    action.left_out.resize(layers);
    if (!(in >> action.place)) return false;
    for (std::size_t m = 0; m < layers; ++m) {
        int left_out;
        if (!(in >> action.repair[m] >> left_out) || left_out < 0 || left_out > 1) return false;
        action.left_out[m] = static_cast<std::uint8_t>(left_out);
    }
    return (in >> std::ws).eof() && dstcc::wrong(action) == nullptr;
}

}  // namespace

Controller::Controller(int in, int out, std::size_t layers, Time patience)
    : in_(in),
      out_(out),
      layers_(layers),
      patience_(patience) {}

std::optional<dstcc::CodedAction> Controller::ask(const std::string& values) {
    ++slot_;
    if (gone_) return std::nullopt;
    std::string answer;
    if (waiting_) {  // a second question would only lengthen what it is behind with
        const Heard heard = hear(clock(), answer);
        if (heard == Heard::kGone) return dstcc::CodedAction{};
        if (heard == Heard::kLate) return own_rule();
    }
    const std::string line = std::to_string(slot_) + ' ' + values + '\n';
    asked_ = slot_;
    if (::write(out_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
        gone_ = true;
        return dstcc::CodedAction{};
    }
    const Heard heard = hear(clock() + patience_, answer);
    if (heard == Heard::kGone) return dstcc::CodedAction{};
    if (heard == Heard::kLate) return own_rule();
    std::istringstream in(answer);
    std::int64_t number;
    in >> number;
    if ((in >> std::ws).eof()) return std::nullopt;
    dstcc::CodedAction action;
    if (!read_action(in, layers_, action)) return own_rule();
    return action;
}

Controller::Heard Controller::hear(Time until, std::string& answer) {
    while (read_line(until, answer)) {
        std::istringstream in(answer);
        std::int64_t number;
        if (in >> number && number < asked_) continue;
        waiting_ = false;
        if (!in || number > asked_) answer = std::to_string(asked_) + " -";  // no decision, whatever it is
        return Heard::kAnswer;
    }
    waiting_ = !gone_;
    return gone_ ? Heard::kGone : Heard::kLate;
}

bool Controller::read_line(Time until, std::string& line) {
    for (;;) {
        const std::size_t end = read_.find('\n');
        if (end != std::string::npos) {
            line = read_.substr(0, end);
            read_.erase(0, end + 1);
            return true;
        }
        const timespec wait = transfer::timespec_of(std::max<Time>(until - clock(), 0));
        pollfd one{in_, POLLIN, 0};
        const int ready = ::ppoll(&one, 1, &wait, nullptr);
        if (ready < 0 && errno == EINTR) continue;
        if (ready == 0) return false;
        char bytes[4096];
        const ssize_t came = ready < 0 ? -1 : ::read(in_, bytes, sizeof bytes);
        if (came > 0) read_.append(bytes, static_cast<std::size_t>(came));
        if (came > 0 && read_.size() <= kMostBytes) continue;
        unusable_ += came > 0;
        gone_ = true;
        return false;
    }
}

}  // namespace coded
