// Which layers are sent where not all that wait can be: coding/admission.hpp's plan, made every now and then.
#include <cmath>
#include <numeric>

#include "coding/sending_end.hpp"

namespace dstcc {

namespace {

constexpr Time kPlans = 256;             // in the longest wait from a release to its deadline
constexpr Time kMostWait = kNever / 64;  // over four years from a release to its deadline: no mission plans for longer
constexpr Time kLooksBack = 4;           // what the source releases is measured over so much less than that wait
constexpr double kOverload = 1.5;        // times what the paths carry: losses are not what the rest is late by
constexpr double kManyRtts = 8;          // in that wait: with more of them it takes less
constexpr double kMostEarly = 0.75;      // of the longest wait
constexpr double kLasts = 2;             // an overload, times as long as it has lasted
constexpr double kWorthMore = 1.05;      // a byte, for layers to go together
constexpr double kMostWasted = 0.05;     // of what is sent in the longest wait
constexpr Time kNoticed = 2;             // plans before its repair must leave a block gets no more members

}  // namespace

// With a handshake the sender has no plan.
bool CodedSendingEnd::plans() const {
    return !transport_.handshake && transport_.drop_late && deadlines_ && !layers_steered_ &&
           longest_wait_ns_ <= kMostWait && released_ > 0;
}

void CodedSendingEnd::plan_ahead() {
    next_ = kNoObject;
    if (!plans()) return;
    const Time interval = std::max<Time>(longest_wait_ns_ / kPlans, 1);
    next_plan_ns_ = now_ + interval;
    const std::vector<double> comes = released_rates();
    const double asked = std::accumulate(comes.begin(), comes.end(), 0.0);
    note_overload(asked);
    rank_apart();
    const bool short_of_base = comes[0] > rate_ && last_worth(0) > 0;
    if (!short_of_base && nothing_to_choose(interval, asked)) return admission_.forget();
    if (!look_over_contacts(admission_)) return;
    for (std::size_t first = 0, last = 0; first < map_.layers(); first = ++last) {
        admission_.begin_layer();
        const bool waiting = admit_layers(first, first), coming = admission_.expect(comes[first]);
        last = waiting && coming ? first : last_worth(first);
        if (last == first) continue;
        admission_.begin_layer_again();
        admit_layers(first, last);
        const auto from = static_cast<std::ptrdiff_t>(first), to = static_cast<std::ptrdiff_t>(last) + 1;
        std::fill(ranks_.begin() + from, ranks_.begin() + to, first);
        admission_.expect(std::accumulate(comes.begin() + from, comes.begin() + to, 0.0));
    }
    for (std::size_t layer = 0; layer < map_.layers(); ++layer) close_in_time(layer, kNoticed * interval);
}

bool CodedSendingEnd::look_over_contacts(Admission& ahead) const {
    std::vector<Admission::Path> paths;
    const SubflowSet silent = established_ & ~heard();
    for (std::size_t s = 0; s < subflows_.size(); ++s)
        if (const Subflow& subflow = subflows_[s]; !contains(silent, s))
            paths.push_back({subflow.plan, subflow.flight.rate(), subflow.up ? subflow.out.queue_ns(now_) : 0,
                             subflow.one_way_ns(), &subflow.clock,
                             subflow.storage.limits() ? &subflow.storage : nullptr});
    const bool all = released_ == objects_.size();
    const Time ends = all ? std::min(ends_ns_, objects_.deadline_ns.back()) : ends_ns_;
    return ahead.begin(now_, shortest_wait_ns_, longest_wait_ns_, ends, paths);
}

// Bytes in a nanosecond that the paths bring on average, by their contacts where these are known and there are deadlines.
double CodedSendingEnd::carried() const {
    if (plans()) return admission_.later() > 0 ? admission_.later() : rate_;
    if (transport_.handshake || !deadlines_ || longest_wait_ns_ > kMostWait || never_away()) return rate_;
    Admission ahead;
    return look_over_contacts(ahead) && ahead.later() > 0 ? ahead.later() : rate_;
}

bool CodedSendingEnd::never_away() const {
    return std::all_of(subflows_.begin(), subflows_.end(),
                       [](const Subflow& subflow) { return subflow.plan->down().outages().empty(); });
}

// Does the plan have no place for something that waits?
bool CodedSendingEnd::leaves_out() const {
    for (std::size_t l = map_.layers(); l < levels_.size(); ++l)
        if (!levels_[l].objects.empty()) return true;
    return false;
}

// Over links that the plan never calls away: all that waits leaves before the next plan, or the links carry about what the
// source asks for. Then it is losses that make some of it late, and by their deadlines blocks are repaired in time; the less so the more
// round trips there are for repair.
bool CodedSendingEnd::nothing_to_choose(Time interval, double asked) const {
    if (!never_away()) return false;
    if (leaves_out()) return false;
    if (backlog_ns() < static_cast<double>(interval)) return true;
    if (early_ns_ > 0 || stored_ || wasted_ > kMostWasted * rate_ * static_cast<double>(longest_wait_ns_)) return false;
    const double rtts =
        static_cast<double>(longest_wait_ns_) / static_cast<double>(std::max<Time>(2 * least_light_ns_, 1));
    const double bearable = 1 + (kOverload - 1) * std::min(kManyRtts / rtts, 1.0);
    return asked <= bearable * rate_;
}

// Bytes of layers that were begun and not sent whole; what was so long ago as a layer waits counts 1/e.
void CodedSendingEnd::note_waste(double bytes) {
    const auto since = static_cast<double>(now_ - wasted_at_ns_);
    wasted_ = wasted_ * std::exp(-since / static_cast<double>(longest_wait_ns_)) + bytes;
    wasted_at_ns_ = now_;
}

void CodedSendingEnd::note_overload(double asked) {
    if (asked <= rate_ || !never_away())
        overload_from_ns_ = kNever;
    else
        overload_from_ns_ = std::min(overload_from_ns_, now_);
    early_ns_ = early();
}

// Where more is released than is brought, all that is admitted waits until its deadline, and no time is left for fresh packets: all blocks
// have the repair of those that are never answered. Once that costs more than the wait is worth, what is admitted leaves earlier: a wait
// less is lost once, and the gain of round trips is had as long as the overload lasts.
Time CodedSendingEnd::early() const {
    if (overload_from_ns_ == kNever) return 0;
    double most = 0;
    Time rtt = 0;  // of the path that loses the most
    for (SubflowSet set = heard(); set != 0; set &= set - 1) {
        const auto s = static_cast<std::size_t>(lowest(set));
        if (loses(s) <= most) continue;
        most = loses(s);
        rtt = 2 * subflows_[s].one_way_ns();
    }
    const auto lasts = static_cast<double>(now_ - overload_from_ns_);
    const auto wait = static_cast<double>(longest_wait_ns_ - least_light_ns_);
    for (int rounds = kRounds; rounds > 0; --rounds) {
        const Time early = rounds * rtt + length_of(map_.block_of(static_cast<std::uint32_t>(released_ - 1)));
        const auto costs = static_cast<double>(early);
        if (costs <= kMostEarly * wait && gains_[rounds] * kLasts * lasts >= costs) return early;
    }
    return 0;
}

// Of each layer, bytes on the wire in a nanosecond; repair is counted in.
std::vector<double> CodedSendingEnd::released_rates() {
    const Time window = std::max<Time>(std::min(longest_wait_ns_ / kLooksBack, now_), 1);
    std::vector<double> rates(map_.layers(), 0);
    if (released_ == objects_.size()) return rates;
    for (; lately_end_ < released_; ++lately_end_)
        lately_[objects_.layer[lately_end_]] += with_headers(objects_.payload_bytes[lately_end_]);
    for (; lately_from_ < released_ && objects_.release_ns[lately_from_] <= now_ - window; ++lately_from_)
        lately_[objects_.layer[lately_from_]] -= with_headers(objects_.payload_bytes[lately_from_]);
    for (std::size_t layer = 0; layer < rates.size(); ++layer)
        rates[layer] = static_cast<double>(lately_[layer]) * with_repair() / static_cast<double>(window);
    return rates;
}

// Of all layers.
double CodedSendingEnd::released_rate() {
    const std::vector<double> rates = released_rates();
    return std::accumulate(rates.begin(), rates.end(), 0.0);
}

// Of what the paths carry.
double CodedSendingEnd::used() {
    if (released_ == objects_.size() || rate_ <= 0) return 1;
    return std::min(released_rate() / with_repair() / rate_, 1.0);
}

std::int64_t CodedSendingEnd::with_headers(std::int64_t payload) const {
    return payload + (payload + transport_.mss_bytes - 1) / transport_.mss_bytes * header_bytes_;
}

// So much is sent of what is sent of the source.
double CodedSendingEnd::with_repair() const {
    return 1 + (source_payload_ > 0 ? static_cast<double>(repair_payload_) / static_cast<double>(source_payload_) : 0);
}

// No layers go together.
void CodedSendingEnd::rank_apart() { std::iota(ranks_.begin(), ranks_.end(), std::size_t{0}); }

// Up to which layer a byte of all of these is worth the most. Where not all of the first can be sent, those go together: fewer chunks, and more
// of each.
std::size_t CodedSendingEnd::last_worth(std::size_t first) const {
    double weight = 0, bytes = 0, most = 0;
    std::size_t best = first;
    for (std::size_t layer = first; layer < map_.layers(); ++layer) {
        weight += static_cast<double>(map_.layers() - layer);
        bytes += released_bytes_[layer];
        if (bytes <= 0 || weight / bytes <= kWorthMore * most) continue;
        most = weight / bytes;
        best = layer;
    }
    return best;
}

// Part what waits of these layers into what is admitted and what is not, each in its order: of a chunk all or none, but for what builds on
// layers that have gone, which is taken. False where something was not admitted for want of room.
bool CodedSendingEnd::admit_layers(std::size_t from, std::size_t to) {
    const auto waits = [&](std::uint32_t object) {
        return !layers_[object].given_up && layers_[object].offset == 0 && !there(object);
    };
    const auto wire_left = [&](std::uint32_t object) {
        return static_cast<double>(with_headers(objects_.payload_bytes[object] - layers_[object].offset)) *
               with_repair();
    };
    const auto leaves = [&](std::uint32_t object) {
        return objects_.deadline_ns[object] - std::max(behind(object, least_light_ns_), early_ns_);
    };
    bool all = true;
    for (std::size_t layer = from + 1; layer <= to; ++layer)
        for (const Level* level : {&levels_[layer], &levels_[map_.layers() + layer]})
            for (const std::uint32_t object : level->objects)
                if (!waits(object - 1) && !layers_[object - 1].given_up)
                    admission_.take(leaves(object), wire_left(object));
    for (std::size_t layer = from; layer <= to; ++layer) {
        Level &first = levels_[layer], &last = levels_[map_.layers() + layer];
        if (first.objects.empty() && last.objects.empty()) continue;
        std::deque<std::uint32_t> waiting;
        std::merge(first.objects.begin(), first.objects.end(), last.objects.begin(), last.objects.end(),
                   std::back_inserter(waiting));
        first.objects.clear();
        last.objects.clear();
        const std::uint32_t begun_last[] = {last.begun, first.begun};
        first.begun = last.begun = kNoObject;
        for (const std::uint32_t object : waiting) {
            if (layer > from) {
                deferred_[object] = waits(object - 1) ? deferred_[object - 1] : layers_[object - 1].given_up;
            } else {
                const bool begun = layers_[object].offset > 0, taken = begun && deferred_[object] == 0;
                double left = wire_left(object);
                for (std::size_t above = 1; above <= to - from; ++above)
                    if (object + above < released_) left += wire_left(static_cast<std::uint32_t>(object + above));
                if (taken) admission_.take(leaves(object), left);
                const bool useless =
                    builds_on_another(objects_, object) && (deferred_[object - 1] != 0 || layers_[object - 1].given_up);
                const bool fits = taken || (!(useless && !begun) && admission_.admit(leaves(object), left));
                all = all && (fits || useless);
                deferred_[object] = !fits;
            }
            (deferred_[object] != 0 ? last : first).objects.push_back(object);
        }
        for (const std::uint32_t object : begun_last)
            if (object != kNoObject) (deferred_[object] != 0 ? last : first).begun = object;
    }
    return all;
}

// A block of which some was sent and the rest is not admitted: where its repair must leave soon, the rest is given up, so that it closes.
void CodedSendingEnd::close_in_time(std::size_t layer, Time notice) {
    Level& last = levels_[map_.layers() + layer];
    std::deque<std::uint32_t> kept;
    const Time arrives = now_ + least_light_ns_;
    for (const std::uint32_t object : last.objects) {
        const std::uint32_t block = map_.block_of(object);
        const Time due = sent_[block].source > 0 && length_of(block) > 0 ? next_deadline(block, false, arrives) : -1;
        if (due < 0 || due > arrives + std::max(notice, length_of(block))) {
            kept.push_back(object);
            continue;
        }
        if (last.begun == object) last.begun = kNoObject;
        give_up(object);
    }
    last.objects.swap(kept);
}

}  // namespace dstcc
