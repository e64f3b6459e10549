// What a block needs beside its source packets: planned when it is closed, and more when losses leave it short.
#include <cmath>
#include <limits>

#include "coding/sending_end.hpp"
#include "coding/setup.hpp"

namespace dstcc {

namespace {

constexpr float kRisen = 1.25F;                        // losses: repair is planned again
constexpr double kLeft[kRounds + 1] = {1, 0.1, 1e-3};  // by so many round trips of fresh packets
constexpr double kOften = 0.5;                         // fresh packets are too few, where there is time for more
constexpr double kRarely = 3e-2;                       // the last of them
constexpr double kRarelyInAll = 0.3;                   // the same, times a block's packets, where packets have room
constexpr int kMostRounds = 4;                         // round trips that are counted
constexpr double kStands = 8;                          // a backlog, times as long as the longest wait
constexpr double kDrained = 0.125;                     // of what the paths carry, until a backlog is gone
constexpr double kWholeBlocks = 2;                     // times a group of losses: so long a block goes with one
constexpr double kGone = 0.125;                        // of a backlog that leaves a round trip
constexpr double kUnproven = 1.15;                     // of the source's bytes
constexpr double kSure = 0.5;                          // before any feedback; after a round trip of it, twice as much
constexpr Time kFades = 60'000'000'000;                // terrain's and scintillation's last for seconds
constexpr Time kHeardLater = 4;                        // in a block: what went over nodes
constexpr Time kFlowsOn = 2;                           // full packets of the own link
constexpr double kAllAlong = 0.125;                    // of all packets

}  // namespace

void CodedSendingEnd::take_fates(std::size_t s) {
    const std::vector<Fate>& fates = subflows_[s].flight.fates();
    std::size_t known = 0, lost = 0, row = 0, in_rows = 0;
    for (const Fate& fate : fates) {
        known += fate.known;
        lost += fate.known && fate.lost;
        row = fate.lost && fate.told ? row + 1 : 0;
        in_rows += row == PathLosses::kOutage ? row : row > PathLosses::kOutage;
    }
    subflows_[s].lately.take(known, lost);
    subflows_[s].losses.take(known - lost, lost - std::min(in_rows, lost));
    for (const Fate& fate : fates) fate.known ? take(s, fate) : doubt(fate.packet);
    plan_again();
}

// The same of packets that arrived, one after another.
void CodedSendingEnd::take_heard(std::size_t s) {
    Subflow& over = subflows_[s];
    std::size_t arrived = 0;
    for (const Heard& heard : over.flight.heard()) {
        arrived += heard.packets;
        note_heard(over, heard);
    }
    over.lately.take(arrived, 0);
    plan_again();
}

// When the packets were sent of which something is heard.
void CodedSendingEnd::note_heard_of(Subflow& over, Time first, Time last) {
    first_heard_ns_ = std::min(first_heard_ns_, first);
    last_heard_ns_ = std::max(last_heard_ns_, last);
    over.heard_from_ns = std::min(over.heard_from_ns, first);
    over.heard_to_ns = std::max(over.heard_to_ns, last);
    over.first_ns = std::min(over.first_ns, first);
    over.proven = over.proven || over.heard >= kHeard || last - over.first_ns >= over.flight.tcp().srtt_ns;
}

void CodedSendingEnd::note_heard(Subflow& over, const Heard& heard) {
    losses_.arrived(heard.packets);
    over.losses.take_arrived(heard.packets);
    over.heard += heard.packets;
    note_heard_of(over, heard.first_ns, heard.last_ns);
    over.delivered_bytes += heard.bytes;
    if (heard.block == kNoBlock) return;
    if (heard.object != kNoObject) acked_bytes_[heard.object] += heard.bytes;
    const std::uint32_t number = block_in(heard.block);
    // With the last one all may be known, after others have brought it back.
    const bool ends = sent_[number].closed && sent_[number].under_way == heard.packets && heard.packets > 1;
    if (ends) count_arrived(heard, heard.packets - 1);
    count_arrived(heard, ends ? 1 : heard.packets);
}

void CodedSendingEnd::count_arrived(const Heard& heard, std::uint32_t packets) {
    const std::uint32_t number = block_in(heard.block);
    BlockSending& block = sent_[number];
    if (interleaved(number)) {
        WordSending& word = word_of(heard.block);
        word.under_way -= packets;
        if (heard.doubted) word.doubted -= packets;
        word.arrived += packets;
    }
    block.under_way -= packets;
    if (heard.doubted) block.doubted -= packets;
    block.arrived += packets;
    if (!block.closed) return;
    note_all_known(number);
    if (!block.over && enough(number)) end(number);
}

// By a full queue further on, of which no channel is the cause: its control says so; or nodes store, nobody knows how much, and it waited
// there for a contact, or so much was lost of late as no channel loses for long.
bool CodedSendingEnd::was_refused(const Subflow& over, Time sent) const {
    if (over.flight.tcp().far_full) return true;
    if (!over.clock.over_nodes()) return false;
    return over.clock.waits_there(sent) > 0 || (over.lately.overflows() && !flows_on(over));
}

// No other path of this sender fills storage further on, what arrives has hardly waited there, and so much was lost all along, but never all.
bool CodedSendingEnd::flows_on(const Subflow& over) const {
    const Time wait = over.flight.tcp().far_wait_ns;
    return wait >= 0 && wait <= kFlowsOn * over.out.full_service_ns(now_) && !over.storage.shared() &&
           !over.lately.stops() && LossHeard::of_path(over.heard, over.heard_lost) > kAllAlong;
}

void CodedSendingEnd::note_stay(Subflow& over, Time sent, double bytes, bool lost) {
    if (const Stay stay = over.clock.stay(sent); stay.until >= 0) over.storage.hear(stay, bytes, lost);
}

void CodedSendingEnd::take(std::size_t s, const Fate& fate) {
    const SentPacket& packet = fate.packet;
    Subflow& over = subflows_[s];
    const bool refused = fate.lost && was_refused(over, packet.sent_ns);
    if (!refused) losses_.packet(fate.lost);
    ++over.heard;
    over.heard_lost += fate.lost;
    note_heard_of(over, packet.sent_ns, packet.sent_ns);
    if (!fate.lost) over.delivered_bytes += packet.bytes;
    if (fate.known) note_stay(over, packet.sent_ns, packet.bytes, fate.lost);
    if (packet.block == kNoBlock) return;
    const std::uint32_t number = block_in(packet.block);
    BlockSending& block = sent_[number];
    // Where so much was lost that nobody knows what is there, a block counts on nothing of it.
    const bool lost = fate.lost || (!fate.told && over.lately.overflows());
    if (interleaved(number)) {
        WordSending& word = word_of(packet.block);
        --word.under_way;
        word.doubted -= fate.doubted;
        word.arrived += !lost;
    }
    --block.under_way;
    block.doubted -= fate.doubted;
    block.refused += refused || lost != fate.lost;
    block.guessed = block.guessed || !fate.told;
    ++(lost ? block.lost : block.arrived);
    if (packet.object != kNoObject) {
        block.source_lost += lost;
        if (lost)
            hit_[packet.object] = 1;
        else if (fate.told)
            acked_bytes_[packet.object] += packet.bytes;
    }
    if (!block.closed) return;
    note_all_known(number);
    if (lost)
        review(number);
    else if (!block.over && enough(number))
        end(number);
}

// Its block counts on it no more, and on no less if it is there after all.
void CodedSendingEnd::doubt(const SentPacket& packet) {
    if (packet.block == kNoBlock) return;
    const std::uint32_t number = block_in(packet.block);
    BlockSending& block = sent_[number];
    ++block.doubted;
    if (interleaved(number)) ++word_of(packet.block).doubted;
    if (packet.object != kNoObject) hit_[packet.object] = 1;
    if (block.closed) review(number);
}

CodedSendingEnd::Supply CodedSendingEnd::supply(std::uint32_t number, std::uint32_t w) const {
    const BlockSending& block = sent_[number];
    if (!interleaved(number)) {
        const std::uint32_t coming = block.arrived + block.under_way + block.waiting;
        return {block.arrived, coming - block.doubted, needed(block),
                most_ - block.source - block.repair - block.waiting};
    }
    const WordSending& word = words_[map_.word(number, w)];
    const std::uint32_t source = in_word(block.source, w, map_.words(number));
    const std::int64_t room = source == 0 ? 0 : most_ - source - word.repair - word.waiting;
    return {word.arrived, word.arrived + word.under_way + word.waiting - word.doubted, source, room};
}

// Is it back, as far as the sender can tell?
bool CodedSendingEnd::enough(std::uint32_t number) const {
    for (std::uint32_t w = 0; w < map_.words(number); ++w)
        if (const Supply word = supply(number, w); word.arrived < word.needs) return false;
    return true;
}

// How many packets bring it back, as far as the sender can tell: its k, and RaptorQ's more once decoding is needed.
std::uint32_t CodedSendingEnd::needed(const BlockSending& block) const {
    return block.source +
           (block.source_lost + block.doubted > 0 ? static_cast<std::uint32_t>(wanted_extra(coding_.code)) : 0);
}

void CodedSendingEnd::note_all_known(std::uint32_t number) {
    BlockSending& block = sent_[number];
    if (block.heard || block.under_way > 0 || block.waiting > 0) return;
    block.heard = true;
    const double share = share_of(number).share;
    const std::uint32_t packets = block.source + block.repair - block.refused, lost = block.lost - block.refused;
    losses_.block(packets, lost, share < 0 ? losses_.share() : share);
    losses_.compare(block.shares, packets, lost);
}

// A member was sent whole or given up: the last one closes its block.
void CodedSendingEnd::member_done(std::uint32_t number) {
    BlockSending& block = sent_[number];
    if (--block.open_members == 0) close(number);
}

void CodedSendingEnd::close(std::uint32_t number) {
    BlockSending& block = sent_[number];
    block.closed = true;
    block.shares = losses_.shares();
    headers_.source[number] = block.source;
    if (block.source == 0 || enough(number)) return end(number);
    closed_.push_back(number);
    block.planned = static_cast<std::int32_t>(std::min(planned_repair(number), room(number)));
    want_spread(number, block.planned);
    review(number);
}

// Of its code, for further repair packets.
std::int64_t CodedSendingEnd::room(std::uint32_t number) const {
    std::int64_t room = 0;
    for (std::uint32_t w = 0; w < map_.words(number); ++w) room += supply(number, w).room;
    return room;
}

std::int64_t CodedSendingEnd::planned_repair(std::uint32_t number) {
    BlockSending& block = sent_[number];
    const std::size_t layer = map_.layer_of(number);
    const double steered = layer < action_.repair.size() ? action_.repair[layer] : -1;
    if (steered < 0 && coding_.automatic) {
        // Before it was closed it was planned with those that were.
        if (block.planned < 0 || static_cast<float>(left_by_fresh(number)) != block.left) {
            block.planned = -1;
            plan_period(static_cast<std::uint32_t>(number / map_.layers()), true);
        }
        return block.planned;
    }
    const double configured = layer < coding_.repair.size() ? coding_.repair[layer] : 0.0;
    const double share = steered < 0 ? configured : steered;
    block.share = static_cast<float>(losses_.share());
    least_share_ = std::min(least_share_, block.share);
    // The tolerance is for products such as 0.07 x 100, which is a little more than 7.
    return static_cast<std::int64_t>(std::ceil(share * block.source - 1e-9));
}

// What is still needed of a block: all that was captured, as long as its repair is not planned.
PlannedLayer CodedSendingEnd::needs(std::uint32_t number) const {
    const auto mss = static_cast<std::int64_t>(transport_.mss_bytes);
    const BlockSending& block = sent_[number];
    PlannedLayer layer;
    layer.left = block.left;
    const ShareKnown known = share_of(number);
    layer.share = known.share;
    layer.unsure = known.unsure;
    std::int64_t largest = 0;
    for (std::uint32_t i = 0; i < map_.size(number); ++i) {
        const std::uint32_t object = map_.member(number, i);
        if (layers_[object].given_up || there(object) || (repairs(number) && !missing(object, false))) continue;
        const std::int64_t payload = objects_.payload_bytes[object], packets = (payload + mss - 1) / mss;
        ++layer.objects;
        layer.source += packets;
        layer.bytes += static_cast<double>(payload + packets * header_bytes_);
        largest = std::max(largest, std::min(payload, mss));
    }
    layer.packet_bytes = static_cast<double>(largest + header_bytes_);
    layer.words = map_.words(number);
    layer.most_repair = most_ * layer.words - layer.source;
    if (!repairs(number) || layer.objects == 0) return layer;
    layer.source = std::max<std::int64_t>(needed(block) - std::int64_t{block.arrived}, 0);
    layer.bytes = static_cast<double>(layer.source) * layer.packet_bytes;
    return layer;
}

// Of what a block's repair does not bring back, what fresh packets do not either: by the round trips that there are for them after what each
// path loses.
double CodedSendingEnd::left_by_fresh(std::uint32_t number) const {
    if (!plans_again()) return 1;
    const Time deadline = objects_.deadline_ns[map_.member(number, 0)];
    double left = 0, all = 0;
    for (SubflowSet set = heard(); set != 0; set &= set - 1) {
        const SubflowSet lowest_one = set & (~set + 1);
        const double lost = loses(static_cast<std::size_t>(lowest(set)));
        all += lost;
        left += lost * kLeft[std::min(round_trips(deadline, lowest_one), kRounds)];
    }
    return all > 0 ? left / all : kLeft[std::min(round_trips(deadline, established_), kRounds)];
}

// Whether blocks are planned again once more is lost; else, where paths come and go, what goes wrong in one contact is not made good.
bool CodedSendingEnd::plans_again() const {
    if (subflows_[0].flight.wants_reports()) return true;
    for (const Subflow& subflow : subflows_)
        if (!subflow.plan->up().outages().empty()) return false;
    return never_away();
}

// Nothing waits at its nodes, neither for a contact nor for room, as far as anybody has heard; and a fade is over before a fresh packet is there.
bool CodedSendingEnd::goes_straight_on(const Subflow& over, Time at) const {
    if (!over.clock.over_nodes()) return true;
    return !stored_ && over.flight.tcp().srtt_ns > kFades && over.clock.waits_both(at) == 0 && !over.storage.limits();
}

// For how many there is time by the plan before what leaves last must be there: what is lost goes over one of `first`, then each over the
// slowest of the paths that are there first; kMostRounds at most. None in which an answer waits for its contact: reports after a long
// silence do not name all, or what goes over nodes waits there.
int CodedSendingEnd::round_trips(Time deadline, SubflowSet first) const {
    if (deadline == kNever) return 0;
    Time at = now_;
    for (int rounds = 0;; ++rounds) {
        Time from = kNever, arrives = 0, answered = 0;
        bool rests = false;
        for (std::size_t s = 0; s < subflows_.size(); ++s) {
            const Subflow& subflow = subflows_[s];
            if (!goes_straight_on(subflow, at)) return 0;
            if (rounds == 0 && !contains(first, s)) continue;
            const ContactPlan::Contact contact = subflow.plan->contact(at);
            if (!contact.up && contact.change_ns >= kNever - at) continue;
            const Time opens = contact.up ? at : at + contact.change_ns;
            if (opens > from) continue;
            if (opens < from) arrives = answered = 0, rests = false;
            from = opens;
            arrives = std::max(arrives, opens + subflow.one_way_ns());
            answered = std::max(answered, opens + 2 * subflow.one_way_ns());
            if (subflow.clock.over_nodes())
                answered = std::max(answered, opens + subflow.flight.tcp().srtt_ns + coding_.block_ns / kHeardLater);
            rests = rests || subflow.clock.answer_rests(opens) > 0;
        }
        if (from == kNever || arrives > deadline) return std::max(rounds - 1, 0);
        if (rounds == kMostRounds || rests) return rounds;
        at = answered;
    }
}

// How sure the share of losses is (coding/repair_rule.hpp): the surer, the longer it was heard of. Only what can never be made good is
// insured: where a fresh packet, which leaves a round trip behind the lost one, always comes too late. As kRisen, for laws with reports.
double CodedSendingEnd::sure() const {
    const Time light = least_light_ns_;
    if (!deadlines_ || (longest_wait_ns_ >= 3 * light + coding_.block_ns && speaking() != 0) ||
        !subflows_[0].flight.wants_reports())
        return std::numeric_limits<double>::infinity();
    const auto heard = static_cast<double>(std::max<Time>(last_heard_ns_ - first_heard_ns_, 0));
    return kSure * (1 + heard / (2 * static_cast<double>(light)));
}

// Of what the paths carry, with no more than kUnproven of the source's bytes for those over nodes of which nothing was heard: their lines
// further on may be slower.
double CodedSendingEnd::proven(const std::vector<PlannedLayer>& layers, double bytes) const {
    double source = 0, open = 0;
    for (const PlannedLayer& layer : layers) source += layer.bytes;
    for (const Subflow& over : subflows_)
        if (over.unproven()) open += over.flight.rate();
    if (open <= 0 || rate_ <= 0 || bytes <= 0) return bytes;
    return bytes * (1 - std::min(open / rate_, 1.0) * (1 - std::min(kUnproven * source / bytes, 1.0)));
}

// What is left of what the paths carry in a period for those of its blocks that are still to be repaired: without what has gone of the
// others; and at least what the first of them needs and nothing else that waits or is still to come.
double CodedSendingEnd::spared(std::uint32_t first, const std::vector<PlannedLayer>& layers, double bytes) const {
    if (bytes <= 0) return bytes;
    double least = 0;
    for (std::uint32_t m = 0; m < map_.layers(); ++m) {
        const BlockSending& block = sent_[first + m];
        if (repairs(first + m)) {
            bytes -= static_cast<double>(block.source + block.repair) *
                     static_cast<double>(block.symbol_bytes + header_bytes_);
        } else if (layers[m].objects > 0) {
            least = layers[m].bytes + admission_.left(objects_.deadline_ns[map_.member(first + m, 0)]);
            break;
        }
    }
    return std::max({bytes, least, 1.0});
}

// `closes`: for a block that is closed now.
void CodedSendingEnd::plan_period(std::uint32_t period, bool closes) {
    std::vector<PlannedLayer> layers;
    const auto first = static_cast<std::uint32_t>(period * map_.layers());
    refresh_paths();
    for (std::uint32_t m = 0; m < map_.layers(); ++m) {
        if (!repairs(first + m) && map_.size(first + m) > 0)
            sent_[first + m].left = static_cast<float>(left_by_fresh(first + m));
        layers.push_back(needs(first + m));
    }
    // Where all of a chunk must leave before the next is captured, no more.
    const Time chunks = map_.size(first), length = coding_.block_ns;
    const Time usable = spare_ns_ < length / std::max<Time>(chunks, 1) ? chunks * spare_ns_ : length;
    double bytes = proven(layers, carried() * static_cast<double>(usable));
    if (closes) bytes = spared(first, layers, bytes);
    if (sent_[first].planned < 0 && overload_from_ns_ != kNever) note_gains(layers, bytes);
    if (sent_[first].planned < 0) put_base_ahead(layers, bytes);
    if (sent_[first].planned < 0 && drains(layers, bytes)) bytes *= 1 - kDrained;
    std::vector<std::int64_t> repair = rule_.plan(layers, bytes, losses_, sure());
    repair_between_outages(first, layers, bytes, repair);
    const auto share = static_cast<float>(losses_.share());
    least_share_ = std::min(least_share_, share);
    for (std::uint32_t m = 0; m < map_.layers(); ++m) {
        BlockSending& block = sent_[first + m];
        block.share = share;
        if (!repairs(first + m)) {
            block.planned = static_cast<std::int32_t>(repair[m]);
        } else if (!block.over && layers[m].source > 0) {
            std::int64_t more = repair[m] + layers[m].source - std::int64_t{block.under_way - block.doubted} -
                                std::int64_t{block.waiting};
            more = std::min(more, room(first + m));
            if (more <= 0) continue;
            block.planned += static_cast<std::int32_t>(more);
            want_spread(first + m, more, is_last(first + m));
        }
    }
}

// Where losses come together by whole blocks, as in outages that nobody announced, no repair helps in these: at least what the other blocks need
// against single losses.
void CodedSendingEnd::repair_between_outages(std::uint32_t first, std::vector<PlannedLayer> layers, double bytes,
                                             std::vector<std::int64_t>& repair) {
    const double bursts = losses_.bursts();
    if (bursts < static_cast<double>(PathLosses::kOutage)) return;
    const auto goes_whole = [&](std::size_t m) {
        const auto source = static_cast<double>(layers[m].source);
        return !repairs(first + static_cast<std::uint32_t>(m)) && source < kWholeBlocks * bursts;
    };
    bool any = false;
    for (std::size_t m = 0; m < layers.size(); ++m) any = any || (goes_whole(m) && layers[m].source > 0);
    if (!any) return;
    const double lost = mean_lost(up(heard() & ~giving_way_), false);
    if (lost < 0) return;
    for (PlannedLayer& layer : layers) layer.share = lost;
    const std::vector<std::int64_t> single = rule_.plan(layers, bytes, LossHeard());
    for (std::size_t m = 0; m < layers.size(); ++m)
        if (goes_whole(m)) repair[m] = std::max(repair[m], single[m]);
}

// What round trips of fresh packets for all of them gain.
void CodedSendingEnd::note_gains(std::vector<PlannedLayer> layers, double bytes) {
    double weight[kRounds + 1];
    for (int rounds = 0; rounds <= kRounds; ++rounds) {
        for (PlannedLayer& layer : layers) layer.left = kLeft[rounds];
        rule_.plan(layers, bytes, losses_, sure());
        weight[rounds] = rule_.weight();
        gains_[rounds] = weight[0] > 0 ? weight[rounds] / weight[0] - 1 : 0;
    }
}

// Where what waits leaves no round trip for fresh packets, layers below the highest go so much ahead of it that they have one, if that gains more:
// it costs what waits of the highest once, and gains as long as the backlog stands. What was captured long ago is no backlog.
void CodedSendingEnd::put_base_ahead(std::vector<PlannedLayer> layers, double bytes) {
    const bool was = base_ahead_;
    base_ahead_ = false;
    const auto rtt = static_cast<double>(2 * least_light_ns_ + coding_.block_ns),
               spare = static_cast<double>(spare_ns_);
    if (released_ == objects_.size() || rtt >= spare || backlog_ns() <= (spare - rtt) / (was ? 2 : 1)) return;
    double weight[2];
    for (int rounds = 0; rounds < 2; ++rounds) {
        for (std::size_t m = 0; m < layers.size(); ++m) layers[m].left = kLeft[m + 1 < layers.size() ? rounds : 0];
        rule_.plan(layers, bytes, losses_, sure());
        weight[rounds] = rule_.weight();
    }
    base_ahead_ = (weight[1] - weight[0]) * kStands * spare * (was ? 2 : 1) > weight[0] * rtt;
}

// Where what waits leaves no round trip for fresh packets, so much less repair that it goes, if that gains more: it costs until then, and gains
// as long as the backlog would stand.
bool CodedSendingEnd::drains(std::vector<PlannedLayer> layers, double bytes) {
    const bool was = drains_;
    drains_ = false;
    const auto rtt = static_cast<double>(2 * least_light_ns_ + coding_.block_ns),
               spare = static_cast<double>(spare_ns_);
    const double gone = std::max((spare - rtt) * kGone, static_cast<double>(coding_.block_ns));
    if (!deadlines_ || !plans_again() || released_ == objects_.size() || rtt >= spare) return false;
    if (backlog_ns() <= (was ? gone : std::max(spare - rtt, gone))) return false;
    double weight[3];
    for (int i = 0; i < 3; ++i) {
        for (PlannedLayer& layer : layers) layer.left = kLeft[i == 1 ? 1 : 0];
        rule_.plan(layers, i == 2 ? bytes * (1 - kDrained) : bytes, losses_, sure());
        weight[i] = rule_.weight();
    }
    const double lasts = (backlog_ns() - gone) / kDrained;
    return drains_ = (weight[1] - weight[0]) * kStands * spare > (weight[0] - weight[2]) * lasts;
}

// More is lost than some blocks were planned for whose packets are still under way: what they get now may be in time. Only under a
// law that tells a channel's losses from a full queue's, which must not be answered by more packets.
void CodedSendingEnd::plan_again() {
    if (!coding_.automatic || !subflows_[0].flight.wants_reports()) return;
    const auto share = static_cast<float>(losses_.share());
    if (share <= kRisen * least_share_) return;
    least_share_ = share;
    for (const std::uint32_t number : std::vector(closed_.begin(), closed_.end())) {
        const BlockSending& block = sent_[number];
        if (block.over) continue;
        if (share <= kRisen * block.share)
            least_share_ = std::min(least_share_, block.share);
        else if (reachable(last_deadline(number, false)))
            plan_period(static_cast<std::uint32_t>(number / map_.layers()), false);
    }
}

// Of repair to come: what was lost lately, or of the paths of which something is heard, whichever is less: what a path lost while it was dark
// is not lost again. Where paths lose unlike shares it goes over those that lose the least.
double CodedSendingEnd::share_ahead() const {
    const bool are_alike = alike();
    const double lost = mean_lost(for_repair(up(heard() & ~giving_way_), true), are_alike);
    if (lost < 0) return losses_.share();
    return are_alike ? std::min(losses_.share(), lost) : lost;
}

// What those paths lose, by their rates: of late, or, where told apart by it, settled. Negative where none has a rate.
double CodedSendingEnd::mean_lost(SubflowSet paths, bool settled) const {
    double lost = 0, all = 0;
    for (; paths != 0; paths &= paths - 1) {
        const auto s = static_cast<std::size_t>(lowest(paths));
        all += subflows_[s].flight.rate();
        lost += subflows_[s].flight.rate() * (settled ? loses_of(s) : lately_of(s));
    }
    return all > 0 ? lost / all : -1;
}

// Whether what a block is sent now is its last: what is lost of that is known too late.
bool CodedSendingEnd::is_last(std::uint32_t number) {
    return round_trips(next_deadline(number, true, now_ + least_light_ns_), ~SubflowSet{0}) == 0;
}

// Where paths lose unlike shares, of a block's losses: by what those lose over which its packets went, or will go; else unknown.
CodedSendingEnd::ShareKnown CodedSendingEnd::share_of(std::uint32_t number) const {
    if (alike()) return {};
    std::array<double, 2> packets = {}, lost = {}, varies = {};  // that went; that will
    for (SubflowSet set = heard(); set != 0; set &= set - 1) {
        const auto s = static_cast<std::size_t>(lowest(set));
        const double ahead = contains(giving_way_, s) ? 0 : subflows_[s].flight.rate();
        const std::array<double, 2> parts = {static_cast<double>(over_[number * subflows_.size() + s]), ahead};
        for (std::size_t i = 0; i < parts.size(); ++i) {
            packets[i] += parts[i];
            lost[i] += parts[i] * lately_of(s);
            varies[i] += parts[i] * parts[i] * subflows_[s].losses.variance(losses_.best());
        }
    }
    const std::size_t i = packets[0] > 0 ? 0 : 1;
    if (packets[i] <= 0) return {};
    const double share = lost[i] / packets[i];
    return {share, varies[i] / (packets[i] * packets[i] * share * (1 - share))};
}

// How often fresh packets may be too few, which loses all of a block: the less often the less of it one more packet is, but where layers take
// each other's place.
double CodedSendingEnd::rarely_too_few(const BlockSending& block) const {
    if (admission_.later() > 0) return kRarely;
    return std::min(kRarely, kRarelyInAll / static_cast<double>(block.source));
}

// Does it lack packets that are worth sending? The last that can be in time are enough together, however one after another they are asked for.
void CodedSendingEnd::review(std::uint32_t number) {
    BlockSending& block = sent_[number];
    if (block.over) return;
    const double rarely = rarely_too_few(block);
    for (std::uint32_t w = 0; w < map_.words(number); ++w) {
        const Supply word = supply(number, w);
        const std::int64_t last = interleaved(number) ? words_[map_.word(number, w)].last : block.last;
        const std::int64_t lacks = std::int64_t{word.needs} - word.coming;
        if (lacks + last <= 0) continue;
        if (!reachable(last_deadline(number, true))) return end(number);
        if (!is_last(number)) {
            if (lacks > 0) want(number, w, std::min(rule_.fresh(lacks, share_ahead(), kOften), word.room), false);
            continue;
        }
        const std::int64_t more = std::min(rule_.fresh(lacks + last, share_ahead(), rarely) - last, word.room);
        want(number, w, more, true);
    }
}

// The words have as many each, or one more.
void CodedSendingEnd::want_spread(std::uint32_t number, std::int64_t packets, bool last) {
    const std::uint32_t words = map_.words(number);
    if (words == 1) return want(number, 0, packets, last);
    for (std::uint32_t w = 0; packets > 0; w = (w + 1) % words) {
        if (supply(number, w).room <= 0) continue;
        want(number, w, 1, last);
        --packets;
    }
}

// The word of the next repair packet: that of the most which wait.
std::uint32_t CodedSendingEnd::next_word(std::uint32_t number) const {
    std::uint32_t best = 0;
    for (std::uint32_t w = 1; w < map_.words(number); ++w)
        if (words_[map_.word(number, w)].waiting > words_[map_.word(number, best)].waiting) best = w;
    return best;
}

void CodedSendingEnd::want_no_more(std::uint32_t number) {
    waiting_bytes_ -= repair_bytes(number, sent_[number].waiting);
    sent_[number].waiting = 0;
    for (std::uint32_t w = 0; interleaved(number) && w < map_.words(number); ++w)
        words_[map_.word(number, w)].waiting = 0;
}

void CodedSendingEnd::want(std::uint32_t number, std::uint32_t word, std::int64_t packets, bool last) {
    BlockSending& block = sent_[number];
    if (packets <= 0) return;
    const auto more = static_cast<std::uint32_t>(packets);
    block.waiting += more;
    waiting_bytes_ += repair_bytes(number, more);
    if (interleaved(number)) words_[map_.word(number, word)].waiting += more;
    if (last) (interleaved(number) ? words_[map_.word(number, word)].last : block.last) += more;
    if (block.queued) return;
    block.queued = true;
    ++queued_;
    next_ = kNoObject;
    auto& queue = levels_[level_of(map_.layer_of(number))].blocks;
    queue.insert(std::lower_bound(queue.begin(), queue.end(), number), number);  // the oldest first
}

void CodedSendingEnd::end(std::uint32_t number) {
    BlockSending& block = sent_[number];
    block.over = true;
    want_no_more(number);
    --open_blocks_;
}

// Not known to be there, though sent whole; of those that fresh packets are for, a packet was lost.
bool CodedSendingEnd::missing(std::uint32_t object, bool fresh) const {
    return acked_bytes_[object] < objects_.payload_bytes[object] && headers_.whole[object] != 0 &&
           (!fresh || hit_[object] != 0);
}

// It is missing no more, whatever happens.
bool CodedSendingEnd::settled(std::uint32_t object) const {
    return acked_bytes_[object] >= objects_.payload_bytes[object] || layers_[object].given_up || there(object);
}

// By when the last of its members that may be missing is needed; -1 if none is.
Time CodedSendingEnd::last_deadline(std::uint32_t number, bool fresh) {
    BlockSending& block = sent_[number];
    while (block.last_missing > 0 && settled(map_.member(number, block.last_missing - 1))) --block.last_missing;
    for (std::uint32_t i = block.last_missing; i > 0; --i)
        if (const std::uint32_t object = map_.member(number, i - 1); missing(object, fresh))
            return objects_.deadline_ns[object];
    return -1;
}

// By when the first of them is needed that can still be there: what would arrive at `from` is in time for it.
Time CodedSendingEnd::next_deadline(std::uint32_t number, bool fresh, Time from) {
    BlockSending& block = sent_[number];
    const std::uint32_t size = map_.size(number);
    while (block.first_missing < size && settled(map_.member(number, block.first_missing))) ++block.first_missing;
    for (std::uint32_t i = block.first_missing; i < size; ++i)
        if (const std::uint32_t object = map_.member(number, i);
            (!deadlines_ || objects_.deadline_ns[object] >= from) && missing(object, fresh))
            return objects_.deadline_ns[object];
    return -1;
}

}  // namespace dstcc
