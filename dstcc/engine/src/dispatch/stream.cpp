#include <algorithm>

#include "dispatch/dispatcher.hpp"

namespace dstcc {
namespace {

class BySegment final : public Strategy {
public:
    explicit BySegment(Dispatcher& d) : d_(d) {}
    void handle_release(std::uint32_t object) override { d_.wait(object); }
    void offer() override {
        std::uint32_t object = 0;
        while (const SubflowSet idle = d_.usable()) {
            SubflowSet ready = idle;
            if (!d_.room_at_receiver()) return d_.note_blocked();
            if (!d_.next_unbound(ready, object)) return;
            if (!d_.may_wait()) {
                send(static_cast<std::size_t>(d_.pick_by_paths(ready)), object, idle);
                continue;
            }
            const int s = d_.choose(idle, ready, object,
                                    std::min<std::int64_t>(d_.transport().mss_bytes, d_.unsent_bytes(object)));
            if (s < 0) return;
            d_.send_new(static_cast<std::size_t>(s), object);
        }
    }

private:
    // Where no other subflow could be chosen a run goes at once. With deadlines a layer begun may let another go before it.
    void send(std::size_t s, std::uint32_t object, SubflowSet idle) {
        if ((idle & (idle - 1)) != 0 || d_.deadlines()) {
            d_.send_new(s, object);
            return;
        }
        d_.send_run(s, object);
        if (d_.unsent_bytes(object) == 0) d_.unbind(object);
    }

    Dispatcher& d_;
};

}  // namespace

std::unique_ptr<Strategy> make_stream(Dispatcher& dispatcher) { return std::make_unique<BySegment>(dispatcher); }

}  // namespace dstcc
