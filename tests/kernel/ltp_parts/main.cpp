// Parts of `ltp` by themselves, for tests; datagrams come on standard input, each behind its length (4 bytes):
//
//   ltp-parts read             a line of JSON for each that is read as a segment, with the bytes that it is written as; else null
//   ltp-parts below            likewise as repair segments to a receiver's matrices: what it takes, and what comes back
//   ltp-parts code SEED WORDS  encodes and decodes random matrices; prints how many, or ends with what is wrong
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "matrices.hpp"

namespace {

using ltp::Bytes;

bool next(Bytes& datagram) {
    std::uint32_t size = 0;
    if (std::fread(&size, sizeof size, 1, stdin) != 1) return false;
    datagram.resize(size);
    return size == 0 || std::fread(datagram.data(), 1, size, stdin) == size;
}

void print(const char* name, const std::uint8_t* bytes, std::size_t size) {
    std::printf(", \"%s\": \"", name);
    for (std::size_t i = 0; i < size; ++i) std::printf("%02x", bytes[i]);
    std::printf("\"");
}

void read() {
    for (Bytes datagram; next(datagram);) {
        const Bytes given(datagram);  // of its own size, so that a read beyond it is seen
        const auto segment = ltp::read(given.data(), given.size());
        if (!segment) {
            std::puts("null");
            continue;
        }
        std::printf("{\"type\": %d", static_cast<int>(segment->type));
        const auto number = [](const char* name, std::uint64_t value) {
            std::printf(", \"%s\": %" PRIu64, name, value);
        };
        number("originator", segment->originator);
        number("session", segment->session);
        number("service", segment->service);
        number("offset", segment->offset);
        number("checkpoint", segment->checkpoint);
        number("report", segment->report);
        number("upper", segment->upper);
        number("lower", segment->lower);
        number("reason", static_cast<std::uint64_t>(segment->reason));
        number("waited", segment->waited ? 1 : 0);
        if (segment->member) {
            number("matrix", segment->member->matrix);
            number("place", segment->member->place);
        }
        std::printf(", \"claims\": [");
        for (std::size_t i = 0; i < segment->claims.size(); ++i)
            std::printf("%s[%" PRIu64 ", %" PRIu64 "]", i == 0 ? "" : ", ", segment->claims[i].offset,
                        segment->claims[i].length);
        std::printf("]");
        if (segment->data != nullptr) print("data", segment->data, segment->length);
        Bytes again;
        ltp::put(*segment, again);
        print("again", again.data(), again.size());
        std::puts("}");
    }
}

void below() {
    ltp::ArrivedMatrices matrices;
    std::uint64_t taken = 0, back = 0, told = 0;
    for (Bytes datagram; next(datagram);) {
        const Bytes given(datagram);
        if (const auto feedback = ltp::read_feedback(given.data(), given.size())) ++told;
        const auto repair = ltp::read_repair(given.data(), given.size());
        if (!repair || !matrices.add(*repair)) continue;
        ++taken;
        if (const auto symbols = matrices.decode(repair->matrix))
            for (const ltp::Symbol& symbol : *symbols) back += ltp::source_of(symbol) ? 1 : 0;
    }
    std::printf("{\"taken\": %" PRIu64 ", \"back\": %" PRIu64 ", \"feedback\": %" PRIu64 "}\n", taken, back, told);
}

int code(std::uint64_t seed, int words) {
    std::mt19937_64 draw(seed);
    for (int word = 0; word < words; ++word) {
        const std::size_t k = 1 + draw() % 400, lost = 1 + draw() % std::min<std::size_t>(k, 40);
        ltp::SentMatrices sent;
        ltp::ArrivedMatrices arrived;
        std::vector<Bytes> given;
        const std::size_t first = draw() % (k - lost + 1);
        for (std::uint32_t i = 0; i < k; ++i) {
            given.emplace_back(1 + draw() % 90);
            for (std::uint8_t& byte : given.back()) byte = static_cast<std::uint8_t>(draw());
            ltp::Symbol symbol = ltp::symbol_of({7, i}, given.back().data(), given.back().size());
            const std::uint64_t place = sent.add(3, ltp::Symbol(symbol));
            if ((i < first || i >= first + lost) && !arrived.add({3, place}, std::move(symbol))) return 1;
        }
        std::optional<std::vector<ltp::Symbol>> back;
        for (std::size_t row = 0, came = 0; came < lost; ++row) {
            Bytes datagram;
            sent.put_repair(3, datagram);
            if (draw() % 3 == 0) continue;  // lost
            const auto repair = ltp::read_repair(datagram.data(), datagram.size());
            if (back || !repair || !arrived.add(*repair)) return 1;
            ++came;
            back = arrived.decode(3);
        }
        if (!back || back->size() != k) return 1;
        for (std::uint32_t i = 0; i < k; ++i) {
            const auto source = ltp::source_of((*back)[i]);
            const bool same = source && source->place.block == 7 && source->place.segment == i &&
                              Bytes(source->data, source->data + source->size) == given[i];
            if (!same) {
                std::fprintf(stderr, "matrix %d of %zu: symbol %u\n", word, k, i);
                return 1;
            }
        }
    }
    std::printf("%d\n", words);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "read") read();
    if (what == "below") below();
    if (what == "code" && argc == 4) return code(std::strtoull(argv[2], nullptr, 10), std::atoi(argv[3]));
    return 0;
}
