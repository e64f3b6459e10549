// The clairvoyant bound, and the one for senders that know only the loss model.
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
// Divisible layers and ordering-free arrival make it an upper bound. Layers are not divisible, though: those that do not fit
// whole where their chunk has the links for itself are left out first, with all that builds on them, and the sum is rounded
// down to what whole layers can weigh.
//
// Who it holds for. *Packets of layers*: a packet has bytes of one layer, and is full or the layer's last (or a code's
// symbol of its block, no shorter than those it stands for). All of the simulator's senders do this. *Any packets*: nothing
// but the size of a full packet limits what is sent together.
//
// A is counted twice (oracle/supply.hpp), and the lesser bound taken, since neither alone is right for packets of all sizes:
//
//   full packets   Of packets of layers, a layer of f full packets and a short one needs f that get through: the short one
//                  is free, as it may slip through on draws or frames that a full one cannot use. Any packets need none.
//   line time      Every byte counts. Packets of layers have a header each; of any packets a byte takes its share of a full
//                  one's. Losses count by what a lost draw takes of its slot; for any packets only the frames of coded links.
//
// The nth short packet of a slot has its nth draw. So a sender uses up a lost draw with the shortest packet that there is,
// and goes on in the same slot: full packets, which all have the slot's first draw, cannot be saved like this, and short
// ones nearly all. Periodic losses count packets, whatever they are, and are left out.
//
// A path over nodes carries no more than any of its hops: the bound is taken with the first hops, then with the last ones, each once
// however many paths share it, and the lesser counts; a hop between the two is not looked at. Chunk k's bytes may use the last hop
// from release_k + the light in front of it, the least there is, to deadline_k - its own.
//
// Loss model: let every packet of link l be lost with probability p_l, independently. A sender that does not know the draws decides what
// leaves in a slot before that slot's draw, so of what leaves in any window a share of 1 - p_l arrives in the mean, whatever it
// has heard by then. The mean bytes n_k that arrive in time for chunk k are thus feasible for (1 - p_l) A_l in the place of A_l,
// and the mean weight is no more than the most that such n_k bring. It is granted to hear of each packet at once, to split
// layers, to code over all that is captured, and to lose no handshake. The most weight is concave in A, so that this bound is
// never below the mean of clairvoyant ones (Jensen): what makes it the lower one is that its sender shakes hands.
#include "oracle/oracle.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "link/contact.hpp"
#include "link/network.hpp"
#include "oracle/demands.hpp"
#include "oracle/supply.hpp"

namespace dstcc {

namespace {

// What a bound is asked for.
struct Question {
    bool any_packets = false, whole_layers = true;
};

Time least_of(const LinkConfig& line) { return DelayTable(line.delay_t_ns, line.delay_ns, line.delay_slope).least(); }

// The light that every packet of a path over nodes takes, whenever it leaves.
Time least_light(const LinkConfig& path) {
    Time light = DelayTable(path.first_t_ns, path.first_delay_ns, path.first_slope).least();
    for (const HopConfig& hop : path.onward) light += least_of(hop.line);
    return light;
}

// The first hop of a path over nodes, and of those that share it, as a link whose delay is that of the whole path.
LinkConfig first_of(const EngineConfig& config, std::size_t l) {
    LinkConfig first = config.links[l];
    if (first.onward.empty()) return first;
    Time light = least_light(first);
    for (const LinkConfig& other : config.links)
        if (other.first_hop_of == static_cast<int>(l)) light = std::min(light, least_light(other));
    first.delay_t_ns = {0};
    first.delay_ns = {light};
    first.delay_slope.clear();
    return first;
}

// The light in front of a path's last hop, the least of all paths that end with it.
Time least_before_last(const EngineConfig& config, std::int64_t hop) {
    Time before = kNever;
    for (const LinkConfig& path : config.links)
        if (!path.onward.empty() && path.onward.back().number == hop)
            before = std::min(before, least_light(path) - least_of(path.onward.back().line));
    return before;
}

// What a layer takes.
struct Cost {
    double full_bytes, line_bytes;
};

class Costs {
public:
    Costs(const TransportConfig& transport, bool any_packets)
        : mss_bytes_(transport.mss_bytes),
          mss_(static_cast<double>(transport.mss_bytes)),
          header_(transport.header_bytes),
          any_packets_(any_packets) {}
    Cost of(std::int64_t payload_bytes) const {
        const auto payload = static_cast<double>(payload_bytes);
        if (any_packets_) return {0, payload * (mss_ + header_) / mss_};
        const std::int64_t packets = payload_bytes / mss_bytes_;
        const bool short_one = payload_bytes % mss_bytes_ > 0;
        const auto full = static_cast<double>(packets);
        return {full * (mss_ + header_), payload + (full + short_one) * header_};
    }

private:
    std::int64_t mss_bytes_;
    double mss_, header_;
    bool any_packets_;
};

WireSizes wire_sizes(const EngineConfig& config, const LinkConfig& link, bool any_packets) {
    const TransportConfig& transport = config.transport;
    const auto header = static_cast<std::uint32_t>(transport.header_bytes);
    WireSizes sizes{header + static_cast<std::uint32_t>(transport.mss_bytes), 0, header};
    std::int64_t payload = any_packets ? transport.mss_bytes : 0;
    for (const std::int64_t bytes : config.objects.payload_bytes) payload = std::max(payload, bytes);
    sizes.longest = header + static_cast<std::uint32_t>(std::min<std::int64_t>(payload, transport.mss_bytes));
    for (const CrossTrafficConfig& cross : link.cross_traffic)
        sizes.least = std::min(sizes.least, static_cast<std::uint32_t>(cross.packet_bytes));
    return sizes;
}

// Losses that are a function of time and not of what was sent.
LinkConfig with_known_losses(LinkConfig link) {
    if (link.loss.kind == kPeriodicLoss) link.loss = LossConfig{};
    return link;
}

// A link, or a hop of a path, as the bound takes it.
struct Hop {
    LinkConfig link;
    WireSizes sizes;
    Channel channel;
    DelayTable delay;
    Time before_ns = 0;  // light in front of it
    LinkMarks marks;
    ChunkTimes chunks;
    Gone gone;  // for who asks of many delays

