// The sending end of `coded`: layers come in, packets go out over the subflows, acknowledgements come back.
//
//   source    the parts of layers as they are, cut into packets, the oldest first
//   turn      deadline + layer x gap, where the transport sends base layers first: the gap is a block, or the time that there is
//             (deadline - release - light) divided by the layers if that is less, or if a queue further on was seen: what is left
//             there may fall to any rate, and layers below are so much ahead then, as they are where a backlog stands that leaves no round
//             trip for fresh packets, and these gain more than that costs. So where not all can be sent a layer is ahead of the
//             one above it by a gap, and what is given up is the highest layer's; and where all can, in the end, a backlog of one
//             layer is not waited for by all below it
//   admitted  where not all that waits can be sent in time, what fits into the contacts of the plan, lower layers first (coding/admission.hpp).
//             The rest goes when nothing admitted waits. Where not all of the lowest layer fits and a byte of it with layers above it is
//             worth more than one of its own, these go together, with one turn: fewer chunks, and more of each
//   closed    a block whose members were all released and sent or given up: its k is known, and its r repair packets wait
//             (a share of k, rounded up, or `auto`)
//   repair    goes before the source packets of its layer; over the link of most of its block (`same`), another (`other`), or
//             each in its turn (`spread`), of those that are in time for as much of the block as any is. Where paths lose unlike shares
//             and all that waits fits, `same` is over those that lose the least
//   fresh     a block that a loss leaves short (acknowledged, under way and waiting are fewer than it needs) gets further
//             repair packets, unless no missing part of it could be in time (after FMTCP: Cui et al., ToN 2015)
//   over      so many packets of it are acknowledged that it is back, or no missing part can be in time
//
//   kept     where nodes store: what others over the same first line bring before a line further on is back, and what its storage has no
//            room for until then (coding/storage_seen.hpp). Once others say that storage overflows, all of a line of which nothing is heard.
//            With or without nodes, what others bring in time, of a path whose reports are too late for repair by the plan; and of one
//            that loses kMuchMore than they do, unless some of what waits does not fit
//
// What a packet is sent over: of the subflows with room that can bring it in time, the one of the least smoothed round trip.
// What no subflow can bring in time is given up, with what builds on it; and so early that its block's repair can still be in time.
//
// It knows its own queues, the contact plans and what ACKs say. `handshake = false`: the plan's light time stands for the first
// round trip, and nothing is sent in an outage.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "coding/action.hpp"
#include "coding/admission.hpp"
#include "coding/blocks.hpp"
#include "coding/flight.hpp"
#include "coding/repair_rule.hpp"
#include "coding/setup.hpp"
#include "coding/storage_seen.hpp"
#include "core/events.hpp"
#include "core/histogram.hpp"
#include "core/outcome.hpp"
#include "core/subflow_set.hpp"
#include "dispatch/layer_sending.hpp"
#include "link/answer_clock.hpp"
#include "link/transmitter.hpp"

