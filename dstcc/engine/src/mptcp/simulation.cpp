#include "mptcp/simulation.hpp"

#include <cmath>
#include <limits>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace dstcc {

namespace {

constexpr double kFarNs = 4e18;                                     // longer than any run, and within a Time
constexpr double kFirstWindow = 65535;                              // bytes: all that a SYN's answer can offer
constexpr double kLeastWindow = 2 << 20, kLargestWindow = 1 << 30;  // bytes, of a receiver whose buffer nobody set
constexpr std::int64_t kWorthTrimming = 16 << 20;                   // bytes; below, a trim costs more than it gives
constexpr unsigned kNowAndThen = (1u << 16) - 1;                    // every so many events: Ctrl-C, and the memory held

std::size_t count_subflows(const EngineConfig& config) {
    std::size_t subflows = 0;
    for (const LinkConfig& link : config.links) subflows += static_cast<std::size_t>(link.subflows);
    return subflows;
}

std::size_t count_senders(const EngineConfig& config) {
    std::size_t senders = count_subflows(config);
    for (const LinkConfig& link : config.links) senders += link.flows.size();
    return senders;
}

std::size_t count_sources(const EngineConfig& config) {
    std::size_t sources = 0;
    for (const LinkConfig& link : config.links) {
        sources += link.cross_traffic.size();
        for (const FlowConfig& flow : link.flows) sources += flow.app_limited;
    }
    return sources;
}

}  // namespace

Simulation::Simulation(const EngineConfig& config)
    : config_(config),
      wire_bytes_(static_cast<std::uint32_t>(config.transport.mss_bytes + config.transport.header_bytes)),
      scheduler_(transport_scheduler({config_.transport, config_.seed, config_.slot_ns, count_subflows(config)})),
      listens_(scheduler_->listens()),
      heeds_(scheduler_->heeds()),
      duplicates_(scheduler_->duplicates()),
      pins_(scheduler_->pins()),
      plans_(scheduler_->plans()),
      ahead_(scheduler_->ahead()),
      takes_turns_(scheduler_->takes_turns()),
      bounded_(config.transport.receive_buffer_bytes != 0),
      link_count_(config.links.size()),
      first_flow_(count_subflows(config)),
      senders_(count_senders(config)),
      tree_(2 * config.links.size(), 3 * senders_ + 2 + count_sources(config)),
      outcomes_(config.objects.size()),
      unsettled_(config.objects.size()),
      pending_(config_.transport.layer_first || scheduler_->layers_first()) {
    const TransportConfig& transport = config_.transport;
    for (std::size_t i = 0; i < config_.links.size(); ++i) {
        const LinkConfig& link = config_.links[i];
        links_.push_back({Direction(link, false, config_.seed, i, wire_bytes_),
                          Direction(link, true, config_.seed, i, wire_bytes_),
                          {},
                          {},
                          {},
                          {},
                          {},
                          ContactPlan(link, transport.header_bytes),
                          {link.drops.begin(), link.drops.end()}});
        for (std::size_t k = 0; k < link.cross_traffic.size(); ++k)
            sources_.push_back({TrafficSource(link.cross_traffic[k], config_.seed, i, k), i});
    }
    for (std::size_t i = 0; i < links_.size(); ++i)
        for (int k = 0; k < config_.links[i].subflows; ++k) add_subflow(i);
    DSTCC_CHECK(subflows_.size() <= kMaxSubflows, "at most 128 subflows");
    for (std::size_t i = 0; i < links_.size(); ++i)
        for (std::size_t k = 0; k < config_.links[i].flows.size(); ++k) add_flow(i, k);
    const bool per_subflow = transport.lanes && !duplicates_;
    const auto lanes = static_cast<std::size_t>(transport.lanes ? transport.lanes_per_link : 1);
    domains_.resize(per_subflow ? lanes * subflows_.size() : lanes);
    paths_.resize(subflows_.size());
    for (std::size_t i = 0; i < paths_.size(); ++i) {
        paths_[i].subflow = &subflows_[i].sender;
        paths_[i].link = &links_[subflows_[i].link].down;
        paths_[i].link_index = static_cast<int>(subflows_[i].link);
        for (std::size_t k = 0; k < paths_.size(); ++k)
            if (k == i || (transport.apart && subflows_[k].link == subflows_[i].link)) insert(paths_[i].peers, k);
    }
    for (const LinkConfig& link : config_.links)
        unsent_limit_ =
            std::max(unsent_limit_,
                     static_cast<std::int64_t>(
                         link.rate_bps / 8 * 2 *
                         static_cast<double>(*std::max_element(link.delay_ns.begin(), link.delay_ns.end())) / kNsPerS));
    const auto endless = [](const std::pair<Time, Time>& outage) { return outage.second >= kForeverNs; };
    for (const LinkConfig& link : config_.links)
        for (const auto* outages : {&link.outages_ns, &link.up_outages_ns})
            backups_ = backups_ || std::any_of(outages->begin(), outages->end(), endless);
    for (const SubflowState& subflow : subflows_) stamps_ = stamps_ || subflow.sender.wants_one_way_delay();
    for (const FlowState& flow : flows_) stamps_ = stamps_ || flow.sender.wants_one_way_delay();
    refresh_delays();
    watch(nullptr);

    if (transport.scheduler == kAgentPolicies) {
        chunks_ = std::make_unique<ChunkManager>(config_.objects);
        for (SubflowState& subflow : subflows_) subflow.sender.note_acked(&acked_);
    }
    for (const Time deadline : config_.objects.deadline_ns)
        deadlines_ = deadlines_ || (transport.drop_late && deadline != kNever);
    for (std::size_t i = 0; i < sources_.size(); ++i) tree_.set(head_source(i), sources_[i].traffic.start());
    if (unsettled_ > 0) tree_.set(head_release(), config_.objects.release_ns[0]);
    tree_.set(head_slot(), config_.slot_ns);
    // A lane is a connection of its own and starts at once; the later subflows of one connection wait to join.
    for (std::size_t s = 0; s < subflows_.size(); ++s)
        if (s == 0 || transport.lanes) open(s, subflows_[s], 0);
    for (std::size_t f = 0; f < flows_.size(); ++f) open(first_flow_ + f, flows_[f], flows_[f].config.start_ns);
}

