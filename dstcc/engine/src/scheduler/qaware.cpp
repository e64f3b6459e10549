// qaware: end-to-end delay and the sender's own queue together (Shreedhar, Mohan, Kaul, Kangasharju, WiOpt 2018).
//
//   the subflow with room that minimises  (queued_f + 1) S_f           equation 3
//   S_f = SRTT_f - w_f                                                  service: on the wire and beyond
//   w_f <- 7/8 w_f + 1/8 W  per ACK, W the wait in the queue of the packet that the ACK answers
//
// queued_f: what waits at the link's sending end, others' packets included, in packets of full size. The paper takes
// both means over the same packets; so W is kept from when the packet left until its ACK is there.
#include <cmath>
#include <deque>

#include "scheduler/scheduler.hpp"
#include "scheduler/rules.hpp"

namespace dstcc {
namespace rules {

double qaware_cost(double queued_packets, double srtt, double queue_wait) {
    return (queued_packets + 1) * std::max(srtt - queue_wait, 1.0);  // a service takes some time
}

}  // namespace rules

namespace {

class QAware final : public Scheduler {
public:
    explicit QAware(const SchedulerSetup& setup) : queues_(setup.paths) {}
    bool wants_feedback() const override { return true; }

    void on_sent(int path, std::int64_t, Time wait_ns, Time now) override {
        std::deque<Wait>& waits = queues_[static_cast<std::size_t>(path)].waits;
        // A wait stands for all packets until the next that waited otherwise; an empty queue takes no memory.
        if (waits.empty() || waits.back().wait_ns != wait_ns) waits.push_back({now, wait_ns});
    }
    void on_ack(int path, std::int64_t, Time sent_ns, Time) override {
        Queue& queue = queues_[static_cast<std::size_t>(path)];
        while (queue.waits.size() > 1 && queue.waits[1].from_ns <= sent_ns) queue.waits.pop_front();
        if (queue.waits.empty()) return;
        const auto sample = static_cast<double>(queue.waits.front().wait_ns);
        queue.mean_wait_ns += (sample - queue.mean_wait_ns) / 8;  // TCP's own weight for SRTT
    }

    int pick(const std::vector<Path>& paths, SubflowSet ready, const Next& next) override {
        return least(ready, [&](int i) {
            const auto p = static_cast<std::size_t>(i);
            Queue& queue = queues_[p];
            if (queue.packets_per_ns == 0)
                queue.packets_per_ns = 1.0 / static_cast<double>(paths[p].transmitter->slot_ns());
            const double waiting_ns = static_cast<double>(paths[p].transmitter->queue_ns(next.now_ns));
            return rules::qaware_cost(std::ceil(waiting_ns * queue.packets_per_ns),
                                      static_cast<double>(tcp_of(paths, i).srtt_ns), queue.mean_wait_ns);
        });
    }

private:
    struct Wait {
        Time from_ns, wait_ns;
    };
    struct Queue {
        double mean_wait_ns = 0, packets_per_ns = 0;
        std::deque<Wait> waits;
    };
    std::vector<Queue> queues_;
};

const Registered<SchedulerEntry> kEntry{{"qaware", make_scheduler<QAware>}};

}  // namespace

}  // namespace dstcc
