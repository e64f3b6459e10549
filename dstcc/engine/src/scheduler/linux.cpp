// linux: what Linux's MPTCP does by default since 5.10 (mptcp_subflow_get_send() in net/mptcp/protocol.c, "blest" in its
// words), as 6.12 has it; linux-6.1 as that.
//
//   linger_i = queued_i / pace_i     the subflow of least linger takes the next 64 KiB, with room in its window or without
//   queued   memory that takes what the subflow was given and has no acknowledgement for, sent or not (sk_wmem_queued)
//   pace     <- (pace queued + rate burst) / (queued + burst)   whenever it is chosen for a burst
//   rate     the control's own, else 2 cwnd / SRTT below half of ssthresh and 1.2 cwnd / SRTT above (tcp_update_pacing_rate())
//
// So it levels the times that the subflows' queues take, and not their windows: the slower of two stands with part of its
// window unused while the quicker one has more than fills its own. The writer keeps an eighth of all windows beyond what is
// under way in the connection, as that of kernel-cc/transfer does, where layers have deadlines.
//
// 6.1 goes on with a burst over the next writes (last_snd, snd_burst); 6.12 chooses anew with each write, each of the program's
// looks and each ACK that pushes (mptcp_sched_get_send(), with which __mptcp_push_pending() and __mptcp_subflow_push_pending()
// begin). 6.1's subflows heed tcp_notsent_lowat; 6.12's do not (mptcp_sockopt_sync_locked()), and take what their send buffers
// hold (sk_stream_memory_free()).
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

// Until the first data is acknowledged the rate is that of the SYN's answer, before the route's window is set: TCP_INIT_CWND, or
// one segment where a SYN was repeated (tcp_enter_loss()), as it is where a round trip takes more than a second; of a join until
// another ACK comes while data is in flight.
constexpr std::int64_t kInitialWindow = 10;
constexpr std::int64_t kBurst = 65428;  // bytes: MPTCP_SEND_BURST_SIZE, 64 KiB less headers

enum class Release { k6_1, k6_12 };

// Bytes of memory of a segment beside its payload: sk_buff, its shared info, room for headers (SO_MEMINFO of a segment that waits).
constexpr double buffer(Release release) { return release == Release::k6_1 ? 768 : 832; }

template <Release kRelease>
class Linux final : public Scheduler {
public:
    explicit Linux(const SchedulerSetup& setup)
        : pace_(setup.paths, 0),
          send_buffer_(setup.send_buffer),
          unsent_limit_(setup.unsent_limit) {}
    Dispatch dispatch() const override {
        return kRelease == Release::k6_1 ? Dispatch::kPlannedAhead : Dispatch::kPlannedAtOnce;
    }

    int pick(const std::vector<Path>& paths, SubflowSet ready, const Next& next) override {
        const bool anew = kRelease == Release::k6_12 && (next.write || next.now_ns != asked_ns_);
        asked_ns_ = next.now_ns;
        if ((anew || burst_ <= 0 || (ready & bit_of(last_)) == 0 || full(paths, last_)) && !begin(paths, ready, next))
            return -1;
        burst_ -= next.bytes;
        return last_;
    }

private:
    bool begin(const std::vector<Path>& paths, SubflowSet ready, const Next& next) {
        for (SubflowSet set = ready; set != 0; set &= set - 1)
            if (double& pace = pace_of(lowest(set)); pace == 0) pace = rate(tcp_of(paths, lowest(set)));
        const int least_linger =
            least(ready, [&](int i) { return queued(paths[static_cast<std::size_t>(i)]) / pace_of(i); });
        if (full(paths, least_linger)) {
            if (kRelease == Release::k6_12) burst_ = 0;
            return false;
        }
        const Path& chosen = paths[static_cast<std::size_t>(least_linger)];
        last_ = least_linger;
        burst_ = std::min(kBurst, next.room);
        pace_of(last_) =
            rules::linux_pace(pace_of(last_), queued(chosen), rate(chosen.subflow->tcp()), static_cast<double>(burst_));
        return true;
    }
    // sk_stream_memory_free()
    bool full(const std::vector<Path>& paths, int i) const {
        const Path& path = paths[static_cast<std::size_t>(i)];
        return queued(path) >= send_buffer_ || (kRelease == Release::k6_1 && path.assigned_bytes >= unsent_limit_);
    }
    double& pace_of(int i) { return pace_[static_cast<std::size_t>(i)]; }
    static double queued(const Path& path) {
        const TcpState& tcp = path.subflow->tcp();
        const auto mss = static_cast<double>(tcp.mss_bytes);
        return (static_cast<double>(path.assigned_bytes) + static_cast<double>(tcp.packets_out()) * mss) *
               (1 + buffer(kRelease) / mss);
    }
    static double rate(const TcpState& tcp) {
        if (tcp.pacing_bytes_per_ns > 0) return tcp.pacing_bytes_per_ns;
        if (tcp.delivered == 0) {
            const std::int64_t cwnd = tcp.syn_repeated ? 1 : kInitialWindow;
            const std::int64_t ssthresh = tcp.syn_repeated ? tcp.syn_ssthresh : kInfiniteWindow;
            return rules::linux_rate(cwnd, ssthresh, 0, tcp.mss_bytes, tcp.srtt_ns);
        }
        return rules::linux_rate(tcp.cwnd, tcp.ssthresh, tcp.packets_out(), tcp.mss_bytes, tcp.srtt_ns);
    }

    std::vector<double> pace_;  // bytes per ns; 0: not chosen yet
    double send_buffer_;
    std::int64_t unsent_limit_;
    int last_ = 0;
    Time asked_ns_ = kNever;
    std::int64_t burst_ = 0;  // bytes that the last one may still take
};

const Registered<SchedulerEntry> kDefault{{"linux", make_scheduler<Linux<Release::k6_12>>}};
const Registered<SchedulerEntry> kFormer{{"linux-6.1", make_scheduler<Linux<Release::k6_1>>}};

}  // namespace

}  // namespace dstcc