    Hop(LinkConfig of, const WireSizes& wire, Channel known, Time before)
        : link(std::move(of)),
          sizes(wire),
          channel(std::move(known)),
          delay(link.delay_t_ns, link.delay_ns, link.delay_slope),
          before_ns(before) {}
    // For walks again and again; marks where there are much more slots than chunks.
    void keep_marks(std::size_t chunks, Time until) {
        constexpr Time kSlotsAMark = 64, kSlotsAChunk = 256;
        const Direction& line = channel.direction;
        const Time step = kSlotsAMark * line.slot_ns(), slots = until / line.slot_ns();
        if (slots / kSlotsAChunk > static_cast<Time>(chunks)) marks = {Marks(step), Marks(step), {}};
        if (line.has_runs() && slots <= Runs::kMostSlots) marks.runs.emplace(line);
    }
    // Find when chunks may be in flight on it; false: none ever in time.
    bool times(const std::vector<Time>& release, const std::vector<Time>& deadline) {
        bool useful = false;
        chunks.release.resize(release.size());
        chunks.end.resize(release.size());
        for (std::size_t k = 0; k < release.size(); ++k) {
            chunks.release[k] = std::max(release[k], channel.open_ns) + before_ns;
            chunks.end[k] = std::max(delay.latest_departure(deadline[k]), chunks.release[k]);
            if (k > 0) chunks.end[k] = std::max(chunks.end[k], chunks.end[k - 1]);
            useful = useful || chunks.end[k] > chunks.release[k];
        }
        return useful;
    }
    Supply supply(const EngineConfig& config) { return {channel, config, link, sizes, chunks.end.back(), marks}; }
};

// What a trial's links carry, beside what is wanted of them.
class Bound {
public:
    // `channel_of(l, bytes)` is link l as the sender knows it, of full packets of so many bytes.
    template <class ChannelOf>
    Bound(const EngineConfig& config, const Question& question, ChannelOf&& channel_of)
        : config_(config),
          question_(question),
          costs_(config.transport, question.any_packets) {
        take_chunks();
        const bool further = std::any_of(config.links.begin(), config.links.end(),
                                         [](const LinkConfig& link) { return !link.onward.empty(); });
        for (const bool later_hops : {false, true}) {
            if (later_hops && !further) break;
            std::vector<Hop> hops;
            std::vector<std::int64_t> last;  // hops that were taken
            for (std::size_t l = 0; l < config.links.size(); ++l) {
                const LinkConfig& link = config.links[l];
                if (later_hops && !link.onward.empty()) {
                    const HopConfig& hop = link.onward.back();
                    if (std::find(last.begin(), last.end(), hop.number) != last.end()) continue;
                    last.push_back(hop.number);
                    const WireSizes sizes = wire_sizes(config, hop.line, question.any_packets);
                    Channel channel = channel_of(l, sizes.full);
                    const auto index = kHopNumbers + static_cast<std::uint64_t>(hop.number);
                    channel.direction = Direction(hop.line, false, config.seed, index, sizes.full);
                    channel.share = 1;
                    hops.emplace_back(hop.line, sizes, std::move(channel), least_before_last(config, hop.number));
                    continue;
                }
                if (link.first_hop_of >= 0) continue;  // it is taken
                const LinkConfig of = first_of(config, l);
                const WireSizes sizes = wire_sizes(config, of, question.any_packets);
                hops.emplace_back(of, sizes, channel_of(l, sizes.full), 0);
            }
            ways_.push_back(std::move(hops));
        }
    }
    bool has_deadlines() const { return !deadline_.empty() && deadline_.back() != kNever; }

