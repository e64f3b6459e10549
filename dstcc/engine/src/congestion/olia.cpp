// OLIA, the opportunistic linked increases algorithm: Khalili, Gast, Popovic, Le Boudec, "MPTCP is not Pareto-optimal",
// CoNEXT 2012; draft-khalili-mptcp-congestion-control-05; MPTCP v0.9x mptcp_olia.c.
//
//   per segment acknowledged on path r   W_r += (W_r / RTT_r²) / (Σ_p W_p / RTT_p)² + ε_r / W_r      loss  W_r <- W_r / 2
//   l_r = max(segments between the last two losses, segments since the last one)
//   M: the paths of the largest window;  B: those of the largest l_p / RTT_p²
//   ε = 1 / (N |B \ M|) on B \ M, -1 / (N |M|) on M, 0 elsewhere;   ε = 0 everywhere when B \ M is empty
//
// As in the kernel's code, a loss without anything newly acknowledged since the last one does not count, and ssthresh is
// at least 2 segments. Unlike there, a window that ε shrinks takes its threshold along: else slow start would give it back
// with the next ACK. Deviations: l counts segments, not bytes (all have the same size); the increase is computed once a
// round trip and when W_r changes.
#include "congestion/coupled.hpp"

namespace dstcc {
namespace {

class Olia final : public Coupled {
public:
    void init(TcpState& tcp, Time now) override {
        Coupled::init(tcp, now);
        last_loss_ = tcp.snd_una;
        tcp.told = 0;
    }
    void cong_avoid(TcpState& tcp, std::int64_t acked, Time now) override {
        tcp.told = static_cast<double>(std::max(between_, tcp.snd_una - last_loss_));
        Coupled::cong_avoid(tcp, acked, now);
    }
    void on_event(TcpState& tcp, CaEvent event, Time now) override {
        Coupled::on_event(tcp, event, now);
        const bool loss = event == CaEvent::kEnterRecovery || event == CaEvent::kEnterLoss;
        if (!loss || tcp.snd_una == last_loss_) return;
        between_ = tcp.snd_una - last_loss_;
        last_loss_ = tcp.snd_una;
    }

protected:
    double increase(const TcpState& tcp) const override {
        double rate = 0, largest = 0, quality = 0;
        int paths = 0;
        for_each_sibling(tcp, [&](const TcpState& path) {
            ++paths;
            rate += window_of(path) / rtt_of(path);
            largest = std::max(largest, window_of(path));
            quality = std::max(quality, quality_of(path));
        });
        int largest_paths = 0, collected = 0;
        for_each_sibling(tcp, [&](const TcpState& path) {
            if (window_of(path) == largest)
                ++largest_paths;
            else if (quality_of(path) == quality)
                ++collected;
        });
        const double window = window_of(tcp), rtt = rtt_of(tcp);
        double epsilon = 0;
        if (collected > 0 && window == largest)
            epsilon = -1.0 / (paths * largest_paths);
        else if (collected > 0 && quality_of(tcp) == quality)
            epsilon = 1.0 / (paths * collected);
        return window / (rtt * rtt) / (rate * rate) + epsilon / window;
    }

private:
    static double quality_of(const TcpState& path) { return path.told / (rtt_of(path) * rtt_of(path)); }

    std::int64_t last_loss_ = 0, between_ = 0;  // segment numbers
};

const Registered<ControlEntry> kEntry{{"olia", make_control<Olia>}};

}  // namespace

}  // namespace dstcc
