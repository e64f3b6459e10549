#include "ltp/ltp.hpp"

#include <limits>

#include "core/stall.hpp"

namespace dstcc {

namespace {

constexpr unsigned kInterruptMask = (1u << 16) - 1;  // poll for Ctrl-C every so many events

std::size_t cross_sources(const EngineConfig& config) {
    std::size_t sources = 0;
    for (const LinkConfig& link : config.links) sources += link.cross_traffic.size();
    return sources;
}

}  // namespace

Ltp::Ltp(const EngineConfig& config)
    : config_(config),
      blocks_(config_.transport, config_.objects),
      heads_(4 * config.links.size(), 2 * config.links.size() + 2 + cross_sources(config)),
      settlement_(config.objects.size()),
      sending_(config_.transport, config_.coding, blocks_, headers_, {heads_.quick(), 2 * config.links.size()},
               {heads_.timers(), 0}, settlement_),
      receiving_(config_.coding, config_.seed, blocks_, headers_, {heads_.quick(), 3 * config.links.size()},
                 {heads_.timers(), config.links.size()}, settlement_),
      sampled_(config.links.size()) {
    const std::size_t links = config_.links.size();
    const std::uint32_t full = blocks_.full_bytes();
    if (coding()) headers_.of_block.assign(config_.objects.size(), -1);
    plans_.reserve(links);  // these are pointed at
    down_.reserve(links);
    up_.reserve(links);
    std::int32_t subflow = 0;
    for (std::size_t l = 0; l < links; ++l) {
        const LinkConfig& link = config_.links[l];
        const ContactPlan& plan = plans_.emplace_back(link, config_.transport.header_bytes);
        down_.emplace_back(link, false, config_.seed, l, full, QuickHeads(heads_.quick(), 0), settlement_);
        up_.emplace_back(link, true, config_.seed, l, full, QuickHeads(heads_.quick(), links), settlement_);
        const AnswerClock clock(plan, full);
        sending_.add({down_[l], plan.down(), full, blocks_.told_bps(l)}, clock, static_cast<std::int16_t>(subflow));
        receiving_.add({up_[l], plan.up(), full, 0}, clock);
        subflow_.push_back(subflow);
        subflow += link.subflows;
        for (std::size_t k = 0; k < link.cross_traffic.size(); ++k)
            cross_.push_back({TrafficSource(link.cross_traffic[k], config_.seed, l, k), l});
    }
    for (std::size_t i = 0; i < cross_.size(); ++i) heads_.set_idle(head_cross(i), cross_[i].traffic.start());
    if (config_.objects.size() > 0) heads_.set_idle(head_release(), config_.objects.release_ns[0]);
    heads_.set_idle(head_slot(), config_.slot_ns);
}

bool Ltp::run_until(Time until, bool (*interrupted)()) {
    const Time end = std::min(until, config_.duration_ns);
    const EventTree &quick = heads_.busy(), &idle = heads_.idle();
    over_ = over_ || settlement_.open_ == 0;
    while (!over_) {
        const bool busy = quick.time() <= idle.time();
        const EventTree& next = busy ? quick : idle;
        if (next.time() > end) break;
        DSTCC_CHECK(next.time() >= now_, "time never goes back");
        now_ = next.time();
        busy ? on_quick_head(next.head()) : on_idle_head(next.head());
        for (const std::uint32_t block : settlement_.over_) receiving_.forget(block);
        settlement_.over_.clear();
        over_ = over_ || settlement_.open_ == 0;
        if ((++events_ & kInterruptMask) == 0 && interrupted != nullptr && interrupted()) over_ = true;
    }
    if (!over_ && end < kNever) now_ = end;
    if (now_ >= config_.duration_ns) over_ = true;
    check();
    return !over_;
}

void Ltp::on_quick_head(std::size_t head) {
    const std::size_t links = config_.links.size();
    if (head < links) return on_data(head);
    if (head < 2 * links) return on_answer(head - links);
    if (head < 3 * links) return sending_.handle_line(now_, head - 2 * links);
    receiving_.handle_line(now_, head - 3 * links);
}

void Ltp::on_idle_head(std::size_t head) {
    const std::size_t links = config_.links.size();
    if (head < links) return on_sending_timer(head);
    if (head < 2 * links) return receiving_.handle_timer(now_, head - links);
    if (head == head_release()) return heads_.set_idle(head, sending_.handle_release(now_));
    if (head == head_slot()) return on_slot();
    on_cross(head - head_cross(0));
}

void Ltp::on_data(std::size_t l) {
    const DownSegment segment = down_[l].take(beside_);
    receiving_.handle_segment(now_, l, segment, beside_);
    if (segment.data()) settlement_.arrive(segment.block);
}

void Ltp::on_answer(std::size_t l) {
    const UpSegment segment = up_[l].take(beside_);
    sending_.handle_segment(now_, l, segment, beside_);
}

// That a matrix is over both ends know at once.
void Ltp::on_sending_timer(std::size_t l) {
    sending_.handle_timer(now_, l);
    for (const std::int64_t matrix : sending_.ended()) {
        receiving_.handle_matrix_over(now_, l, matrix);
        headers_[matrix].parts = {};
    }
}

void Ltp::on_slot() {
    sending_.handle_slot(now_);
    sample();
    check();
    over_ = over_ || silent_for_good();
    heads_.set_idle(head_slot(), now_ + config_.slot_ns);
}

void Ltp::sample() {
    SampleColumns& out = samples_;
    for (std::size_t l = 0; l < sampled_.size(); ++l) {
        const LtpSendingEnd::Counts &counts = sending_.counts(l), &before = sampled_[l];
        out.t_ns.push_back(now_);
        out.subflow.push_back(subflow_[l]);
        out.cwnd.push_back(0);  // there is no window
        out.inflight.push_back(counts.in_flight);
        out.srtt_ns.push_back(counts.last_rtt_ns);
        out.min_rtt_ns.push_back(counts.min_rtt_ns);
        out.sent.push_back(counts.sent - before.sent);
        out.lost.push_back(counts.lost - before.lost);
        out.retransmitted.push_back(counts.retransmitted - before.retransmitted);
        out.delivered.push_back(counts.delivered_bytes - before.delivered_bytes);
        out.queue.push_back(sending_.line(l).queue_bytes(now_));
        out.pacing_bps.push_back(sending_.line(l).rate_bps(now_));
        sampled_[l] = counts;
    }
}

bool Ltp::silent_for_good() const {
    if (config_.duration_ns != kNever || sending_.released() < config_.objects.size()) return false;
    const Time quiet_since =
        std::max({receiving_.last_delivery_ns(), config_.objects.release_ns.back(), dark_until(config_, now_)});
    return stalled(now_, quiet_since, config_.transport.constants.rto_max, sending_.longest_one_way_ns());
}

void Ltp::on_cross(std::size_t i) {
    CrossSource& source = cross_[i];
    Time next = kNever;
    if (source.traffic.poll(now_, next)) {
        down_[source.link].pass(now_, source.traffic.packet_bytes());
        ++cross_packets_;
    }
    heads_.set_idle(head_cross(i), next);
}

// ------------------------------------------------------------------------------------------------------ bookkeeping

void Ltp::check() const {
    std::int64_t sent = 0;
    for (std::size_t l = 0; l < down_.size(); ++l) {
        const Direction &down = down_[l].direction(), &up = up_[l].direction();
        DSTCC_CHECK(down.sent() >= down.dropped() + down.lost() + down_[l].under_way(), "packets are conserved");
        DSTCC_CHECK(up.sent() >= up.dropped() + up.lost() + up_[l].under_way(), "packets are conserved");
        sent += down.sent();
    }
    sending_.check();
    DSTCC_CHECK(sent == sending_.data_packets() + sending_.control_packets() + cross_packets_,
                "what links carried, somebody sent");
    DSTCC_CHECK(receiving_.delivered_payload() <= receiving_.arrived_payload() + receiving_.recovered_payload() &&
                    receiving_.arrived_payload() + receiving_.duplicate_payload() <=
                        sending_.new_payload() + sending_.repeated_payload(),
                "bytes are conserved");
    if (!over_) return;  // looks at every layer
    std::int64_t delivered = 0;
    for (const BlockParts& block : receiving_.blocks()) delivered += block.delivered_bytes;
    DSTCC_CHECK(delivered == receiving_.delivered_payload(), "bytes are conserved");
}

ObjectOutcome Ltp::object(std::size_t object) const {
    const BlockParts& arrived = receiving_.blocks()[object];
    ObjectOutcome outcome = outcome_of(sending_.layers()[object]);
    outcome.first_arrival_ns = arrived.first_ns;
    outcome.complete_ns = arrived.complete_ns;
    outcome.delivered_bytes = arrived.delivered_bytes;
    outcome.given_up = settlement_.layers_[object].given_up;
    outcome.acknowledged_bytes = sending_.acknowledged(object);
    return outcome;
}

BlockOutcome Ltp::block(std::size_t matrix) const {
    const MatrixSending& sent = sending_.matrices()[matrix];
    const MatrixHeader& header = headers_.matrices[matrix];
    const MatrixArrival& arrived = receiving_.matrix(matrix);
    const bool whole = header.source > 0 && (arrived.members == header.source || arrived.decoded_ns >= 0);
    return {header.source,   header.repair,      sent.planned, header.repair * sent.symbol_bytes,
            arrived.arrived, arrived.decoded_ns, whole,        sent.state};
}

std::map<std::string, double> Ltp::totals() const {
    std::int64_t dropped = 0, lost = 0, bytes = sending_.peak_bytes() + receiving_.peak_bytes();
    for (std::size_t l = 0; l < down_.size(); ++l) {
        dropped += down_[l].direction().dropped();
        lost += down_[l].direction().lost();
        bytes += down_[l].peak_bytes() + up_[l].peak_bytes();
    }
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto seconds = [&](Time at) { return at < 0 ? nan : static_cast<double>(at) / kNsPerS; };
    const std::int64_t sent_payload = sending_.new_payload() + sending_.repeated_payload() + sending_.repair_payload();
    const std::int64_t sent_wire =
        sent_payload + config_.transport.header_bytes * (sending_.data_packets() + sending_.control_packets());
    std::map<std::string, double> out = {
        {"sent_wire_bytes", static_cast<double>(sent_wire)},
        {"sent_payload_bytes", static_cast<double>(sent_payload)},
        {"retransmitted_payload_bytes", static_cast<double>(sending_.repeated_payload())},
        {"arrived_payload_bytes", static_cast<double>(receiving_.arrived_payload())},
        {"delivered_payload_bytes", static_cast<double>(receiving_.delivered_payload())},
        {"duplicate_payload_bytes", static_cast<double>(receiving_.duplicate_payload())},
        {"hol_payload_bytes", static_cast<double>(receiving_.hol_payload())},
        {"hol_wait_byte_s", receiving_.hol_wait_byte_s()},
        {"rtt_sum_s", sending_.rtt_sum_s()},
        {"rtt_samples", static_cast<double>(sending_.rtt_samples())},
        {"queue_p95_s", sending_.waits().quantile(0.95) / kNsPerS},
        {"data_packets", static_cast<double>(sending_.data_packets())},
        {"dropped_queue_packets", static_cast<double>(dropped)},
        {"lost_channel_packets", static_cast<double>(lost)},
        {"timeouts", static_cast<double>(sending_.timeouts() + receiving_.timeouts())},
        {"events", static_cast<double>(events_)},
        {"engine_peak_bytes", static_cast<double>(bytes)},
        {"reorder_peak_bytes", 0.0},
        {"first_send_s", seconds(sending_.first_send_ns())},
        {"last_delivery_s", seconds(receiving_.last_delivery_ns())}};
    if (coding()) {
        out["repair_payload_bytes"] = static_cast<double>(sending_.repair_payload());
        out["recovered_payload_bytes"] = static_cast<double>(receiving_.recovered_payload());
    }
    return out;
}

}  // namespace dstcc