TcpState Simulation::initial_state() const {
    TcpState tcp;
    tcp.mss_bytes = static_cast<std::uint32_t>(config_.transport.mss_bytes);
    tcp.wire_bytes = wire_bytes_;
    tcp.initial_cwnd = config_.transport.initial_cwnd;
    tcp.seed = config_.seed;
    return tcp;
}

// The subflows and flows of a link divide what an open loop or a fixed window would give one.
ControlSetup Simulation::control_setup(const TcpState& tcp, std::size_t link, int sharers) const {
    const LinkConfig& config = config_.links[link];
    const Direction &down = links_[link].down, &up = links_[link].up;
    const Time rtt = 2 * *std::max_element(config.delay_ns.begin(), config.delay_ns.end()) + down.slot_ns() +
                     up.service_ns(static_cast<std::uint32_t>(config_.transport.header_bytes));
    const Time slot = down.slot_ns() * sharers;
    return {tcp, link, config.rate_bps / sharers, std::max<Time>((rtt + slot - 1) / slot, 2)};
}

// Within which an agent may act.
void Simulation::bound_agent(TcpState& tcp) const {
    const TransportConfig& transport = config_.transport;
    tcp.agent.headroom = transport.agent_headroom;
    tcp.agent.silence_ns =
        static_cast<Time>(std::min(transport.agent_silence_slots * static_cast<double>(config_.slot_ns), kFarNs));
}

// Its window grows to half its buffer; without a told one that is twice what the links and their queues hold, 2 MiB at
// least, as the kernel backend has it.
SubflowReceiver Simulation::receiver(std::size_t link, int option_bytes) const {
    const TransportConfig& transport = config_.transport;
    const auto longest = [](const LinkConfig& on) { return *std::max_element(on.delay_ns.begin(), on.delay_ns.end()); };
    auto window = static_cast<double>(transport.receive_buffer_bytes);
    if (!bounded_) {
        for (const LinkConfig& on : config_.links)
            window += 2 * (on.rate_bps / 8 * 2 * static_cast<double>(longest(on)) / kNsPerS +
                           static_cast<double>(on.queue_bytes));
        window = std::clamp(window, kLeastWindow, kLargestWindow);
    }
    const double step = 2.0 * (transport.mss_bytes + option_bytes);
    const auto growing = static_cast<std::int64_t>(std::max(0.0, std::ceil((window - kFirstWindow) / step)));
    return {transport.constants, growing, 2 * longest(config_.links[link]),
            static_cast<std::uint32_t>(transport.mss_bytes), static_cast<std::uint32_t>(option_bytes)};
}

