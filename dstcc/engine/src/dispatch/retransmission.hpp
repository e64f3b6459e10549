// MPTCP's own retransmission timer, which runs beside those of its subflows' TCP (__mptcp_retrans() in net/mptcp/protocol.c):
//
//   runs        while something is not acknowledged by the connection (DATA_ACK); each acknowledgement begins it anew
//   interval    the most that any subflow's TCP timer, that of a joining one's SYN included, still has to run when bytes were last
//               handed to a subflow; 200 ms where none runs, or where nothing was received since the timer last ran out
//               (mptcp_set_timeout(), which __subflow_push_pending() calls after each piece; mptcp_timeout_from_subflow())
//   runs out    the oldest piece goes again on a subflow that has nothing unacknowledged (mptcp_subflow_get_retrans()), if any
//   stale       a subflow with something unacknowledged that hears nothing from one end of the timer to the next, more often than
//               net.mptcp.stale_loss_cnt (the timer's in the longest link's round trip, 4 to 254: kernel-cc/dstcc_kernel/plan.py):
//               all that the connection has no acknowledgement for goes again, on the others, until something comes there
//               (mptcp_pm_subflow_chk_stale(), mptcp_pm_nl_subflow_chk_stale(), __mptcp_retransmit_pending_data())
//
// TCP's own timeouts, of which MPTCP hears nothing, leave what a subflow was given with it.
// A piece (mptcp_data_frag) is what a write put into one page of 32 KiB, and goes to a subflow whole; a segment counts as part of
// the piece in which it begins. With round trips of seconds 200 ms pass between any two
// bursts, so that whatever subflow is idle repeats what another has in flight.
#pragma once

#include <deque>
#include <vector>

#include "dispatch/dispatcher.hpp"

namespace dstcc {

class Retransmission {
public:
    Retransmission(const Dispatcher& d, Time longest_rtt);
    Time due() const { return due_; }
    // Those that are not stale.
    SubflowSet active() const;
    // A write's bytes, or the page's that are left, make a piece.
    std::int64_t room_for_piece() const;
    void begin_piece(Time now, std::int64_t bytes);
    std::uint32_t piece() const { return piece_; }
    // Handed to a subflow for the first time, in the order of the stream; and what was handed last has grown.
    void handle_cut(Time now, const Cut& segment);
    void handle_growth(const Cut& segment) { sent_.back().cut = segment; }
    // An ACK came in on a subflow: in order, the receiver has so many bytes.
    void handle_ack(Time now, std::size_t s, std::int64_t delivered);
    // The timer ran out: the subflow that repeats what is left of the oldest piece, -1 for none; or does all go again?
    struct Expiry {
        int idle = -1;
        bool all = false;
    };
    template <class Idle>
    Expiry handle_timer(Time now, Idle&& idle) {
        Expiry found;
        for (SubflowSet set = d_.established(); set != 0; set &= set - 1) {
            const int s = lowest(set);
            if (!idle(static_cast<std::size_t>(s)))
                found.all = check_stale(static_cast<std::size_t>(s)) || found.all;
            else if (found.idle < 0)
                found.idle = s;
        }
        due_ = sent_.empty() ? kNever : due(now);
        if (sent_.empty()) return {};
        if (found.all) found.idle = -1;
        return found;
    }
    // What is left of the oldest piece, segment by segment.
    template <class Take>
    void each_of_oldest(Take&& take) const {
        for (const Sent& segment : sent_) {
            if (segment.piece != sent_.front().piece) return;
            take(segment.cut);
        }
    }
    template <class Take>
    void each(Take&& take) const {
        for (const Sent& segment : sent_) take(segment.cut);
    }

private:
    struct Sent {
        Cut cut;
        std::uint32_t piece;
    };
    struct Heard {
        Time last_ns = 0, then_ns = 0;  // the newest ACK, and when the timer last ran out
        int count = 0;                  // ends of the timer since, the first included (stale_count)
        bool stale = false;
    };
    bool active(std::size_t s) const { return !heard_[s].stale || heard_[s].then_ns != heard_[s].last_ns; }
    bool check_stale(std::size_t s);
    void set_interval(Time now);
    Time due(Time now) const;

    const Dispatcher& d_;
    int stale_count_;                              // net.mptcp.stale_loss_cnt
    std::deque<Sent> sent_;                        // what the connection has not acknowledged, a segment by itself
    std::int64_t acknowledged_ = 0, waiting_ = 0;  // bytes: of the stream, and of the first of `sent_` that are there
    std::uint32_t piece_ = 0;
    std::int64_t page_left_ = 0;
    Time interval_ = 0, due_ = kNever;
    std::vector<Heard> heard_;  // by subflow
};

}  // namespace dstcc
