// What the connection's sending end and the background flows have in common: handshakes, timers, and what a sender sees of
// itself. A sender has its transmitter and the contact plan it was given; it learns of the other end through ACKs.
#pragma once

#include "core/events.hpp"
#include "link/contact.hpp"
#include "link/transmitter.hpp"
#include "tcp/view.hpp"
#include "tcp/sender.hpp"

namespace dstcc {

struct SendingEndpoint {
    Subflow sender;
    Transmitter out;
    const ContactPlan* plan;
    std::size_t link;
    Time syn_at = kNever, syn_due = kNever;  // when a SYN leaves; by TCP, without the timer wheel
    unsigned syns = 0, backoffs = 0;         // ever, and since the link came up; SYNs, and a join's ACKs
    std::int64_t sent = 0, retransmitted = 0, delivered_bytes = 0;  // ever; segments, and acknowledged payload
};

class Senders {
protected:
    // `first`: the number of the first sender; timers are counted from it.
    Senders(const TransportConfig& transport, std::size_t first, Timers timers, Timers paces)
        : transport_(transport),
          header_bytes_(static_cast<std::uint32_t>(transport.header_bytes)),
          first_(first),
          timers_(timers),
          paces_(paces) {}
    void open(std::size_t i, SendingEndpoint& from, Time at);
    void send_syn(std::size_t i, SendingEndpoint& from);
    SubflowView view_of(const SendingEndpoint& from, Time now) const;
    // The timer may go off early; it is never late.
    void arm_timer(std::size_t i, const SendingEndpoint& from) {
        const Time at = from.sender.established() ? from.sender.next_timer() : from.syn_at;
        if (at < timers_.at(i)) timers_.set(i, std::max(at, now_));
    }
    // A link that is down and comes up again: nothing can arrive before.
    bool rest(std::size_t i, SendingEndpoint& from) {
        const ContactPlan::Contact contact = from.plan->contact(now_);
        if (contact.up || contact.change_ns >= kNever - now_) return false;
        from.sender.rest(now_ + contact.change_ns);
        arm_timer(i, from);
        return true;
    }

    const TransportConfig& transport_;
    std::uint32_t header_bytes_;
    std::size_t first_;
    Timers timers_, paces_;
    Time now_ = 0;
};

}  // namespace dstcc
