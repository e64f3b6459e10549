// The receiving end: per subflow the ACK generator (RFC 2018 SACK, RFC 1122 delayed ACK), per ordering domain the
// reassembly queue that measures head-of-line blocking.
#pragma once

#include "core/bit_window.hpp"
#include "core/config.hpp"
#include "core/ranges.hpp"
#include "core/ring.hpp"
#include "core/run.hpp"
#include "link/packets.hpp"

namespace dstcc {

// When Linux's receiver acknowledges (tcp_input.c: tcp_event_data_recv, tcp_grow_window, __tcp_ack_snd_check), as counted
// on its own packets (tests/engine/trajectories):
//
//   at once  - the first 16 segments, and 16 more after a silence of its timeout or a segment it had (quick acknowledgements);
//            - every segment that lets its window grow: by two segments each, to the share of the buffer that segments out
//              of order leave (tcp_space). On 6.1 from 64 KiB to half of it. On 6.12 (tcp_select_initial_window,
//              tcp_measure_rcv_mss) from half of it, to what is payload in a full segment's memory;
//            - what fills a hole, a short segment, and more than one segment unacknowledged;
//            - the last of a write (PSH: tcp_measure_rcv_mss), once the application has all that came over whatever subflow
//              (mptcp_cleanup_rbuf: rx_empty), see ReceivingEnd;
//            - the first three segments out of order;
//            - what was held back, before a segment that touches neither of the last two SACK blocks. That segment has no
//              answer, and nothing waits to give one: tcp_send_ack() clears what tcp_ack_snd_check() would ask for;
//   later    - the segments out of order behind those, up to 44 in one ACK within 1.1 ms (tcp_comp_sack_nr,
//              _delay_ns and _slack_ns, all of which an idle machine's timer takes);
//            - a single segment when its wait is over: 40 ms, and up to 200 where segments come farther apart, or its second
//              was waited for in vain (tcp_send_delayed_ack, tcp_delack_timer_handler).
//
// Between two reads of a program that reads seldom (Unread) the second of two segments waits, too, where the window would
// shrink: for the next read (mptcp_cleanup_rbuf), or the delayed ACK's timer.

// What a program that reads a stream at fixed times has not read; one for all subflows.
class Unread {
public:
    // `arrived` and `delivered`: bytes of the stream, in any order and in order.
    Unread(Time every, const std::int64_t& arrived, const std::int64_t& delivered)
        : every_(every),
          arrived_(arrived),
          delivered_(delivered) {}

