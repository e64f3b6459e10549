// One trial of `ltp` on real sockets: the simulator's own two ends (dstcc/engine/src/ltp), with segments of RFC 5326 in UDP
// datagrams between them. Both hosts are in one process, which looks at its sockets and timers every tick and sleeps in between;
// what happened since the last look is told to the ends in its order and with its own times, so that only the datagrams
// themselves leave up to a tick late. The ends' plan allows for that: light takes a tick longer, and nothing is begun in the
// tick before an outage.
//
//   ltp PLAN           writes the plan's `result`: a line of JSON, then rows of the layers, samples and, where ltp is coded,
//                      matrices and the layers' places in them; and what of each layer is acknowledged and begun, where that
//                      is asked
#include "earth.hpp"
#include "link/stall.hpp"
#include "ltp/outcomes.hpp"
#include "../coded/trial.hpp"

namespace ltp {

namespace {

using coded::Failure;
using dstcc::kNever;
using Timers = dstcc::TimerTree;
using Quick = dstcc::GroupedTree<4>;

// A link as the ends plan with it, who may be a tick late.
dstcc::LinkConfig planned(dstcc::LinkConfig link, Time tick) {
    for (auto* delays : {&link.delay_ns, &link.first_delay_ns})
        for (Time& delay : *delays) delay += tick;
    for (auto* outages : {&link.outages_ns, &link.up_outages_ns})
        for (auto& outage : *outages) outage.first = std::max<Time>(outage.first - tick, 0);
    return link;
}

class Trial {
public:
    explicit Trial(const Plan& plan)
        : plan_(plan),
          config_(plan.engine),
          links_(config_.links.size()),
          blocks_(config_.transport, config_.objects),
          payloads_(plan.payloads),
          queues_(plan.queues),
          craft_(plan, blocks_, headers_, payloads_),
          earth_(plan, blocks_, check(), whole()),
          sent_(config_.objects.size()),
          came_(config_.objects.size()),
          sending_(config_.transport, config_.coding, blocks_, headers_, dstcc::QuickHeads(sending_lines_, 0),
                   dstcc::Timers(sending_timers_, 0), sent_),
          receiving_(config_.coding, config_.seed, blocks_, earth_.headers(), dstcc::QuickHeads(receiving_lines_, 0),
                     dstcc::Timers(receiving_timers_, 0), came_) {
        sampler_.resize(links_);
        if (coded()) headers_.of_block.assign(config_.objects.size(), -1);
        sent_.tell(&news_);
        came_.tell(&news_);
        plans_.reserve(links_);  // they are pointed at
        const std::uint32_t full = blocks_.full_bytes();
        std::int32_t subflow = 0;
        for (std::size_t l = 0; l < links_; ++l) {
            const dstcc::LinkConfig path = planned(config_.links[l], plan.tick);
            plans_.emplace_back(path, config_.transport.header_bytes);
            const dstcc::PathPlans::Ends ends = path_plans_.of(path, plans_[l], full, dstcc::paths_from(config_, l));
            sending_.add({craft_.way(l), *ends.down, full, blocks_.told_bps(l), ends.sharers}, ends.clock,
                         static_cast<std::int16_t>(subflow));
            receiving_.add({earth_.way(l), *ends.up, full, 0}, ends.clock);
            subflow_.push_back(subflow);
            subflow += config_.links[l].subflows;
        }
        sending_timers_.set(release_head(), config_.objects.release_ns[0]);
        sending_timers_.set(slot_head(), config_.slot_ns);
    }

    void run() {
        start_ = coded::Start();
        start_.announce();
        end_ = coded::look(start_, plan_.tick, config_.duration_ns, [this](Time now) {
            earth_.see(queues_);
            on_earth(now);
            craft_.see(queues_);
            on_craft(now);
            return over(now);
        });
        if (end_ % config_.slot_ns != 0) take_samples(end_);
        sending_.check();
        if (craft_.lost() + earth_.lost() > 0) throw Failure("datagrams came faster than they were looked at");
    }
    void write() const;

private:
    bool coded() const { return config_.coding.block_ns > 0; }
    std::size_t release_head() const { return links_; }
    std::size_t slot_head() const { return links_ + 1; }

