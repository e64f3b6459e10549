#include "coding/receiving_end.hpp"

#include <algorithm>

namespace dstcc {

namespace {

constexpr double kReportShare = 1.25;  // of what a report takes on the uplink
constexpr double kMostReports = 32;    // that tell what is left behind; more are not caught up with
constexpr double kReportTime = 16;     // a report names what is no news for such a part of the one-way delay
constexpr std::uint32_t kAckBytes = 8,
                        kAckRangeBytes = 4,  // beside the header: the first range and the wait; each further;
    kPassedBytes = 4;                        // how many packets arrived before them

}  // namespace

CodedReceivingEnd::CodedReceivingEnd(const ObjectsConfig& objects, const CodingConfig& coding, std::uint64_t seed,
                                     const BlockMap& blocks, const BlockHeaders& headers, std::uint32_t header_bytes,
                                     Time ack_delay, Timers delayed_acks)
    : objects_(objects),
      coding_(coding),
      seed_(seed),
      map_(blocks),
      headers_(headers),
      header_bytes_(header_bytes),
      ack_delay_(ack_delay),
      delayed_acks_(delayed_acks),
      parts_(objects.size()),
      blocks_(blocks.blocks()),
      words_(blocks.interleaved_words(), 0) {}

void CodedReceivingEnd::add(AckTransmitter out, AckRanges& ranges, std::optional<WayBack> reports) {
    const double own = reports ? static_cast<double>(reports->own.service_ns(1000)) / 1000 : 0;
    const double byte_ns = reports ? std::max(own, reports->slowest_back) : 0;
    receivers_.push_back({out, &ranges, std::move(reports), byte_ns});
}

void CodedReceivingEnd::handle_data(Time now, const DataPacket& packet) {
    now_ = now;
    const std::size_t i = packet.sender;
    Receiver& to = receivers_[i];
    if (packet.bytes == 0)
        return to.out.send(now_, i, {0, packet.sent_ns, nullptr, 0, kSyn, now_ - packet.sent_ns, 0}, header_bytes_);
    if (packet.order != kNoBlock) take(packet);
    acknowledge(i, widen(to.next, packet.number), now_ - packet.sent_ns);
}

void CodedReceivingEnd::acknowledge(std::size_t i, std::int64_t number, Time one_way) {
    Receiver& to = receivers_[i];
    DSTCC_CHECK(number >= to.next, "a link is first in, first out");
    const bool gap = number > to.next;
    to.next = number + 1;
    to.ranges->note(number, now_, one_way);
    to.one_way_ns = std::min(to.one_way_ns, one_way);
    if (++to.pending >= kPacketsAnAck || gap) return answer(i);
    if (to.due_ns == kNever) set_due(i, now_ + ack_delay_);
}

void CodedReceivingEnd::take(const DataPacket& packet) {
    const std::uint32_t number = block_in(packet.order);
    BlockArrival& block = blocks_[number];
    ++block.packets;
    if (map_.words(number) > 1) ++words_[map_.word(number, word_in(packet.order))];
    if (packet.object == kNoObject) {
        ++block.repair;
        repair_payload_ += packet.bytes;
        return try_block(number);
    }
    PartArrival& part = parts_[packet.object];
    if (part.first_ns < 0 || now_ < part.first_ns) part.first_ns = now_;
    if (part.complete_ns < 0) {
        arrived_payload_ += packet.bytes;
        part.bytes += packet.bytes;
        part.last_ns = std::max(part.last_ns, now_);
        last_delivery_ns_ = std::max(last_delivery_ns_, now_);
        if (part.bytes == objects_.payload_bytes[packet.object]) complete(packet.object);
    }
    try_block(number);
}

void CodedReceivingEnd::complete(std::uint32_t object) {
    PartArrival& part = parts_[object];
    part.complete_ns = std::max(now_, part.last_ns);
    ++complete_;
    last_delivery_ns_ = std::max(last_delivery_ns_, part.complete_ns);
    ++blocks_[map_.block_of(object)].complete;
}

void CodedReceivingEnd::try_block(std::uint32_t number) {
    BlockArrival& block = blocks_[number];
    if (block.decoded_ns >= 0 || block.repair == 0) return;  // without a repair packet it does not know k
    if (!brought_back(number)) return;
    block.decoded_ns = now_;
    for (std::uint32_t i = 0; i < map_.size(number); ++i) {
        const std::uint32_t object = map_.member(number, i);
        PartArrival& part = parts_[object];
        if (part.complete_ns >= 0 || headers_.whole[object] == 0) continue;
        recovered_payload_ += objects_.payload_bytes[object] - part.bytes;
        part.bytes = objects_.payload_bytes[object];
        part.recovered = true;
        complete(object);
    }
}

bool CodedReceivingEnd::brought_back(std::uint32_t number) const {
    const double draw = coding_.code == ErasureCode::kMds ? 1.0 : Stream(seed_, kStreamDecode, number).uniform(0);
    const std::uint32_t source = headers_.source[number], words = map_.words(number);
    if (words == 1) return brings_back(coding_.code, blocks_[number].packets, source, draw);
    for (std::uint32_t w = 0; w < words; ++w)
        if (!brings_back(coding_.code, words_[map_.word(number, w)], in_word(source, w, words), draw)) return false;
    return true;
}

void CodedReceivingEnd::answer(std::size_t i) {
    const Receiver& to = receivers_[i];
    const Named said = named_next(to);
    if (to.reports) {
        const Time fits =
            to.reports->own.fit(std::max(now_, to.report_ns), to.reports->own.service_ns(ack_bytes(to, said)));
        if (fits > now_) return set_due(i, fits);
    }
    send_ack(i, said);
}

// By its next ACK; by a report, which others follow, so many as it has time for, but what is news in three reports.
Named CodedReceivingEnd::named_next(const Receiver& to) const {
    if (!to.reports) return {to.ranges->newest(), to.ranges->named(to.ranges->newest(), 0)};
    const double report_ns = kReportShare * to.byte_ns * ack_bytes(to, {0, kAckRanges});
    const double reports = std::clamp<double>(static_cast<double>(to.one_way_ns) / report_ns, 2, kMostReports);
    const std::int64_t newest =
        to.ranges->next_report(to.told.front(), static_cast<std::int64_t>(reports * kAckRanges / 2));
    const double room =
        (static_cast<double>(to.one_way_ns) / kReportTime / to.byte_ns - ack_bytes(to, {0, 1})) / kAckRangeBytes;
    const auto more = static_cast<std::int64_t>(std::clamp<double>(room, 0, kAckRanges));
    const int named = to.ranges->named(newest, std::min(newest - more, to.told.back()));
    return {newest, named, 0, passes_over(to, newest, named) || to.passed > 0};
}

std::uint32_t CodedReceivingEnd::ack_bytes(const Receiver& to, const Named& said) const {
    const std::size_t answer = to.answers < kAskedReports ? (coding_.asked.size() + 7) / 8 : 0;
    return header_bytes_ + kAckBytes + kAckRangeBytes * static_cast<std::uint32_t>(said.count - 1) +
           (said.passed ? kPassedBytes : 0) + static_cast<std::uint32_t>(answer);
}

std::vector<bool> CodedReceivingEnd::there(std::size_t receiver, int answer) const {
    std::vector<bool> there;
    const Time at = receivers_[receiver].answered_ns[static_cast<std::size_t>(answer) - 1];
    for (const Time since : coding_.there_ns) there.push_back(since <= at);
    return there;
}

void CodedReceivingEnd::send_ack(std::size_t i, Named said) {
    Receiver& to = receivers_[i];
    to.pending = 0;
    to.due_ns = kNever;
    const std::uint32_t bytes = ack_bytes(to, said);
    to.passed =
        passes_over(to, said.newest, said.count) ? static_cast<int>(to.told.size()) - 1 : std::max(to.passed - 1, 0);
    if (!coding_.asked.empty() && to.answers < kAskedReports) {
        to.answered_ns[static_cast<std::size_t>(to.answers)] = now_;
        said.answer = ++to.answers;
    }
    std::copy_backward(to.told.begin(), to.told.end() - 1, to.told.end());
    to.told.front() = said.newest;
    const AckRanges::Arrived& newest = to.ranges->at(said.newest);
    to.out.send(now_, i, {newest.range.end, now_ - newest.at_ns, nullptr, 0, kPlain, newest.one_way_ns, said.pack()},
                bytes);
    if (!to.reports) return;
    const Time back = std::max(to.out.busy_ns() - now_, static_cast<Time>(to.reports->slowest_back * bytes));
    to.report_ns = now_ + rest_after(back);
    if (said.newest == to.ranges->newest()) return;
    to.pending = 1;
    answer(i);
}

// A report that takes so long.
Time CodedReceivingEnd::rest_after(Time back) { return static_cast<Time>(kReportShare * static_cast<double>(back)); }

void CodedReceivingEnd::handle_timer(Time now, std::size_t i) {
    now_ = now;
    const Time due = receivers_[i].due_ns;
    delayed_acks_.set(i, kNever);
    if (due > now_) return set_due(i, due);
    receivers_[i].due_ns = kNever;
    if (receivers_[i].pending > 0) answer(i);
}

}  // namespace dstcc
