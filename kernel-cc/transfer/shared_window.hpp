// A controller's links: all lanes of a link share the window that the controller sets, as in the simulator, where a lane is
// an order and nothing else. Every lane's TCP holds that window W. The kernel sees to the sum, as the lanes are a group of our
// module's: no more than W in flight on all of them, W per round trip in all, repairs included. Here layers are given to
// links as late as can be:
//
//   room     a link gets what its group's window has room for, and no more of it than leaves by the look after the next
//   lanes    some in rotation, a whole layer to each; further ones where the receivers of these have no room
//   stream   one connection with a subflow a link, which holds W by itself; the kernel is told of the bytes which are next
//            whose they are (family.hpp), and its scheduler sends them on that subflow
//   layers   bound to a link when it has room, by the rules that the simulator compiles too (kernel-cc/dispatch/dstcc_dispatch.hpp):
//            by turns where the controller gives an order, else the oldest first, each on the link that the table has for it
//
// A lane whose agent fell silent is Reno's: its window, and with it the mean, halves with its losses. Where nobody has made a
// group, before the controller's first decision and under BPF, which has none, room is by what TCP_INFO told and what passed
// since; a lane's first segments leave unpaced then, and repairs beside W.
#pragma once

#include "feeder.hpp"

namespace transfer {

class SharedWindow : public Feeder {
public:
    SharedWindow(const Plan& plan, Ledger& ledger, Craft& craft, Earth& earth, Payloads& payloads);

    void pump(Time now, const std::function<void()>& drained) override;
    void steer(const Answer& answer) override;
    std::int64_t told(int layer, int link) const override {
        return told_[static_cast<std::size_t>(layer) * paths_.size() + static_cast<std::size_t>(link)];
    }

private:
    using Set = std::uint64_t;  // of links
    class View;
    struct Path {
        std::vector<int> lanes;
        std::size_t next_lane = 0;
        int object = -1, lane = -1;  // being written to a lane
        std::int64_t offset = 0;
        bool established = false;
        Time one_way = 0, srtt = 0, min_rtt = 0, refreshed = -1;
        std::int64_t told = 0;                // ACKs, when looked at
        std::int64_t window = 0, flight = 0;  // bytes, when looked at
        std::int64_t beside = 0;              // rate: what was in flight when the window was set
        bool set = false;                     // since the last look
        Passed then;                          // when looked at
        double pace = 0;                      // payload bytes a ns
        struct Open {
            int lane;
            std::int64_t unsent;
            Time moved;  // the last time that this changed
        };
        std::vector<Open> open;  // lanes with unsent data
        struct ReceiveWindow {
            std::uint64_t acked = 0;
            std::int64_t bytes = 0;  // that the receiver's window still takes
            bool whole = false;      // it takes all it ever will
        };
        std::vector<ReceiveWindow> receive_windows;  // by lane
    };

    void refresh(Path& path, int link, Time now);
    std::int64_t unsent(int lane, int link) const;
    void ask(Path& path, int link);
    void note_leaving(Path& path, int link, Time now);
    std::int64_t room(const Path& path, int link) const;
    bool feed(int link);
    int lane_for(const Path& path, std::int64_t bytes) const;
    bool bind(Set ready, Time now);
    void forecast(Time now);
    bool next_by_table(Set ready, dstcc_dispatch::Object& object, int& link);
    bool next_by_turns(Set ready, dstcc_dispatch::Object& object, int& link);
    int place_of(int object, Set ready) const;
    int nearest(Set links, std::int64_t bytes) const;
    bool outdated(int object, int newest, int link) const;

    int announced_for(int object, int link) const;

    std::vector<Path> paths_;
    std::vector<dstcc_dispatch::Forecast> forecasts_;  // what each link would do to a layer
    std::vector<std::int64_t> told_;                   // bytes handed over of each layer for each link
    std::vector<int> layers_;
    Time gap_, now_ = 0;
    double repair_ = 0.5;
    bool strict_ = true;   // a layer waits for its link
    bool tabled_ = false;  // a controller gives a table and no order of layers
    Set dark_ = 0, established_ = 0;
};

}  // namespace transfer
