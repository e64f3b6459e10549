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
        nodes_.resize(2 * leaves_);
        for (std::size_t i = 0; i < leaves_; ++i) nodes_[leaves_ + i] = {kNever, static_cast<std::uint32_t>(i)};
        for (std::size_t i = leaves_ - 1; i > 0; --i) nodes_[i] = nodes_[2 * i];
    }
    std::uint32_t head() const { return nodes_[1].head; }
    Time time() const { return nodes_[1].at; }
    Time at(std::size_t head) const { return nodes_[leaves_ + head].at; }
    void set(std::size_t head, Time at) {
        std::size_t i = leaves_ + head;
        Node winner{at, static_cast<std::uint32_t>(head)};
        nodes_[i] = winner;
        // Every sibling's address is known from the start and nothing branches on data: the walk is a few cycles a level.
        while (i > 1) {
            const Node sibling = nodes_[i ^ 1];
            const bool sibling_wins = sibling.at - static_cast<Time>(i & 1) < winner.at;  // a left sibling wins ties
            winner.at = sibling_wins ? sibling.at : winner.at;
            winner.head = sibling_wins ? sibling.head : winner.head;
            i >>= 1;
            nodes_[i] = winner;
        }
    }

private:
    struct Node {
        Time at;
        std::uint32_t head;
    };
    std::size_t leaves_ = 1;
    std::vector<Node> nodes_;
};

// Two trees: the heads that move with every packet stand in a small one of their own, and win ties.
class EventHeads {
public:
    EventHeads(std::size_t busy, std::size_t idle) : busy_count_(busy), busy_(busy), idle_(idle) {}
    const EventTree& busy() const { return busy_; }
    const EventTree& idle() const { return idle_; }
    Time at(std::size_t head) const { return head < busy_count_ ? busy_.at(head) : idle_.at(head - busy_count_); }
    void set_busy(std::size_t head, Time at) { busy_.set(head, at); }
    void set(std::size_t head, Time at) {
        if (head < busy_count_)
            busy_.set(head, at);
        else
            idle_.set(head - busy_count_, at);
    }

private:
    std::size_t busy_count_;
    EventTree busy_, idle_;
};

}  // namespace dstcc