    // The most weight in time.
    double weight(const std::vector<double>& weights) {
        if (release_.empty()) return 0;
        const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
        if (!has_deadlines() && config_.duration_ns == kNever) return all;
        const double unit = question_.whole_layers ? unit_of(weights) : 0;
        set_ends(0);
        double most = std::numeric_limits<double>::infinity();
        for (std::vector<Hop>& hops : ways_) {
            open_windows(hops);
            // Where everything fits and the sum is rounded, no sum need be taken.
            most = std::min(most, unit > 0 && everything_fits() ? all : most_in_windows(weights, unit > 0));
        }
        return in_whole_layers(most, unit);
    }

    // For who asks of many delays.
    void keep_marks() {
        for (std::vector<Hop>& hops : ways_)
            for (Hop& hop : hops) hop.keep_marks(release_.size(), std::min(deadline_.back(), config_.duration_ns));
    }
    // Whether everything comes in time where every deadline is so much later.
    bool brings_all(Time later) {
        set_ends(later);
        return std::all_of(ways_.begin(), ways_.end(), [&](std::vector<Hop>& hops) { return all_fit_over(hops); });
    }
    // Whether deadlines that are so much later are the run's end, all of them.
    bool ends_first(Time later) const { return deadline_.front() + later >= config_.duration_ns; }

private:
    void take_chunks() {
        const ObjectsConfig& objects = config_.objects;
        for (std::size_t o = 0; o < objects.size(); ++o) {
            if (o == 0 || objects.chunk[o] != objects.chunk[o - 1]) {
                release_.push_back(objects.release_ns[o]);
                deadline_.push_back(objects.deadline_ns[o]);
                full_bytes_.push_back(0);
                line_bytes_.push_back(0);
            }
            const Cost cost = costs_.of(objects.payload_bytes[o]);
            full_bytes_.back() += cost.full_bytes;
            line_bytes_.back() += cost.line_bytes;
        }
    }
    void set_ends(Time later) {
        end_.resize(release_.size());
        std::transform(deadline_.begin(), deadline_.end(), end_.begin(),
                       [&](Time deadline) { return std::min(deadline + later, config_.duration_ns); });
    }
    void open_windows(std::vector<Hop>& hops) {
        full_.reset(release_.size());
        line_.reset(release_.size());
        for (Hop& hop : hops) {
            if (!hop.times(release_, end_)) continue;
            Supply supply = hop.supply(config_);
            if (!question_.any_packets) supply.add_full(hop.chunks, full_);
            supply.add_line(hop.chunks, line_);
        }
    }
    // Whether windows that end by `end_` have room for everything: as everything_fits(), up to the first chunk that does not fit.
    bool all_fit_over(std::vector<Hop>& hops) {
        struct Open {
            Supply supply;
            const ChunkTimes& times;
            const Gone& gone;
        };
        std::vector<Open> open;
        for (Hop& hop : hops) {
            if (!hop.times(release_, end_)) continue;
            open.push_back({hop.supply(config_), hop.chunks, hop.gone});
            if (hop.gone.line.empty() || hop.gone.way != open.back().supply.way()) count_gone(hop);
        }
        double full_needed = 0, line_needed = 0;  // as in all_fit()
        for (std::size_t k = 0; k < release_.size(); ++k) {
            double full = 0, full_gone = 0, line = 0, line_gone = 0;
            for (Open& one : open) {
                if (!question_.any_packets) {
                    full += one.supply.full_by(one.times.end[k]);
                    full_gone += one.gone.full[k];
                }
                line += one.supply.line_by(one.times.end[k]);
                line_gone += one.gone.line[k];
            }
            full_needed = std::max(full_needed, full_gone) + full_bytes_[k];
            line_needed = std::max(line_needed, line_gone) + line_bytes_[k];
            if (full_needed > full || line_needed > line) return false;
        }
        return true;
    }
    void count_gone(Hop& hop) const {
        Supply supply = hop.supply(config_);
        hop.gone.way = supply.way();
        hop.gone.full.resize(release_.size());
        hop.gone.line.resize(release_.size());
        for (std::size_t k = 0; k < release_.size(); ++k) {
            if (!question_.any_packets) hop.gone.full[k] = supply.full_gone(hop.chunks.release[k]);
            hop.gone.line[k] = supply.line_gone(hop.chunks.release[k]);
        }
    }
    bool everything_fits() const { return all_fit(full_, full_bytes_) && all_fit(line_, line_bytes_); }
    // If the sum is rounded, a count in which everything fits bounds nothing.
    double most_in_windows(const std::vector<double>& weights, bool rounded) const {
        std::vector<WantedLayer> layers = wanted_layers(weights);
        if (question_.whole_layers) layers = that_fit_alone(layers, full_, line_);
        const auto most = [&](const Windows& windows, const std::vector<double>& bytes, double WantedLayer::* taken) {
            if (rounded && all_fit(windows, bytes)) return std::numeric_limits<double>::infinity();
            Demands demands;
            for (const WantedLayer& layer : layers) demands.add(layer.chunk, layer.*taken, layer.weight);
            return most_weight(windows, demands);
        };
        return std::min(most(full_, full_bytes_, &WantedLayer::full_bytes),
                        most(line_, line_bytes_, &WantedLayer::line_bytes));
    }
    std::vector<WantedLayer> wanted_layers(const std::vector<double>& weights) const {
        const ObjectsConfig& objects = config_.objects;
        std::vector<WantedLayer> layers;
        layers.reserve(objects.size());
        std::size_t chunk = 0;
        for (std::size_t o = 0; o < objects.size(); ++o) {
            if (o > 0 && objects.chunk[o] != objects.chunk[o - 1]) ++chunk;
            const Cost cost = costs_.of(objects.payload_bytes[o]);
            layers.push_back({chunk, weights[o], cost.full_bytes, cost.line_bytes});
        }
        return layers;
    }

