// open-loop: no congestion control. Segments leave at a rate the operator sets (by default the link's own rate over time, as
// the contact plan has it: it is told what the others must find out); losses are repeated at the same rate. Deep-space
// practice for scheduled passes.
#include "congestion/control.hpp"
#include "congestion/told_rate.hpp"

namespace dstcc {
namespace {

class OpenLoop final : public CongestionControl {
public:
    explicit OpenLoop(const ControlSetup& setup) : rate_(setup, given(setup)) {}
    void init(TcpState& tcp, Time now) override {
        tcp.cwnd = kInfiniteWindow;
        pace(tcp, now);
    }
    std::int64_t ssthresh(TcpState&, Time) override { return kInfiniteWindow; }
    void cong_avoid(TcpState&, std::int64_t, Time) override {}
    bool takes_acks() const override { return true; }
    bool cong_control(TcpState&, const RateSample&, Time) override { return true; }
    bool owns_window() const override { return true; }
    Time deaf_until(Time) const override { return kNever; }
    bool wants_sends() const override { return !rate_.steady(); }
    void on_sent(TcpState& tcp, Time now) override { pace(tcp, now); }

private:
    static double given(const ControlSetup& setup) {
        const double bps = setup.per_link("rate_bps").value_or(0);
        if (!(bps >= 0)) throw std::invalid_argument("open-loop: rate_bps must not be negative (0: the line's)");
        return bps;
    }
    void pace(TcpState& tcp, Time now) const {
        tcp.pacing_bytes_per_ns = rate_.at(now, static_cast<double>(tcp.wire_bytes));
    }
    ToldRate rate_;
};

const Registered<ControlEntry> kEntry{{"open-loop", make_control<OpenLoop>, {"rate_bps"}}};

}  // namespace

}  // namespace dstcc
