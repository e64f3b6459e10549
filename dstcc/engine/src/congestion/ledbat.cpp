// LEDBAT: RFC 6817. A background transfer that keeps 100 ms of one-way queueing delay and makes room for all others.
//
//   queueing = min(last 4 one-way delays) - min(one-way delays of the last 10 minutes)
//   per ACK    W += GAIN (TARGET - queueing) / TARGET · acked / W,   at most flight size + 1, at least 2
//   loss       W <- max(W / 2, 2), once a round trip;     timeout  W <- 1
//
// W has a fraction, as the RFC's window in bytes has; what is sent is its whole part. TARGET and the minutes of the base
// history are emulated seconds; minutes begin where the clock's do (round_to_minute). There is no slow start (section
// 2.4.2), so W grows by a segment a round trip at most.
// Deviations: W starts at the transport's initial window, not 2 (section 2.5 recommends 2); the congestion timeout is the
// engine's RTO; delays are exact (both ends read one clock), so clock skew needs no correction.
#include <array>

#include "congestion/control.hpp"

namespace dstcc {
namespace {

constexpr double kGain = 1;       // section 2.4.2: at most Reno's growth
constexpr double kMinWindow = 2;  // MIN_CWND
constexpr std::int64_t kAllowedIncrease = 1;
constexpr std::size_t kBaseHistory = 10;   // minutes
constexpr std::size_t kCurrentFilter = 4;  // samples

class Ledbat final : public CongestionControl {
public:
    bool wants_one_way_delay() const override { return true; }
    void init(TcpState& tcp, Time now) override {
        tcp.ssthresh = tcp.cwnd;
        base_.fill(kNever);
        current_.fill(kNever);
        minute_ = now / tcp.constants->ledbat_minute;
    }
    std::int64_t ssthresh(TcpState& tcp, Time) override {
        follow(tcp);
        window_ = std::min(window_, std::max(window_ / 2, kMinWindow));
        return static_cast<std::int64_t>(window_);
    }
    void pkts_acked(TcpState& tcp, std::int64_t, Time, Time now) override {
        if (tcp.one_way_ns < 0) return;
        current_[next_current_] = tcp.one_way_ns;
        next_current_ = (next_current_ + 1) % kCurrentFilter;
        if (now / tcp.constants->ledbat_minute != minute_) {
            minute_ = now / tcp.constants->ledbat_minute;
            newest_ = (newest_ + 1) % kBaseHistory;
            base_[newest_] = tcp.one_way_ns;
            base_delay_ = *std::min_element(base_.begin(), base_.end());
        } else if (tcp.one_way_ns < base_[newest_]) {
            base_[newest_] = tcp.one_way_ns;
            base_delay_ = std::min(base_delay_, tcp.one_way_ns);
        }
    }
    void cong_avoid(TcpState& tcp, std::int64_t acked, Time) override {
        if (base_delay_ == kNever) return;
        const Time queueing = *std::min_element(current_.begin(), current_.end()) - base_delay_;
        const double off_target = 1 - static_cast<double>(queueing) / static_cast<double>(tcp.constants->ledbat_target);
        follow(tcp);
        window_ += kGain * off_target * static_cast<double>(acked) / window_;
        const std::int64_t flight = tcp.in_flight() + acked;  // before this ACK
        window_ = std::max(std::min(window_, static_cast<double>(flight + kAllowedIncrease)), kMinWindow);
        tcp.cwnd = static_cast<std::int64_t>(window_);
        tcp.ssthresh = tcp.cwnd;  // no slow start
    }

private:
    // A timeout, or the end of a recovery, has set another window.
    void follow(const TcpState& tcp) {
        if (static_cast<std::int64_t>(window_) != tcp.cwnd) window_ = static_cast<double>(tcp.cwnd);
    }

    double window_ = 0;  // segments
    Time base_delay_ = kNever;
    std::int64_t minute_ = 0;
    std::array<Time, kBaseHistory> base_{};
    std::array<Time, kCurrentFilter> current_{};
    std::size_t newest_ = 0, next_current_ = 0;
};

const Registered<ControlEntry> kEntry{{"ledbat", make_control<Ledbat>}};

}  // namespace

}  // namespace dstcc
