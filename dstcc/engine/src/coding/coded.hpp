// One trial of `coded` in virtual time: the event loop. It owns the two ends, the links and the clock, and carries packets between
// the ends; neither knows the other. Layers are coded over packets: coding/blocks.hpp says how, coding/sending_end.hpp what is
// sent, coding/receiving_end.hpp what is brought back.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "coding/outcomes.hpp"
#include "core/events.hpp"
#include "link/traffic.hpp"
#include "link/wire.hpp"

namespace dstcc {

class Coded {
public:
    explicit Coded(const EngineConfig& config);
    Coded(const Coded&) = delete;  // its parts point at each other
    Coded& operator=(const Coded&) = delete;
    // As Simulation::run_until().
    bool run_until(Time until, bool (*interrupted)());

    // Decisions that hold from now on.
    void steer(const CodedAction& action) { sending_.steer(now_, action); }
    // What was heard is looked at.
    void forget_times() { sending_.forget_times(); }

    const CodedSendingEnd& sending() const { return sending_; }
    const CodedReceivingEnd& receiving() const { return receiving_; }
    const BlockMap& map() const { return map_; }
    bool over() const { return over_; }
    bool finished() const;
    const EngineConfig& config() const { return config_; }
    ObjectOutcome object(std::size_t object) const { return object_outcome(sending_, receiving_, object); }
    static constexpr bool coding() { return true; }
    static constexpr bool has_states() { return false; }
    std::size_t blocks() const { return map_.blocks(); }
    std::uint32_t block_of(std::size_t object) const { return map_.block_of(static_cast<std::uint32_t>(object)); }
    bool recovered(std::size_t object) const { return receiving_.parts()[object].recovered; }
    BlockOutcome block(std::size_t block) const { return block_outcome(sending_, receiving_, map_, headers_, block); }
    const SampleColumns& samples() const { return samples_.rows(); }
    Time now() const { return now_; }
    std::map<std::string, double> totals() const;

private:
    struct CrossSource {
        TrafficSource traffic;
        std::size_t link;
    };
    // idle heads of the sending end
    std::size_t idle_pace(std::size_t subflow) const { return subflows_ + subflow; }
    std::size_t idle_release() const { return 2 * subflows_; }
    std::size_t idle_slot() const { return idle_release() + 1; }
    std::size_t idle_source(std::size_t i) const { return idle_release() + 2 + i; }

    void add_subflow(std::size_t link);
    void on_data(std::size_t link);
    void on_ack(std::size_t link);
    void on_idle(std::size_t head);
    void on_slot();
    void on_source(std::size_t i);
    bool silent_for_good() const;
    std::int64_t bytes() const;
    void check() const;

    EngineConfig config_;
    std::uint32_t wire_bytes_;
    std::size_t subflows_;
    EventHeads sending_heads_, receiving_heads_;
    Time now_ = 0, last_deadline_ns_ = -1;
    BlockMap map_;
    BlockHeaders headers_;
    std::vector<Wire> wires_;
    std::vector<ContactPlan> plans_;
    std::vector<AckRanges> ranges_;  // by subflow
    CodedSendingEnd sending_;
    CodedReceivingEnd receiving_;
    std::vector<CrossSource> cross_;
    CodedSampler samples_;
    std::int64_t events_ = 0, cross_packets_ = 0, peak_bytes_ = 0;
    bool over_ = false;
};

}  // namespace dstcc
