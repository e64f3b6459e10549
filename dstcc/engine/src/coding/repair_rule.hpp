// How many repair packets: `auto`, and how many fresh ones when a block lacks some.
//
// auto, once a period, when all of its layers are captured. Layer m has n objects of k / n packets each; r of its packets are
// repair, N = k + r. X of them are lost, of mean N p and phi times the binomial's variance (coding/loss_heard.hpp): where N is more
// than kFew times phi, the probability varies from block to block, X ~ BetaBin(N, a, b) with a / (a + b) = p and
// a + b = (N - 1) / (phi - 1) - 1; else packets are lost in groups of phi, X = phi Y with Y ~ Bin(N / phi, p). An object is lost if
// the block is not brought back and one of its packets is among the lost:
//
//   q(r) = sum over x > r of P(X = x) (1 - (1 - (k / n) / N)^x)
//
// Where a block has W code words, that is a word's, of k / W, r / W and phi / W (at least 1), and an object is lost unless it
// is lost by none of them: q(r) = 1 - (1 - q_word(r / W))^W.
//
// Of a p that may soon be another the deviation is p / sqrt(a), as of Beta(a, a (1 - p) / p); beyond the p before any feedback, p0, the
// sum of its parameters stays a / p0, as a p so high falls as well as it rises. Then phi is 1 + (k - 1) / (a / min(p, p0) + 1) at least.
//
// A p that is the mean of a Beta distribution, of which the packets that were heard of are known, has a variance of v p (1 - p), with
// v = 1 / (packets + 1): phi is 1 + (k - 1) v at least.
//
// The paths carry C bytes in the period. Layers take of them in order: layer m needs S = bytes(k + r + fresh) and gets the
// share f = min(1, what those below left / S). A chunk's layer m counts with all below it, so the expected weight is
//
//   E = sum over m of f_m w_m product over j <= m of (1 - q_j),   w_m = layers - m
//
// Where fresh packets leave a part u of q, 1 - u q stands for 1 - q, and they will be (1 - u) E[max(X - r, 0)] / (1 - p) packets.
//
// From r = 0 on, the step to an r' of some layer that gains the most E a byte is taken, as long as one gains more than
// `worth` of all weight a packet. (Steps of many packets at once, since the first few repair packets of a block that loses more change
// little; from 1,024 on each is a 512th of what there is.) With bytes to spare f stays 1 and repair costs nothing; without, it is paid by the highest layer's share.
//
// A layer with f = 0 may go nevertheless, at the beginning of what does not fit. Its r is the one of the most
//
//   w_m product over j <= m of (1 - q_j) - r x bytes x price,   price = w_j product over i <= j of (1 - q_i) / S of the last f_j > 0
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "coding/loss_heard.hpp"

namespace dstcc {

// One layer over a period.
struct PlannedLayer {
    std::int64_t objects = 0, source = 0;  // k
    double bytes = 0, packet_bytes = 0;    // on the wire: of the source packets, and of a repair packet
    std::int64_t most_repair = 0;          // of the code
    std::uint32_t words = 1;               // that its block is interleaved of
    double left = 1;                       // u: of what repair does not bring back, by fresh packets neither
    double share = -1;                     // of its losses; -1: as of all packets
    double unsure = 0;                     // v: of that, the variance over p (1 - p)
};

class RepairRule {
public:
    // `worth`: of the whole weight of a period, what a packet must gain.
    explicit RepairRule(double worth = 1e-4) : worth_(worth) {}
    // Repair packets for each layer, in a period in which the paths carry so many bytes (none: without bound). `sure`: a.
    std::vector<std::int64_t> plan(const std::vector<PlannedLayer>& layers, double bytes, const LossHeard& losses,
                                   double sure = std::numeric_limits<double>::infinity());
    double weight() const { return weight_; }  // E of the last plan
    // q(r).
    double object_loss(const PlannedLayer& layer, std::int64_t repair, double share, double bursts) {
        return left_by(layer, repair, share, bursts).lost;
    }
    // The least number of packets of which fewer than `missing` arrive no more often than `rarely`.
    std::int64_t fresh(std::int64_t missing, double share, double rarely);

private:
    struct Step {
        std::int64_t repair;  // r
        double kept;          // 1 - q(r)
        double again;         // packets that go later
    };
    // What r repair packets leave: of an object, the probability that it is lost; packets that the block lacks, on average.
    struct Left {
        double lost = 0, packets = 0;
    };
    Left left_by(const PlannedLayer& layer, std::int64_t repair, double share, double bursts);
    static double bytes_of(const PlannedLayer& layer, const Step& step) {
        return layer.bytes + (static_cast<double>(step.repair) + step.again) * layer.packet_bytes;
    }
    static void plan_beyond(const std::vector<PlannedLayer>& layers, double bytes,
                            const std::vector<std::vector<Step>>& steps, std::vector<std::size_t>& at);
    bool is_enough(std::int64_t n, std::int64_t missing, double share, double rarely);
    double log_choose(std::int64_t n, std::int64_t x);
    double worth_, weight_ = 0;
    std::vector<double> log_factorial_{0.0};
};

}  // namespace dstcc
