// StorageSeen: how much a node further on had room for while its line was away.
//
//   stay   what waits there for the same contact of the plan
//   room   what arrived of a stay of which so much was lost as no channel loses for long, or half of that, where the sender's other paths
//          pass the node meanwhile. The next stay gets no more; one that got all that, and lost little, makes it kGrows times as much
#pragma once

#include <algorithm>
#include <limits>

#include "core/base.hpp"

namespace dstcc {

class StorageSeen {
public:
    // Others of the sender pass the node.
    void share() { share_ = kShared; }
    // `contact`: what names a stay. Bytes that were sent to it.
    void send(Time contact, double bytes) {
        if (contact != sending_) sent_ = 0;
        sending_ = contact;
        sent_ += bytes;
    }
    bool full(Time contact) const { return contact == sending_ && sent_ >= room_; }
    // Bytes that arrived, or 0 of a packet that did not; whether more than any channel loses was lost of late.
    void hear(Time contact, double bytes, bool overflows) {
        if (contact != heard_) {
            if (!overflowed_ && arrived_ >= kFilled * room_) room_ *= kGrows;
            heard_ = contact;
            arrived_ = 0;
            overflowed_ = false;
        }
        arrived_ += bytes;
        overflowed_ = overflowed_ || overflows;
        if (overflowed_) room_ = std::max(share_ * arrived_, kLeast);
    }

private:
    static constexpr double kFilled = 3.0 / 4, kGrows = 5.0 / 4, kShared = 1.0 / 2, kLeast = 16 * 1500;

    Time sending_ = -1, heard_ = -1;
    double sent_ = 0, arrived_ = 0, room_ = std::numeric_limits<double>::infinity();
    double share_ = 1;
    bool overflowed_ = false;
};

}  // namespace dstcc
