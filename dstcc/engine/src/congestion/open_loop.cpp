// open-loop: no congestion control. Segments leave at a rate the operator sets (by default the link's own rate over time, as
// the contact plan has it: it is told what the others must find out); losses are repeated at the same rate. Deep-space
// practice for scheduled passes.
#include "congestion/control.hpp"
#include "link/rate_steps.hpp"

namespace dstcc {
namespace {

class OpenLoop final : public CongestionControl {
public:
    explicit OpenLoop(const ControlSetup& setup) : rate_bps_(setup.per_link("rate_bps").value_or(0)) {
        if (!(rate_bps_ >= 0)) throw std::invalid_argument("open-loop: rate_bps must not be negative (0: the line's)");
        if (rate_bps_ > 0) return;
        rate_bps_ = setup.line_bps;
        if (setup.plan != nullptr) plan_ = RateSteps(*setup.plan);
    }
    void init(TcpState& tcp, Time now) override {
        tcp.cwnd = kInfiniteWindow;
        pace(tcp, now);
    }
    std::int64_t ssthresh(TcpState&, Time) override { return kInfiniteWindow; }
    void cong_avoid(TcpState&, std::int64_t, Time) override {}
    bool takes_acks() const override { return true; }
    bool cong_control(TcpState&, const RateSample&, Time) override { return true; }
    bool owns_window() const override { return true; }
    bool wants_sends() const override { return !plan_.steady(); }
    void on_sent(TcpState& tcp, Time now) override { pace(tcp, now); }

private:
    // Where the rate changes, the next segment follows when the line has carried a full one.
    void pace(TcpState& tcp, Time now) const {
        tcp.pacing_bytes_per_ns = rate_bps_ / 8.0 / kNsPerS;
        if (plan_.steady()) return;
        const Time service = std::max<Time>(static_cast<Time>(tcp.wire_bytes / tcp.pacing_bytes_per_ns + 0.5), 1);
        tcp.pacing_bytes_per_ns = tcp.wire_bytes / static_cast<double>(plan_.finish(now, service) - now);
    }
    double rate_bps_;
    RateSteps plan_;
};

const Registered<ControlEntry> kEntry{{"open-loop", make_control<OpenLoop>, {"rate_bps"}}};

}  // namespace

}  // namespace dstcc
