#include "tcp/proxies.hpp"

namespace dstcc {

// ------------------------------------------------------------------------------------------------------ coming in

void ProxyLevel::handle_data(Time now, const DataPacket& packet) {
    const std::size_t s = packet.sender;
    Proxy& proxy = *proxies_[s];
    if (proxy.node->boots(now)) return;
    now_ = now;
    if (proxy.syns == 0) open(s, proxy, now_);
    const std::int64_t number = widen(proxy.in.receiver.next(), packet.number);
    answering_.handle_data(now, s, proxy.in, packet, proxy.freed, [&] { take(proxy, number, packet); });
    if (proxy.waiting.end() <= proxy.in.receiver.next()) answering_.handle_read(now, s, proxy.in, proxy.freed);
    proxy.note_told();
    if (proxy.sender.established()) pump(s);
}

void ProxyLevel::take(Proxy& proxy, std::int64_t number, const DataPacket& packet) {
    const std::uint32_t bytes = packet.bytes + header_bytes_;
    DSTCC_CHECK(number < proxy.freed + proxy.share, "a window holds what it was said to");
    proxy.node->come();
    proxy.node->hold(bytes);
    while (proxy.waiting.end() <= number) proxy.waiting.push_back({});
    while (proxy.held_bytes.end() <= number) proxy.held_bytes.push_back(0);
    proxy.waiting[number] = {packet.object, packet.order, packet.bytes};
    proxy.held_bytes[number] = static_cast<std::uint16_t>(bytes);
}

// An answer to the SYN, or to a question for room.
void ProxyLevel::handle_established(Time now, std::size_t s, Time syn_ns, std::int64_t freed) {
    now_ = now;
    Proxy& proxy = *proxies_[s];
    proxy.room.note(freed);
    if (!proxy.sender.established()) {
        proxy.syn_at = kNever;
        proxy.sender.establish(now_, now_ - syn_ns);
    }
    pump(s);
}

void ProxyLevel::handle_ack(Time now, std::size_t s, AckBlocks& ack, std::int64_t freed) {
    now_ = now;
    Proxy& proxy = *proxies_[s];
    proxy.room.note(freed);
    ack.more = proxy.has_data();
    proxy.delivered_bytes += proxy.sender.handle_ack(now_, ack);
    release(s, proxy);
    pump(s);
}

// What the next hop has is no longer this node's. The hop before gets an ACK at once where the window that it knows has doubled.
void ProxyLevel::release(std::size_t s, Proxy& proxy) {
    for (; proxy.freed < proxy.sender.tcp().snd_una; ++proxy.freed) {
        proxy.node->release(proxy.held_bytes.front());
        proxy.node->leave();
        proxy.held_bytes.pop_front();
    }
    const std::int64_t next = proxy.in.receiver.next();
    const std::int64_t known = proxy.told + proxy.share - next, room = proxy.freed + proxy.share - next;
    if (room == known || room < 2 * known) return;
    answering_.tell_window(now_, s, proxy.in, proxy.freed);
    proxy.told = proxy.freed;
}

void ProxyLevel::handle_ack_timer(Time now, std::size_t s) {
    Proxy& proxy = *proxies_[s];
    if (proxy.node->boots(now)) return acks_.set(s, proxy.node->up_at_ns());
    answering_.handle_timer(now, s, proxy.in, proxy.freed);
    proxy.note_told();
}

void ProxyLevel::handle_timer(Time now, std::size_t s) {
    now_ = now;
    Proxy& proxy = *proxies_[s];
    if (proxy.node->boots(now)) return timers_.set(s, proxy.node->up_at_ns());
    timers_.set(s, kNever);
    if (!proxy.sender.established()) {
        if (proxy.syn_at <= now_) send_syn(s, proxy);
        return arm_timer(s, proxy);
    }
    if (proxy.room.ask(now_, proxy.waits())) {
        ++proxy.syns;
        proxy.out.send(now_, first_ + s, 0, 0, 0, 0, header_bytes_, false);
    }
    const TimerResult result = proxy.sender.handle_timer(now_);
    if (result == TimerResult::kNothing) return arm(s, proxy);
    if (result == TimerResult::kProbe) {  // tail loss probe (RFC 8985 section 7.3)
        const std::int64_t last = proxy.sender.tcp().snd_nxt - 1;
        if (proxy.has_data())
            send_next(s, proxy);
        else if ((proxy.sender.segment(last).flags & (kSacked | kLost | kRetransOut)) == 0)
            repeat(s, proxy, last);
        proxy.sender.finish_probe(now_);
    }
    pump(s);
}

void ProxyLevel::handle_pace(Time now, std::size_t s) {
    now_ = now;
    const Proxy& proxy = *proxies_[s];
    if (proxy.node->boots(now)) return paces_.set(s, proxy.node->up_at_ns());
    pump(s);
    if (paces_.at(s) <= now_) paces_.set(s, kNever);
}

// ------------------------------------------------------------------------------------------------------ going out

// Repairs first, then what is there in order; woken again when pacing lets go.
void ProxyLevel::pump(std::size_t s) {
    Proxy& proxy = *proxies_[s];
    Subflow& tcp = proxy.sender;
    const auto open = [&] { return tcp.window_open() && tcp.pacing_until() <= now_; };
    std::int64_t number = 0;
    if (proxy.has_data()) tcp.push();
    while (open() && tcp.poll_retransmit(number)) {
        repeat(s, proxy, number);
        if (proxy.has_data()) tcp.push();
    }
    while (open() && proxy.has_data()) send_next(s, proxy);
    if (tcp.repairs_instead())
        while (open() && tcp.poll_retransmit(number)) repeat(s, proxy, number);
    const bool more = proxy.has_data();
    if ((more || tcp.repairs_waiting()) && tcp.window_open() && tcp.pacing_until() > now_)
        paces_.set(s, tcp.pacing_until());
    tcp.finish_sending(now_, !more, more && !tcp.window_open());
    arm(s, proxy);
}

void ProxyLevel::arm(std::size_t s, Proxy& proxy) {
    arm_timer(s, proxy);
    if (!proxy.waits()) return;
    const Time ask = proxy.room.probe_at(now_, proxy.sender, transport_.constants.rto_max);
    if (ask < timers_.at(s)) timers_.set(s, ask);
}

void ProxyLevel::send_next(std::size_t s, Proxy& proxy) {
    const Held next = proxy.waiting.front();
    DSTCC_CHECK(next.bytes > 0, "what goes on has come");
    proxy.waiting.pop_front();
    const std::int64_t number = proxy.sender.append(now_, next.object, next.order, next.bytes);
    ++proxy.sent;
    proxy.out.send(now_, first_ + s, number, next.object, next.order, next.bytes, header_bytes_, false);
}

void ProxyLevel::repeat(std::size_t s, Proxy& proxy, std::int64_t number) {
    const Segment segment = proxy.sender.segment(number);
    proxy.sender.mark_retransmitted(now_, number);
    ++proxy.sent;
    ++proxy.retransmitted;
    proxy.out.send(now_, first_ + s, number, segment.object, segment.order, segment.bytes, header_bytes_, false);
}

// --------------------------------------------------------------------------------------------------- for observers

std::int64_t ProxyLevel::bytes() const {
    std::int64_t bytes = 0;
    for (const auto& proxy : proxies_)
        if (proxy != nullptr) bytes += proxy->sender.bytes() + proxy->waiting.bytes() + proxy->held_bytes.bytes();
    return bytes;
}

}  // namespace dstcc