    // Before something else comes in: what was there at the last read was read.
    void go_on(Time now) {
        const std::int64_t reads = now / every_;
        if (reads != std::exchange(reads_, reads)) read_ = delivered_;
    }
    Time next(Time now) const { return (now / every_ + 1) * every_; }
    std::int64_t bytes() const { return arrived_ - read_; }
    bool readable() const { return delivered_ > read_; }  // else subflow_data_ready() asks for an ACK
    // An ACK tells of a window, here counted from that of an empty buffer; its edge never goes back (mptcp_set_rwin).
    std::int64_t tell(std::int64_t room) {
        edge_ = std::max(edge_, delivered_ + room);
        return edge_ - delivered_;
    }

private:
    Time every_;
    const std::int64_t &arrived_, &delivered_;
    std::int64_t reads_ = 0, read_ = 0, edge_ = -kNever / 2;
};

class SubflowReceiver {
public:
    // What of its buffer a window is at most, as Linux has it, in whole 256ths of it.
    static double window_share(ReceiverOf of, std::uint32_t mss) { return share_256(of, mss) / 256.0; }
    // By how many bytes its window grows with a buffer of so many.
    static std::int64_t growth(ReceiverOf of, double buffer, std::uint32_t mss, std::uint32_t options) {
        const double half = buffer / 2 - mss - options;  // a segment's place is kept free (tcp_init_buffer_space)
        const double grown =
            of == ReceiverOf::kLinux61 ? half - kFirstWindow : buffer * window_share(of, mss) - std::max(half, 0.0);
        return static_cast<std::int64_t>(std::max(grown, 0.0));
    }
    // `growing_bytes`: by which its window can grow; `rtt`: of its handshake; `options`: MPTCP's bytes in a segment.
    SubflowReceiver(const ConstantsNs& constants, std::int64_t growing_bytes, Time rtt, std::uint32_t mss,
                    std::uint32_t options)
        : constants_(constants),
          compressed_ack_(std::min(constants.compressed_ack, rtt / 20) + constants.compressed_ack / kSlackShare),
          least_wait_(std::max<std::int64_t>(constants.in_ticks(constants.delayed_ack), 1)),
          most_wait_(std::max(least_wait_, std::min(constants.in_ticks(rtt), longest_wait(constants)))),
          silence_(constants.in_ticks(std::min(std::max(3 * rtt, constants.rto_min + rtt), constants.rto_max))),
          slowest_(constants.receiver == ReceiverOf::kLinux61
                       ? silence_
                       : std::min(silence_, std::max(least_wait_, constants.in_ticks(constants.delayed_ack_max)))),
          wait_(least_wait_),
          brisk_(least_wait_ / 2),
          brisk_ns_(brisk_ * constants.jiffy),
          quick_acks_(constants.quick_acks),
          mss_(mss),
          step_(2 * (std::int64_t{mss} + options)),
          spare_(constants.receiver == ReceiverOf::kLinux61 ? step_ / 2 : 0),
          share_256_(share_256(constants.receiver, mss)),
          sack_blocks_(options > 0 ? 1 : kSackBlocks),
          growing_(constants.quick_acks > 0 ? growing_bytes : 0),
          held_most_(most_held()) {}

    struct Ack {
        std::int64_t cumulative;
        Time echo_ns;
        const Range* sack;
        int sacks;
        bool duplicate;
    };
    std::int64_t next() const { return next_; }
    Time ack_deadline() const { return ack_deadline_; }
    Time compressed_ack() const { return compressed_ack_; }
    bool pushed() const { return pushed_; }  // a write's last segment has no ACK yet
    // The delayed ACK's timer goes off with a tick; called when it is due, as most are not.
    Time ack_time() {
        if (waits_for_tick_) ack_deadline_ = constants_.wheel(armed_at_, ack_deadline_);
        waits_for_tick_ = false;
        return ack_deadline_;
    }
    // The program that reads seldom.
    void read_by(Unread* unread) { unread_ = unread; }
    // When an ACK that waits leaves at the latest.
    Time due() const { return std::min(ack_deadline_, read_ns_); }
    // Was that a read, which lets it go?
    bool released(Time now) {
        if (unread_ != nullptr) unread_->go_on(now);
        if (read_ns_ > now) return false;
        read_ns_ = kNever;
        return pending_bytes_ > mss_ || (pushed_ && unread_->bytes() == 0);
    }
    // Does the second of two segments wait, once it was taken in?
    bool waits_for_read(Time now) {
        if (unread_ == nullptr || !unread_->readable() || room() >= window_) return false;
        // tcp_send_delayed_ack(): an ACK whose timer is about to go off leaves, one that may wait less waits less.
        const std::int64_t tick = constants_.ticks(now);
        if (due_tick_ <= tick + next_wait() / 4) return false;
        if (tick + next_wait() < due_tick_) wait_a_while(now);
        read_ns_ = unread_->next(now);
        return true;
    }
    // The timer went off. What shares an ACK out of order has one of its own, which says nothing of the wait.
    void expire() {
        if (compressed_ == 0) wait_ = std::min(2 * wait_, slowest_);
    }

