// The datagrams of `coded`, in little-endian numbers. They weigh what the simulator's weigh, since netem leaves kFreeDown and
// kFreeUp bytes of each out of account (dstcc_kernel/coded.py).
//
//   all       magic 2, kind 1, subflow 1, CRC-32 of the datagram with these four bytes as zeros 4
//   data      number 4, time of sending 8, block 4, word 1, index in the word 1, source packets of the block 2 (repair; else 0);
//             then a symbol. A SYN has no symbol, a probe one byte in its place
//   symbol    object 4, offset 4, the object's bytes 4, payload's bytes 2, zeros 2; the payload. That of a repair packet is a
//             sum of the word's symbols, each filled up with zeros, so that what they say of themselves is brought back, too
//   ACK       largest number + 1 4, the receiver's wait 8, what the largest took 8, ranges 2, bytes of an answer 2, packets of the
//             newest range 4; for each older one what is missing between 2 and its packets 2; where the count of ranges has its
//             highest bit, how many packets arrived before them 4; the answer: a bit for each layer that the sender asks for
//             (coding/asking.cpp), of a byte the lowest first
//   answer    of a SYN: its time of sending 8, what it took 8, zeros 4
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coding/blocks.hpp"
#include "coding/flight.hpp"

namespace coded {

using dstcc::Time;

enum class Kind : std::uint8_t { kSource = 1, kRepair = 2, kProbe = 3, kSyn = 4, kAnswer = 5, kAck = 6 };

constexpr std::size_t kCommonBytes = 8, kDataBytes = 28, kPrefixBytes = 16, kAckBytes = 36, kAckRangeBytes = 4,
                      kAnswerBytes = 28;
constexpr std::size_t kMostBytes = 65'507;
constexpr int kWordPackets = 255;  // of a code word: Cauchy Reed-Solomon over GF(2^8)

// What a source packet says of itself, and a repair packet's sum brings back.
struct Piece {
    std::uint32_t object = 0, offset = 0, size = 0;
    std::uint16_t length = 0;
};
void put(const Piece& piece, std::uint8_t* to);
Piece piece_at(const std::uint8_t* from);

struct DataHeader {
    Kind kind = Kind::kSource;
    std::uint8_t subflow = 0;
    std::uint32_t number = 0;
    Time sent = 0;
    std::uint32_t block = 0;
    std::uint8_t word = 0, index = 0;
    std::uint16_t source = 0;
};
// A data packet as it was read: `symbol` points into the datagram.
struct Data {
    DataHeader header;
    Piece piece;  // of a source packet
    const std::uint8_t* symbol = nullptr;
    std::size_t symbol_bytes = 0;
};

// The datagram's headers; its symbol follows, then seal() it.
void put(const DataHeader& header, std::vector<std::uint8_t>& to);
void put_answer(std::uint8_t subflow, Time sent, Time took, std::vector<std::uint8_t>& to);
void put_ack(std::uint8_t subflow, const dstcc::PacketAck& ack, const std::vector<bool>& there,
             std::vector<std::uint8_t>& to);
void seal(std::vector<std::uint8_t>& datagram);

// Why datagrams were not used.
struct Refused {
    std::int64_t damaged = 0;  // too short, not ours, or another CRC
    std::int64_t fields = 0;   // of a block, size, word or layer that there is not, or another length than they say
    std::int64_t behind = 0;   // came behind a later one
    std::int64_t again = 0;    // of a place in its word that was taken
    std::int64_t total() const { return damaged + fields + behind + again; }
};

// What both ends know of a mission: the layers and how they are coded.
struct Catalogue {
    const dstcc::ObjectsConfig& objects;
    const dstcc::BlockMap& map;
    std::size_t mss;
    std::size_t subflows;
    std::vector<std::uint32_t> packets;  // by block: the source packets of all its layers' parts

    Catalogue(const dstcc::ObjectsConfig& objects, const dstcc::BlockMap& map, std::size_t mss, std::size_t subflows);
    std::size_t payload(const Piece& piece) const;  // what a source packet there has
};

// Is it a piece of a layer's part in that block, as packets are cut?
bool fits(const Catalogue& of, const Piece& piece, std::uint32_t block);

// A data packet, unless it is refused: any bytes may come in.
std::optional<Data> read_data(const Catalogue& of, const std::uint8_t* bytes, std::size_t size, Refused& refused);

// An ACK or an answer to a SYN, unless it is refused. `sent`: numbers that were used, by subflow; `asked`: so many layers.
struct Heard {
    Kind kind;
    std::size_t subflow;
    Time echo = 0;  // of an answer
    dstcc::PacketAck ack;
    std::vector<bool> there;  // an answer to what is asked; none: it has none
};
std::optional<Heard> read_heard(const std::vector<std::int64_t>& sent, std::size_t asked, const std::uint8_t* bytes,
                                std::size_t size, Refused& refused);

}  // namespace coded
