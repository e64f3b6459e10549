// One trial of `coded` on real sockets: the simulator's own two ends (dstcc/engine/src/coding), with datagrams between them. Both
// hosts are in one process, which looks at its sockets and timers every tick and sleeps in between; what happened since the last
// look is told to the ends in its order and with its own times, so that only the datagrams themselves leave up to a tick late.
//
//   coded PLAN         writes the plan's `result`: a line of JSON, then rows of the layers' parts, samples, blocks, parts by block,
//                      packets that did not arrive, and what of each part is acknowledged and begun, where that is asked
#include <numeric>
#include <optional>
#include <sstream>

#include "coding/outcomes.hpp"
#include "coding/sender_view.hpp"
#include "coding/setup.hpp"
#include "controller.hpp"
#include "link/stall.hpp"
#include "craft.hpp"
#include "earth.hpp"
#include "trial.hpp"

namespace coded {

namespace {

using dstcc::kNever;

constexpr Time kPatience = 100;  // a share of a slot

class Trial {
public:
    explicit Trial(const Plan& plan)
        : plan_(plan),
          config_(plan.engine),
          subflows_(plan.paths.size()),
          path_plans_(config_.links.size()),
          map_(config_.objects, config_.coding),
          headers_(map_.blocks(), config_.objects.size()),
          payloads_(plan.payloads),
          queues_(plan.queues),
          sending_timers_(2 * subflows_ + 2),
          receiving_timers_(subflows_),
          craft_(plan, map_, headers_, payloads_),
          earth_(plan, map_, checks(), dstcc::Timers(receiving_timers_, 0)),
          sending_({config_.transport, config_.objects, config_.coding, config_.begin_ns, config_.planned_end()}, map_,
                   headers_, dstcc::Timers(sending_timers_, 0), dstcc::Timers(sending_timers_, subflows_)) {
        sampler_.resize(subflows_);
        plans_.reserve(config_.links.size());  // they are pointed at
        const auto full = static_cast<std::uint32_t>(config_.transport.mss_bytes + config_.transport.header_bytes);
        for (const dstcc::LinkConfig& link : config_.links) {
            plans_.emplace_back(link, config_.transport.header_bytes);
            ends_.push_back(path_plans_.of(link, plans_.back(), full, 1));
        }
        for (std::size_t s = 0; s < subflows_; ++s) add_subflow(plan.paths[s].link);
        for (const Time deadline : config_.objects.deadline_ns) last_deadline_ = std::max(last_deadline_, deadline);
        sending_timers_.set(release_head(), config_.objects.release_ns[0]);
        sending_timers_.set(slot_head(), config_.slot_ns);
        if (plan.steer_out >= 0) let_steer(plan.steer_in, plan.steer_out);
    }

    void run() {
        start_ = Start();
        start_.announce();
        sending_.begin();
        steer(0);
        end_ = look(start_, plan_.tick, config_.duration_ns, [this](Time now) {
            earth_.see(queues_);
            on_earth(now);
            craft_.see(queues_);
            on_craft(now);
            return over(now);
        });
        if (end_ % config_.slot_ns != 0) dstcc::take_samples(end_, sending_, sampler_);
        sending_.check();
        if (craft_.lost() + earth_.lost() > 0) throw Failure("datagrams came faster than they were looked at");
    }
    void write() const;

private:
    std::size_t release_head() const { return 2 * subflows_; }
    std::size_t slot_head() const { return 2 * subflows_ + 1; }

    // Every part that is there is held against what was encoded.
    Store::Check checks() {
        return [this](std::uint32_t object, const std::uint8_t* bytes, std::size_t size) {
            for (std::size_t at = 0; at < size; at += transfer::Payloads::kStretch)
                hold(plan_, payloads_, object, at, bytes + at,
                     std::min<std::size_t>(size - at, transfer::Payloads::kStretch));
            keep_received(plan_, object, bytes, size);
        };
    }

