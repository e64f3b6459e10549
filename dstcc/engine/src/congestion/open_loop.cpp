// open-loop: no congestion control. Segments leave at a rate the operator sets (by default the link's own rate: it is
// told what the others must find out); losses are repeated at the same rate. Deep-space practice for scheduled passes.
#include "congestion/control.hpp"

namespace dstcc {
namespace {

class OpenLoop final : public CongestionControl {
public:
    explicit OpenLoop(const ControlSetup& setup) : rate_bps_(setup.per_link("rate_bps").value_or(0)) {
        if (!(rate_bps_ >= 0)) throw std::invalid_argument("open-loop: rate_bps must not be negative (0: the line's)");
        if (rate_bps_ == 0) rate_bps_ = setup.line_bps;
    }
    void init(TcpState& tcp, Time) override {
        tcp.cwnd = kInfiniteWindow;
        tcp.pacing_bytes_per_ns = rate_bps_ / 8.0 / kNsPerS;
    }
    std::int64_t ssthresh(TcpState&, Time) override { return kInfiniteWindow; }
    void cong_avoid(TcpState&, std::int64_t, Time) override {}
    bool takes_acks() const override { return true; }
    bool cong_control(TcpState&, const RateSample&, Time) override { return true; }
    bool owns_window() const override { return true; }

private:
    double rate_bps_;
};

const Registered<ControlEntry> kEntry{{"open-loop", make_control<OpenLoop>, {"rate_bps"}}};

}  // namespace

}  // namespace dstcc
