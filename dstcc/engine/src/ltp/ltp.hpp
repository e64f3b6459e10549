// ltp: a transfer without TCP, after the Licklider Transmission Protocol (RFC 5326), in virtual time: one trial.
//
//   block      a layer of a chunk: one session, on one link, segments of mss bytes at the rate that the contact plan has then,
//              no window, no handshake
//   red        the last segment is a checkpoint; the receiver answers it with reports of what came (deferred, not per segment);
//              gaps are sent again and end in a new checkpoint that asks about the same stretch
//   green      sent once, handed up as it comes, never repeated
//   timer      departure -> fit(departure + light) + light + margin,   margin = 2 (a full segment down + one up);
//              fit() passes over the other end's known outages: the suspended timers of RFC 5326 sections 6.5 and 6.6
//   limit      a checkpoint, report or cancellation unanswered `retry_limit` times cancels the session (RLEXC)
//
// This is the event loop. It owns the two ends, the links and the clock, and carries segments between the ends; neither knows the
// other. ltp/sending_end.hpp says what is sent, ltp/receiving_end.hpp what becomes of it.
#pragma once

#include <map>

#include "core/outcome.hpp"
#include "link/traffic.hpp"
#include "ltp/receiving_end.hpp"
#include "ltp/sending_end.hpp"

namespace dstcc {

class Ltp {
public:
    explicit Ltp(const EngineConfig& config);
    Ltp(const Ltp&) = delete;  // its parts point at each other
    Ltp& operator=(const Ltp&) = delete;
    // As Simulation::run_until().
    bool run_until(Time until, bool (*interrupted)());

    const EngineConfig& config() const { return config_; }
    ObjectOutcome object(std::size_t object) const;
    const SampleColumns& samples() const { return samples_; }
    Time now() const { return now_; }
    std::map<std::string, double> totals() const;
    bool coding() const { return config_.coding.block_ns > 0; }
    static constexpr bool has_states() { return true; }  // blocks say what their rule went by
    std::size_t blocks() const { return headers_.matrices.size(); }
    BlockOutcome block(std::size_t matrix) const;
    std::int64_t block_of(std::size_t object) const { return headers_.of_block[object]; }  // its matrix; -1: none
    bool recovered(std::size_t object) const { return receiving_.blocks()[object].recovered; }

private:
    struct CrossSource {
        TrafficSource traffic;
        std::size_t link;
    };

    // Quick heads: what arrives at either end, then the lines that come free. Idle heads: either end's timers, the source, the
    // sampler, others' traffic.
    std::size_t head_release() const { return 2 * config_.links.size(); }
    std::size_t head_slot() const { return head_release() + 1; }
    std::size_t head_cross(std::size_t i) const { return head_release() + 2 + i; }
    void on_quick_head(std::size_t head);
    void on_idle_head(std::size_t head);
    void on_data(std::size_t l);
    void on_answer(std::size_t l);
    void on_sending_timer(std::size_t l);
    void on_slot();
    void on_cross(std::size_t i);
    void sample();
    void check() const;
    bool silent_for_good() const;

    EngineConfig config_;
    LtpBlocks blocks_;
    EventHeads heads_;
    Time now_ = 0;
    MatrixHeaders headers_;
    Settlement settlement_;
    std::vector<ContactPlan> plans_;
    std::vector<Way<DownSegment>> down_;
    std::vector<Way<UpSegment>> up_;
    LtpSendingEnd sending_;
    LtpReceivingEnd receiving_;
    std::vector<CrossSource> cross_;
    std::vector<std::int32_t> subflow_;           // by link: its first, in the numbering of the samples
    std::vector<LtpSendingEnd::Counts> sampled_;  // by link, as of the last sample
    SampleColumns samples_;
    std::vector<Range> beside_;  // the segment at hand
    std::int64_t cross_packets_ = 0, events_ = 0;
    bool over_ = false;
};

}  // namespace dstcc
