#include "coding/coded.hpp"

#include "coding/setup.hpp"
#include "link/answer_clock.hpp"

namespace dstcc {

namespace {

constexpr std::int64_t kFew = 4;  // of which each by itself costs no more

std::vector<Range> named(const PacketAck& ack) { return {ack.ranges, ack.ranges + ack.count}; }

}  // namespace

// ----------------------------------------------------------------------------------------------------- setting up

HeadCounts Coded::heads(const EngineConfig& config) {
    const std::size_t subflows = count_subflows(config);
    HeadCounts counts;
    counts.sending = counts.receiving = config.links.size();
    counts.timers = 2 * subflows;
    counts.answers = subflows;
    return counts;
}

Coded::Coded(const EngineConfig& config, std::vector<Link>& links, const std::vector<ContactPlan>& plans,
             const Places& places)
    : config_(config),
      arrivals_(places.receiving),
      answers_(places.sending),
      timers_(places.timers),
      ack_timers_(places.answers),
      runs_(runs_allowed()),
      map_(config.objects, config.coding),
      headers_(map_.blocks(), config.objects.size()),
      ranges_(count_subflows(config)),
      path_plans_(links.size()),
      alike_(links.size()),
      answered_([this](std::size_t s, Time at) {
          const auto before = [at](const AckPacket& ack, std::int64_t, const AckRun& run) {
              return Run{ack.arrive_ns, run.spacing, run.count}.until(at - 1);
          };
          return sends_first_ && wires_[s].acks_while(at, before) == at;
      }),
      sending_({config.transport, config.objects, config.coding, config.begin_ns, config.planned_end()}, map_, headers_,
               places.timers, places.timers.from(ranges_.size())),
      receiving_(config.objects, config.coding, config.seed, map_, headers_,
                 static_cast<std::uint32_t>(config.transport.header_bytes), config.transport.constants.delayed_ack,
                 places.answers) {
    wires_.reserve(links.size());  // transmitters point at them
    for (std::size_t l = 0; l < links.size(); ++l) {
        wires_.emplace_back(links[l], l, places.receiving, places.sending);
        wires_.back().script(config.links[l].drops);
        wires_.back().carry_beside({true, true});  // what the newest packet took; the place of the newest range
        least_down_ns_ = std::min(least_down_ns_, links[l].down.least_delay());
        round_trips_.push_back(links[l].down.least_delay() + links[l].up.least_delay());
    }
    const std::uint32_t full = static_cast<std::uint32_t>(config.transport.mss_bytes + config.transport.header_bytes);
    for (std::size_t l = 0; l < links.size(); ++l) {
        const PathPlans::Ends ends = path_plans_.of(config.links[l], plans[l], full, 1);
        for (int k = 0; k < config.links[l].subflows; ++k) add(l, links[l], plans[l], ends);
    }
    sampler_.resize(sending_.subflows());
    for (std::size_t s = 0; s < sending_.subflows(); ++s)
        runs_ = runs_ && sending_.subflow(s).flight.may_be_paced_only();
    for (std::size_t l = 0; l < links.size(); ++l)
        runs_ = runs_ && links[l].network == nullptr && config.links[l].flows.empty();
    sends_first_ = runs_ && links.size() == sending_.subflows();
    for (const Time deadline : config.objects.deadline_ns) last_deadline_ns_ = std::max(last_deadline_ns_, deadline);
}

void Coded::add(std::size_t link, const Link& on, const ContactPlan& plan, const PathPlans::Ends& ends) {
    const std::size_t s = sending_.subflows();
    const Time answer = on.up.service_ns(static_cast<std::uint32_t>(config_.transport.header_bytes));
    sending_.add({make_flight(config_, link, s, sending_.siblings(), on.down.slot_ns(), answer),
                  Transmitter(wires_[link]), &plan, ends.clock, link, first_place(config_, link)});
    std::optional<CodedReceivingEnd::WayBack> reports;
    if (sending_.subflow(s).flight.wants_reports()) reports = {*ends.up, slowest_back(config_, link)};
    receiving_.add(AckTransmitter(wires_[link]), ranges_[s], std::move(reports));
}

// With a log all is in the order of time, one by one.
void Coded::begin(PacketLog* log) {
    log_ = log;
    if (log != nullptr) {
        runs_ = sends_first_ = false;
        for (Wire& wire : wires_) wire.observe({log, nullptr, nullptr});
        log->read_with([this](std::size_t s, std::int64_t said, std::int64_t end) {
            return named(ranges_[s].read(Named::unpack(said), end));
        });
    }
    if (runs_ && wires_.size() == sending_.subflows()) {  // each has a link of its own
        sending_.set_alone();
        for (Wire& wire : wires_) wire.set_joining();
    }
    sending_.begin();
}

// --------------------------------------------------------------------------------------------- what passes between them

Time Coded::receive(Time at, std::size_t link) {
    Wire& wire = wires_[link];
    const DataPacket& packet = wire.front_data();
    if (!wire.scripted() || !wire.dropped_by_script(packet)) {
        if (log_ != nullptr) log_->data_arrived(at, packet, widen(receiving_.next(packet.sender), packet.number));
        receiving_.handle_data(at, packet);
    }
    const Time next = wire.pop_data(1);
    judge(at);
    return next;
}

// At one instant packets go first. Nothing is over before then (see open_until()). Few are taken
// at once, so that what leaves after they came takes their place in the cache.
Time Coded::take_until(Time& to) {
    if (!runs_) return -1;
    for (const Wire& wire : wires_) to = std::min(to, wire.nth_arrival(kAtOnce));
    for (Time last = -1;;) {
        Time arrival = kNever, timer = kNever, other = kNever;
        std::size_t link = 0, s = 0;
        for (std::size_t l = 0; l < wires_.size(); ++l) {
            const Time at = arrivals_.at(l);
            if (at < arrival) {
                other = arrival - 1;
                arrival = at;
                link = l;
            } else {
                other = std::min(other, at);
            }
        }
        for (std::size_t i = 0; i < ranges_.size(); ++i)
            if (ack_timers_.at(i) < timer) timer = ack_timers_.at(s = i);
        if (std::min(arrival, timer) > to) return last;
        if (arrival > timer) {
            last = std::max(last, timer);
            receiving_.handle_timer(timer, s);
            continue;
        }
        Wire& wire = wires_[link];
        other = std::min({other, timer, to});
        do {
            const DataPacket& packet = wire.front_data();
            const std::size_t receiver = packet.sender;
            PacketRun run = wire.front_run();
            if (run.count >= kFew) run.count = Run{arrival, run.spacing, run.count}.until(to);
            if (run.count >= kFew && counts_only(link, packet, run)) {
                run.count = receiving_.handle_run(packet, run);
            } else {
                run.count = 1;
                if (!wire.scripted() || !wire.dropped_by_script(packet)) receiving_.handle_data(arrival, packet);
            }
            last = std::max(last, arrival + (run.count - 1) * run.spacing);
            other = std::min(other, ack_timers_.at(receiver));
            arrival = wire.pop_data(run.count);
        } while (arrival <= other);
        arrivals_.set(link, arrival);
    }
}

// Whether these may be taken before what comes over other links meanwhile.
bool Coded::counts_only(std::size_t link, const DataPacket& first, const PacketRun& run) const {
    if (wires_[link].scripted() || !receiving_.only_counts(first, run.count)) return false;
    std::int64_t packets = run.count;
    for (std::size_t l = 0; l < wires_.size(); ++l)
        if (l != link) packets += wires_[l].arriving(first.arrive_ns + (run.count - 1) * run.spacing);
    return receiving_.only_counts(first, packets);
}

// Whether what came was only counted.
bool Coded::hear(Time now, std::size_t link) {
    Wire& wire = wires_[link];
    const AckPacket packet = wire.front_ack();
    const Time one_way = wire.front_stamp();
    const Named said = Named::unpack(wire.front_delivered());
    wire.pop_acks(1);
    const std::size_t s = packet.sender;
    if (packet.kind == kSyn) {
        if (log_ != nullptr) log_->ack_arrived(now, s, 0, nullptr, 0, true);
        sending_.handle_established(now, s, packet.echo_ns);
        return false;
    }
    const std::int64_t reference = sending_.subflow(s).flight.tcp().snd_una;
    const std::int64_t end = widen(reference, packet.cumulative);
    if (said.answer > 0) sending_.handle_answer(now, s, receiving_.there(s, said.answer));
    if (runs_ && sending_.hear_next(now, s, {ranges_[s].begin(said.newest), end}, packet.echo_ns, one_way)) return true;
    PacketAck ack = ranges_[s].say(said, end);
    ack.wait_ns = packet.echo_ns;
    ack.one_way_ns = one_way;
    if (log_ != nullptr) log_->ack_arrived(now, s, named(ack));
    sending_.handle_ack(now, s, ack);
    return false;
}

// Until when what comes back is only counted; -1: it is not.
Time Coded::counts_until(Time now, Time until) const {
    until = std::min(until, sending_.counts_until(now, round_trips_));
    for (std::size_t l = 0; until >= now && l < wires_.size(); ++l) {
        const Flight& flight = sending_.subflow(l).flight;
        const std::int64_t last = flight.counts_to();
        std::int64_t known = flight.tcp().snd_una, place = -1;
        const auto counts = [&](const AckPacket& ack, std::int64_t said, const AckRun& run) -> std::int64_t {
            const Named named = Named::unpack(said);
            const std::int64_t newest = named.newest;
            if (ack.kind == kSyn || named.answer > 0 ||
                (newest != place && (place >= 0 || ranges_[l].begin(newest) > known)))
                return 0;
            const std::int64_t first = widen(known, ack.cumulative);
            if (first <= known || first > last) return 0;
            place = newest;
            const std::int64_t more = run.count == 1 ? 0 : std::min((last - first) / run.acknowledges, run.count - 1);
            known = first + more * run.acknowledges;
            return more + 1;
        };
        until = wires_[l].acks_while(until, counts) - 1;
    }
    return until;
}

// Of each link ACKs that are one record, of packets that are one record, as long as it is so of all. False if it is of none, or the blocks
// of these are more than counted.
bool Coded::count_alike(Time until) {
    for (std::size_t l = 0; l < wires_.size(); ++l) {
        Alike& acks = alike_[l];
        acks.times.first = answers_.at(l);
        acks.times.count = 0;
        if (acks.times.first > until) continue;
        const AckRun run = wires_[l].front_acks();
        const std::int64_t known = sending_.subflow(l).flight.tcp().snd_una;
        acks.first = widen(known, wires_[l].front_ack().cumulative) - known;
        acks.each = run.acknowledges;
        const std::int64_t more = sending_.alike(l) - acks.first;
        if (more < 0) {
            until = acks.times.first - 1;
            continue;
        }
        acks.times.spacing = run.spacing;
        acks.times.count = run.count == 1 ? 1 : std::min(run.count, 1 + more / acks.each);
        until = std::min(until, acks.times.last());
    }
    std::int64_t packets = 0;
    for (Alike& acks : alike_) {
        acks.times.count = acks.times.until(until);
        if (acks.times.count > 0) packets += acks.first + (acks.times.count - 1) * acks.each;
    }
    if (packets == 0) return false;
    for (std::size_t l = 0; l < wires_.size(); ++l)
        if (alike_[l].times.count > 0 && !sending_.only_counts(l, packets)) return false;
    for (std::size_t l = 0; l < wires_.size(); ++l) {
        const Alike& acks = alike_[l];
        const std::int64_t count = acks.times.count;
        if (count == 0) continue;
        Wire& wire = wires_[l];
        sending_.count(l, acks.times, acks.first, acks.each, wire.front_ack().echo_ns, wire.front_stamp(),
                       wire.front_acks().stamp_spacing);
        wire.pop_acks(count);
    }
    return true;
}

void Coded::count(Time until) {
    for (;;) {
        std::size_t link = 0;
        for (std::size_t l = 1; l < wires_.size(); ++l)
            if (answers_.at(l) < answers_.at(link)) link = l;
        const Time at = answers_.at(link);
        if (at > until) return;
        Wire& wire = wires_[link];
        if (wire.front_acks().count >= kFew && count_alike(until)) continue;
        const std::uint32_t cumulative = wire.front_ack().cumulative;
        const Time wait = wire.front_ack().echo_ns, one_way = wire.front_stamp();
        wire.pop_acks(1);
        const std::int64_t known = sending_.subflow(link).flight.tcp().snd_una;
        sending_.count(at, link, widen(known, cumulative), wait, one_way);
    }
}

// What comes back, and what its paces bring, in the order of the event loop. What is only counted may be so later.
void Coded::run_on(Time until) {
    if (!runs_) return;
    const std::size_t subflows = ranges_.size();
    for (Time counted = -1;;) {
        Time answer = kNever, pace = kNever, timer = kNever;
        std::size_t link = 0, s = 0;
        for (std::size_t l = 0; l < wires_.size(); ++l)
            if (answers_.at(l) < answer) answer = answers_.at(link = l);
        for (std::size_t i = 0; i < subflows; ++i) {
            timer = std::min(timer, timers_.at(i));
            if (timers_.at(subflows + i) < pace) pace = timers_.at(subflows + (s = i));
        }
        const Time next = std::min(answer, pace);
        if (next > until || next >= timer) return;
        const Time alone = std::min(until, timer - 1);
        if (sends_first_ && counted < next) counted = counts_until(next, alone);
        if (answer <= pace) {
            if (answer <= counted && answer < pace)  // one at its own pace's time lets its subflow go before others
                count(std::min({counted, alone, pace - 1}));
            else if (!hear(next, link))
                counted = -1;
            continue;
        }
        const Time to = std::max(std::min(alone, counted), std::min(alone, answer - 1));
        if (!sending_.send_on(to, answered_)) handle_pace(pace, s);
        if (sending_.asks_again()) counted = std::min(counted, sending_.now());
    }
}

void Coded::handle_pace(Time now, std::size_t s) {
    if (!runs_ || !sending_.send_next(now, s)) sending_.handle_pace(now, s);
}

void Coded::handle_timer(Time now, std::size_t head) {
    const std::size_t subflows = ranges_.size();
    head < subflows ? sending_.handle_timer(now, head) : handle_pace(now, head - subflows);
}

void Coded::handle_slot(Time now) {
    sending_.handle_slot(now);
    take_samples(now, sending_, sampler_);
}

// Every part is there; or all deadlines are over, or nothing more is sent, and nothing is in flight.
void Coded::judge(Time now) {
    finished_ = receiving_.complete() == config_.objects.size();
    if (finished_) return;
    if (now > open_ns_) look_at_rest(now);
    if (!sending_.done() && (now < last_deadline_ns_ || !config_.transport.drop_late)) return;
    finished_ = std::all_of(wires_.begin(), wires_.end(), [](const Wire& w) { return w.data_under_way() == 0; });
}

// So many packets come before all is there, at least: of a block what brings it back, or its parts one by one.
std::int64_t Coded::lacking() const {
    const std::int64_t mss = config_.transport.mss_bytes;
    std::int64_t packets = 0;
    for (std::uint32_t b = 0; b < map_.blocks(); ++b) {
        const BlockArrival& block = receiving_.blocks()[b];
        if (block.complete == map_.size(b)) continue;
        std::int64_t bytes = 0;
        for (std::uint32_t i = 0; i < map_.size(b); ++i) {
            const std::uint32_t object = map_.member(b, i);
            const PartArrival& part = receiving_.parts()[object];
            if (part.complete_ns >= 0) continue;
            if (sending_.layers()[object].given_up) return kNever;
            bytes += config_.objects.payload_bytes[object] - part.bytes;
        }
        packets +=
            std::clamp<std::int64_t>(std::int64_t{headers_.source[b]} - block.packets, 0, (bytes + mss - 1) / mss);
    }
    return packets;
}

// Until when it is not over, whatever is sent from now on: too little comes, and something is under way.
void Coded::look_at_rest(Time now) {
    if (!runs_ || !looks_at_rest_ || sending_.released() < config_.objects.size()) return;
    const std::int64_t packets = lacking();
    looks_at_rest_ = packets > kRest;
    Time last = -1;
    for (const Wire& wire : wires_) last = std::max(last, wire.newest_arrival());
    const auto come = [&](Time until) {
        std::int64_t sum = 0;
        for (const Wire& wire : wires_) sum += wire.arriving(until);
        return sum;
    };
    open_ns_ = std::min(last - 1, later(now, least_down_ns_));
    while (open_ns_ > now && come(open_ns_) >= packets) open_ns_ = now + (open_ns_ - now) / 2;
}

// --------------------------------------------------------------------------------------------------- bookkeeping

std::int64_t Coded::bytes() const {
    std::int64_t bytes = sending_.bytes();
    for (const Wire& wire : wires_) bytes += wire.bytes();
    for (const AckRanges& ranges : ranges_) bytes += ranges.bytes();
    return bytes;
}

void Coded::check() const {
    DSTCC_CHECK(receiving_.arrived_payload() <= sending_.source_payload() &&
                    receiving_.repair_payload() <= sending_.repair_payload() &&
                    receiving_.arrived_payload() + receiving_.recovered_payload() <= sending_.source_payload(),
                "bytes are conserved");
}

void Coded::check_layers() const {
    std::int64_t delivered = 0;
    for (const PartArrival& part : receiving_.parts()) delivered += part.bytes;
    DSTCC_CHECK(delivered == receiving_.arrived_payload() + receiving_.recovered_payload(), "bytes are conserved");
    sending_.check();
}

template class Trial<Coded>;

}  // namespace dstcc
