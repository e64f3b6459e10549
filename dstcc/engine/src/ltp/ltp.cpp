#include "ltp/ltp.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

namespace dstcc {

namespace {

constexpr double kMostLayers = 1 << 20, kMostRetries = 1 << 20;

constexpr unsigned kInterruptMask = (1u << 16) - 1;  // poll for Ctrl-C every so many events
constexpr std::int64_t kMostSegments = INT32_MAX;    // of a block: no block is near it, and sums of them fit anything

std::size_t cross_sources(const EngineConfig& config) {
    std::size_t sources = 0;
    for (const LinkConfig& link : config.links) sources += link.cross_traffic.size();
    return sources;
}

}  // namespace

Ltp::Ltp(const EngineConfig& config)
    : config_(config),
      full_bytes_(static_cast<std::uint32_t>(config.transport.mss_bytes + config.transport.header_bytes)),
      control_bytes_(static_cast<std::uint32_t>(config.transport.header_bytes)),
      tree_(4 * config.links.size(), config.links.size() + 2 + cross_sources(config)),
      outcomes_(config.objects.size()),
      unsettled_(config.objects.size()),
      pending_(config_.transport.layer_first) {
    const TransportConfig& transport = config_.transport;
    const auto given = transport.parameters.find(kTransferLtp);
    const Parameters* const parameters = given == transport.parameters.end() ? nullptr : &given->second;
    const std::vector<double>& rates_bps = values_of(parameters, kLtpRate);
    const double green = value_of(parameters, kLtpGreenFrom, kMostLayers);
    const double limit = value_of(parameters, kLtpRetryLimit, 20);
    if (!(green >= 0 && green <= kMostLayers)) throw std::invalid_argument("ltp: green_from_layer must be 0 to 2^20");
    if (!(limit >= 0 && limit <= kMostRetries)) throw std::invalid_argument("ltp: retry_limit must be 0 to 2^20");
    green_from_layer_ = static_cast<std::int32_t>(green);
    retry_limit_ = static_cast<std::uint32_t>(limit);
    coding_ = config_.coding.block_ns > 0;
    if (coding_) {
        matrix_of_.assign(config_.objects.size(), -1);
        recovered_.assign(config_.objects.size(), 0);
    }
    std::int32_t subflow = 0;
    for (std::size_t l = 0; l < config_.links.size(); ++l) {
        const LinkConfig& link = config_.links[l];
        LinkState state;
        state.subflow = subflow;
        subflow += link.subflows;
        const double told = l < rates_bps.size() ? rates_bps[l] : 0;
        state.down = Line(link, false, config_.seed, l, full_bytes_, told);
        state.up = Line(link, true, config_.seed, l, full_bytes_, 0);
        state.bound = LayerQueue(transport.layer_first);
        if (coding_) state.rule.emplace(config_.coding);
        links_.push_back(std::move(state));
        for (std::size_t k = 0; k < link.cross_traffic.size(); ++k)
            cross_.push_back({TrafficSource(link.cross_traffic[k], config_.seed, l, k), l});
    }
    refresh_delays();
    for (const Time deadline : config_.objects.deadline_ns)
        deadlines_ = deadlines_ || (transport.drop_late && deadline != kNever);
    for (const std::int64_t payload : config_.objects.payload_bytes)
        DSTCC_CHECK(payload / transport.mss_bytes < kMostSegments, "a block has fewer than 2^31 segments");
    for (std::size_t i = 0; i < cross_.size(); ++i) tree_.set(head_cross(i), cross_[i].traffic.start());
    if (unsettled_ > 0) tree_.set(head_release(), config_.objects.release_ns[0]);
    tree_.set(head_slot(), config_.slot_ns);
}

bool Ltp::run_until(Time until, bool (*interrupted)()) {
    const Time end = std::min(until, config_.duration_ns);
    over_ = over_ || unsettled_ == 0;
    while (!over_) {
        const bool busy = tree_.busy().time() <= tree_.idle().time();
        const EventTree& next = busy ? tree_.busy() : tree_.idle();
        if (next.time() > end) break;
        DSTCC_CHECK(next.time() >= now_, "time never goes back");
        now_ = next.time();
        if (busy)
            on_busy_head(next.head());
        else
            on_idle_head(next.head());
        if ((++events_ & kInterruptMask) == 0 && interrupted != nullptr && interrupted()) over_ = true;
    }
    if (!over_ && end < kNever) now_ = end;
    if (now_ >= config_.duration_ns) over_ = true;
    check_conservation();
    return !over_;
}

// What arrives at either end, then the lines that come free.
void Ltp::on_busy_head(std::size_t head) {
    const std::size_t links = links_.size();
    if (head < links) return handle_down(head);
    if (head < 2 * links) return handle_answer(head - links);
    if (head < 3 * links) return serve(head - 2 * links);
    serve_answers(head - 3 * links);
}

// A link's timers; then the source, the sampler, the cross traffic.
void Ltp::on_idle_head(std::size_t head) {
    if (head < links_.size()) return on_timer(head);
    head -= links_.size();
    if (head == 0) return on_release();
    if (head == 1) return on_slot();
    on_cross(head - 2);
}

// --------------------------------------------------------------------------------------------------------- timers

// When the answer to what departed is due: the other end may have to wait for its line to be lit again.
Time Ltp::answer_by(std::size_t l, const Line& far, Time departed) const {
    const Direction& path = links_[l].down.direction();  // light takes as long both ways
    const Time answered = far.fit_bytes(departed + path.delay_lookup(departed), full_bytes_);
    return answered + path.delay_lookup(answered) + margin(l, departed, answered);
}

// The answer may wait for a full segment on the line and be one itself; as much again for what nobody foresaw.
Time Ltp::margin(std::size_t l, Time departed, Time answered) const {
    return 2 * (links_[l].down.full_service_ns(departed) + links_[l].up.full_service_ns(answered));
}

void Ltp::set_timer(std::size_t l, Clock clock, std::uint32_t slot, std::uint32_t serial, Time at) {
    push_timer(l, {at, timers_set_++, slot, sessions_[slot].generation, serial, clock});
}

void Ltp::set_matrix_timer(std::size_t l, Clock clock, std::int64_t matrix, Time at) {
    push_timer(l, {at, timers_set_++, kNoSession, 0, static_cast<std::uint32_t>(matrix), clock});
}

void Ltp::push_timer(std::size_t l, const Timer& timer) {
    links_[l].timers.push(timer);
    if (timer.at < tree_.at(head_timer(l))) tree_.set(head_timer(l), timer.at);
}

void Ltp::on_timer(std::size_t l) {
    auto& timers = links_[l].timers;
    while (!timers.empty() && timers.top().at <= now_) {
        const Timer timer = timers.top();
        timers.pop();
        if (timer.clock == Clock::kMatrix)
            matrix_expired(l, timer.serial);
        else if (timer.clock == Clock::kMatrixOver)
            end_matrix(l, timer.serial);
        else if (sessions_[timer.session].generation == timer.generation)
            on_expiry(l, timer);
    }
    tree_.set(head_timer(l), timers.empty() ? kNever : timers.top().at);
}

// A timer that was answered, or set anew, stays in the queue until here.
void Ltp::on_expiry(std::size_t l, const Timer& timer) {
    Session& session = sessions_[timer.session];
    switch (timer.clock) {
        case Clock::kCheckpoint:
            return checkpoint_expired(l, timer.session, timer.serial, timer.at);
        case Clock::kReport:
            return report_expired(l, timer.session, timer.serial, timer.at);
        case Clock::kCancel:
            if (session.phase != Session::Phase::kCancelling || session.cancel_expires_ns != timer.at) return;
            ++expired_;
            if (session.cancels <= retry_limit_) return control(l, Kind::kCancel, timer.session, 0);
            session.phase = Session::Phase::kClosed;
            break;
        case Clock::kRefusal:
            if (!session.refusing || session.refusal_expires_ns != timer.at) return;
            ++expired_;
            if (session.refusals <= retry_limit_) return answer(l, Kind::kRefusal, timer.session, 0);
            session.refusing = false;
            break;
        case Clock::kGreenEnd:
            if (session.phase == Session::Phase::kSending) abandon(timer.session, Session::Phase::kClosed);
            return;
        default:  // a matrix's
            return;
    }
    release_if_over(timer.session);
}

// ----------------------------------------------------------------------------------------- source, samples, others

void Ltp::on_release() {
    const auto& release = config_.objects.release_ns;
    while (released_ < release.size() && release[released_] <= now_) {
        const auto object = static_cast<std::uint32_t>(released_++);
        pending_.push_back(object, config_.objects.layer[object]);
    }
    tree_.set(head_release(), released_ < release.size() ? release[released_] : kNever);
    for (std::size_t l = 0; l < links_.size(); ++l) wake(l);
}

void Ltp::on_slot() {
    refresh_delays();
    drop_expired();
    for (std::size_t l = 0; l < links_.size(); ++l) {
        LinkState& link = links_[l];
        SampleColumns& out = samples_;
        out.t_ns.push_back(now_);
        out.subflow.push_back(link.subflow);
        out.cwnd.push_back(0);  // there is no window
        out.inflight.push_back(link.in_flight);
        out.srtt_ns.push_back(link.last_rtt_ns);
        out.min_rtt_ns.push_back(link.min_rtt_ns);
        out.sent.push_back(link.slot_sent);
        out.lost.push_back(link.slot_lost);
        out.retransmitted.push_back(link.slot_retransmitted);
        out.delivered.push_back(link.slot_delivered);
        out.queue.push_back(link.down.direction().queue_bytes(now_));
        out.pacing_bps.push_back(link.down.rate_bps(now_));
        link.slot_sent = link.slot_lost = link.slot_retransmitted = link.slot_delivered = 0;
        wake(l);  // what has been put off may have become urgent, or hopeless
    }
    check_conservation();
    over_ = over_ || silent_for_good();
    tree_.set(head_slot(), now_ + config_.slot_ns);
}

bool Ltp::silent_for_good() const {
    if (config_.duration_ns != kNever || released_ < outcomes_.size()) return false;
    const Time quiet_since =
        std::max({last_delivery_ns_, config_.objects.release_ns.back(), dark_until(config_, now_)});
    Time one_way = 0;
    for (const LinkState& link : links_) one_way = std::max(one_way, link.one_way_ns);
    return stalled(now_, quiet_since, config_.transport.constants.rto_max, one_way);
}

void Ltp::on_cross(std::size_t i) {
    CrossSource& source = cross_[i];
    Time next = kNever;
    if (source.traffic.poll(now_, next)) {
        links_[source.link].down.direction().transmit(now_, source.traffic.packet_bytes());
        ++cross_packets_;
    }
    tree_.set(head_cross(i), next);
}

// ------------------------------------------------------------------------------------------------------ bookkeeping

void Ltp::refresh_delays() {
    for (LinkState& link : links_) link.one_way_ns = link.down.direction().delay_lookup(now_);
}

void Ltp::settle() {
    DSTCC_CHECK(unsettled_ > 0, "a layer is settled once");
    over_ = --unsettled_ == 0;
}

void Ltp::complete(std::uint32_t object) {
    ObjectOutcome& outcome = outcomes_[object];
    DSTCC_CHECK(outcome.delivered_bytes == config_.objects.payload_bytes[object] && outcome.complete_ns < 0 &&
                    !outcome.given_up,
                "bytes are delivered once");
    outcome.complete_ns = now_;
    settle();
}

void Ltp::give_up(std::uint32_t object) {
    outcomes_[object].given_up = true;
    settle();
}

// A session without a future may still be completed by what is in flight.
void Ltp::settle_if_lost(const Session& session) {
    const ObjectOutcome& outcome = outcomes_[session.object];
    if (session.abandoned && session.flying == 0 && outcome.complete_ns < 0 && !outcome.given_up)
        give_up(session.object);
}

void Ltp::drop_name(std::uint32_t slot) {
    Session& session = sessions_[slot];
    DSTCC_CHECK(session.named > 0, "a session outlives what names it");
    --session.named;
    release_if_over(slot);
}

void Ltp::release_if_over(std::uint32_t slot) {
    const Session& session = sessions_[slot];
    if (session.phase == Session::Phase::kClosed && session.named == 0 && session.reports.empty() && !session.refusing)
        sessions_.close(slot);
}

void Ltp::check_conservation() const {
    std::int64_t sent = 0;
    for (const LinkState& link : links_) {
        const Direction &down = link.down.direction(), &up = link.up.direction();
        DSTCC_CHECK(down.sent() >= down.dropped() + down.lost() + link.data.size(), "packets are conserved");
        DSTCC_CHECK(up.sent() >= up.dropped() + up.lost() + link.answers.size(), "packets are conserved");
        sent += down.sent();
        DSTCC_CHECK(link.backlog_bytes >= 0 && link.in_flight >= 0, "what is counted in is counted out once");
    }
    DSTCC_CHECK(sent == data_packets_ + control_packets_ + cross_packets_, "what links carried, somebody sent");
    DSTCC_CHECK(delivered_payload_ <= arrived_payload_ + recovered_payload_ &&
                    arrived_payload_ + duplicate_payload_ <= new_payload_ + repeated_payload_,
                "bytes are conserved");
    std::int64_t delivered = 0;
    if (over_ || now_ >= config_.duration_ns) {
        for (const ObjectOutcome& outcome : outcomes_) delivered += outcome.delivered_bytes;
        DSTCC_CHECK(delivered == delivered_payload_, "bytes are conserved");
    }
}

std::map<std::string, double> Ltp::totals() const {
    double bytes = static_cast<double>(sessions_.peak_bytes());
    std::int64_t dropped = 0, lost = 0;
    for (const LinkState& l : links_) {
        dropped += l.down.direction().dropped();
        lost += l.down.direction().lost();
        bytes += static_cast<double>(l.data.peak_bytes() + l.answers.peak_bytes() + l.claims.peak_bytes());
    }
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto seconds = [&](Time at) { return at < 0 ? nan : static_cast<double>(at) / kNsPerS; };
    const std::int64_t sent_payload = new_payload_ + repeated_payload_ + repair_payload_;
    const std::int64_t sent_wire = sent_payload + config_.transport.header_bytes * (data_packets_ + control_packets_);
    std::map<std::string, double> out = {{"sent_wire_bytes", static_cast<double>(sent_wire)},
                                         {"sent_payload_bytes", static_cast<double>(sent_payload)},
                                         {"retransmitted_payload_bytes", static_cast<double>(repeated_payload_)},
                                         {"arrived_payload_bytes", static_cast<double>(arrived_payload_)},
                                         {"delivered_payload_bytes", static_cast<double>(delivered_payload_)},
                                         {"duplicate_payload_bytes", static_cast<double>(duplicate_payload_)},
                                         {"hol_payload_bytes", static_cast<double>(hol_payload_)},
                                         {"hol_wait_byte_s", hol_wait_byte_s_},
                                         {"rtt_sum_s", rtt_sum_s_},
                                         {"rtt_samples", static_cast<double>(rtt_samples_)},
                                         {"queue_p95_s", waits_.quantile(0.95) / kNsPerS},
                                         {"data_packets", static_cast<double>(data_packets_)},
                                         {"dropped_queue_packets", static_cast<double>(dropped)},
                                         {"lost_channel_packets", static_cast<double>(lost)},
                                         {"timeouts", static_cast<double>(expired_)},
                                         {"events", static_cast<double>(events_)},
                                         {"engine_peak_bytes", bytes},
                                         {"reorder_peak_bytes", 0.0},
                                         {"first_send_s", seconds(first_send_ns_)},
                                         {"last_delivery_s", seconds(last_delivery_ns_)}};
    if (coding_) {
        out["repair_payload_bytes"] = static_cast<double>(repair_payload_);
        out["recovered_payload_bytes"] = static_cast<double>(recovered_payload_);
    }
    return out;
}

}  // namespace dstcc
