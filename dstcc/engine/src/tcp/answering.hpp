// What all of TCP's receiving ends do: SYNs are answered, and ACKs of segments go back, at once or after a while.
#pragma once

#include "core/events.hpp"
#include "link/ack_transmitter.hpp"
#include "tcp/receiver.hpp"

namespace dstcc {

struct ReceivingEndpoint {
    SubflowReceiver receiver;
    AckTransmitter out;
    Time one_way_ns = -1;  // of the segment that came in last
};

class Answering {
public:
    // `first`: the number of the first sender whose segments come in; deadlines of ACKs are counted from it.
    Answering(int header_bytes, std::size_t first, Timers delayed_acks)
        : header_bytes_(static_cast<std::uint32_t>(header_bytes)),
          first_(first),
          delayed_acks_(delayed_acks) {}

    // `delivered`: what an ACK says of the window, once the segment was taken by take().
    template <class Take>
    void handle_data(Time now, std::size_t i, ReceivingEndpoint& to, const DataPacket& packet,
                     const std::int64_t& delivered, Take&& take);
    // Of a delayed ACK.
    void handle_timer(Time now, std::size_t i, ReceivingEndpoint& to, std::int64_t delivered) {
        if (!to.receiver.released(now)) {
            const Time deadline = to.receiver.ack_time();
            if (deadline > now) return delayed_acks_.set(i, to.receiver.due());
            to.receiver.expire();
        }
        delayed_acks_.set(i, kNever);
        send_ack(now, i, to, delivered);
    }

    // Segments that come behind an open hole at equal distances, at first that one; ACKs go back when their timers go off. How many are
    // taken, with their ACKs: nothing else comes by `until`, and nothing behind them before `next`.
    template <class Take>
    std::int64_t handle_run(std::size_t i, ReceivingEndpoint& to, const DataPacket& first, PacketRun run, Time next,
                            Time until, std::int64_t delivered, Take&& take);

    // Unasked: what there is room for.
    void tell_window(Time now, std::size_t i, const ReceivingEndpoint& to, std::int64_t delivered) const {
        answer_syn(now, i, to, now, delivered);
    }
    // The application has read all that there was: a write's last segment is acknowledged.
    void handle_read(Time now, std::size_t i, ReceivingEndpoint& to, std::int64_t delivered) {
        if (to.receiver.pushed()) send_ack(now, i, to, delivered);
    }

    // The same of segments that come in order, and are acknowledged two by two.
    template <class Take>
    std::int64_t handle_pairs(std::size_t i, ReceivingEndpoint& to, const DataPacket& first, const PacketRun& run,
                              std::int64_t delivered, Take&& take);

private:
    static constexpr std::int64_t kSackOptionBytes = 4, kSackBlockBytes = 8;  // RFC 2018, padded to 32 bits
    void send_ack(Time now, std::size_t i, ReceivingEndpoint& to, std::int64_t delivered);
    [[gnu::noinline, gnu::cold]] void answer_syn(Time now, std::size_t i, const ReceivingEndpoint& to, Time sent_ns,
                                                 std::int64_t delivered) const {
        to.out.send(now, first_ + i, {0, sent_ns, nullptr, 0, kSyn, to.one_way_ns, delivered}, header_bytes_);
    }