namespace dstcc {

// What a sender knows of a block; constant in size, whatever the block's.
struct BlockSending {
    std::uint32_t source = 0, repair = 0;      // packets sent
    std::uint32_t waiting = 0;                 // repair packets still to be sent
    std::int32_t planned = -1;                 // repair packets without a loss that asks for more; -1: not yet decided
    std::uint32_t under_way = 0, arrived = 0;  // as far as is known
    std::uint32_t lost = 0, source_lost = 0;
    std::uint32_t doubted = 0;       // of those under way: their path fell silent
    std::uint32_t last = 0;          // of repair: asked for when there was time for no more after it
    std::uint32_t refused = 0;       // of the lost: by a full queue further on, of which no channel is the cause
    std::uint32_t open_members = 0;  // not yet sent whole or given up
    std::uint32_t first_missing = 0,
                  last_missing = 0;  // members from the first to the one before the last may be missing
    std::uint16_t symbol_bytes = 0;  // the largest of its source packets: what a repair packet carries
    std::int16_t main = -1;          // the subflow that carried most of it (Boyer, Moore), with its lead
    std::uint32_t lead = 0;
    bool closed = false, over = false, queued = false, heard = false;
    bool guessed = false;           // of some of its packets nobody says which arrived
    float share = 0;                // of losses, that its repair was planned for
    LossHeard::Shares shares = {};  // by each memory, when it was closed
    float left = 1;  // by fresh packets, of what repair does not bring back; as of when it was planned first
};

// Of a code word, in blocks of several.
struct WordSending {
    std::uint32_t arrived = 0, under_way = 0, waiting = 0, repair = 0, doubted = 0, last = 0;
};

class CodedSendingEnd {
public:
    static constexpr std::int64_t kHeard = 512;  // packets
    struct Subflow {
        Flight flight;
        Transmitter out;
        const ContactPlan* plan;
        AnswerClock clock;
        std::size_t link, line;  // its path; the first one that begins with the same line
        Time syn_at = kNever, light_ns = 0, further_on_ns = 0;
        Time change_ns = 0;  // until then the contact plan says nothing new
        unsigned syns = 0, backoffs = 0;
        std::int64_t sent = 0, repaired = 0, delivered_bytes = 0;
        std::int64_t heard = 0, heard_lost = 0;         // packets whose fate is known
        Time heard_from_ns = kNever, heard_to_ns = -1;  // when they were sent, since forget_times()
        Time first_ns = kNever;                         // the first of all
        bool proven = false;                            // they are kHeard, or of a round trip
        PathLosses losses = {};
        LostLately lately = {};
        StorageSeen storage = {};
        Time away_ns = 0;  // the planned wait further on, of what is sent now or within a sixteenth of a round trip
        Stay stay = {};    // of what is sent now
        bool up = true;
        bool mute = false;   // by the plan, until repair would be too late
        bool fills = false;  // storage, as far as anybody knows
        // Propagation, the planned wait for contacts further on, and the downstream queue that its control measures.
        Time one_way_ns() const { return light_ns + further_on_ns + flight.tcp().ahead_ns; }
        // Over nodes, of which little was heard: its lines further on may be slower.
        bool unproven() const { return clock.over_nodes() && !proven && flight.wants_reports(); }
    };
    struct Setup {
        const TransportConfig& transport;
        const ObjectsConfig& objects;
        const CodingConfig& coding;
        Time begin_ns = 0;      // of the first handshakes
        Time ends_ns = kNever;  // the mission, as the plan has it
    };
    CodedSendingEnd(const Setup& setup, const BlockMap& blocks, BlockHeaders& headers, Timers timers, Timers paces);
    void add(Subflow subflow);
    void begin();

    // --- what happens to it
    void handle_established(Time now, std::size_t s, Time syn_ns);
    void handle_ack(Time now, std::size_t s, const PacketAck& ack);
    // Which of the layers that it asks for are there; before the ACK that says so.
    void handle_answer(Time now, std::size_t s, const std::vector<bool>& there);
    void handle_timer(Time now, std::size_t s);
    void handle_pace(Time now, std::size_t s);
    // --- the same where there is little to look at: an ACK that only says that what follows arrived; a pace that lets go what can only be
    // the next packet of a layer. False where it is more than that, and nothing was done
    bool hear_next(Time now, std::size_t s, Range newest, Time wait_ns, Time one_way_ns);
    bool send_next(Time now, std::size_t s);
    // Each of its subflows has a link of its own.
    void set_alone() {
        for (Subflow& subflow : subflows_) {
            subflow.flight.join_alike();
            sends_alike_ = !subflow.flight.wants_queue();
        }
    }
    // What its paces bring of one layer's packets up to then, but for the first and the last of it, of which there is nothing to ask.
    // `answered` says whether an ACK comes to a subflow at that time.
    using Answered = std::function<bool(std::size_t s, Time at)>;
    bool send_on(Time until, const Answered& answered);
    Time now() const { return now_; }
    // Something waits that no free subflow takes now: whatever happens next, they are asked again.
    bool asks_again() const { return ready_ != 0 && (backlog_ > 0 || queued_ > 0); }
    // Until when ACKs that follow all that is known are only counted: sends may go before those of the time until then. Before: they are
    // not. By subflow, what every answer takes at least.
    Time counts_until(Time now, const std::vector<Time>& round_trips) const;
    // Of a subflow's oldest packets that stand in one record: whether no block is back or known with so many of it.
    bool only_counts(std::size_t s, std::int64_t packets);
    // Of ACKs of such packets, as Flight::count() takes them.
    void count(std::size_t s, const Run& times, std::int64_t first, std::int64_t each, Time wait_ns, Time one_way_ns,
               Time longer_ns);
    std::int64_t alike(std::size_t s) { return subflows_[s].flight.alike(); }
    void count(Time now, std::size_t s, std::int64_t end, Time wait_ns, Time one_way_ns);
    Time handle_release(Time now);  // when the next layer is due
    void handle_slot(Time now);
    void steer(Time now, const CodedAction& action);
    void forget_times();