    void add_subflow(std::size_t link) {
        const dstcc::LinkConfig& on = config_.links[link];
        const double bits = 8.0 * config_.transport.header_bytes;
        const auto answer = static_cast<Time>(bits / on.up_rate_bps * dstcc::kNsPerS + 0.5);
        sending_.add(
            {dstcc::make_flight(config_, link, sending_.subflows(), sending_.siblings(), craft_.slot_ns(link), answer),
             dstcc::Transmitter(craft_, link), &plans_[link], ends_[link].clock, link,
             dstcc::first_place(config_, link)});
        earth_.add(sending_.subflow(sending_.subflows() - 1).flight.wants_reports(), *ends_[link].up);
    }

    // By socket: a link, or a subflow.
    template <class End>
    std::vector<Arrived<std::size_t>> come(End& end, std::size_t sockets, Time now) {
        std::vector<std::size_t> all(sockets);
        std::iota(all.begin(), all.end(), 0);
        return arrived(all, start_.realtime, now,
                       [&](std::size_t i) -> const std::vector<Datagram>& { return end.receive(i); });
    }

    void on_earth(Time look) {
        const auto timers = [&](Time until) {
            while (receiving_timers_.time() <= until) {
                earth_now_ = std::max(earth_now_, receiving_timers_.time());
                earth_.handle_timer(earth_now_, receiving_timers_.head());
            }
        };
        for (const auto& one : come(earth_, config_.links.size(), look)) {
            timers(one.at);
            earth_now_ = std::max(earth_now_, one.at);
            earth_.handle(earth_now_, one.from, one.datagram());
        }
        timers(look);
    }

    void on_craft(Time look) {
        for (const auto& one : come(craft_, subflows_, look)) {
            timers(one.at);
            craft_now_ = std::max(craft_now_, one.at);
            const auto heard =
                read_heard(craft_.sent(), config_.coding.asked.size(), one.bytes.data(), one.bytes.size(), refused_);
            if (!heard) continue;
            if (heard->kind == Kind::kAnswer)
                sending_.handle_established(craft_now_, heard->subflow, std::min(heard->echo, craft_now_));
            else {
                if (!heard->there.empty()) sending_.handle_answer(craft_now_, heard->subflow, heard->there);
                sending_.handle_ack(craft_now_, heard->subflow, heard->ack);
            }
        }
        timers(look);
    }

    void timers(Time until) {
        while (sending_timers_.time() <= until) {
            craft_now_ = std::max(craft_now_, sending_timers_.time());
            const std::size_t head = sending_timers_.head();
            if (head < subflows_)
                sending_.handle_timer(craft_now_, head);
            else if (head < release_head())
                sending_.handle_pace(craft_now_, head - subflows_);
            else if (head == release_head())
                sending_timers_.set(head, sending_.handle_release(craft_now_));
            else
                on_slot();
        }
    }

    void on_slot() {
        sending_.handle_slot(craft_now_);
        dstcc::take_samples(craft_now_, sending_, sampler_);
        sending_timers_.set(slot_head(), craft_now_ + config_.slot_ns);
        earth_.forget(craft_now_ - config_.coding.block_ns);  // a block longer, for what still waits in a queue
        for (; forgotten_ < map_.blocks() && done_with(forgotten_); ++forgotten_) craft_.forget(forgotten_);
        steer(craft_now_);
    }
    void let_steer(int in, int out) {
        view_.emplace(config_.objects, map_, sending_);
        // No longer than a sleep between looks, or than a slot's datagrams leave room for in a socket's buffer.
        controller_.emplace(in, out, map_.layers(), std::max<Time>(plan_.tick, config_.slot_ns / kPatience));
    }
    // As CodedEpisode::step(): what is decided holds for the slot that begins.
    void steer(Time now) {
        if (!controller_ || controller_->gone()) return;
        view_->end_slot(now);
        const std::optional<dstcc::CodedAction> action = controller_->ask(seen(now));
        view_->begin_slot();
        sending_.forget_times();
        if (action) sending_.steer(now, *action);
    }
    std::string seen(Time now) const {
        std::ostringstream line;
        line.precision(17);
        line << dstcc::seconds_or_never(now);
        double values[std::max(dstcc::kCodedSubflowValues.size(), dstcc::kSenderLayerValues.size())];
        const auto put = [&](std::size_t count) {
            for (std::size_t i = 0; i < count; ++i) line << ' ' << values[i];
        };
        for (std::size_t s = 0; s < subflows_; ++s) {
            view_->subflow(s, values);
            put(dstcc::kCodedSubflowValues.size());
        }
        for (std::size_t m = 0; m < map_.layers(); ++m) {
            view_->layer(m, values);
            put(dstcc::kSenderLayerValues.size());
        }
        return line.str();
    }
    bool done_with(std::uint32_t block) const { return map_.size(block) == 0 || sending_.blocks()[block].over; }