    std::uint32_t header_bytes_;
    std::size_t first_;
    Timers delayed_acks_;
};

// ------------------------------------------------------------------------ small and in every packet's way

[[gnu::always_inline]] inline void Answering::send_ack(Time now, std::size_t i, ReceivingEndpoint& to,
                                                       std::int64_t delivered) {
    const SubflowReceiver::Ack ack = to.receiver.make_ack();
    std::uint32_t bytes = header_bytes_;
    if (ack.sacks > 0) bytes += static_cast<std::uint32_t>(kSackOptionBytes + kSackBlockBytes * ack.sacks);
    to.out.send(now, first_ + i,
                {ack.cumulative, ack.echo_ns, ack.sack, ack.sacks, ack.duplicate ? kDuplicate : kPlain, to.one_way_ns,
                 delivered},
                bytes);
}

template <class Take>
std::int64_t Answering::handle_run(std::size_t i, ReceivingEndpoint& to, const DataPacket& first, PacketRun run,
                                   Time next, Time until, std::int64_t delivered, Take&& take) {
    if (run.count == 1) run.spacing = to.receiver.compressed_ack() + 1;
    const auto [share, wait] =
        to.receiver.share_ack(first.arrive_ns, widen(to.receiver.next(), first.number), run.spacing);
    if (share == 0) return 0;
    Run acks{first.arrive_ns + wait, share * run.spacing, run.count / share};
    const bool all = acks.count * share == run.count;
    acks.count = acks.until(until);
    if (acks.count == 0) return 0;
    if (all && acks.count * share == run.count && next <= acks.last() && --acks.count == 0) return 0;
    const std::int64_t taken = acks.count * share;
    const Run arrivals{first.arrive_ns, run.spacing, taken};
    if (!take(arrivals)) return 0;
    const SubflowReceiver::Ack ack =
        to.receiver.answer_behind_hole(taken, share, first.sent_ns + (share - 1) * run.sent_spacing);
    const std::uint32_t bytes =
        header_bytes_ + static_cast<std::uint32_t>(kSackOptionBytes + kSackBlockBytes * ack.sacks);
    to.out.send(acks, first_ + i, {ack.cumulative, ack.echo_ns, ack.sack, ack.sacks, kPlain, to.one_way_ns, delivered},
                {acks.count, 0, share * run.sent_spacing, 0, static_cast<std::uint32_t>(share)}, bytes);
    to.receiver.lengthen_block();
    to.one_way_ns = arrivals.last() - first.sent_ns - (taken - 1) * run.sent_spacing;
    return taken;
}

template <class Take>
std::int64_t Answering::handle_pairs(std::size_t i, ReceivingEndpoint& to, const DataPacket& first,
                                     const PacketRun& run, std::int64_t delivered, Take&& take) {
    const std::int64_t half = to.receiver.half_a_pair(), pairs = (run.count - half) / 2;
    const std::int64_t number = widen(to.receiver.next(), first.number);
    const Run arrivals{first.arrive_ns, run.spacing, run.count};
    if (run.count < 2 || !to.receiver.pairs(first.arrive_ns, number, run.spacing, first.bytes) || !take(arrivals))
        return 0;
    AckTransmitter::Ack ack{number + half, to.receiver.echo(), nullptr, 0, kPlain, to.one_way_ns, delivered};
    if (half > 0) to.out.send({first.arrive_ns, 0, 1}, first_ + i, ack, {1, 0, 0, 0}, header_bytes_);
    const std::int64_t each = run.volley > 2 ? 1 : pairs;  // whose echoes are at one distance
    for (std::int64_t pair = 0; pair < pairs; pair += each) {
        const std::int64_t place = half + 2 * pair;
        ack.cumulative = number + place + 2;
        ack.echo_ns = first.sent_ns + run.sent_after(place);
        to.out.send({arrivals.at(place + 1), 2 * run.spacing, each}, first_ + i, ack,
                    {each, 0, (run.volley == 1 ? 2 : 1) * run.sent_spacing, 2}, header_bytes_);
    }
    const std::int64_t begun = (half + run.count - 1) / 2 * 2 - half;  // the last pair
    to.receiver.answer_pairs(run.count, arrivals.last(), run.spacing, first.sent_ns + run.sent_after(begun));
    if (to.receiver.due() < delayed_acks_.at(i)) delayed_acks_.set(i, to.receiver.due());
    to.one_way_ns = arrivals.last() - first.sent_ns - run.sent_after(run.count - 1);
    return run.count;
}

template <class Take>
[[gnu::always_inline]] inline void Answering::handle_data(Time now, std::size_t i, ReceivingEndpoint& to,
                                                          const DataPacket& packet, const std::int64_t& delivered,
                                                          Take&& take) {
    if (packet.bytes == 0) return answer_syn(now, i, to, packet.sent_ns, delivered);
    const std::int64_t number = widen(to.receiver.next(), packet.number);
    if (to.receiver.speaks_first(number)) {
        send_ack(now, i, to, delivered);
        to.receiver.leave_unanswered();
    }
    const auto answer = to.receiver.handle_segment(now, number, packet.sent_ns, packet.bytes, packet.pushed);
    if (answer.fresh) take();  // else a needless repeat; its payload was counted
    to.one_way_ns = now - packet.sent_ns;
    if (answer.now && !(answer.pair && to.receiver.waits_for_read(now))) return send_ack(now, i, to, delivered);
    if (to.receiver.due() < delayed_acks_.at(i)) delayed_acks_.set(i, to.receiver.due());
}

}  // namespace dstcc