    // Whether an ACK that was held back goes before a segment is taken in, lest its SACK blocks be forgotten.
    bool speaks_first(std::int64_t number) const {
        if (compressed_ == 0 || blocks_ < kBlocksExpected || number <= next_) return false;
        const auto touches = [&](const Range& b) { return number + 1 >= b.begin && number <= b.end; };
        return !touches(block_[0]) && !touches(block_[1]);
    }
    // It did: the segment that comes in now is not answered.
    void leave_unanswered() { unanswered_ = true; }
    struct Answer {
        bool fresh;         // the segment was not there before
        bool now;           // call make_ack at once; else there is a deadline for it
        bool pair = false;  // as the second unacknowledged segment, unless it waits_for_read()
    };
    // A segment of so many bytes came in that was sent at `sent_ns`. `pushed`: it ends a write.
    [[gnu::always_inline]] Answer handle_segment(Time now, std::int64_t number, Time sent_ns, std::uint32_t bytes,
                                                 bool pushed) {
        if (pending_bytes_ == 0) echo_ = sent_ns;
        if (number != next_) return handle_out_of_order(now, number, sent_ns);
        if (pending_bytes_ == 0) recent_ = sent_ns;
        note_gap(now);
        grow(1);
        pending_bytes_ += bytes;
        ++next_;
        if (!out_of_order_.empty()) {
            fill_hole(sent_ns);
            return {true, true};
        }
        if (quick_ > 0 || (bytes < mss_ && unread_ == nullptr)) return {true, true};
        pushed_ = pushed_ || pushed || bytes < mss_;
        if (pending_bytes_ > mss_) return {true, true, true};
        if (pushed_ && unread_ != nullptr) read_ns_ = unread_->next(now);
        wait_a_while(now);
        return {true, false};
    }
    // Whether full segments that come in order from now on at that distance are acknowledged two by two, each second one as it comes.
    bool pairs(Time now, std::int64_t number, Time spacing, std::uint32_t bytes) const {
        return number == next_ && bytes == mss_ && quick_ == 0 && held_ >= held_most_ && out_of_order_.empty() &&
               (pending_bytes_ == 0 || pending_bytes_ == mss_) && blocks_ == 0 && compressed_ == 0 && !duplicate_ &&
               !pushed_ && !unanswered_ && unread_ == nullptr && spacing <= brisk_ns_ && now - last_ns_ <= brisk_ns_;
    }
    bool half_a_pair() const { return pending_bytes_ > 0; }
    Time echo() const { return echo_; }
    // So many came; the last that is a pair's first was sent then, and waits for its second if there is none.
    void answer_pairs(std::int64_t count, Time last, Time spacing, Time sent_ns) {
        const bool half = (count + half_a_pair()) % 2 != 0;
        const auto shorten = [&](std::int64_t times) {  // note_gap()
            for (bool more = true; more && times > 0; --times) {
                const std::int64_t before = std::exchange(wait_, after_short_gap());
                more = wait_ != before;
            }
        };
        next_ += count;
        last_ns_ = last;
        shorten(half ? count : count - 1);
        if (half || count > 1) {
            echo_ = recent_ = sent_ns;
            wait_a_while(half ? last : last - spacing);
        }
        if (half) {
            pending_bytes_ = mss_;
            return;
        }
        shorten(1);
        make_ack();
    }
    // How many segments share an ACK, of those that come at that distance behind an open hole and all that came before, and how long
    // after the first it leaves; none: not known.
    struct Shared {
        std::int64_t segments = 0;
        Time wait = 0;
    };
    Shared share_ack(Time now, std::int64_t number, Time spacing) const {
        const bool alike = blocks_ > 0 && block_[0].end == number && out_of_order_.end() == number && quick_ == 0 &&
                           compressed_ == 0 && pending_bytes_ == 0 && hole_ == next_ &&
                           duplicates_ >= kDuplicatesAtOnce && held_ > held_most_ && !unanswered_ && !duplicate_ &&
                           !pushed_ && unread_ == nullptr && !out_of_order_.empty() &&
                           timer_ns_ + constants_.jiffy <= now;
        if (!alike || spacing <= 0) return {};
        const std::int64_t share = compressed_ack_ / spacing + 1;
        if (share <= kCompressedAcks) return {share, compressed_ack_};
        return {kCompressedAcks + 1, kCompressedAcks * spacing};
    }
    // So many of these came, the last of which was sent then, and so did the timers of all their ACKs; the first of which says this, of
    // so many.
    Ack answer_behind_hole(std::int64_t count, std::int64_t share, Time sent_ns) {
        const std::int64_t number = out_of_order_.end();
        out_of_order_.add(number, number + count, [](std::int64_t, std::int64_t) {});
        held_ += count;
        block_[0].end = number + share;
        echo_ = sent_ns;
        duplicate_ = false;
        return make_ack();
    }
    void lengthen_block() { block_[0].end = out_of_order_.end(); }
    // What it says: of a segment beyond a hole that came again, where one block fits, that it is there (tcp_check_dsack).
    Ack make_ack() {
        const bool told_as_new = duplicate_ && again_.begin >= next_ && sack_blocks_ == 1;
        const bool duplicate = duplicate_ && !told_as_new;
        const Ack ack{next_, echo_, told_as_new ? &again_ : block_,
                      told_as_new ? 1 : std::min(blocks_, sack_blocks_ - (duplicate ? 1 : 0)), duplicate};
        if (unread_ != nullptr) window_ = unread_->tell(std::max(room(), window_ - pending_bytes_));
        read_ns_ = kNever;
        pending_bytes_ = 0;
        compressed_ = 0;
        ack_deadline_ = kNever;
        waits_for_tick_ = false;
        duplicate_ = pushed_ = false;
        if (quick_ > 0 && --quick_ == 0) wait_ = least_wait_;  // tcp_dec_quickack_mode()
        return ack;
    }

private:
    static std::int64_t share_256(ReceiverOf of, std::uint32_t mss) {
        if (of == ReceiverOf::kLinux61) return 128;  // tcp_adv_win_scale
        return mss * std::int64_t{256} / (mss + kBeside);
    }
    // tcp_send_delayed_ack(); 6.12 answers a tick before the least timeout (tcp_delack_max), were it a peer's.
    static std::int64_t longest_wait(const ConstantsNs& constants) {
        const std::int64_t most = constants.in_ticks(constants.delayed_ack_max);
        if (constants.receiver == ReceiverOf::kLinux61) return most;
        return std::min(most, std::max<std::int64_t>(constants.in_ticks(constants.rto_min), 2) - 1);
    }
    void wait_a_while(Time now) {
        armed_at_ = now;
        timer_ns_ = ack_deadline_ = now + next_wait() * constants_.jiffy;
        waits_for_tick_ = true;
        if (unread_ != nullptr) due_tick_ = constants_.ticks(now) + next_wait();
    }
    std::int64_t next_wait() const { return std::min(wait_, most_wait_); }
    // What the window has lost to what is in the buffer, below 0.
    std::int64_t room() const { return -held_bytes((unread_->bytes() + mss_ - 1) / mss_); }
    std::int64_t after_short_gap() const { return std::max<std::int64_t>((wait_ >> 1) + brisk_, 1); }
    // Linux tcp_event_data_recv(): the wait follows the gaps between segments in order, in whole ticks of the clock.
    void note_gap(Time now) {
        const Time gap = now - last_ns_;
        const Time before = std::exchange(last_ns_, now);
        // Most gaps are shorter than so many ticks, wherever those begin.
        const std::int64_t ticks = gap <= brisk_ns_ ? 0 : constants_.ticks(now) - constants_.ticks(before);
        if (ticks <= brisk_)
            wait_ = after_short_gap();
        else if (ticks < wait_)
            wait_ = std::min(wait_ / 2 + ticks, slowest_);
        else if (ticks > silence_)
            quick_ = std::max(quick_, quick_acks_);
    }
    void hurry() {  // tcp_enter_quickack_mode()
        quick_ = std::max(quick_, quick_acks_);
        wait_ = least_wait_;
    }
    // Linux's `quick |= 1` where the window grows: an even count has one more.
    // What came in order is in the buffer, too, until the application has it. 6.1 keeps a segment's place free anyway.
    void grow(std::int64_t own) {
        if (held_ + own > held_most_) return;  // for most of a connection's life it is as large as it gets
        growing_ -= std::min(growing_ - held_bytes(held_ + own), step_);
        held_most_ = most_held();
        quick_ |= 1;
    }
    // How many segments leave it room to grow; -1: none.
    std::int64_t most_held() const {
        if (growing_ <= 0) return -1;
        const std::int64_t each = (mss_ + kBeside) * share_256_;
        return each == 0 ? kNever : (256 * (growing_ + spare_) - 1) / each;
    }
    // What so many segments leave a window less of its buffer.
    std::int64_t held_bytes(std::int64_t segments) const {
        return std::max<std::int64_t>(segments * (mss_ + kBeside) * share_256_ / 256 - spare_, 0);
    }
    Answer handle_out_of_order(Time now, std::int64_t number, Time sent_ns) {
        echo_ = number > next_ ? sent_ns : recent_;  // what is old says nothing (tcp_validate_incoming)
        if (number >= out_of_order_.end() && !out_of_order_.empty()) {
            const bool next = number == out_of_order_.end();
            out_of_order_.insert(number);
            if (next && blocks_ > 0 && block_[0].end == number)
                ++block_[0].end;
            else
                note_block(number);
        } else {
            if (number < next_ || !out_of_order_.insert(number)) return handle_again(now, number);
            note_block(number);
        }
        grow(0);
        ++held_;
        return {true, answers_out_of_order(now)};
    }
    // It was there already (tcp_data_queue(), tcp_data_queue_ofo()).
    Answer handle_again(Time now, std::int64_t number) {
        duplicate_ = true;
        again_ = {number, number + 1};
        if (number >= next_) {
            note_block(number);
            return {false, answers_out_of_order(now)};
        }
        hurry();
        return {false, true};
    }
    bool answers_out_of_order(Time now) {
        if (std::exchange(unanswered_, false)) return false;
        if (quick_ > 0 || compressed_ >= kCompressedAcks) return true;
        if (hole_ != next_) {
            hole_ = next_;
            duplicates_ = 0;
        }
        if (duplicates_ < kDuplicatesAtOnce) {
            ++duplicates_;
            return true;
        }
        if (compressed_++ == 0) {
            ack_deadline_ = now + compressed_ack_;
            // No ACK stops the delayed ACK's timer, which lets this one go, too (tcp_delack_timer_handler).
            if (timer_ns_ + constants_.jiffy > now) {
                const Time goes_off = constants_.wheel(armed_at_, timer_ns_);
                if (goes_off > now) ack_deadline_ = std::min(ack_deadline_, goes_off);
            }
        }
        waits_for_tick_ = false;
        return false;
    }
    [[gnu::noinline]] void fill_hole(Time sent_ns) {
        const std::int64_t gap = out_of_order_.first_missing(next_);
        if (gap > next_) {
            held_ -= gap - next_;
            next_ = gap;
            out_of_order_.drop_below(gap);
            drop_blocks();
        } else if (quick_ == 0 && pending_bytes_ <= mss_) {
            hole_ = next_;  // its ACK is the first of the next hole's
            duplicates_ = 1;
        }
        echo_ = sent_ns;
    }
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

