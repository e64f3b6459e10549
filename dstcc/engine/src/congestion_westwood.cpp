// Westwood+ (Grieco & Mascolo, "Performance evaluation and comparison of Westwood+, New Reno and Vegas", CCR 2004), with
// the two cascaded 7/8 filters of Linux.
//
//   b_k = acked bytes / Δt  once per RTT (Δt > max(rtt, 50 ms));   n <- 7/8 n + 1/8 b_k;   BWE <- 7/8 BWE + 1/8 n
//   on loss  ssthresh = BWE · RTTmin / MSS;  growth as NewReno's.
// RTTmin restarts after a timeout, as in Linux.
#include "congestion.hpp"

namespace dstcc {
namespace {

class Westwood final : public CongestionControl {
public:
    void init(TcpState& tcp, Time now) override {
        window_start_ = now;
        rtt_ = rtt_min_ = std::max<Time>(tcp.srtt_ns, 0);
        delivered_ = tcp.delivered;
    }
    std::int64_t ssthresh(TcpState& tcp, Time) override { return std::max<std::int64_t>(tcp.cwnd / 2, 2); }
    void cong_avoid(TcpState& tcp, std::int64_t acked, Time) override { reno_cong_avoid(tcp, acked); }
    void pkts_acked(TcpState& tcp, std::int64_t, Time rtt_ns, Time now) override {
        if (rtt_ns > 0) rtt_ = rtt_ns;
        if (rtt_ > 0) {
            rtt_min_ = restart_min_ || rtt_min_ == 0 ? rtt_ : std::min(rtt_, rtt_min_);
            restart_min_ = false;
        }
        const Time elapsed = now - window_start_;
        if (rtt_ > 0 && elapsed > std::max(rtt_, tcp.constants->westwood_rtt_min)) {
            const double sample = static_cast<double>(tcp.delivered - delivered_) / static_cast<double>(elapsed);
            narrow_ = narrow_ == 0 && estimate_ == 0 ? sample : (7 * narrow_ + sample) / 8;
            estimate_ = estimate_ == 0 ? narrow_ : (7 * estimate_ + narrow_) / 8;
            delivered_ = tcp.delivered;
            window_start_ = now;
        }
    }
    void on_event(TcpState& tcp, CaEvent event, Time) override {
        if (event == CaEvent::kExitReduction) {
            tcp.cwnd = tcp.ssthresh = bandwidth_window();
        } else if (event == CaEvent::kEnterLoss) {
            tcp.ssthresh = bandwidth_window();
            restart_min_ = true;
        }
    }

private:
    std::int64_t bandwidth_window() const {
        return std::max<std::int64_t>(static_cast<std::int64_t>(estimate_ * static_cast<double>(rtt_min_)), 2);
    }
    double narrow_ = 0, estimate_ = 0;  // segments per ns
    Time window_start_ = 0, rtt_ = 0, rtt_min_ = 0;
    std::uint64_t delivered_ = 0;
    bool restart_min_ = true;
};

}  // namespace

std::unique_ptr<CongestionControl> make_westwood() { return std::make_unique<Westwood>(); }

}  // namespace dstcc
