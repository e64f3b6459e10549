// The spacecraft's segments: those that the sending end (ltp/sending_end.hpp) puts on its links, with their bytes, and what comes
// back. Repair segments of matrices are sums of the source segments that left, each with its place before its bytes (matrices.hpp).
#pragma once

#include <map>
#include <memory>

#include "../coded/ends.hpp"
#include "../transfer/payloads.hpp"
#include "ltp/sending_end.hpp"
#include "matrices.hpp"
#include "segment.hpp"

namespace ltp {

using coded::Datagram;
using coded::Plan;
using coded::Socket;
using dstcc::Time;

constexpr std::uint16_t kPort = 1113, kBelowPort = 1114;  // IANA's of ltp; and that of what is below it, on both hosts
constexpr std::uint64_t kEngine = 1;                      // the spacecraft's: of its sessions

// Datagrams that say what cannot be, and are not used.
struct Refused {
    std::int64_t damaged = 0, fields = 0;
    std::int64_t total() const { return damaged + fields; }
};

// Sessions are numbered as blocks are, from 1 on. Nothing, if there is no such block.
std::optional<std::uint32_t> block_of(const Segment& segment, const dstcc::LtpBlocks& blocks);
// Segments of a block from bytes of it, if it is so cut.
std::optional<dstcc::Range> segments_of(const dstcc::LtpBlocks& blocks, std::uint32_t block, std::uint64_t begin,
                                        std::uint64_t end);
// Bytes of a block up to its segment.
std::uint64_t bytes_to(const dstcc::LtpBlocks& blocks, std::uint32_t block, std::int64_t segment);

// The spacecraft's address on a link.
const std::string& craft_of(const Plan& plan, std::size_t link);

// What came back, as the sending end has it.
struct Heard {
    dstcc::UpSegment segment;
    std::vector<dstcc::Range> claims;
};

class Craft : public dstcc::Carrier<dstcc::DownSegment> {
public:
    Craft(const Plan& plan, const dstcc::LtpBlocks& blocks, const dstcc::MatrixHeaders& headers,
          transfer::Payloads& payloads);

    dstcc::Way<dstcc::DownSegment>& way(std::size_t link) { return ways_[link]; }
    void send(std::size_t link, const dstcc::DownSegment& segment, const dstcc::Range* beside,
              std::size_t ranges) override;
    void see(const links::Queues& queues) { coded::see_others(queues, plan_, false, lines_); }
    // What came back on a link's socket of segments, or of what is below them, since the last call.
    const std::vector<Datagram>& receive(std::size_t link, bool below) { return sockets_[2 * link + below].receive(); }
    std::optional<Heard> read(const Datagram& datagram, bool below);
    // Nothing more is made of it.
    void forget(std::int64_t matrix) { matrices_.forget(static_cast<std::uint64_t>(matrix)); }

    Time last_arrival(const std::vector<dstcc::ContactPlan>& plans) const {
        return coded::last_arrival(plan_, lines_, plans);
    }
    std::int64_t dropped() const { return coded::dropped_on(lines_); }
    std::int64_t peak_bytes() const { return matrices_.peak_bytes(); }
    unsigned lost() const { return coded::lost_at(sockets_); }
    const Refused& refused() const { return refused_; }

private:
    void put_data(const dstcc::DownSegment& segment, const dstcc::Range* scope, Segment& put);
    std::uint64_t report_for(std::uint32_t block, std::uint32_t checkpoint, const dstcc::Range& scope);

    const Plan& plan_;
    const dstcc::LtpBlocks& blocks_;
    const dstcc::MatrixHeaders& headers_;
    transfer::Payloads& payloads_;
    std::vector<Socket> sockets_;  // two a link
    coded::OwnLines lines_;
    std::vector<dstcc::Way<dstcc::DownSegment>> ways_;
    struct Reports {
        std::map<std::pair<std::int64_t, std::int64_t>, std::uint64_t> by_scope;  // the newest one's serial
        std::map<std::uint32_t, std::uint64_t> by_checkpoint;
    };
    std::map<std::uint32_t, Reports> reports_;  // by block, of those that were asked about again
    SentMatrices matrices_;
    Bytes datagram_;
    Refused refused_;
};

}  // namespace ltp
