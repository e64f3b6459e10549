// What gives connections their layers; main.cpp calls it at every look.
#pragma once

#include <functional>

#include "endpoints.hpp"
#include "waiting.hpp"

namespace transfer {

// A controller's answer to a slot.
struct Answer {
    Time gap =
        -1;  // by which each layer counts as released later than the one below it; below 0: the sender's own order
    double repair = 0.5;      // share of the time to spare that is kept for a repair
    std::uint64_t dark = 0;   // links that rest
    std::vector<int> layers;  // where each layer may go: a link, or an entry of dstcc_dispatch.hpp
};

class Feeder {
public:
    Feeder(const Plan& plan, Ledger& ledger, Craft& craft, Earth& earth, Payloads& payloads, bool by_layer)
        : plan_(plan),
          ledger_(ledger),
          craft_(craft),
          earth_(earth),
          payloads_(payloads),
          waiting_(plan, ledger, by_layer) {}
    virtual ~Feeder() = default;
    // Gives connections what they take, at `now`; `drained` brings the ledger up to date after each write.
    virtual void pump(Time now, const std::function<void()>& drained) = 0;
    virtual void steer(const Answer& answer) = 0;
    // Where the kernel places layers: bytes of one that were handed over for a link.
    virtual std::int64_t told(int, int) const { return 0; }
    const Waiting& waiting() const { return waiting_; }

protected:
    // Hands up to `stretch` bytes of a layer from `offset` on to a connection, for one of its links; how many it took.
    std::int64_t hand(int lane, int object, std::int64_t offset, std::int64_t stretch, int link) {
        const std::int64_t sent = craft_.write(lane, payloads_.at(object, offset, stretch), stretch);
        if (sent <= 0) return 0;
        ledger_.wrote(lane, object, sent, link);
        earth_.wrote(lane, object, offset, sent);
        waiting_.hand(object, sent, offset + sent == waiting_.of(object).bytes);
        return sent;
    }

    const Plan& plan_;
    Ledger& ledger_;
    Craft& craft_;
    Earth& earth_;
    Payloads& payloads_;
    Waiting waiting_;
};

}  // namespace transfer
