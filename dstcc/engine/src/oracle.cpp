// The clairvoyant bound.
//
// A sender that knows every draw uses the service slots that deliver and no others. Chunk k's bytes may use, on link l,
// the delivering slots in [release_k, deadline_k - delay_l]. Releases and deadlines rise with k, so a set of demands n_k is
// feasible iff for every i <= j (Hall's condition for agreeable intervals)
//
//     n_i + ... + n_j  <=  P_j - Q_i,     P_j = Σ_l A_l(deadline_j - delay_l),   Q_i = Σ_l A_l(release_i),
//
// A_l(t) = bytes of the slots that deliver, counted up to t. With N_k the running sum of demands that is
// max_{j>=k}(N_j - P_j) <= min_{i<=k}(N_{i-1} - Q_i): two range-add trees give what still fits at k in O(log n).
//
// Feasible byte sets form a matroid, so taking bytes by weight per byte is optimal for divisible layers. Precedence (an
// enhancement layer counts only with all below) is kept by pooling a layer denser than the one below it with that one.
// Divisible layers and ordering-free arrival make it an upper bound.
#include "oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "channel.hpp"

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

// A link with more slots than this by the last deadline is taken for lossless: still an upper bound, and no hour's work.
constexpr double kMostSlots = 3e7;

// Delivering bytes of one link as a function of time, for queries in rising order.
class Supply {
public:
    Supply(Direction direction, const LinkConfig& link, std::uint32_t bytes, Time horizon, Time last)
        : direction_(std::move(direction)),
          outages_(link.outages_ns),
          bytes_(bytes),
          horizon_(horizon),
          coarse_(static_cast<double>(std::min(last, horizon)) / static_cast<double>(direction_.slot_ns()) > kMostSlots) {}
    // Bytes of the delivering slots that begin before `at`.
    double before(Time at) {
        at = std::min(at, horizon_);
        if (coarse_) return bytes_ * std::ceil(static_cast<double>(lit_before(at)) / static_cast<double>(direction_.slot_ns()));
        while (next_ * direction_.slot_ns() < at)
            if (direction_.slot_delivers(next_++)) total_ += bytes_;
        return total_;
    }

private:
    // Time outside outages, up to `at`.
    Time lit_before(Time at) const {
        Time lit = at;
        for (const auto& [from, to] : outages_) lit -= std::clamp<Time>(at - from, 0, to - from);
        return lit;
    }
    Direction direction_;
    std::vector<std::pair<Time, Time>> outages_;
    std::uint32_t bytes_;
    Time horizon_;
    bool coarse_;
    std::int64_t next_ = 0;
    double total_ = 0;
};

// The latest departure that still arrives by `deadline`: departure plus delay is linear between the table's times.
Time latest_departure(const LinkConfig& link, Time deadline) {
    const std::vector<Time>&t = link.delay_t_ns, &delay = link.delay_ns;
    const std::size_t n = t.size();
    if (t[n - 1] + delay[n - 1] <= deadline) return deadline - delay[n - 1];
    for (std::size_t i = n - 1; i > 0; --i) {
        const Time begin = t[i - 1] + delay[i - 1], end = t[i] + delay[i];
        if (begin > deadline) continue;  // its end is too late as well, or it would have been taken
        const double share = static_cast<double>(deadline - begin) / static_cast<double>(end - begin);
        return t[i - 1] + static_cast<Time>(std::ceil(share * static_cast<double>(t[i] - t[i - 1])));
    }
    return deadline - delay[0];
}

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

}  // namespace

double clairvoyant_weight(const EngineConfig& config, const std::vector<double>& weights) {
    const ObjectsConfig& objects = config.objects;
    const double header = config.transport.header_bytes;
    const auto wire = static_cast<std::uint32_t>(config.transport.mss_bytes + config.transport.header_bytes);
    std::vector<Time> release, deadline;
    std::vector<std::vector<Layer>> chunks;
    double free_weight = 0;
    for (std::size_t o = 0; o < objects.size(); ++o) {
        if (o == 0 || objects.chunk[o] != objects.chunk[o - 1]) {
            release.push_back(objects.release_ns[o]);
            deadline.push_back(std::min(objects.deadline_ns[o], config.duration_ns));
            chunks.emplace_back();
        }
        const auto payload = static_cast<double>(objects.payload_bytes[o]);
        const double segments = static_cast<double>((objects.payload_bytes[o] + config.transport.mss_bytes - 1) /
                                                    config.transport.mss_bytes);
        chunks.back().push_back({payload + segments * header, weights[o]});
        free_weight += weights[o];
    }
    if (chunks.empty()) return 0;
    if (deadline.back() == kNever) return free_weight;  // no end: everything comes in time

    const std::size_t n = chunks.size();
    std::vector<double> p(n, 0.0), q(n, 0.0);
    for (std::size_t l = 0; l < config.links.size(); ++l) {
        const Direction direction(config.links[l], false, config.seed, l, wire);
        std::vector<Time> end(n);
        bool useful = false;
        for (std::size_t k = 0; k < n; ++k) {
            end[k] = std::max(latest_departure(config.links[l], deadline[k]), release[k]);
            if (k > 0) end[k] = std::max(end[k], end[k - 1]);
            useful = useful || end[k] > release[k];
        }
        if (!useful) continue;
        Supply at_release(direction, config.links[l], wire, config.duration_ns, end.back());
        Supply at_end(direction, config.links[l], wire, config.duration_ns, end.back());
        for (std::size_t k = 0; k < n; ++k) {
            // A packet that starts within a slot takes its draw: the slots under way at both ends count.
            q[k] += at_release.before(std::max<Time>(release[k] - direction.slot_ns(), 0));
            p[k] += at_end.before(end[k]);
        }
    }
    std::vector<Demand> demands;
    for (std::size_t k = 0; k < n; ++k) {
        pool(chunks[k]);
        for (const Layer& layer : chunks[k]) demands.push_back({k, layer.bytes, layer.weight / layer.bytes});
    }
    std::stable_sort(demands.begin(), demands.end(),
                     [](const Demand& a, const Demand& b) { return a.density > b.density; });

    // slack(k) = min_{j>=k}(P_j - N_j) + min_{i<=k}(N_{i-1} - Q_i)
    std::vector<double> minus_q(n);
    for (std::size_t k = 0; k < n; ++k) minus_q[k] = -q[k];
    RangeAddMin upper(p), lower(minus_q);
    double total = 0;
    for (const Demand& demand : demands) {
        const double slack = upper.min(demand.chunk, n) + lower.min(0, demand.chunk + 1);
        const double taken = std::clamp(slack, 0.0, demand.bytes);
        if (taken <= 0) continue;
        upper.add_from(demand.chunk, -taken);
        lower.add_from(demand.chunk + 1, taken);
        total += taken * demand.density;
    }
    return total;
}

}  // namespace dstcc
