// The clairvoyant bound, and the one for senders that know the law of the losses only.
//
// A sender that knows every draw starts packets where they get through and nowhere else. Chunk k's bytes may use, on link
// l, the line from release_k to deadline_k - delay_l. Releases and deadlines rise with k, so a set of demands n_k is
// feasible only if for every i <= j (Hall's condition for agreeable intervals)
//
//     n_i + ... + n_j  <=  P_j - Q_i,     P_j = sum over l of A_l(deadline_j - delay_l),   Q_i = sum of A_l(release_i),
//
// A_l(t) = what link l can carry up to t. With N_k the running sum of demands that is
// max_{j>=k}(N_j - P_j) <= min_{i<=k}(N_{i-1} - Q_i); oracle/demand_tree.hpp gives what still fits at k in O(log n).
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
//
// A link with a relay has two hops, and carries no more than either: the bound is taken with the first hops, then with the slower
// hop of each link, and the lesser counts. Chunk k's bytes may use the second hop from release_k + the light in front of it to
// deadline_k - the light behind it, each the least there is. Its line is lit at any time, and loses nothing.
//
// Law: let every packet of link l be lost with the chance p_l, independently. A sender that does not know the draws decides what
// leaves in a slot before that slot's draw, so of what leaves in any window a share of 1 - p_l arrives in the mean, whatever it
// has heard by then. The mean bytes n_k that arrive in time for chunk k are thus feasible for (1 - p_l) A_l in the place of A_l,
// and the mean weight is no more than the most that such n_k bring. It is granted to hear of each packet at once, to split
// layers, to code over all that is captured, and to lose no handshake. The most weight is concave in A, so that this bound is
// never below the mean of clairvoyant ones (Jensen): what makes it the lower one is that its sender shakes hands.
#include "oracle/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "link/contact.hpp"
#include "link/direction.hpp"
#include "oracle/demand_tree.hpp"

namespace dstcc {

namespace {

// What may be carried up to each chunk's deadline (p), and what is gone by its release (q).
struct Windows {
    std::vector<double> p, q;
};

// A link with more slots or frames than this by the last deadline is taken for lossless: still an upper bound, and no
// hour's work.
constexpr double kMostDraws = 3e7;

// A link as a sender knows it: its draws, or the share of packets that gets through.
struct Channel {
    Direction direction;
    double share = 1;
    Time open_ns = 0;  // nothing leaves before
};

// What one link can carry as a function of time, in bytes, for queries in rising order.
class Supply {
public:
    Supply(const Channel& channel, const EngineConfig& config, const LinkConfig& link, Time last)
        : full_(channel.direction),
          any_(channel.direction),
          share_(channel.share),
          outages_(all_outages(link, false)),
          steps_(RateSteps::actual(link, false)),
          horizon_(config.duration_ns),
          wire_(config.transport.mss_bytes + config.transport.header_bytes),
          slot_ns_(full_.slot_ns()) {
        last = std::min(last, horizon_);
        const auto most = static_cast<double>(last) / kMostDraws;
        coarse_ = static_cast<double>(slot_ns_) < most;
        framed_ = full_.framed() && full_.usable_frame_ns() >= most;
        // Service times are rounded to nanoseconds: the shortest packet may take half of one less than its bytes.
        const double ns_per_byte = 8.0 * kNsPerS / link.rate_bps - 0.5 / (config.transport.header_bytes + 1);
        bytes_per_ns_ = ns_per_byte > 0 ? 1 / ns_per_byte : std::numeric_limits<double>::infinity();
    }
    // Full packets that depart by `end`, for chunk after chunk, and the least that is used up before `release`, in windows
    // that begin there. The times of each list rise.
    void add_full(const std::vector<Time>& release, const std::vector<Time>& end, Windows& windows) {
        in_order(
            release, end, 1 - slot_ns_,
            [&](std::size_t k, Time at) { windows.q[k] += share_ * wire_ * std::max(packets_before(at) - 1, 0.0); },
            [&](std::size_t k, Time at) { windows.p[k] += share_ * wire_ * packets_before(at); });
    }
    // The same in line time.
    void add_any(const std::vector<Time>& release, const std::vector<Time>& end, Windows& windows) {
        in_order(
            release, end, 0, [&](std::size_t k, Time at) { windows.q[k] += share_ * any(at, true); },
            [&](std::size_t k, Time at) { windows.p[k] += share_ * any(at, false); });
    }

private:
    // Both lists as one that rises, so that the line is walked once.
    template <class Release, class End>
    void in_order(const std::vector<Time>& release, const std::vector<Time>& end, Time shift, Release&& at_release,
                  End&& at_end) const {
        const auto released = [&](std::size_t i) { return std::min(release[i], horizon_); };
        const auto ended = [&](std::size_t j) { return std::min(end[j], horizon_) + shift; };
        for (std::size_t i = 0, j = 0; i < release.size() || j < end.size();) {
            if (j == end.size() || (i < release.size() && released(i) <= ended(j))) {
                at_release(i, released(i));
                ++i;
            } else {
                at_end(j, ended(j));
                ++j;
            }
        }
    }
    double packets_before(Time at) {
        if (coarse_ && steps_.steady())
            return std::max(0.0, static_cast<double>(lit_before(at + slot_ns_)) / static_cast<double>(slot_ns_));
        if (coarse_) return lit_work_before(at) / static_cast<double>(slot_ns_) + 1;
        packets_ += static_cast<double>(full_.count_delivering(next_, at));
        return packets_;
    }
    double any(Time at, bool begins) {
        if (!framed_) return lit_work_before(at) * bytes_per_ns_;
        // A frame that is under way counts for windows that end in it and for those that begin in it.
        usable_ += any_.usable_frames(frame_, at);
        const double frames = begins ? std::max(usable_ - 1, 0.0) : usable_;
        return frames * any_.usable_frame_ns() * bytes_per_ns_;
    }
    // Time outside outages, up to `at`.
    Time lit_before(Time at) const {
        Time lit = at;
        for (const auto& [from, to] : outages_) lit -= std::clamp<Time>(at - from, 0, to - from);
        return std::max<Time>(lit, 0);
    }