void Simulation::add_subflow(std::size_t link) {
    const TransportConfig& transport = config_.transport;
    TcpState tcp = initial_state();
    tcp.subflow = subflows_.size();
    if (!transport.apart) tcp.siblings = &siblings_;
    tcp.option_bytes = static_cast<std::uint32_t>(transport.option_bytes);
    bound_agent(tcp);
    const ControlSetup setup = control_setup(tcp, link, config_.links[link].subflows);
    subflows_.push_back(
        {{Subflow(config_.transport, own_control(setup), tcp), receiver(link, transport.option_bytes), link},
         LayerQueue(transport.layer_first || scheduler_->layers_first())});
}

bool Simulation::run_until(Time until, bool (*interrupted)()) {
    const Time end = std::min(until, config_.duration_ns);
    over_ = over_ || unsettled_ == 0;
    while (!over_) {
        const bool busy = packet_first();
        const EventTree& next = busy ? tree_.busy() : tree_.idle();
        if (next.time() > end) break;
        DSTCC_CHECK(next.time() >= now_, "time never goes back");
        now_ = next.time();
        const std::size_t head = next.head();
        if (!busy)
            on_idle_head(head);
        else if (head < link_count_)
            on_data(head);
        else
            on_acks(head - link_count_);
        if ((++events_ & kNowAndThen) == 0) {
            watch_memory();
            if (interrupted != nullptr && interrupted()) over_ = true;
        }
    }
    if (!over_ && end < kNever) now_ = end;
    if (now_ >= config_.duration_ns) over_ = true;
    peak_bytes_ = std::max(peak_bytes_, bytes());
    check_conservation();
    if (over_ || until == kNever) check_deliveries();  // looks at every layer: not after each slot of a stepped trial
    return !over_;
}

// At one instant packets go before all else but paced segments: a host's own clock does not wait for an interrupt.
bool Simulation::packet_first() const {
    const EventTree &busy = tree_.busy(), &idle = tree_.idle();
    if (busy.time() != idle.time()) return busy.time() < idle.time();
    return idle.head() < senders_ || idle.head() >= 2 * senders_;
}

// Timers, pacing, delayed ACKs, one per sender each; then the source, the sampler, the others' traffic.
void Simulation::on_idle_head(std::size_t head) {
    const std::size_t subflows = first_flow_;
    if (head < senders_) return head < subflows ? on_timer(head) : on_flow_timer(head - subflows);
    head -= senders_;
    if (head < senders_) {
        head < subflows ? pump(head) : pump_flow(head - subflows);
        if (tree_.at(head_pace(head)) <= now_) tree_.set(head_pace(head), kNever);
        return;
    }
    head -= senders_;
    if (head < senders_) return on_delayed_ack(head);
    head -= senders_;
    if (head == 0) return on_release();
    if (head == 1) return on_slot();
    on_source(head - 2);
}

// ------------------------------------------------------------------------------------------------------ coming in

