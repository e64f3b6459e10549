#include "coding/admission.hpp"

#include <algorithm>

namespace dstcc {

bool Admission::begin(Time now, Time shortest, Time longest, Time ends, const std::vector<Path>& paths) {
    double known = 0, sum = 0;
    for (const Path& path : paths) {
        known += path.rate > 0;
        sum += path.rate;
    }
    if (known == 0) return false;
    now_ = now;
    longest_ = std::max<Time>(longest, 1);
    ends_ = ends;
    const Time end = now + kHorizon * longest_, step = std::max<Time>(longest_ / kSteps, 1);
    const Time least = std::clamp<Time>(shortest / kSteps, 1, step);
    at_.clear();
    for (Time at = now; at <= end; at += std::clamp((at - now) / kFiner, least, step)) at_.push_back(at);
    for (const Path& path : paths) {
        const auto& outages = path.plan->down().outages();
        for (auto next = path.plan->down().outage_after(now); next != outages.end() && next->first < end; ++next)
            for (const Time change : {next->first, next->second})
                if (change > now && change < end) at_.push_back(change + path.light_ns);
    }
    if (ends > now && ends < end) at_.push_back(ends);
    std::sort(at_.begin(), at_.end());
    at_.erase(std::unique(at_.begin(), at_.end()), at_.end());
    spare_.assign(at_.size(), 0);
    for (const Path& path : paths) add_path(path, path.rate > 0 ? path.rate : sum / known);
    admitted_.assign(at_.size(), 0);
    total_ = 0;
    Time light = kNever;
    for (const Path& path : paths) light = std::min(light, path.light_ns);
    const Time to = std::min(now + 2 * longest_, ends), from = std::max(to - longest_, now + light);
    later_ = to > from ? (spare_[step_before(to)] - spare_[step_before(from)]) / static_cast<double>(to - from) : 0;
    const std::size_t last = step_before(std::max(ends, now));
    std::fill(spare_.begin() + static_cast<std::ptrdiff_t>(last), spare_.end(), spare_[last]);
    return true;
}

// What the path brings by each step.
void Admission::add_path(const Path& path, double rate) {
    const PlannedWay& way = path.plan->down();
    const double share = way.rate().share_at(now_), full = share > 0 ? rate / share : rate;
    auto next = way.outage_after(now_);
    double brought = 0, waits = 0;
    Stay last;
    Time from = now_ + path.wait_ns;
    for (std::size_t i = 0; i < at_.size(); ++i) {
        const Time until = at_[i] - path.light_ns;
        while (from < until) {
            if (next != way.outages().end() && next->first <= from) {
                from = std::max(from, next->second);
                ++next;
                continue;
            }
            const Time stop = next == way.outages().end() ? until : std::min(until, next->first);
            double comes = full * way.rate().work(from, stop);
            if (path.storage != nullptr) {
                const Stay stay = path.clock->stay(from);
                if (!(stay == last)) waits = 0;
                last = stay;
                comes = std::min(comes, std::max(path.storage->left(stay) - waits, 0.0));
                waits += comes;
            }
            brought += comes;
            from = stop;
        }
        spare_[i] += brought;
    }
}

std::size_t Admission::step_before(Time at) const {
    return static_cast<std::size_t>(std::upper_bound(at_.begin(), at_.end(), at) - at_.begin()) - 1;
}

void Admission::begin_layer() {
    double before = 0;
    for (std::size_t i = 0; i < at_.size(); ++i) {
        before += admitted_[i];
        spare_[i] -= before;
    }
    begin_layer_again();
    least_ = spare_;
    for (std::size_t i = at_.size() - 1; i-- > 0;) least_[i] = std::min(least_[i], least_[i + 1]);
}

void Admission::begin_layer_again() {
    admitted_.assign(at_.size(), 0);
    total_ = 0;
}

bool Admission::admit(Time deadline, double bytes) {
    if (deadline < now_ || least_[step_before(deadline)] - total_ < bytes) return false;
    take(deadline, bytes);
    return true;
}

void Admission::take(Time deadline, double bytes) {
    admitted_[step_before(std::max(deadline, now_))] += bytes;
    total_ += bytes;
}

bool Admission::expect(double bytes_per_ns) {
    bool all = true;
    for (std::size_t i = step_before(now_ + longest_); i + 1 < at_.size() && at_[i + 1] - longest_ <= ends_; ++i) {
        const double comes = bytes_per_ns * static_cast<double>(at_[i + 1] - at_[i]);
        const double fits = std::clamp(least_[i + 1] - total_, 0.0, comes);
        admitted_[i + 1] += fits;
        total_ += fits;
        all = all && fits >= comes;
    }
    return all;
}

}  // namespace dstcc
