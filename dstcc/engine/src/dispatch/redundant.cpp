#include <algorithm>

#include "core/ring.hpp"
#include "dispatch/dispatcher.hpp"

namespace dstcc {
namespace {

// Each subflow walks the log of what was sent first and copies what is not known to have arrived.
class Redundant final : public Strategy {
public:
    explicit Redundant(Dispatcher& d) : d_(d), copied_(d.outlets(), 0) {}

    void handle_release(std::uint32_t object) override { d_.wait(object); }
    void handle_established(std::size_t s) override {
        copied_[s] = std::max(copied_[s], log_.begin());
        note_bound();
    }

    void offer() override {
        for (SubflowSet set = d_.ready(); set != 0; set &= set - 1) {
            const auto s = static_cast<std::size_t>(lowest(set));
            while (contains(d_.ready(), s)) {
                if (copied_[s] < log_.end()) {
                    const Sent entry = log_[copied_[s]++];
                    if (!d_.sender(entry.subflow).acknowledged(entry.number))
                        d_.send_copy(s, entry.object, entry.order, entry.bytes);
                    continue;
                }
                std::uint32_t object = 0;
                SubflowSet only = bit(s);
                if (!d_.room_at_receiver() || !d_.next_unbound(only, object)) break;
                const std::int64_t number = d_.send_new(s, object);
                const Segment& segment = d_.sender(s).segment(number);
                log_.push_back({segment.object, segment.order, segment.bytes, static_cast<std::uint16_t>(s), number});
                copied_[s] = log_.end();
            }
        }
        std::int64_t needed = log_.end();
        for (SubflowSet set = d_.established(); set != 0; set &= set - 1)
            needed = std::min(needed, copied_[static_cast<std::size_t>(lowest(set))]);
        while (log_.begin() < needed) log_.pop_front();
        note_bound();
    }

private:
    struct Sent {  // what went out first where
        std::uint32_t object, order;
        std::uint16_t bytes, subflow;
        std::int64_t number;
    };
    void note_bound() {
        d_.bound() = 0;
        for (std::size_t s = 0; s < copied_.size(); ++s)
            if (copied_[s] < log_.end()) insert(d_.bound(), s);
    }

    Dispatcher& d_;
    BlockRing<Sent> log_;
    std::vector<std::int64_t> copied_;  // per subflow: its place in the log
};

}  // namespace

std::unique_ptr<Strategy> make_redundant(Dispatcher& dispatcher) { return std::make_unique<Redundant>(dispatcher); }

}  // namespace dstcc
