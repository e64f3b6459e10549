// none, and packet: each packet by itself, whatever its size, with the probability `rate`.
#include "link/loss.hpp"

namespace dstcc {
namespace {

class NoLoss final : public LossProcess {
public:
    std::unique_ptr<LossProcess> clone() const override { return std::make_unique<NoLoss>(*this); }
    explicit NoLoss(const LossSetup&) {}
    bool lost(std::int64_t, std::uint32_t, std::uint32_t) override { return false; }
};

class PacketLoss final : public LossProcess {
public:
    std::unique_ptr<LossProcess> clone() const override { return std::make_unique<PacketLoss>(*this); }
    explicit PacketLoss(const LossSetup& setup) : loss_{setup.draws(), to_threshold(setup.config.number("rate"))} {}
    bool lost(std::int64_t slot, std::uint32_t nth, std::uint32_t) override { return loss_.lost(slot, nth); }
    std::int64_t first_lost(std::int64_t from, std::int64_t to, std::uint32_t) override {
        return from + loss_.first_lost(from, 1, to - from);
    }
    const ConstantLoss* constant() const override { return &loss_; }

private:
    ConstantLoss loss_;
};

const Registered<LossEntry> kNone{{kLossless, make_loss<NoLoss>}};
const Registered<LossEntry> kPacket{{kIndependent, make_loss<PacketLoss>}};

}  // namespace
}  // namespace dstcc
