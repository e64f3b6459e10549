// open-loop: no congestion control. Segments leave at a rate the operator sets (by default the link's own rate: it is
// told what the others must find out); losses are repeated at the same rate. Deep-space practice for scheduled passes.
#include "congestion/control.hpp"

namespace dstcc {
namespace {

class OpenLoop final : public CongestionControl {
public:
    void init(TcpState& tcp, Time) override {
        tcp.cwnd = kInfiniteWindow;
        const double rate = tcp.open_loop_bps > 0 ? tcp.open_loop_bps : tcp.link_rate_bps;
        tcp.pacing_bytes_per_ns = rate / 8.0 / kNsPerS;
    }
    std::int64_t ssthresh(TcpState&, Time) override { return kInfiniteWindow; }
    void cong_avoid(TcpState&, std::int64_t, Time) override {}
    bool takes_acks() const override { return true; }
    bool cong_control(TcpState&, const RateSample&, Time) override { return true; }
    bool owns_window() const override { return true; }
};

}  // namespace

std::unique_ptr<CongestionControl> make_open_loop() { return std::make_unique<OpenLoop>(); }

}  // namespace dstcc
