// One trial in virtual time: the event loop. It owns a transport's two ends, the background flows, the links and the clock, and
// carries packets between them; none of them knows another.
//
// Each link direction keeps its packets in flight in arrival order, so the next event is the least of a few heads: at the
// sending ends what comes back, a front per link, pacing deadlines and timers, the source, the sampler, the others' traffic; at
// the receiving ends what arrives, a front per link, and their timers. Timers are lazy: a head may be early, and is set anew when
// it fires.
//
// The ends meet in packets only, and no packet is quicker than light. So the receiving ends may go ahead by what the sending
// ends cannot touch: what is sent from now on arrives later than the least delay from now. Then the sending ends follow.
// The result is that of one queue of events, for a part of its cost.
//
// A transport is a class of two ends:
//
//   heads(config)                        how many heads it has (sim/places.hpp)
//   Ends(config, links, plans, places)   ends and what is under way between them; begin(log) opens connections
//   handle_quick, handle_timer, handle_pace, handle_release, handle_slot, handle_last      of its sending end, at a time
//   receive, handle_answer_timer         of its receiving end; receive() returns when that head's next is due
//   kAhead, apart_until()                whether its receiving end may go ahead, and until when; else all is in the order of time
//   kRuns, run_on(until), take_until(to) whether an end goes on by itself, up to a time before which nothing else happens to it; until
//                                        when the receiving end then has, -1: not; it may come less far, and say so in `to`
//   put_until(to), goes_on(), goes()     if it has them: segments leave its sending end by themselves, now or ever, and are not on the line
//                                        yet; what leaves up to a time, before which nothing else happens there, is then
//   know_until(to), hear_until(to)       with these: its receiving end has all that comes by then under way; at its sending end nothing but
//                                        what comes back and its own heads do happens by then
//   finished(), judge(now)               all was delivered or given up; judge() looks where that takes time
//   open_until()                         until when it certainly is not, however far nodes go ahead; -1: not known
//   samples, object, add_to(stats), bytes, packets, data_under_way, acks_under_way, check   for observers
//   released, quiet_since, longest_one_way_ns   whether a run without a duration has come to nothing
#pragma once

#include <memory>
#include <type_traits>
#include <vector>

#include "core/memory_watch.hpp"
#include "core/outcome.hpp"
#include "link/stall.hpp"
#include "core/stats.hpp"
#include "link/traffic.hpp"
#include "sim/flows.hpp"

namespace dstcc {

template <class Ends, class = void>
struct GoesOn : std::false_type {};
template <class Ends>
struct GoesOn<Ends, std::void_t<decltype(&Ends::put_until)>> : std::true_type {};

template <class Ends>
class Trial {
public:
    explicit Trial(const EngineConfig& config);
    Trial(const Trial&) = delete;  // its parts point at each other
    Trial& operator=(const Trial&) = delete;
    // Process everything up to and including `until`; false when the run is over. `interrupted` is polled now and then.
    bool run_until(Time until, bool (*interrupted)());

    // --- for who runs several side by side, event by event (sim/hop_by_hop.hpp), and sees himself whether all is over
    Time next() const { return std::min(next_sending().time(), receiving_next()); }
    void step();
    void end(Time at);

    const EngineConfig& config() const { return config_; }
    Ends& ends() { return ends_; }
    const Ends& ends() const { return ends_; }
    Flows& flows() { return flows_; }
    const Flows& flows() const { return flows_; }
    const TraceColumns& trace() const { return packet_log_.columns(); }
    TransportStats totals() const;
    const Network& network() const { return network_; }
    Time now() const { return now_; }
    bool over() const { return over_ || finished(); }
    // Every layer delivered or given up.
    bool finished() const { return ends_.finished(); }

private:
    // Datagrams into a link, or what a background flow's application writes.
    struct Source {
        TrafficSource traffic;
        std::size_t link;
        std::int64_t flow = -1;
    };

