// Which layer goes next, on which connection, and which is not worth sending any more: the simulator's rules
// (kernel-cc/dispatch/dstcc_dispatch.hpp) with what an application can know of the kernel's TCP.
//
//   light    now + one-way delay                          nothing is there before
//   arrival  light + (SRTT - min RTT) + what exceeds the window's room at SRTT per window; where a law paces, all of it at
//            its pace if that is slower: of each subflow that may send
//   lanes    what is written cannot be taken back: a connection takes a layer when its window has room, no more of it than that
//            (of a paced one a segment beside the next), and leaves one that is too late where it stands
//   stream   the one connection is kept filled, so that the kernel's scheduler has a choice
#pragma once

#include "feeder.hpp"

namespace transfer {

constexpr const char* kPaced = "bbr";  // what its window has room for waits for its pace all the same

class Sender : public Feeder {
public:
    Sender(const Plan& plan, Ledger& ledger, Craft& craft, Earth& earth, Payloads& payloads);

    void pump(Time now, const std::function<void()>& drained) override;
    void steer(const Answer& answer) override { layer_links_ = answer.layers; }

private:
    // A subflow of a lane: of lanes the one on their link, of a stream all that may send.
    struct Path {
        Time begins = kNever;  // may send from then on
        Time srtt = 0, min_rtt = 0;
        std::int64_t room = 0;   // bytes, in its window
        double ns_per_byte = 0;  // of what exceeds the room
    };
    struct Lane {
        int object = -1;  // partly handed over
        std::int64_t offset = 0;
        std::int64_t heard = -1;
        Time looked = -1, srtt = 0, begins = kNever;  // the next path may send from then on
        std::int64_t window_room = 0, window = 0;     // of its paths together
        int link = 0;
        std::vector<Path> paths;   // by link
        std::uint64_t usable = 0;  // those that may send and have no timeout, if any
    };
    class View;

    void order_lanes(Time now);
    bool room(int lane, Time now);
    bool offer(int lane, Time now);
    void refresh(Lane& lane, int index, Time now);
    int pick(const Lane& lane, Time now);
    bool may_send(const SubflowInfo& info, int link, Path& path, Time now) const;
    dstcc_dispatch::Forecast forecast(const Lane& lane, std::size_t link, Time now) const;
    bool too_late(int object, const Lane& lane, Time now) const;
    bool wanted(int object, const Lane& lane) const;
    bool paced() const { return plan_.congestion == kPaced; }

    std::vector<Lane> lanes_;
    std::vector<int> order_, layer_links_;
};

}  // namespace transfer
