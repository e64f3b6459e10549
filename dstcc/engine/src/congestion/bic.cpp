// BIC: Xu, Harfoush, Rhee, "Binary increase congestion control (BIC) for fast long-distance networks", INFOCOM 2004, with
// the constants and the behaviour of Linux's tcp_bic (6.1).
//
//   below W_max     W += min((W_max - W) / 4, 16) per RTT, the last segment over 5 RTTs   (binary search, additive cap)
//   beyond W_max    W += (W - W_max) / 3, at first over 5 RTTs, at most 16 per RTT        (max probing)
//   loss            W_max <- W, or 0.9 W if it shrank;   W <- 0.8 W      (0.5 W up to 14 segments, as Reno)
//
// As in Linux, what is acknowledged counts by segment and is also multiplied by the mean segments per ACK, so the steps
// above are doubled with delayed ACKs; and a step is recomputed at most every 1/32 emulated second while W stands.
// Deviation: the quotients are of 64 bits.
#include "congestion/control.hpp"

namespace dstcc {
namespace {

constexpr std::int64_t kMaxIncrement = 16;  // Smax: segments a round trip
constexpr std::int64_t kLowWindow = 14;     // at or below it BIC is Reno
constexpr std::int64_t kBeta = 819;         // of 1,024: 0.8
constexpr std::int64_t kBetaScale = 1024;
constexpr std::int64_t kSearch = 4;         // B: a quarter of the way to W_max
constexpr std::int64_t kSmoothPart = 20;    // the last segment to W_max takes 20 / B round trips
constexpr std::int64_t kSlowestStart = 20;  // at least 5 % a round trip before the first loss
constexpr int kRatioShift = 4;              // the ACK ratio is kept in sixteenths

class Bic final : public CongestionControl {
public:
    void init(TcpState&, Time) override { reset(); }
    std::int64_t ssthresh(TcpState& tcp, Time) override {
        last_max_ = tcp.cwnd < last_max_ ? tcp.cwnd * (kBetaScale + kBeta) / (2 * kBetaScale) : tcp.cwnd;
        if (tcp.cwnd <= kLowWindow) return std::max<std::int64_t>(tcp.cwnd / 2, 2);
        return std::max<std::int64_t>(tcp.cwnd * kBeta / kBetaScale, 2);
    }
    void cong_avoid(TcpState& tcp, std::int64_t acked, Time now) override {
        if (!tcp.cwnd_limited()) return;
        if (tcp.in_slow_start()) {
            acked = slow_start(tcp, acked);
            if (acked == 0) return;
        }
        update(tcp, now);
        additive_increase(tcp, count_, acked);
    }
    void pkts_acked(TcpState& tcp, std::int64_t acked, Time, Time) override {
        if (tcp.was_open) acked_ratio_ += acked - (acked_ratio_ >> kRatioShift);
    }
    void on_event(TcpState&, CaEvent event, Time) override {
        if (event == CaEvent::kLossState) reset();
    }

private:
    void reset() {
        last_max_ = last_cwnd_ = 0;
        last_time_ = 0;
        acked_ratio_ = 2 << kRatioShift;
    }
    void update(const TcpState& tcp, Time now) {
        const Time pause = static_cast<Time>(kNsPerS / 32 * tcp.constants->scale);
        if (last_cwnd_ == tcp.cwnd && now - last_time_ <= pause) return;
        last_cwnd_ = tcp.cwnd;
        last_time_ = now;
        count_ = step(tcp.cwnd);
        if (tcp.cwnd <= kLowWindow) return;
        if (last_max_ == 0) count_ = std::min(count_, kSlowestStart);
        count_ = std::max<std::int64_t>((count_ << kRatioShift) / acked_ratio_, 1);
    }
    // Segments acknowledged per segment of growth.
    std::int64_t step(std::int64_t cwnd) const {
        if (cwnd <= kLowWindow) return cwnd;
        const std::int64_t slowest = cwnd * kSmoothPart / kSearch;
        if (cwnd < last_max_) {
            const std::int64_t distance = (last_max_ - cwnd) / kSearch;
            if (distance > kMaxIncrement) return cwnd / kMaxIncrement;
            return distance <= 1 ? slowest : cwnd / distance;
        }
        if (cwnd < last_max_ + kSearch) return slowest;
        if (cwnd < last_max_ + kMaxIncrement * (kSearch - 1)) return cwnd * (kSearch - 1) / (cwnd - last_max_);
        return cwnd / kMaxIncrement;
    }

    std::int64_t count_ = 1, last_max_ = 0, last_cwnd_ = 0, acked_ratio_ = 2 << kRatioShift;
    Time last_time_ = 0;
};

const Registered<ControlEntry> kEntry{{"bic", make_control<Bic>}};

}  // namespace

}  // namespace dstcc