    // --- for observers
    const std::vector<const TcpState*>& siblings() const { return siblings_; }
    std::size_t subflows() const { return subflows_.size(); }
    const Subflow& subflow(std::size_t s) const { return subflows_[s]; }
    const std::vector<LayerSending>& layers() const { return layers_; }
    const std::vector<BlockSending>& blocks() const { return sent_; }
    const LossHeard& losses() const { return losses_; }
    // Nothing waits and nothing more will: all was released, and no loss could ask for more.
    bool done() const { return released_ == objects_.size() && backlog_ == 0 && open_blocks_ == 0; }
    std::size_t released() const { return released_; }
    // Bytes of an object that the receiver is known to have: all of it or none, by its own packets or those of its block.
    std::int64_t acknowledged(std::size_t object) const;
    Time longest_one_way_ns() const;
    const LogHistogram& waits() const { return waits_; }
    std::int64_t source_payload() const { return source_payload_; }
    std::int64_t repair_payload() const { return repair_payload_; }
    std::int64_t fresh_payload() const { return fresh_payload_; }
    std::int64_t probe_payload() const { return probe_payload_; }
    std::int64_t data_packets() const { return data_packets_; }
    std::int64_t packets_in_runs() const { return packets_in_runs_; }
    Time first_send_ns() const { return first_send_ns_; }
    std::int64_t bytes() const;
    void check() const;

private:
    static constexpr float kNoShare = 2;
    static constexpr double kMuchMore = 0.1;  // is lost of a path than of others
    struct Level {
        std::deque<std::uint32_t> objects;    // that wait, the oldest first
        std::uint32_t begun = kNoObject;      // of these, the one of which a packet went last
        std::deque<std::uint32_t> blocks;     // with repair packets that wait
        std::uint32_t looked_at = kNoObject;  // an object that does not expire by itself until then
        Time quiet_ns = -1;
    };
    struct Choice {
        int subflow = -1;
        std::uint32_t object = kNoObject, block = kNoBlock;
    };

