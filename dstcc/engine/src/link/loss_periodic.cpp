// periodic: one packet in every 1 / `rate`, by count. The textbook case of response functions.
#include <algorithm>

#include "link/loss.hpp"

namespace dstcc {
namespace {

class PeriodicLoss final : public LossProcess {
public:
    std::unique_ptr<LossProcess> clone() const override { return std::make_unique<PeriodicLoss>(*this); }
    explicit PeriodicLoss(const LossSetup& setup) {
        const double rate = setup.config.number("rate");
        if (!(rate > 0 && rate <= 1)) throw std::invalid_argument("periodic loss needs a rate in (0, 1]");
        period_ = std::max<std::int64_t>(1, std::llround(1.0 / rate));
    }
    bool lost(std::int64_t, std::uint32_t, std::uint32_t) override { return ++served_ % period_ == 0; }

private:
    std::int64_t served_ = 0, period_ = 1;
};

const Registered<LossEntry> kEntry{{kPeriodicLoss, make_loss<PeriodicLoss>}};

}  // namespace
}  // namespace dstcc
