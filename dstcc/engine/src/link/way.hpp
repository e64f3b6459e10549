// What is under way of one transport on a direction of a link, in order of arrival. Only the event loop takes that off; an end
// puts segments on it through its `Line` and sees nothing else of it.
#pragma once

#include <functional>
#include <memory>

#include "core/events.hpp"
#include "core/ranges.hpp"
#include "core/ring.hpp"
#include "core/run.hpp"
#include "core/settlement.hpp"
#include "link/network.hpp"
#include "link/packet_log.hpp"
#include "link/packets.hpp"

namespace dstcc {

template <class Segment>
class Line;

// A `Segment` has the time of its arrival, the number of ranges that travel beside it, and the layer whose data it is, if any.
// On a path over nodes the network takes it on from the first of them, and says what became of it.
template <class Segment>
class Way {
public:
    Way(Direction& direction, std::size_t index, QuickHeads arrivals, Settlement& settlement)
        : direction_(&direction),
          arrivals_(arrivals),
          head_(index),
          settlement_(&settlement) {}
    // It leads to a node.
    void go_over(const Link& path, bool up) { beyond_ = std::make_unique<Beyond>(*this, path, up); }
    // Every segment that is put on it, and what becomes of it, is logged: by this, as the log's next row.
    using Logging =
        std::function<void(Time now, const Segment&, const Range* beside, std::size_t ranges, Direction::Passage)>;
    void log(PacketLog& log, Logging logging) {
        log_ = &log;
        logging_ = std::move(logging);
    }

    // What arrives next, and the ranges beside it.
    Segment take(std::vector<Range>& beside) {
        const Segment segment = under_way_.front();
        pop();
        beside.clear();
        for (std::uint32_t i = 0; i < segment.ranges(); ++i) {
            beside.push_back(beside_.front());
            beside_.pop_front();
        }
        return segment;
    }
    // What of a run at the front has arrived by then: f(segment, stretch), whose places are the segments' numbers.
    template <class F>
    void take_arrived(Time at, F&& f) {
        if (under_way_.empty() || !under_way_.front().run) return;
        Segment& front = under_way_.front();
        while (front.number > 0) {
            Stretch& next = stretches_.front();
            Stretch come = next;
            come.arrivals.count = next.arrivals.until(at);
            if (come.arrivals.count == 0) return;
            f(front, come);
            settlement_->arrive(front.block, come.arrivals.count);
            in_runs_ -= come.arrivals.count;
            if (come.arrivals.count < next.arrivals.count) {
                next.place += come.arrivals.count;
                return next.arrivals.drop(come.arrivals.count);
            }
            stretches_.pop_front();
            --front.number;
        }
        --runs_;
        pop();
    }
    bool run_next() { return !under_way_.empty() && under_way_.front().run; }
    std::int64_t under_way() const { return under_way_.size() - runs_ + in_runs_ + (beyond_ ? beyond_->under_way : 0); }
    std::int64_t peak_bytes() const {
        return under_way_.peak_bytes() + beside_.peak_bytes() + stretches_.peak_bytes() +
               (beyond_ ? beyond_->segments.peak_bytes() + beyond_->beside.peak_bytes() : 0);
    }

private:
    friend class Line<Segment>;
    Direction::Passage send(Time now, const Segment& segment, std::uint32_t bytes, const Range* beside,
                            std::size_t ranges) {
        const Direction::Passage passage = direction_->transmit(now, bytes);
        if (__builtin_expect(log_ != nullptr, 0)) logging_(now, segment, beside, ranges, passage);
        if (passage.arrive_ns != kNever) put(segment, passage.arrive_ns, bytes, beside, ranges);
        return passage;
    }
    void put(const Segment& segment, Time at, std::uint32_t bytes, const Range* beside, std::size_t ranges) {
        if (segment.data()) settlement_->leave(segment.block);
        if (beyond_ != nullptr) return beyond_->enter(segment, at, bytes, beside, ranges);
        for (std::size_t i = 0; i < ranges; ++i) beside_.push_back(beside[i]);
        arrive(segment, at);
    }
    // A run of data of one block, of which the first is given. It is one record, with the time of its last arrival, as long as
    // nothing else follows, and the number of its stretches, which lie beside it.
    const std::vector<RunPassage::Waits>& put(const Segment& first, const Run& run, std::uint32_t bytes) {
        passage_.clear();
        direction_->transmit(run, bytes, passage_);
        for (const Stretch& come : passage_.arrive) put({first.number + come.place, come.arrivals}, first);
        return passage_.waits;
    }
    void put(const Stretch& come, const Segment& first) {
        settlement_->leave(first.block, come.arrivals.count);
        in_runs_ += come.arrivals.count;
        Segment* last = under_way_.empty() ? nullptr : &under_way_[under_way_.end() - 1];
        if (last == nullptr || !last->run || last->block != first.block) {
            last = &under_way_.push_back(first);
            last->run = 1;
            last->number = 0;
            ++runs_;
        }
        Stretch* const before = last->number == 0 ? nullptr : &stretches_[stretches_.end() - 1];
        if (before == nullptr || before->place + before->arrivals.count != come.place ||
            !before->arrivals.append(come.arrivals)) {
            stretches_.push_back(come);
            ++last->number;
        }
        last->arrive_ns = come.arrivals.last();
        if (under_way_.size() == 1) arrivals_.set(head_, last->arrive_ns);
    }
    void pop() {
        under_way_.pop_front();
        arrivals_.set(head_, under_way_.empty() ? kNever : under_way_.front().arrive_ns);
    }
    // Its ranges are there already.
    void arrive(const Segment& segment, Time at) {
        if (under_way_.empty()) arrivals_.set(head_, at);
        under_way_.push_back(segment).arrive_ns = at;
    }