    // coding/sending_end.cpp
    void open(std::size_t s, Time at);
    void start(std::size_t s, Time rtt);
    void send_syn(std::size_t s);
    void pump(std::size_t s);
    void offer();
    void refresh(std::size_t s);
    void refresh_paths(bool at_slot = false);
    Time queue_before_next(const Subflow& subflow) const;
    void look_at_lines();
    bool fills(const Subflow& subflow) const;
    bool gives_way(const Subflow& subflow) const;
    SubflowSet speaking() const;
    SubflowSet losing_less(std::size_t s) const;
    // Behind nodes it may be storage that loses it.
    bool loses_more(std::size_t s, double share) const {
        return !subflows_[s].clock.over_nodes() && loses_of(s) - share > kMuchMore;
    }
    bool others_bring_all(SubflowSet others);
    bool keeps_back(std::size_t s) const {
        const Subflow& subflow = subflows_[s];
        return contains(giving_way_, s) || subflow.storage.full(subflow.stay);
    }
    void tell_gap(Subflow& subflow) const;
    bool resting(std::size_t s);
    void finish(std::size_t s);
    void arm(std::size_t s);
    void send_source(std::size_t s, std::uint32_t object);
    void send_repair(std::size_t s, std::uint32_t block);
    void send_probe(std::size_t s);
    // A packet of the block goes over that subflow.
    void note_main(std::uint32_t number, std::size_t s) {
        BlockSending& block = sent_[number];
        note_over(number, s, 1);
        if (block.lead == 0) block.main = static_cast<std::int16_t>(s);
        block.lead = block.main == static_cast<std::int16_t>(s) ? block.lead + 1 : block.lead - 1;
    }
    void note_over(std::uint32_t number, std::size_t s, std::int64_t packets) {
        if (!over_.empty()) over_[number * subflows_.size() + s] += static_cast<std::uint32_t>(packets);
    }
    bool put(std::size_t s, std::uint32_t block, std::uint32_t object, std::uint16_t bytes);
    void put(std::size_t s, const Run& times, std::uint32_t block, std::uint32_t object);
    bool transmit(std::size_t s, std::uint32_t block, std::uint32_t object, std::uint16_t bytes);

    // coding/asking.cpp
    void ask();
    void note_there(std::uint32_t object);
    void look_after_held();
    // An earlier connection brought it.
    bool there(std::uint32_t object) const {
        return layers_[object].offset == objects_.payload_bytes[object] && headers_.whole[object] == 0;
    }

    // coding/admitting.cpp
    bool plans() const;
    void plan_ahead();
    bool look_over_contacts(Admission& ahead) const;
    double carried() const;
    double used();
    bool never_away() const;
    double backlog_ns() const { return static_cast<double>(backlog_) * most_ns_per_byte_; }
    bool leaves_out() const;
    bool nothing_to_choose(Time interval, double asked) const;
    void note_waste(double bytes);
    void note_overload(double asked);
    Time early() const;
    std::vector<double> released_rates();
    double released_rate();
    std::int64_t with_headers(std::int64_t payload) const;
    double with_repair() const;
    void rank_apart();
    std::size_t last_worth(std::size_t first) const;
    bool admit_layers(std::size_t first, std::size_t last);
    void close_in_time(std::size_t layer, Time notice);

    // coding/sending_runs.cpp
    std::int64_t go_alike(std::uint32_t object, std::int64_t most, Time until);
    void note_main(std::uint32_t number, const std::array<std::int64_t, 2>& packets, std::size_t last);
    void look_at(std::size_t s, std::uint32_t object);
    bool in_any_order(Time now, std::uint32_t object, std::int64_t left);
    std::size_t first_at(Time now, std::size_t s, const Answered& answered) const;

