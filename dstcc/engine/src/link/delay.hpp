// Propagation delay over time: a table, with straight lines or cubic curves between its rows, constant outside them.
//
// Between rows (t0, d0) and (t1, d1) with slopes m0, m1, h = t1 - t0 and x = (t - t0) / h, Hermite's cubic is
//
//     d(t) = d0 + x (h m0 + x (3 D - h (2 m0 + m1) + x (h (m0 + m1) - 2 D))),   D = d1 - d0.
//
// Slopes come from a spline through the rows, so light times need a row an hour, not a second.
#pragma once

#include <vector>

#include "core/base.hpp"

namespace dstcc {

class DelayTable {
public:
    DelayTable() = default;
    DelayTable(std::vector<Time> t_ns, std::vector<Time> delay_ns, std::vector<double> slope);

    bool constant() const { return delay_ns_.size() == 1; }
    Time first() const { return delay_ns_.front(); }
    // No delay is below it.
    Time least() const;
    // Delay of what departs at `at`; `row` is where the last look-up ended, for times that rise.
    Time at(Time at, std::size_t& row) const;
    Time at(Time at) const {
        std::size_t row = 0;
        return this->at(at, row);
    }
    // The latest departure that arrives by `deadline`, were it alone on the way.
    Time latest_departure(Time deadline) const { return constant() ? deadline - first() : latest_in_table(deadline); }

private:
    Time latest_in_table(Time deadline) const;
    Time between(std::size_t row, Time at) const;

    std::vector<Time> t_ns_, delay_ns_;
    std::vector<double> slope_;
    std::vector<Time> soonest_;  // arrival of what departs at a row or any later one
};

}  // namespace dstcc
