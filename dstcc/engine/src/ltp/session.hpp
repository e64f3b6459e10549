// What either end of ltp keeps of the sessions that it has open: a record each, found by the block, and timers.
#pragma once

#include <memory>
#include <queue>
#include <vector>

#include "core/events.hpp"
#include "link/planned_path.hpp"
#include "ltp/blocks.hpp"

namespace dstcc {

// As many records as were ever open at once.
template <class Record>
class Sessions {
public:
    explicit Sessions(std::size_t blocks) : slot_of_(blocks, kNone) {}
    Record* find(std::uint32_t block) {
        const std::uint32_t slot = slot_of_[block];
        return slot == kNone ? nullptr : records_[slot].get();
    }
    Record& open(std::uint32_t block) {
        if (free_.empty()) {
            records_.push_back(std::make_unique<Record>());
            free_.push_back(static_cast<std::uint32_t>(records_.size() - 1));
        }
        slot_of_[block] = free_.back();
        free_.pop_back();
        return *records_[slot_of_[block]];
    }
    void close(std::uint32_t block) {
        *records_[slot_of_[block]] = Record();
        free_.push_back(slot_of_[block]);
        slot_of_[block] = kNone;
    }
    std::int64_t peak_bytes() const { return static_cast<std::int64_t>(records_.size() * sizeof(Record)); }

private:
    static constexpr std::uint32_t kNone = UINT32_MAX;
    std::vector<std::uint32_t> slot_of_;  // by block
    std::vector<std::unique_ptr<Record>> records_;
    std::vector<std::uint32_t> free_;
};

// One end's timers, by link. One that was answered, or set anew, stays until it fires and finds nothing to do.
template <class Clock>
class LinkTimers {
public:
    struct Timer {
        Time at;
        std::uint64_t order;            // of setting, so that equal times have one
        std::uint32_t subject, serial;  // a block, or a matrix; a checkpoint or a report
        Clock clock;
        bool operator<(const Timer& other) const {  // the earliest is the greatest of a priority queue
            return at != other.at ? at > other.at : order > other.order;
        }
    };
    explicit LinkTimers(Timers heads) : heads_(heads) {}
    void add() { queues_.emplace_back(); }
    void set(std::size_t l, Clock clock, std::uint32_t subject, std::uint32_t serial, Time at) {
        queues_[l].push({at, set_++, subject, serial, clock});
        if (at < heads_.at(l)) heads_.set(l, at);
    }
    // Call expired(timer) for those that are due.
    template <class Expired>
    void fire(Time now, std::size_t l, Expired&& expired) {
        auto& queue = queues_[l];
        while (!queue.empty() && queue.top().at <= now) {
            const Timer timer = queue.top();
            queue.pop();
            expired(timer);
        }
        heads_.set(l, queue.empty() ? kNever : queue.top().at);
    }

private:
    std::vector<std::priority_queue<Timer>> queues_;
    Timers heads_;
    std::uint64_t set_ = 0;
};

// When answers are due, as either end of a link tells from the contact plan: the suspended timers of RFC 5326, sections 6.5, 6.6.
// Over nodes that forward segments both ends go by the plans of all hops.
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
    // Of data that leaves its sender's line then.
    Time arrival(Time leaves) const {
        return over_nodes() ? there_->arrival(leaves) : leaves + plan_->light_ns(leaves);
    }

private:
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
    Ends alone(const ContactPlan& plan, std::uint32_t full_bytes) const {
        return {AnswerClock(plan, full_bytes), &plan.down(), &plan.up()};
    }
    Ends over_nodes(const LinkConfig& path, const ContactPlan& plan, std::uint32_t full_bytes, int sharers) {
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
