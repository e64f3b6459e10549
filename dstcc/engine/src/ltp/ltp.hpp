// ltp: a transfer without TCP, after the Licklider Transmission Protocol (RFC 5326): both ends.
//
//   block      a layer of a chunk: one session, on one link, segments of mss bytes at the rate that the contact plan has then,
//              no window, no handshake
//   red        the last segment is a checkpoint; the receiver answers it with reports of what came (deferred, not per segment);
//              gaps are sent again and end in a new checkpoint that asks about the same stretch
//   green      sent once, handed up as it comes, never repeated
//   timer      departure -> fit(departure + light) + light + margin,   margin = 2 (a full segment down + one up);
//              fit() passes over the other end's known outages: the suspended timers of RFC 5326 sections 6.5 and 6.6
//   run        of segments that nothing distinguishes is one record, which is put on its way and taken off it by need, at the latest
//              when the last of it arrives: each has the time that it would have alone (core/run.hpp). Where others send on a
//              link, a node is on it or all is logged, each segment is by itself
//   limit      a checkpoint, report or cancellation unanswered `retry_limit` times cancels the session (RLEXC)
//
// ltp/sending_end.hpp says what is sent, ltp/receiving_end.hpp what becomes of it; here is what is under way between them.
#pragma once

#include "ltp/receiving_end.hpp"
#include "ltp/sending_end.hpp"
#include "sim/trial.hpp"

namespace dstcc {

// As sim/trial.hpp would have it. Quick heads of either end: what arrives by link, then the lines that come free.
class Ltp {
public:
    static HeadCounts heads(const EngineConfig& config);
    Ltp(const EngineConfig& config, std::vector<Link>& links, const std::vector<ContactPlan>& plans,
        const Places& places);
    Ltp(const Ltp&) = delete;  // its parts point at each other
    Ltp& operator=(const Ltp&) = delete;
    void begin(PacketLog* log);

    void handle_quick(Time now, std::size_t head);
    void handle_timer(Time now, std::size_t l);
    void handle_pace(Time, std::size_t) {}
    Time handle_release(Time now);
    void handle_slot(Time now);
    void handle_last(Time) {}
    Time receive(Time at, std::size_t head);
    void handle_answer_timer(Time at, std::size_t l) { receiving_.handle_timer(at, l); }

    static constexpr bool kAhead = false;  // whether a layer is given up depends on what is under way
    static constexpr bool kRuns = false;
    bool finished() const { return settlement_.open_ == 0; }
    static constexpr Time open_until() { return -1; }
    void judge(Time now);
    bool rests() const { return false; }

    // --- at nodes that take custody (sim/hop_by_hop.hpp)
    void capture_nothing() { sending_.capture_nothing(); }
    void go_on(std::size_t l, Keeper* keeper, const Onward& onward) {
        receiving_.keep(l, keeper);
        sending_.go_on(l, onward);
    }
    void handle_custody(Time now, std::uint32_t layer) { sending_.handle_custody(now, layer); }
    // The node of the sending end restarts; that of the receiving end of a link.
    void turn_off(Time now, Time until) { sending_.turn_off(now, until); }
    void turn_off_beyond(Time now, std::size_t l, Time until) { receiving_.turn_off(now, l, until); }
    void lose(const std::vector<std::uint32_t>& layers);
    void lose_beyond(std::size_t l, const std::vector<std::uint32_t>& layers);
    std::size_t link_of(std::uint32_t layer) const { return receiving_.link_of(layer); }
    Settlement& settlement() { return settlement_; }
    const Settlement& settlement() const { return settlement_; }

    std::size_t released() const { return sending_.released(); }
    Time quiet_since() const { return std::max(receiving_.last_delivery_ns(), config_.objects.release_ns.back()); }
    Time longest_one_way_ns() const { return sending_.longest_one_way_ns(); }
    const SampleColumns& samples() const { return sampler_.rows(); }
    ObjectOutcome object(std::size_t object) const;
    void add_to(TransportStats& stats) const;
    std::int64_t bytes() const { return 0; }  // add_to() has the most of each kind of record
    std::int64_t packets() const { return sending_.data_packets() + sending_.control_packets(); }
    std::int64_t data_under_way(std::size_t link) const { return down_[link].under_way(); }
    std::int64_t acks_under_way(std::size_t link) const { return up_[link].under_way(); }
    void check() const;
    void check_layers() const;

    bool coding() const { return config_.coding.block_ns > 0; }
    static constexpr bool has_states() { return true; }  // blocks say what their rule went by
    std::size_t blocks() const { return headers_.matrices.size(); }
    BlockOutcome block(std::size_t matrix) const;
    std::int64_t block_of(std::size_t object) const { return headers_.of_block[object]; }  // its matrix; -1: none
    bool recovered(std::size_t object) const { return receiving_.blocks()[object].recovered; }

private:
    PacketLog::Segment logged(const DownSegment& segment, const Range* beside, std::size_t ranges) const;
    static PacketLog::Segment logged(const UpSegment& segment, const Range* beside, std::size_t ranges);
    template <class Segment>
    void log_arrival(Time at, std::size_t l, const Segment& segment);
    void take_arrived(Time at, std::size_t l);
    void forget();

    const EngineConfig& config_;
    LtpBlocks blocks_;
    QuickHeads arrivals_;
    MatrixHeaders headers_;
    Settlement settlement_;
    PathPlans path_plans_;
    std::vector<Way<DownSegment>> down_;
    std::vector<Way<UpSegment>> up_;
    LtpSendingEnd sending_;
    LtpReceivingEnd receiving_;
    std::vector<std::int32_t> subflow_;  // by link: its first, in the numbering of the samples
    Sampler sampler_;                    // of links
    std::vector<Range> beside_;          // the segment at hand
    PacketLog* log_ = nullptr;
};

extern template class Trial<Ltp>;

}  // namespace dstcc
