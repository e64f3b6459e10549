// BALIA, the balanced linked adaptation algorithm: Peng, Walid, Hwang, Low, "Multipath TCP: analysis, design, and
// implementation", IEEE/ACM ToN 2016; draft-walid-mptcp-congestion-control-04.
//
//   x_r = W_r / RTT_r,   α_r = max_p(x_p) / x_r
//   per segment acknowledged on path r   W_r += x_r / RTT_r / (Σ_p x_p)² · (1 + α_r) / 2 · (4 + α_r) / 5
//   loss                                 W_r -= W_r / 2 · min(α_r, 3/2)
//
// Alone on its path it is Reno. The window after a loss is at least one segment (MPTCP v0.9x mptcp_balia.c). Deviation: the
// increase is computed once a round trip and when W_r changes, in real numbers.
#include "congestion/coupled.hpp"

namespace dstcc {
namespace {

constexpr double kMostDecrease = 1.5;  // of half the window: so at least a quarter of it stays

class Balia final : public Coupled {
public:
    std::int64_t ssthresh(TcpState& tcp, Time now) override {
        if (tcp.siblings == nullptr || tcp.siblings->size() <= 1) return Coupled::ssthresh(tcp, now);
        const auto window = static_cast<double>(tcp.cwnd);
        const double cut = window / 2 * std::min(rates(tcp).alpha, kMostDecrease);
        return std::max<std::int64_t>(static_cast<std::int64_t>(window - cut), 1);
    }

protected:
    double increase(const TcpState& tcp) const override {
        const Rates r = rates(tcp);
        return r.own / rtt_of(tcp) / (r.total * r.total) * (1 + r.alpha) / 2 * (4 + r.alpha) / 5;
    }

private:
    struct Rates {
        double own, total, alpha;
    };
    static Rates rates(const TcpState& tcp) {
        double total = 0, most = 0;
        for_each_sibling(tcp, [&](const TcpState& path) {
            const double rate = window_of(path) / rtt_of(path);
            total += rate;
            most = std::max(most, rate);
        });
        const double own = window_of(tcp) / rtt_of(tcp);
        return {own, total, most / own};
    }
};

const Registered<ControlEntry> kEntry{{"balia", make_control<Balia>}};

}  // namespace

}  // namespace dstcc
