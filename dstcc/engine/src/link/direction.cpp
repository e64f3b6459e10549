#include "link/direction.hpp"

#include <cmath>

namespace dstcc {

std::vector<std::pair<Time, Time>> all_outages(const LinkConfig& link, bool up) {
    std::vector<std::pair<Time, Time>> all = up ? link.up_outages_ns : link.outages_ns;
    if (link.unannounced_ns.empty()) return all;
    all.insert(all.end(), link.unannounced_ns.begin(), link.unannounced_ns.end());
    std::sort(all.begin(), all.end());
    std::vector<std::pair<Time, Time>> merged;
    for (const auto& [from, to] : all) {
        if (!merged.empty() && from <= merged.back().second)
            merged.back().second = std::max(merged.back().second, to);
        else
            merged.emplace_back(from, to);
    }
    return merged;
}

Direction::Direction(const LinkConfig& link, bool up, std::uint64_t seed, std::uint64_t index, std::uint32_t full_bytes)
    : ns_per_byte_(8.0 * kNsPerS / (up ? link.up_rate_bps : link.rate_bps)),
      full_bytes_(full_bytes),
      steps_(RateSteps::actual(link, up)),
      outages_(all_outages(link, up)),
      delay_(link.delay_t_ns, link.delay_ns, link.delay_slope) {
    const LossConfig& loss = up ? link.up_loss : link.loss;
    lossless_ = loss.kind == kLossless;
    slot_ns_ = std::max<Time>(1, service_ns(full_bytes));
    framed_ = loss.kind == kFrameLoss && loss.frames->frame_bits > 1;  // bits are no frames that packets share
    if (framed_)
        frames_ =
            FrameLoss(loss.frames, up ? link.up_rate_bps : link.rate_bps, steps_, full_bytes, seed, index, up ? 1 : 0);
    else
        loss_ = Losses({loss, slot_ns_, seed, index, up ? std::uint64_t{1} : 0, steps_});
    steady_rate_ = steps_.steady();
    steady_delay_ = delay_.constant();
    first_delay_ns_ = delay_.first();
    if (!up) most_packets_ = link.queue_packets;
    steady_ = steady_rate_ && steady_delay_ && most_packets_ == 0;
    if (!outages_.empty()) dark_from_ns_ = outages_.front().first;
    safe_until_ns_ = lossless_ ? dark_from_ns_ : -1;
    measure(full_bytes);
    const double limit = static_cast<double>(up ? link.up_queue_bytes : link.queue_bytes) * ns_per_byte_ + 0.5;
    limit_ns_ = limit > static_cast<double>(kNever / 4) ? kNever / 4 : static_cast<Time>(limit);
    // Even the smallest queue holds the packet in service.
    limit_ns_ = std::max(limit_ns_, slot_ns_);
}

Direction::Passage Direction::transmit_unsteady(Time now, std::uint32_t bytes) {
    const Time start = busy_ns_ > now ? busy_ns_ : now;
    measure(bytes);
    ++sent_;
    if (full(now, start)) {
        ++dropped_;
        return {kNever, -1};
    }
    busy_ns_ = steady_rate_ ? start + last_service_ns_ : steps_.finish(start, last_service_ns_);
    if (most_packets_ > 0) departures_.push_back(busy_ns_);
    if (busy_ns_ > safe_until_ns_ && lost(start, bytes)) return {kNever, start - now};
    if (steady_delay_) return {busy_ns_ + first_delay_ns_, start - now};
    // First in, first out, even while the path shortens.
    last_arrival_ns_ = std::max(last_arrival_ns_, busy_ns_ + delay_.at(busy_ns_, delay_row_));
    return {last_arrival_ns_, start - now};
}

// `before`: so many were put on the line at times of theirs.
void Direction::transmit(const Run& run, std::int64_t before, std::uint32_t bytes, RunPassage& out) {
    if (bytes != last_bytes_) measure(bytes);
    for (std::int64_t place = 0; place < run.count;) {
        const Services next = at_once(run, place, bytes);
        const std::int64_t count = next.begin.count;
        if (count > 0) {
            if (next.longer_ns == 0) out.waited(next.wait_ns, count);
            for (std::int64_t k = 0; next.longer_ns != 0 && k < count; ++k)
                out.waited(next.wait_ns + k * next.longer_ns, 1);
            serve(next.begin, before + place, bytes, out);
            place += count;
        } else {
            const Passage passage = transmit(run.at(place), bytes);
            if (passage.wait_ns >= 0) out.waited(passage.wait_ns, 1);
            if (passage.arrive_ns != kNever) out.arrives(before + place, {passage.arrive_ns, 0, 1});
            ++place;
        }
    }
}

// All at once where the line does not rest between them, each finds room, and draws of their slots are all that can lose them.
void Direction::transmit(const Volleys& volleys, std::uint32_t bytes, RunPassage& out) {
    if (bytes != last_bytes_) measure(bytes);
    const Run& times = volleys.times;
    const std::int64_t each = volleys.each, count = volleys.count();
    const Time service = last_service_ns_, start = std::max(times.first, busy_ns_), wait = start - times.first;
    const Time longer = times.count > 1 ? each * service - times.spacing : 0, last = wait + (times.count - 1) * longer;
    const Time lit = lossless_ ? safe_until_ns_ : dark_from_ns_;
    if (steady_rate_ && most_packets_ == 0 && !framed_ && last >= 0 &&
        std::max(wait, last) + each * service <= limit_ns_ && start + count * service <= lit) {
        for (std::int64_t k = 0; k < each; ++k)
            for (std::int64_t i = 0, alike = longer == 0 ? times.count : 1; i < times.count; i += alike)
                out.waited(wait + i * longer + k * service, alike);
        return serve({start, service, count}, 0, bytes, out);
    }
    for (std::int64_t i = 0; i < times.count; ++i) transmit({times.at(i), 0, each}, i * each, bytes, out);
}

// Of packets that have room, and whose services begin then.
void Direction::serve(const Run& begin, std::int64_t place, std::uint32_t bytes, RunPassage& out) {
    sent_ += begin.count;
    busy_ns_ = begin.last() + last_service_ns_;
    lossless_ || framed_ ? arrive(begin, 0, begin.count, place, out) : draw(begin, place, bytes, out);
}

// Of packets of a run, from one on, those that find room and are served at one rate, where the line rests before each or before none,
// and that are lost by draws of their slots at most; of a coded link, by nothing.
Direction::Services Direction::at_once(const Run& run, std::int64_t place, std::uint32_t bytes) const {
    const Time start = std::max(run.at(place), busy_ns_), service = last_service_ns_;
    Services next{{start, run.spacing, 0}, start - run.at(place)};
    if (!steady_rate_ || most_packets_ > 0 || (framed_ && bytes != full_bytes_)) return next;
    std::int64_t count = run.count - place;
    const Time room = limit_ns_ - service - next.wait_ns;
    if (room < 0) return next;
    if (next.wait_ns > 0 || run.spacing < service) {
        next.begin.spacing = service;
        next.longer_ns = service - run.spacing;
        if (next.longer_ns > 0) count = std::min(count, room / next.longer_ns + 1);
        if (next.longer_ns < 0) count = std::min(count, next.wait_ns / -next.longer_ns + 1);
    }
    const Time lit = lossless_ ? safe_until_ns_ : dark_from_ns_;  // by then service has ended
    const Time clear = framed_ ? frames_.clear_until(start) : kNever;
    if (lit < start + service || clear <= start || next.begin.spacing <= 0) return next;
    const Time last = std::min(lit - service, clear - 1) - start;  // from then on another begins no more
    if (last < (count - 1) * next.begin.spacing) count = last / next.begin.spacing + 1;
    next.begin.count = count;
    return next;
}

void Direction::draw(const Run& begin, std::int64_t place, std::uint32_t bytes, RunPassage& out) {
    const std::int64_t count = begin.count, step = begin.spacing == slot_ns_ ? 1 : begin.spacing / slot_ns_;
    const bool by_slots = step * slot_ns_ == begin.spacing;  // else they drift
    std::int64_t arrived = 0;                                // and lost, so many
    const auto lose = [&](std::int64_t k) {
        if (k > arrived) arrive(begin, arrived, k, place, out);
        arrived = k + 1;
        ++lost_;
    };
    std::int64_t k = 0;
    do {
        const std::uint32_t nth = draw_in_slot(begin.at(k), bytes);
        if (lost_in_slot(nth, bytes)) lose(k);
    } while (++k < count && !by_slots);
    if (k < count) {  // each the first of its slot
        const std::int64_t first = slot_;
        if (const ConstantLoss* const constant = loss_.constant(); constant != nullptr) {
            while ((k += constant->first_lost(first + k * step, step, count - k)) < count) lose(k++);
        } else if (step == 1) {
            for (; (k = loss_.first_lost(first + k, first + count, bytes) - first) < count; ++k) lose(k);
        } else {
            for (; k < count; ++k) {
                slot_ = first + k * step;
                if (lost_in_slot(0, bytes)) lose(k);
            }
        }
        slot_ = first + (count - 1) * step;
        slot_end_ns_ += (count - 1) * begin.spacing;
        nth_ = 1;
    }
    if (count > arrived) arrive(begin, arrived, count, place, out);
}

void Direction::arrive(Run begin, std::int64_t from, std::int64_t to, std::int64_t place, RunPassage& out) {
    const Time service = last_service_ns_;
    begin = {begin.at(from), begin.spacing, to - from};
    place += from;
    if (steady_delay_) return out.arrives(place, {begin.first + service + first_delay_ns_, begin.spacing, begin.count});
    for (std::int64_t k = 0; k < begin.count; ++k) {
        const Time departs = begin.at(k) + service;
        last_arrival_ns_ = std::max(last_arrival_ns_, departs + delay_.at(departs, delay_row_));
        out.arrives(place + k, {last_arrival_ns_, 0, 1});
    }
}

std::int64_t Direction::count_run(Time& next, Time to) {
    const Time end = next + slot_ns_;
    if (end > dark_from_ns_ && in_outage(next, end)) {
        next = outages_[outage_].second;
        return 0;
    }
    const Time lit = std::min(to, dark_from_ns_ - slot_ns_ + 1);  // every start before then is in the light
    const std::int64_t more = (lit - next + slot_ns_ - 1) / slot_ns_, slot = next / slot_ns_;
    const std::int64_t through = lossless_ ? more : loss_.first_lost(slot, slot + more, full_bytes_) - slot;
    next = through < more ? (slot + through + 1) * slot_ns_ : next + more * slot_ns_;
    return through;
}

std::int64_t Direction::count_delivering(Time& next, Time to) {
    std::int64_t packets = 0;
    while (next < to) {
        if (has_runs()) {
            packets += count_run(next, to);
            continue;
        }
        const Time end = steady_rate_ ? next + slot_ns_ : steps_.finish(next, slot_ns_);
        if (end > dark_from_ns_ && in_outage(next, end)) {
            next = outages_[outage_].second;
        } else if (framed_) {
            const std::int64_t erased = frames_.first_erased(next, full_bytes_);
            packets += erased < 0;
            next = erased < 0 ? end : std::max(next + 1, frames_.begin_of(erased + 1));
        } else {
            const std::int64_t slot = next / slot_ns_;
            const bool lost = !lossless_ && loss_.lost(slot, 0, full_bytes_);
            packets += !lost;
            next = lost ? (slot + 1) * slot_ns_ : end;
        }
    }
    return packets;
}

// If d of them start in the slot, they and the one that is in service when it begins cover no more than (d + 1) longest; and
// the draws that are lost before the dth that is not are used up by a packet each.
Time Direction::spent_in(std::int64_t slot, std::uint32_t least, Time least_ns, Time longest_ns) {
    if (in_outage(slot * slot_ns_, (slot + 1) * slot_ns_)) return 0;
    Time used_up = 0, uncovered = slot_ns_ - longest_ns, spent = std::max<Time>(uncovered, 0);
    for (std::uint32_t nth = 0; uncovered > used_up; ++nth) {
        if (loss_.lost(slot, nth, least)) {
            used_up += least_ns;
        } else {
            uncovered -= longest_ns;
            spent = std::min(spent, std::max(used_up, uncovered));
        }
    }
    return spent;
}

double Direction::usable_frames(std::int64_t& frame, Time to) {
    double usable = 0;
    for (; frames_.begin_of(frame) < to; ++frame) {
        const Time begin = frames_.begin_of(frame), end = frames_.begin_of(frame + 1);
        in_outage(begin, begin);  // moves on
        const bool dark =
            outage_ < outages_.size() && outages_[outage_].first <= begin && end <= outages_[outage_].second;
        if (!dark && !frames_.erased(frame)) ++usable;
    }
    return usable;
}

}  // namespace dstcc
