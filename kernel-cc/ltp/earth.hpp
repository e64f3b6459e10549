// Earth's end: segments are read, their bytes kept until their block is whole, and told to the receiving end
// (ltp/receiving_end.hpp), whose reports go back. What a matrix brings back is put together here (matrices.hpp). Nothing is used
// that the reader refuses.
#pragma once

#include <functional>

#include "craft.hpp"
#include "ltp/receiving_end.hpp"

namespace ltp {

class Earth : public dstcc::Carrier<dstcc::UpSegment> {
public:
    // `check` is given each block's bytes as they came, from an offset on; `whole` all of a block.
    using Check =
        std::function<void(std::uint32_t block, std::uint64_t offset, const std::uint8_t* bytes, std::size_t size)>;
    using Whole = std::function<void(std::uint32_t block, const Bytes& bytes)>;
    Earth(const Plan& plan, const dstcc::LtpBlocks& blocks, Check check, Whole whole);

    dstcc::Way<dstcc::UpSegment>& way(std::size_t link) { return ways_[link]; }
    const dstcc::MatrixHeaders& headers() const { return headers_; }
    void send(std::size_t link, const dstcc::UpSegment& segment, const dstcc::Range* beside,
              std::size_t ranges) override;
    void see(const links::Queues& queues) { coded::see_others(queues, plan_, true, lines_); }
    const std::vector<Datagram>& receive(std::size_t link, bool below) { return sockets_[2 * link + below].receive(); }
    void handle(Time now, std::size_t link, const Datagram& datagram, bool below, dstcc::LtpReceivingEnd& receiving);
    void handle_matrix_over(Time now, std::size_t link, std::int64_t matrix, dstcc::LtpReceivingEnd& receiving);

    std::int64_t checked_bytes() const { return checked_; }
    std::int64_t peak_bytes() const { return peak_; }
    std::int64_t matrices_peak_bytes() const { return matrices_.peak_bytes(); }
    unsigned lost() const { return coded::lost_at(sockets_); }
    const Refused& refused() const { return refused_; }

private:
    struct Held {
        Bytes bytes;
        std::vector<std::uint8_t> there;  // by segment
        std::int64_t left = 0;
    };
    bool handle_segment(Time now, std::size_t link, const Segment& segment, dstcc::LtpReceivingEnd& receiving);
    bool handle_repair(Time now, std::size_t link, const Datagram& datagram, dstcc::LtpReceivingEnd& receiving);
    std::optional<dstcc::Range> scope_of(std::uint32_t block, const Segment& checkpoint, std::int64_t number) const;
    void keep(std::uint32_t block, std::int64_t segment, const std::uint8_t* bytes);
    void drop(std::uint32_t block);
    dstcc::MatrixHeader& header(std::uint64_t matrix);

    const Plan& plan_;
    const dstcc::LtpBlocks& blocks_;
    Check check_;
    Whole whole_;
    dstcc::MatrixHeaders headers_;  // what segments said of theirs
    std::vector<Socket> sockets_;
    std::vector<sockaddr_in> peers_;
    coded::OwnLines lines_;
    std::vector<dstcc::Way<dstcc::UpSegment>> ways_;
    std::map<std::uint32_t, Held> held_;                                        // by block, until it is whole
    std::vector<std::uint8_t> done_;                                            // by block: whole, or cancelled
    std::map<std::pair<std::uint32_t, std::uint64_t>, dstcc::Range> reported_;  // by block and serial: a report's scope
    ArrivedMatrices matrices_;
    Bytes datagram_;
    Refused refused_;
    std::int64_t checked_ = 0, now_held_ = 0, peak_ = 0;
};

}  // namespace ltp
