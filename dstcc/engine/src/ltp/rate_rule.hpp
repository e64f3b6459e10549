// How many repair segments a matrix of ltp gets (ltp/matrix.hpp). A link has a rule of its own.
//
//   shares            r = ceil(share of the layer x k)
//   auto              coding/repair_rule.hpp for the one layer, of the bytes that the link carries in block_ns divided by its
//                     layers, from the losses that feedback tells
//   delayed-feedback  ION's ECLSA (contrib/eclsa: eclso.c, eclsaFecManager.c): an estimate s of the share that arrives,
//                       s <- w x received / sent + (1 - w) x s,   w = 1/2, or less by n / 65 where a matrix has n <= 65 segments,
//                                                                 w = 1 after a matrix that was not decoded
//                       code rate = 1 - 1.15 (1 - s), 2/3 at least and 8/9 at most,   r = ceil(k / rate) - k
//                     s begins with 8/9. With RaptorQ two segments more, as FEC libraries are given for their overhead
//   table             a share for each state of the feedback: levels of the last matrix's losses, of the mean of the last 8
//                     and of the most of the last 32
#pragma once

#include <deque>
#include <vector>

#include "coding/repair_rule.hpp"
#include "core/config.hpp"

namespace dstcc {

class RateRule {
public:
    static constexpr std::int64_t kLevels = 8, kStates = kLevels * kLevels * kLevels;

    explicit RateRule(const CodingConfig& coding) : coding_(&coding) {}
    // Is this layer coded at all?
    bool codes(std::size_t layer) const { return coding_->law != RateLaw::kShares || share(layer) > 0; }
    static bool listens(const CodingConfig& coding) { return coding.law != RateLaw::kShares; }
    // Feedback of a matrix: of so many segments so many came, and the source segments are all there or brought back, or not.
    void heard(std::int64_t sent, std::int64_t received, bool whole);
    // Of a matrix of that layer, for which its link has so many bytes (`auto`).
    std::int64_t repair(std::size_t layer, const PlannedLayer& matrix, double bytes);
    double expected_success() const { return success_; }
    std::int64_t state() const;
    // Of a share of lost segments; 0 is for no feedback.
    static std::int64_t level(double lost);

private:
    double share(std::size_t layer) const { return layer < coding_->repair.size() ? coding_->repair[layer] : 0; }

    const CodingConfig* coding_;
    double success_ = 8.0 / 9;
    LossHeard losses_;
    RepairRule rule_{1e-6};    // what is not whole waits for a round trip
    std::deque<double> last_;  // shares lost, the newest first
};

}  // namespace dstcc
