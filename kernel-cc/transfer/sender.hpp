// Which layer goes next, on which connection, and which is not worth sending any more: the simulator's rules
// (dstcc/engine/src/sending.cpp) with what an application can know of the kernel's TCP.
//
//   light    now + one-way delay                          nothing is there before
//   arrival  light + (SRTT - min RTT) + what exceeds the window's room at SRTT per window
//   lanes    a connection takes the next layer once all it was given has left: what is written cannot be taken back
//   stream   the one connection is kept filled, so that the kernel's scheduler has a choice
#pragma once

#include "endpoints.hpp"

namespace transfer {

class Sender {
public:
    Sender(const Plan& plan, Ledger& ledger, Craft& craft, Earth& earth, Payloads& payloads);

    // Gives connections what they take, at `now`; `drained` brings the ledger up to date after each write.
    template <class Drain>
    void pump(Time now, Drain&& drained) {
        release(now);
        drop_lost(now);
        order_lanes();
        for (bool any = true; any && waiting_ > 0;) {
            any = false;
            for (const int lane : order_)
                if (room(lane, now) && offer(lane, now)) {
                    any = true;
                    drained();
                }
        }
    }
    void set_layer_links(const std::vector<int>& links) { layer_links_ = links; }
    std::vector<std::int64_t> backlog() const;  // released and unsent bytes by layer
    std::vector<Time> oldest() const;           // the deadline of the oldest layer of each number that waits; kNever for none

private:
    struct Lane {
        int object = -1;           // partly handed over
        std::int64_t offset = 0;
        Time one_way = 0, looked = -1, queueing = 0, srtt = 0, min_rtt = 0;
        std::int64_t window_room = 0, window = 0;
        int link = 0;
    };
    enum class Slack { kRepair, kWindow, kLight };

    void release(Time now);
    void drop_lost(Time now);
    void order_lanes();
    bool room(int lane, Time now);
    bool offer(int lane, Time now);
    void refresh(Lane& lane, int index, Time now);
    int pick(const Lane& lane, Time now);
    bool fits(int object, const Lane& lane, Slack slack, Time now) const;
    bool premature(int object) const;
    bool hopeless(int object) const;
    bool wanted(int object, const Lane& lane) const;
    void take(int object);
    Time one_way(int link, Time now) const;
    std::size_t level(int object) const { return plan_.layer_first ? static_cast<std::size_t>(plan_.objects[static_cast<std::size_t>(object)].layer) : 0; }

    const Plan& plan_;
    Ledger& ledger_;
    Craft& craft_;
    Earth& earth_;
    Payloads& payloads_;
    std::vector<Lane> lanes_;
    std::vector<int> order_, layer_links_;
    struct Level {
        std::vector<int> objects;
        std::size_t head = 0;
    };
    std::vector<Level> levels_;
    std::vector<char> begun_, taken_;
    std::vector<std::int64_t> backlog_;
    std::size_t released_ = 0, rotation_ = 0;
    std::int64_t waiting_ = 0;  // objects neither handed over whole nor given up
};

}  // namespace transfer
