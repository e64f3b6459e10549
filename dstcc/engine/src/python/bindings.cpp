// Python face of the engine: reads the dataclasses of dstcc/engine/config.py, answers with numpy arrays.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>

#include "python/engine.hpp"
#include "testing/rules.hpp"
#include "python/extension.hpp"
#include "testing/floor.hpp"
#include "testing/law_bench.hpp"
#include "ltp/ltp.hpp"
#include "oracle/oracle.hpp"
#include "mptcp/simulation.hpp"

namespace py = pybind11;

namespace dstcc {
namespace {

void require(bool holds, const char* rule) {
    if (!holds) throw py::value_error(rule);
}

template <class T>
std::vector<T> read_column(const py::handle& table, const char* name) {
    const auto array = py::array_t<T, py::array::c_style | py::array::forcecast>::ensure(table.attr(name));
    if (!array || array.ndim() != 1) throw py::value_error(std::string(name) + " must be a flat array of numbers");
    return {array.data(), array.data() + array.size()};
}

std::shared_ptr<const FrameSchedule> read_frames(const py::handle& frames) {
    auto out = std::make_shared<FrameSchedule>();
    out->frame_bits = frames.attr("frame_bits").cast<std::int64_t>();
    out->t_ns = read_column<std::int64_t>(frames, "t_ns");
    out->ebn0_db = read_column<double>(frames, "ebn0_db");
    out->scintillation = read_column<double>(frames, "scintillation_index");
    out->coherence_ns = frames.attr("coherence_ns").cast<Time>();
    out->curve_from_db = frames.attr("curve_from_db").cast<double>();
    out->curve_step_db = frames.attr("curve_step_db").cast<double>();
    out->log10_fer = read_column<double>(frames, "log10_fer");
    const std::size_t rows = out->t_ns.size();
    require(out->frame_bits >= 1, "a frame has at least one bit");
    require(rows > 0 && out->ebn0_db.size() == rows && out->scintillation.size() == rows,
            "frame loss needs Eb/N0 and a scintillation index at each time");
    for (std::size_t i = 0; i < rows; ++i) {
        require(i == 0 || out->t_ns[i] > out->t_ns[i - 1], "times of frame loss must rise");
        require(std::isfinite(out->ebn0_db[i]), "Eb/N0 must be finite");
        require(out->scintillation[i] >= 0 && out->scintillation[i] <= 1, "a scintillation index is between 0 and 1");
    }
    require(out->coherence_ns > 0 && out->coherence_ns <= kNever / 4, "coherence_ns must be positive and below 2^61");
    require(out->curve_step_db > 0 && !out->log10_fer.empty(), "a curve of frame error rates needs points and a step");
    for (const double log10_fer : out->log10_fer) require(log10_fer <= 0, "a frame error rate is at most 1");
    return out;
}

LossConfig read_loss(const py::handle& loss) {
    LossConfig out;
    const auto kind = loss.attr("kind").cast<std::string>();
    if (kind == "none") out.kind = LossKind::kNone;
    else if (kind == "packet") out.kind = LossKind::kPacket;
    else if (kind == "ber") out.kind = LossKind::kBer;
    else if (kind == "gilbert-elliott") out.kind = LossKind::kGilbertElliott;
    else if (kind == "periodic") out.kind = LossKind::kPeriodic;
    else if (kind == "frames") out.kind = LossKind::kFrames;
    else throw py::value_error("unknown loss kind '" + kind + "'");
    out.rate = loss.attr("rate").cast<double>();
    if (out.kind == LossKind::kPeriodic && !(out.rate > 0 && out.rate <= 1))
        throw py::value_error("periodic loss needs a rate in (0, 1]");
    out.p = loss.attr("p").cast<double>();
    out.r = loss.attr("r").cast<double>();
    out.good = loss.attr("good").cast<double>();
    out.bad = loss.attr("bad").cast<double>();
    if (out.kind == LossKind::kFrames) out.frames = read_frames(loss.attr("frames"));
    return out;
}

CrossTrafficConfig read_cross(const py::handle& source) {
    CrossTrafficConfig out;
    out.rate_bps = source.attr("rate_bps").cast<double>();
    out.packet_bytes = source.attr("packet_bytes").cast<std::int64_t>();
    out.start_ns = source.attr("start_ns").cast<Time>();
    out.stop_ns = source.attr("stop_ns").cast<Time>();
    out.on_ns = source.attr("on_ns").cast<Time>();
    out.off_ns = source.attr("off_ns").cast<Time>();
    const auto periods = source.attr("periods").cast<std::string>();
    if (periods == "constant") out.periods = Periods::kConstant;
    else if (periods == "exponential") out.periods = Periods::kExponential;
    else if (periods == "pareto") out.periods = Periods::kPareto;
    else throw py::value_error("unknown law of periods '" + periods + "'");
    out.pareto_shape = source.attr("pareto_shape").cast<double>();
    return out;
}

FlowConfig read_flow(const py::handle& flow) {
    FlowConfig out;
    out.congestion = flow.attr("congestion").cast<std::string>();
    out.start_ns = flow.attr("start_ns").cast<Time>();
    out.stop_ns = flow.attr("stop_ns").cast<Time>();
    out.payload_bytes = flow.attr("payload_bytes").cast<std::int64_t>();
    const py::object source = flow.attr("source");
    out.app_limited = !source.is_none();
    if (out.app_limited) out.source = read_cross(source);
    return out;
}

LinkConfig read_link(const py::handle& link) {
    LinkConfig out;
    out.rate_bps = link.attr("rate_bps").cast<double>();
    out.up_rate_bps = link.attr("up_rate_bps").cast<double>();
    out.delay_t_ns = link.attr("delay_t_ns").cast<std::vector<Time>>();
    out.delay_ns = link.attr("delay_ns").cast<std::vector<Time>>();
    out.delay_slope = link.attr("delay_slope").cast<std::vector<double>>();
    out.queue_bytes = link.attr("queue_bytes").cast<std::int64_t>();
    out.up_queue_bytes = link.attr("up_queue_bytes").cast<std::int64_t>();
    out.loss = read_loss(link.attr("loss"));
    out.up_loss = read_loss(link.attr("up_loss"));
    using Outages = std::vector<std::pair<Time, Time>>;
    out.outages_ns = link.attr("outages_ns").cast<Outages>();
    const py::object up_outages = link.attr("up_outages_ns");
    out.up_outages_ns = up_outages.is_none() ? out.outages_ns : up_outages.cast<Outages>();
    for (const auto& source : link.attr("cross_traffic")) out.cross_traffic.push_back(read_cross(source));
    out.subflows = link.attr("subflows").cast<int>();
    out.drops = link.attr("drops").cast<std::vector<std::pair<std::int64_t, int>>>();
    for (const auto& flow : link.attr("flows")) out.flows.push_back(read_flow(flow));
    return out;
}

ConstantsNs read_constants(const py::handle& constants, double scale) {
    const auto ns = [&](const char* name) {
        return static_cast<Time>(constants.attr(name).cast<double>() * scale * kNsPerS);
    };
    ConstantsNs out{};
    out.rto_initial = ns("rto_initial_s");
    out.rto_min = ns("rto_min_s");
    out.rto_max = ns("rto_max_s");
    out.delayed_ack = ns("delayed_ack_s");
    out.compressed_ack = ns("compressed_ack_s");
    out.tlp_min = ns("tlp_min_s");
    out.hystart = constants.attr("hystart").cast<bool>();
    out.hystart_ack_delta = ns("hystart_ack_delta_s");
    out.hystart_delay_min = ns("hystart_delay_min_s");
    out.hystart_delay_max = ns("hystart_delay_max_s");
    out.bbr_min_rtt_window = ns("bbr_min_rtt_window_s");
    out.bbr_probe_rtt = ns("bbr_probe_rtt_s");
    out.westwood_rtt_min = ns("westwood_rtt_min_s");
    out.jiffy = ns("jiffy_s");
    // Only where the machine stands in a turn of its timer wheel matters: no timer reaches beyond 32,768 ticks' slots.
    const Time turn = out.jiffy << 15, uptime = ns("uptime_s");
    out.uptime = turn > 0 ? (uptime % turn + turn) % turn : 0;
    out.ledbat_target = ns("ledbat_target_s");
    out.ledbat_minute = ns("ledbat_minute_s");
    out.quick_acks = constants.attr("quick_acks").cast<int>();
    out.scale = scale;
    return out;
}

// Without rules of its own a transport gets the table that comes with the package.
std::vector<RemyRule> read_rules(const py::handle& given) {
    py::object rules = py::reinterpret_borrow<py::object>(given);
    if (py::len(rules) == 0) rules = py::module_::import("dstcc.remy.table").attr("shipped")().attr("rules");
    std::vector<RemyRule> out;
    for (const auto& rule : rules)
        out.push_back({rule.attr("low").cast<std::array<double, 4>>(), rule.attr("high").cast<std::array<double, 4>>(),
                       rule.attr("multiple").cast<double>(), rule.attr("increment").cast<double>(),
                       rule.attr("spacing").cast<double>()});
    return out;
}

TransportConfig read_transport(const py::handle& transport) {
    TransportConfig out;
    out.congestion = transport.attr("congestion").cast<std::string>();
    out.scheduler = transport.attr("scheduler").cast<std::string>();
    const auto mode = transport.attr("mode").cast<std::string>();
    if (mode != "stream" && mode != "lanes") throw py::value_error("unknown transport mode '" + mode + "'");
    out.lanes = mode == "lanes";
    out.lanes_per_link = transport.attr("lanes_per_link").cast<int>();
    out.apart = transport.attr("apart").cast<bool>();
    out.mss_bytes = transport.attr("mss_bytes").cast<int>();
    out.header_bytes = transport.attr("header_bytes").cast<int>();
    out.option_bytes = transport.attr("option_bytes").cast<int>();
    out.initial_cwnd = transport.attr("initial_cwnd").cast<int>();
    out.receive_buffer_bytes = transport.attr("receive_buffer_bytes").cast<std::int64_t>();
    out.fixed_cwnd_segments = transport.attr("fixed_cwnd_segments").cast<std::vector<std::int64_t>>();
    out.open_loop_bps = transport.attr("open_loop_bps").cast<std::vector<double>>();
    out.layer_links = transport.attr("layer_links").cast<std::vector<int>>();
    out.ltp_green_from_layer = transport.attr("ltp_green_from_layer").cast<int>();
    out.ltp_retry_limit = transport.attr("ltp_retry_limit").cast<std::uint32_t>();
    out.join_rtts = transport.attr("join_rtts").cast<double>();
    out.drop_late = transport.attr("drop_late").cast<bool>();
    out.layer_first = transport.attr("layer_first").cast<bool>();
    out.agent_headroom = transport.attr("agent_headroom").cast<int>();
    out.agent_silence_slots = transport.attr("agent_silence_slots").cast<double>();
    if (const py::object extension = transport.attr("congestion_extension"); !extension.is_none())
        out.make_control = [extension](const TcpState& tcp) { return make_python_control(extension, tcp); };
    if (const py::object extension = transport.attr("scheduler_extension"); !extension.is_none())
        out.make_scheduler = [extension](const SchedulerSetup& setup) { return make_python_scheduler(extension, setup); };
    out.constants = read_constants(transport.attr("constants"), transport.attr("scale").cast<double>());
    if (out.congestion == "remy") out.remy_rules = read_rules(transport.attr("remy_rules"));
    return out;
}

void validate_source(const CrossTrafficConfig& c) {
    require(c.rate_bps > 0 && c.packet_bytes > 0 && c.on_ns > 0 && c.off_ns >= 0, "cross traffic needs a rate, a size and an on time");
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
            require(flow.payload_bytes >= 0, "a background flow's bytes are positive, or 0 for all it can");
            if (flow.app_limited) validate_source(flow.source);
        }
    }
    require(subflows <= kMaxSubflows, "1 to 128 subflows are needed");
    require(subflows + flows <= 65'535, "at most 65,535 TCP senders");
}

// The engine's own preconditions: what would make its arithmetic meaningless. (Users' mistakes are caught earlier.)
void validate(const EngineConfig& config) {
    const TransportConfig& t = config.transport;
    require(!config.links.empty() && config.links.size() <= 64, "1 to 64 links are needed");
    require(config.slot_ns > 0, "slot_ns must be positive");
    require(config.duration_ns > 0, "duration_ns must be positive");
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
    for (const LinkConfig& link : config.links)
        require(t.congestion != kTransferLtp || link.flows.empty(), "ltp shares its links with datagrams, not with background flows");
    require(t.agent_headroom >= 0 && t.agent_headroom <= 1024, "agent_headroom must be 0 (none) to 1,024");
    require(t.agent_silence_slots >= 1, "agent_silence_slots must be at least 1");
    for (const int link : t.layer_links)
        require(link >= 0 && static_cast<std::size_t>(link) < config.links.size(), "layer_links names a link that is not there");
    for (const std::int64_t w : t.fixed_cwnd_segments) require(w >= 1, "fixed_cwnd_segments must be at least 1");
    // 65,535 bytes must take no more than a quarter of what a time can hold.
    constexpr double kLeastRateBps = 65535 * 8.0 * kNsPerS / static_cast<double>(kNever / 4);
    for (const LinkConfig& link : config.links) {
        require(link.rate_bps >= kLeastRateBps && link.up_rate_bps >= kLeastRateBps, "rates must be at least 0.00023 bit/s");
        require(!link.delay_ns.empty() && link.delay_ns.size() == link.delay_t_ns.size(), "a delay table has as many times as delays");
        for (std::size_t i = 0; i < link.delay_ns.size(); ++i) {
            require(link.delay_ns[i] >= 0, "delays must not be negative");
            require(i == 0 || link.delay_t_ns[i] > link.delay_t_ns[i - 1], "delay table times must rise");
        }
        require(link.delay_slope.empty() || link.delay_slope.size() == link.delay_ns.size(), "a delay table has as many slopes as delays");
        for (std::size_t i = 1; i < link.delay_slope.size(); ++i) {
            // Control values of the derivative's Bernstein form bound it from below.
            const double m0 = link.delay_slope[i - 1], m1 = link.delay_slope[i];
            const double secant = static_cast<double>(link.delay_ns[i] - link.delay_ns[i - 1]) /
                                  static_cast<double>(link.delay_t_ns[i] - link.delay_t_ns[i - 1]);
            require(std::min({m0, m1, 3 * secant - m0 - m1}) > -1, "a curved delay must fall more slowly than time passes");
        }
        for (const auto* outages : {&link.outages_ns, &link.up_outages_ns})
            for (std::size_t i = 0; i < outages->size(); ++i) {
                require((*outages)[i].first < (*outages)[i].second, "an outage ends after it begins");
                require(i == 0 || (*outages)[i].first >= (*outages)[i - 1].second, "outages must rise and not overlap");
            }
    }
    validate_sharing(config);
    const ObjectsConfig& o = config.objects;
    const std::size_t n = o.size();
    require(o.chunk.size() == n && o.layer.size() == n && o.release_ns.size() == n && o.deadline_ns.size() == n,
            "the columns of objects differ in length");
    for (std::size_t i = 0; i < n; ++i) {
        require(o.layer[i] >= 0 && o.layer[i] < 256, "layers are numbered 0 to 255");
        require(o.payload_bytes[i] >= 1, "objects hold at least one byte");
        require(t.congestion != kTransferLtp || o.payload_bytes[i] / t.mss_bytes < (std::int64_t{1} << 31),
                "a block of ltp has fewer than 2^31 segments");
        require(o.release_ns[i] >= 0 && (i == 0 || o.release_ns[i] >= o.release_ns[i - 1]), "release_ns must not fall");
    }
}

EngineConfig read_config(const py::handle& config) {
    EngineConfig out;
    out.seed = static_cast<std::uint64_t>(config.attr("seed").cast<std::int64_t>());
    for (const auto& link : config.attr("links")) out.links.push_back(read_link(link));
    out.transport = read_transport(config.attr("transport"));
    for (const LinkConfig& link : out.links)
        for (const FlowConfig& flow : link.flows)
            if (flow.congestion == "remy" && out.transport.remy_rules.empty())
                out.transport.remy_rules = read_rules(config.attr("transport").attr("remy_rules"));
    const py::handle objects = config.attr("objects");
    out.objects.chunk = read_column<std::int64_t>(objects, "chunk");
    out.objects.layer = read_column<std::int64_t>(objects, "layer");
    out.objects.payload_bytes = read_column<std::int64_t>(objects, "payload_bytes");
    out.objects.release_ns = read_column<std::int64_t>(objects, "release_ns");
    out.objects.deadline_ns = read_column<std::int64_t>(objects, "deadline_ns");
    out.slot_ns = config.attr("slot_ns").cast<Time>();
    out.duration_ns = config.attr("duration_ns").cast<Time>();
    out.trace = config.attr("trace").cast<bool>();
    validate(out);
    return out;
}

template <class T>
py::array_t<T> to_array(const std::vector<T>& values) {
    return py::array_t<T>(static_cast<py::ssize_t>(values.size()), values.data());
}

template <class Field>
py::array_t<std::int64_t> outcome_column(const std::vector<ObjectOutcome>& outcomes, Field&& field) {
    py::array_t<std::int64_t> out(static_cast<py::ssize_t>(outcomes.size()));
    auto view = out.mutable_unchecked<1>();
    for (std::size_t i = 0; i < outcomes.size(); ++i) view(static_cast<py::ssize_t>(i)) = field(outcomes[i]);
    return out;
}

bool interrupted() {
    py::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
}

py::list flow_results(const Simulation& simulation) {
    py::list out;
    const std::vector<FlowOutcome> flows = simulation.flows();
    for (std::size_t f = 0; f < flows.size(); ++f) {
        const FlowOutcome& flow = flows[f];
        const FlowSampleColumns& s = simulation.flow_samples(f);
        py::dict row;
        row["link"] = flow.link;
        row["congestion"] = flow.congestion;
        row["app_limited"] = flow.app_limited;
        row["start_ns"] = flow.start_ns;
        row["stop_ns"] = flow.stop_ns;
        row["complete_ns"] = flow.complete_ns;
        row["sent_bytes"] = flow.sent_bytes;
        row["retransmitted_bytes"] = flow.retransmitted_bytes;
        row["delivered_bytes"] = flow.delivered_bytes;
        row["lost_segments"] = flow.lost_segments;
        row["timeouts"] = flow.timeouts;
        row["rtt_samples"] = flow.rtt_samples;
        row["rtt_sum_s"] = flow.rtt_sum_s;
        row["slot_cwnd_segments"] = to_array(s.cwnd);
        row["slot_inflight_segments"] = to_array(s.inflight);
        row["slot_srtt_ns"] = to_array(s.srtt_ns);
        row["slot_sent_segments"] = to_array(s.sent);
        row["slot_lost_segments"] = to_array(s.lost);
        row["slot_delivered_bytes"] = to_array(s.delivered);
        out.append(row);
    }
    return out;
}

py::object trace_columns(const Simulation& simulation) {
    const TraceColumns& t = simulation.trace();
    if (t.t_ns.empty()) return py::none();
    py::dict out;
    out["t_ns"] = to_array(t.t_ns);
    out["event"] = to_array(t.event);
    out["fate"] = to_array(t.fate);
    out["syn"] = to_array(t.syn);
    out["sender"] = to_array(t.sender);
    out["number"] = to_array(t.number);
    out["bytes"] = to_array(t.bytes);
    out["object"] = to_array(t.object);
    out["order"] = to_array(t.order);
    out["sack"] = to_array(t.sack).reshape({static_cast<py::ssize_t>(t.t_ns.size()), py::ssize_t{3}, py::ssize_t{2}});
    return out;
}

py::object trace_columns(const Ltp&) { return py::none(); }

py::object step_columns(const Simulation& simulation) {
    const StepColumns& s = simulation.steps();
    if (!simulation.config().trace) return py::none();
    py::dict out;
    out["t_ns"] = to_array(s.t_ns);
    out["subflow"] = to_array(s.sender);
    out["una"] = to_array(s.una);
    out["cwnd_segments"] = to_array(s.cwnd);
    out["ssthresh_segments"] = to_array(s.ssthresh);
    out["srtt_ns"] = to_array(s.srtt_ns);
    out["rto_ns"] = to_array(s.rto_ns);
    out["state"] = to_array(s.state);
    out["backoff"] = to_array(s.backoff);
    out["lost_segments"] = to_array(s.lost);
    out["pacing_bps"] = to_array(s.pacing_bps);
    return out;
}

py::object step_columns(const Ltp&) { return py::none(); }

// Background flows are TCP's; a trial of ltp has none.
py::list flow_results(const Ltp&) { return py::list(); }

template <class Engine>
py::dict document(const Engine& simulation) {
    const auto& o = simulation.objects();
    using O = ObjectOutcome;
    py::dict objects;
    objects["first_sent_ns"] = outcome_column(o, [](const O& x) { return x.first_sent_ns; });
    objects["first_arrival_ns"] = outcome_column(o, [](const O& x) { return x.first_arrival_ns; });
    objects["complete_ns"] = outcome_column(o, [](const O& x) { return x.complete_ns; });
    objects["sent_bytes"] = outcome_column(o, [](const O& x) { return x.sent_bytes; });
    objects["delivered_bytes"] = outcome_column(o, [](const O& x) { return x.delivered_bytes; });
    objects["retransmissions"] = outcome_column(o, [](const O& x) { return x.retransmissions; });
    objects["subflow"] = outcome_column(o, [](const O& x) { return static_cast<std::int64_t>(x.subflow); });
    objects["given_up"] = outcome_column(o, [](const O& x) { return static_cast<std::int64_t>(x.given_up); });
    const SampleColumns& s = simulation.samples();
    py::dict samples;
    samples["t_ns"] = to_array(s.t_ns);
    samples["subflow"] = to_array(s.subflow);
    samples["cwnd_segments"] = to_array(s.cwnd);
    samples["inflight_segments"] = to_array(s.inflight);
    samples["srtt_ns"] = to_array(s.srtt_ns);
    samples["min_rtt_ns"] = to_array(s.min_rtt_ns);
    samples["sent_segments"] = to_array(s.sent);
    samples["lost_segments"] = to_array(s.lost);
    samples["retransmitted_segments"] = to_array(s.retransmitted);
    samples["delivered_bytes"] = to_array(s.delivered);
    samples["queue_bytes"] = to_array(s.queue);
    samples["pacing_bps"] = to_array(s.pacing_bps);
    py::dict out;
    out["objects"] = objects;
    out["samples"] = samples;
    out["end_ns"] = simulation.now();
    out["totals"] = simulation.totals();
    out["flows"] = flow_results(simulation);
    out["trace"] = trace_columns(simulation);
    out["steps"] = step_columns(simulation);
    return out;
}

// Run a trial and hand over what it leaves; Engine is Simulation or Ltp.
template <class Engine>
py::dict simulate_with(const EngineConfig& config) {
    Engine simulation(config);
    {
        py::gil_scoped_release release;
        simulation.run_until(kNever, interrupted);
    }
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();
    return document(simulation);
}

py::dict simulate(const py::object& config) {
    const EngineConfig native = read_config(config);
    return native.transport.congestion == kTransferLtp ? simulate_with<Ltp>(native) : simulate_with<Simulation>(native);
}

double clairvoyant(const py::object& config, const std::vector<double>& weights) {
    const EngineConfig native = read_config(config);
    require(weights.size() == native.objects.size(), "weights must have one entry per object");
    py::gil_scoped_release release;
    return clairvoyant_weight(native, weights);
}

// Whether a full packet of `bytes` that starts with each of `slots` service slots, from `first` on, is lost (for tests and
// traces).
py::array_t<bool> channel_losses(const py::object& link, std::int64_t seed, std::uint64_t index, std::uint32_t bytes,
                                 std::int64_t slots, std::int64_t first) {
    const LinkConfig config = read_link(link);
    const auto key = static_cast<std::uint64_t>(seed);
    const auto slot_ns = std::max<Time>(1, static_cast<Time>(8.0 * kNsPerS / config.rate_bps * bytes + 0.5));
    py::array_t<bool> out(slots);
    auto view = out.mutable_unchecked<1>();
    if (config.loss.kind == LossKind::kFrames && config.loss.frames->frame_bits > 1) {
        FrameLoss process(config.loss.frames, config.rate_bps, bytes, key, index, 0);
        for (std::int64_t k = 0; k < slots; ++k) view(k) = process.lost((first + k) * slot_ns, bytes);
    } else {
        LossProcess process(config.loss, slot_ns, key, index, 0);
        for (std::int64_t k = 0; k < slots; ++k) view(k) = process.lost(first + k, 0, bytes);
    }
    return out;
}

template <class T>
void field(py::class_<LawBench>& bench, const char* name, T TcpState::*member) {
    bench.def(name, [member](LawBench& b, std::size_t i) { return b.state(i).*member; }, py::arg("subflow"));
    bench.def((std::string("set_") + name).c_str(), [member](LawBench& b, std::size_t i, T value) { b.state(i).*member = value; },
              py::arg("subflow"), py::arg("value"));
}

// For the tests of the laws.
void bind_law_bench(py::module_& m) {
    py::class_<LawBench> bench(m, "LawBench");
    bench.def(py::init([](const py::object& transport, std::size_t subflows) {
                  const TransportConfig native = read_transport(transport);
                  return std::make_unique<LawBench>(native.congestion, native, subflows);
              }),
              py::arg("transport"), py::arg("subflows") = 1);
    bench.def("establish", &LawBench::establish, py::arg("subflow"), py::arg("now_ns"), py::arg("rtt_ns"));
    bench.def("send", &LawBench::send, py::arg("subflow"), py::arg("segments"), py::arg("now_ns"));
    bench.def("ack", &LawBench::ack, py::arg("subflow"), py::arg("segments"), py::arg("rtt_ns"), py::arg("now_ns"),
              py::arg("one_way_ns") = -1);
    bench.def(
        "sample",
        [](LawBench& b, std::size_t i, std::int64_t acked, std::int64_t delivered, Time interval, Time rtt, std::int64_t losses,
           std::uint64_t prior_delivered, std::int64_t prior_in_flight, bool app_limited, Time now) {
            RateSample sample;
            sample.acked_sacked = acked;
            sample.delivered = delivered;
            sample.interval_ns = interval;
            sample.rtt_ns = rtt;
            sample.losses = losses;
            sample.prior_delivered = prior_delivered;
            sample.prior_in_flight = prior_in_flight;
            sample.is_app_limited = app_limited;
            b.sample(i, sample, now);
        },
        py::arg("subflow"), py::arg("acked"), py::arg("delivered"), py::arg("interval_ns"), py::arg("rtt_ns"), py::arg("losses"),
        py::arg("prior_delivered"), py::arg("prior_in_flight"), py::arg("app_limited"), py::arg("now_ns"));
    bench.def("enter_recovery", &LawBench::enter_recovery, py::arg("subflow"), py::arg("segments"), py::arg("now_ns"));
    bench.def("leave_recovery", &LawBench::leave_recovery, py::arg("subflow"), py::arg("now_ns"));
    bench.def("restart_idle", &LawBench::restart_idle, py::arg("subflow"), py::arg("now_ns"));
    bench.def("undo", &LawBench::undo, py::arg("subflow"), py::arg("now_ns"));
    bench.def("lose", &LawBench::lose, py::arg("subflow"), py::arg("segments"), py::arg("now_ns"));
    bench.def("time_out", &LawBench::time_out, py::arg("subflow"), py::arg("now_ns"));
    field(bench, "cwnd", &TcpState::cwnd);
    field(bench, "ssthresh", &TcpState::ssthresh);
    field(bench, "srtt_ns", &TcpState::srtt_ns);
    field(bench, "pacing_bytes_per_ns", &TcpState::pacing_bytes_per_ns);
    field(bench, "is_cwnd_limited", &TcpState::is_cwnd_limited);
    field(bench, "ack_has_sacks", &TcpState::ack_has_sacks);
    field(bench, "option_bytes", &TcpState::option_bytes);
    field(bench, "app_limited", &TcpState::app_limited);
    field(bench, "pacing_until_ns", &TcpState::pacing_until_ns);
    field(bench, "snd_una", &TcpState::snd_una);
    field(bench, "delivered", &TcpState::delivered);
    field(bench, "sacked_out", &TcpState::sacked_out);
    field(bench, "max_packets_out", &TcpState::max_packets_out);
    field(bench, "fixed_cwnd", &TcpState::fixed_cwnd);
    field(bench, "open_loop_bps", &TcpState::open_loop_bps);
}

// How many draws tell a Gilbert-Elliott state in `slot` to someone who last asked in slot 0 (for tests).
std::int64_t burst_draws(const py::object& loss, std::int64_t seed, std::int64_t slot) {
    LossProcess process(read_loss(loss), 1, static_cast<std::uint64_t>(seed), 0, 0);
    process.lost(0, 0, 1);
    process.lost(slot, 0, 1);
    return process.bursts().drawn();
}

// The delay of what departs at each of some times, and the latest departure that arrives by each (for tests).
py::tuple delays(const py::object& link, const std::vector<Time>& at) {
    const LinkConfig config = read_link(link);
    const DelayTable table(config.delay_t_ns, config.delay_ns, config.delay_slope);
    std::vector<Time> delay, departure;
    for (const Time t : at) {
        delay.push_back(table.at(t));
        departure.push_back(table.latest_departure(t));
    }
    return py::make_tuple(to_array(delay), to_array(departure));
}

// When a handshake that is to begin at `at` does by the link's plan, kNever if it never passes; and where a repeat of it
// would be of use again.
py::tuple openings(const py::object& link, int header_bytes, Time at) {
    const ContactPlan plan(read_link(link), header_bytes);
    const Time opening = plan.opening(at);
    return py::make_tuple(opening, opening == kNever ? kNever : plan.reopening(opening));
}

template <class Table>
py::tuple names(const Table& table) {
    py::tuple out(table.size());
    for (std::size_t i = 0; i < table.size(); ++i) out[i] = py::str(table[i].first);
    return out;
}

}  // namespace

