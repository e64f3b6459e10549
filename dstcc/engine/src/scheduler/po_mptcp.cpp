// po-mptcp: priority-oriented (Wei, Zeng, Cao, Wang, "PO-MPTCP", Security and Communication Networks 2019).
//
//   DPAM: which data has priority      here the base layer of every chunk; it also leaves before all other layers
//   MDPS: paths by RTT, least first; equal RTTs by window, largest first
//   PBPD: priority data takes the first path of that list with room, other data the standard scheduler (`minrtt`)
#include "scheduler/scheduler.hpp"
#include "scheduler/rules.hpp"

namespace dstcc {
namespace rules {

bool po_mptcp_before(Time rtt_a, std::int64_t cwnd_a, Time rtt_b, std::int64_t cwnd_b) {
    return rtt_a != rtt_b ? rtt_a < rtt_b : cwnd_a > cwnd_b;
}

}  // namespace rules

namespace {

class PriorityOriented final : public Scheduler {
public:
    Order order() const override { return Order::kLayerFirst; }
    int pick(const std::vector<Path>& paths, SubflowSet ready, const Next& next) override {
        if (next.layer > 0) return fastest(paths, ready);
        int first = lowest(ready);
        for (SubflowSet set = ready & (ready - 1); set != 0; set &= set - 1) {
            const int i = lowest(set);
            const TcpState &a = tcp_of(paths, i), &b = tcp_of(paths, first);
            if (rules::po_mptcp_before(a.srtt_ns, a.cwnd, b.srtt_ns, b.cwnd)) first = i;
        }
        return first;
    }
};

const Registered<SchedulerEntry> kEntry{{"po-mptcp", make_scheduler<PriorityOriented>}};

}  // namespace

}  // namespace dstcc