    // The same in time at the most rate.
    double lit_work_before(Time at) const {
        if (steps_.steady()) return static_cast<double>(lit_before(at));
        double lit = steps_.work(0, at);
        for (const auto& [from, to] : outages_)
            if (at > from) lit -= steps_.work(from, std::min(at, to));
        return std::max(lit, 0.0);
    }

    Direction full_, any_;
    double share_;
    std::vector<std::pair<Time, Time>> outages_;
    RateSteps steps_;
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

// Layers as they are wanted, chunk by chunk: one that is denser than what it builds on is pooled with that.
class Demands {
public:
    void add(std::size_t chunk, double bytes, double weight) {
        if (layers_.empty() || layers_.back().chunk != chunk) floor_ = layers_.size();
        layers_.push_back({chunk, bytes, weight});
        while (layers_.size() > floor_ + 1) {
            const Layer above = layers_.back(), below = layers_[layers_.size() - 2];
            if (above.weight * below.bytes <= below.weight * above.bytes) break;
            layers_.pop_back();
            layers_.back() = {chunk, above.bytes + below.bytes, above.weight + below.weight};
        }
    }
    // The densest first.
    std::vector<Demand> sorted() const {
        std::vector<Demand> demands;
        demands.reserve(layers_.size());
        for (const Layer& layer : layers_)
            demands.push_back({layer.chunk, layer.bytes, layer.bytes > 0 ? layer.weight / layer.bytes : layer.weight});
        std::stable_sort(demands.begin(), demands.end(),
                         [](const Demand& a, const Demand& b) { return a.density > b.density; });
        return demands;
    }

private:
    struct Layer {
        std::size_t chunk;
        double bytes, weight;
    };
    std::vector<Layer> layers_;
    std::size_t floor_ = 0;  // where the last chunk's begin
};

// The most weight that fits the windows.
double most_weight(const Windows& windows, const Demands& wanted) {
    DemandTree tree(windows.p, windows.q);
    double total = 0;
    for (const Demand& demand : wanted.sorted()) {
        if (demand.bytes <= 0) {
            total += demand.density;
            continue;
        }
        const double taken = std::clamp(tree.room(demand.chunk), 0.0, demand.bytes);
        if (taken <= 0) continue;
        tree.take(demand.chunk, taken);
        total += taken * demand.density;
    }
    return total;
}

bool relay_is_slower(const LinkConfig& link) { return link.relay && link.relay->rate_bps < link.rate_bps; }

// Of the least delay a share, less what rounding may take.
Time least_share(const LinkConfig& link, double share) {
    const auto least = static_cast<double>(DelayTable(link.delay_t_ns, link.delay_ns, link.delay_slope).least());
    return std::max<Time>(static_cast<Time>(least * share) - 1, 0);
}

// The hop behind a link's relay as a link of its own.
LinkConfig second_hop(const LinkConfig& link) {
    LinkConfig hop;
    hop.rate_bps = hop.up_rate_bps = link.relay->rate_bps;
    hop.delay_t_ns = {0};
    hop.delay_ns = {least_share(link, 1 - link.relay->at)};
    hop.loss.kind = hop.up_loss.kind = kLossless;
    return hop;
}

template <class ChannelOf>
double bound(const EngineConfig& config, const std::vector<double>& weights, ChannelOf&& channel_of) {
    const ObjectsConfig& objects = config.objects;
    const TransportConfig& transport = config.transport;
    const double wire = transport.mss_bytes + transport.header_bytes;
    std::vector<Time> release, deadline;
    Demands full, any;  // in full packets, and in all bytes
    double free_weight = 0;
    for (std::size_t o = 0; o < objects.size(); ++o) {
        if (o == 0 || objects.chunk[o] != objects.chunk[o - 1]) {
            release.push_back(objects.release_ns[o]);
            deadline.push_back(std::min(objects.deadline_ns[o], config.duration_ns));
        }
        const auto payload = static_cast<double>(objects.payload_bytes[o]);
        const auto packets = static_cast<double>(objects.payload_bytes[o] / transport.mss_bytes);
        const bool short_one = objects.payload_bytes[o] % transport.mss_bytes > 0;
        full.add(release.size() - 1, packets * wire, weights[o]);
        any.add(release.size() - 1, payload + (packets + short_one) * transport.header_bytes, weights[o]);
        free_weight += weights[o];
    }
    if (release.empty()) return 0;
    if (deadline.back() == kNever) return free_weight;  // no end: everything comes in time

    const std::size_t n = release.size();
    const auto over = [&](bool slower_hops) {
        const Windows empty{std::vector<double>(n, 0.0), std::vector<double>(n, 0.0)};
        Windows full_windows = empty, any_windows = empty;
        for (std::size_t l = 0; l < config.links.size(); ++l) {
            const bool second = slower_hops && relay_is_slower(config.links[l]);
            const LinkConfig link = second ? second_hop(config.links[l]) : config.links[l];
            Channel channel = channel_of(l, static_cast<std::uint32_t>(wire));
            if (second) {
                channel.direction = Direction(link, false, config.seed, l, static_cast<std::uint32_t>(wire));
                channel.share = 1;
            }
            const Time before = second ? least_share(config.links[l], config.links[l].relay->at) : 0;
            const DelayTable delay(link.delay_t_ns, link.delay_ns, link.delay_slope);
            std::vector<Time> begin(n), end(n);
            bool useful = false;
            for (std::size_t k = 0; k < n; ++k) {
                begin[k] = std::max(release[k], channel.open_ns) + before;
                end[k] = std::max(delay.latest_departure(deadline[k]), begin[k]);
                if (k > 0) end[k] = std::max(end[k], end[k - 1]);
                useful = useful || end[k] > begin[k];
            }
            if (!useful) continue;
            Supply supply(channel, config, link, end.back());
            supply.add_full(begin, end, full_windows);
            supply.add_any(begin, end, any_windows);
        }
        return std::min(most_weight(full_windows, full), most_weight(any_windows, any));
    };
    const bool hops = std::any_of(config.links.begin(), config.links.end(), relay_is_slower);
    return hops ? std::min(over(false), over(true)) : over(false);
}

// When data can follow a handshake that begins as early as it can.
Time handshake_over(const LinkConfig& link, int header_bytes) {
    const ContactPlan plan(link, header_bytes);
    const Time opening = plan.opening(0);
    if (opening >= kForeverNs) return kForeverNs;
    const Time arrives = opening + plan.light_ns(opening);
    return arrives + plan.light_ns(arrives);
}

}  // namespace

double clairvoyant_weight(const EngineConfig& config, const std::vector<double>& weights) {
    return bound(config, weights, [&](std::size_t l, std::uint32_t wire) {
        return Channel{Direction(config.links[l], false, config.seed, l, wire)};
    });
}

double law_weight(const EngineConfig& config, const std::vector<double>& weights, bool handshake) {
    return bound(config, weights, [&](std::size_t l, std::uint32_t wire) {
        LinkConfig link = config.links[l];
        const bool lossless = link.loss.kind == kLossless;
        if (!lossless && link.loss.kind != kIndependent)
            throw std::invalid_argument("losses of the kind '" + link.loss.kind +
                                        "' are not independent, and have no bound by their law");
        const double share = lossless ? 1.0 : 1.0 - link.loss.number("rate");
        link.loss = LossConfig{};
        return Channel{Direction(link, false, config.seed, l, wire), share,
                       handshake ? handshake_over(link, config.transport.header_bytes) : 0};
    });
}

}  // namespace dstcc