EngineConfig read_engine_config(const py::handle& config) { return read_config(config); }
TransportConfig read_transport_config(const py::handle& transport) { return read_transport(transport); }
py::dict engine_result(const Simulation& simulation) { return document(simulation); }

}  // namespace dstcc

PYBIND11_MODULE(_engine, m, py::mod_gil_not_used()) {
    m.doc() = "Packet-level virtual-time simulator of MPTCP; see dstcc.engine.";
    py::register_exception<dstcc::InvariantError>(m, "InvariantError", PyExc_RuntimeError);
    m.def("simulate", &dstcc::simulate, py::arg("config"));
    m.def("clairvoyant_weight", &dstcc::clairvoyant, py::arg("config"), py::arg("weights"));
    m.def("channel_losses", &dstcc::channel_losses, py::arg("link"), py::arg("seed"), py::arg("index"),
          py::arg("packet_bytes"), py::arg("slots"), py::arg("first") = 0);
    m.def("burst_draws", &dstcc::burst_draws, py::arg("loss"), py::arg("seed"), py::arg("slot"));
    m.def("delays", &dstcc::delays, py::arg("link"), py::arg("at_ns"));
    m.def("openings", &dstcc::openings, py::arg("link"), py::arg("header_bytes"), py::arg("at_ns"));
    dstcc::bind_law_bench(m);
    using Unlocked = py::call_guard<py::gil_scoped_release>;
    m.def("ring_walk", &dstcc::ring_walk, py::arg("packets"), py::arg("window"), py::arg("loss"), py::arg("seed"),
          Unlocked());
    m.def("event_walk", &dstcc::event_walk, py::arg("packets"), py::arg("window"), py::arg("subflows"), py::arg("loss"),
          py::arg("seed"), Unlocked());
    dstcc::bind_rules(m);
    dstcc::bind_structures(m);
    dstcc::bind_parts(m);
    dstcc::bind_stepper(m);
    m.attr("CONGESTION_NAMES") = dstcc::names(dstcc::congestion_table());
    m.attr("TRANSFER_NAMES") = py::make_tuple(dstcc::kTransferLtp);
    m.attr("SCHEDULER_NAMES") = dstcc::names(dstcc::scheduler_table());
}
