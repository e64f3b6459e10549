#pragma once

#include <vector>

#include "link/planned_path.hpp"

namespace dstcc {

// When answers are due, as either end of a link tells from the contact plan: the suspended timers of RFC 5326, sections 6.5, 6.6.
// Over nodes that forward packets both ends go by the plans of all hops.
class AnswerClock {
public:
    AnswerClock(const ContactPlan& plan, std::uint32_t full_bytes) : plan_(&plan), full_bytes_(full_bytes) {}
    // A path over nodes, to Earth and back.
    void go_over(const PlannedPath& there, const PlannedPath& back) {
        there_ = &there;
        back_ = &back;
    }
    bool over_nodes() const { return there_ != nullptr; }
    // The answer may wait for a full segment on the line and be one itself; as much again for what nobody foresaw.
    Time margin(Time departed, Time answered) const {
        if (over_nodes()) return 2 * (there_->services(departed) + back_->services(answered));
        return 2 * (full_service(plan_->down(), departed) + full_service(plan_->up(), answered));
    }
    // Of a report, and of a checkpoint.
    Time due_down(Time departed) const {
        return over_nodes() ? due(*back_, *there_, departed) : due(plan_->down(), departed);
    }
    Time due_up(Time departed) const {
        return over_nodes() ? due(*there_, *back_, departed) : due(plan_->up(), departed);
    }
    Time light_ns(Time at) const { return plan_->light_ns(at); }
    // How long what leaves then waits at nodes for contacts of the lines further on.
    Time waits_there(Time departed) const { return over_nodes() ? there_->journey(departed).waits : 0; }
    // Where it waits the longest, if it does. What waits there for one contact arrives about then.
    Stay stay(Time departed) const {
        if (!over_nodes()) return {};
        const PlannedPath::Journey out = there_->journey(departed);
        return out.waits > 0 ? Stay{out.node, out.arrives} : Stay{};
    }
    bool may_wait() const { return over_nodes() || !plan_->up().outages().empty(); }
    // How long both it and its answer wait.
    Time waits_both(Time departed) const {
        if (!over_nodes())
            return plan_->up().outages().empty() ? 0 : rests(plan_->up(), departed + plan_->light_ns(departed));
        const PlannedPath::Journey out = there_->journey(departed);
        const Time rests_there = rests(back_->own(), out.arrives);
        return out.waits + rests_there + back_->journey(out.arrives + rests_there).waits;
    }
    // Of these, how long its answer waits for the first line of its way back.
    Time answer_rests(Time departed) const {
        const PlannedWay& line = over_nodes() ? back_->own() : plan_->up();
        return line.outages().empty() ? 0 : rests(line, arrival(departed));
    }
    // Of data that leaves its sender's line then.
    Time arrival(Time leaves) const {
        return over_nodes() ? there_->arrival(leaves) : leaves + plan_->light_ns(leaves);
    }

private:
    Time rests(const PlannedWay& line, Time at) const { return line.fit(at, line.service_ns(full_bytes_)) - at; }
    // The other end may have to wait for its line, `far`, to be lit again. Light takes as long both ways.
    Time due(const PlannedWay& far, Time departed) const {
        const Time answered = far.fit(departed + plan_->light_ns(departed), far.service_ns(full_bytes_));
        return answered + plan_->light_ns(answered) + margin(departed, answered);
    }
    Time due(const PlannedPath& out, const PlannedPath& home, Time departed) const {
        const PlannedWay& far = home.own();
        const Time answered = far.fit(out.arrival(departed), far.service_ns(full_bytes_));
        return home.arrival(answered) + margin(departed, answered);
    }
    Time full_service(const PlannedWay& way, Time at) const {
        return way.rate().finish(at, std::max<Time>(1, way.service_ns(full_bytes_))) - at;
    }

    const ContactPlan* plan_;
    const PlannedPath *there_ = nullptr, *back_ = nullptr;
    std::uint32_t full_bytes_;
};

// What both ends plan with, path by path: a clock for answers, their own lines, and how many paths share the sender's.
class PathPlans {
public:
    struct Ends {
        AnswerClock clock;
        const PlannedWay *down, *up;
        int sharers = 1;
    };
    explicit PathPlans(std::size_t paths) { over_nodes_.reserve(2 * paths); }  // they are pointed at
    Ends of(const LinkConfig& path, const ContactPlan& plan, std::uint32_t full_bytes, int sharers) {
        if (path.onward.empty() || splits(path)) return {AnswerClock(plan, full_bytes), &plan.down(), &plan.up()};
        const PlannedPath& there = over_nodes_.emplace_back(path, false, full_bytes);
        const PlannedPath& back = over_nodes_.emplace_back(path, true, full_bytes);
        Ends ends{AnswerClock(plan, full_bytes), &plan.down(), &back.own(), sharers};
        ends.clock.go_over(there, back);
        return ends;
    }

private:
    std::vector<PlannedPath> over_nodes_;  // to Earth, and back
};

}  // namespace dstcc