    static constexpr int kCompressedAcks = 44, kDuplicatesAtOnce = 3;  // tcp_comp_sack_nr, TCP_FASTRETRANS_THRESH
    static constexpr Time kSlackShare = 10;                            // of tcp_comp_sack_delay_ns: _slack_ns
    static constexpr int kBlocksExpected = 2;                          // TCP_SACK_BLOCKS_EXPECTED
    static constexpr std::int64_t kBeside = 844;  // bytes beside a segment's in memory: 2 KiB and its sk_buff in all

    ConstantsNs constants_;
    Time compressed_ack_;
    // In ticks: bounds of a wait; the sender's timeout; what the next wait is (Linux's ato) and its bound; gaps that shorten it.
    std::int64_t least_wait_, most_wait_, silence_, slowest_, wait_, brisk_;
    Time brisk_ns_;
    int quick_acks_, quick_ = 0;
    std::uint32_t mss_, pending_bytes_ = 0;
    std::int64_t step_, spare_, share_256_;
    int sack_blocks_;  // in an ACK: what fits beside timestamps, and MPTCP's acknowledgement of 12 bytes
    std::int64_t growing_,
        held_ = 0;            // bytes until the window is as large as the buffer lets it be; segments out of order
    std::int64_t held_most_;  // segments in the buffer with which it still grows
    std::int64_t next_ = 0, hole_ = -1;
    int compressed_ = 0, duplicates_ = 0;
    Time last_ns_ = -kNever / 2;
    BitWindow out_of_order_;
    Range block_[4]{}, again_{};
    int blocks_ = 0;
    bool duplicate_ = false, waits_for_tick_ = false, unanswered_ = false;
    bool pushed_ = false;         // ICSK_ACK_PUSHED
    Time echo_ = 0, recent_ = 0;  // what an ACK answers; the timestamp of what came last in order (ts_recent)
    Time ack_deadline_ = kNever, armed_at_ = 0, timer_ns_ = 0;
    Unread* unread_ = nullptr;
    Time read_ns_ = kNever;                   // the read that an ACK waits for
    std::int64_t window_ = 0, due_tick_ = 0;  // that the last ACK told of; when the delayed ACK's timer goes off
};

// One ordering domain: segments leave in `order`, whatever subflow brought them.
class OrderingDomain {
public:
    struct Waiting {
        Time arrived_ns;  // -1: not here yet
        std::uint32_t object;
        std::uint16_t bytes;
    };

