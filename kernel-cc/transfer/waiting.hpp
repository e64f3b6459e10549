// The layers that are released and not yet given to a connection, in one queue or one for each layer number; which of them
// are not worth sending any more. Queues are in the order of release, so deadlines rise along them.
#pragma once

#include <dstcc_dispatch.hpp>

#include "ledger.hpp"

namespace transfer {

class Waiting {
public:
    Waiting(const Plan& plan, Ledger& ledger, bool by_layer);

    using Level = dstcc_dispatch::WaitingLevel;

    void release(Time now);
    // Gives up what light that arrives at `light` could no longer bring in time, and what builds on such.
    void drop_lost(Time light);
    // Gives up one that waits.
    void drop(int object);
    bool empty() const { return waiting_ == 0; }
    const std::vector<Level>& levels() const { return levels_; }
    // Out of its queue, to be sent.
    void take(int object);
    // So many bytes of it were handed over, the last ones or not.
    void hand(int object, std::int64_t bytes, bool last);
    // It was begun, and its last `rest` bytes are not worth sending any more.
    void leave(int object, std::int64_t rest);
    // The layer it builds on has not been begun, and comes first; or it was given up.
    bool blocked(int object) const { return builds(object) && (!begun_[index(object) - 1] || hopeless(object)); }
    // The layer it builds on was given up.
    bool hopeless(int object) const { return builds(object) && ledger_.outcomes[index(object) - 1].given_up; }
    const Object& of(int object) const { return plan_.objects[index(object)]; }
    // What the rules go by. A layer that waits was not begun. A deadline counts only if late layers are dropped.
    dstcc_dispatch::Layer layer(int object) const {
        const Object& row = of(object);
        return {row.release, plan_.drop_late ? row.deadline : kNever, row.bytes, row.layer, false};
    }

    const std::vector<std::int64_t>& backlog() const { return backlog_; }  // released and unsent bytes by layer
    std::vector<Time> oldest() const;  // the deadline of the oldest layer of each number that waits; kNever for none

private:
    static std::size_t index(int object) { return static_cast<std::size_t>(object); }
    Level& level_of(int object) { return levels_[levels_.size() > 1 ? static_cast<std::size_t>(of(object).layer) : 0]; }
    bool builds(int object) const {
        return dstcc_dispatch::builds_on_another(
            static_cast<dstcc_dispatch::Object>(object),
            [&](dstcc_dispatch::Object o) { return plan_.objects[o].layer; },
            [&](dstcc_dispatch::Object o) { return plan_.objects[o].chunk; });
    }

    const Plan& plan_;
    Ledger& ledger_;
    std::vector<Level> levels_;
    std::vector<char> begun_;
    std::vector<std::int64_t> backlog_;
    std::size_t released_ = 0;
    std::int64_t waiting_ = 0;  // objects neither handed over whole nor given up
};

}  // namespace transfer