    // coding/choosing.cpp
    bool look_ahead();
    void look();
    Choice choose();
    Choice choose_for_silent(SubflowSet silent);
    Choice choose_repair_of(Level& level, SubflowSet ready);
    Choice choose_source(const Level& level, SubflowSet ready) const;
    SubflowSet up(SubflowSet set) const;
    SubflowSet losing_least(SubflowSet set) const;
    SubflowSet for_repair(SubflowSet set, bool fresh) const;
    std::int64_t repair_bytes(std::uint32_t block, std::uint32_t packets) const {
        return std::int64_t{packets} * (sent_[block].symbol_bytes + header_bytes_);
    }
    bool alike() const { return losing_least(heard()) == heard(); }
    int choose_repair(std::uint32_t block, SubflowSet ready);
    // Of which something is heard; all where nothing is of any.
    SubflowSet heard() const {
        const SubflowSet heard = established_ & ~silent_;
        return heard != 0 ? heard : established_;
    }
    // After what may have changed that.
    void note_silent(std::size_t s) { subflows_[s].flight.stale() ? insert(silent_, s) : erase(silent_, s); }
    SubflowSet in_time(SubflowSet set, Time deadline) const;
    SubflowSet fitting(SubflowSet set, std::uint32_t object) const;
    Time shorter_by(std::uint32_t object, std::size_t s) const;
    int quickest(SubflowSet set) const;
    Time earliest(SubflowSet set) const;
    bool expired(std::uint32_t object) const;
    Time expiry(std::uint32_t object) const;
    Time soonest_expiry(std::uint32_t object) const;
    bool left_out(std::uint32_t object) const {
        const std::size_t layer = objects_.layer[object];
        return layer < action_.left_out.size() && action_.left_out[layer] != 0 && layers_[object].offset == 0;
    }
    RepairPlace place() const { return action_.place < 0 ? coding_.place : static_cast<RepairPlace>(action_.place); }
    Time length_of(std::uint32_t block) const { return repaired_[map_.layer_of(block)] != 0 ? length_ns_[block] : 0; }
    void note_quiet(Level& level, std::uint32_t object);
    bool reachable(Time deadline) const { return !deadlines_ || now_ + least_light_ns_ <= deadline; }
    void give_up(std::uint32_t object);
    Time behind(std::uint32_t object, Time light) const;
    Time latest(std::uint32_t object, std::size_t s) const;
    void leave_out(Level& level);
    void drop_expired(Level& level);
    void drop_expired();
    std::size_t level_of(std::size_t layer) const { return by_layer_ ? layer : 0; }
    Level& level_with(std::uint32_t object) {
        return levels_[level_of(objects_.layer[object]) + (deferred_[object] != 0 ? map_.layers() : 0)];
    }
    // What goes first. Where playout waits for base layers, a period's base layers go behind the others and their repair: a chunk
    // that is waited for is then there with all of its layers.
    Time turn_of(std::uint32_t object, std::size_t level, Time oldest = 0) const {
        if (transport_.drop_late) {
            const Time due = deadlines_ ? objects_.deadline_ns[object] : objects_.release_ns[object];
            return std::max(std::min(due, kNever / 8), oldest) + turn_after(level);
        }
        return 2 * static_cast<Time>(map_.block_of(object) / map_.layers()) + (level == 0);
    }
    // Added to a release: a level's turn.
    Time turn_after(std::size_t level) const {
        if (level < map_.layers()) return static_cast<Time>(ranks_[level]) * gap_ns_;
        return kNever / 4 + static_cast<Time>(level - map_.layers()) * (kNever / 4 / static_cast<Time>(map_.layers()));
    }

