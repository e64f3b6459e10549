// Packets of one part that come one after another, and the ACKs of every second of them.
#include "coding/receiving_end.hpp"

namespace dstcc {

namespace {

constexpr int kTries = 4;  // of a run: what a receiver has told settles within three reports

}  // namespace

bool CodedReceivingEnd::only_counts(const DataPacket& packet, std::int64_t packets) const {
    const std::uint32_t number = block_in(packet.order), source = headers_.source[number];
    const BlockArrival& block = blocks_[number];
    // While a block is not closed, no repair of it is under way.
    if (map_.words(number) > 1) return false;
    return block.decoded_ns >= 0 || source == 0 || block.packets + packets < source;
}

std::int64_t CodedReceivingEnd::handle_run(const DataPacket& first, const PacketRun& run) {
    const std::size_t i = first.sender;
    Receiver& to = receivers_[i];
    const std::int64_t number = widen(to.next, first.number);
    const Time longer = run.spacing - run.sent_spacing, one_way = first.arrive_ns - first.sent_ns;
    std::int64_t taken = 0;
    for (int tries = 0; taken < run.count;) {
        if (to.pending == 0 && !to.ranges->empty() && tries++ < kTries) {
            DataPacket next = first;
            next.arrive_ns += taken * run.spacing;
            next.sent_ns += taken * run.sent_spacing;
            taken += acknowledge_pairs(i, number + taken, next, {run.count - taken, run.sent_spacing, run.spacing});
            if (taken == run.count) break;
        }
        now_ = first.arrive_ns + taken * run.spacing;
        acknowledge(i, number + taken, one_way + taken * longer);
        ++taken;
        if (to.due_ns < now_ + run.spacing) break;
    }
    const Time last = first.arrive_ns + (taken - 1) * run.spacing;
    blocks_[block_in(first.order)].packets += static_cast<std::uint32_t>(taken);
    PartArrival& part = parts_[first.object];
    if (part.first_ns < 0 || first.arrive_ns < part.first_ns) part.first_ns = first.arrive_ns;
    if (part.complete_ns >= 0) return taken;
    const std::int64_t bytes = taken * first.bytes;
    arrived_payload_ += bytes;
    part.bytes += bytes;
    part.last_ns = std::max(part.last_ns, last);
    last_delivery_ns_ = std::max(last_delivery_ns_, last);
    now_ = last;
    if (part.bytes == objects_.payload_bytes[first.object]) complete(first.object);
    return taken;
}

// Two by two, each of which an ACK answers that says the same but for its end; how many packets these are.
std::int64_t CodedReceivingEnd::acknowledge_pairs(std::size_t i, std::int64_t number, const DataPacket& first,
                                                  const PacketRun& run) {
    Receiver& to = receivers_[i];
    const std::int64_t pairs = run.count / kPacketsAnAck, packets = pairs * kPacketsAnAck;
    if (pairs < 2 || number != to.next || run.spacing > ack_delay_) return 0;
    if (!coding_.asked.empty() && to.answers < kAskedReports) return 0;
    const Time longer = run.spacing - run.sent_spacing, one_way = first.arrive_ns - first.sent_ns;
    const Run times{first.arrive_ns + run.spacing, kPacketsAnAck * run.spacing, pairs};
    const Named said = named_next(to);
    const std::uint32_t bytes = ack_bytes(to, said);
    const Time least = std::min({to.one_way_ns, one_way, one_way + (packets - 1) * longer});
    if (to.reports) {
        if (to.told.back() != said.newest || to.told.front() != said.newest || to.passed > 0 || said.passed) return 0;
        const PlannedWay& own = to.reports->own;
        const Time takes = to.out.service_ns(bytes), planned = own.service_ns(bytes), busy = to.out.busy_ns();
        if (takes < 0 || !own.rate().steady()) return 0;
        const Time back = std::max(takes, static_cast<Time>(to.reports->slowest_back * bytes));
        const Time next = rest_after(back);
        if (std::max(to.report_ns, busy) > times.first || next > times.spacing) return 0;
        const auto outage = own.outage_after(times.first);
        if (outage != own.outages().end() && outage->first <= times.last() + planned) return 0;
        const Time before = to.one_way_ns;  // the less it is, the fewer are named
        to.one_way_ns = least;
        const bool same = named_next(to).count == said.count;
        to.one_way_ns = before;
        if (!same) return 0;
        to.report_ns = times.last() + next;
    }
    to.one_way_ns = least;
    to.ranges->note(number, packets, times.last(), one_way + (packets - 1) * longer);
    to.next += packets;
    to.out.send(times, i, {number + kPacketsAnAck, 0, nullptr, 0, kPlain, one_way + longer, said.pack()},
                {pairs, 0, kPacketsAnAck * longer, kPacketsAnAck}, bytes);
    return packets;
}

}  // namespace dstcc
