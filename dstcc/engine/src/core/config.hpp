// What the engine is told, already validated and in its own units; mirrors dstcc/engine/config.py.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base.hpp"
#include "core/column.hpp"
#include "core/fields.hpp"

namespace dstcc {

class CongestionControl;
class Scheduler;
struct ControlSetup;
struct SchedulerSetup;

// Numbers that a control, a transfer or a loss process is made with, by the names of its parameters.
using Parameters = std::map<std::string, std::vector<double>>;

// All values of a parameter; none where it is not set.
inline const std::vector<double>& values_of(const Parameters* parameters, const std::string& name) {
    static const std::vector<double> none;
    if (parameters == nullptr) return none;
    const auto set = parameters->find(name);
    return set == parameters->end() ? none : set->second;
}
// A parameter that has one value, or what holds where it is not set.
inline double value_of(const Parameters* parameters, const std::string& name, double otherwise) {
    const std::vector<double>& values = values_of(parameters, name);
    return values.empty() ? otherwise : values.front();
}

// A code's frames under an Eb/N0 that changes; shared, as it may hold a year of minutes.
struct FrameSchedule {
    std::int64_t frame_bits = 1;              // information bits a frame
    std::vector<Time> t_ns;                   // rising; Eb/N0 and scintillation run in lines between, constant outside
    std::vector<double> ebn0_db;              // mean over the scintillation
    std::vector<double> scintillation_index;  // m in [0, 1]
    Time coherence_ns = kNever;               // a gain lasts so long
    double curve_from_db = 0, curve_step_db = 1;
    std::vector<double> log10_fer;  // of the code, on that grid; lines between, constant outside
    DSTCC_FIELDS(frame_bits, t_ns, ebn0_db, scintillation_index, coherence_ns, curve_from_db, curve_step_db, log10_fer)
};

// A chance of loss over time: straight lines between the rows, constant outside; shared, as a chain may have thousands.
struct LossSchedule {
    std::vector<Time> t_ns;  // rising
    std::vector<double> rates;
    DSTCC_FIELDS(t_ns, rates)
};

// Of one of the kinds in link/loss_*.cpp.
struct LossConfig {
    std::string kind = "none";
    Parameters numbers;                            // what the kind's process is made with
    std::shared_ptr<const FrameSchedule> frames;   // of `frames`
    std::shared_ptr<const LossSchedule> schedule;  // of `schedule`
    double number(const std::string& name) const { return numbers.at(name).at(0); }
    DSTCC_FIELDS(kind, frames)
};

enum class Periods { kConstant, kExponential, kPareto };
template <>
inline constexpr std::array kWords<Periods>{"constant", "exponential", "pareto"};

struct CrossTrafficConfig {
    double rate_bps = 0;
    std::int64_t packet_bytes = 1500;
    Time start_ns = 0, stop_ns = kNever, on_ns = kNever, off_ns = 0;  // random periods: their means
    Periods periods = Periods::kConstant;
    double pareto_shape = 1.5;
    DSTCC_FIELDS(rate_bps, packet_bytes, start_ns, stop_ns, on_ns, off_ns, periods, pareto_shape)
};

// A TCP connection of somebody else over one link.
struct FlowConfig {
    std::string congestion;  // "same": the trial's own
    Time start_ns = 0, stop_ns = kNever;
    std::int64_t payload_bytes = 0;  // 0: as much as it can
    bool app_limited = false;        // only what `source` writes
    CrossTrafficConfig source;
    DSTCC_FIELDS(congestion, start_ns, stop_ns, payload_bytes, source)
};

// Shares of a rate over time: each from its time on until the next, the first at 0. None: all of it.
struct Shares {
    std::vector<Time> t_ns;
    std::vector<double> share;  // above 0, at most 1
};

// What a node drops when what comes does not fit into its storage (link/node.hpp).
enum class WhenFull { kDropTail, kDropHead, kLowestLayer };
template <>
inline constexpr std::array kWords<WhenFull>{"drop-tail", "drop-head", "lowest-layer"};

// What a node on the way passes on.
enum class Forwards { kPackets, kSplit, kCustody };
template <>
inline constexpr std::array kWords<Forwards>{"packets", "split", "custody"};

// A node on the way.
struct NodeConfig {
    std::int64_t number = 0;  // the same of each path over it
    Forwards forwards = Forwards::kPackets;
    std::int64_t storage_bytes = 0;  // of all its hops; 0: a queue in front of each line, and what is dark loses
    WhenFull when_full = WhenFull::kDropTail;
    std::vector<Time> restart_ns;  // each later than the boot of the one before
    Time boot_ns = 0;
    bool keeps_over_restart = false;
    bool splits() const { return forwards == Forwards::kSplit; }
    DSTCC_FIELDS(number, forwards, storage_bytes, when_full, restart_ns, boot_ns, keeps_over_restart)
};

struct HopConfig;

struct LinkConfig {
    double rate_bps = 0, up_rate_bps = 0;
    std::vector<Time> delay_t_ns, delay_ns;
    std::vector<double> delay_slope;  // s/s at those times; empty: straight lines
    std::int64_t queue_bytes = 0, up_queue_bytes = 0;
    std::int64_t queue_packets = 0;  // of the data direction, in the place of bytes; 0: bytes count
    LossConfig loss, up_loss;
    std::vector<std::pair<Time, Time>> outages_ns, up_outages_ns;
    std::vector<std::pair<Time, Time>> unannounced_ns;  // outages of both directions that no contact plan has
    Shares rate, up_rate;                               // of the rates over time, by the contact plan
    Shares hidden;                                      // of the data direction's, that nobody announced
    std::vector<CrossTrafficConfig> cross_traffic;
    int subflows = 1;  // of the connection under test
    std::vector<FlowConfig> flows;
    std::vector<std::pair<std::int64_t, int>>
        drops;  // a segment of the subflow's, and how many of its transmissions are lost
    // A path over nodes: the rest of its hops. What stands above is then what its sender's node has: the line of the first
    // hop, and the light time of the whole path, of which the first hop's is this.
    std::vector<HopConfig> onward;
    std::vector<Time> first_t_ns, first_delay_ns;
    std::vector<double> first_slope;
    int first_hop_of = -1;  // the path whose first hop is this one's, too; -1: it has one of its own
    DSTCC_FIELDS(rate_bps, up_rate_bps, delay_t_ns, delay_ns, delay_slope, queue_bytes, up_queue_bytes, queue_packets,
                 loss, up_loss, outages_ns, up_outages_ns, unannounced_ns, rate.t_ns, rate.share, up_rate.t_ns,
                 up_rate.share, hidden.t_ns, hidden.share, cross_traffic, subflows, flows, drops, onward, first_t_ns,
                 first_delay_ns, first_slope, first_hop_of)
};

// A hop from a node on: the line of its own. The same number, the same hop.
struct HopConfig {
    std::int64_t number = 0;
    NodeConfig node;
    LinkConfig line;
    DSTCC_FIELDS(number, node, line)
};

// Do the nodes on the path end connections and begin others?
inline bool splits(const LinkConfig& path) { return !path.onward.empty() && path.onward.front().node.splits(); }
// Its first hop, as a link of its own.
inline LinkConfig first_hop(LinkConfig path) {
    if (path.onward.empty()) return path;
    path.delay_t_ns = path.first_t_ns;
    path.delay_ns = path.first_delay_ns;
    path.delay_slope = path.first_slope;
    return path;
}

// Whose receive window grows as a receiver's does here.
enum class ReceiverOf { kLinux61, kLinux612 };
template <>
inline constexpr std::array kWords<ReceiverOf>{"linux-6.1", "linux-6.12"};

constexpr std::int64_t kFirstWindow = 65535;  // bytes of a receive window: all that a SYN's answer can offer

// Linux's time constants, already multiplied by the scale.
struct ConstantsNs {
    Time rto_initial, rto_min, rto_max, delayed_ack, delayed_ack_max, compressed_ack, tlp_min;
    bool hystart = true;
    Time hystart_ack_delta, hystart_delay_min, hystart_delay_max;
    Time bbr_min_rtt_window, bbr_probe_rtt, westwood_rtt_min;
    Time jiffy, uptime, look, read, timer_late, ledbat_target, ledbat_minute;
    int quick_acks;
    double scale;
    ReceiverOf receiver = ReceiverOf::kLinux612;
    // By name with the unit, _s, where it is a time.
    DSTCC_FIELDS(rto_initial, rto_min, rto_max, delayed_ack, delayed_ack_max, compressed_ack, tlp_min, hystart,
                 hystart_ack_delta, hystart_delay_min, hystart_delay_max, bbr_min_rtt_window, bbr_probe_rtt,
                 westwood_rtt_min, jiffy, uptime, look, read, timer_late, ledbat_target, ledbat_minute, quick_acks,
                 receiver)

