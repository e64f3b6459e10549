#include <algorithm>
#include <deque>
#include <iterator>
#include <map>

#include "dispatch/dispatcher.hpp"
#include "dispatch/retransmission.hpp"

namespace dstcc {
namespace {

constexpr std::int64_t kWrittenAhead =
    8;  // windows' share that a connection holds unsent: kFill of kernel-cc/transfer/sender.cpp
constexpr std::size_t kNone = SIZE_MAX;

class Planned final : public Strategy {
public:
    Planned(Dispatcher& d, bool ahead, bool whole_pieces, const Program& program)
        : d_(d),
          ahead_(ahead),
          whole_pieces_(whole_pieces),
          send_buffer_(static_cast<std::int64_t>(program.send_buffer)),
          most_unsent_(whole_pieces && d.transport().constants.look > 0 ? program.unsent_limit : kInfiniteWindow),
          queues_(d.outlets()),
          copies_(d.outlets()),
          retransmission_(d, program.longest_rtt),
          busy_(d.bound()) {}

    void handle_release(std::uint32_t object) override { d_.wait(object); }

    // What was planned goes first; more is planned only when a subflow with room has nothing. What a write gives to a subflow goes
    // once another one is chosen, or the write ends (mptcp_push_release()).
    void offer() override {
        for (;;) {
            const SubflowSet filling = filling_ == kNone ? 0 : bit(filling_);
            if (const SubflowSet planned = d_.ready() & busy_ & ~filling)
                send_front(static_cast<std::size_t>(lowest(planned)));
            else if (!plan_next() && !push())
                return;
        }
    }

    // Another subflow takes over, in the order of the stream; not where a kernel is meant.
    void handle_timeout(std::size_t s) override {
        if (queues_[s].empty()) return;
        const auto to = static_cast<std::size_t>(d_.quickest(d_.fresh()));
        std::deque<Cut>&left = queues_[s], &taken = queues_[to];
        for (const Cut& segment : left) {
            d_.note_assigned(s, -segment.bytes);
            d_.note_assigned(to, segment.bytes);
        }
        std::deque<Cut> merged;
        std::merge(taken.begin(), taken.end(), left.begin(), left.end(), std::back_inserter(merged),
                   [](const Cut& a, const Cut& b) { return a.order < b.order; });
        left.clear();
        taken.swap(merged);
        erase(busy_, s);
        insert(busy_, to);
    }

    // Only where a kernel is meant.
    bool wants_acks() const override { return ahead_; }
    void handle_ack(std::size_t s, std::int64_t delivered) override {
        retransmission_.handle_ack(d_.now(), s, delivered);
    }
    Time due() const override { return std::min(retransmission_.due(), look_); }
    void handle_timer() override {
        look_ = kNever;
        if (retransmission_.due() > d_.now()) return;
        const auto [idle, all] = retransmission_.handle_timer(
            d_.now(), [this](std::size_t s) { return d_.sender(s).tcp().packets_out() == 0 && !contains(busy_, s); });
        if (idle >= 0)
            retransmission_.each_of_oldest([&](const Cut& segment) { copy(static_cast<std::size_t>(idle), segment); });
        if (all)
            retransmission_.each([&](const Cut& segment) {
                const SubflowSet active = retransmission_.active();
                const int s = d_.choose(active, active, segment.object, segment.bytes);
                if (s >= 0) copy(static_cast<std::size_t>(s), segment);
            });
    }

private:
    void copy(std::size_t s, const Cut& segment) {
        last_ = kNone;  // what is copied grows no more
        copies_[s].push_back(segment);
        d_.note_assigned(s, segment.bytes);
        insert(busy_, s);
    }

    // Does a program that writes ahead write more? With deadlines it keeps an eighth of all windows in the connection, as what
    // is written cannot be given up; without, whatever the scheduler takes.
    bool room_ahead() const {
        const SubflowSet established = d_.established();
        if (!d_.deadlines()) return established != 0 && d_.unacknowledged() < send_buffer_;  // mptcp_send_limit()
        std::int64_t windows = 0;
        for (SubflowSet set = established; set != 0; set &= set - 1)
            windows += d_.sender(static_cast<std::size_t>(lowest(set))).tcp().cwnd * d_.transport().mss_bytes;
        return kWrittenAhead * d_.planned_payload() <= windows;
    }

    // Does the program look now? Else it does when it is due.
    bool looks() {
        const Time every = d_.transport().constants.look;
        if (every <= 0 || d_.now() % every == 0) return true;
        look_ = (d_.now() / every + 1) * every;
        return false;
    }

    // No subflow takes more. A program that looks and has no deadlines writes what its connection takes: as much as the send
    // buffer holds and tcp_notsent_lowat allows (mptcp_send_limit()), in pages that are whole, whatever wrote them
    // (mptcp_frag_can_collapse_to()).
    bool note_written() {
        if (ahead_ && !d_.deadlines() && looks())
            written_to_ = d_.given() + std::min({send_buffer_ - d_.unacknowledged(), d_.backlog(), most_unsent_});
        return false;
    }