    // Every byte that came is held against what was sent.
    Earth::Check check() {
        return [this](std::uint32_t block, std::uint64_t offset, const std::uint8_t* bytes, std::size_t size) {
            coded::hold(plan_, payloads_, block, offset, bytes, size);
        };
    }
    Earth::Whole whole() {
        return [this](std::uint32_t block, const Bytes& bytes) {
            coded::keep_received(plan_, block, bytes.data(), bytes.size());
        };
    }

    // By socket: a link, and whether it is that of the matrices.
    template <class End>
    auto come(End& end, Time now) {
        std::vector<std::pair<std::size_t, bool>> all;
        for (std::size_t l = 0; l < links_; ++l)
            for (const bool below : {false, true}) all.emplace_back(l, below);
        return coded::arrived(all, start_.realtime, now, [&](const auto& from) -> const std::vector<Datagram>& {
            return end.receive(from.first, from.second);
        });
    }

    void on_earth(Time look) {
        for (const auto& one : come(earth_, look)) {
            earth_until(one.at - 1);
            earth_now_ = std::max(earth_now_, one.at);
            earth_.handle(earth_now_, one.from.first, one.datagram(), one.from.second, receiving_);
        }
        earth_until(look);
    }
    // At one instant lines go before timers, as in the simulator.
    void earth_until(Time until) {
        for (;;) {
            const bool line = receiving_lines_.time() <= receiving_timers_.time();
            const Time next = line ? receiving_lines_.time() : receiving_timers_.time();
            if (next > until) return;
            earth_now_ = std::max(earth_now_, next);
            if (line)
                receiving_.handle_line(earth_now_, receiving_lines_.head());
            else
                receiving_.handle_timer(earth_now_, receiving_timers_.head());
        }
    }

    void on_craft(Time look) {
        for (const auto& one : come(craft_, look)) {
            craft_until(one.at - 1);
            craft_now_ = std::max(craft_now_, one.at);
            if (const auto heard = craft_.read(one.datagram(), one.from.second))
                sending_.handle_segment(craft_now_, one.from.first, heard->segment, heard->claims);
        }
        craft_until(look);
    }
    void craft_until(Time until) {
        for (;;) {
            const bool line = sending_lines_.time() <= sending_timers_.time();
            const Time next = line ? sending_lines_.time() : sending_timers_.time();
            if (next > until) return;
            craft_now_ = std::max(craft_now_, next);
            const std::size_t head = line ? sending_lines_.head() : sending_timers_.head();
            if (line)
                sending_.handle_line(craft_now_, head);
            else if (head < links_)
                on_timer(head);
            else if (head == release_head())
                sending_timers_.set(head, sending_.handle_release(craft_now_));
            else
                on_slot();
        }
    }
    // That a matrix is over both ends know.
    void on_timer(std::size_t link) {
        sending_.handle_timer(craft_now_, link);
        for (const std::int64_t matrix : sending_.ended()) {
            earth_now_ = std::max(earth_now_, craft_now_);
            earth_.handle_matrix_over(earth_now_, link, matrix, receiving_);
            headers_[matrix].parts = {};
            craft_.forget(matrix);
        }
    }
    void on_slot() {
        sending_.handle_slot(craft_now_);
        take_samples(craft_now_);
        sending_timers_.set(slot_head(), craft_now_ + config_.slot_ns);
    }
    void take_samples(Time now) {
        for (std::size_t l = 0; l < links_; ++l) sampler_.take(now, l, subflow_[l], sending_.sample(now, l));
    }