    // coding/repairing.cpp
    void take_fates(std::size_t s);
    void take(std::size_t s, const Fate& fate);
    static void note_stay(Subflow& over, Time sent, double bytes, bool lost);
    bool was_refused(const Subflow& over, Time sent) const;
    bool flows_on(const Subflow& over) const;
    void take_heard(std::size_t s);
    void note_heard(Subflow& over, const Heard& heard);
    void note_heard_of(Subflow& over, Time first, Time last);
    void count_arrived(const Heard& heard, std::uint32_t packets);
    void doubt(const SentPacket& packet);
    void member_done(std::uint32_t block);
    void close(std::uint32_t block);
    std::int64_t planned_repair(std::uint32_t block);
    // By what was heard of it; and in bytes in a nanosecond.
    double loses_of(std::size_t s) const { return subflows_[s].losses.settled(); }
    double lately_of(std::size_t s) const { return subflows_[s].losses.share(losses_.best()); }
    double loses(std::size_t s) const { return subflows_[s].flight.rate() * lately_of(s); }
    double share_ahead() const;
    double mean_lost(SubflowSet paths, bool settled) const;
    struct ShareKnown {
        double share = -1, unsure = 0;  // see PlannedLayer
    };
    ShareKnown share_of(std::uint32_t block) const;
    bool is_last(std::uint32_t block);
    double left_by_fresh(std::uint32_t block) const;
    bool plans_again() const;
    bool goes_straight_on(const Subflow& over, Time at) const;
    int round_trips(Time deadline, SubflowSet first) const;
    double sure() const;
    double proven(const std::vector<PlannedLayer>& layers, double bytes) const;
    double spared(std::uint32_t first, const std::vector<PlannedLayer>& layers, double bytes) const;
    void plan_period(std::uint32_t period, bool closes);
    void plan_again();
    void note_gains(std::vector<PlannedLayer> layers, double bytes);
    void repair_between_outages(std::uint32_t first, std::vector<PlannedLayer> layers, double bytes,
                                std::vector<std::int64_t>& repair);
    bool drains(std::vector<PlannedLayer> layers, double bytes);
    void put_base_ahead(std::vector<PlannedLayer> layers, double bytes);
    PlannedLayer needs(std::uint32_t block) const;
    bool repairs(std::uint32_t block) const { return sent_[block].closed && sent_[block].planned >= 0; }
    double rarely_too_few(const BlockSending& block) const;
    void review(std::uint32_t block);
    void want(std::uint32_t block, std::uint32_t word, std::int64_t packets, bool last);
    void want_spread(std::uint32_t block, std::int64_t packets, bool last = false);
    void want_no_more(std::uint32_t block);
    void end(std::uint32_t block);
    bool missing(std::uint32_t object, bool fresh) const;
    bool settled(std::uint32_t object) const;
    Time last_deadline(std::uint32_t block, bool fresh);
    Time next_deadline(std::uint32_t block, bool fresh, Time from);
    bool only_fresh(const BlockSending& block) const {
        return block.planned >= 0 && static_cast<std::int64_t>(block.repair) >= block.planned;
    }
    void note_all_known(std::uint32_t number);
    // What a word has, needs, and may still get.
    struct Supply {
        std::uint32_t arrived, coming, needs;
        std::int64_t room;
    };
    Supply supply(std::uint32_t block, std::uint32_t word) const;
    std::int64_t room(std::uint32_t block) const;
    bool enough(std::uint32_t block) const;
    bool interleaved(std::uint32_t block) const { return map_.words(block) > 1; }
    WordSending& word_of(std::uint32_t order) { return words_[map_.word(block_in(order), word_in(order))]; }
    std::uint32_t next_word(std::uint32_t block) const;
    std::uint32_t needed(const BlockSending& block) const;

