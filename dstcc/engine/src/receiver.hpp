// The receiving end: per subflow the ACK generator (RFC 2018 SACK, RFC 1122 delayed ACK), per ordering domain the
// reassembly queue that measures head-of-line blocking.
#pragma once

#include "ranges.hpp"
#include "ring.hpp"
#include "subflow.hpp"

namespace dstcc {

class SubflowReceiver {
public:
    enum class Answer { kNow, kLater };

    explicit SubflowReceiver(const ConstantsNs& constants)
        : delayed_ack_(constants.delayed_ack), quick_acks_(constants.quick_acks) {}

    bool received(std::int64_t number) const { return number < next_ || out_of_order_.contains(number); }
    std::int64_t next() const { return next_; }
    Time ack_deadline() const { return ack_deadline_; }

    // A segment came in (repeat or not) that was sent at `sent_ns`. kNow: call make_ack at once.
    Answer handle_segment(Time now, std::int64_t number, Time sent_ns) {
        if (pending_ == 0) echo_ = sent_ns;
        ++pending_;
        if (number != next_) {
            echo_ = sent_ns;  // every out-of-order segment is answered at once and by itself
            duplicate_ = received(number);
            if (!duplicate_) {
                out_of_order_.add(number, number + 1, [](std::int64_t, std::int64_t) {});
                note_block(number);
            }
            return Answer::kNow;
        }
        ++next_;
        if (!out_of_order_.empty()) {
            if (out_of_order_.front().begin == next_) {
                next_ = out_of_order_.front().end;
                out_of_order_.pop_front();
                drop_blocks();
            }
            echo_ = sent_ns;
            return Answer::kNow;
        }
        if (quick_acks_ > 0) {
            --quick_acks_;
            return Answer::kNow;
        }
        if (pending_ >= 2) return Answer::kNow;
        ack_deadline_ = now + delayed_ack_;
        return Answer::kLater;
    }
    AckBlocks make_ack() {
        pending_ = 0;
        ack_deadline_ = kNever;
        AckBlocks ack;
        ack.cumulative = next_;
        ack.echo_ns = echo_;
        ack.duplicate = duplicate_;
        duplicate_ = false;
        for (int i = 0; i < blocks_ && ack.sacks < 3; ++i) ack.sack[ack.sacks++] = block_[i];
        return ack;
    }

private:
    // Linux tcp_sack_new_ofo_skb(): the block of the newest segment comes first, four are remembered, three are sent.
    void note_block(std::int64_t number) {
        for (int i = 0; i < blocks_; ++i) {
            Range& b = block_[i];
            if (number + 1 < b.begin || number > b.end) continue;
            Range grown{std::min(b.begin, number), std::max(b.end, number + 1)};
            for (int j = i; j > 0; --j) block_[j] = block_[j - 1];
            block_[0] = grown;
            coalesce();
            return;
        }
        if (blocks_ < 4) ++blocks_;
        for (int j = blocks_ - 1; j > 0; --j) block_[j] = block_[j - 1];
        block_[0] = {number, number + 1};
    }
    void coalesce() {
        for (int i = 1; i < blocks_;) {
            if (block_[i].begin <= block_[0].end && block_[0].begin <= block_[i].end) {
                block_[0] = {std::min(block_[0].begin, block_[i].begin), std::max(block_[0].end, block_[i].end)};
                for (int j = i; j + 1 < blocks_; ++j) block_[j] = block_[j + 1];
                --blocks_;
            } else {
                ++i;
            }
        }
    }
    void drop_blocks() {
        int kept = 0;
        for (int i = 0; i < blocks_; ++i)
            if (block_[i].begin >= next_) block_[kept++] = block_[i];
        blocks_ = out_of_order_.empty() ? 0 : kept;
    }

    Time delayed_ack_;
    int quick_acks_;
    std::int64_t next_ = 0;
    RangeSet out_of_order_;
    Range block_[4]{};
    int blocks_ = 0, pending_ = 0;
    bool duplicate_ = false;
    Time echo_ = 0, ack_deadline_ = kNever;
};

// One ordering domain: segments leave in `order`, whatever subflow brought them.
class OrderingDomain {
public:
    struct Waiting {
        Time arrived_ns;  // -1: not here yet
        std::uint32_t object;
        std::uint16_t bytes;
    };

    std::uint32_t take_order() { return next_out_++; }
    std::uint32_t issued() const { return next_out_; }
    std::int64_t waiting() const { return queue_.size(); }
    std::int64_t peak_bytes() const { return queue_.peak_bytes(); }

    // False for a duplicate. Otherwise deliver(object, bytes, wait_ns) is called for each segment that can go up now.
    template <class Deliver>
    bool handle_segment(Time now, std::uint32_t order, std::uint32_t object, std::uint16_t bytes, bool& blocked,
                        Deliver&& deliver) {
        blocked = false;
        if (static_cast<std::int32_t>(order - next_) < 0) return false;  // 32 bits wrap; no window spans half of them
        if (order == next_) {
            if (queue_.empty()) {
                ++next_;
                deliver(object, bytes, Time{0});
                return true;
            }
            if (queue_.front().arrived_ns >= 0) return false;
            queue_.front() = {now, object, bytes};
            while (!queue_.empty() && queue_.front().arrived_ns >= 0) {
                const Waiting& w = queue_.front();
                deliver(w.object, w.bytes, now - w.arrived_ns);
                queue_.pop_front();
                ++next_;
            }
            return true;
        }
        const std::int64_t place = queue_.begin() + static_cast<std::int64_t>(order - next_);
        while (queue_.end() <= place) queue_.push_back({-1, 0, 0});
        Waiting& w = queue_[place];
        if (w.arrived_ns >= 0) return false;
        w = {now, object, bytes};
        blocked = true;
        return true;
    }

private:
    std::uint32_t next_ = 0, next_out_ = 0;
    BlockRing<Waiting> queue_;  // queue_.begin() stands for order next_; empty when nothing waits
};

}  // namespace dstcc
