// The spacecraft's packets: those that the sending end (coding/sending_end.hpp) puts on its subflows, with their bytes; and what
// comes back. Source packets are cut from the layers' parts as they are; repair packets are made when their turn comes, some rows
// of a word at a time.
#pragma once

#include <deque>
#include <memory>

#include "../transfer/payloads.hpp"
#include "coding/sending_end.hpp"
#include "ends.hpp"
#include "packet.hpp"

namespace coded {

class Craft : public dstcc::DataPort {
public:
    Craft(const Plan& plan, const dstcc::BlockMap& map, const dstcc::BlockHeaders& headers,
          transfer::Payloads& payloads);

    Time send(Time now, std::size_t subflow, std::int64_t number, std::uint32_t object, std::uint32_t order,
              std::uint16_t bytes, std::uint32_t header_bytes) override;
    Time room_at(std::size_t link, Time now, std::uint32_t bytes) const override;
    Time queue_ns(std::size_t link, Time now) const override;
    std::int64_t queue_bytes(std::size_t link, Time now) const override;
    Time full_service_ns(std::size_t link, Time now) const override;
    Time slot_ns(std::size_t link) const { return lines_[link].line().slot_ns(); }
    void see(const links::Queues& queues) { see_others(queues, plan_, false, lines_); }

    // What came back on a subflow since the last call; the bytes are there until the next.
    const std::vector<Datagram>& receive(std::size_t subflow) { return sockets_[subflow].receive(); }
    // Forgets what only a block's further repair packets would be made of.
    void forget(std::uint32_t block);
    Time last_arrival(const std::vector<dstcc::ContactPlan>& plans) const {
        return coded::last_arrival(plan_, lines_, plans);
    }
    // Numbers used, by subflow.
    const std::vector<std::int64_t>& sent() const { return sent_; }
    std::int64_t dropped() const { return dropped_on(lines_); }
    std::int64_t peak_bytes() const { return peak_; }
    unsigned lost() const { return lost_at(sockets_); }

private:
    struct Source {
        std::uint32_t object, packet;
    };
    struct Word {
        std::vector<Source> source;
        int next = 0;                                // row
        std::deque<std::vector<std::uint8_t>> made;  // symbols of the rows from `next` on
    };
    void put_source(DataHeader& header, std::uint32_t object, std::uint16_t bytes);
    void put_repair(DataHeader& header, std::uint16_t bytes);
    void make(Word& word, std::size_t bytes);
    Word& word(std::uint32_t block, std::uint32_t number);
    Piece piece(const Source& source) const;

    const Plan& plan_;
    const dstcc::BlockMap& map_;
    const dstcc::BlockHeaders& headers_;
    transfer::Payloads& payloads_;
    std::size_t mss_;
    std::vector<Socket> sockets_;
    mutable OwnLines lines_;
    std::vector<std::uint32_t> packets_;        // by object: source packets sent
    std::vector<std::uint32_t> block_packets_;  // by block: likewise
    std::vector<std::vector<Word>> words_;      // by block
    std::vector<std::int64_t> sent_;
    std::vector<std::uint8_t> datagram_;
    std::int64_t held_ = 0, peak_ = 0;
};

}  // namespace coded
