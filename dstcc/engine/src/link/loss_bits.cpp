// ber: each bit by itself, with the probability `rate`; a packet with a wrong bit is lost. And frames of one bit, whose rate
// follows the code's curve as Eb/N0 changes.
#include "link/error_rate.hpp"
#include "link/loss.hpp"

namespace dstcc {
namespace {

class BitLoss : public LossProcess {
public:
    std::unique_ptr<LossProcess> clone() const override { return std::make_unique<BitLoss>(*this); }
    explicit BitLoss(const LossSetup& setup) : draws_(setup.draws()), ber_(setup.config.number("rate")) {}
    bool lost(std::int64_t slot, std::uint32_t nth, std::uint32_t bytes) override {
        return draws_.below(slot, nth, threshold(bytes));
    }
    std::int64_t first_lost(std::int64_t from, std::int64_t to, std::uint32_t bytes) override {
        return from + draws_.first_below(from, 1, to - from, threshold(bytes));
    }

protected:
    void set_rate(double ber) {
        ber_ = ber;
        cached_bytes_ = 0;
    }

private:
    std::uint64_t threshold(std::uint32_t bytes) { return bytes == cached_bytes_ ? threshold_ : size_threshold(bytes); }
    std::uint64_t size_threshold(std::uint32_t bytes) {
        // 1 - (1 - ber)^(8 bytes), without cancellation for small ber
        const double p = ber_ >= 1.0 ? 1.0 : -std::expm1(8.0 * bytes * std::log1p(-ber_));
        cached_bytes_ = bytes;
        threshold_ = to_threshold(p);
        return threshold_;
    }

    SlotDraws draws_;
    double ber_;
    std::uint64_t threshold_ = 0;
    std::uint32_t cached_bytes_ = 0;
};

class BitFrames final : public BitLoss {
public:
    std::unique_ptr<LossProcess> clone() const override { return std::make_unique<BitFrames>(*this); }
    explicit BitFrames(const LossSetup& setup)
        : BitLoss(setup),
          error_rate_(setup.config.frames, static_cast<double>(setup.slot_ns),
                      Stream(setup.seed, kStreamGain, setup.link, setup.direction), setup.steps,
                      ErrorRate::Clock::kTime) {}
    bool lost(std::int64_t slot, std::uint32_t nth, std::uint32_t bytes) override {
        if (!error_rate_.covers(slot)) set_rate(error_rate_.enter(slot));
        return BitLoss::lost(slot, nth, bytes);
    }
    std::int64_t first_lost(std::int64_t from, std::int64_t to, std::uint32_t bytes) override {
        return LossProcess::first_lost(from, to, bytes);
    }

private:
    ErrorRate error_rate_;
};

const Registered<LossEntry> kBer{{"ber", make_loss<BitLoss>}};
const Registered<LossEntry> kFrames{{kFrameLoss, make_loss<BitFrames>}};

}  // namespace
}  // namespace dstcc
