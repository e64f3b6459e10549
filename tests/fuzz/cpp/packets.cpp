// libFuzzer over the reader of coded datagrams, its store and its decoder (kernel-cc/coded): whatever comes in.
//
// The input is datagrams, each behind a byte of what to do and two of its length. Bit 0 of that byte puts the magic and the
// right CRC into the datagram, so that what is behind the check is reached; bit 1 lets deadlines pass.
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "packet.hpp"
#include "store.hpp"

namespace {

constexpr std::int64_t kMss = 200;

// Eight chunks of three layers, two chunks a block; layers of a few packets, some shorter than one.
struct Mission {
    dstcc::ObjectsConfig objects;
    dstcc::CodingConfig coding;
    Mission() {
        for (std::int64_t chunk = 0; chunk < 8; ++chunk)
            for (int layer = 0; layer < 3; ++layer) {
                chunks.push_back(chunk);
                layers.push_back(static_cast<std::uint8_t>(layer));
                bytes.push_back(90 + 333 * layer + 7 * chunk);
                release.push_back(chunk * 1000);
                deadline.push_back(chunk * 1000 + 5000);
                period.push_back(static_cast<std::uint32_t>(chunk / 2));
            }
        objects.chunk = std::move(chunks);
        objects.layer = std::move(layers);
        objects.payload_bytes = std::move(bytes);
        objects.release_ns = std::move(release);
        objects.deadline_ns = std::move(deadline);
        coding.period = std::move(period);
        coding.block_ns = 2000;
        coding.word_packets = coded::kWordPackets;
        coding.words = {1, 2, 1};
    }

private:
    std::vector<std::int64_t> chunks, bytes;
    std::vector<std::uint8_t> layers;
    std::vector<dstcc::Time> release, deadline;
    std::vector<std::uint32_t> period;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Mission mission;
    static const dstcc::BlockMap map(mission.objects, mission.coding);
    static const coded::Catalogue catalogue(mission.objects, map, kMss, 2);
    coded::Store store(catalogue, [](std::uint32_t object, const std::uint8_t* bytes, std::size_t length) {
        volatile std::uint8_t all = 0;
        for (std::size_t i = 0; i < length; ++i) all = static_cast<std::uint8_t>(all ^ bytes[i]);
        if (length != static_cast<std::size_t>(mission.objects.payload_bytes[object])) __builtin_trap();
    });
    coded::Refused refused, heard;
    while (size >= 3) {
        const unsigned what = data[0];
        std::size_t length = static_cast<std::size_t>(data[1]) | static_cast<std::size_t>(data[2]) << 8;
        data += 3, size -= 3;
        if (length > size) length = size;
        std::vector<std::uint8_t> datagram(data, data + length);
        data += length, size -= length;
        if ((what & 1) != 0 && length >= coded::kCommonBytes) {
            datagram[0] = 0xcd, datagram[1] = 0xd5;
            coded::seal(datagram);
        }
        if ((what & 2) != 0) store.forget(dstcc::kNever - 1);
        const auto exact = std::make_unique<std::uint8_t[]>(datagram.size());  // a byte beyond it is seen
        if (!datagram.empty()) std::memcpy(exact.get(), datagram.data(), datagram.size());
        coded::read_heard({1000, 3}, 12, exact.get(), datagram.size(), heard);
        const auto read = coded::read_data(catalogue, exact.get(), datagram.size(), refused);
        if (!read) continue;
        if (read->header.kind != coded::Kind::kSource && read->header.kind != coded::Kind::kRepair) continue;
        try {
            store.take(*read, refused);
        } catch (const std::runtime_error&) {  // forged packets with the right CRC: the program ends and says so
            return 0;
        }
    }
    if (store.held_bytes() < 0 || store.held_bytes() > store.peak_bytes()) __builtin_trap();
    return 0;
}