    // As the simulator's Coded::finished(), but that packets in flight are not seen: what left has had the time to arrive.
    bool over(Time now) const {
        const dstcc::CodedReceivingEnd& receiving = earth_.receiving();
        if (now >= config_.duration_ns || receiving.complete() == config_.objects.size()) return true;
        const bool late = config_.transport.drop_late && now >= last_deadline_;
        if ((sending_.done() || late) && now > craft_.last_arrival(plans_) + 2 * plan_.tick) return true;
        if (plan_.stall == kNever || sending_.released() < config_.objects.size()) return false;
        const Time dark = dstcc::dark_until(config_, now);
        const Time since = std::max({receiving.last_delivery_ns(), dark, config_.begin_ns});
        return config_.duration_ns == kNever && now - since > plan_.stall;
    }

    const Plan& plan_;
    const dstcc::EngineConfig& config_;
    std::size_t subflows_;
    dstcc::PathPlans path_plans_;
    std::vector<dstcc::PathPlans::Ends> ends_;  // by link
    dstcc::BlockMap map_;
    dstcc::BlockHeaders headers_;
    transfer::Payloads payloads_;
    links::Queues queues_;
    dstcc::TimerTree sending_timers_, receiving_timers_;
    Craft craft_;
    Earth earth_;
    std::vector<dstcc::ContactPlan> plans_;
    dstcc::CodedSendingEnd sending_;
    dstcc::Sampler sampler_;
    std::optional<dstcc::SenderView> view_;  // where somebody steers
    std::optional<Controller> controller_;
    Refused refused_;  // by the spacecraft
    std::uint32_t forgotten_ = 0;
    Start start_;
    Time last_deadline_ = -1, craft_now_ = 0, earth_now_ = 0, end_ = 0;
};

void Trial::write() const {
    const dstcc::CodedReceivingEnd& receiving = earth_.receiving();
    const auto missing = earth_.missing(craft_.sent());
    dstcc::TransportStats stats;
    dstcc::add_totals(sending_, receiving, stats);
    stats.sent_wire_bytes = stats.sent_payload_bytes + config_.transport.header_bytes * dstcc::packets_of(sending_);
    stats.dropped_queue_packets = craft_.dropped();
    Result result(plan_, stats, sampler_.rows(), end_);
    result.number("blocks", static_cast<std::int64_t>(map_.blocks()));
    result.number("missing", static_cast<std::int64_t>(missing.size()));
    result.number("checked_payload_bytes", earth_.store().checked_bytes());
    result.number("missing_packets", static_cast<std::int64_t>(missing.size()));
    result.number("refused_packets", earth_.refused().total() + refused_.total());
    result.number("block_peak_bytes", earth_.store().block_peak_bytes());
    result.number("decoder_peak_bytes", earth_.store().peak_bytes());
    result.number("encoder_peak_bytes", craft_.peak_bytes());
    result.number("first_send_ns", sending_.first_send_ns());
    result.number("last_delivery_ns", receiving.last_delivery_ns());
    if (controller_) result.number("unusable_answers", controller_->unusable());
    const auto outcome = [&](std::size_t i) { return dstcc::object_outcome(sending_, receiving, i); };
    result.layers_and(sampler_.rows(), outcome);
    for (std::size_t b = 0; b < map_.blocks(); ++b)
        result.block(dstcc::block_outcome(sending_, receiving, map_, headers_, b));
    for (std::uint32_t i = 0; i < config_.objects.size(); ++i)
        result.row({map_.block_of(i), receiving.parts()[i].recovered});
    for (const auto& [subflow, packet] : missing) result.row({subflow, packet});
    result.end(outcome);
}

}  // namespace

}  // namespace coded

int main(int argc, char** argv) { return coded::run<coded::Trial>("coded", argc, argv); }
