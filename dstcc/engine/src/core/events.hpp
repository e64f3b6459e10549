// The next event among a fixed set of heads: a tournament of times in groups of four or eight. Ties go to the lower head,
// so the order of events is a function of the scenario alone.
#pragma once

#include <vector>

#include "core/base.hpp"

namespace dstcc {

// What is next in a tree.
class EventTree {
public:
    std::uint32_t head() const { return best_.head; }
    Time time() const { return best_.at; }

protected:
    struct Node {
        Time at;
        std::uint32_t head;
    };
    // Field by field: a node that is loaded whole would wait for the store of its time.
    static void copy(Node& to, const Node& from) {
        to.at = from.at;
        to.head = from.head;
    }
    Node best_{kNever, 0};
};

template <std::size_t kGroup>
class GroupedTree : public EventTree {
    static_assert(kGroup == 4 || kGroup == 8);

public:
    explicit GroupedTree(std::size_t heads = 1) {
        std::size_t places = 0;
        for (std::size_t width = heads; levels_.empty() || width > 1; width = (width + kGroup - 1) / kGroup) {
            levels_.push_back(places);
            places += (width + kGroup - 1) / kGroup * kGroup;
        }
        nodes_.resize(places, {kNever, 0});
        for (std::size_t i = 0; i < heads; ++i) nodes_[i].head = static_cast<std::uint32_t>(i);
        tall_ = levels_.size() > 1;
        few_ = heads <= 2;
        for (std::size_t i = heads; i-- > 0;) set(i, kNever);
    }
    Time at(std::size_t head) const { return nodes_[head].at; }
    // Until when nothing else comes before what `head` does: known where there are two heads at most, else not.
    Time alone_until(std::size_t head) const {
        if (!few_) return -1;
        const Time other = nodes_[1 - head].at;
        return head == 0 ? other : other - 1;  // ties go to the lower
    }
    [[gnu::always_inline]] void set(std::size_t head, Time at) {
        Node* nodes = nodes_.data();
        nodes[head].at = at;
        if (few_) {
            copy(best_, nodes[nodes[1].at < nodes[0].at]);
            return;
        }
        copy(best_, *winner(nodes + head / kGroup * kGroup));
        if (tall_) climb(head / kGroup);
    }

private:
    // Comparisons that do not wait for each other, then one between their winners: nothing branches on data.
    static const Node* winner(const Node* group) {
        if constexpr (kGroup == 4) return winner_of_four(group);
        const Node* left = winner_of_four(group);
        const Node* right = winner_of_four(group + kGroup / 2);
        return right->at < left->at ? right : left;
    }
    static const Node* winner_of_four(const Node* group) {
        const Node* left = group + (group[1].at < group[0].at);
        const Node* right = group + 2 + (group[3].at < group[2].at);
        return right->at < left->at ? right : left;
    }
    [[gnu::noinline]] void climb(std::size_t place) {
        for (std::size_t level = 1;; ++level) {
            Node* nodes = &nodes_[levels_[level]];
            copy(nodes[place], best_);
            place /= kGroup;
            copy(best_, *winner(&nodes[place * kGroup]));
            if (level + 1 == levels_.size()) return;
        }
    }
    bool tall_ = false;                // more than one group
    bool few_ = true;                  // one or two heads, as on one or two links
    std::vector<Node> nodes_;          // the heads, then a winner per group, then a winner per group of those, ...
    std::vector<std::size_t> levels_;  // where each level begins
};

// Of heads that mostly wait.
using TimerTree = GroupedTree<8>;

// Two trees: the heads that move with every packet stand in a small one of their own, and win ties.
class EventHeads {
public:
    EventHeads(std::size_t busy, std::size_t idle) : busy_count_(busy), busy_(busy), idle_(idle) {}
    const EventTree& busy() const { return busy_; }
    const EventTree& idle() const { return idle_; }
    Time busy_alone_until(std::size_t head) const { return busy_.alone_until(head); }
    Time at(std::size_t head) const { return head < busy_count_ ? busy_.at(head) : idle_.at(head - busy_count_); }
    void set_busy(std::size_t head, Time at) { busy_.set(head, at); }
    void set(std::size_t head, Time at) {
        if (head < busy_count_)
            busy_.set(head, at);
        else
            idle_.set(head - busy_count_, at);
    }

    Time at_idle(std::size_t place) const { return idle_.at(place); }
    void set_idle(std::size_t place, Time at) { idle_.set(place, at); }
    TimerTree& timers() { return idle_; }
    GroupedTree<4>& quick() { return busy_; }

private:
    std::size_t busy_count_;
    GroupedTree<4> busy_;
    TimerTree idle_;
};

// Heads of one part of the simulation: those of a tree from `first` on. It sees no others, least of all the links'.
template <class Tree>
class OwnHeads {
public:
    OwnHeads(Tree& tree, std::size_t first) : tree_(&tree), first_(first) {}
    OwnHeads from(std::size_t i) const { return {*tree_, first_ + i}; }
    Time at(std::size_t i) const { return tree_->at(first_ + i); }
    void set(std::size_t i, Time at) { tree_->set(first_ + i, at); }

private:
    Tree* tree_;
    std::size_t first_;
};
using Timers = OwnHeads<TimerTree>;
using QuickHeads = OwnHeads<GroupedTree<4>>;  // that move with every packet

}  // namespace dstcc
