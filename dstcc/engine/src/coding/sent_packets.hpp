// The packets of a subflow whose fate is not known, by number: those of which something was said one by one, and behind them runs, each
// one record. Runs are taken apart as far as somebody looks at single packets.
#pragma once

#include "core/base.hpp"
#include "core/ring.hpp"
#include "core/run.hpp"

namespace dstcc {

struct SentPacket {
    Time sent_ns;
    std::uint32_t block, object;  // kNoObject: repair; kNoBlock: a probe
    std::uint16_t bytes;          // payload
    std::uint8_t flags;
};
static_assert(sizeof(SentPacket) == 24, "the memory budget counts on it");

class SentPackets {
public:
    std::int64_t end() const { return runs_.empty() ? apart() : end_; }
    // One beyond the last that stands by itself.
    std::int64_t apart() const { return singles_.end() + in_runs_; }
    SentPacket& operator[](std::int64_t number) { return singles_[number - in_runs_]; }
    const SentPacket& operator[](std::int64_t number) const { return singles_[number - in_runs_]; }
    // The oldest: it may be the first of a run.
    const SentPacket& front() { return singles_.empty() ? runs_.front().first : singles_.front(); }
    Time front_sent_ns() const {
        return singles_.empty() ? runs_[runs_.begin()].first.sent_ns : singles_[singles_.begin()].sent_ns;
    }

    [[gnu::always_inline]] void push_back(const SentPacket& packet) {
        if (__builtin_expect(joins_, 0))
            return join(packet.sent_ns, packet.block, packet.object, packet.bytes, packet.flags, 0, 1);
        singles_.emplace_back() = packet;
    }
    // From now on those that are alike are one record.
    void set_joining() { joins_ = true; }
    void push_run(const SentPacket& first, Time spacing, std::int64_t count) {
        join(first.sent_ns, first.block, first.object, first.bytes, first.flags, spacing, count);
    }
    void pop_front() { singles_.pop_front(); }
    void prefetch_ahead(std::int64_t steps) const { singles_.prefetch_ahead(steps); }
    // Each up to and not including that one by itself.
    void take_apart(std::int64_t to) {
        while (apart() < to) {
            Record& run = runs_.front();
            const std::int64_t count = std::min(run.count, to - apart());
            for (std::int64_t i = 0; i < count; ++i) {
                singles_.push_back(run.first);
                run.first.sent_ns += run.spacing;
            }
            shorten(count);
        }
    }
    // How many follow the oldest that differ from it in nothing but their times, and at what distances.
    struct Alike {
        std::int64_t count;
        Time spacing;
    };
    Alike alike() {
        if (!singles_.empty()) return {1, 0};
        return {runs_.front().count, runs_.front().spacing};
    }
    void pop_alike(std::int64_t count) {
        if (!singles_.empty()) return pop_front();
        in_runs_ += count;
        runs_.front().first.sent_ns += count * runs_.front().spacing;
        shorten(count);
    }
    std::int64_t bytes() const { return singles_.bytes() + runs_.bytes(); }

private:
    struct Record {
        SentPacket first;
        Time spacing;
        std::int64_t count;
    };
    // By value: compared in memory, two fields at once would wait for what has just been written there.
    void join(Time sent_ns, std::uint32_t block, std::uint32_t object, std::uint16_t bytes, std::uint8_t flags,
              Time spacing, std::int64_t count) {
        if (runs_.empty()) end_ = apart();
        end_ += count;
        if (!runs_.empty()) {
            Record& last = runs_.back();
            const SentPacket& first = last.first;
            const Time distance = sent_ns - first.sent_ns - (last.count - 1) * last.spacing;
            if (first.block == block && first.object == object && first.bytes == bytes && first.flags == flags &&
                (last.count == 1 || distance == last.spacing) && (count == 1 || distance == spacing)) {
                last.spacing = distance;
                last.count += count;
                return;
            }
        }
        runs_.push_back({{sent_ns, block, object, bytes, flags}, spacing, count});
    }
    void shorten(std::int64_t by) {
        if ((runs_.front().count -= by) == 0) runs_.pop_front();
    }

    BlockRing<SentPacket> singles_;
    BlockRing<Record> runs_;
    std::int64_t in_runs_ = 0;  // went from there without ever standing by themselves
    std::int64_t end_ = 0;      // where there are runs
    bool joins_ = false;
};

}  // namespace dstcc
