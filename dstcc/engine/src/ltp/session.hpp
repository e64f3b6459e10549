// What either end of ltp keeps of the sessions that it has open: a record each, found by the block, and timers.
#pragma once

#include <memory>
#include <queue>
#include <vector>

#include "core/events.hpp"
#include "link/answer_clock.hpp"
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

}  // namespace dstcc
