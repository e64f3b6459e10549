// What a node that ends a connection has room for (tcp/proxies.hpp), as its ACKs say: a receive window, counted in segments. A sender
// that fills it, has nothing in flight and more to send asks again after a timeout, and after twice as long (RFC 9293 section
// 3.8.6.1, Linux tcp_check_probe_timer() and tcp_probe_timer()).
#pragma once

#include "tcp/sender.hpp"

namespace dstcc {

class PeerRoom {
public:
    static constexpr std::int64_t kAny = std::int64_t{1} << 61;
    explicit PeerRoom(std::int64_t most) : most_(most) {}

    bool full(const Subflow& sender) const { return sender.tcp().snd_nxt >= freed_ + most_; }
    // It holds none of the first `freed` segments any more.
    void note(std::int64_t freed) {
        if (freed <= freed_) return;
        freed_ = freed;
        probe_at_ = kNever;
        probes_ = 0;
    }
    // When to ask for room for what waits; kNever: an ACK will come, or there is room.
    Time probe_at(Time now, const Subflow& sender, Time most) {
        if (!full(sender) || sender.tcp().packets_out() > 0) return kNever;
        if (probe_at_ < now) ask(now, false);  // nothing waited then
        if (probe_at_ == kNever) {
            const Time wait = sender.rto();
            probe_at_ = now + (wait > (most >> probes_) ? most : wait << probes_);
        }
        return probe_at_;
    }
    // Is it time to, and does something still wait?
    bool ask(Time now, bool waits) {
        if (probe_at_ > now) return false;
        probe_at_ = kNever;
        probes_ = waits ? std::min(probes_ + 1, 30u) : 0;
        return waits;
    }

private:
    std::int64_t most_, freed_ = 0;
    Time probe_at_ = kNever;
    unsigned probes_ = 0;
};

}  // namespace dstcc
