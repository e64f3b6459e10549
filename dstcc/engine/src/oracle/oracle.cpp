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
#include <stdexcept>

#include "link/contact.hpp"
#include "oracle/demands.hpp"
#include "oracle/supply.hpp"

namespace dstcc {

namespace {

// What a bound is asked for.
struct Question {
    bool any_packets = false, whole_layers = true;
};

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

// When chunks may be under way on a link, or on the hop behind its relay; false: none ever in time.
bool chunk_times(const LinkConfig& link, const std::vector<Time>& release, const std::vector<Time>& deadline, Time open,
                 Time before, ChunkTimes& times) {
    const DelayTable delay(link.delay_t_ns, link.delay_ns, link.delay_slope);
    bool useful = false;
    times.release.resize(release.size());
    times.end.resize(release.size());
    for (std::size_t k = 0; k < release.size(); ++k) {
        times.release[k] = std::max(release[k], open) + before;
        times.end[k] = std::max(delay.latest_departure(deadline[k]), times.release[k]);
        if (k > 0) times.end[k] = std::max(times.end[k], times.end[k - 1]);
        useful = useful || times.end[k] > times.release[k];
    }
    return useful;
}

// What each layer takes.
std::vector<WantedLayer> wanted_layers(const EngineConfig& config, const std::vector<double>& weights,
                                       bool any_packets) {
    const ObjectsConfig& objects = config.objects;
    const double mss = config.transport.mss_bytes, header = config.transport.header_bytes;
    std::vector<WantedLayer> layers;
    layers.reserve(objects.size());
    std::size_t chunk = 0;
    for (std::size_t o = 0; o < objects.size(); ++o) {
        if (o > 0 && objects.chunk[o] != objects.chunk[o - 1]) ++chunk;
        const auto payload = static_cast<double>(objects.payload_bytes[o]);
        const auto full = static_cast<double>(objects.payload_bytes[o] / config.transport.mss_bytes);
        const bool short_one = objects.payload_bytes[o] % config.transport.mss_bytes > 0;
        if (any_packets)
            layers.push_back({chunk, weights[o], 0, payload * (mss + header) / mss});
        else
            layers.push_back({chunk, weights[o], full * (mss + header), payload + (full + short_one) * header});
    }
    return layers;
}

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

template <class ChannelOf>
double bound(const EngineConfig& config, const std::vector<double>& weights, const Question& question,
             ChannelOf&& channel_of) {
    const ObjectsConfig& objects = config.objects;
    std::vector<Time> release, deadline;
    for (std::size_t o = 0; o < objects.size(); ++o) {
        if (o > 0 && objects.chunk[o] == objects.chunk[o - 1]) continue;
        release.push_back(objects.release_ns[o]);
        deadline.push_back(std::min(objects.deadline_ns[o], config.duration_ns));
    }
    if (release.empty()) return 0;
    // No end: everything comes in time.
    if (deadline.back() == kNever) return std::accumulate(weights.begin(), weights.end(), 0.0);

    const std::vector<WantedLayer> layers = wanted_layers(config, weights, question.any_packets);
    const auto over = [&](bool slower_hops) {
        Windows full(release.size()), line(release.size());
        ChunkTimes times;
        for (std::size_t l = 0; l < config.links.size(); ++l) {
            const bool second = slower_hops && relay_is_slower(config.links[l]);
            const LinkConfig link = second ? second_hop(config.links[l]) : config.links[l];
            const WireSizes sizes = wire_sizes(config, link, question.any_packets);
            Channel channel = channel_of(l, sizes.full);
            if (second) {
                channel.direction = Direction(link, false, config.seed, l, sizes.full);
                channel.share = 1;
            }
            const Time before = second ? least_share(config.links[l], config.links[l].relay->at) : 0;
            if (!chunk_times(link, release, deadline, channel.open_ns, before, times)) continue;
            Supply supply(channel, config, link, sizes, times.end.back());
            if (!question.any_packets) supply.add_full(times, full);
            supply.add_line(times, line);
        }
        Demands in_full, in_line;
        for (const WantedLayer& layer : question.whole_layers ? that_fit_alone(layers, full, line) : layers) {
            in_full.add(layer.chunk, layer.full_bytes, layer.weight);
            in_line.add(layer.chunk, layer.line_bytes, layer.weight);
        }
        return std::min(most_weight(full, in_full), most_weight(line, in_line));
    };
    const bool hops = std::any_of(config.links.begin(), config.links.end(), relay_is_slower);
    const double most = hops ? std::min(over(false), over(true)) : over(false);
    return question.whole_layers ? in_whole_layers(most, weights) : most;
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

double clairvoyant_weight(const EngineConfig& config, const std::vector<double>& weights, bool any_packets) {
    return bound(config, weights, {any_packets, true}, [&](std::size_t l, std::uint32_t wire) {
        return Channel{Direction(with_known_losses(config.links[l]), false, config.seed, l, wire)};
    });
}

double law_weight(const EngineConfig& config, const std::vector<double>& weights, bool handshake) {
    return bound(config, weights, {false, false}, [&](std::size_t l, std::uint32_t wire) {
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
