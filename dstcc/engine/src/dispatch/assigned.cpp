#include <algorithm>

#include "dispatch/dispatcher.hpp"

namespace dstcc {
namespace {

class Assigned final : public Strategy {
public:
    Assigned(Dispatcher& d, bool when_released)
        : d_(d),
          when_released_(when_released),
          queues_(d.outlets(), LayerQueue(d.layer_first())),
          busy_(d.bound()) {}

    void handle_release(std::uint32_t object) override {
        when_released_&& takes_layers() ? assign(object) : d_.wait(object);
    }

    // Layers that waited for the connection, and those that another subflow was given in its place and has not begun.
    void handle_established(std::size_t) override {
        if (!when_released_ || d_.transport().lanes) return;
        while (d_.anything_waits()) {
            const std::uint32_t object = d_.first_waiting();
            d_.unbind(object);
            assign(object);
        }
        LayerSet every;
        every.fill(true);
        reassign(every);
    }

    bool binds_whole() const override { return true; }

    void offer() override {
        for (;;) {
            if (d_.ready() == 0 || !d_.room_at_receiver()) return;
            if (const SubflowSet busy = d_.ready() & busy_) {
                const auto s = static_cast<std::size_t>(lowest(busy));
                DSTCC_CHECK(!queues_[s].empty(), "one that is busy has a layer");
                const std::uint32_t object = queues_[s].front();
                d_.deadlines() && outdated(object, s) ? drop_front(s) : send_run(object, s);
                continue;
            }
            std::uint32_t object = 0;
            const SubflowSet idle = d_.usable() & ~busy_;
            SubflowSet ready = idle;
            if (idle == 0) return;
            if (!d_.next_unbound(ready, object)) return offer_spares();
            const int s = d_.choose(idle, ready, object, d_.unsent_bytes(object));
            if (s < 0) return;
            d_.unbind(object);
            bind(object, static_cast<std::size_t>(s));
        }
    }

    // Layers that it has not begun go elsewhere, unless they were told their link.
    void handle_timeout(std::size_t s) override {
        if (!d_.transport().layer_links.empty() && !d_.transport().apart) return;
        const auto moved = queues_[s].extract([&](std::uint32_t object) { return d_.layer(object).offset == 0; });
        if (queues_[s].empty()) erase(busy_, s);
        for (const std::uint32_t object : moved) {
            d_.note_assigned(s, -d_.objects().payload_bytes[object]);
            if (when_released_)
                assign(object);
            else
                bind(object, static_cast<std::size_t>(d_.quickest(d_.fresh())));
        }
    }

    void drop_expired() override {
        for (std::size_t s = 0; s < queues_.size(); ++s)
            while (!queues_[s].empty() && d_.late(queues_[s].front(), s, Slack::kLight)) drop_front(s);
    }

    void reassign(const LayerSet& changed) override {
        if (!when_released_) return;
        std::vector<std::uint32_t> moved;
        for (std::size_t s = 0; s < queues_.size(); ++s) {
            const auto taken = queues_[s].extract([&](std::uint32_t object) {
                return d_.layer(object).offset == 0 && changed[static_cast<std::size_t>(d_.objects().layer[object])];
            });
            for (const std::uint32_t object : taken) d_.note_assigned(s, -d_.objects().payload_bytes[object]);
            if (queues_[s].empty()) erase(busy_, s);
            moved.insert(moved.end(), taken.begin(), taken.end());
        }
        if (moved.empty()) return;
        std::sort(moved.begin(), moved.end());
        for (const std::uint32_t object : moved) assign(object);
        for (LayerQueue& queue : queues_) queue.restore_order();
    }

private:
    using Slack = Dispatcher::Slack;
    using Spare = Dispatcher::Spare;

    bool takes_layers() const { return d_.transport().lanes || d_.established() != 0; }

    void assign(std::uint32_t object) { bind(object, static_cast<std::size_t>(d_.assign(object))); }

    // Give a layer to a subflow: whole, and on lanes to the next lane of its link.
    void bind(std::uint32_t object, std::size_t s) {
        d_.stop(s);  // it may go before the one in front
        d_.set_domain(object, s);
        queues_[s].push_back(object, d_.objects().layer[object]);
        d_.note_assigned(s, d_.unsent_bytes(object));
        insert(busy_, s);
    }

    void pop_front(std::size_t s) {
        queues_[s].pop_front();
        if (queues_[s].empty()) erase(busy_, s);
    }

    void send_run(std::uint32_t object, std::size_t s) {
        const std::int64_t before = d_.unsent_bytes(object);
        d_.send_run(s, object);
        d_.note_assigned(s, d_.unsent_bytes(object) - before);
        if (d_.unsent_bytes(object) == 0) pop_front(s);
    }

    // One that is begun is finished while it can be.
    bool outdated(std::uint32_t object, std::size_t s) const {
        return dstcc_dispatch::outdated(object, queues_[s].newest(), d_.hopeless(object),
                                        [&](std::uint32_t o, Slack slack) { return d_.late(o, s, slack); });
    }

    void drop_front(std::size_t s) {
        const std::uint32_t object = queues_[s].front();
        d_.note_assigned(s, -d_.unsent_bytes(object));
        d_.give_up(object);
        pop_front(s);
    }

    // Subflows with room that nothing new can use send again what may be lost: the lowest layer first, then the oldest.
    void offer_spares() {
        for (auto& waiting : d_.spares()) {
            while (!waiting.empty()) {
                const Spare spare = waiting.front();
                const bool over = d_.sender(spare.origin).acknowledged(spare.number) ||
                                  (d_.deadlines() && d_.lost_cause(spare.object));
                SubflowSet set = d_.usable() & ~busy_ & ~d_.outage();
                if (!over && !spare_fits(spare, set)) break;
                waiting.pop_front();
                if (!over)
                    d_.send_copy(static_cast<std::size_t>(d_.quickest(set)), spare.object, spare.order, spare.bytes);
            }
        }
    }

    // Narrow `set` to where a copy would be in time, off the subflow that has the original if there is another.
    bool spare_fits(const Spare& spare, SubflowSet& set) const {
        set = d_.in_time(spare.object, Slack::kWindow, set);
        if (const SubflowSet others = set & ~bit(spare.origin)) set = others;
        return set != 0;
    }

    Dispatcher& d_;
    bool when_released_;
    std::vector<LayerQueue> queues_;  // per subflow: layers that are its to send
    SubflowSet& busy_;                // those with any
};

}  // namespace

std::unique_ptr<Strategy> make_assigned(Dispatcher& dispatcher, bool when_released) {
    return std::make_unique<Assigned>(dispatcher, when_released);
}

}  // namespace dstcc
