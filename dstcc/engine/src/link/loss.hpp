// Loss by service slot: the interface of a loss process, and the table into which each enters itself in its own file.
//
// The draw of a slot is a hash of (seed, link, direction, slot), so nothing is stored per slot and any slot can be asked
// for at once. to_threshold turns a probability into the bound below which a 64-bit draw is a loss.
#pragma once

#include <cmath>
#include <memory>
#include <string>

#include "core/config.hpp"
#include "link/rate_steps.hpp"
#include "link/slot_draws.hpp"
#include "core/registry.hpp"

namespace dstcc {

// Probability 1 saturates (one draw in 2^64 survives it).
inline std::uint64_t to_threshold(double probability) {
    if (probability >= 1.0) return UINT64_MAX;
    return static_cast<std::uint64_t>(std::ldexp(probability, 64));
}

inline constexpr const char* kLossless = "none";
inline constexpr const char* kIndependent = "packet";  // each packet independently, with the same probability
// A code's frames. Those of several bits have a clock of their own (link/frames.hpp); the process here is for single bits.
inline constexpr const char* kFrameLoss = "frames";

inline constexpr const char* kPeriodicLoss = "periodic";  // by count of packets
inline constexpr const char* kScheduledLoss =
    "schedule";  // each packet independently, with a probability that changes over time

// What a process is made with.
struct LossSetup {
    const LossConfig& config;
    Time slot_ns = 0;
    std::uint64_t seed = 0, link = 0, direction = 0;  // of its random streams
    RateSteps steps = {};                             // the line's rate, which Eb/N0 follows

    SlotDraws draws() const { return {seed, link, direction}; }
};

// Each packet is lost with the same probability, whatever its size.
struct ConstantLoss {
    SlotDraws draws;
    std::uint64_t threshold;
    bool lost(std::int64_t slot, std::uint32_t nth) const { return draws.below(slot, nth, threshold); }
    // Of so many slots at equal steps the first whose first packet is lost.
    std::int64_t first_lost(std::int64_t slot, std::int64_t step, std::int64_t count) const {
        return draws.first_below(slot, step, count, threshold);
    }
};

class LossProcess {
public:
    virtual ~LossProcess() = default;
    // Whether the `nth` packet of a slot is lost. Slots must rise.
    virtual bool lost(std::int64_t slot, std::uint32_t nth, std::uint32_t bytes) = 0;
    // The first of [from, to) whose first packet is lost; `to` if none is. As if lost() were asked of each.
    virtual std::int64_t first_lost(std::int64_t from, std::int64_t to, std::uint32_t bytes) {
        while (from < to && !lost(from, 0, bytes)) ++from;
        return from;
    }
    // The same, for somebody who asks in an order of his own.
    virtual std::unique_ptr<LossProcess> clone() const = 0;
    // What it comes to, where that is so much: for those who ask of every packet.
    virtual const ConstantLoss* constant() const { return nullptr; }
};

// A row of the table of loss kinds. A constructor throws std::invalid_argument for numbers that it cannot use.
struct LossEntry {
    const char* name;
    std::unique_ptr<LossProcess> (*make)(const LossSetup&);
};

template <class Process>
std::unique_ptr<LossProcess> make_loss(const LossSetup& setup) {
    return std::make_unique<Process>(setup);
}

// The process of the configuration's kind.
inline std::unique_ptr<LossProcess> make_loss(const LossSetup& setup) {
    const LossEntry* const entry = registered<LossEntry>(setup.config.kind);
    if (entry == nullptr) throw std::invalid_argument("unknown loss kind '" + setup.config.kind + "'");
    return entry->make(setup);
}

// A link direction is copied with its process.
class Losses {
public:
    Losses() = default;
    explicit Losses(const LossSetup& setup) : Losses(make_loss(setup)) {}
    Losses(const Losses& other) : Losses(other.process_ ? other.process_->clone() : nullptr) {}
    Losses(Losses&&) = default;
    Losses& operator=(const Losses& other) { return *this = Losses(other); }
    Losses& operator=(Losses&&) = default;
    bool lost(std::int64_t slot, std::uint32_t nth, std::uint32_t bytes) { return process_->lost(slot, nth, bytes); }
    std::int64_t first_lost(std::int64_t from, std::int64_t to, std::uint32_t bytes) {
        return process_->first_lost(from, to, bytes);
    }
    const ConstantLoss* constant() const { return constant_; }

private:
    explicit Losses(std::unique_ptr<LossProcess> process)
        : process_(std::move(process)),
          constant_(process_ ? process_->constant() : nullptr) {}
    std::unique_ptr<LossProcess> process_;
    const ConstantLoss* constant_ = nullptr;  // the process's
};

}  // namespace dstcc
