// fixed: a constant window W (the parameter cwnd_segments, or the link's BDP), paced at W / srtt so that a window's worth never leaves as one burst.
//
// The deep-space idea of a window set once to the bandwidth-delay product (paper 1 calls it the BDP); it neither probes
// nor backs off, so it is the yardstick for what reacting to loss costs.
#include "congestion/control.hpp"

namespace dstcc {
namespace {

class Fixed final : public CongestionControl {
public:
    explicit Fixed(const ControlSetup& setup) : window_(setup.bdp_segments) {
        const std::optional<double> set = setup.per_link("cwnd_segments");
        if (!set) return;
        if (!(*set >= 1 && *set <= static_cast<double>(kInfiniteWindow)))
            throw std::invalid_argument("fixed: cwnd_segments must be 1 to 2^40");
        window_ = static_cast<std::int64_t>(*set);
    }
    void init(TcpState& tcp, Time) override {
        tcp.cwnd = window_;
        pace(tcp);
    }
    std::int64_t ssthresh(TcpState& tcp, Time) override { return tcp.cwnd; }
    void cong_avoid(TcpState&, std::int64_t, Time) override {}
    bool takes_acks() const override { return true; }
    bool cong_control(TcpState& tcp, const RateSample&, Time) override {
        pace(tcp);
        return true;
    }
    bool owns_window() const override { return true; }

private:
    static void pace(TcpState& tcp) {
        if (tcp.srtt_ns > 0)
            tcp.pacing_bytes_per_ns = static_cast<double>(tcp.cwnd) * tcp.wire_bytes / static_cast<double>(tcp.srtt_ns);
    }

    std::int64_t window_;
};

const Registered<ControlEntry> kEntry{{"fixed", make_control<Fixed>, {"cwnd_segments"}}};

}  // namespace

}  // namespace dstcc
