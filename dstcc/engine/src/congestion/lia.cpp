// LIA, the linked increases algorithm: RFC 6356.
//
//   per segment acknowledged on subflow i   W_i += min(α / ΣW, 1 / W_i)
//   α = ΣW · max_p(W_p / RTT_p²) / (Σ_p W_p / RTT_p)²          loss  W_i <- W_i / 2
//
// So the subflows together take what one TCP would on the best path, and none takes more than a TCP would on its own.
// α is computed once a round trip and when W_i changes (section 4.1 leaves it to us; Linux MPTCP v0.9x mptcp_coupled.c does
// the latter), in real numbers instead of 64-bit scaled ones.
#include "congestion/coupled.hpp"

namespace dstcc {
namespace {

class Lia final : public Coupled {
protected:
    double increase(const TcpState& tcp) const override {
        double total = 0, best = 0, rate = 0;
        for_each_sibling(tcp, [&](const TcpState& path) {
            const double window = window_of(path), rtt = rtt_of(path);
            total += window;
            best = std::max(best, window / (rtt * rtt));
            rate += window / rtt;
        });
        const double alpha = total * best / (rate * rate);
        return std::min(alpha / total, 1 / window_of(tcp));
    }
};

const Registered<ControlEntry> kEntry{{"lia", make_control<Lia>}};

}  // namespace

}  // namespace dstcc