    std::int64_t peak_bytes() const { return queue_.peak_bytes(); }
    bool holds() const { return !queue_.empty(); }  // segments that wait for an earlier one

    enum class Place { kDuplicate, kHeld, kDelivered };
    // deliver(order, object, bytes, wait_ns) is called for each segment that can go up now.
    template <class Deliver>
    Place handle_segment(Time now, std::uint32_t order, std::uint32_t object, std::uint16_t bytes, Deliver&& deliver) {
        const auto ahead = static_cast<std::int32_t>(order - next_);  // 32 bits wrap; no window spans half of them
        if (ahead < 0) return Place::kDuplicate;
        if (ahead > 0) return hold(now, ahead, object, bytes);
        if (!queue_.empty()) queue_.pop_front();  // the gap itself
        deliver(next_++, object, bytes, Time{0});
        while (!queue_.empty() && queue_.front().arrived_ns >= 0) {
            const Waiting& w = queue_.front();
            deliver(next_++, w.object, w.bytes, now - w.arrived_ns);
            queue_.pop_front();
        }
        return Place::kDelivered;
    }

    // Of a run of segments, the first of which came then, whether all wait or none does: its place, and what is noted of each.
    // kDuplicate: neither.
    Place handle_run(std::uint32_t order, std::uint32_t object, std::uint16_t bytes, const Run& arrivals) {
        const auto ahead = static_cast<std::int32_t>(order - next_);
        if (ahead == 0 && queue_.empty()) {
            next_ += static_cast<std::uint32_t>(arrivals.count);
            return Place::kDelivered;
        }
        if (ahead <= 0 || queue_.size() > ahead) return Place::kDuplicate;
        for (std::int64_t k = 0; k < arrivals.count; ++k) hold(arrivals.at(k), ahead + k, object, bytes);
        return Place::kHeld;
    }

private:
    Place hold(Time now, std::int64_t ahead, std::uint32_t object, std::uint16_t bytes) {
        const std::int64_t place = queue_.begin() + ahead;
        if (queue_.end() <= place) {
            while (queue_.end() < place) queue_.emplace_back().arrived_ns = -1;
            queue_.emplace_back();
        } else if (queue_[place].arrived_ns >= 0) {
            return Place::kDuplicate;
        }
        Waiting& w = queue_[place];
        w.arrived_ns = now;
        w.object = object;
        w.bytes = bytes;
        return Place::kHeld;
    }

    std::uint32_t next_ = 0;
    BlockRing<Waiting> queue_;  // queue_.begin() stands for order next_; empty when nothing waits
};

}  // namespace dstcc