void Simulation::on_acks(std::size_t link) {
    LinkState& state = links_[link];
    const AckPacket packet = state.acks.front();
    state.acks.pop_front();
    state.acks.prefetch_ahead(kPrefetch);
    tree_.set_busy(head_acks(link), state.acks.empty() ? kNever : state.acks.front().arrive_ns);
    const std::size_t s = packet.subflow;
    const bool background = s >= first_flow_;
    AckBlocks ack;
    if (stamps_) {
        ack.one_way_ns = state.stamps.front();
        state.stamps.pop_front();
    }
    if (bounded_) {
        if (packet.kind != kSyn && !background) peer_delivered_ = std::max(peer_delivered_, state.delivered.front());
        state.delivered.pop_front();
    }
    if (config_.trace && packet.kind == kSyn) trace_ack(TraceEvent::kAckArrived, {now_, 0}, s, {}, true);
    if (packet.kind == kSyn)
        return background ? on_flow_established(s - first_flow_, packet.echo_ns) : on_established(s, packet.echo_ns);
    Endpoint& to = endpoint(s);
    ack.cumulative = widen(to.sender.tcp().snd_una, packet.cumulative);
    ack.echo_ns = packet.echo_ns;
    ack.duplicate = packet.kind == kDuplicate;
    if (packet.sacks > 0) {
        const SackBlocks& blocks = state.blocks.front();
        for (int i = 0; i < packet.sacks; ++i)
            ack.sack[i] = {ack.cumulative + blocks.begin[i], ack.cumulative + blocks.end[i]};
        ack.sacks = packet.sacks;
        state.blocks.pop_front();
    }
    if (config_.trace) trace_ack(TraceEvent::kAckArrived, {now_, 0}, s, ack, false);
    if (background) return on_flow_ack(s - first_flow_, ack);
    auto& subflow = static_cast<SubflowState&>(to);
    const bool was_stale = subflow.sender.stale();
    if (subflow.sender.tcp().ca_state == CaState::kLoss)
        ack.more = backlog_ > 0 && room_at_receiver(config_.transport.mss_bytes);
    const std::int64_t acked = subflow.sender.handle_ack(now_, ack);
    subflow.slot_delivered += acked;
    if (chunks_) {
        for (const Acked& segment : acked_) chunks_->handle_ack(now_, segment, subflow.sender.tcp().srtt_ns);
        acked_.clear();
    }
    if (listens_) scheduler_->on_ack(static_cast<int>(s), acked, ack.echo_ns, now_);
    if (was_stale && !subflow.sender.stale()) erase(stale_, s);
    pump(s);
    if (config_.trace) trace_step(s);
}

// `syn_ns`: when the SYN that was answered left, as its timestamp says (RFC 7323).
void Simulation::on_established(std::size_t s, Time syn_ns) {
    SubflowState& subflow = subflows_[s];
    if (subflow.sender.established()) return;  // an answer to a repeated SYN
    subflow.syn_at = kNever;
    siblings_.push_back(&subflow.sender.tcp());
    subflow.sender.establish(now_, now_ - syn_ns);
    if (config_.trace) trace_step(s);
    if (subflow.copied < log_.begin()) subflow.copied = log_.begin();
    insert(established_, s);
    // The later subflows of a connection join once the first has carried data and its DATA_ACK came back.
    const double rtt = static_cast<double>(now_ - syn_ns);
    const Time join = syn_ns + static_cast<Time>(config_.transport.join_rtts * rtt);
    for (std::size_t other = 0; other < subflows_.size(); ++other)
        if (subflows_[other].syns == 0 && subflows_[other].syn_at == kNever)
            open(other, subflows_[other], std::max(now_, join));
    pump(s);
}

void Simulation::on_timer(std::size_t s) {
    SubflowState& subflow = subflows_[s];
    tree_.set(head_timer(s), kNever);
    if (!subflow.sender.established()) {
        if (subflow.syn_at <= now_) send_syn(s, subflow);
        return arm_timer(s);
    }
    if (const SubflowView view = observe(s); contains(dark_, s) && !view.up && view.change_ns < kNever - now_) {
        subflow.sender.rest(now_ + view.change_ns);
        return arm_timer(s);
    }
    switch (subflow.sender.handle_timer(now_)) {
        case TimerResult::kNothing:
            return arm_timer(s);
        case TimerResult::kProbe:
            send_probe(s);
            break;
        case TimerResult::kTimeout:
            on_timeout(s);
            break;
        case TimerResult::kRetry:
            break;
    }
    pump(s);
    if (config_.trace) trace_step(s);
}

// What the path still owes goes to the others as well; layers it has not begun go back to be scheduled anew. A lane that is a
// connection of its own has others only as backups, where a link may not come back.
void Simulation::on_timeout(std::size_t s) {
    SubflowState& subflow = subflows_[s];
    insert(stale_, s);
    if ((established_ & ~stale_) == 0) return;
    if (!config_.transport.apart || backups_)
        subflow.sender.reinject([&](std::int64_t number, const Segment& segment) {
            subflow.reinjections.push_back({segment.object, segment.order, segment.bytes, number});
            insert(reinjecting_, s);
            if (listens_) scheduler_->on_reinjection(static_cast<int>(s), segment.bytes, now_);
        });
    if (contains(has_planned_, s)) move_planned(s, static_cast<std::size_t>(quickest(established_ & ~stale_)));
    if (!config_.transport.layer_links.empty() && !config_.transport.apart) return;
    const auto moved = subflow.assigned.extract([&](std::uint32_t object) { return outcomes_[object].offset == 0; });
    if (subflow.assigned.empty()) erase(has_assigned_, s);
    for (const std::uint32_t object : moved) {
        paths_[s].assigned_bytes -= config_.objects.payload_bytes[object];
        if (pins_)
            assign_released(object);
        else
            bind(object, static_cast<std::size_t>(quickest(established_ & ~stale_)));
    }
    offer();
}

