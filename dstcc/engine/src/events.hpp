// The next event among a fixed set of heads: a tournament tree of times. Ties go to the lower head, so the order
// of events is a function of the scenario alone.
#pragma once

#include <vector>

#include "base.hpp"

namespace dstcc {

class EventTree {
public:
    explicit EventTree(std::size_t heads = 1) {
        while (leaves_ < heads) leaves_ *= 2;
        time_.assign(leaves_, kNever);
        winner_.resize(2 * leaves_);
        for (std::size_t i = 0; i < leaves_; ++i) winner_[leaves_ + i] = static_cast<std::uint32_t>(i);
        for (std::size_t i = leaves_ - 1; i > 0; --i) winner_[i] = winner_[2 * i];
        if (leaves_ == 1) winner_[1] = 0;
    }
    std::uint32_t head() const { return winner_[1]; }
    Time time() const { return time_[winner_[1]]; }
    Time at(std::size_t head) const { return time_[head]; }
    void set(std::size_t head, Time at) {
        if (time_[head] == at) return;
        time_[head] = at;
        for (std::size_t i = (leaves_ + head) >> 1; i > 0; i >>= 1) {
            const std::uint32_t left = winner_[2 * i], right = winner_[2 * i + 1];
            const std::uint32_t won = time_[right] < time_[left] ? right : left;
            if (won == winner_[i] && won != head) return;  // the change stays below this node
            winner_[i] = won;
        }
    }

private:
    std::size_t leaves_ = 1;
    std::vector<Time> time_;
    std::vector<std::uint32_t> winner_;
};

}  // namespace dstcc
