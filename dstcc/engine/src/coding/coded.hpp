// Layers coded over packets: the two ends of `coded`, and what is under way between them. coding/blocks.hpp says how layers are coded,
// coding/sending_end.hpp what is sent, coding/receiving_end.hpp what is brought back.
#pragma once

#include "coding/outcomes.hpp"
#include "sim/trial.hpp"

namespace dstcc {

// As sim/trial.hpp would have it.
class Coded {
public:
    static HeadCounts heads(const EngineConfig& config);
    Coded(const EngineConfig& config, std::vector<Link>& links, const std::vector<ContactPlan>& plans,
          const Places& places);
    Coded(const Coded&) = delete;  // its parts point at each other
    Coded& operator=(const Coded&) = delete;
    void begin(PacketLog* log);

    void handle_quick(Time now, std::size_t link) { hear(now, link); }
    void handle_timer(Time now, std::size_t head);
    void handle_pace(Time now, std::size_t s);  // among its timers
    Time handle_release(Time now) { return sending_.handle_release(now); }
    void handle_slot(Time now);
    void handle_last(Time) {}
    Time receive(Time at, std::size_t link);
    void handle_answer_timer(Time at, std::size_t s) { receiving_.handle_timer(at, s); }

    static constexpr bool kAhead = true;
    // Whether it is over depends on both ends.
    Time apart_until() const { return open_until(); }
    static constexpr bool kRuns = true;
    void run_on(Time until);
    Time take_until(Time& to);
    bool finished() const { return finished_; }
    Time open_until() const {
        if (sending_.released() == config_.objects.size()) return open_ns_;
        return std::min(config_.objects.release_ns.back(), config_.transport.drop_late ? last_deadline_ns_ : kNever) -
               1;
    }
    void judge(Time now);
    bool rests() const { return false; }

    std::size_t released() const { return sending_.released(); }
    Time quiet_since() const { return receiving_.last_delivery_ns(); }
    Time longest_one_way_ns() const { return sending_.longest_one_way_ns(); }
    const SampleColumns& samples() const { return sampler_.rows(); }
    ObjectOutcome object(std::size_t object) const { return object_outcome(sending_, receiving_, object); }
    void add_to(TransportStats& stats) const { add_totals(sending_, receiving_, stats); }
    std::int64_t bytes() const;
    std::int64_t packets() const { return packets_of(sending_); }
    std::int64_t data_under_way(std::size_t link) const { return wires_[link].data_under_way(); }
    std::int64_t acks_under_way(std::size_t link) const { return wires_[link].acks_under_way(); }
    void check() const;
    void check_layers() const;

    CodedSendingEnd& sending() { return sending_; }  // for who steers it
    const CodedSendingEnd& sending() const { return sending_; }
    const CodedReceivingEnd& receiving() const { return receiving_; }
    const BlockMap& map() const { return map_; }
    static constexpr bool coding() { return true; }
    static constexpr bool has_states() { return false; }
    std::size_t blocks() const { return map_.blocks(); }
    std::uint32_t block_of(std::size_t object) const { return map_.block_of(static_cast<std::uint32_t>(object)); }
    bool recovered(std::size_t object) const { return receiving_.parts()[object].recovered; }
    BlockOutcome block(std::size_t block) const { return block_outcome(sending_, receiving_, map_, headers_, block); }

private:
    static constexpr std::int64_t kAtOnce = 1024;  // packets of a link
    static constexpr std::int64_t kRest = 64;      // likewise, of all: so few may be the last that come
    bool hear(Time now, std::size_t link);
    std::int64_t lacking() const;
    void look_at_rest(Time now);
    bool counts_only(std::size_t link, const DataPacket& first, const PacketRun& run) const;
    Time counts_until(Time now, Time until) const;
    void count(Time until);
    bool count_alike(Time until);
    void add(std::size_t link, const Link& on, const ContactPlan& plan, const PathPlans::Ends& ends);

    const EngineConfig& config_;
    QuickHeads arrivals_, answers_;
    Timers timers_, ack_timers_;
    bool runs_;
    bool sends_first_;               // over one subflow a link, as long as what comes back is only counted
    std::vector<Time> round_trips_;  // by link: no answer is quicker
    Time last_deadline_ns_ = -1, least_down_ns_ = kNever;
    Time open_ns_ = -1;  // of open_until(), once all was released
    bool looks_at_rest_ = true;
    BlockMap map_;
    BlockHeaders headers_;
    std::vector<Wire> wires_;
    std::vector<AckRanges> ranges_;  // by subflow
    PathPlans path_plans_;
    struct Alike {
        Run times;
        std::int64_t first = 0, each = 0;  // packets that the first acknowledges, and each of the others
    };
    std::vector<Alike> alike_;            // by link: the ACKs at hand
    CodedSendingEnd::Answered answered_;  // asked where sends go first
    CodedSendingEnd sending_;
    CodedReceivingEnd receiving_;
    Sampler sampler_;
    PacketLog* log_ = nullptr;
    bool finished_ = false;
};

extern template class Trial<Coded>;

}  // namespace dstcc