void Simulation::on_release() {
    const auto& release = config_.objects.release_ns;
    while (released_ < release.size() && release[released_] <= now_) {
        const auto object = static_cast<std::uint32_t>(released_++);
        backlog_ += config_.objects.payload_bytes[object];
        layer_backlog_[static_cast<std::size_t>(config_.objects.layer[object])] +=
            config_.objects.payload_bytes[object];
        if (pins_)
            assign_released(object);
        else
            pending_.push_back(object, config_.objects.layer[object]);
    }
    tree_.set(head_release(), released_ < release.size() ? release[released_] : kNever);
    offer();
    for (std::size_t s = 0; s < subflows_.size(); ++s) {
        if (!subflows_[s].sender.established()) continue;
        const bool pushed = subflows_[s].sender.holds() && data_waits(s, subflows_[s]);
        if (pushed) subflows_[s].sender.push();
        pushed ? pump(s) : finish_sending(s, subflows_[s]);
    }
}

void Simulation::on_slot() {
    refresh_delays();
    drop_expired();
    for (std::size_t s = 0; s < subflows_.size(); ++s) {
        SubflowState& state = subflows_[s];
        const TcpState& tcp = state.sender.tcp();
        SampleColumns& out = samples_;
        out.t_ns.push_back(now_);
        out.subflow.push_back(static_cast<std::int64_t>(s));
        out.cwnd.push_back(state.sender.established() ? std::min(tcp.cwnd, kInfiniteWindow) : 0);
        out.inflight.push_back(tcp.in_flight());
        out.srtt_ns.push_back(tcp.srtt_ns);
        out.min_rtt_ns.push_back(tcp.min_rtt_ns == kNever ? 0 : tcp.min_rtt_ns);
        out.sent.push_back(state.slot_sent);
        out.lost.push_back(static_cast<std::int64_t>(tcp.lost - state.slot_lost_base));
        out.retransmitted.push_back(state.slot_retransmitted);
        out.delivered.push_back(state.slot_delivered);
        out.queue.push_back(links_[state.link].down.queue_bytes(now_));
        out.pacing_bps.push_back(tcp.pacing_bytes_per_ns * 8.0 * kNsPerS);
        state.past_sent += state.slot_sent;
        state.past_retransmitted += state.slot_retransmitted;
        state.past_delivered += state.slot_delivered;
        state.slot_sent = state.slot_retransmitted = state.slot_delivered = 0;
        state.slot_lost_base = tcp.lost;
    }
    sample_flows();
    watch_memory();
    check_conservation();
    over_ = over_ || silent_for_good();
    tree_.set(head_slot(), now_ + config_.slot_ns);
}

bool Simulation::silent_for_good() const {
    if (config_.duration_ns != kNever || released_ < outcomes_.size()) return false;
    Time one_way = 0;
    for (const Path& path : paths_) one_way = std::max(one_way, path.one_way_ns);
    const Time quiet_since = std::max<Time>(last_delivery_ns_, dark_until(config_, now_));
    return stalled(now_, quiet_since, config_.transport.constants.rto_max, one_way);
}

void Simulation::on_source(std::size_t i) {
    Source& source = sources_[i];
    Time next = kNever;
    const bool due = source.traffic.poll(now_, next);
    tree_.set(head_source(i), next);
    if (!due) return;
    if (source.flow >= 0) return on_flow_write(static_cast<std::size_t>(source.flow));
    links_[source.link].down.transmit(now_, source.traffic.packet_bytes());
    ++cross_packets_;
}

// --------------------------------------------------------------------------------------------------- bookkeeping