    void add_sources();
    const EventTree& next_sending() const;
    // Up to and including then only the transport's own timers and what is under way can bring its sending end anything.
    Time alone_until() const {
        Time until = std::min({received_until_, end_ns_, finished() ? finish_ns_ - 1 : kNever});
        for (std::size_t head = heads_.timers; head < heads_.last; ++head)
            until = std::min(until, heads_.sending.at_idle(head) - 1);
        return until;
    }
    Time receiving_next() const {
        return std::min({heads_.receiving.busy().time(), heads_.receiving.idle().time(), network_.next()});
    }
    bool catch_up(Time next, Time end);
    bool receive(Time until);
    Time nodes_until(Time until, Time received) const;
    template <class Party>
    void receive_run(Party& party, std::size_t place, std::size_t head, Time until);
    void on_sending_head(const EventTree& of, std::size_t head);
    void on_quick(std::size_t head);
    void on_pace(std::size_t sender);
    void on_idle_head(std::size_t head);
    void on_slot();
    void on_source(std::size_t i);
    bool silent_for_good() const;
    std::int64_t bytes() const { return ends_.bytes() + flows_.bytes() + network_.bytes(); }
    void check() const;

    EngineConfig config_;
    Network network_;
    std::vector<Link> links_;
    std::vector<ContactPlan> plans_;
    Heads heads_;
    Time now_ = 0;                                        // of the sending ends
    Time least_down_ns_ = kNever, least_up_ns_ = kNever;  // every packet takes longer
    Time least_answer_ns_ = kNever;                       // likewise, from a receiving end to a node
    Time end_ns_ = 0;                                     // of run_until()
    // So far the receiving ends are; so far, included, the sending ends may go on, as nothing is missing that they hear.
    Time received_until_ = -1;
    Time finish_ns_ = -1;  // the last layer was delivered then
    PacketLog packet_log_;
    MemoryWatch memory_;
    Ends ends_;
    Flows flows_;
    std::vector<Source> sources_;
    std::int64_t cross_packets_ = 0, events_ = 0;
    bool over_ = false;
};

// ----------------------------------------------------------------------------------------------------- setting up

// Whether packets go in runs where that changes nothing but the cost (core/run.hpp); with DSTCC_ENGINE=packets none does.
bool runs_allowed();
std::size_t count_sources(const EngineConfig& config);
std::vector<ContactPlan> make_plans(const EngineConfig& config);
inline Time later(Time at, Time by) { return at < kNever - by ? at + by : kNever; }

template <class Ends>
Trial<Ends>::Trial(const EngineConfig& config)
    : config_(config),
      network_(config_),
      links_(network_.links()),
      plans_(make_plans(config_)),
      heads_(Ends::heads(config_), Flows::heads(config_), count_sources(config_)),
      packet_log_(count_subflows(config_)),
      ends_(config_, links_, plans_, heads_.places()),
      flows_(config_, links_, plans_, heads_.places(heads_.of_transport), ends_.rests()) {
    for (const Link& link : links_) {
        least_down_ns_ = std::min(least_down_ns_, link.down.least_delay());
        least_up_ns_ = std::min(least_up_ns_, link.up.least_delay());
    }
    if (network_.nodes() > 0) least_answer_ns_ = least_up_ns_;
    least_up_ns_ = std::min(least_up_ns_, network_.least_home());
    add_sources();
    for (std::size_t i = 0; i < sources_.size(); ++i)
        heads_.sending.set_idle(heads_.source(i), sources_[i].traffic.start());
    if (config_.objects.size() > 0) heads_.sending.set_idle(heads_.release(), config_.objects.release_ns[0]);
    heads_.sending.set_idle(heads_.slot(), config_.slot_ns);
    PacketLog* const log = config_.trace ? &packet_log_ : nullptr;
    ends_.begin(log);
    flows_.begin(log);
}

template <class Ends>
void Trial<Ends>::add_sources() {
    for (std::size_t l = 0; l < config_.links.size(); ++l)
        for (std::size_t k = 0; k < config_.links[l].cross_traffic.size(); ++k)
            sources_.push_back(
                {TrafficSource(config_.links[l].cross_traffic[k], config_.seed, config_.place(l), k), l});
    std::int64_t flow = 0;
    for (std::size_t l = 0; l < config_.links.size(); ++l)
        for (std::size_t k = 0; k < config_.links[l].flows.size(); ++k, ++flow)
            if (const FlowConfig& of = config_.links[l].flows[k]; of.app_limited)
                sources_.push_back({TrafficSource(of.source, config_.seed, l, kFlowNumbers + k), l, flow});
}

// ----------------------------------------------------------------------------------------------------------- the loop

constexpr unsigned kNowAndThen = (1u << 16) - 1;  // every so many events: Ctrl-C, and the memory held

template <class Ends>
bool Trial<Ends>::run_until(Time until, bool (*interrupted)()) {
    const Time end = end_ns_ = std::min(until, config_.duration_ns);
    ends_.judge(now_);
    while (!over_) {
        const EventTree& next = next_sending();
        if (finished()) {
            if (next.time() >= finish_ns_) break;  // at one instant the delivery was first
        } else if (std::min(next.time(), end) > received_until_ && catch_up(next.time(), end)) {
            continue;
        }
        if (next.time() > end) break;
        DSTCC_CHECK(next.time() >= now_, "time never goes back");
        now_ = next.time();
        on_sending_head(next, next.head());
        if constexpr (Ends::kRuns) ends_.run_on(over_ ? -1 : alone_until());
        if ((++events_ & kNowAndThen) == 0) {
            memory_.note(bytes());
            if (interrupted != nullptr && interrupted()) over_ = true;
        }
    }
    if constexpr (GoesOn<Ends>::value) ends_.put_until(over_ ? now_ : finished() ? finish_ns_ - 1 : end);
    now_ = std::max(now_, finish_ns_);
    if (!over() && end < kNever) now_ = end;
    if (now_ >= config_.duration_ns) over_ = true;
    ends_.judge(now_);
    if (over()) memory_.note_peak(bytes());  // else a trial in steps would have looked more often
    check();
    if (over() || until == kNever)
        ends_.check_layers();  // looks at every layer: not after each slot of a stepped trial
    return !over();
}

template <class Ends>
void Trial<Ends>::step() {
    const EventTree& next = next_sending();
    if (receive(next.time())) return;
    now_ = next.time();
    on_sending_head(next, next.head());
    if ((++events_ & kNowAndThen) == 0) memory_.note(bytes());
}

template <class Ends>
void Trial<Ends>::end(Time at) {
    now_ = at;
    memory_.note_peak(bytes());
    check();
    ends_.check_layers();
}

// What the sending ends do next. At one instant timers go before paced segments and these before the other idle heads;
// packets go before all but paced segments that no timer is before: a host's own clock does not wait for an interrupt.
template <class Ends>
inline const EventTree& Trial<Ends>::next_sending() const {
    const EventTree &busy = heads_.sending.busy(), &idle = heads_.sending.idle(), &pace = heads_.paces;
    const bool paces = pace.time() < idle.time() || (pace.time() == idle.time() && idle.head() >= heads_.timers);
    if (paces) return busy.time() < pace.time() ? busy : pace;
    return busy.time() <= idle.time() ? busy : idle;
}

template <class Ends>
[[gnu::always_inline]] inline void Trial<Ends>::on_sending_head(const EventTree& of, std::size_t head) {
    if (&of == &heads_.sending.busy()) return on_quick(head);
    &of == &heads_.paces ? on_pace(head) : on_idle_head(head);
}

template <class Ends>
[[gnu::always_inline]] inline void Trial<Ends>::on_quick(std::size_t head) {
    const std::size_t own = heads_.of_transport.sending;
    if constexpr (GoesOn<Ends>::value)
        if (ends_.goes()) ends_.hear_until(alone_until());
    __builtin_expect(head < own, 1) ? ends_.handle_quick(now_, head) : flows_.handle_quick(now_, head - own);
}

template <class Ends>
void Trial<Ends>::on_pace(std::size_t sender) {
    const std::size_t own = heads_.of_transport.paces;
    __builtin_expect(sender < own, 1) ? ends_.handle_pace(now_, sender) : flows_.handle_pace(now_, sender - own);
}

// Let the receiving ends go on, so that no ACK is missing, and the last delivery is known, when the sending ends do what is
// next for them; false if there was nothing for them to do. They stop at slots, at which somebody may look at both. A packet
// log wants all in the order of time.
template <class Ends>
bool Trial<Ends>::catch_up(Time next, Time end) {
    if constexpr (!Ends::kAhead) {
        return receive(std::min(next, end));
    } else {
        const Time limit =
            std::min({heads_.sending.at_idle(heads_.slot()), end, config_.trace ? -1 : ends_.apart_until()});
        Time heard = kNever;  // what comes in may be before what is next
        if constexpr (GoesOn<Ends>::value) {
            if (ends_.goes_on()) {
                ends_.put_until(std::min({received_until_, next - 1, end}));
                heard = later(received_until_, least_down_ns_ + least_up_ns_ + 1);
                heard = std::min(heard, later(receiving_next(), least_up_ns_));
                ends_.put_until(std::min({heard - 1, next - 1, end}));
            }
        }
        heard = std::min(heard, later(receiving_next(), least_up_ns_));
        if (std::min(next, end) > limit) {
            const Time by = std::min({next, end, heard});
            if constexpr (GoesOn<Ends>::value) ends_.know_until(by);
            if (receive(by)) return true;
            if (by == std::min(next, end)) return false;
            received_until_ = by;
            return true;
        }
        Time to = std::min(later(std::min(next, heard), least_down_ns_), limit);
        if constexpr (Ends::kRuns) {
            if (const Time last = ends_.take_until(to); last >= 0) received_until_ = last;
            if (finished()) finish_ns_ = received_until_;
        }
        if constexpr (GoesOn<Ends>::value) ends_.know_until(to);
        while (!finished() && receive(to)) {}
        received_until_ = std::max(received_until_, to);
        return true;
    }
}

// What is next for the nodes or the receiving ends, up to and including a time; false if nothing is. At one instant nodes go
// first, then packets.
template <class Ends>
inline bool Trial<Ends>::receive(Time until) {
    const EventTree &packets = heads_.receiving.busy(), &timers = heads_.receiving.idle();
    if (__builtin_expect(network_.next() <= until, 0)) {
        const Time next = std::min(packets.time(), timers.time());
        if (network_.next() <= next) {
            DSTCC_CHECK(network_.next() >= received_until_, "nothing comes to a node in the past");
            received_until_ = network_.next();
            events_ += network_.advance(nodes_until(until, next));
            return true;
        }
    }
    if (packets.time() <= timers.time()) {
        if (packets.time() > until) return false;
        const std::size_t head = packets.head(), own = heads_.of_transport.receiving;
        if (__builtin_expect(head < own, 1))
            receive_run(ends_, head, head, until);
        else
            receive_run(flows_, head - own, head, until);
    } else {
        const Time at = timers.time();
        if (at > until) return false;
        received_until_ = at;
        ++events_;
        const std::size_t head = timers.head(), own = heads_.of_transport.answers;
        head < own ? ends_.handle_answer_timer(at, head) : flows_.handle_answer_timer(at, head - own);
    }
    return true;
}

// How far the nodes may go, whose next event is the first of all up to `until`; the receiving ends' next is at `received`. What the
// ends send from now on comes to them later. Where the trial may end meanwhile they keep to the order of time.
template <class Ends>
Time Trial<Ends>::nodes_until(Time until, Time received) const {
    const Time next = network_.next();
    const Time open = std::min({ends_.open_until(), heads_.sending.at_idle(heads_.slot()), end_ns_});
    const Time sends = std::min(next_sending().time(), later(next, least_up_ns_));
    const Time ahead = std::min({open, later(sends, least_down_ns_), later(next, least_answer_ns_)});
    if (!network_.shared() && ahead >= next) return ahead;
    return std::min({until, received, later(next, network_.least_out())});
}

// What arrives at a head before anything else happens there, for who has it at a place of its own.
template <class Ends>
template <class Party>
[[gnu::always_inline]] inline void Trial<Ends>::receive_run(Party& party, std::size_t place, std::size_t head,
                                                            Time until) {
    const EventTree& timers = heads_.receiving.idle();
    const Time alone = std::min(heads_.receiving.busy_alone_until(head), network_.next() - 1);
    Time next = heads_.receiving.busy().time();
    const Time end = Ends::kAhead ? std::min({until, alone, later(next, least_answer_ns_)}) : -1;
    do {
        DSTCC_CHECK(next >= received_until_, "nothing arrives in the past");
        received_until_ = next;
        ++events_;
        next = party.receive(next, place);
        if (finished()) finish_ns_ = received_until_;
    } while (next <= end && next <= timers.time() && !finished());
    if (heads_.receiving.at(head) != next) heads_.receiving.set_busy(head, next);
}

// Timers, one per sender; then the source, the sampler, the others' traffic.
template <class Ends>
void Trial<Ends>::on_idle_head(std::size_t head) {
    const std::size_t own = heads_.of_transport.timers;
    if (head < own) return ends_.handle_timer(now_, head);
    if (head < heads_.timers) return flows_.handle_timer(now_, head - own);
    if (head == heads_.release()) return heads_.sending.set_idle(head, ends_.handle_release(now_));
    if (head == heads_.slot()) return on_slot();
    head < heads_.last ? on_source(head - heads_.source(0)) : ends_.handle_last(now_);
}

template <class Ends>
void Trial<Ends>::on_slot() {
    flows_.handle_slot(now_);
    ends_.handle_slot(now_);
    network_.sample();
    memory_.note(bytes());
    check();
    ends_.judge(now_);
    over_ = over_ || silent_for_good();
    heads_.sending.set_idle(heads_.slot(), now_ + config_.slot_ns);
}

template <class Ends>
bool Trial<Ends>::silent_for_good() const {
    if (config_.duration_ns != kNever || ends_.released() < config_.objects.size()) return false;
    const Time quiet_since = std::max({ends_.quiet_since(), dark_until(config_, now_), config_.begin_ns});
    return stalled(now_, quiet_since, config_.transport.constants.rto_max, ends_.longest_one_way_ns());
}

template <class Ends>
void Trial<Ends>::on_source(std::size_t i) {
    Source& source = sources_[i];
    Time next = kNever;
    const bool due = source.traffic.poll(now_, next);
    heads_.sending.set_idle(heads_.source(i), next);
    if (!due) return;
    if (source.flow >= 0) return flows_.handle_write(now_, static_cast<std::size_t>(source.flow));
    links_[source.link].down.transmit(now_, source.traffic.packet_bytes());
    ++cross_packets_;
}

// --------------------------------------------------------------------------------------------------- bookkeeping

template <class Ends>
void Trial<Ends>::check() const {
    for (std::size_t l = 0; l < links_.size(); ++l) {
        const Direction &down = links_[l].down, &up = links_[l].up;
        const std::int64_t data = ends_.data_under_way(l) + flows_.data_under_way(l);
        const std::int64_t acks = ends_.acks_under_way(l) + flows_.acks_under_way(l);
        DSTCC_CHECK(down.sent() >= down.dropped() + down.lost() + data, "packets are conserved");
        DSTCC_CHECK(up.sent() >= up.dropped() + up.lost() + acks, "packets are conserved");
    }
    network_.check();
    DSTCC_CHECK(network_.sent_first() == ends_.packets() + flows_.packets() + cross_packets_,
                "what links carried, somebody sent");
    ends_.check();
    flows_.check();
}

template <class Ends>
TransportStats Trial<Ends>::totals() const {
    TransportStats out;
    ends_.add_to(out);
    out.sent_wire_bytes = out.sent_payload_bytes + config_.transport.header_bytes * ends_.packets();
    out.dropped_queue_packets = network_.dropped();
    out.lost_channel_packets = network_.lost();
    out.events = events_;
    out.engine_peak_bytes += memory_.peak_bytes();
    return out;
}

}  // namespace dstcc
