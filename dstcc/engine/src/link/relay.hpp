// A second hop: a relay on the way, with a queue of its own in front of a line of its own. No sender sees that queue.
//
//   comes  = max(comes, depart + at delay(depart))     to the relay, after what came before
//   start  = max(comes, busy);   leaves = start + bytes / rate
//   arrive = leaves + (1 - at) delay(depart)
//
// A packet that would leave the relay's queue longer than its limit is dropped there (drop-tail, the packet in service counted).
// Loss and outages are the first hop's. Datagrams of others join here. They depend on nothing that a sender does, so that the
// relay draws them by itself, up to each packet's coming: the second hop costs no events.
#pragma once

#include <algorithm>
#include <cmath>

#include "link/traffic.hpp"

namespace dstcc {

class Relay {
public:
    Relay() = default;
    // A full packet always has room in an empty queue. `index` is the link's.
    Relay(const RelayConfig& config, std::uint64_t seed, std::uint64_t index, std::uint32_t full_bytes)
        : at_(config.at),
          ns_per_byte_(8.0 * kNsPerS / config.rate_bps) {
        const double limit = static_cast<double>(config.queue_bytes) * ns_per_byte_ + 0.5;
        limit_ns_ = std::max(limit > static_cast<double>(kNever / 4) ? kNever / 4 : static_cast<Time>(limit),
                             service_ns(full_bytes));
        for (std::size_t k = 0; k < config.cross_traffic.size(); ++k) {
            TrafficSource source(config.cross_traffic[k], seed, index, kNumbers + k);
            const Time start = source.start();
            others_.push_back({std::move(source), start});
        }
    }

    // When a packet arrives that leaves the sender at `depart` and has `delay` of light before it; kNever: dropped. Departures
    // rise from call to call.
    Time pass(Time depart, Time delay, std::uint32_t bytes) {
        const Time before = static_cast<Time>(std::llround(at_ * static_cast<double>(delay)));
        comes_ns_ = std::max(comes_ns_, depart + before);
        while (Other* const other = next_other(comes_ns_)) {
            const Time now = other->next_ns;
            if (other->source.poll(now, other->next_ns)) join(now, other->source.packet_bytes());
        }
        if (!join(comes_ns_, bytes)) {
            ++dropped_;
            return kNever;
        }
        return busy_ns_ + (delay - before);
    }

    // Packets from the first hop that the queue had no room for.
    std::int64_t dropped() const { return dropped_; }

private:
    static constexpr std::uint64_t kNumbers = 1 << 17;  // draws of datagrams here are apart from those at the sender

    struct Other {
        TrafficSource source;
        Time next_ns;
    };
    // The one with the next packet up to and including that time, the first of the list where several have.
    Other* next_other(Time until) {
        Other* next = nullptr;
        for (Other& other : others_)
            if (other.next_ns <= until && (next == nullptr || other.next_ns < next->next_ns)) next = &other;
        return next;
    }
    Time service_ns(std::uint32_t bytes) const { return static_cast<Time>(ns_per_byte_ * bytes + 0.5); }
    bool join(Time now, std::uint32_t bytes) {
        const Time start = std::max(now, busy_ns_), service = service_ns(bytes);
        if (start - now + service > limit_ns_) return false;
        busy_ns_ = start + service;
        return true;
    }

    double at_ = 0, ns_per_byte_ = 0;
    Time limit_ns_ = 0, comes_ns_ = 0, busy_ns_ = 0;
    std::vector<Other> others_;
    std::int64_t dropped_ = 0;
};

}  // namespace dstcc