    // What is between two nodes, in the order of sending; of what was lost on the way the place stays until a later one arrives.
    struct Beyond : Carrier {
        Beyond(Way& of, const Link& path, bool up)
            : way(&of),
              network(path.network),
              entry(path.network->add(*this, path.number, up)) {}
        void enter(const Segment& segment, Time at, std::uint32_t bytes, const Range* ranges, std::size_t count) {
            network->enter(entry, at, static_cast<std::uint32_t>(segments.end()), bytes,
                           segment.of_layer() ? network->layer_of(segment.block, 0) : std::uint8_t{0});
            segments.push_back(segment);
            if (way->log_ != nullptr) rows.push_back(way->log_->last());
            for (std::size_t i = 0; i < count; ++i) beside.push_back(ranges[i]);
            ++under_way;
        }
        void arrives(std::uint32_t number, Time at) override {
            const std::int64_t place = widen(segments.begin(), number);
            while (segments.begin() < place) take(nullptr);
            const Segment segment = take(&way->beside_);
            way->arrive(segment, at);
            --under_way;
        }
        void is_lost(std::uint32_t number) override {
            const Segment& segment = segments[widen(segments.begin(), number)];
            if (way->log_ != nullptr) way->log_->is_lost(rows[widen(rows.begin(), number)]);
            --under_way;
            if (segment.data()) way->settlement_->arrive(segment.block);
        }
        // The first of them, and the ranges beside it.
        Segment take(BlockRing<Range>* to) {
            const Segment segment = segments.front();
            segments.pop_front();
            if (way->log_ != nullptr) rows.pop_front();
            for (std::uint32_t i = 0; i < segment.ranges(); ++i) {
                if (to != nullptr) to->push_back(beside.front());
                beside.pop_front();
            }
            return segment;
        }

        Way* way;
        Network* network;
        std::uint32_t entry;
        BlockRing<Segment> segments;
        BlockRing<Range> beside;
        BlockRing<std::int64_t> rows;  // of the log, where there is one
        std::int64_t under_way = 0;
    };

    Direction* direction_;
    std::unique_ptr<Beyond> beyond_;  // points here: a way stays where it is made
    BlockRing<Segment> under_way_;
    BlockRing<Range> beside_;
    BlockRing<Stretch> stretches_;
    std::int64_t runs_ = 0, in_runs_ = 0;  // records that are runs, segments in them
    RunPassage passage_;                   // of the run at hand
    QuickHeads arrivals_;
    std::size_t head_;
    Settlement* settlement_;
    PacketLog* log_ = nullptr;
    Logging logging_;
};

}  // namespace dstcc
