#include "craft.hpp"

#include <algorithm>
#include <cstring>

#include "code.hpp"

namespace coded {

namespace {

constexpr int kRowsAtOnce = 8;  // of a word: its symbols are put together once for so many repair packets

}  // namespace

Craft::Craft(const Plan& plan, const dstcc::BlockMap& map, const dstcc::BlockHeaders& headers,
             transfer::Payloads& payloads)
    : plan_(plan),
      map_(map),
      headers_(headers),
      payloads_(payloads),
      mss_(static_cast<std::size_t>(plan.engine.transport.mss_bytes)),
      packets_(plan.engine.objects.size(), 0),
      block_packets_(map.blocks(), 0),
      words_(map.blocks()),
      sent_(plan.paths.size(), 0) {
    const dstcc::TransportConfig& transport = plan.engine.transport;
    const auto full = static_cast<std::uint32_t>(transport.mss_bytes + transport.header_bytes);
    for (const dstcc::LinkConfig& link : plan.engine.links)
        lines_.push_back(links::Direction::seen(link, false, plan.engine.seed, lines_.size(), full));
    enter(plan.craft_ns);
    for (std::size_t s = 0; s < plan.paths.size(); ++s) {
        const Path& path = plan.paths[s];
        const sockaddr_in own = address(path.craft, kCraftPort + s);
        const sockaddr_in peer = address(plan.earths[path.link], kEarthPort);
        sockets_.emplace_back(own, &peer);
    }
}

Time Craft::send(Time now, std::size_t subflow, std::int64_t number, std::uint32_t object, std::uint32_t order,
                 std::uint16_t bytes, std::uint32_t header_bytes) {
    DataHeader header;
    header.subflow = static_cast<std::uint8_t>(subflow);
    header.number = static_cast<std::uint32_t>(number);
    header.sent = now;
    if (bytes == 0) {
        header.kind = Kind::kSyn;
    } else {
        sent_[subflow] = number + 1;
        header.kind = order == dstcc::kNoBlock     ? Kind::kProbe
                      : object == dstcc::kNoObject ? Kind::kRepair
                                                   : Kind::kSource;
    }
    if (header.kind == Kind::kSource || header.kind == Kind::kRepair) {
        header.block = dstcc::block_in(order);
        header.word = static_cast<std::uint8_t>(dstcc::word_in(order));
    }
    if (header.kind == Kind::kSource)
        put_source(header, object, bytes);
    else if (header.kind == Kind::kRepair)
        put_repair(header, bytes);
    else {
        put(header, datagram_);
        datagram_.resize(kDataBytes + kPrefixBytes + bytes, 0);
    }
    seal(datagram_);
    sockets_[subflow].send(datagram_, nullptr);

    return lines_[plan_.begins_as(plan_.paths[subflow].link)].transmit(now, bytes + header_bytes).wait_ns;
}

Piece Craft::piece(const Source& source) const {
    const auto size = static_cast<std::size_t>(plan_.engine.objects.payload_bytes[source.object]);
    const std::size_t offset = source.packet * mss_;
    return {source.object, static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(size),
            static_cast<std::uint16_t>(std::min(mss_, size - offset))};
}

Craft::Word& Craft::word(std::uint32_t block, std::uint32_t number) {
    std::vector<Word>& words = words_[block];
    if (words.empty()) words.resize(map_.words(block));
    return words[number];
}

void Craft::put_source(DataHeader& header, std::uint32_t object, std::uint16_t bytes) {
    const Source source{object, packets_[object]++};
    Word& in = word(header.block, header.word);
    header.index = static_cast<std::uint8_t>(in.source.size());
    in.source.push_back(source);
    ++block_packets_[header.block];
    const Piece of = piece(source);
    if (of.length != bytes || in.source.size() >= kWordPackets)
        throw Failure("the sending end cuts packets otherwise than their headers say");
    put(header, datagram_);
    datagram_.resize(kDataBytes + kPrefixBytes + bytes);
    put(of, &datagram_[kDataBytes]);
    std::memcpy(&datagram_[kDataBytes + kPrefixBytes], payloads_.at(static_cast<int>(object), of.offset, of.length),
                of.length);
}

void Craft::put_repair(DataHeader& header, std::uint16_t bytes) {
    Word& of = word(header.block, header.word);
    if (headers_.source[header.block] != block_packets_[header.block])
        throw Failure("a block has other source packets than were sent of it");
    header.source = static_cast<std::uint16_t>(headers_.source[header.block]);
    header.index = static_cast<std::uint8_t>(of.next);
    if (of.made.empty()) make(of, kPrefixBytes + bytes);
    put(header, datagram_);
    datagram_.insert(datagram_.end(), of.made.front().begin(), of.made.front().end());
    held_ -= static_cast<std::int64_t>(of.made.front().size());
    of.made.pop_front();
    ++of.next;
}

void Craft::make(Word& word, std::size_t bytes) {
    const auto k = static_cast<int>(word.source.size());
    const int rows = std::min(kRowsAtOnce, kWordPackets - k - word.next);
    if (k == 0 || rows <= 0) throw Failure("a code word has no room for another repair packet");
    std::vector<std::uint8_t> symbols(static_cast<std::size_t>(k) * bytes, 0);
    std::vector<const std::uint8_t*> source;
    for (const Source& one : word.source) {
        std::uint8_t* const symbol = &symbols[source.size() * bytes];
        const Piece of = piece(one);
        put(of, symbol);
        std::memcpy(symbol + kPrefixBytes, payloads_.at(static_cast<int>(of.object), of.offset, of.length), of.length);
        source.push_back(symbol);
    }
    std::vector<std::uint8_t*> repair;
    for (int row = 0; row < rows; ++row) repair.push_back(word.made.emplace_back(bytes).data());
    encode(k, bytes, source.data(), word.next, rows, repair.data());
    held_ += static_cast<std::int64_t>(bytes) * rows;
    peak_ = std::max(peak_, held_ + static_cast<std::int64_t>(symbols.size()));
}

void Craft::forget(std::uint32_t block) {
    for (const Word& word : words_[block])
        for (const std::vector<std::uint8_t>& symbol : word.made) held_ -= static_cast<std::int64_t>(symbol.size());
    std::vector<Word> none;
    words_[block].swap(none);
}

Time Craft::room_at(std::size_t link, Time now, std::uint32_t bytes) const {
    return lines_[plan_.begins_as(link)].room_at(now, bytes);
}

Time Craft::queue_ns(std::size_t link, Time now) const { return lines_[plan_.begins_as(link)].at(now).queue_ns(now); }

std::int64_t Craft::queue_bytes(std::size_t link, Time now) const {
    return lines_[plan_.begins_as(link)].at(now).queue_bytes(now);
}

Time Craft::full_service_ns(std::size_t link, Time now) const {
    return lines_[plan_.begins_as(link)].line().full_service_ns(now);
}

}  // namespace coded
