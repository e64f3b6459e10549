#include "store.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "code.hpp"

namespace coded {

Store::Store(const Catalogue& catalogue, Check check)
    : catalogue_(catalogue),
      check_(std::move(check)),
      blocks_(catalogue.map.blocks()),
      parts_(catalogue.objects.size()),
      whole_(catalogue.objects.size(), 0),
      last_deadline_(catalogue.map.blocks(), -1) {
    for (std::uint32_t object = 0; object < catalogue.objects.size(); ++object) {
        const std::uint32_t block = catalogue.map.block_of(object);
        last_deadline_[block] = std::max(last_deadline_[block], catalogue.objects.deadline_ns[object]);
    }
    for (std::uint32_t block = 0; block < blocks_.size(); ++block) blocks_[block].parts = catalogue.map.size(block);
}

Store::Symbol Store::keep(Block& block, const std::uint8_t* from, std::size_t bytes, std::size_t filled) {
    Symbol symbol{std::make_unique<std::uint8_t[]>(filled), filled};
    if (from != nullptr) std::memcpy(symbol.bytes.get(), from, bytes);
    block.held += static_cast<std::int64_t>(filled);
    held_ += static_cast<std::int64_t>(filled);
    peak_ = std::max(peak_, held_);
    block_peak_ = std::max(block_peak_, block.held);
    return symbol;
}

bool Store::take(const Data& data, Refused& refused) {
    const DataHeader& header = data.header;
    Block& block = blocks_[header.block];
    const bool repair = header.kind == Kind::kRepair;
    const std::uint32_t words = catalogue_.map.words(header.block);
    const auto refuse = [&](std::int64_t& count) {
        ++count;
        return false;
    };
    const std::uint32_t source = repair ? header.source : block.source;
    if (repair) {  // all say the same of their block, and nothing in it is longer
        if (block.source != 0 && (block.source != source || block.symbol_bytes != data.symbol_bytes))
            return refuse(refused.fields);
        if (data.symbol_bytes < block.longest) return refuse(refused.fields);
    } else if (block.source != 0 &&
               (header.index >= dstcc::in_word(source, header.word, words) || data.symbol_bytes > block.symbol_bytes)) {
        return refuse(refused.fields);
    }
    if (block.over) {
        if (repair && block.parts == 0) {  // all was there before a repair packet told k
            block.source = source;
            block.symbol_bytes = static_cast<std::uint32_t>(data.symbol_bytes);
            block.decoded = true;
        }
        return true;
    }
    if (block.words.empty()) {
        block.words.resize(words);
        open_.push_back(header.block);
    }
    Word& word = block.words[header.word];
    if (repair && block.source == 0) {
        for (std::uint32_t w = 0; w < words; ++w)  // a source packet beyond k was there before
            if (block.words[w].source.size() > dstcc::in_word(source, w, words)) return refuse(refused.fields);
        block.source = source;
        block.symbol_bytes = static_cast<std::uint32_t>(data.symbol_bytes);
    }
    if (repair) {
        for (const auto& [row, symbol] : word.repair)
            if (row == header.index) return refuse(refused.again);
        if (!word.done) {
            word.repair.emplace_back(header.index, keep(block, data.symbol, data.symbol_bytes, data.symbol_bytes));
            try_decode(header.block);
        }
        return true;
    }
    if (word.source.size() <= header.index) word.source.resize(header.index + std::size_t{1});
    Part& part = parts_[data.piece.object];
    const std::size_t place = data.piece.offset / catalogue_.mss;
    if (word.done) return true;  // it was brought back before it came
    if (word.source[header.index].bytes != nullptr || (!part.packets.empty() && part.packets[place] != nullptr))
        return refuse(refused.again);
    Symbol symbol = keep(block, data.symbol, data.symbol_bytes, data.symbol_bytes);
    const std::uint8_t* const payload = symbol.bytes.get() + kPrefixBytes;
    block.longest = std::max(block.longest, static_cast<std::uint32_t>(data.symbol_bytes));
    word.source[header.index] = std::move(symbol);
    ++word.arrived;
    put(block, data.piece, payload);
    if (!block.over && block.source != 0) try_decode(header.block);
    return true;
}

// A source packet's payload, of its own or brought back; the part is put together when it was the last.
void Store::put(Block& block, const Piece& piece, const std::uint8_t* payload) {
    Part& part = parts_[piece.object];
    if (part.packets.empty()) part.packets.resize((piece.size + catalogue_.mss - 1) / catalogue_.mss, nullptr);
    part.packets[piece.offset / catalogue_.mss] = payload;
    if (++part.there < part.packets.size()) return;
    std::vector<std::uint8_t> bytes;
    bytes.reserve(piece.size);
    for (std::size_t i = 0; i < part.packets.size(); ++i)
        bytes.insert(bytes.end(), part.packets[i],
                     part.packets[i] + std::min<std::size_t>(catalogue_.mss, piece.size - i * catalogue_.mss));
    check_(piece.object, bytes.data(), bytes.size());
    checked_ += piece.size;
    whole_[piece.object] = 1;
    --block.parts;
}

// The block is back when each of its words is.
void Store::try_decode(std::uint32_t number) {
    Block& block = blocks_[number];
    if (block.decoded || block.source == 0) return;
    const std::uint32_t words = catalogue_.map.words(number);
    for (std::uint32_t w = 0; w < words; ++w)
        if (block.words[w].arrived + block.words[w].repair.size() < dstcc::in_word(block.source, w, words)) return;
    block.decoded = true;
    for (std::uint32_t w = 0; w < words; ++w)
        if (!restore(number, w)) throw std::runtime_error("a block came back damaged");
}

bool Store::restore(std::uint32_t number, std::uint32_t w) {
    Block& block = blocks_[number];
    Word& word = block.words[w];
    const std::uint32_t k = dstcc::in_word(block.source, w, catalogue_.map.words(number));
    word.source.resize(k);
    word.done = true;
    std::vector<std::size_t> missing;
    std::vector<std::vector<std::uint8_t>> filled;  // symbols with zeros behind
    std::vector<const std::uint8_t*> source(k, nullptr);
    filled.reserve(k);
    for (std::uint32_t i = 0; i < k; ++i) {
        const Symbol& symbol = word.source[i];
        if (symbol.bytes == nullptr) {
            missing.push_back(i);
            continue;
        }
        filled.emplace_back(block.symbol_bytes, 0);
        std::memcpy(filled.back().data(), symbol.bytes.get(), symbol.size);
        source[i] = filled.back().data();
    }
    std::vector<RepairSymbol> repairs;
    for (std::size_t i = 0; i < missing.size(); ++i)
        repairs.push_back({word.repair[i].first, word.repair[i].second.bytes.get()});
    std::vector<std::uint8_t*> out;
    for (const std::size_t i : missing) {
        word.source[i] = keep(block, nullptr, 0, block.symbol_bytes);
        out.push_back(word.source[i].bytes.get());
    }
    decode(static_cast<int>(k), block.symbol_bytes, source.data(), repairs, out.data());
    for (const std::uint8_t* symbol : out) {
        const Piece piece = piece_at(symbol);
        if (!fits(catalogue_, piece, number) || kPrefixBytes + piece.length > block.symbol_bytes) return false;
        const Part& part = parts_[piece.object];
        if (!part.packets.empty() && part.packets[piece.offset / catalogue_.mss] != nullptr) return false;
        put(block, piece, symbol + kPrefixBytes);
    }
    word.repair.clear();
    return true;
}

void Store::drop(Block& block) {
    block.over = true;
    block.words.clear();
    block.words.shrink_to_fit();
    held_ -= block.held;
    block.held = 0;
}

void Store::forget(Time now) {
    const auto gone = [&](std::uint32_t number) {
        Block& block = blocks_[number];
        if (block.parts > 0 && !block.decoded && last_deadline_[number] >= now) return false;
        drop(block);
        for (std::uint32_t i = 0; i < catalogue_.map.size(number); ++i) {
            std::vector<const std::uint8_t*> none;
            parts_[catalogue_.map.member(number, i)].packets.swap(none);
        }
        return true;
    };
    open_.erase(std::remove_if(open_.begin(), open_.end(), gone), open_.end());
}

}  // namespace coded
