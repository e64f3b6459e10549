#include "coding/sending_end.hpp"

namespace dstcc {

namespace {

constexpr Time kGoesOn = 16;                         // in a round trip: after so long what leaves now has gone on
constexpr double kMostAsked = 0.95;                  // of what others bring, without repair
constexpr double kOfAll = 0.9, kOfWhatComes = 0.25;  // of the time there is, where nothing more comes and where it does
constexpr std::int64_t kUnheard = 64;                // packets of a line that may be what fills storage
constexpr Time kAheadOfReports = 4;                  // light times, for the lowest of stored layers

}  // namespace

CodedSendingEnd::CodedSendingEnd(const Setup& setup, const BlockMap& blocks, BlockHeaders& headers, Timers timers,
                                 Timers paces)
    : transport_(setup.transport),
      objects_(setup.objects),
      coding_(setup.coding),
      map_(blocks),
      headers_(headers),
      timers_(timers),
      paces_(paces),
      begin_ns_(setup.begin_ns),
      ends_ns_(setup.ends_ns),
      stored_(setup.transport.drop_late && !setup.transport.layer_first),
      by_layer_(!stored_ || !setup.transport.handshake),
      header_bytes_(static_cast<std::uint32_t>(setup.transport.header_bytes)),
      length_ns_(blocks.blocks(), 0),
      repaired_(blocks.layers(), 0),
      released_bytes_(blocks.layers(), 0),
      ranks_(blocks.layers()),
      lately_(blocks.layers(), 0),
      levels_(by_layer_ ? 2 * blocks.layers() : 1),
      deferred_(objects_.size(), 0),
      layers_(objects_.size()),
      acked_bytes_(objects_.size(), 0),
      hit_(objects_.size(), 0),
      sent_(blocks.blocks()),
      words_(blocks.interleaved_words()),
      most_(most_in_word(setup.coding)) {
    for (std::size_t object = 0; object < objects_.size(); ++object) {
        const Time deadline = objects_.deadline_ns[object];
        deadlines_ = deadlines_ || (transport_.drop_late && deadline != kNever);
        const Time wait = deadline == kNever ? kNever : deadline - objects_.release_ns[object];
        shortest_wait_ns_ = std::min(shortest_wait_ns_, wait);
        longest_wait_ns_ = std::max(longest_wait_ns_, wait);
    }
    for (std::size_t layer = 0; layer < repaired_.size(); ++layer)
        repaired_[layer] = coding_.automatic || (layer < coding_.repair.size() && coding_.repair[layer] > 0);
    for (std::uint32_t block = 0; block < map_.blocks(); ++block) {
        sent_[block].open_members = sent_[block].last_missing = map_.size(block);
        open_blocks_ += map_.size(block) > 0;
        if (map_.size(block) > 0) {
            const std::uint32_t first = map_.member(block, 0), last = map_.member(block, map_.size(block) - 1);
            const auto& when = objects_.deadline_ns[last] == kNever ? objects_.release_ns : objects_.deadline_ns;
            length_ns_[block] = when[last] - when[first];
        }
    }
    rank_apart();
    ask();
}

void CodedSendingEnd::add(Subflow subflow) {
    DSTCC_CHECK(subflows_.size() < kMaxSubflows, "at most 128 subflows");
    if (!transport_.handshake) subflow.flight.set_clock(subflow.clock);
    for (Subflow& other : subflows_)
        if (other.line == subflow.line) {
            other.storage.share();
            subflow.storage.share();
        }
    subflows_.push_back(std::move(subflow));
    arrival_ns_.push_back(kNever);
    going_.emplace_back();
}

void CodedSendingEnd::begin() {
    if (subflows_.size() > 1) over_.resize(sent_.size() * subflows_.size());
    refresh_paths(true);
    for (std::size_t s = 0; s < subflows_.size(); ++s) open(s, begin_ns_);
}

// ------------------------------------------------------------------------------------------------------ handshakes

// As tcp/senders.cpp's, where there are handshakes. Without one a subflow starts with its first contact.
void CodedSendingEnd::open(std::size_t s, Time at) {
    Subflow& subflow = subflows_[s];
    if (transport_.handshake) {
        subflow.syn_at = subflow.plan->opening(at);
    } else {
        const ContactPlan::Contact contact = subflow.plan->contact(at);
        subflow.syn_at = contact.up ? at : contact.change_ns < kNever - at ? at + contact.change_ns : kNever;
    }
    arm(s);
}

void CodedSendingEnd::send_syn(std::size_t s) {
    Subflow& subflow = subflows_[s];
    const ConstantsNs& constants = transport_.constants;
    ++subflow.syns;
    const unsigned shift = std::min(subflow.backoffs++, 30u);
    const Time backoff =
        constants.rto_initial > (constants.rto_max >> shift) ? constants.rto_max : constants.rto_initial << shift;
    const Time again = subflow.plan->reopening(now_);
    subflow.syn_at = std::min(subflow.plan->opening(now_ + backoff), again);
    if (subflow.syn_at == again) subflow.backoffs = 0;
    subflow.out.send(now_, s, 0, 0, 0, 0, header_bytes_, false);
}

void CodedSendingEnd::start(std::size_t s, Time rtt) {
    Subflow& subflow = subflows_[s];
    subflow.syn_at = kNever;
    subflow.flight.establish(now_, std::max<Time>(rtt, 1));
    siblings_.push_back(&subflow.flight.tcp());
    insert(established_, s);
    refresh_paths(true);
    pump(s);
    look_after_held();
}

void CodedSendingEnd::handle_established(Time now, std::size_t s, Time syn_ns) {
    now_ = now;
    if (!subflows_[s].flight.established()) start(s, now_ - syn_ns);
}

// --------------------------------------------------------------------------------------------------------- coming in

void CodedSendingEnd::handle_ack(Time now, std::size_t s, const PacketAck& ack) {
    now_ = now;
    subflows_[s].flight.handle_ack(now_, ack);
    note_silent(s);
    take_fates(s);
    pump(s);
    // Those that would have said it were lost.
    if (!held_.empty() && !deadlines_ && !contains(answered_, s)) handle_answer(now_, s, {});
}

void CodedSendingEnd::handle_timer(Time now, std::size_t s) {
    now_ = now;
    Subflow& subflow = subflows_[s];
    timers_.set(s, kNever);
    if (!subflow.flight.established()) {
        if (subflow.syn_at > now_) return arm(s);
        if (!transport_.handshake) return start(s, 2 * subflow.plan->light_ns(now_));
        send_syn(s);
        return arm(s);
    }
    if (resting(s) || !subflow.flight.handle_timer(now_)) return arm(s);
    note_silent(s);
    take_fates(s);
    pump(s);
    if (subflow.flight.probing()) send_probe(s);
    arm(s);
}

void CodedSendingEnd::handle_pace(Time now, std::size_t s) {
    now_ = now;
    paces_.set(s, kNever);
    pump(s);
}

Time CodedSendingEnd::handle_release(Time now) {
    now_ = now;
    next_ = kNoObject;
    const auto& release = objects_.release_ns;
    while (released_ < release.size() && release[released_] <= now_) {
        const auto object = static_cast<std::uint32_t>(released_++);
        backlog_ += objects_.payload_bytes[object];
        released_bytes_[objects_.layer[object]] += static_cast<double>(objects_.payload_bytes[object]);
        if (left_out(object))
            give_up(object);
        else if (!holds_.empty() && holds_[object] != 0)
            held_.push_back(object);
        else
            levels_[level_of(objects_.layer[object])].objects.push_back(object);
    }
    offer();
    for (std::size_t s = 0; s < subflows_.size(); ++s) finish(s);
    look_after_held();
    return released_ < release.size() ? release[released_] : kNever;
}

void CodedSendingEnd::handle_slot(Time now) {
    now_ = now;
    for (Subflow& subflow : subflows_) subflow.flight.pass_slot(now_);
    refresh_paths(true);
    for (SubflowSet set = kept_back_; set != 0; set &= set - 1)
        if (const auto s = static_cast<std::size_t>(lowest(set)); !keeps_back(s)) pump(s);
    drop_expired();
    look_after_held();
}

// Onto its link, and into its own record. False where it is kept: under a control that watches its own queue, what this has no room for
// goes once there is room. Probes do not wait.
bool CodedSendingEnd::put(std::size_t s, std::uint32_t block, std::uint32_t object, std::uint16_t bytes) {
    Subflow& subflow = subflows_[s];
    const std::uint32_t on_wire = bytes + header_bytes_;
    const bool watches = subflow.flight.wants_queue();
    const std::int64_t before = watches ? subflow.out.queue_bytes(now_) : 0;
    const Time room = watches && block != kNoBlock ? subflow.out.room_at(now_, on_wire) : now_;
    const bool kept = room > now_;
    if (!kept) {
        const std::int64_t number = subflow.flight.append(now_, block, object, bytes);
        const Time wait = subflow.out.send(now_, s, number, object, block, bytes, header_bytes_, object != kNoObject);
        if (wait >= 0) waits_.add(wait);
        if (subflow.stay.until >= 0) subflow.storage.send(subflow.stay, bytes);
        ++subflow.sent;
    }
    if (watches)
        subflow.flight.watch_queue(now_,
                                   {before, subflow.out.queue_bytes(now_), on_wire, now_ + subflow.out.queue_ns(now_)});
    if (kept) subflow.flight.wait_until(room);
    return !kept;
}

// ---------------------------------------------------------------------------------------------------------- going out

// Lines are looked at only at slots, as a run of packets asks nobody in between; over nodes, where none goes in runs, each time.
void CodedSendingEnd::refresh_paths(bool at_slot) {
    if (at_slot || lines_until_ns_ < kNever) look_at_lines();
    least_light_ns_ = least_queue_ns_ = kNever / 4;
    rate_ = 0;
    rates_known_ = true;
    next_ = kNoObject;
    const SubflowSet heard_of = heard();
    for (std::size_t s = 0; s < subflows_.size(); ++s) {
        Subflow& subflow = subflows_[s];
        subflow.light_ns = subflow.plan->light_ns(now_);
        subflow.flight.set_light(subflow.light_ns);
        if (!transport_.handshake) subflow.further_on_ns = subflow.clock.waits_there(now_);
        tell_gap(subflow);
        const bool in_time = !deadlines_ || subflow.light_ns <= longest_wait_ns_;
        if (in_time && contains(heard_of, s)) {
            rate_ += subflow.flight.rate();
            rates_known_ = rates_known_ && subflow.flight.rate() > 0;
        }
        meets_others_ = meets_others_ || subflow.flight.tcp().far_found;
        if (established_ == 0 || contains(established_, s))
            least_light_ns_ = std::min(least_light_ns_, subflow.one_way_ns());
        if (contains(heard_of, s) && subflow.up)
            least_queue_ns_ = std::min(least_queue_ns_, queue_before_next(subflow));
    }
    if (least_queue_ns_ == kNever / 4) least_queue_ns_ = 0;
    if (at_slot && subflows_.size() > 1) used_ = used();
    double unheard = 0, all = 0;
    for (std::size_t s = 0; s < subflows_.size(); ++s) {
        const Subflow& subflow = subflows_[s];
        if (!contains(heard_of, s) || contains(giving_way_, s)) continue;
        all += subflow.flight.rate();
        if (subflow.mute) unheard += losses_.more_of(subflow.heard, subflow.heard_lost) * subflow.flight.rate();
    }
    losses_.set_unheard(all > 0 ? unheard / all : 0);
    for (Level& level : levels_) level.looked_at = kNoObject;
    const double full = transport_.mss_bytes;
    most_ns_per_byte_ = rate_ > 0 ? (full + header_bytes_) / (full * rate_) : 0;
    const bool unproven =
        std::any_of(subflows_.begin(), subflows_.end(), [](const Subflow& over) { return over.unproven(); });
    if (stored_) {
        gap_ns_ = coding_.block_ns;
        if (unproven && map_.layers() > 1)
            gap_ns_ = std::max(gap_ns_, kAheadOfReports * least_light_ns_ / static_cast<Time>(map_.layers() - 1));
    }
    if (!deadlines_ || !transport_.layer_first || objects_.size() == 0) return;
    const std::size_t newest = std::max<std::size_t>(released_, 1) - 1;
    if (objects_.deadline_ns[newest] == kNever) return;
    const Time playout = objects_.deadline_ns[newest] - objects_.release_ns[newest];
    for (Subflow& subflow : subflows_) subflow.flight.set_spare(playout - subflow.light_ns);
    const Time spare = playout - least_light_ns_;
    spare_ns_ = std::max<Time>(spare, 0);
    gap_ns_ = spare_ns_ / static_cast<Time>(map_.layers());
    if (!meets_others_ && !base_ahead_ && !unproven) gap_ns_ = std::min(gap_ns_, coding_.block_ns);
}

// What stands in the own queue when the pace lets the next packet go.
Time CodedSendingEnd::queue_before_next(const Subflow& subflow) const {
    const Time until = std::max<Time>(subflow.flight.pacing_until() - now_, 0);
    return std::max<Time>(subflow.out.queue_ns(now_) - until, 0);
}

// What others over the same first line take the place of.
void CodedSendingEnd::look_at_lines() {
    giving_way_ = 0;
    lines_until_ns_ = kNever;
    const bool knows_plan = !transport_.handshake;
    if (!knows_plan) return;
    for (Subflow& subflow : subflows_) {
        const Time light = subflow.plan->light_ns(now_),
                   spare = longest_wait_ns_ - 3 * light;  // there, back, and repair
        subflow.mute = deadlines_ && spare > 0 && subflow.clock.answer_rests(now_) > spare;
        if (!subflow.clock.over_nodes()) continue;  // no storage
        const Time soon = std::max(subflow.flight.tcp().srtt_ns, 2 * light) / kGoesOn;
        const Time wait = subflow.clock.waits_there(now_);
        subflow.away_ns = std::max(wait, subflow.clock.waits_there(now_ + soon));
        const Stay stay = subflow.clock.stay(now_);
        subflow.fills = subflow.fills && stay == subflow.stay;
        subflow.stay = stay;
        lines_until_ns_ = std::min(lines_until_ns_, now_ + std::max<Time>(soon / 2, 1));
    }
    for (Subflow& subflow : subflows_) {  // those that rest have one part together: lines further on may be slower
        if (!subflow.clock.over_nodes()) continue;
        double open = 0, rest = 0;
        for (const Subflow& other : subflows_)
            if (other.line == subflow.line) ++(other.away_ns == 0 ? open : rest);
        subflow.flight.set_part(open > 0 ? 1 / (open + std::min(rest, 1.0)) : 0);
    }
    for (SubflowSet set = heard(); set != 0; set &= set - 1) {
        const auto s = static_cast<std::size_t>(lowest(set));
        Subflow& subflow = subflows_[s];
        subflow.fills = fills(subflow);
        if (subflow.fills || gives_way(subflow) || (subflow.mute && others_bring_all(speaking())) ||
            (!leaves_out() && others_bring_all(losing_less(s))))
            insert(giving_way_, s);
    }
}

// A line of which nothing is heard yet may be what fills storage: once others say that it overflows, no more goes there before something is
// heard, or a contact begins.
bool CodedSendingEnd::fills(const Subflow& subflow) const {
    if (!subflow.clock.over_nodes() || subflow.heard > 0 || subflow.sent <= kUnheard) return false;
    const auto overflows = [&](const Subflow& other) {
        return other.line == subflow.line && !other.flight.stale() && other.lately.overflows();
    };
    return subflow.fills || std::any_of(subflows_.begin(), subflows_.end(), overflows);
}

// What is lost of a path that says nothing by the plan until it is too late is not made good: nothing goes there while the others bring all
// that waits.
SubflowSet CodedSendingEnd::speaking() const {
    SubflowSet speaking = 0;
    for (std::size_t s = 0; s < subflows_.size(); ++s)
        if (contains(established_, s) && !subflows_[s].mute) insert(speaking, s);
    return speaking;
}

// Nor over a path that loses so much more than they do.
SubflowSet CodedSendingEnd::losing_less(std::size_t s) const {
    SubflowSet less = 0;
    for (std::size_t other = 0; other < subflows_.size(); ++other)
        if (contains(established_, other) && loses_more(s, loses_of(other))) insert(less, other);
    return less;
}

bool CodedSendingEnd::others_bring_all(SubflowSet others) {
    double rate = 0;
    for (; others != 0; others &= others - 1) {
        const auto s = static_cast<std::size_t>(lowest(others));
        const Subflow& other = subflows_[s];
        if (other.up && !other.flight.stale()) rate += other.flight.rate() * (1 - loses_of(s));
    }
    if (rate <= 0 || released_ == 0) return rate > 0;
    if (released_ < objects_.size() && released_rate() > kMostAsked * with_repair() * rate) return false;
    const double share = released_ == objects_.size() ? kOfAll : kOfWhatComes;
    const Time left = objects_.deadline_ns[released_ - 1] - now_ - least_light_ns_;
    return static_cast<double>(backlog_) < share * rate * static_cast<double>(left);
}

// Storage further on fills with what goes over a line that is away, or will be before it goes on: nothing does while others bring all that
// waits before that line is back, nor before their rate is known.
bool CodedSendingEnd::gives_way(const Subflow& subflow) const {
    bool unknown = false;
    double rate = 0;
    Time least = subflow.away_ns;
    for (SubflowSet set = established_; set != 0; set &= set - 1) {
        const Subflow& other = subflows_[static_cast<std::size_t>(lowest(set))];
        if (other.line != subflow.line || other.away_ns >= subflow.away_ns || other.flight.gone(now_)) continue;
        unknown = unknown || other.flight.rate() <= 0;
        rate += other.flight.rate();
        least = std::min(least, other.away_ns);
    }
    return unknown || static_cast<double>(backlog_) < rate * static_cast<double>(subflow.away_ns - least);
}

// Of what its link is away for by the plan.
void CodedSendingEnd::tell_gap(Subflow& subflow) const {
    if (transport_.handshake) return;
    const Time until = subflow.plan->contact(now_).change_ns;
    const Time length = subflow.up && until < kNever ? subflow.plan->contact(now_ + until).change_ns : 0;
    subflow.flight.set_gap(until, length < kNever ? length : 0);
}

// Without a handshake the sender has the plan, and sends nothing while a link is away.
bool CodedSendingEnd::resting(std::size_t s) {
    if (transport_.handshake) return false;
    Subflow& subflow = subflows_[s];
    if (now_ >= subflow.change_ns) {
        const ContactPlan::Contact contact = subflow.plan->contact(now_);
        const bool resumes = contact.up && !subflow.up;
        subflow.up = contact.up;
        tell_gap(subflow);
        if (resumes) {
            subflow.flight.resume(now_);
            next_plan_ns_ = now_;
            next_ = kNoObject;
        }
        subflow.change_ns = contact.change_ns < kNever - now_ ? now_ + contact.change_ns : kNever;
    }
    return !subflow.up;
}

// Is the subflow free to send now? If only its pace or an outage holds it, wake it when that lets go.
void CodedSendingEnd::refresh(std::size_t s) {
    Subflow& subflow = subflows_[s];
    erase(kept_back_, s);
    if (!subflow.flight.window_open()) {
        erase(ready_, s);
    } else if (keeps_back(s)) {
        erase(ready_, s);
        insert(kept_back_, s);
    } else if (resting(s)) {
        erase(ready_, s);
        if (subflow.change_ns != kNever) paces_.set(s, subflow.change_ns);
    } else if (subflow.flight.pacing_until() > now_) {
        erase(ready_, s);
        paces_.set(s, subflow.flight.pacing_until());
    } else {
        insert(ready_, s);
    }
}

void CodedSendingEnd::pump(std::size_t s) {
    refresh(s);
    offer();
    finish(s);
}

void CodedSendingEnd::offer() {
    if (now_ >= next_plan_ns_) plan_ahead();
    if (now_ >= lines_until_ns_) {
        look_at_lines();
        for (SubflowSet set = kept_back_; set != 0; set &= set - 1) refresh(static_cast<std::size_t>(lowest(set)));
    }
    if (!transport_.handshake)
        for (SubflowSet set = ready_; set != 0; set &= set - 1) refresh(static_cast<std::size_t>(lowest(set)));
    while (asks_again()) {
        const Choice choice = choose();
        if (choice.subflow < 0) return;
        const auto s = static_cast<std::size_t>(choice.subflow);
        if (choice.object != kNoObject)
            send_source(s, choice.object);
        else
            send_repair(s, choice.block);
        refresh(s);
        if (subflows_[s].flight.tcp().in_flight() == 1) arm(s);  // else it is armed for one that left before
    }
}

void CodedSendingEnd::finish(std::size_t s) {
    Flight& flight = subflows_[s].flight;
    if (!flight.established()) return;
    bool waits = false;
    for (const Level& level : levels_) waits = waits || !level.objects.empty() || !level.blocks.empty();
    flight.finish_sending(!waits, waits && !flight.window_open());
    arm(s);
}

// The timer may go off early; it is never late.
void CodedSendingEnd::arm(std::size_t s) {
    const Subflow& subflow = subflows_[s];
    Time at = subflow.flight.established() ? subflow.flight.next_timer() : subflow.syn_at;
    if (subflow.flight.established() && !subflow.up && at < subflow.change_ns) at = subflow.change_ns;
    if (at < timers_.at(s)) timers_.set(s, std::max(at, now_));
}

bool CodedSendingEnd::transmit(std::size_t s, std::uint32_t block, std::uint32_t object, std::uint16_t bytes) {
    if (!put(s, block, object, bytes)) return false;
    ++data_packets_;
    if (first_send_ns_ < 0) first_send_ns_ = now_;
    return true;
}

// The next packet of a layer's part.
void CodedSendingEnd::send_source(std::size_t s, std::uint32_t object) {
    LayerSending& layer = layers_[object];
    const std::uint32_t number = map_.block_of(object);
    BlockSending& block = sent_[number];
    const std::int64_t payload = objects_.payload_bytes[object];
    const auto bytes = static_cast<std::uint16_t>(std::min<std::int64_t>(transport_.mss_bytes, payload - layer.offset));
    const std::uint32_t order = in_block(number, interleaved(number) ? block.source % map_.words(number) : 0);
    if (!transmit(s, order, object, bytes)) return;
    if (layer.first_sent_ns < 0) {
        layer.first_sent_ns = now_;
        layer.subflow = static_cast<std::int16_t>(s);
    }
    layer.offset += bytes;
    layer.sent_bytes += bytes;
    source_payload_ += bytes;
    backlog_ -= bytes;
    if (interleaved(number)) ++word_of(order).under_way;
    ++block.source;
    ++block.under_way;
    block.symbol_bytes = std::max(block.symbol_bytes, bytes);
    note_main(number, s);
    Level& level = level_with(object);
    level.begun = layer.offset < payload ? object : kNoObject;
    if (layer.offset < payload) return;
    next_ = kNoObject;
    auto& waiting = level.objects;
    waiting.erase(std::lower_bound(waiting.begin(), waiting.end(), object));
    headers_.whole[object] = 1;
    member_done(number);
}

void CodedSendingEnd::send_repair(std::size_t s, std::uint32_t number) {
    BlockSending& block = sent_[number];
    const std::uint32_t order = in_block(number, next_word(number));
    if (!transmit(s, order, kNoObject, block.symbol_bytes)) return;
    if (interleaved(number)) {
        WordSending& word = word_of(order);
        --word.waiting;
        ++word.under_way;
        ++word.repair;
    }
    note_over(number, s, 1);
    --block.waiting;
    waiting_bytes_ -= repair_bytes(number, 1);
    ++block.under_way;
    if (static_cast<std::int64_t>(block.repair++) >= block.planned) {
        fresh_payload_ += block.symbol_bytes;
        ++subflows_[s].repaired;
    }
    repair_payload_ += block.symbol_bytes;
    turn_ = s + 1;
}

// A probe that found no data to carry has a byte that says nothing.
void CodedSendingEnd::send_probe(std::size_t s) {
    ++probe_payload_;
    transmit(s, kNoBlock, kNoObject, 1);
}

// ------------------------------------------------------------------------------------------------------- bookkeeping

// RaptorQ may fail to decode what is enough: there a layer's own packets count alone.
std::int64_t CodedSendingEnd::acknowledged(std::size_t object) const {
    const std::int64_t payload = objects_.payload_bytes[object];
    if (acked_bytes_[object] == payload || there(static_cast<std::uint32_t>(object))) return payload;
    const std::uint32_t number = map_.block_of(static_cast<std::uint32_t>(object));
    const BlockSending& block = sent_[number];
    const bool back = block.closed && !block.guessed && coding_.code == ErasureCode::kMds && enough(number);
    return back && headers_.whole[object] != 0 ? payload : 0;
}

Time CodedSendingEnd::longest_one_way_ns() const {
    Time longest = 0;
    for (const Subflow& subflow : subflows_) longest = std::max(longest, subflow.light_ns);
    return longest;
}

std::int64_t CodedSendingEnd::bytes() const {
    std::int64_t bytes = 0;
    for (const Subflow& subflow : subflows_) bytes += subflow.flight.bytes();
    return bytes;
}

void CodedSendingEnd::check() const {
    std::int64_t unsent = 0;
    for (std::size_t object = 0; object < released_; ++object)
        if (!layers_[object].given_up) unsent += objects_.payload_bytes[object] - layers_[object].offset;
    DSTCC_CHECK(unsent == backlog_, "what was released is sent, given up, or waits");
    std::int64_t waiting = 0;
    for (std::uint32_t number = 0; number < sent_.size(); ++number) {
        const BlockSending& block = sent_[number];
        waiting += repair_bytes(number, block.waiting);
        DSTCC_CHECK(block.arrived + block.lost + block.under_way == block.source + block.repair,
                    "each packet of a block has one fate");
    }
    DSTCC_CHECK(waiting == waiting_bytes_, "what waits of repair is of blocks");
}

}  // namespace dstcc
