// blest: blocking estimation (Ferlin, Alay, Mehani, Boreli, IFIP Networking 2016), with the estimates of the authors'
// mptcp_blest.c (MPTCP v0.95).
//
//   fast = least SRTT of all, best = least SRTT of those with room;  best == fast: send
//   linger = max(SRTT_s, min_s + (max_s - min_s) (in flight_s + 1) / cwnd_s)         the slow subflow's next segment
//   n = linger / RTT_f + 1,  X = cwnd_f (2^n - 1) in slow start, else (cwnd_f + (n - 1) / 2) n      segments
//   wait if  lambda X MSS > W - (in flight_s + 1) MSS           W: the connection's send window
//   lambda: +0.04 after a round of the slow subflow in which the window was full or data went over again, else -0.01
//
// W is the receiver's buffer. Where that is never the limit, nothing can block it and this is `minrtt`.
#include <algorithm>
#include <cmath>

#include "scheduler/scheduler.hpp"
#include "scheduler/rules.hpp"

namespace dstcc {
namespace rules {

constexpr double kLambdaMin = 1.0, kLambdaMax = 1.3;  // the paper's section IV; mptcp_blest.c
constexpr double kLambdaGood = 0.01, kLambdaBad = 0.04;
constexpr double kSlowStartRounds = 16;  // mptcp_blest.c: "cap for sanity"

double blest_fast_bytes(double cwnd, double ssthresh, Time rtt_ns, Time linger_ns, double mss_bytes, double lambda) {
    const double rounds = rtt_ns > 0 ? std::floor(static_cast<double>(linger_ns) / static_cast<double>(rtt_ns)) + 1 : 1;
    double segments;
    if (ssthresh >= static_cast<double>(kInfiniteWindow)) {
        segments = cwnd * (std::exp2(std::min(rounds, kSlowStartRounds)) - 1);
    } else {
        const double avoiding = std::max(cwnd, ssthresh + 1);  // as if slow start were over
        segments = (avoiding + std::floor((rounds - 1) / 2)) * rounds;
    }
    return segments * mss_bytes * lambda;
}

Time blest_linger_ns(Time srtt_ns, Time min_rtt_ns, Time max_rtt_ns, double in_flight, double cwnd) {
    const double share = std::min((in_flight + 1) / std::max(cwnd, 1.0), 1.0);
    return std::max(srtt_ns, min_rtt_ns + static_cast<Time>(share * static_cast<double>(max_rtt_ns - min_rtt_ns)));
}

double blest_lambda(double lambda, bool blocked) {
    return std::clamp(blocked ? lambda + kLambdaBad : lambda - kLambdaGood, kLambdaMin, kLambdaMax);
}

}  // namespace rules

namespace {

class Blest final : public Scheduler {
public:
    explicit Blest(const SchedulerSetup& setup)
        : window_(setup.transport.receive_buffer_bytes),
          mss_(setup.transport.mss_bytes),
          seen_(setup.paths) {}
    bool wants_feedback() const override { return true; }
    void on_reinjection(int, std::int64_t, Time) override { blocked_ = true; }
    void on_blocked(Time) override { blocked_ = true; }

    int pick(const std::vector<Path>& paths, SubflowSet ready, const Next& next) override {
        const SubflowSet all = ready | next.busy;
        for (SubflowSet set = all; set != 0; set &= set - 1) {
            const int i = lowest(set);
            seen_[static_cast<std::size_t>(i)].add(tcp_of(paths, i).srtt_ns);
        }
        const int best = fastest(paths, ready), fast = fastest(paths, all);
        if (best == fast || window_ == 0) return best;
        return waits(paths, best, fast, next) ? -1 : best;
    }

private:
    struct Extremes {
        Time min = kNever, max = 0;
        void add(Time srtt) {
            min = std::min(min, srtt);
            max = std::max(max, srtt);
        }
    };
    bool waits(const std::vector<Path>& paths, int slow, int fast, const Next& next) {
        const TcpState& s = tcp_of(paths, slow);
        const TcpState& f = tcp_of(paths, fast);
        const Extremes& slow_rtt = seen_[static_cast<std::size_t>(slow)];
        const Extremes& fast_rtt = seen_[static_cast<std::size_t>(fast)];
        if (next.now_ns - lambda_set_at_ >= slow_rtt.min) {
            lambda_ = rules::blest_lambda(lambda_, blocked_);
            blocked_ = false;
            lambda_set_at_ = next.now_ns;
        }
        const auto in_flight = static_cast<double>(s.in_flight());
        const Time linger =
            rules::blest_linger_ns(s.srtt_ns, slow_rtt.min, slow_rtt.max, in_flight, static_cast<double>(s.cwnd));
        const double fast_bytes = rules::blest_fast_bytes(static_cast<double>(f.cwnd), static_cast<double>(f.ssthresh),
                                                          fast_rtt.min + (fast_rtt.max - fast_rtt.min) / 2, linger,
                                                          static_cast<double>(mss_), lambda_);
        const double slow_bytes = static_cast<double>(s.packets_out() * mss_ + next.bytes);
        return fast_bytes > std::max(static_cast<double>(window_) - slow_bytes, 0.0);
    }

    std::int64_t window_, mss_;
    std::vector<Extremes> seen_;
    double lambda_ = 1.2;  // the paper's start
    Time lambda_set_at_ = 0;
    bool blocked_ = false;
};

const Registered<SchedulerEntry> kEntry{{"blest", make_scheduler<Blest>}};

}  // namespace

}  // namespace dstcc