    const EngineConfig& config_;
    Question question_;
    Costs costs_;
    std::vector<std::vector<Hop>> ways_;  // by the first hops, and by the slower hop of each link
    std::vector<Time> release_, deadline_;
    std::vector<double> full_bytes_, line_bytes_;  // of each chunk
    Windows full_, line_;                          // those opened last
    std::vector<Time> end_;
};

// When data can follow a handshake that begins as early as it can.
Time handshake_over(const LinkConfig& link, int header_bytes) {
    const ContactPlan plan(link, header_bytes);
    const Time opening = plan.opening(0);
    if (opening >= kForeverNs) return kForeverNs;
    const Time arrives = opening + plan.light_ns(opening);
    return arrives + plan.light_ns(arrives);
}

Bound clairvoyant(const EngineConfig& config, bool any_packets) {
    return Bound(config, {any_packets, true}, [&](std::size_t l, std::uint32_t wire) {
        return Channel{Direction(with_known_losses(config.links[l]), false, config.seed, l, wire)};
    });
}

constexpr Time kMostDelay = Time{1'000'000'000} * Time{1'000'000'000};  // 30 years: more than any scenario may have
constexpr Time kDelayParts = 100'000;                                   // it is found to one part in so many

}  // namespace

double clairvoyant_weight(const EngineConfig& config, const std::vector<double>& weights, bool any_packets) {
    return clairvoyant(config, any_packets).weight(weights);
}

std::optional<Time> least_playout_delay(const EngineConfig& config, Time delay, bool any_packets) {
    Bound bound = clairvoyant(config, any_packets);
    if (!bound.has_deadlines()) return 0;
    bound.keep_marks();
    const auto enough = [&](Time at) { return bound.brings_all(at - delay); };
    Time high = std::max<Time>(delay, 1), low = 0;
    for (; !enough(high); high *= 2) {
        if (high >= kMostDelay || bound.ends_first(high - delay)) return std::nullopt;
        low = high;
    }
    while (low == 0 && high > 1) (enough(high / 2) ? high : low) = high / 2;
    while (high - low > high / kDelayParts + 1) {
        const Time middle = low + (high - low) / 2;
        (enough(middle) ? high : low) = middle;
    }
    return high;
}

double law_weight(const EngineConfig& config, const std::vector<double>& weights, bool handshake) {
    return Bound(config, {false, false},
                 [&](std::size_t l, std::uint32_t wire) {
                     LinkConfig link = config.links[l];
                     const bool lossless = link.loss.kind == kLossless;
                     if (!lossless && link.loss.kind != kIndependent)
                         throw std::invalid_argument("losses of the kind '" + link.loss.kind +
                                                     "' are not independent, and have no bound by their law");
                     const double share = lossless ? 1.0 : 1.0 - link.loss.number("rate");
                     link.loss = LossConfig{};
                     return Channel{Direction(link, false, config.seed, l, wire), share,
                                    handshake ? handshake_over(link, config.transport.header_bytes) : 0};
                 })
        .weight(weights);
}

}  // namespace dstcc
