#include "ledger.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cmath>

namespace transfer {

namespace {

std::uint64_t key_of(std::uint32_t address, std::uint16_t port) {
    return static_cast<std::uint64_t>(address) << 16 | port;
}

// The 64-bit count nearest to `near` that a 32-bit sequence number can stand for.
std::int64_t unwrap(std::uint32_t seq, std::int64_t near) {
    return near + static_cast<std::int32_t>(seq - static_cast<std::uint32_t>(near));
}

std::uint32_t address_of(const std::string& text) {
    in_addr address{};
    if (inet_pton(AF_INET, text.c_str(), &address) != 1) throw Failure("plan: " + text + ": no IPv4 address");
    return ntohl(address.s_addr);
}

}  // namespace

Ledger::Ledger(const Plan& plan)
    : outcomes(plan.objects.size()),
      plan_(plan),
      lanes_(plan.lane_plans.size()),
      slot_(static_cast<std::size_t>(plan.subflows)),
      first_over_(static_cast<std::size_t>(plan.layers) * plan.links.size()),
      passed_(static_cast<std::size_t>(plan.subflows)),
      begun_(plan.ledger ? plan.objects.size() : 0) {
    for (const dstcc::LinkConfig& link : plan.configs) {
        const auto full = static_cast<std::uint32_t>(plan.mss + plan.header_bytes);
        lines_.push_back(links::Direction::seen(link, false, plan.seed, lines_.size(), full));
    }
    for (std::size_t i = 0; i < plan.addresses.size(); ++i)
        numbers_[address_of(plan.addresses[i])] = plan.address_subflow[i];
    for (std::size_t i = 0; i < plan.lane_plans.size(); ++i) ports_[plan.lane_plans[i].port] = static_cast<int>(i);
}

void Ledger::wrote(int lane, int object, std::int64_t bytes, int link) {
    Lane& to = lanes_[static_cast<std::size_t>(lane)];
    // A piece that was delivered whole before its layer went on is over.
    if (to.delivering == to.pieces.size() || to.pieces.back().object != object || to.pieces.back().link != link)
        to.pieces.push_back({to.written, to.written, object, 0, link});
    to.pieces.back().end += bytes;
    to.written += bytes;
    if (plan_.lanes || plan_.placed) passed_[static_cast<std::size_t>(link)].written += bytes;
}

std::int64_t Ledger::unsent(int lane) const {
    const Lane& of = lanes_[static_cast<std::size_t>(lane)];
    return of.written - of.departed_bytes;
}

void Ledger::open(const Packet& syn) {
    Subflow subflow;
    if (syn.joins) {
        const auto lane = tokens_.find(syn.join_token);
        if (lane == tokens_.end()) return;
        subflow.lane = lane->second;
    } else {
        const auto lane = ports_.find(syn.source_port);
        if (lane == ports_.end()) return;
        subflow.lane = lane->second;
    }
    const auto number = numbers_.find(syn.source);
    if (number == numbers_.end()) return;
    subflow.number = number->second;
    subflow.isn = syn.seq;
    subflows_.try_emplace(key_of(syn.source, syn.source_port), std::move(subflow));
}

Ledger::Subflow* Ledger::find(std::uint32_t address, std::uint16_t port) {
    const auto found = subflows_.find(key_of(address, port));
    return found == subflows_.end() ? nullptr : &found->second;
}

// Of the packet's first byte in its connection; `at`: in its subflow.
std::int64_t Ledger::offset_of(const Subflow& subflow, const Packet& packet, std::int64_t at) const {
    if (!packet.mapped) return at;
    const auto into = static_cast<std::int32_t>(static_cast<std::uint32_t>(at) + 1 - packet.map_seq);
    return static_cast<std::int64_t>(packet.data_seq - lanes_[static_cast<std::size_t>(subflow.lane)].base) + into;
}

template <class Each>
void Ledger::each_piece(const Lane& lane, std::int64_t begin, std::int64_t end, Each&& each) {
    auto piece = std::upper_bound(lane.pieces.begin(), lane.pieces.end(), begin,
                                  [](std::int64_t at, const Piece& p) { return at < p.end; });
    for (; piece != lane.pieces.end() && piece->begin < end; ++piece)
        each(*piece, std::min(end, piece->end) - std::max(begin, piece->begin));
}

template <class Each>
void Ledger::each_object(const Lane& lane, std::int64_t begin, std::int64_t end, Each&& each) {
    each_piece(lane, begin, end, [&](const Piece& piece, std::int64_t bytes) { each(piece.object, bytes); });
}

bool Ledger::is_of(int link, std::uint32_t address) const {
    const auto number = numbers_.find(address);
    return number == numbers_.end() || plan_.subflow_links[static_cast<std::size_t>(number->second)] == link;
}

void Ledger::handle_departure(int link, const Packet& packet, Time now) {
    if (packet.syn && !packet.has_ack) open(packet);
    Subflow* subflow = find(packet.source, packet.source_port);
    const Time waited = queue(link, packet, now, subflow == nullptr);
    if (subflow == nullptr || packet.payload <= 0) return;
    const std::int64_t begin = unwrap(packet.seq - subflow->isn - 1, subflow->sent), end = begin + packet.payload;
    if (begin >= subflow->sent) {
        subflow->flight.push_back({end, now, waited, false});
        subflow->sent = end;
    } else {
        auto sent = std::upper_bound(subflow->flight.begin(), subflow->flight.end(), begin,
                                     [](std::int64_t at, const Sent& s) { return at < s.end; });
        for (; sent != subflow->flight.end() && sent->end <= end; ++sent) *sent = {sent->end, now, waited, true};
        subflow->sent = std::max(subflow->sent, end);
    }
    Lane& lane = lanes_[static_cast<std::size_t>(subflow->lane)];
    const std::int64_t offset = offset_of(*subflow, packet, begin);
    std::int64_t fresh = 0;
    lane.departed.add(offset, offset + packet.payload, [&](std::int64_t from, std::int64_t to) {
        fresh += to - from;
        if (plan_.ledger)
            each_object(lane, from, to,
                        [&](int object, std::int64_t bytes) { begun_[static_cast<std::size_t>(object)] += bytes; });
        if (plan_.placed)
            each_piece(lane, from, to, [&](const Piece& piece, std::int64_t bytes) {
                passed_[static_cast<std::size_t>(piece.link)].left += bytes;
                const std::int64_t layer = plan_.objects[static_cast<std::size_t>(piece.object)].layer;
                first_over_[static_cast<std::size_t>(layer) * plan_.links.size() + static_cast<std::size_t>(link)] +=
                    bytes;
            });
    });
    lane.departed_bytes += fresh;
    Passed& passed = passed_[static_cast<std::size_t>(subflow->number)];
    if (!plan_.placed) passed.left += fresh;
    passed.sent += packet.payload;
    each_object(lane, offset, offset + packet.payload, [&](int object, std::int64_t bytes) {
        Outcome& outcome = outcomes[static_cast<std::size_t>(object)];
        if (outcome.first_sent < 0) {
            outcome.first_sent = now;
            outcome.subflow = subflow->number;
        }
        outcome.sent_bytes += bytes;
        if (fresh == 0) ++outcome.retransmissions;
    });
    if (totals.first_send < 0) totals.first_send = now;
    ++totals.data_packets;
    totals.sent_payload += packet.payload;
    totals.retransmitted_payload += packet.payload - fresh;
    ++slot_[static_cast<std::size_t>(subflow->number)].sent_segments;
}

std::vector<std::int64_t> Ledger::known(const std::vector<std::int64_t>& acknowledged) {
    std::vector<std::int64_t> rows(2 * begun_.size());
    for (std::size_t i = 0; i < begun_.size(); ++i) rows[2 * i + 1] = begun_[i];
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
        each_object(lanes_[lane], 0, acknowledged[lane],
                    [&](int object, std::int64_t bytes) { rows[2 * static_cast<std::size_t>(object)] += bytes; });
    return rows;
}

// The line as netem or the program has it: how long the packet waits, -1 where there is no room. Losses on the way are not known
// here.
Time Ledger::queue(int link, const Packet& packet, Time now, bool others) {
    const int free = plan_.links[static_cast<std::size_t>(link)].free_bytes;
    const int bytes = free < 0 ? packet.payload + plan_.header_bytes : std::max(packet.ip_bytes - free, 0);
    if (!others) totals.sent_wire += bytes;
    return line(link).transmit(now, static_cast<std::uint32_t>(bytes)).wait_ns;
}

std::int64_t Ledger::queue_bytes(int link, Time now) const { return line(link).at(now).queue_bytes(now); }

void Ledger::handle_arrival(const Packet& packet, Time now) {
    Subflow* subflow = find(packet.source, packet.source_port);
    if (subflow == nullptr || packet.payload <= 0) return;
    Lane& lane = lanes_[static_cast<std::size_t>(subflow->lane)];
    const std::int64_t begin = unwrap(packet.seq - subflow->isn - 1, subflow->received), end = begin + packet.payload;
    const std::int64_t offset = offset_of(*subflow, packet, begin);
    ++totals.arrived_packets;
    const auto sent = std::lower_bound(subflow->flight.begin(), subflow->flight.end(), end,
                                       [](const Sent& s, std::int64_t at) { return s.end < at; });
    if (sent != subflow->flight.end() && sent->end == end && !sent->repeated)
        waits_.push_back(static_cast<float>(sent->waited) / kNsPerS);
    std::int64_t fresh = 0;
    lane.arrived.add(offset, offset + packet.payload, [&](std::int64_t from, std::int64_t to) {
        fresh += to - from;
        each_object(lane, from, to, [&](int object, std::int64_t) {
            Outcome& outcome = outcomes[static_cast<std::size_t>(object)];
            if (outcome.first_arrival < 0) outcome.first_arrival = now;
        });
    });
    totals.arrived_payload += fresh;
    totals.duplicate_payload += packet.payload - fresh;
    if (end <= subflow->received) return;
    subflow->held.try_emplace(begin, Held{end, offset, now});
    while (!subflow->held.empty() && subflow->held.begin()->first <= subflow->received) {
        const auto [at, held] = *subflow->held.begin();
        subflow->held.erase(subflow->held.begin());
        if (held.end <= subflow->received) continue;
        const std::int64_t known = subflow->received - at;
        subflow->received = held.end;
        release(lane, held.offset + known, held.offset + held.end - at, held.arrived, now);
    }
}

// Bytes in order on their subflow reach the connection.
void Ledger::release(Lane& lane, std::int64_t begin, std::int64_t end, Time arrived, Time now) {
    if (end <= lane.delivered) return;
    const auto [at, added] = lane.waiting.try_emplace(begin, Waiting{end, arrived});
    if (!added) at->second.end = std::max(at->second.end, end);
    while (!lane.waiting.empty() && lane.waiting.begin()->first <= lane.delivered) {
        const Waiting next = lane.waiting.begin()->second;
        lane.waiting.erase(lane.waiting.begin());
        if (next.end > lane.delivered) deliver(lane, next.end, next.arrived, now);
    }
}

void Ledger::deliver(Lane& lane, std::int64_t to, Time arrived, Time now) {
    const std::int64_t bytes = to - lane.delivered;
    for (std::int64_t at = lane.delivered; at < to && lane.delivering < lane.pieces.size();) {
        const Piece& piece = lane.pieces[lane.delivering];
        const std::int64_t stop = std::min(to, piece.end);
        Outcome& outcome = outcomes[static_cast<std::size_t>(piece.object)];
        outcome.delivered_bytes += stop - at;
        if (outcome.delivered_bytes == plan_.objects[static_cast<std::size_t>(piece.object)].bytes) {
            outcome.complete = now;
            ++finished_;
        }
        at = stop;
        if (stop < piece.end) break;
        ++lane.delivering;
    }
    lane.delivered = to;
    totals.delivered_payload += bytes;
    totals.last_delivery = now;
    if (now > arrived) {
        totals.hol_payload += bytes;
        totals.hol_wait_byte_s += static_cast<double>(bytes) * static_cast<double>(now - arrived) / kNsPerS;
    }
}

// An RTT is that of the oldest segment which an ACK tells of first, if that was sent once (Karn), as in TCP itself. What
// a SACK block has reported is not new to the ACK that covers it when a hole is filled.
void Ledger::handle_ack(const Packet& packet, Time now) {
    Subflow* subflow = find(packet.destination, packet.destination_port);
    if (subflow == nullptr || !packet.has_ack || packet.syn) return;
    ++lanes_[static_cast<std::size_t>(subflow->lane)].heard;
    const std::int64_t ack = unwrap(packet.ack - subflow->isn - 1, subflow->acked);
    Time oldest = kNever;
    const auto tell = [&oldest](const Sent& sent) {
        if (!sent.repeated && !sent.sacked) oldest = std::min(oldest, sent.at);
    };
    if (ack > subflow->acked) {
        slot_[static_cast<std::size_t>(subflow->number)].acked_bytes += ack - subflow->acked;
        passed_[static_cast<std::size_t>(subflow->number)].acked += ack - subflow->acked;
    }
    subflow->acked = std::max(subflow->acked, ack);
    for (; !subflow->flight.empty() && subflow->flight.front().end <= ack; subflow->flight.pop_front())
        tell(subflow->flight.front());
    if (packet.sacks) {
        const std::int64_t begin = unwrap(packet.sack_begin - subflow->isn - 1, ack),
                           end = unwrap(packet.sack_end - subflow->isn - 1, ack);
        auto sent = std::upper_bound(subflow->flight.begin(), subflow->flight.end(), begin,
                                     [](std::int64_t at, const Sent& s) { return at < s.end; });
        for (; sent != subflow->flight.end() && sent->end <= end; ++sent) {
            tell(*sent);
            sent->sacked = true;
        }
    }
    if (oldest == kNever) return;
    ++totals.rtt_samples;
    totals.rtt_sum_s += static_cast<double>(now - oldest) / kNsPerS;
}

void Ledger::give_up(int object) {
    outcomes[static_cast<std::size_t>(object)].given_up = 1;
    ++finished_;
}

double Ledger::wait_p95_s() {
    if (waits_.empty()) return NAN;
    const std::size_t rank =
        std::min(waits_.size() - 1, static_cast<std::size_t>(0.95 * static_cast<double>(waits_.size())));
    std::nth_element(waits_.begin(), waits_.begin() + static_cast<std::ptrdiff_t>(rank), waits_.end());
    return static_cast<double>(waits_[rank]);
}

std::vector<SlotCounts> Ledger::take_slot() {
    std::vector<SlotCounts> taken(slot_.size());
    taken.swap(slot_);
    return taken;
}

}  // namespace transfer
