// StorageSeen: how much nodes further on had room for while their lines were away.
//
//   stay   what waits at a node for the same contact of the plan
//   room   of each node, what arrived of a stay of which so much was lost as no channel loses for long, or half of that, where the sender's
//          other paths pass the node meanwhile. The next stay there gets no more; one that got all that, and lost little, makes it
//          kGrows times as much
#pragma once

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <vector>

#include "coding/loss_heard.hpp"
#include "link/answer_clock.hpp"

namespace dstcc {

class StorageSeen {
public:
    // Others of the sender pass the nodes.
    void share() { share_ = kShared; }
    bool shared() const { return share_ < 1; }
    // Bytes that were sent to a stay.
    void send(const Stay& stay, double bytes) {
        if (Seen* seen = find(at(stay), stay.until)) seen->sent += bytes;
    }
    bool full(const Stay& stay) const { return left(stay) <= 0; }
    // Bytes that the stay that is sent to, or a later one, has room for; more than any where nothing is known.
    double left(const Stay& stay) const {
        if (stay.until < 0 || stay.node >= nodes_.size()) return std::numeric_limits<double>::infinity();
        const Node& node = nodes_[stay.node];
        return node.room - (!node.stays.empty() && stay.until == node.stays.back().until ? node.stays.back().sent : 0);
    }
    bool limits() const {
        return std::any_of(nodes_.begin(), nodes_.end(), [](const Node& node) { return std::isfinite(node.room); });
    }
    // Bytes of a packet of a stay, those of each in the order in which they were sent.
    void hear(const Stay& stay, double bytes, bool lost) {
        Node& node = at(stay);
        Seen* seen = find(node, stay.until);
        if (seen == nullptr) return;
        if (stay.until > node.newest) grow(node, stay.until);
        (lost ? seen->lost : seen->arrived) += bytes;
        seen->lately.take(1, lost ? 1 : 0);
        if (!seen->overflowed && seen->lately.overflows()) {
            seen->overflowed = true;
            seen->lost_first = seen->lost > seen->arrived;
        }
        if (!seen->overflowed) return;
        const double sent = std::max(seen->sent, seen->arrived + seen->lost);
        node.room = std::max(share_ * (seen->lost_first ? sent - seen->lost : seen->arrived), kLeast);
    }

private:
    static constexpr double kFilled = 3.0 / 4, kGrows = 5.0 / 4, kShared = 1.0 / 2, kLeast = 16 * 1500;
    static constexpr std::size_t kRemembers = 8;  // stays

    struct Seen {
        Time until = -1;
        double sent = 0, arrived = 0, lost = 0;
        bool overflowed = false, lost_first = false;
        LostLately lately = {};
    };
    struct Node {
        std::deque<Seen> stays;
        Time newest = -1;  // of which anything was heard
        double room = std::numeric_limits<double>::infinity();
    };
    Node& at(const Stay& stay) {
        if (stay.node >= nodes_.size()) nodes_.resize(stay.node + 1);
        return nodes_[stay.node];
    }
    static Seen* find(Node& node, Time until) {
        auto& stays = node.stays;
        if (stays.empty() || until > stays.back().until) {
            stays.emplace_back().until = until;
            if (stays.size() > kRemembers) stays.pop_front();
        }
        const auto found =
            std::find_if(stays.rbegin(), stays.rend(), [&](const Seen& one) { return one.until == until; });
        return found == stays.rend() ? nullptr : &*found;
    }
    // With the first news of another stay.
    static void grow(Node& node, Time until) {
        if (const Seen* before = node.newest < 0 ? nullptr : find(node, node.newest))
            if (!before->overflowed && before->arrived >= kFilled * node.room) node.room *= kGrows;
        node.newest = until;
    }

    std::vector<Node> nodes_;
    double share_ = 1;
};

}  // namespace dstcc