    // By timestamps, which count milliseconds of the machine's clock (TCP_TS_HZ), one at least.
    Time stamped(Time from, Time to) const {
        const Time unit = std::max<Time>(1, static_cast<Time>(1e6 * scale));
        return std::max<Time>((to + uptime) / unit - (from + uptime) / unit, 1) * unit;
    }
    // Linux's jiffies: whole ticks of the machine's clock.
    std::int64_t ticks(Time at) const { return (at + uptime) / jiffy; }
    Time in_ticks(Time span) const { return (span + jiffy - 1) / jiffy; }  // usecs_to_jiffies(): up
    // Linux's timer wheel (kernel/time/timer.c): a timer that is up to 62 ticks away goes off with the tick after; beyond
    // that, with each eightfold distance, at the next multiple of eight times as many ticks of the machine's clock. So timers
    // are late by an eighth at most.
    Time wheel(Time armed, Time due) const {
        if (jiffy <= 1) return due;  // without ticks
        const std::int64_t away = in_ticks(due - armed), tick = ticks(armed) + away;
        int shift = 0;
        for (std::int64_t reach = 63; away >= reach && shift < 24; reach <<= 3) shift += 3;
        return (((tick >> shift) + 1) << shift) * jiffy - uptime;
    }
};

enum class Mode { kStream, kLanes, kCoded };
template <>
inline constexpr std::array kWords<Mode>{"stream", "lanes", "coded"};

struct TransportConfig {
    std::string congestion, scheduler;
    bool lanes = false;
    bool coded = false;     // packets without an order, layers coded over them (coding/)
    bool handshake = true;  // `coded`: or the contact plan's light time in its place
    int lanes_per_link = 1;
    bool apart = false;  // lanes: each subflow is a connection of its own
    int mss_bytes = 1460, header_bytes = 40, option_bytes = 24, initial_cwnd = 10;
    std::int64_t receive_buffer_bytes = 0;
    std::vector<int> layer_links;
    bool drop_late = true, layer_first = false;
    std::map<std::string, Parameters> parameters;  // by control or transfer
    ConstantsNs constants{};
    // Extensions (python/extension.hpp); empty: by name.
    std::function<std::unique_ptr<CongestionControl>(const ControlSetup&)> make_control;
    std::function<std::unique_ptr<Scheduler>(const SchedulerSetup&)> make_scheduler;
    DSTCC_FIELDS(congestion, scheduler, handshake, lanes_per_link, apart, mss_bytes, header_bytes, option_bytes,
                 initial_cwnd, receive_buffer_bytes, layer_links, drop_late, layer_first, parameters)
};

struct ObjectsConfig {
    Column<std::int64_t> chunk;
    Column<std::uint8_t> layer;
    Column<std::int64_t> payload_bytes;
    Column<Time> release_ns, deadline_ns;
    std::size_t size() const { return payload_bytes.size(); }
    DSTCC_FIELDS(chunk, layer, payload_bytes, release_ns, deadline_ns)
};

enum class ErasureCode { kMds, kRaptorQ };
template <>
inline constexpr std::array kWords<ErasureCode>{"mds", "raptorq"};
enum class RepairPlace { kSame, kOther, kSpread };
template <>
inline constexpr std::array kWords<RepairPlace>{"same", "other", "spread"};
// Of ltp's repair segments (ltp/rate_rule.hpp).
enum class RateLaw { kFeedback, kTable, kShares, kAuto };
template <>
inline constexpr std::array kWords<RateLaw>{"delayed-feedback", "table"};

// How layers are coded, where the transport is.
struct CodingConfig {
    std::vector<double> repair;  // repair packets for each source packet, by layer
    bool automatic = false;      // or as many as coding/repair_rule.hpp says
    RateLaw law = RateLaw::kShares;
    std::vector<double> table;  // ltp: a share for each state of its rule
    ErasureCode code = ErasureCode::kMds;
    RepairPlace place = RepairPlace::kSame;
    std::int64_t word_packets = 0;     // the most of a code word; 0: of the code's own
    std::vector<std::uint32_t> words;  // code words that a block is interleaved of, by layer; none: one
    Time block_ns = 0;
    Column<std::uint32_t> period;  // of each object: its block is that of its layer in that period
    // Objects that an earlier connection of a sender that restarted sent whole and nobody acknowledged, and when Earth has each.
    std::vector<std::uint32_t> asked;
    std::vector<Time> there_ns;
    DSTCC_FIELDS(repair, table, code, place, word_packets, words, block_ns, period, asked, there_ns)
};

// What earlier connections of a sender that restarted have put on its paths over nodes, by when each packet comes to the first
// node on its way, to Earth or back; in that order.
struct EarlierConfig {
    Column<std::uint8_t> path, up;
    Column<Time> at_ns;
    Column<std::uint32_t> bytes;
    Column<std::uint8_t> layer;
    DSTCC_FIELDS(path, up, at_ns, bytes, layer)
};

struct EngineConfig {
    std::uint64_t seed = 1;
    std::vector<LinkConfig> links;
    TransportConfig transport;
    ObjectsConfig objects;
    CodingConfig coding;
    Time slot_ns = 0, duration_ns = kNever;
    Time begin_ns = 0;  // of the connection: handshakes are due then
    Time ends_ns = 0;   // the mission, as its plan has it, where a sender restarts before; 0: with the trial
    Time planned_end() const { return ends_ns > 0 ? ends_ns : duration_ns; }
    bool ledger = false;  // tell at the end what is known to be acknowledged of each layer, and what came to nodes
    EarlierConfig earlier;
    bool trace = false;
    // A stage of a trial hop by hop: the place of each link in the whole, by which its draws are named. None: its own.
    std::vector<std::uint64_t> places;
    std::uint64_t place(std::size_t link) const { return places.empty() ? link : places[link]; }
    DSTCC_FIELDS(seed, links, transport, objects, coding, slot_ns, duration_ns, begin_ns, ends_ns, ledger, earlier,
                 trace)
};

// The first path over a path's first hop.
inline std::size_t first_place(const EngineConfig& config, std::size_t path) {
    const int other = config.links[path].first_hop_of;
    return other < 0 ? path : static_cast<std::size_t>(other);
}
// The paths that begin with the same hop.
inline int paths_from(const EngineConfig& config, std::size_t path) {
    int paths = 0;
    for (std::size_t l = 0; l < config.links.size(); ++l) paths += first_place(config, l) == first_place(config, path);
    return paths;
}

}  // namespace dstcc