    // What of the next layer goes to one subflow, and to which: 6.12 gives whole pieces, 6.1 a segment's bytes.
    bool choose() {
        const bool written = ahead_ && d_.given() < written_to_;
        if (ahead_ ? !writing_ && !written && (!looks() || !room_ahead()) : d_.usable() == 0) return false;
        std::uint32_t object = written_;
        const SubflowSet fresh = ahead_ ? retransmission_.active() : d_.fresh();
        const SubflowSet all = fresh != 0 ? fresh : d_.established();
        SubflowSet timely = all;
        if (!begun_ || d_.layer(object).given_up) {
            if (!d_.next_unbound(timely, object)) return false;
            piece_left_ = 0;
        }
        const std::int64_t mss = d_.transport().mss_bytes;
        const std::int64_t whole =
            written ? std::min(d_.unsent_bytes(object), written_to_ - d_.given()) : d_.write_left(object);
        const std::int64_t piece = piece_left_ > 0 ? piece_left_ : std::min(whole, retransmission_.room_for_piece());
        const std::int64_t bytes = !ahead_                          ? std::min(mss, d_.unsent_bytes(object))
                                   : whole_pieces_                  ? piece
                                   : last_ != kNone && grows(last_) ? std::min(piece, mss - queues_[last_].back().bytes)
                                                                    : std::min(piece, mss);
        // One that plans ahead stands for a kernel, which knows of no deadlines.
        const int s = d_.choose(all, ahead_ ? all : timely, object, bytes, written);
        if (s < 0) return note_written();
        to_ = static_cast<std::size_t>(s);
        written_ = object;
        given_left_ = bytes;
        if (!ahead_) return true;
        if (filling_ != to_) push();
        filling_ = to_;
        if (piece_left_ == 0) retransmission_.begin_piece(d_.now(), piece);
        piece_left_ = piece - bytes;
        return true;
    }

    bool plan_next() {
        if (ahead_ ? d_.window_left() <= 0 : !d_.room_at_receiver()) {
            d_.note_blocked();
            return note_written();
        }
        if (d_.layer(written_).given_up) given_left_ = 0;
        if (given_left_ == 0 && !choose()) return false;
        plan(to_, written_);
        const bool rest = d_.unsent_bytes(written_) > 0, ends = !rest || d_.begins_write(written_);
        begun_ = ahead_ && rest;
        writing_ = begun_ && d_.deadlines() && !ends;
        if (ends) push();
        return true;
    }

    // They go to the end of the subflow's last segment, which waits and has the bytes before them, or begin another
    // (mptcp_sendmsg_frag()). Guests have no segmentation offload: a segment is a buffer.
    void plan(std::size_t s, std::uint32_t object) {
        std::deque<Cut>& queue = queues_[s];
        const std::int64_t mss = d_.transport().mss_bytes;
        const std::int64_t most = ahead_ ? std::min(given_left_, d_.window_left()) : given_left_;
        std::int64_t bytes = std::min(most, mss);
        if (grows(s)) {
            Cut& segment = queue.back();
            bytes = std::min(most, mss - segment.bytes);
            if (object != last_object_) ++segments_[object];
            d_.extend(s, segment, object, bytes);
            segment.pushed = false;
            retransmission_.handle_growth(segment);
        } else {
            queue.push_back(d_.cut(s, object, bytes));
            ++segments_[object];
            if (ahead_) retransmission_.handle_cut(d_.now(), queue.back());
        }
        insert(busy_, s);
        d_.note_planned(s, bytes);
        given_left_ -= bytes;
        last_ = s;
        last_object_ = object;
    }

    bool grows(std::size_t s) const {
        return ahead_ && last_ == s && !queues_[s].empty() && queues_[s].back().bytes < d_.transport().mss_bytes;
    }

    // Was something held until now?
    bool push() {
        if (filling_ == kNone) return false;
        if (!queues_[filling_].empty()) queues_[filling_].back().pushed = true;
        filling_ = kNone;
        return true;
    }

    void send_front(std::size_t s) {
        if (!copies_[s].empty()) return send_copy(s);
        const Cut segment = queues_[s].front();
        queues_[s].pop_front();
        if (queues_[s].empty()) erase(busy_, s);
        d_.note_planned(s, -std::int64_t{segment.bytes});
        d_.put_cut(s, segment);
        d_.each_layer(segment, [&](std::uint32_t object, std::uint16_t) {
            if (--segments_[object] > 0) return;  // others of its layer wait, perhaps at other subflows
            segments_.erase(object);
            if (d_.unsent_bytes(object) == 0) d_.note_sent_out(object);
        });
    }

    void send_copy(std::size_t s) {
        const Cut copy = copies_[s].front();
        copies_[s].pop_front();
        if (copies_[s].empty() && queues_[s].empty()) erase(busy_, s);
        d_.note_assigned(s, -std::int64_t{copy.bytes});
        d_.send_copy(s, copy.object, copy.order, copy.bytes);
    }

    Dispatcher& d_;
    bool ahead_;
    std::uint32_t written_ = 0;  // the layer planned last, whose rest a program writes before another
    std::int64_t piece_left_ = 0, given_left_ = 0;  // bytes of it that go to that subflow, whatever comes
    std::size_t to_ = 0;
    std::size_t filling_ = kNone;  // is given the bytes of a write, and does not send yet
    Time look_ = kNever;
    std::size_t last_ = kNone;  // has the stream's last bytes, of that layer
    std::uint32_t last_object_ = 0;
    bool begun_ = false;    // it has one
    bool writing_ = false;  // amid what it hands over at once, which has room or not as a whole
    bool whole_pieces_;
    std::int64_t send_buffer_, most_unsent_, written_to_ = 0;  // bytes; the last of the stream, written at least
    std::vector<std::deque<Cut>> queues_;                      // per subflow: segments that it was given
    std::vector<std::deque<Cut>> copies_;                      // what MPTCP's timer repeats, before these
    Retransmission retransmission_;
    SubflowSet& busy_;                                // those with any
    std::map<std::uint32_t, std::int64_t> segments_;  // the same by layer
};

}  // namespace

std::unique_ptr<Strategy> make_planned(Dispatcher& dispatcher, bool ahead, bool whole_pieces, const Program& program) {
    return std::make_unique<Planned>(dispatcher, ahead, whole_pieces, program);
}

}  // namespace dstcc
