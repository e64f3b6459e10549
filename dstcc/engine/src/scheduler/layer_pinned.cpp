// layer-pinned: each layer of a chunk stays whole on one subflow, chosen when the layer is released.
//
// With `layer_links` layer m goes to that link (the last entry serves the layers above), of lanes with a window each to the
// one that expects to deliver it first. Without, the base layer goes to
// the path with the earliest expected delivery and each enhancement layer to the earliest of the others, so that a base
// layer never queues behind an enhancement layer of its own chunk.
#include <algorithm>

#include "scheduler/scheduler.hpp"

namespace dstcc {
namespace {

class LayerPinned final : public Scheduler {
public:
    explicit LayerPinned(const SchedulerSetup& setup) : links_(setup.transport.layer_links) {}
    Dispatch dispatch() const override { return Dispatch::kPinned; }
    int pick(const std::vector<Path>&, SubflowSet ready, const Next&) override { return lowest(ready); }
    int assign(const std::vector<Path>& paths, int layer, std::int64_t bytes, SubflowSet usable) override {
        const auto delivery = [&](int i) { return paths[static_cast<std::size_t>(i)].expected_delivery_s(bytes); };
        if (!links_.empty()) {
            const int link = links_[std::min(static_cast<std::size_t>(layer), links_.size() - 1)];
            const auto there =
                std::find_if(paths.begin(), paths.end(), [&](const Path& p) { return p.link_index == link; });
            const SubflowSet lanes = there->peers;
            return least((lanes & usable) != 0 ? lanes & usable : lanes, delivery);
        }
        if (layer == 0) {
            base_ = least(usable, delivery);
            return base_;
        }
        const SubflowSet others = base_ < 0 ? usable : usable & ~bit_of(base_);
        return least(others != 0 ? others : usable, delivery);
    }

private:
    std::vector<int> links_;
    int base_ = -1;
};

const Registered<SchedulerEntry> kEntry{{"layer-pinned", make_scheduler<LayerPinned>}};

}  // namespace

}  // namespace dstcc
