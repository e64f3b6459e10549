#include <algorithm>
#include <deque>
#include <iterator>
#include <map>

#include "dispatch/dispatcher.hpp"

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
          busy_(d.bound()) {}

    void handle_release(std::uint32_t object) override { d_.wait(object); }

    // What was planned goes first; more is planned only when a subflow with room has nothing.
    void offer() override {
        for (;;) {
            if (const SubflowSet planned = d_.ready() & busy_) {
                send_front(static_cast<std::size_t>(lowest(planned)));
                continue;
            }
            if (ahead_ ? !room_ahead() : d_.usable() == 0) return;
            if (!d_.room_at_receiver()) return d_.note_blocked();
            std::uint32_t object = 0;
            const SubflowSet all = d_.fresh() != 0 ? d_.fresh() : d_.established();
            SubflowSet timely = all;
            if (!d_.next_unbound(timely, object)) return;
            // One that plans ahead stands for a kernel, which knows of no deadlines.
            const int s = d_.choose(all, ahead_ ? all : timely, object,
                                    std::min<std::int64_t>(d_.transport().mss_bytes, d_.unsent_bytes(object)));
            if (s < 0) return;
            plan(static_cast<std::size_t>(s), object);
        }
    }

    // Another subflow takes over, in the order of the stream.
    void handle_timeout(std::size_t s) override {
        if (!contains(busy_, s)) return;
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

private:
    // Does a program that writes ahead write more? With deadlines it keeps an eighth of all windows in the connection, as what
    // is written cannot be given up; without, as much as the link that holds most (TCP_NOTSENT_LOWAT, of each subflow).
    bool room_ahead() const {
        const SubflowSet established = d_.established();
        std::int64_t windows = 0;
        for (SubflowSet set = established; set != 0; set &= set - 1)
            windows += d_.deadlines()
                           ? d_.sender(static_cast<std::size_t>(lowest(set))).tcp().cwnd * d_.transport().mss_bytes
                           : kWrittenAhead * unsent_limit_;
        return established != 0 && kWrittenAhead * d_.planned_payload() <= windows;
    }

    void plan(std::size_t s, std::uint32_t object) {
        const Cut segment = d_.cut(s, object);
        queues_[s].push_back(segment);
        insert(busy_, s);
        d_.note_planned(s, segment.bytes);
        ++segments_[object];
    }

    void send_front(std::size_t s) {
        const Cut segment = queues_[s].front();
        queues_[s].pop_front();
        if (queues_[s].empty()) erase(busy_, s);
        d_.note_planned(s, -std::int64_t{segment.bytes});
        d_.put_cut(s, segment);
        if (--segments_[segment.object] > 0) return;  // others of its layer wait, perhaps at other subflows
        segments_.erase(segment.object);
        if (d_.unsent_bytes(segment.object) == 0) d_.note_sent_out(segment.object);
    }

    Dispatcher& d_;
    bool ahead_;
    std::int64_t unsent_limit_;
    std::vector<std::deque<Cut>> queues_;             // per subflow: segments that it was given
    SubflowSet& busy_;                                // those with any
    std::map<std::uint32_t, std::int64_t> segments_;  // the same by layer
};

}  // namespace

std::unique_ptr<Strategy> make_planned(Dispatcher& dispatcher, bool ahead, std::int64_t unsent_limit) {
    return std::make_unique<Planned>(dispatcher, ahead, unsent_limit);
}

}  // namespace dstcc
