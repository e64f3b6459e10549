// Parts of `coded` by themselves, for tests and benches:
//
//   coded-parts code SEED WORDS        encodes and decodes random words; prints how many, or ends with what is wrong
//   coded-parts speed K R BYTES S      GB/s of source bytes: encode, and decode of R lost packets, for S CPU seconds each
//   coded-parts read PLAN              datagrams from standard input, each behind its length (4 bytes), to the reader and the store;
//                                      prints counts, as a line of JSON. One of no
//                                      bytes: what is whole is forgotten; one of one byte: all deadlines are over
//   coded-parts ask LAYERS SLOTS MS    asks a controller so often on standard output, answers on standard input, with so much
//                                      patience; says on standard error what is to hold, as a line of JSON a slot
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <random>

#include "../../../kernel-cc/transfer/payloads.hpp"
#include "code.hpp"
#include "controller.hpp"
#include "plan.hpp"
#include "store.hpp"

namespace {

using Bytes = std::vector<std::uint8_t>;

std::vector<Bytes> symbols(std::size_t count, std::size_t bytes, std::mt19937_64& draw) {
    std::vector<Bytes> made(count, Bytes(bytes));
    for (Bytes& symbol : made)
        for (std::uint8_t& byte : symbol) byte = static_cast<std::uint8_t>(draw());
    return made;
}

template <class Pointer, class Many>
std::vector<Pointer> pointers(Many& many) {
    std::vector<Pointer> to;
    for (auto& one : many) to.push_back(one.data());
    return to;
}

int code(std::uint64_t seed, int words) {
    std::mt19937_64 draw(seed);
    for (int word = 0; word < words; ++word) {
        const auto k = static_cast<int>(1 + draw() % 254);
        const auto r = static_cast<int>(1 + draw() % static_cast<std::uint64_t>(255 - k));
        const std::size_t bytes = 1 + draw() % 3000;
        const std::vector<Bytes> source = symbols(static_cast<std::size_t>(k), bytes, draw);
        std::vector<Bytes> repair(static_cast<std::size_t>(r), Bytes(bytes));
        const auto from = pointers<const std::uint8_t*>(source);
        const auto to = pointers<std::uint8_t*>(repair);
        const int half = r / 2;  // rows may be made in parts
        if (half > 0) coded::encode(k, bytes, from.data(), 0, half, to.data());
        coded::encode(k, bytes, from.data(), half, r - half, to.data() + half);
        std::vector<int> order(static_cast<std::size_t>(k + r));
        for (int i = 0; i < k + r; ++i) order[static_cast<std::size_t>(i)] = i;
        std::shuffle(order.begin(), order.end(), draw);
        auto there = from;
        std::vector<coded::RepairSymbol> repairs;
        int arrived = 0;
        std::vector<char> came(order.size(), 0);
        for (; arrived < k; ++arrived) came[static_cast<std::size_t>(order[static_cast<std::size_t>(arrived)])] = 1;
        for (int i = 0; i < k; ++i)
            if (!came[static_cast<std::size_t>(i)]) there[static_cast<std::size_t>(i)] = nullptr;
        for (int row = 0; row < r; ++row)
            if (came[static_cast<std::size_t>(k + row)]) repairs.push_back({row, to[static_cast<std::size_t>(row)]});
        std::vector<Bytes> back(repairs.size(), Bytes(bytes));
        const auto out = pointers<std::uint8_t*>(back);
        coded::decode(k, bytes, there.data(), repairs, out.data());
        std::size_t next = 0;
        for (int i = 0; i < k; ++i)
            if (there[static_cast<std::size_t>(i)] == nullptr && back[next++] != source[static_cast<std::size_t>(i)]) {
                std::fprintf(stderr, "word %d: k = %d, r = %d, %zu bytes: source %d is not back\n", word, k, r, bytes,
                             i);
                return 1;
            }
    }
    std::printf("%d\n", words);
    return 0;
}

double cpu_s() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

template <class Work>
double gb_s(double bytes, double seconds, Work&& work) {
    work();
    const double begin = cpu_s();
    int times = 0;
    double took = 0;
    for (; took < seconds; took = cpu_s() - begin, ++times) work();
    return bytes * times / took / 1e9;
}

int speed(int k, int r, std::size_t bytes, double seconds) {
    std::mt19937_64 draw(1);
    const std::vector<Bytes> source = symbols(static_cast<std::size_t>(k), bytes, draw);
    std::vector<Bytes> repair(static_cast<std::size_t>(r), Bytes(bytes)), back(repair);
    const auto from = pointers<const std::uint8_t*>(source);
    const auto to = pointers<std::uint8_t*>(repair), out = pointers<std::uint8_t*>(back);
    auto there = from;
    std::vector<coded::RepairSymbol> repairs;
    for (int i = 0; i < r; ++i) {
        there[static_cast<std::size_t>(i * (k / r))] = nullptr;
        repairs.push_back({i, to[static_cast<std::size_t>(i)]});
    }
    const double all = static_cast<double>(k) * static_cast<double>(bytes);
    const double encoded = gb_s(all, seconds, [&] { coded::encode(k, bytes, from.data(), 0, r, to.data()); });
    const double decoded = gb_s(all, seconds, [&] { coded::decode(k, bytes, there.data(), repairs, out.data()); });
    for (int i = 0; i < r; ++i)
        if (back[static_cast<std::size_t>(i)] != source[static_cast<std::size_t>(i * (k / r))]) return 1;
    std::printf("%.4f %.4f\n", encoded, decoded);
    return 0;
}

int read(const char* path) {
    const coded::Plan plan = coded::read_plan(path);
    const dstcc::EngineConfig& config = plan.engine;
    const dstcc::BlockMap map(config.objects, config.coding);
    const coded::Catalogue catalogue(config.objects, map, static_cast<std::size_t>(config.transport.mss_bytes),
                                     plan.paths.size());
    transfer::Payloads payloads(plan.payloads);
    std::int64_t parts = 0, wrong = 0, taken = 0, source = 0, repair = 0, other = 0;
    coded::Store store(catalogue, [&](std::uint32_t object, const std::uint8_t* bytes, std::size_t size) {
        const char* own = payloads.at(static_cast<int>(object), 0, static_cast<std::int64_t>(size));
        ++parts;
        wrong += std::memcmp(bytes, own, size) != 0;
    });
    coded::Refused refused, heard;
    std::uint32_t size;
    while (std::fread(&size, 4, 1, stdin) == 1) {
        const auto bytes = std::make_unique<std::uint8_t[]>(size);  // no byte more, so that a reader beyond it is seen
        if (std::fread(bytes.get(), 1, size, stdin) != size) return 2;
        if (size <= 1) store.forget(size == 0 ? 0 : dstcc::kNever - 1);
        coded::read_heard({1000}, 12, bytes.get(), size, heard);
        const auto data = coded::read_data(catalogue, bytes.get(), size, refused);
        if (!data) continue;
        const coded::Kind kind = data->header.kind;
        ++(kind == coded::Kind::kSource ? source : kind == coded::Kind::kRepair ? repair : other);
        if (kind == coded::Kind::kSource || kind == coded::Kind::kRepair) taken += store.take(*data, refused);
    }
    std::int64_t decoded = 0;
    for (std::uint32_t block = 0; block < map.blocks(); ++block) decoded += store.decoded(block);
    std::printf("{\"damaged\": %" PRId64 ", \"fields\": %" PRId64 ", \"again\": %" PRId64 ", \"source\": %" PRId64
                ", \"repair\": %" PRId64 ", \"other\": %" PRId64 ", \"taken\": %" PRId64 ", \"parts\": %" PRId64
                ", \"wrong\": %" PRId64 ", \"decoded\": %" PRId64 ", \"heard_damaged\": %" PRId64
                ", \"heard_fields\": %" PRId64 "}\n",
                refused.damaged, refused.fields, refused.again, source, repair, other, taken, parts, wrong, decoded,
                heard.damaged, heard.fields);
    return 0;
}

int ask(std::size_t layers, int slots, dstcc::Time patience) {
    std::signal(SIGPIPE, SIG_IGN);
    coded::Controller controller(0, 1, layers, patience);
    for (int slot = 0; slot < slots; ++slot) {
        const auto action = controller.ask("0.5");
        std::fprintf(stderr, "{\"unusable\": %" PRId64 ", \"gone\": %s", controller.unusable(),
                     controller.gone() ? "true" : "false");
        if (action) {
            std::fprintf(stderr, ", \"place\": %d, \"layers\": [", action->place);
            for (std::size_t m = 0; m < action->repair.size(); ++m)
                std::fprintf(stderr, "%s[%.17g, %d]", m == 0 ? "" : ", ", action->repair[m], action->left_out[m]);
            std::fprintf(stderr, "]");
        }
        std::fprintf(stderr, "}\n");
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const std::string what = argc > 1 ? argv[1] : "";
        if (what == "code" && argc == 4) return code(std::strtoull(argv[2], nullptr, 10), std::atoi(argv[3]));
        if (what == "speed" && argc == 6)
            return speed(std::atoi(argv[2]), std::atoi(argv[3]), static_cast<std::size_t>(std::atoi(argv[4])),
                         std::atof(argv[5]));
        if (what == "read" && argc == 3) return read(argv[2]);
        if (what == "ask" && argc == 5)
            return ask(static_cast<std::size_t>(std::atoi(argv[2])), std::atoi(argv[3]),
                       1'000'000 * std::atoll(argv[4]));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    std::fprintf(stderr, "usage: coded-parts code SEED WORDS | speed K R BYTES S | read PLAN | ask LAYERS SLOTS MS\n");
    return 2;
}
