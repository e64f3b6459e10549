#include "waiting.hpp"

#include <algorithm>

namespace transfer {

namespace {

constexpr std::size_t kScan = 4096;  // waiting layers looked at for the oldest of each number

}  // namespace

Waiting::Waiting(const Plan& plan, Ledger& ledger, bool by_layer)
    : plan_(plan),
      ledger_(ledger),
      levels_(by_layer ? static_cast<std::size_t>(plan.layers) : 1),
      begun_(plan.objects.size()),
      backlog_(static_cast<std::size_t>(plan.layers)) {}

std::vector<Time> Waiting::oldest() const {
    std::vector<Time> found(backlog_.size(), kNever);
    for (const Level& level : levels_) {
        std::size_t seen = 0;
        level.each([&](dstcc_dispatch::Object waits) {
            const Object& row = of(static_cast<int>(waits));
            Time& least = found[static_cast<std::size_t>(row.layer)];
            least = std::min(least, row.deadline);
            return ++seen < kScan;
        });
    }
    return found;
}

void Waiting::release(Time now) {
    for (; released_ < plan_.objects.size() && plan_.objects[released_].release <= now; ++released_) {
        const auto layer = static_cast<std::size_t>(plan_.objects[released_].layer);
        level_of(static_cast<int>(released_)).push_back(static_cast<dstcc_dispatch::Object>(released_));
        backlog_[layer] += plan_.objects[released_].bytes;
        ++waiting_;
    }
}

void Waiting::take(int object) {
    if (!level_of(object).take(static_cast<dstcc_dispatch::Object>(object))) throw Failure("a layer was taken twice");
}

void Waiting::hand(int object, std::int64_t bytes, bool last) {
    begun_[index(object)] = 1;
    backlog_[static_cast<std::size_t>(of(object).layer)] -= bytes;
    if (last) --waiting_;
}

void Waiting::leave(int object, std::int64_t rest) {
    ledger_.give_up(object);
    backlog_[static_cast<std::size_t>(of(object).layer)] -= rest;
    --waiting_;
}

void Waiting::drop_lost(Time light) {
    if (!plan_.drop_late) return;
    for (const Level& level : levels_)
        dstcc_dispatch::drop_lost(
            level, [&](int object) { return dstcc_dispatch::lost_cause(layer(object), hopeless(object), light); },
            [this](int object) { drop(object); });
}

void Waiting::drop(int object) {
    take(object);
    leave(object, of(object).bytes);
}

}  // namespace transfer
