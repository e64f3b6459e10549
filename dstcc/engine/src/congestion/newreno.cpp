// NewReno: RFC 5681 growth and halving, RFC 6582's single reduction per loss window (the scoreboard is SACK, so the
// repair itself is the engine's).
//
//   slow start  W += acked;   avoidance  W += acked / W;   on loss  W <- W / 2
#include "congestion/control.hpp"

namespace dstcc {
namespace {

class NewReno final : public CongestionControl {
public:
    void init(TcpState&, Time) override {}
    std::int64_t ssthresh(TcpState& tcp, Time) override { return std::max<std::int64_t>(tcp.cwnd / 2, 2); }
    void cong_avoid(TcpState& tcp, std::int64_t acked, Time) override { reno_cong_avoid(tcp, acked); }
};

const Registered<ControlEntry> kEntry{{"newreno", make_control<NewReno>}};

}  // namespace

}  // namespace dstcc