// A segment's full number: the sender has it, or has sent it within the last 2^31.
void Simulation::trace_sent(DataPacket packet, Direction::Passage passage) {
    const TraceFate fate = passage.arrive_ns != kNever ? TraceFate::kCarried
                           : passage.wait_ns >= 0      ? TraceFate::kLost
                                                       : TraceFate::kDropped;
    const bool syn = packet.bytes == 0, own = packet.subflow < first_flow_ && !syn;
    const std::int64_t number = syn ? 0 : widen(endpoint(packet.subflow).sender.tcp().snd_nxt, packet.number);
    trace_.add(now_, TraceEvent::kDataSent, fate, packet.subflow, number, packet.bytes, syn,
               own ? static_cast<std::int64_t>(packet.object) : -1, own ? static_cast<std::int64_t>(packet.order) : -1);
}

void Simulation::trace_arrival(DataPacket packet) {
    const bool syn = packet.bytes == 0, own = packet.subflow < first_flow_ && !syn;
    const std::int64_t number = syn ? 0 : widen(endpoint(packet.subflow).receiver.next(), packet.number);
    trace_.add(now_, TraceEvent::kDataArrived, TraceFate::kCarried, packet.subflow, number, packet.bytes, syn,
               own ? static_cast<std::int64_t>(packet.object) : -1, own ? static_cast<std::int64_t>(packet.order) : -1);
}

void Simulation::trace_step(std::size_t s) {
    const Subflow& sender = subflows_[s].sender;
    const TcpState& tcp = sender.tcp();
    constexpr std::int8_t kLinux[] = {0, 3, 4};  // TCP_CA_Open, _Recovery, _Loss
    steps_.t_ns.push_back(now_);
    steps_.sender.push_back(static_cast<std::int32_t>(s));
    steps_.una.push_back(tcp.snd_una);
    steps_.cwnd.push_back(std::min(tcp.cwnd, kInfiniteWindow));
    steps_.ssthresh.push_back(std::min(tcp.ssthresh, kInfiniteWindow));
    steps_.srtt_ns.push_back(tcp.srtt_ns);
    steps_.rto_ns.push_back(sender.rto());
    steps_.lost.push_back(tcp.lost_out);
    steps_.state.push_back(kLinux[static_cast<std::size_t>(tcp.ca_state)]);
    steps_.backoff.push_back(static_cast<std::int8_t>(sender.backoff()));
    steps_.pacing_bps.push_back(tcp.pacing_bytes_per_ns * 8.0 * kNsPerS);
}

// A transmission that a script takes away, on the far end of its link.
bool Simulation::doomed(std::size_t link, const DataPacket& packet) {
    std::map<std::int64_t, int>& drops = links_[link].drops;
    if (packet.subflow >= first_flow_ || packet.bytes == 0) return false;
    const auto found = drops.find(widen(subflows_[packet.subflow].receiver.next(), packet.number));
    if (found == drops.end()) return false;
    if (--found->second == 0) drops.erase(found);
    return true;
}

void Simulation::trace_ack(TraceEvent event, Direction::Passage passage, std::size_t sender, const AckBlocks& ack,
                           bool syn) {
    const TraceFate fate = passage.arrive_ns != kNever ? TraceFate::kCarried
                           : passage.wait_ns >= 0      ? TraceFate::kLost
                                                       : TraceFate::kDropped;
    trace_.add(now_, event, fate, sender, ack.cumulative, 0, syn, -1, -1, ack.sack, ack.sacks);
}

void Simulation::refresh_delays() {
    for (std::size_t s = 0; s < subflows_.size(); ++s)
        paths_[s].one_way_ns = links_[subflows_[s].link].down.delay_lookup(now_);
    for (const std::size_t f : steered_flows_) flows_[f].light_ns = links_[flows_[f].link].down.delay_lookup(now_);
}

void Simulation::settle() {
    DSTCC_CHECK(unsettled_ > 0, "a layer is settled once");
    over_ = --unsettled_ == 0;
}

void Simulation::check_conservation() const {
    std::int64_t sent = 0;
    for (const LinkState& link : links_) {
        sent += link.down.sent();
        DSTCC_CHECK(link.down.sent() >= link.down.dropped() + link.down.lost() + link.data.size(),
                    "packets are conserved");
        DSTCC_CHECK(link.up.sent() >= link.up.dropped() + link.up.lost() + link.acks.size(), "packets are conserved");
    }
    for (const SubflowState& subflow : subflows_) sent -= subflow.syns;
    for (const FlowState& flow : flows_) sent -= flow.syns + flow.data_packets;
    DSTCC_CHECK(sent == data_packets_ + cross_packets_, "what links carried, somebody sent");
    check_flows();
    DSTCC_CHECK(delivered_payload_ <= arrived_payload_ &&
                    arrived_payload_ + duplicate_payload_ <= new_payload_ + repeated_payload_,
                "bytes are conserved");
}

