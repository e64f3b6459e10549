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

class Planned final : public Strategy {
public:
    Planned(Dispatcher& d, bool ahead, std::int64_t unsent_limit)
        : d_(d),
          ahead_(ahead),
          unsent_limit_(unsent_limit),
          queues_(d.outlets()),
          copies_(d.outlets()),
          retransmission_(d),
          busy_(d.bound()) {}

    void handle_release(std::uint32_t object) override { d_.wait(object); }

    // What was planned goes first; more is planned only when a subflow with room has nothing.
    void offer() override {
        for (;;) {
            if (const SubflowSet planned = d_.ready() & busy_) {
                send_front(static_cast<std::size_t>(lowest(planned)));
                continue;
            }
            if (ahead_ ? !writing_ && !room_ahead() : d_.usable() == 0) return;
            if (!d_.room_at_receiver()) return d_.note_blocked();
            std::uint32_t object = written_;
            const SubflowSet all = d_.fresh() != 0 ? d_.fresh() : d_.established();
            SubflowSet timely = all;
            if ((!begun_ || d_.layer(object).given_up) && !d_.next_unbound(timely, object)) return;
            // One that plans ahead stands for a kernel, which knows of no deadlines.
            const int s = d_.choose(all, ahead_ ? all : timely, object,
                                    std::min<std::int64_t>(d_.transport().mss_bytes, d_.unsent_bytes(object)));
            if (s < 0) return;
            plan(static_cast<std::size_t>(s), object);
            written_ = object;
            begun_ = ahead_ && d_.unsent_bytes(object) > 0;
            writing_ = begun_ && d_.deadlines() && !d_.begins_write(object);
        }
    }

    // Another subflow takes over, in the order of the stream.
    void handle_timeout(std::size_t s) override {
        for (const Cut& copy : copies_[s]) d_.note_assigned(s, -std::int64_t{copy.bytes});
        copies_[s].clear();
        if (queues_[s].empty()) return erase(busy_, s);
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
    Time due() const override { return retransmission_.due(); }
    void handle_timer() override {
        const int idle = retransmission_.handle_timer(
            d_.now(), [this](std::size_t s) { return d_.sender(s).tcp().packets_out() == 0 && !contains(busy_, s); });
        if (idle < 0) return;
        const auto s = static_cast<std::size_t>(idle);
        retransmission_.each_of_oldest([&](const Cut& segment) {
            copies_[s].push_back(segment);
            d_.note_assigned(s, segment.bytes);
        });
        insert(busy_, s);
    }

private:
    // Does a program that writes ahead write more? With deadlines it keeps an eighth of all windows in the connection, as what
    // is written cannot be given up; without, as much as the link that holds most (tcp_notsent_lowat, where subflows heed it) or
    // whatever the scheduler takes (`unsent_limit` 0).
    bool room_ahead() const {
        const SubflowSet established = d_.established();
        if (established != 0 && unsent_limit_ == 0 && !d_.deadlines()) return true;
        std::int64_t windows = 0;
        for (SubflowSet set = established; set != 0; set &= set - 1)
            windows += d_.deadlines()
                           ? d_.sender(static_cast<std::size_t>(lowest(set))).tcp().cwnd * d_.transport().mss_bytes
                           : kWrittenAhead * unsent_limit_;
        return established != 0 && kWrittenAhead * d_.planned_payload() <= windows;
    }

    void plan(std::size_t s, std::uint32_t object) {
        const bool write = d_.begins_write(object);
        Cut segment = d_.cut(s, object);
        segment.pushed = ahead_ && (d_.unsent_bytes(object) == 0 || d_.begins_write(object));
        queues_[s].push_back(segment);
        insert(busy_, s);
        d_.note_planned(s, segment.bytes);
        ++segments_[object];
        if (ahead_) retransmission_.handle_cut(d_.now(), segment, write);
    }

    void send_front(std::size_t s) {
        if (!copies_[s].empty()) return send_copy(s);
        const Cut segment = queues_[s].front();
        queues_[s].pop_front();
        if (queues_[s].empty()) erase(busy_, s);
        d_.note_planned(s, -std::int64_t{segment.bytes});
        d_.put_cut(s, segment);
        if (--segments_[segment.object] > 0) return;  // others of its layer wait, perhaps at other subflows
        segments_.erase(segment.object);
        if (d_.unsent_bytes(segment.object) == 0) d_.note_sent_out(segment.object);
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
    bool begun_ = false;         // it has one
    bool writing_ = false;       // amid what it hands over at once, which has room or not as a whole
    std::int64_t unsent_limit_;
    std::vector<std::deque<Cut>> queues_;  // per subflow: segments that it was given
    std::vector<std::deque<Cut>> copies_;  // what MPTCP's timer repeats, before these
    Retransmission retransmission_;
    SubflowSet& busy_;                                // those with any
    std::map<std::uint32_t, std::int64_t> segments_;  // the same by layer
};

}  // namespace

std::unique_ptr<Strategy> make_planned(Dispatcher& dispatcher, bool ahead, std::int64_t unsent_limit) {
    return std::make_unique<Planned>(dispatcher, ahead, unsent_limit);
}

}  // namespace dstcc
