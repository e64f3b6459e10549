// The clairvoyant bound.
//
// A sender that knows every draw starts packets where they get through and nowhere else. Chunk k's bytes may use, on link
// l, the line from release_k to deadline_k - delay_l. Releases and deadlines rise with k, so a set of demands n_k is
// feasible only if for every i <= j (Hall's condition for agreeable intervals)
//
//     n_i + ... + n_j  <=  P_j - Q_i,     P_j = sum over l of A_l(deadline_j - delay_l),   Q_i = sum of A_l(release_i),
//
// A_l(t) = what link l can carry up to t. With N_k the running sum of demands that is
// max_{j>=k}(N_j - P_j) <= min_{i<=k}(N_{i-1} - Q_i): two range-add trees give what still fits at k in O(log n).
//
// Feasible sets form a matroid, so taking bytes by weight per byte is optimal for divisible layers. Precedence (an
// enhancement layer counts only with all below) is kept by pooling a layer denser than the one below it with that one.
// Divisible layers and ordering-free arrival make it an upper bound.
//
// A is counted twice, and the lesser bound taken, since neither alone is right for packets of all sizes:
//
//   full packets   Starting each as early as it gets through brings the most of them; from any time on, at most one more
//                  than that count. Demands are full packets only: the short one at a layer's end is free, as it may slip
//                  through on draws or frames that a full one cannot use.
//   line time      Every byte counts, but losses hardly do: lit time at the link's rate, of coded links without frames
//                  that are erased behind an erased one.
#include "oracle/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "link/direction.hpp"

namespace dstcc {

namespace {

// Range add, range minimum.
class RangeAddMin {
public:
    explicit RangeAddMin(const std::vector<double>& values) {
        while (size_ < values.size()) size_ *= 2;
        least_.assign(2 * size_, std::numeric_limits<double>::infinity());
        added_.assign(2 * size_, 0.0);
        for (std::size_t i = 0; i < values.size(); ++i) least_[size_ + i] = values[i];
        for (std::size_t i = size_ - 1; i > 0; --i) least_[i] = std::min(least_[2 * i], least_[2 * i + 1]);
    }
    void add_from(std::size_t from, double x) { add(1, 0, size_, from, x); }
    double min(std::size_t from, std::size_t to) const { return query(1, 0, size_, from, to); }  // [from, to)

private:
    void add(std::size_t node, std::size_t lo, std::size_t hi, std::size_t from, double x) {
        if (from >= hi) return;
        if (from <= lo) {
            least_[node] += x;
            added_[node] += x;
            return;
        }
        const std::size_t mid = (lo + hi) / 2;
        add(2 * node, lo, mid, from, x);
        add(2 * node + 1, mid, hi, from, x);
        least_[node] = std::min(least_[2 * node], least_[2 * node + 1]) + added_[node];
    }
    double query(std::size_t node, std::size_t lo, std::size_t hi, std::size_t from, std::size_t to) const {
        if (to <= lo || hi <= from) return std::numeric_limits<double>::infinity();
        if (from <= lo && hi <= to) return least_[node];
        const std::size_t mid = (lo + hi) / 2;
        return std::min(query(2 * node, lo, mid, from, to), query(2 * node + 1, mid, hi, from, to)) + added_[node];
    }
    std::size_t size_ = 1;
    std::vector<double> least_, added_;
};

// A link with more slots or frames than this by the last deadline is taken for lossless: still an upper bound, and no
// hour's work.
constexpr double kMostDraws = 3e7;

// What one link can carry as a function of time, in bytes, for queries in rising order.
class Supply {
public:
    Supply(const Direction& direction, const EngineConfig& config, std::size_t link, Time last)
        : full_(direction),
          any_(direction),
          outages_(config.links[link].outages_ns),
          horizon_(config.duration_ns),
          wire_(config.transport.mss_bytes + config.transport.header_bytes),
          slot_ns_(direction.slot_ns()) {
        last = std::min(last, horizon_);
        const auto most = static_cast<double>(last) / kMostDraws;
        coarse_ = static_cast<double>(slot_ns_) < most;
        framed_ = direction.framed() && static_cast<double>(direction.frame_ns()) >= most;
        // Service times are rounded to nanoseconds: the shortest packet may take half of one less than its bytes.
        const double ns_per_byte =
            8.0 * kNsPerS / config.links[link].rate_bps - 0.5 / (config.transport.header_bytes + 1);
        bytes_per_ns_ = ns_per_byte > 0 ? 1 / ns_per_byte : std::numeric_limits<double>::infinity();
    }
    // Full packets that depart by `at`.
    double full_until(Time at) { return wire_ * packets_before(std::min(at, horizon_) - slot_ns_ + 1); }
    // The least that is used up before `at`, in windows that begin there.
    double full_from(Time at) { return wire_ * std::max(packets_before(std::min(at, horizon_)) - 1, 0.0); }
    double any_until(Time at) { return any(std::min(at, horizon_), false); }
    double any_from(Time at) { return any(std::min(at, horizon_), true); }

private:
    double packets_before(Time at) {
        if (coarse_)
            return std::max(0.0, static_cast<double>(lit_before(at + slot_ns_)) / static_cast<double>(slot_ns_));
        while (next_ < at) {
            next_ = full_.next_delivering(next_, at);
            if (next_ >= at) break;
            ++packets_;
            next_ += slot_ns_;
        }
        return packets_;
    }
    double any(Time at, bool begins) {
        if (!framed_) return static_cast<double>(lit_before(at)) * bytes_per_ns_;
        // A frame that is under way counts for windows that end in it and for those that begin in it.
        usable_ += any_.usable_frames(frame_, at);
        const double frames = begins ? std::max(usable_ - 1, 0.0) : usable_;
        return frames * static_cast<double>(any_.frame_ns() + 1) * bytes_per_ns_;
    }
    // Time outside outages, up to `at`.
    Time lit_before(Time at) const {
        Time lit = at;
        for (const auto& [from, to] : outages_) lit -= std::clamp<Time>(at - from, 0, to - from);
        return std::max<Time>(lit, 0);
    }

