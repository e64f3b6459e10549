// round-robin: ready subflows in turn, one segment (or, on lanes, one layer) each.
#include "scheduler.hpp"

namespace dstcc {
namespace {

class RoundRobin final : public Scheduler {
public:
    bool heeds() const override { return false; }
    int pick(const std::vector<Path>&, std::uint64_t ready, const Next&) override {
        const std::uint64_t after = ready & ~((std::uint64_t{2} << last_) - 1);
        last_ = __builtin_ctzll(after != 0 ? after : ready);
        return last_;
    }

private:
    int last_ = 63;
};

}  // namespace

std::unique_ptr<Scheduler> make_round_robin(const SchedulerSetup&) { return std::make_unique<RoundRobin>(); }

}  // namespace dstcc
