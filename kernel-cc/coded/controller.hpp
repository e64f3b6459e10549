// Who decides once a slot, at the other ends of two pipes; dstcc_kernel/coded_steer.py has the same lines.
//
//   question   the slot's number (0 before the first), the time, then the values of each subflow and of each layer
//              (coding/sender_view.hpp), all in emulated time
//   answer     the same number; behind it nothing, which leaves all as it is, or a place, and for each layer a share of repair and
//              whether it is left out (0, 1)
//
// What is no answer, or is not there when patience ends, decides nothing: the transport's own rule holds until an answer comes. One
// that is late is asked again once it has answered. One that is gone is asked no more.
#pragma once

#include <optional>
#include <string>

#include "coding/action.hpp"
#include "core/base.hpp"

namespace coded {

class Controller {
public:
    // `in`, `out`: open files, which it does not close.
    Controller(int in, int out, std::size_t layers, dstcc::Time patience);
    // Tells it of a slot that ended. What is to hold from now on; nothing: what held before.
    std::optional<dstcc::CodedAction> ask(const std::string& values);
    bool gone() const { return gone_; }
    // Slots for which it gave no answer, or none in time.
    std::int64_t unusable() const { return unusable_; }

private:
    enum class Heard { kAnswer, kLate, kGone };
    // Waits for the answer to the slot that was asked last; what is of slots before it is passed over.
    Heard hear(dstcc::Time until, std::string& answer);
    bool read_line(dstcc::Time until, std::string& line);
    dstcc::CodedAction own_rule() {
        ++unusable_;
        return {};
    }

    int in_, out_;
    std::size_t layers_;
    dstcc::Time patience_;
    std::string read_;  // behind the last line's end
    std::int64_t slot_ = -1, asked_ = -1, unusable_ = 0;
    bool waiting_ = false, gone_ = false;
};

}  // namespace coded
