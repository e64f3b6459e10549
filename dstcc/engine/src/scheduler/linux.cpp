// linux: what Linux's MPTCP does by default since 5.10 (mptcp_subflow_get_send() in net/mptcp/protocol.c of 6.1, "blest" in
// its words).
//
//   linger_i = queued_i / pace_i     the subflow of least linger takes the next 64 KiB, with room in its window or without
//   queued   memory that takes what the subflow was given and has no acknowledgement for, sent or not (sk_wmem_queued)
//   pace     <- (pace queued + rate burst) / (queued + burst)   whenever it is chosen for a burst
//   rate     the law's own, else 2 cwnd / SRTT below half of ssthresh and 1.2 cwnd / SRTT above (tcp_update_pacing_rate())
//
// So it levels the times that the subflows' queues take, and not their windows: the slower of two stands with part of its
// window unused while the quicker one has more than fills its own. The writer keeps an eighth of all windows beyond what is
// under way in the connection, as that of kernel-cc/transfer does.
#include "scheduler/scheduler.hpp"
#include "scheduler/rules.hpp"

namespace dstcc {
namespace rules {

double linux_rate(std::int64_t cwnd, std::int64_t ssthresh, std::int64_t packets_out, double mss_bytes, Time srtt_ns) {
    constexpr double kSlowStart = 2.0, kAvoidance = 1.2;  // net.ipv4.tcp_pacing_ss_ratio, tcp_pacing_ca_ratio
    const double ratio = cwnd < ssthresh / 2 ? kSlowStart : kAvoidance;
    return ratio * static_cast<double>(std::max(cwnd, packets_out)) * mss_bytes /
           static_cast<double>(std::max<Time>(srtt_ns, 1));
}

double linux_pace(double pace, double queued_bytes, double rate, double burst_bytes) {
    return (pace * queued_bytes + rate * burst_bytes) / (queued_bytes + burst_bytes);
}

}  // namespace rules

namespace {

constexpr double kBuffer =
    896;  // bytes of memory of a segment beside its payload: sk_buff, its shared info, room for headers
constexpr std::int64_t kBurst = 65428;  // bytes: MPTCP_SEND_BURST_SIZE, 64 KiB less headers

class Linux final : public Scheduler {
public:
    explicit Linux(const SchedulerSetup& setup) : pace_(setup.paths, 0) {}
    Dispatch dispatch() const override { return Dispatch::kPlannedAhead; }

    int pick(const std::vector<Path>& paths, SubflowSet ready, const Next& next) override {
        if (burst_ <= 0 || (ready & bit_of(last_)) == 0) begin(paths, ready, next);
        burst_ -= next.bytes;
        return last_;
    }

private:
    void begin(const std::vector<Path>& paths, SubflowSet ready, const Next& next) {
        for (SubflowSet set = ready; set != 0; set &= set - 1)
            if (double& pace = pace_of(lowest(set)); pace == 0) pace = rate(tcp_of(paths, lowest(set)));
        last_ = least(ready, [&](int i) { return queued(paths[static_cast<std::size_t>(i)]) / pace_of(i); });
        burst_ = std::min(kBurst, next.room);
        const Path& chosen = paths[static_cast<std::size_t>(last_)];
        pace_of(last_) =
            rules::linux_pace(pace_of(last_), queued(chosen), rate(chosen.subflow->tcp()), static_cast<double>(burst_));
    }
    double& pace_of(int i) { return pace_[static_cast<std::size_t>(i)]; }
    static double queued(const Path& path) {
        const TcpState& tcp = path.subflow->tcp();
        const auto mss = static_cast<double>(tcp.mss_bytes);
        return (static_cast<double>(path.assigned_bytes) + static_cast<double>(tcp.packets_out()) * mss) *
               (1 + kBuffer / mss);
    }
    static double rate(const TcpState& tcp) {
        if (tcp.pacing_bytes_per_ns > 0) return tcp.pacing_bytes_per_ns;
        return rules::linux_rate(tcp.cwnd, tcp.ssthresh, tcp.packets_out(), tcp.mss_bytes, tcp.srtt_ns);
    }

    std::vector<double> pace_;  // bytes per ns; 0: not chosen yet
    int last_ = 0;
    std::int64_t burst_ = 0;  // bytes that the last one may still take
};

const Registered<SchedulerEntry> kEntry{{"linux", make_scheduler<Linux>}};

}  // namespace

}  // namespace dstcc