    // As the simulator's, but that nobody sees what is under way: what left has had the time to arrive.
    bool over(Time now) {
        for (const dstcc::Settlement::News& news : news_) {
            std::uint8_t& of = settled_.emplace(news.layer, 0).first->second;
            of |= news.what == dstcc::Settlement::News::kComplete ? kComplete : kDone;
        }
        news_.clear();
        if (now >= config_.duration_ns) return true;
        const std::size_t count = config_.objects.size();
        if (settled_.size() == count) {
            bool complete = true;
            for (const auto& [block, how] : settled_) complete = complete && (how & kComplete) != 0;
            if (complete || now > craft_.last_arrival(plans_) + 2 * plan_.tick) return true;
        }
        if (plan_.stall == kNever || sending_.released() < count) return false;
        const Time dark = dstcc::dark_until(config_, now);
        const Time since =
            std::max({receiving_.last_delivery_ns(), config_.objects.release_ns.back(), dark, config_.begin_ns});
        return config_.duration_ns == kNever && now - since > plan_.stall;
    }

    dstcc::ObjectOutcome object(std::size_t block) const {
        const auto how = settled_.find(static_cast<std::uint32_t>(block));
        return dstcc::object_outcome(sending_, receiving_, block, how != settled_.end() && how->second == kDone);
    }

    static constexpr std::uint8_t kComplete = 1, kDone = 2;
    const Plan& plan_;
    const dstcc::EngineConfig& config_;
    std::size_t links_;
    dstcc::LtpBlocks blocks_;
    dstcc::MatrixHeaders headers_;  // the spacecraft's own
    transfer::Payloads payloads_;
    links::Queues queues_;
    Craft craft_;
    Earth earth_;
    dstcc::Settlement sent_, came_;  // each end's
    std::vector<dstcc::Settlement::News> news_;
    std::map<std::uint32_t, std::uint8_t> settled_;  // by block: what was said of it
    Quick sending_lines_{plan_.engine.links.size()}, receiving_lines_{plan_.engine.links.size()};
    Timers sending_timers_{plan_.engine.links.size() + 2}, receiving_timers_{plan_.engine.links.size()};
    std::vector<dstcc::ContactPlan> plans_;
    dstcc::PathPlans path_plans_{links_};
    dstcc::LtpSendingEnd sending_;
    dstcc::LtpReceivingEnd receiving_;
    std::vector<std::int32_t> subflow_;
    dstcc::Sampler sampler_;
    coded::Start start_;
    Time craft_now_ = 0, earth_now_ = 0, end_ = 0;
};

void Trial::write() const {
    dstcc::TransportStats stats;
    dstcc::add_totals(sending_, receiving_, stats);
    stats.sent_wire_bytes = stats.sent_payload_bytes +
                            config_.transport.header_bytes * (sending_.data_packets() + sending_.control_packets());
    stats.dropped_queue_packets = craft_.dropped();
    const std::size_t objects = config_.objects.size(), matrices = coded() ? sending_.matrices().size() : 0;
    coded::Result result(plan_, stats, sampler_.rows(), end_);
    result.number("first_send_ns", sending_.first_send_ns());
    result.number("last_delivery_ns", receiving_.last_delivery_ns());
    result.number("checked_payload_bytes", earth_.checked_bytes());
    result.number("refused_packets", earth_.refused().total() + craft_.refused().total());
    if (coded()) {
        result.number("blocks", static_cast<std::int64_t>(matrices));
        result.number("missing", 0);
        result.number("block_peak_bytes", earth_.peak_bytes());
        result.number("decoder_peak_bytes", earth_.matrices_peak_bytes());
        result.number("encoder_peak_bytes", craft_.peak_bytes());
    }
    const auto outcome = [this](std::size_t i) { return object(i); };
    result.layers_and(sampler_.rows(), outcome);
    for (std::size_t m = 0; m < matrices; ++m) result.block(matrix_outcome(sending_, receiving_, headers_, m));
    for (std::size_t i = 0; coded() && i < objects; ++i)
        result.row({headers_.of_block[i], receiving_.blocks()[i].recovered});
    result.end(outcome);
}

}  // namespace

}  // namespace ltp

int main(int argc, char** argv) { return coded::run<ltp::Trial>("ltp", argc, argv); }
