#include "floor.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace dstcc {

namespace {

constexpr Time kServiceNs = 100'000;     // 1,500 bytes at 120 Mbit/s
constexpr Time kOneWayNs = 500'000'000;  // the values do not matter, only that they make long rings

struct Record {
    Time arrive_ns, sent_ns;
    std::uint32_t number, lost;
};
static_assert(sizeof(Record) == 24, "as small as the engine's packet in flight");

// A ring of at least `window` records.
class Ring {
public:
    explicit Ring(std::int64_t window) {
        std::size_t places = 1;
        while (places < static_cast<std::size_t>(window)) places *= 2;
        records_.resize(places);
        mask_ = places - 1;
    }
    Record& operator[](std::int64_t n) { return records_[static_cast<std::size_t>(n) & mask_]; }

private:
    std::vector<Record> records_;
    std::size_t mask_ = 0;
};

std::uint64_t checked_threshold(std::int64_t packets, std::int64_t window, double loss) {
    if (packets < 0) throw std::invalid_argument("packets must not be negative");
    if (window < 1 || window > (std::int64_t{1} << 31)) throw std::invalid_argument("window must be 1 to 2^31");
    if (!(loss >= 0 && loss < 1)) throw std::invalid_argument("loss must be a probability below 1");
    return static_cast<std::uint64_t>(std::ldexp(loss, 64));
}

class EventWalk {
public:
    EventWalk(std::int64_t packets, std::int64_t window, int subflows, std::uint64_t threshold, std::uint64_t seed)
        : left_(packets),
          threshold_(threshold),
          heads_(2 * static_cast<std::size_t>(subflows), kNever) {
        for (int i = 0; i < subflows; ++i) {
            const auto link = static_cast<std::uint64_t>(i);
            paths_.push_back({Ring(window), Stream(seed, kStreamLoss, link, 0), Stream(seed, kStreamLoss, link, 1),
                              kServiceNs + 7001 * i});
        }
        for (std::int64_t n = 0; n < window; ++n)
            for (std::size_t i = 0; i < paths_.size(); ++i) send(i);
    }
    std::int64_t run() {
        for (;;) {
            std::size_t head = 0;
            for (std::size_t i = 1; i < heads_.size(); ++i)
                if (heads_[i] < heads_[head]) head = i;
            if (heads_[head] == kNever) return lost_;
            DSTCC_CHECK(heads_[head] >= now_, "time never goes back");
            now_ = heads_[head];
            if ((head & 1) == 0)
                arrive(head / 2);
            else
                answer(head / 2);
        }
    }

private:
    struct Path {
        Ring ring;
        Stream packet_draws, answer_draws;
        Time service_ns;
        Time busy_ns = 0;
        std::int64_t sent = 0, arrived = 0, answered = 0;  // the cursors
    };

    void send(std::size_t i) {
        if (left_ == 0) return;
        --left_;
        Path& path = paths_[i];
        path.busy_ns = std::max(now_, path.busy_ns) + path.service_ns;
        const Time at = path.busy_ns + kOneWayNs;
        const bool lost = path.packet_draws.bits(static_cast<std::uint64_t>(path.sent)) < threshold_;
        path.ring[path.sent] = {at, now_, static_cast<std::uint32_t>(path.sent), lost};
        if (path.arrived == path.sent) heads_[2 * i] = at;
        ++path.sent;
    }
    void arrive(std::size_t i) {
        Path& path = paths_[i];
        Record& record = path.ring[path.arrived];
        record.lost |= path.answer_draws.bits(static_cast<std::uint64_t>(path.arrived)) < threshold_;
        record.arrive_ns = now_ + kOneWayNs;
        if (path.answered == path.arrived) heads_[2 * i + 1] = record.arrive_ns;
        ++path.arrived;
        heads_[2 * i] = path.arrived < path.sent ? path.ring[path.arrived].arrive_ns : kNever;
    }
    void answer(std::size_t i) {
        Path& path = paths_[i];
        lost_ += path.ring[path.answered].lost;
        ++path.answered;
        heads_[2 * i + 1] = path.answered < path.arrived ? path.ring[path.answered].arrive_ns : kNever;
        send(i);
    }

    std::int64_t left_, lost_ = 0;
    std::uint64_t threshold_;
    Time now_ = 0;
    std::vector<Path> paths_;
    std::vector<Time> heads_;  // per path: the next packet to arrive, the next answer
};

}  // namespace

std::int64_t ring_walk(std::int64_t packets, std::int64_t window, double loss, std::uint64_t seed) {
    const std::uint64_t threshold = checked_threshold(packets, window, loss);
    Ring ring(window);
    const Stream draws(seed, kStreamLoss);
    Time now = 0, busy = 0;
    std::int64_t lost = 0;
    for (std::int64_t n = 0; n < packets + window; ++n) {
        if (n >= window && n - window < packets) {
            const Record& answer = ring[n - window];
            DSTCC_CHECK(answer.sent_ns <= now, "what is answered was sent");
            now = std::max(now, answer.arrive_ns);
            lost += answer.lost;
        }
        if (n < packets) {
            busy = std::max(now, busy) + kServiceNs;
            const bool gone = draws.bits(static_cast<std::uint64_t>(n)) < threshold;
            ring[n] = {busy + 2 * kOneWayNs, now, static_cast<std::uint32_t>(n), gone};
        }
    }
    return lost;
}

std::int64_t event_walk(std::int64_t packets, std::int64_t window, int subflows, double loss, std::uint64_t seed) {
    const std::uint64_t threshold = checked_threshold(packets, window, loss);
    if (subflows < 1 || subflows > 64) throw std::invalid_argument("subflows must be 1 to 64");
    return EventWalk(packets, window, subflows, threshold, seed).run();
}

}  // namespace dstcc
