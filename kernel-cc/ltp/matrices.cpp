#include "matrices.hpp"

#include <algorithm>

namespace ltp {

namespace {

constexpr std::uint64_t kMostSource = 65'535;

void put_word(std::uint32_t value, Bytes& to) {
    for (int shift = 24; shift >= 0; shift -= 8) to.push_back(static_cast<std::uint8_t>(value >> shift));
}

std::uint32_t word_at(const std::uint8_t* from) {
    return std::uint32_t{from[0]} << 24 | std::uint32_t{from[1]} << 16 | std::uint32_t{from[2]} << 8 | from[3];
}

}  // namespace

Symbol symbol_of(Place place, const std::uint8_t* data, std::size_t size) {
    Symbol symbol;
    symbol.reserve(kPlaceBytes + size + 1);
    put_word(place.block, symbol);
    put_word(place.segment, symbol);
    symbol.push_back(static_cast<std::uint8_t>(size >> 8));
    symbol.push_back(static_cast<std::uint8_t>(size));
    symbol.insert(symbol.end(), data, data + size);
    symbol.resize((symbol.size() + 1) / 2 * 2, 0);
    return symbol;
}

std::optional<Source> source_of(const Symbol& symbol) {
    if (symbol.size() < kPlaceBytes) return std::nullopt;
    const std::size_t size = std::size_t{symbol[8]} << 8 | symbol[9];
    if (size > symbol.size() - kPlaceBytes) return std::nullopt;
    return Source{{word_at(symbol.data()), word_at(symbol.data() + 4)}, symbol.data() + kPlaceBytes, size};
}

void put(const Repair& repair, Bytes& to) {
    to.clear();
    for (const std::uint32_t value : {repair.matrix, repair.source, repair.row}) put_word(value, to);
    to.insert(to.end(), repair.data, repair.data + repair.size);
}

std::optional<Repair> read_repair(const std::uint8_t* bytes, std::size_t size) {
    if (size <= kRepairBytes + kPlaceBytes || size % 2 != 0) return std::nullopt;
    const Repair read{word_at(bytes), word_at(bytes + 4), word_at(bytes + 8), bytes + kRepairBytes,
                      size - kRepairBytes};
    const bool can_be = read.source > 0 && std::uint64_t{read.source} + read.row <= kMostSource;
    return can_be ? std::optional(read) : std::nullopt;
}

void put(const Feedback& feedback, Bytes& to) {
    to.clear();
    put_word(feedback.matrix, to);
    put_word(feedback.arrived, to);
}

std::optional<Feedback> read_feedback(const std::uint8_t* bytes, std::size_t size) {
    if (size != kFeedbackBytes) return std::nullopt;
    return Feedback{word_at(bytes), word_at(bytes + 4)};
}

std::uint64_t SentMatrices::add(std::uint64_t matrix, Symbol&& symbol) {
    Open& open = open_[matrix];
    held_ += static_cast<std::int64_t>(symbol.size());
    peak_ = std::max(peak_, held_);
    open.longest = std::max(open.longest, symbol.size());
    open.source.push_back(std::move(symbol));
    return open.source.size() - 1;
}

void SentMatrices::put_repair(std::uint64_t matrix, Bytes& to) {
    Open& open = open_[matrix];
    const Symbol sum = repair_symbol(open.source, open.row, open.longest);
    put({static_cast<std::uint32_t>(matrix), static_cast<std::uint32_t>(open.source.size()), open.row++, sum.data(),
         sum.size()},
        to);
}

void SentMatrices::forget(std::uint64_t matrix) {
    for (const Symbol& symbol : open_[matrix].source) held_ -= static_cast<std::int64_t>(symbol.size());
    open_.erase(matrix);
}

void ArrivedMatrices::hold(Open& open, std::size_t bytes) {
    open.held += static_cast<std::int64_t>(bytes);
    held_ += static_cast<std::int64_t>(bytes);
    peak_ = std::max(peak_, held_);
}

bool ArrivedMatrices::add(const Member& member, Symbol&& symbol) {
    if (member.place >= kMostSource || over(member.matrix)) return false;
    Open& open = open_[member.matrix];
    if ((open.k != 0 && (member.place >= open.k || symbol.size() > open.bytes)) || open.decoded) return false;
    const std::size_t bytes = symbol.size();
    if (!open.source.emplace(member.place, std::move(symbol)).second) return false;
    hold(open, bytes);
    return true;
}

// All of a matrix say the same of it, and nothing in it is longer.
bool ArrivedMatrices::add(const Repair& repair) {
    if (over(repair.matrix)) return false;
    Open& open = open_[repair.matrix];
    if (open.k != 0 && (open.k != repair.source || open.bytes != repair.size)) return false;
    if (open.k == 0) {
        for (const auto& [place, symbol] : open.source)
            if (place >= repair.source || symbol.size() > repair.size) return false;
        open.k = repair.source;
        open.bytes = repair.size;
    }
    if (!open.repair.emplace(repair.row, Symbol(repair.data, repair.data + repair.size)).second) return false;
    hold(open, repair.size);
    return true;
}

std::optional<std::vector<Symbol>> ArrivedMatrices::decode(std::uint64_t matrix) {
    Open& open = open_[matrix];
    if (open.decoded || open.k == 0 || open.source.size() + open.repair.size() < open.k) return std::nullopt;
    open.decoded = true;
    std::vector<Symbol> source(open.k);
    for (auto& [place, symbol] : open.source) source[place] = symbol;
    std::vector<RepairSymbol> repair;
    for (const auto& [row, symbol] : open.repair)
        if (repair.size() < open.k - open.source.size()) repair.push_back({row, symbol});
    ltp::decode(source, repair, open.bytes);
    return source;
}

std::uint32_t ArrivedMatrices::source(std::uint64_t matrix) const {
    const auto found = open_.find(matrix);
    if (found == open_.end()) return 0;
    if (found->second.k != 0 || found->second.source.empty()) return found->second.k;
    return static_cast<std::uint32_t>(found->second.source.rbegin()->first) + 1;
}

void ArrivedMatrices::forget(std::uint64_t matrix) {
    held_ -= open_[matrix].held;
    open_.erase(matrix);
    over_.insert(matrix);
}

}  // namespace ltp