void Simulation::check_deliveries() const {
    std::int64_t delivered = 0;
    for (const ObjectOutcome& outcome : outcomes_) delivered += outcome.delivered_bytes;
    DSTCC_CHECK(delivered == delivered_payload_, "bytes are conserved");
    std::int64_t unsent = 0;
    for (std::uint32_t object = 0; object < released_; ++object)
        if (!outcomes_[object].given_up) unsent += unsent_bytes(object);
    DSTCC_CHECK(unsent == backlog_, "what was released is sent, given up, or waits");
}

// What falling windows free, the allocator keeps for later; much of it is handed on to the system.
void Simulation::watch_memory() {
    const std::int64_t now = bytes();
    peak_bytes_ = std::max(peak_bytes_, now);
    held_bytes_ = std::max(held_bytes_, now);
    if (held_bytes_ < kWorthTrimming || now > held_bytes_ / 4) return;
    held_bytes_ = now;
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

// Of the records kept of packets: what senders may have to repeat, and what is on its way.
std::int64_t Simulation::bytes() const {
    std::int64_t bytes = 0;
    for (const SubflowState& subflow : subflows_) bytes += subflow.sender.bytes();
    for (const FlowState& flow : flows_) bytes += flow.sender.bytes();
    for (const LinkState& link : links_)
        bytes +=
            link.data.bytes() + link.acks.bytes() + link.blocks.bytes() + link.stamps.bytes() + link.delivered.bytes();
    return bytes;
}

std::map<std::string, double> Simulation::totals() const {
    double rtt_sum = 0, timeouts = 0;
    std::int64_t rtt_samples = 0, dropped = 0, lost = 0, syns = 0;
    for (const SubflowState& s : subflows_) {
        rtt_sum += s.sender.rtt_sum_s();
        rtt_samples += s.sender.rtt_samples();
        timeouts += static_cast<double>(s.sender.timeouts());
        syns += s.syns;
    }
    for (const LinkState& l : links_) {
        dropped += l.down.dropped();
        lost += l.down.lost();
    }
    double waiting = 0;
    for (const OrderingDomain& d : domains_) waiting += static_cast<double>(d.peak_bytes());
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto seconds = [&](Time at) { return at < 0 ? nan : static_cast<double>(at) / kNsPerS; };
    const std::int64_t sent_payload = new_payload_ + repeated_payload_;
    const std::int64_t sent_wire = sent_payload + config_.transport.header_bytes * (data_packets_ + syns);
    return {{"sent_wire_bytes", static_cast<double>(sent_wire)},
            {"sent_payload_bytes", static_cast<double>(sent_payload)},
            {"retransmitted_payload_bytes", static_cast<double>(repeated_payload_)},
            {"arrived_payload_bytes", static_cast<double>(arrived_payload_)},
            {"delivered_payload_bytes", static_cast<double>(delivered_payload_)},
            {"duplicate_payload_bytes", static_cast<double>(duplicate_payload_)},
            {"hol_payload_bytes", static_cast<double>(hol_payload_)},
            {"hol_wait_byte_s", hol_wait_byte_ns_ / kNsPerS},
            {"rtt_sum_s", rtt_sum},
            {"rtt_samples", static_cast<double>(rtt_samples)},
            {"queue_p95_s", waits_.quantile(0.95) / kNsPerS},
            {"data_packets", static_cast<double>(data_packets_)},
            {"dropped_queue_packets", static_cast<double>(dropped)},
            {"lost_channel_packets", static_cast<double>(lost)},
            {"timeouts", timeouts},
            {"events", static_cast<double>(events_)},
            {"engine_peak_bytes", static_cast<double>(peak_bytes_)},
            {"reorder_peak_bytes", waiting},
            {"first_send_s", seconds(first_send_ns_)},
            {"last_delivery_s", seconds(last_delivery_ns_)}};
}

}  // namespace dstcc
