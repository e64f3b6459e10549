#include "waiting.hpp"

#include <algorithm>

namespace transfer {

Waiting::Waiting(const Plan& plan, Ledger& ledger, bool by_layer)
    : plan_(plan), ledger_(ledger), levels_(by_layer ? static_cast<std::size_t>(plan.layers) : 1), begun_(plan.objects.size()),
      taken_(plan.objects.size()), backlog_(static_cast<std::size_t>(plan.layers)) {}

std::vector<Time> Waiting::oldest() const {
    std::vector<Time> found(backlog_.size(), kNever);
    for (const Level& level : levels_)
        for (std::size_t i = level.head, seen = 0; i < level.objects.size() && seen < kScan; ++i, ++seen) {
            Time& least = found[static_cast<std::size_t>(of(level.objects[i]).layer)];
            if (!taken(level.objects[i])) least = std::min(least, of(level.objects[i]).deadline);
        }
    return found;
}

void Waiting::release(Time now) {
    for (; released_ < plan_.objects.size() && plan_.objects[released_].release <= now; ++released_) {
        const auto layer = static_cast<std::size_t>(plan_.objects[released_].layer);
        levels_[levels_.size() > 1 ? layer : 0].objects.push_back(static_cast<int>(released_));
        backlog_[layer] += plan_.objects[released_].bytes;
        ++waiting_;
    }
}

void Waiting::take(int object) {
    taken_[index(object)] = 1;
    Level& level = levels_[levels_.size() > 1 ? static_cast<std::size_t>(of(object).layer) : 0];
    while (!level.empty() && taken(level.front())) ++level.head;
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
        while (!level.empty()) {
            const int object = level.front();
            if (!hopeless(object) && (of(object).deadline == kNever || light <= of(object).deadline)) break;
            ledger_.give_up(object);
            backlog_[static_cast<std::size_t>(of(object).layer)] -= of(object).bytes;
            --waiting_;
            take(object);
        }
}

}  // namespace transfer
