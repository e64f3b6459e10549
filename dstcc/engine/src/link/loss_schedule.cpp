// schedule: each packet independently, with the probability at the beginning of its service slot.
#include "link/loss.hpp"

namespace dstcc {
namespace {

class ScheduledLoss final : public LossProcess {
public:
    std::unique_ptr<LossProcess> clone() const override { return std::make_unique<ScheduledLoss>(*this); }
    explicit ScheduledLoss(const LossSetup& setup)
        : draws_(setup.draws()),
          schedule_(setup.config.schedule),
          slot_ns_(setup.slot_ns) {
        if (schedule_ == nullptr || schedule_->t_ns.empty())
            throw std::invalid_argument("loss over time needs a chance at each of its times");
    }
    bool lost(std::int64_t slot, std::uint32_t nth, std::uint32_t) override {
        return draws_.below(slot, nth, to_threshold(chance(slot * slot_ns_)));
    }

private:
    double chance(Time at) {
        const std::vector<Time>& t = schedule_->t_ns;
        const std::vector<double>& rate = schedule_->rates;
        row_ = row_before(t, at, row_);
        if (at <= t[row_] || row_ + 1 == t.size()) return rate[row_];
        const double share = static_cast<double>(at - t[row_]) / static_cast<double>(t[row_ + 1] - t[row_]);
        return rate[row_] + share * (rate[row_ + 1] - rate[row_]);
    }

    SlotDraws draws_;
    std::shared_ptr<const LossSchedule> schedule_;
    Time slot_ns_;
    std::size_t row_ = 0;
};

const Registered<LossEntry> kEntry{{kScheduledLoss, make_loss<ScheduledLoss>}};

}  // namespace
}  // namespace dstcc