    const TransportConfig& transport_;
    const ObjectsConfig& objects_;
    const CodingConfig& coding_;
    const BlockMap& map_;
    BlockHeaders& headers_;
    Timers timers_, paces_;
    Time begin_ns_, ends_ns_;
    bool stored_, by_layer_, deadlines_ = false;
    std::uint32_t header_bytes_;
    Time now_ = 0;
    std::vector<Subflow> subflows_;
    std::vector<const TcpState*> siblings_;
    SubflowSet ready_ = 0, established_ = 0;
    SubflowSet silent_ = 0;         // that are stale
    SubflowSet giving_way_ = 0;     // to others
    Time lines_until_ns_ = kNever;  // then they are looked at again
    SubflowSet kept_back_ = 0;      // free to send, but for what it would fill
    Time gap_ns_ = 0;               // between the turns of a chunk's layers
    Time spare_ns_ = kNever;        // from a release to when it must leave
    Time least_light_ns_ = 0;       // one way, of the established, or of all while none is
    Time least_queue_ns_ = 0;       // in front of what is sent next, of those that are up; as of the last slot
    double rate_ = 0;               // bytes in a nanosecond, of all; as of the last slot
    bool rates_known_ = false;      // of all of these
    double used_ = 1;               // of it, by the source; as of the last slot
    double most_ns_per_byte_ = 0;   // of payload, with the headers of full packets
    Time shortest_wait_ns_ = kNever, longest_wait_ns_ = 0;  // from an object's release to its deadline
    SubflowSet open_ = 0;                                   // of this choice: see look()
    std::uint32_t next_ =
        kNoObject;             // what goes next over whatever subflow has time for it, as long as nothing else happens,
    Time next_until_ns_ = -1;  // and until then
    std::vector<Time> arrival_ns_;
    struct Going {
        Time pace_ns = kNever;            // of its next packet
        bool tried = false;               // whether one was put on its link, or kept
        Time until_ns = -1, due_ns = -1;  // the last time at which one may go; when it must be there
        Time one_way_ns = 0;
        std::uint32_t packets = 0;
        Run times =
            {};  // of those that are put on its link at the end: where they leave at a distance that is known, and wait alike
    };
    bool sends_alike_ = false;            // over links of their own, at distances that are known
    std::vector<Going> going_;            // by subflow, of a layer's packets that are sent one after another
    std::vector<Time> length_ns_;         // by block: from its first deadline to its last, or release
    std::vector<std::uint8_t> repaired_;  // by layer: whether its blocks have repair
    CodedAction action_;
    std::size_t turn_ = 0;  // `spread`: whose repair packet is next
    std::size_t released_ = 0;
    std::vector<double> released_bytes_;            // by layer
    std::vector<std::size_t> ranks_;                // by layer: the lowest of those that it goes together with
    std::size_t lately_from_ = 0, lately_end_ = 0;  // of these objects
    std::vector<std::int64_t> lately_;              // by layer: bytes on the wire, without repair
    std::vector<Level> levels_;                     // of the layers what is admitted, then of each what is not
    std::vector<std::uint8_t> deferred_;            // by object: not admitted
    Admission admission_;
    Time next_plan_ns_ = 0;
    Time overload_from_ns_ = kNever;         // since then the source asks for more than the paths bring
    double gains_[kRounds + 1] = {0, 0, 0};  // of the weight, with so many round trips of fresh packets for each block
    Time early_ns_ = 0;                      // before its deadline, what is admitted leaves so much sooner than it must
    double wasted_ = 0;                      // see note_waste(); as of the last
    Time wasted_at_ns_ = 0;
    bool layers_steered_ = false;      // somebody outside has left layers out
    bool base_ahead_ = false;          // by a round trip
    bool drains_ = false;              // see drains()
    bool meets_others_ = false;        // a queue further on was seen
    std::vector<std::uint32_t> held_;  // what waits for an answer whether it is there; rising
    std::vector<std::uint8_t> holds_;  // by object: whether it is asked for; none where nothing is
    SubflowSet answered_ = 0;          // of which an answer came
    std::vector<LayerSending> layers_;
    std::vector<std::int64_t> acked_bytes_;  // by object
    std::vector<std::uint8_t> hit_;          // by object: a packet of it was lost
    std::vector<BlockSending> sent_;
    std::vector<WordSending> words_;    // by BlockMap::word()
    std::vector<std::uint32_t> over_;   // by block and subflow: packets sent; none over one subflow
    std::int64_t most_;                 // packets of a word
    std::size_t open_blocks_ = 0;       // neither over nor empty
    std::size_t queued_ = 0;            // in the levels, for repair packets
    std::int64_t waiting_bytes_ = 0;    // of these packets, on the wire
    std::deque<std::uint32_t> closed_;  // of these, the closed ones
    float least_share_ = kNoShare;      // that repair of one of these was planned for, at most
    LossHeard losses_;
    Time first_heard_ns_ = kNever, last_heard_ns_ = 0;  // when the packets were sent of which anything was heard
    RepairRule rule_;
    LogHistogram waits_;
    std::int64_t backlog_ = 0;  // released, neither sent nor given up
    std::int64_t source_payload_ = 0, repair_payload_ = 0, fresh_payload_ = 0, probe_payload_ = 0, data_packets_ = 0,
                 packets_in_runs_ = 0;
    Time first_send_ns_ = -1;
};

}  // namespace dstcc
