// What still fits at chunk k, in O(log n): the room that Hall's condition leaves,
//
//     room(k) = min over j >= k of (P_j - n_k - .. - n_j)  -  max over i <= k of (Q_i + n_i + .. + n_(k-1)),
//
// where n_k is what chunk k has taken. One tree over the chunks holds both: a node knows what its chunks took, the least
// of P_j less what they took up to j, and the most of Q_i and what they took from i on. Sums run between neighbours only,
// so that no long running sum loses digits.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

namespace dstcc {

class DemandTree {
public:
    // p and q rise; what is gone by a chunk's release (q), and what may be carried up to its deadline (p).
    DemandTree(const std::vector<double>& p, const std::vector<double>& q) : q_(q) {
        while (leaves_ < p.size()) leaves_ *= 2;
        nodes_.resize(2 * leaves_);
        for (std::size_t k = 0; k < p.size(); ++k) nodes_[leaves_ + k] = {0, p[k], q[k]};
        for (std::size_t i = leaves_ - 1; i > 0; --i) join(i);
    }
    double room(std::size_t chunk) const {
        std::size_t i = leaves_ + chunk;
        double open = nodes_[i].open, after = nodes_[i].taken, used = q_[chunk], before = 0;
        for (; i > 1; i /= 2) {
            const Node& beside = nodes_[i ^ 1];
            if ((i & 1) == 0) {
                open = std::min(open, beside.open - after);
                after += beside.taken;
            } else {
                used = std::max(used, beside.used + before);
                before += beside.taken;
            }
        }
        return open - used;
    }
    void take(std::size_t chunk, double bytes) {
        std::size_t i = leaves_ + chunk;
        nodes_[i].taken += bytes;
        nodes_[i].open -= bytes;
        nodes_[i].used += bytes;
        while ((i /= 2) > 0) join(i);
    }

private:
    struct Node {
        double taken = 0;
        double open = std::numeric_limits<double>::infinity();   // min over j of P_j - n_first - .. - n_j
        double used = -std::numeric_limits<double>::infinity();  // max over i of Q_i + n_i + .. + n_last
    };
    void join(std::size_t i) {
        const Node &left = nodes_[2 * i], &right = nodes_[2 * i + 1];
        nodes_[i] = {left.taken + right.taken, std::min(left.open, right.open - left.taken),
                     std::max(left.used + right.taken, right.used)};
    }

    std::vector<double> q_;
    std::vector<Node> nodes_;  // the root at 1, the leaves from leaves_ on
    std::size_t leaves_ = 1;
};

}  // namespace dstcc
