// The engine's own preconditions: what would make its arithmetic meaningless. (Users' mistakes are caught earlier.)
#include <algorithm>
#include <cmath>

#include "coding/blocks.hpp"
#include "ltp/rate_rule.hpp"
#include "congestion/control.hpp"
#include "congestion/paced.hpp"
#include "core/subflow_set.hpp"
#include "link/loss.hpp"
#include "ltp/ltp.hpp"
#include "python/convert.hpp"

namespace py = pybind11;

namespace dstcc {
namespace {

void validate_source(const CrossTrafficConfig& c) {
    require(c.rate_bps > 0 && c.packet_bytes > 0 && c.on_ns > 0 && c.off_ns >= 0,
            "cross traffic needs a rate, a size and an on time");
    require(c.start_ns >= 0, "traffic starts at 0 or later");
    require(c.periods != Periods::kPareto || c.pareto_shape > 1, "Pareto periods have a mean for shapes above 1");
}

void validate_sharing(const EngineConfig& config) {
    std::size_t subflows = 0, flows = 0;
    for (const LinkConfig& link : config.links) {
        require(link.subflows >= 1, "a link carries at least one subflow");
        require(link.subflows == 1 || config.transport.apart || config.transport.layer_links.empty(),
                "layer_links need one subflow a link");
        subflows += static_cast<std::size_t>(link.subflows);
        flows += link.flows.size();
        for (const CrossTrafficConfig& c : link.cross_traffic) validate_source(c);
        for (const FlowConfig& flow : link.flows) {
            require(flow.start_ns >= 0 && flow.stop_ns > flow.start_ns, "a background flow stops after it starts");
            const std::string& control = flow.congestion == "same" ? config.transport.congestion : flow.congestion;
            require(control != kPaced && control != kTransferLtp,
                    "a background flow is TCP's, which has neither paced nor ltp");
            require(flow.payload_bytes >= 0, "a background flow's bytes are positive, or 0 for all it can");
            if (flow.app_limited) validate_source(flow.source);
        }
    }
    require(subflows <= kMaxSubflows, "1 to 128 subflows are needed");
    require(subflows + flows <= 32'767, "at most 32,767 TCP senders");
}

void validate_shares(const Shares& shares) {
    const std::size_t rows = shares.t_ns.size();
    require(shares.share.size() == rows, "a rate over time has as many times as shares");
    for (std::size_t i = 0; i < rows; ++i) {
        require(i > 0 || shares.t_ns[0] == 0, "a rate over time begins at 0");
        require(i == 0 || shares.t_ns[i] > shares.t_ns[i - 1], "times of a rate must rise");
        require(shares.share[i] >= 1e-6 && shares.share[i] <= 1, "a share of the rate is 1e-6 to 1");
    }
}

void validate_delay(const std::vector<Time>& t_ns, const std::vector<Time>& delay_ns,
                    const std::vector<double>& slope) {
    require(!delay_ns.empty() && delay_ns.size() == t_ns.size(), "a delay table has as many times as delays");
    for (std::size_t i = 0; i < delay_ns.size(); ++i) {
        require(delay_ns[i] >= 0, "delays must not be negative");
        require(i == 0 || t_ns[i] > t_ns[i - 1], "delay table times must rise");
    }
    require(slope.empty() || slope.size() == delay_ns.size(), "a delay table has as many slopes as delays");
    for (std::size_t i = 1; i < slope.size(); ++i) {
        // Control values of the derivative's Bernstein form bound it from below.
        const double m0 = slope[i - 1], m1 = slope[i];
        const double secant =
            static_cast<double>(delay_ns[i] - delay_ns[i - 1]) / static_cast<double>(t_ns[i] - t_ns[i - 1]);
        require(std::min({m0, m1, 3 * secant - m0 - m1}) > -1, "a curved delay must fall more slowly than time passes");
    }
}

void validate_line(const LinkConfig& link) {
    // 65,535 bytes must take no more than a quarter of what a time can hold.
    constexpr double kLeastRateBps = 65535 * 8.0 * kNsPerS / static_cast<double>(kNever / 4);
    require(link.rate_bps >= kLeastRateBps && link.up_rate_bps >= kLeastRateBps,
            "rates must be at least 0.00023 bit/s");
    validate_delay(link.delay_t_ns, link.delay_ns, link.delay_slope);
    for (const auto* loss : {&link.loss, &link.up_loss}) validate(*loss);
    for (const auto* shares : {&link.rate, &link.up_rate, &link.hidden}) validate_shares(*shares);
    for (const auto* outages : {&link.outages_ns, &link.up_outages_ns, &link.unannounced_ns})
        for (std::size_t i = 0; i < outages->size(); ++i) {
            require((*outages)[i].first < (*outages)[i].second, "an outage ends after it begins");
            require(i == 0 || (*outages)[i].first >= (*outages)[i - 1].second, "outages must rise and not overlap");
        }
}

void validate_node(const NodeConfig& node, std::int64_t full_bytes) {
    require(node.storage_bytes == 0 || node.storage_bytes >= full_bytes,
            "a node's storage holds a full packet, or is 0");
    require(node.boot_ns >= 0, "a boot takes no less than no time");
    for (std::size_t i = 0; i < node.restart_ns.size(); ++i)
        require(node.restart_ns[i] >= (i == 0 ? 0 : node.restart_ns[i - 1] + node.boot_ns),
                "a node restarts after the boot of the time before");
}

// A path over nodes: what the engine has for it, and that a hop or node of one number is one.
void validate_path(const EngineConfig& config, std::size_t number) {
    const LinkConfig& path = config.links[number];
    const TransportConfig& t = config.transport;
    validate_delay(path.first_t_ns, path.first_delay_ns, path.first_slope);
    require(path.drops.empty() && path.queue_packets == 0,
            "a path over nodes has no script of drops, and queues of bytes");
    require(!config.trace || !splits(path), "a log is of one connection, and nodes that split make several");
    require(path.first_hop_of < static_cast<int>(number), "a path shares the first hop of an earlier one");
    if (path.first_hop_of >= 0) {
        const LinkConfig& other = config.links[static_cast<std::size_t>(path.first_hop_of)];
        require(other.first_hop_of < 0 && !other.onward.empty() &&
                    other.onward.front().node.number == path.onward.front().node.number,
                "a first hop leads to one node");
        require(path.cross_traffic.empty(), "traffic on a first hop is that of the first path over it");
    }
    std::vector<std::int64_t> seen;
    for (const HopConfig& hop : path.onward) {
        require(hop.node.forwards != Forwards::kCustody || t.congestion == kTransferLtp, "custody is ltp's");
        require(!hop.node.splits() || t.congestion != kTransferLtp, "ltp has no connection to split");
        validate_line(hop.line);
        validate_node(hop.node, t.mss_bytes + t.header_bytes);
        for (const CrossTrafficConfig& c : hop.line.cross_traffic) validate_source(c);
        require(hop.line.onward.empty() && hop.line.flows.empty() && hop.line.drops.empty(),
                "a hop is a line, and nothing else");
        require(std::find(seen.begin(), seen.end(), hop.node.number) == seen.end(), "a path is no loop");
        seen.push_back(hop.node.number);
    }
}

void validate_earlier(const EngineConfig& config) {
    const EarlierConfig& e = config.earlier;
    const std::size_t n = e.at_ns.size();
    require(e.path.size() == n && e.up.size() == n && e.bytes.size() == n && e.layer.size() == n,
            "the columns of earlier packets differ in length");
    for (std::size_t i = 0; i < n; ++i) {
        require(e.path[i] < config.links.size() && !config.links[e.path[i]].onward.empty() && e.up[i] <= 1,
                "an earlier packet is on a path over nodes");
        require(e.at_ns[i] >= (i == 0 ? 0 : e.at_ns[i - 1]), "earlier packets are in the order of time");
    }
}

// Names only: what values a parameter may have is for its control, which checks them when it is made.
void validate_parameters(const TransportConfig& transport) {
    for (const auto& [name, given] : transport.parameters) {
        const ControlEntry* const control = registered<ControlEntry>(name);
        if (control == nullptr && name != kTransferLtp)
            throw py::value_error("parameters of '" + name + "': no such congestion control or transfer");
        const std::vector<std::string> known =
            control != nullptr ? control->parameters
                               : std::vector<std::string>(kLtpParameters.begin(), kLtpParameters.end());
        for (const auto& parameter : given)
            if (std::find(known.begin(), known.end(), parameter.first) == known.end())
                throw py::value_error("'" + name + "' has no parameter '" + parameter.first + "'");
    }
}

// Of ltp's matrices; no block_ns: it is not coded.
void validate_ltp_coding(const EngineConfig& config) {
    const CodingConfig& c = config.coding;
    require(c.period.size() == 0, "ltp has matrices by time of sending, not periods");
    require(c.block_ns >= 0, "block_ns must be positive");
    require(c.place == RepairPlace::kSame, "a matrix of ltp stays on its link");
    for (const double share : c.repair) require(share >= 0 && share <= 1e3, "a share of repair is 0 to 1,000");
    for (const double share : c.table) require(share >= 0 && share <= 1e3, "a share of repair is 0 to 1,000");
    require(c.table.size() == (c.law == RateLaw::kTable ? static_cast<std::size_t>(RateRule::kStates) : 0),
            "a table has a share for each state");
    const std::int64_t mss = config.transport.mss_bytes;
    for (const std::int64_t payload : config.objects.payload_bytes)
        require(c.block_ns == 0 || (payload + mss - 1) / mss <= most_source(c.code),
                "a block has more segments than its code");
}

void validate_coding(const EngineConfig& config) {
    const TransportConfig& t = config.transport;
    const CodingConfig& c = config.coding;
    require(t.handshake || t.coded, "TCP opens each subflow with a handshake");
    require(t.coded || t.congestion != kPaced, "paced needs the mode coded: TCP has no reports");
    if (!t.coded && t.congestion == kTransferLtp) return validate_ltp_coding(config);
    if (!t.coded) return require(c.period.size() == 0 && c.block_ns == 0, "coding needs the mode coded, or ltp");
    require(c.law == RateLaw::kShares || c.law == RateLaw::kAuto, "delayed-feedback and tables are ltp's");
    require(t.congestion != kTransferLtp && !steerable(t.congestion), "coded takes a congestion control of its own");
    require(t.scheduler == "minrtt" && !t.make_scheduler, "coded has minrtt's rule, and no other scheduler");
    require(!t.apart && t.lanes_per_link == 1 && t.layer_links.empty(), "coded has neither lanes nor pinned layers");
    require(t.receive_buffer_bytes == 0, "coded holds nothing for an order: no receive buffer bounds it");
    require(c.block_ns > 0, "block_ns must be positive");
    for (const double share : c.repair) require(share >= 0 && share <= 1e3, "a share of repair is 0 to 1,000");
    const std::size_t n = config.objects.size();
    require(c.period.size() == n, "the columns of objects differ in length");
    for (std::size_t i = 0; i < n; ++i)
        require(c.period[i] < n && (i == 0 || c.period[i] >= c.period[i - 1]),
                "periods rise, and are no more than parts");
    require(c.asked.size() == c.there_ns.size(), "of each object that is asked for it is known when it is there");
    for (std::size_t i = 0; i < c.asked.size(); ++i)
        require(c.asked[i] < n && (i == 0 || c.asked[i] > c.asked[i - 1]), "objects that are asked for rise");
    const bool several = std::any_of(c.words.begin(), c.words.end(), [](std::uint32_t words) { return words != 1; });
    require(c.word_packets >= 0 && c.word_packets <= most_packets(c.code),
            "a code word has at most its code's packets");
    require(c.code == ErasureCode::kMds || (c.word_packets == 0 && !several), "RaptorQ's blocks are one word each");
    for (const std::uint32_t words : c.words)
        require(words >= 1 && words <= kMostWords, "a block has 1 to 256 code words");
    const BlockMap map(config.objects, c);
    require(map.blocks() < kMostBlocks, "too many blocks");
    const std::int64_t mss = t.mss_bytes;
    for (std::uint32_t block = 0; block < map.blocks(); ++block) {
        std::int64_t source = 0;
        for (std::uint32_t k = 0; k < map.size(block); ++k)
            source += (config.objects.payload_bytes[map.member(block, k)] + mss - 1) / mss;
        const std::size_t layer = map.layer_of(block);
        const double share = layer < c.repair.size() ? c.repair[layer] : 0;
        const double most = static_cast<double>(most_in_word(c)) * map.words(block);
        require(source <= most_source(c.code) && static_cast<double>(source) * (1 + share) <= most,
                "a block has more packets than its code");
    }
}

}  // namespace

void validate(const LossConfig& loss) {
    require(loss.kind != kFrameLoss || loss.frames, "frame loss needs frames");
    require(loss.kind != kScheduledLoss || loss.schedule, "loss over time needs a chance at each time");
    if (loss.frames) {
        const FrameSchedule& frames = *loss.frames;
        const std::size_t rows = frames.t_ns.size();
        require(frames.frame_bits >= 1, "a frame has at least one bit");
        require(rows > 0 && frames.ebn0_db.size() == rows && frames.scintillation_index.size() == rows,
                "frame loss needs Eb/N0 and a scintillation index at each time");
        for (std::size_t i = 0; i < rows; ++i) {
            const double index = frames.scintillation_index[i];
            require(i == 0 || frames.t_ns[i] > frames.t_ns[i - 1], "times of frame loss must rise");
            require(std::isfinite(frames.ebn0_db[i]), "Eb/N0 must be finite");
            require(index >= 0 && index <= 1, "a scintillation index is between 0 and 1");
        }
        require(frames.coherence_ns > 0 && frames.coherence_ns <= kNever / 4,
                "coherence_ns must be positive and below 2^61");
        require(frames.curve_step_db > 0 && !frames.log10_fer.empty(),
                "a curve of frame error rates needs points and a step");
        for (const double log10_fer : frames.log10_fer) require(log10_fer <= 0, "a frame error rate is at most 1");
    }
    if (!loss.schedule) return;
    const auto& [t_ns, rates] = *loss.schedule;
    require(t_ns.size() == rates.size(), "loss over time needs a chance at each time");
    for (std::size_t i = 0; i < t_ns.size(); ++i) {
        require(i == 0 || t_ns[i] > t_ns[i - 1], "times of a loss must rise");
        require(rates[i] >= 0 && rates[i] <= 1, "a chance of loss is between 0 and 1");
    }
}

void validate(const EngineConfig& config) {
    const TransportConfig& t = config.transport;
    require(!config.links.empty() && config.links.size() <= 64, "1 to 64 links are needed");
    require(config.slot_ns > 0, "slot_ns must be positive");
    require(config.duration_ns > 0, "duration_ns must be positive");
    require(config.begin_ns >= 0, "begin_ns must not be negative");
    require(t.mss_bytes >= 1 && t.header_bytes >= 1 && t.mss_bytes + t.header_bytes <= 65535,
            "mss_bytes and header_bytes must be positive and fit 65,535 bytes together");
    require(t.initial_cwnd >= 1, "initial_cwnd must be at least 1");
    require(t.lanes_per_link >= 1 && t.lanes_per_link <= 4096, "lanes_per_link must be 1 to 4,096");
    require(!t.apart || (t.lanes && t.lanes_per_link == 1), "subflows apart are lanes, one domain each");
    require(t.receive_buffer_bytes == 0 || t.receive_buffer_bytes >= t.mss_bytes,
            "receive_buffer_bytes must hold at least one segment (0: no limit)");
    require(t.constants.scale > 0, "scale must be positive");
    require(t.constants.jiffy > 0, "jiffy_s must be at least a nanosecond");
    require(t.congestion != kTransferLtp || t.scheduler == "none" || t.scheduler == "layer-pinned",
            "ltp takes no scheduler: none, or layer-pinned");
    for (const int link : t.layer_links)
        require(link >= 0 && static_cast<std::size_t>(link) < config.links.size(),
                "layer_links names a link that is not there");
    validate_parameters(t);
    for (std::size_t l = 0; l < config.links.size(); ++l) {
        const LinkConfig& link = config.links[l];
        validate_line(link);
        if (!link.onward.empty()) validate_path(config, l);
    }
    validate_sharing(config);
    validate_earlier(config);
    const ObjectsConfig& o = config.objects;
    const std::size_t n = o.size();
    require(o.chunk.size() == n && o.layer.size() == n && o.release_ns.size() == n && o.deadline_ns.size() == n,
            "the columns of objects differ in length");
    for (std::size_t i = 0; i < n; ++i) {
        require(o.payload_bytes[i] >= 1, "objects hold at least one byte");
        require(t.congestion != kTransferLtp || o.payload_bytes[i] / t.mss_bytes < (std::int64_t{1} << 31),
                "a block of ltp has fewer than 2^31 segments");
        require(o.release_ns[i] >= 0 && (i == 0 || o.release_ns[i] >= o.release_ns[i - 1]), "release_ns must not fall");
    }
    validate_coding(config);
}

}  // namespace dstcc
