#include "ltp/ltp.hpp"

#include "ltp/outcomes.hpp"

namespace dstcc {

namespace {

constexpr bool is_up(const DownSegment&) { return false; }
constexpr bool is_up(const UpSegment&) { return true; }
constexpr int kLoggedBesides = 8;  // beside a kind: a green layer's, or one that waited

}  // namespace

// ----------------------------------------------------------------------------------------------------- setting up

HeadCounts Ltp::heads(const EngineConfig& config) {
    HeadCounts counts;
    counts.sending = counts.receiving = 2 * config.links.size();
    counts.timers = counts.answers = config.links.size();
    return counts;
}

Ltp::Ltp(const EngineConfig& config, std::vector<Link>& links, const std::vector<ContactPlan>& plans,
         const Places& places)
    : config_(config),
      blocks_(config.transport, config.objects),
      arrivals_(places.receiving),
      settlement_(config.objects.size()),
      path_plans_(links.size()),
      sending_(config.transport, config.coding, blocks_, headers_, places.sending.from(links.size()), places.timers,
               settlement_),
      receiving_(config.coding, config.seed, blocks_, headers_, places.receiving.from(links.size()), places.answers,
                 settlement_) {
    const std::uint32_t full = blocks_.full_bytes();
    sampler_.resize(links.size());
    if (coding()) headers_.of_block.assign(config.objects.size(), -1);
    down_.reserve(links.size());  // these are pointed at
    up_.reserve(links.size());
    std::int32_t subflow = 0;
    for (std::size_t l = 0; l < links.size(); ++l) {
        down_.emplace_back(links[l].down, l, places.receiving, settlement_);
        up_.emplace_back(links[l].up, l, places.sending, settlement_);
        const bool over_nodes = links[l].network != nullptr;
        if (over_nodes) {
            down_.back().go_over(links[l], false);
            up_.back().go_over(links[l], true);
        }
        const PathPlans::Ends ends = path_plans_.of(config.links[l], plans[l], full, paths_from(config, l));
        const LinkConfig& link = config.links[l];
        const bool alone =
            runs_allowed() && !config.trace && !over_nodes && link.flows.empty() && link.cross_traffic.empty();
        sending_.add(
            {down_[l], *ends.down, full, blocks_.told_bps(l), ends.sharers, alone ? links[l].down.least_delay() : 0},
            ends.clock, static_cast<std::int16_t>(subflow));
        receiving_.add({up_[l], *ends.up, full, 0}, ends.clock);
        subflow_.push_back(subflow);
        subflow += config.links[l].subflows;
    }
}

void Ltp::begin(PacketLog* log) {
    log_ = log;
    if (log == nullptr) return;
    const auto logging = [this](auto& way, std::size_t l) {
        way.log(*log_, [this, l](Time now, const auto& segment, const Range* beside, std::size_t ranges,
                                 Direction::Passage passage) {
            log_->segment_sent(now, is_up(segment), static_cast<std::size_t>(subflow_[l]),
                               logged(segment, beside, ranges), passage);
        });
    };
    for (std::size_t l = 0; l < down_.size(); ++l) {
        logging(down_[l], l);
        logging(up_[l], l);
    }
}

// --------------------------------------------------------------------------------------------- what passes between them

// A checkpoint's serial; of a segment of a matrix, and of a repair segment, the matrix; the scope that a checkpoint asks about.
PacketLog::Segment Ltp::logged(const DownSegment& segment, const Range* beside, std::size_t ranges) const {
    const bool green = segment.data() && !blocks_.red(segment.block);
    PacketLog::Segment log{static_cast<std::int8_t>(segment.kind | (green ? kLoggedBesides : 0)),
                           segment.number,
                           static_cast<std::int64_t>(segment.block),
                           -1,
                           0,
                           static_cast<std::int32_t>(segment.checkpoint),
                           {beside, beside + ranges}};
    if (segment.data()) log.bytes = static_cast<std::int32_t>(blocks_.segment_bytes(segment.block, segment.number));
    if (segment.kind == DownSegment::kMember) log.order = headers_.of_block[segment.block];
    if (segment.kind == DownSegment::kParity) {
        log.object = -1;
        log.order = segment.number;
        log.bytes =
            static_cast<std::int32_t>(sending_.matrices()[static_cast<std::size_t>(segment.number)].symbol_bytes);
    }
    return log;
}

// A report's serial, that of the checkpoint that it answers, its scope and its claims; of feedback the matrix, and what came of it.
PacketLog::Segment Ltp::logged(const UpSegment& segment, const Range* beside, std::size_t ranges) {
    const bool feedback = segment.kind == UpSegment::kFeedback;
    PacketLog::Segment log{static_cast<std::int8_t>(segment.kind | (segment.waited ? kLoggedBesides : 0)),
                           feedback ? segment.begin : segment.serial,
                           feedback ? -1 : static_cast<std::int64_t>(segment.block),
                           feedback ? static_cast<std::int64_t>(segment.block) : -1,
                           0,
                           static_cast<std::int32_t>(segment.checkpoint),
                           {}};
    if (segment.kind == UpSegment::kReport) log.named.push_back({segment.begin, segment.end});
    log.named.insert(log.named.end(), beside, beside + ranges);
    return log;
}

template <class Segment>
void Ltp::log_arrival(Time at, std::size_t l, const Segment& segment) {
    if (log_ == nullptr) return;
    log_->segment_arrived(at, is_up(segment), static_cast<std::size_t>(subflow_[l]),
                          logged(segment, beside_.data(), beside_.size()));
}

Time Ltp::receive(Time at, std::size_t head) {
    const std::size_t links = down_.size();
    if (head < links && down_[head].run_next()) {
        take_arrived(at, head);
        forget();
    } else if (head < links) {
        const DownSegment segment = down_[head].take(beside_);
        log_arrival(at, head, segment);
        if (!receiving_.off(at, head)) receiving_.handle_segment(at, head, segment, beside_);
        if (segment.data()) settlement_.arrive(segment.block);
        forget();
    } else {
        receiving_.handle_line(at, head - links);
    }
    return arrivals_.at(head);
}

void Ltp::handle_quick(Time now, std::size_t head) {
    const std::size_t links = up_.size();
    if (head < links) {
        const UpSegment segment = up_[head].take(beside_);
        log_arrival(now, head, segment);
        if (!sending_.off(now)) sending_.handle_segment(now, head, segment, beside_);
    } else {
        sending_.handle_line(now, head - links);
    }
    forget();
}

// That a matrix is over both ends know at once.
void Ltp::handle_timer(Time now, std::size_t l) {
    sending_.handle_timer(now, l);
    for (const std::int64_t matrix : sending_.ended()) {
        receiving_.handle_matrix_over(now, l, matrix);
        headers_[matrix].parts = {};
    }
    forget();
}

Time Ltp::handle_release(Time now) {
    const Time next = sending_.handle_release(now);
    forget();
    return next;
}

void Ltp::lose(const std::vector<std::uint32_t>& layers) {
    sending_.lose(layers);
    forget();
}

void Ltp::lose_beyond(std::size_t l, const std::vector<std::uint32_t>& layers) {
    receiving_.lose(l, layers);
    forget();
}

void Ltp::take_arrived(Time at, std::size_t l) {
    down_[l].take_arrived(
        at, [&](const DownSegment& of, const Stretch& stretch) { receiving_.handle_run(l, of, stretch); });
}

// Somebody looks at what there is by then; with all settled no run is under way.
void Ltp::judge(Time now) {
    if (finished()) return;
    sending_.send_until(now);
    for (std::size_t l = 0; l < down_.size(); ++l) take_arrived(now, l);
}

// Over which it went last.
void Ltp::handle_slot(Time now) {
    sending_.handle_slot(now);
    forget();
    judge(now);
    for (std::size_t l = 0; l < down_.size(); ++l) sampler_.take(now, l, subflow_[l], sending_.sample(now, l));
}

// What is kept of a layer of which nothing is to come any more.
void Ltp::forget() {
    for (const std::uint32_t block : settlement_.over_) receiving_.forget(block);
    settlement_.over_.clear();
}

// ------------------------------------------------------------------------------------------------------ bookkeeping

void Ltp::check() const {
    sending_.check();
    DSTCC_CHECK(receiving_.delivered_payload() <= receiving_.arrived_payload() + receiving_.recovered_payload() &&
                    receiving_.arrived_payload() + receiving_.duplicate_payload() <=
                        sending_.new_payload() + sending_.repeated_payload(),
                "bytes are conserved");
}

void Ltp::check_layers() const {
    std::int64_t delivered = 0;
    for (const BlockParts& block : receiving_.blocks()) delivered += block.delivered_bytes;
    DSTCC_CHECK(delivered == receiving_.delivered_payload(), "bytes are conserved");
}

ObjectOutcome Ltp::object(std::size_t object) const {
    return object_outcome(sending_, receiving_, object, settlement_.layers_[object].given_up);
}

BlockOutcome Ltp::block(std::size_t matrix) const { return matrix_outcome(sending_, receiving_, headers_, matrix); }

void Ltp::add_to(TransportStats& stats) const {
    stats.engine_peak_bytes = sending_.peak_bytes() + receiving_.peak_bytes();
    for (const Way<DownSegment>& way : down_) stats.engine_peak_bytes += way.peak_bytes();
    for (const Way<UpSegment>& way : up_) stats.engine_peak_bytes += way.peak_bytes();
    stats.run_packets = sending_.packets_in_runs();
    add_totals(sending_, receiving_, stats);
}

template class Trial<Ltp>;

}  // namespace dstcc