    Direction full_, any_;
    std::vector<std::pair<Time, Time>> outages_;
    Time horizon_;
    double wire_;
    Time slot_ns_;
    double bytes_per_ns_ = 0;
    bool coarse_ = false, framed_ = false;
    Time next_ = 0;
    double packets_ = 0, usable_ = 0;
    std::int64_t frame_ = 0;
};

struct Demand {
    std::size_t chunk;
    double bytes, density;
};

struct Layer {
    double bytes, weight;
};

void pool(std::vector<Layer>& layers) {
    std::vector<Layer> pooled;
    for (const Layer& layer : layers) {
        pooled.push_back(layer);
        while (pooled.size() > 1) {
            const Layer above = pooled.back(), below = pooled[pooled.size() - 2];
            if (above.weight * below.bytes <= below.weight * above.bytes) break;
            pooled.pop_back();
            pooled.back() = {above.bytes + below.bytes, above.weight + below.weight};
        }
    }
    layers = pooled;
}

// What may be carried up to each chunk's deadline (p), and what is gone by its release (q).
struct Windows {
    std::vector<double> p, q;
};

// The most weight that fits the windows.
double most_weight(const Windows& windows, std::vector<std::vector<Layer>> chunks) {
    const std::size_t n = chunks.size();
    std::vector<Demand> demands;
    for (std::size_t k = 0; k < n; ++k) {
        pool(chunks[k]);
        for (const Layer& layer : chunks[k])
            demands.push_back({k, layer.bytes, layer.bytes > 0 ? layer.weight / layer.bytes : layer.weight});
    }
    std::stable_sort(demands.begin(), demands.end(),
                     [](const Demand& a, const Demand& b) { return a.density > b.density; });

    // slack(k) = min_{j>=k}(P_j - N_j) + min_{i<=k}(N_{i-1} - Q_i)
    std::vector<double> minus_q(n);
    for (std::size_t k = 0; k < n; ++k) minus_q[k] = -windows.q[k];
    RangeAddMin upper(windows.p), lower(minus_q);
    double total = 0;
    for (const Demand& demand : demands) {
        if (demand.bytes <= 0) {
            total += demand.density;
            continue;
        }
        const double slack = upper.min(demand.chunk, n) + lower.min(0, demand.chunk + 1);
        const double taken = std::clamp(slack, 0.0, demand.bytes);
        if (taken <= 0) continue;
        upper.add_from(demand.chunk, -taken);
        lower.add_from(demand.chunk + 1, taken);
        total += taken * demand.density;
    }
    return total;
}

}  // namespace

double clairvoyant_weight(const EngineConfig& config, const std::vector<double>& weights) {
    const ObjectsConfig& objects = config.objects;
    const TransportConfig& transport = config.transport;
    const double wire = transport.mss_bytes + transport.header_bytes;
    std::vector<Time> release, deadline;
    std::vector<std::vector<Layer>> full, any;  // demands in full packets, and in all bytes
    double free_weight = 0;
    for (std::size_t o = 0; o < objects.size(); ++o) {
        if (o == 0 || objects.chunk[o] != objects.chunk[o - 1]) {
            release.push_back(objects.release_ns[o]);
            deadline.push_back(std::min(objects.deadline_ns[o], config.duration_ns));
            full.emplace_back();
            any.emplace_back();
        }
        const auto payload = static_cast<double>(objects.payload_bytes[o]);
        const auto packets = static_cast<double>(objects.payload_bytes[o] / transport.mss_bytes);
        const bool short_one = objects.payload_bytes[o] % transport.mss_bytes > 0;
        full.back().push_back({packets * wire, weights[o]});
        any.back().push_back({payload + (packets + short_one) * transport.header_bytes, weights[o]});
        free_weight += weights[o];
    }
    if (full.empty()) return 0;
    if (deadline.back() == kNever) return free_weight;  // no end: everything comes in time

    const std::size_t n = full.size();
    const Windows empty{std::vector<double>(n, 0.0), std::vector<double>(n, 0.0)};
    Windows full_windows = empty, any_windows = empty;
    for (std::size_t l = 0; l < config.links.size(); ++l) {
        const LinkConfig& link = config.links[l];
        const Direction direction(link, false, config.seed, l, static_cast<std::uint32_t>(wire));
        const DelayTable delay(link.delay_t_ns, link.delay_ns, link.delay_slope);
        std::vector<Time> end(n);
        bool useful = false;
        for (std::size_t k = 0; k < n; ++k) {
            end[k] = std::max(delay.latest_departure(deadline[k]), release[k]);
            if (k > 0) end[k] = std::max(end[k], end[k - 1]);
            useful = useful || end[k] > release[k];
        }
        if (!useful) continue;
        Supply at_end(direction, config, l, end.back()), at_release = at_end;
        for (std::size_t k = 0; k < n; ++k) {
            full_windows.q[k] += at_release.full_from(release[k]);
            full_windows.p[k] += at_end.full_until(end[k]);
            any_windows.q[k] += at_release.any_from(release[k]);
            any_windows.p[k] += at_end.any_until(end[k]);
        }
    }
    return std::min(most_weight(full_windows, std::move(full)), most_weight(any_windows, std::move(any)));
}

}  // namespace dstcc
