// One direction of a link and what a node holds for it, with the simulator's own parts (link/direction.hpp, link/node.hpp), and the
// bytes of the packets. Others' datagrams come to a node as packets do, have no bytes, and go no further.
#pragma once

#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "direction.hpp"
#include "link/contact.hpp"
#include "link/node.hpp"
#include "link/traffic.hpp"

namespace links {

using Frame = std::vector<std::uint8_t>;

// What is said of a direction when somebody asks.
struct WayCounts {
    std::int64_t delivered_packets = 0, delivered_bytes = 0, lost_packets = 0, dropped_packets = 0, queued_packets = 0,
                 queued_bytes = 0, under_way_packets = 0;
};
struct StoreCounts {
    std::int64_t held_packets = 0, held_bytes = 0, dropped_packets = 0, lost_in_restarts_packets = 0;
};
// What a trial asks: of a line what had room on it, and of that what it lost; and what had none.
struct LineCounts {
    std::int64_t sent_packets = 0, lost_packets = 0, dropped_packets = 0;
};

class Way {
public:
    struct Ends {
        std::size_t number;
        bool up;
        int from, to;  // sockets
        int free_bytes;
    };
    // `node`: the one that it leaves from; none where that is an end, or there are no nodes.
    Way(Ends ends, Direction line, const dstcc::LinkConfig& link, dstcc::Node* node,
        const std::vector<dstcc::TrafficSource>& others)
        : ends(ends),
          line_(std::move(line)),
          node_(node),
          store_(node, dstcc::PlannedWay(link, ends.up)) {
        for (const dstcc::TrafficSource& source : others) others_.push_back({source, source.start()});
    }
    const Ends ends;

    const dstcc::Node* node() const { return node_; }
    // The next time at which something happens here by itself.
    Time next() const { return std::min(store_.next(), flying_.empty() ? dstcc::kNever : flying_.front().arrive); }
    // A packet of so many bytes comes to be sent.
    void put(Time now, std::uint32_t bytes, Frame frame) {
        last_ = now = std::max({last_, now, Time{0}});
        go_on_until(now);
        join(now, bytes, std::move(frame));
    }
    // Until when the packets before it keep the line.
    Time busy_ns() const { return line_.line().busy_ns(); }
    // What has arrived by then, given to `send`, which says whether the other end took it.
    template <class Send>
    void deliver(Time now, Send&& send) {
        go_on_until(now);
        for (; !flying_.empty() && flying_.front().arrive <= now; flying_.pop_front()) {
            if (send(ends.to, flying_.front().frame)) {
                ++delivered_packets_;
                delivered_bytes_ += flying_.front().bytes;
            } else
                ++refused_packets_;
        }
    }
    void restart(Time now) { store_.restart(now, Outlet{*this}); }

    LineCounts line_counts() const {
        const dstcc::Direction& line = line_.line();
        return {line.sent() - line.dropped(), line.lost(), line.dropped()};
    }
    WayCounts counts(Time now) {
        go_on_until(now);
        while (!queue_.empty() && queue_.front().first <= now) queue_.pop_front();
        const dstcc::Direction& line = line_.at(now);
        WayCounts out{delivered_packets_, delivered_bytes_, line.lost() + refused_packets_,
                      line.dropped() + dropped_packets_};
        for (const auto& [departs, bytes] : queue_) {
            ++out.queued_packets;
            out.queued_bytes += bytes;
        }
        // Of a store what is in service is held, too.
        out.queued_packets += static_cast<std::int64_t>(frames_.size());
        for (const auto& held : frames_) out.queued_bytes += held.second.bytes;
        for (const Flying& packet : flying_) out.under_way_packets += packet.departs <= now ? 1 : 0;
        return out;
    }

private:
    struct Flying {
        Time departs, arrive;
        std::uint32_t bytes;
        Frame frame;
    };
    struct Held {
        std::uint32_t bytes;
        Frame frame;
    };
    struct Source {
        dstcc::TrafficSource traffic;
        Time next;
    };

    // What a store asks of a line.
    struct Outlet {
        Way& way;
        Time busy_ns(Time now) { return way.line_.at(now).busy_ns(); }
        bool put(Time now, const dstcc::Token& packet) {
            const auto held = way.frames_.find(packet.number);
            const bool had_room = way.transmit(now, packet.bytes, std::move(held->second.frame));
            if (!way.node_->stores()) way.frames_.erase(held);
            return had_room;
        }
        void done(const dstcc::Token& packet) { way.frames_.erase(packet.number); }
        void lose(const dstcc::Token& packet, bool dropped) {
            way.dropped_packets_ += dropped ? 1 : 0;
            way.frames_.erase(packet.number);
        }
    };

    // A packet is there; one of others has no frame.
    void join(Time now, std::uint32_t bytes, Frame frame) {
        if (node_ == nullptr) {
            transmit(now, bytes, std::move(frame));
            return;
        }
        frames_[++came_] = {bytes, std::move(frame)};
        store_.join(now, {came_, dstcc::kNobody, bytes, 0}, Outlet{*this});
    }
    // False: it has no room in the line's queue.
    bool transmit(Time now, std::uint32_t bytes, Frame frame) {
        const dstcc::Direction::Passage passage = line_.transmit(now, bytes);
        const Time departs = line_.line().busy_ns();
        if (!frame.empty()) {
            if (passage.wait_ns >= 0 && (node_ == nullptr || !node_->stores())) queue_.push_back({departs, bytes});
            if (passage.arrive_ns != dstcc::kNever)
                flying_.push_back({departs, passage.arrive_ns, bytes, std::move(frame)});
        }
        return passage.wait_ns >= 0;
    }
    // Services and others' packets, in their order; of the latter what is due at `now` is behind what comes then.
    void go_on_until(Time now) {
        for (;;) {
            Source* first = nullptr;
            for (Source& source : others_)
                if (source.next < now && (first == nullptr || source.next < first->next)) first = &source;
            if (store_.next() <= (first == nullptr ? now : first->next)) {
                store_.serve(Outlet{*this});
            } else if (first != nullptr) {
                const Time at = first->next;
                if (first->traffic.poll(at, first->next)) join(at, first->traffic.packet_bytes(), {});
            } else
                return;
        }
    }
    Direction line_;
    dstcc::Node* node_;
    dstcc::Store store_;
    std::vector<Source> others_;
    std::unordered_map<std::uint32_t, Held> frames_;  // of what waits
    std::uint32_t came_ = 0;
    Time last_ = 0;
    std::deque<Flying> flying_;                         // in order of arrival
    std::deque<std::pair<Time, std::uint32_t>> queue_;  // without a store: departures and bytes
    std::int64_t delivered_packets_ = 0, delivered_bytes_ = 0, dropped_packets_ = 0, refused_packets_ = 0;
};

}  // namespace links
