#include "earth.hpp"

#include "link/planned_path.hpp"

namespace coded {

Earth::Earth(const Plan& plan, const dstcc::BlockMap& map, Store::Check check, dstcc::Timers delayed_acks)
    : plan_(plan),
      catalogue_(plan.engine.objects, map, static_cast<std::size_t>(plan.engine.transport.mss_bytes),
                 plan.paths.size()),
      store_(catalogue_, std::move(check)),
      headers_(map.blocks(), plan.engine.objects.size()),
      ranges_(plan.paths.size()),
      receiving_(plan.engine.objects, plan.engine.coding, plan.engine.seed, map, headers_,
                 static_cast<std::uint32_t>(plan.engine.transport.header_bytes),
                 plan.engine.transport.constants.delayed_ack, delayed_acks),
      next_(plan.paths.size(), 0) {
    enter(plan.earth_ns);
    const dstcc::TransportConfig& transport = plan.engine.transport;
    const auto full = static_cast<std::uint32_t>(transport.mss_bytes + transport.header_bytes);
    for (std::size_t own = 0; own < plan.engine.links.size(); ++own) {
        uplinks_.push_back(links::Direction::seen(plan.last_hop(own), true, plan.engine.seed, own, full));
        uplink_.push_back(plan.ends_as(own));
    }
    for (const std::string& earth : plan.earths) sockets_.emplace_back(address(earth, kEarthPort), nullptr);
    for (std::size_t s = 0; s < plan.paths.size(); ++s) peers_.push_back(address(plan.paths[s].craft, kCraftPort + s));
}

void Earth::add(bool reports, const dstcc::PlannedWay& up) {
    const std::size_t s = added_++;
    std::optional<dstcc::CodedReceivingEnd::WayBack> back;
    if (reports) back = {up, dstcc::slowest_back(plan_.engine, plan_.paths[s].link)};
    receiving_.add(dstcc::AckTransmitter(*this, s), ranges_[s], std::move(back));
}

void Earth::handle(Time now, std::size_t link, const Datagram& datagram) {
    const std::optional<Data> data = read_data(catalogue_, datagram.bytes, datagram.size, refused_);
    if (!data) return;
    const DataHeader& header = data->header;
    const std::size_t subflow = header.subflow;
    if (plan_.paths[subflow].link != link) {
        ++refused_.fields;
        return;
    }
    dstcc::DataPacket packet{};
    packet.sent_ns = std::min(header.sent, now);
    packet.sender = static_cast<std::uint16_t>(subflow);
    packet.order = dstcc::kNoBlock;
    if (header.kind == Kind::kSyn) return receiving_.handle_data(now, packet);
    const std::int64_t number = dstcc::widen(next_[subflow], header.number);
    if (number < next_[subflow]) {  // a link is first in, first out, but where its light time has just become shorter
        ++refused_.behind;
        return;
    }
    packet.number = header.number;
    packet.object = dstcc::kNoObject;
    packet.bytes = 1;
    if (header.kind != Kind::kProbe) {
        if (!store_.take(*data, refused_)) return;
        headers_.source[header.block] = store_.source(header.block);
        for (std::uint32_t i = 0; store_.decoded(header.block) && i < catalogue_.map.size(header.block); ++i) {
            const std::uint32_t object = catalogue_.map.member(header.block, i);
            headers_.whole[object] = store_.whole(object);
        }
        if (!store_.late(header.block)) packet.order = dstcc::in_block(header.block, header.word);
        packet.bytes = static_cast<std::uint16_t>(data->symbol_bytes - kPrefixBytes);
        if (header.kind == Kind::kSource) packet.object = data->piece.object;
    }
    for (std::int64_t n = next_[subflow]; n < number; ++n) missing_.emplace_back(subflow, n);
    next_[subflow] = number + 1;
    receiving_.handle_data(now, packet);
    if (header.kind == Kind::kProbe) return;
    if ((receiving_.blocks()[header.block].decoded_ns >= 0) != store_.decoded(header.block))
        throw Failure("block " + std::to_string(header.block) +
                      ": the bytes and the counts say different things of it");
}

void Earth::send(Time now, std::size_t subflow, const dstcc::Ack& ack, std::uint32_t bytes) {
    if (ack.kind == dstcc::kSyn)
        put_answer(static_cast<std::uint8_t>(subflow), ack.echo_ns, ack.one_way_ns, answer_);
    else {
        const dstcc::Named named = dstcc::Named::unpack(ack.delivered);
        dstcc::PacketAck said = ranges_[subflow].say(named, ack.cumulative);
        said.wait_ns = ack.echo_ns;
        said.one_way_ns = ack.one_way_ns;
        std::vector<bool> there;
        if (named.answer > 0) there = receiving_.there(subflow, named.answer);
        put_ack(static_cast<std::uint8_t>(subflow), said, there, answer_);
    }
    const std::size_t link = plan_.paths[subflow].link;
    uplinks_[uplink_[link]].transmit(now, bytes);
    sockets_[link].send(answer_, &peers_[subflow]);
}

std::vector<std::pair<std::int64_t, std::int64_t>> Earth::missing(const std::vector<std::int64_t>& sent) const {
    auto all = missing_;
    for (std::size_t s = 0; s < sent.size(); ++s)
        for (std::int64_t n = next_[s]; n < sent[s]; ++n) all.emplace_back(s, n);
    return all;
}

}  // namespace coded
