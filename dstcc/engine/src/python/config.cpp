// The dataclasses of dstcc/engine/config.py as the engine's structs.
#include <pybind11/stl.h>

#include <cmath>

#include "core/agent.hpp"
#include "link/loss.hpp"
#include "python/convert.hpp"
#include "python/extension.hpp"

namespace py = pybind11;

namespace dstcc {
namespace {

template <class T>
std::vector<T> read_column(const py::handle& table, const char* name) {
    const auto array = py::array_t<T, py::array::c_style | py::array::forcecast>::ensure(table.attr(name));
    if (!array || array.ndim() != 1) throw py::value_error(std::string(name) + " must be a flat array of numbers");
    return {array.data(), array.data() + array.size()};
}

std::vector<std::uint8_t> read_layers(const py::handle& objects) {
    const auto layers = read_column<std::int64_t>(objects, "layer");
    for (const std::int64_t layer : layers) require(layer >= 0 && layer < 256, "layers are numbered 0 to 255");
    return {layers.begin(), layers.end()};
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

std::shared_ptr<const LossSchedule> read_schedule(const py::handle& loss) {
    auto out = std::make_shared<LossSchedule>();
    out->t_ns = read_column<std::int64_t>(loss, "t_ns");
    out->rate = read_column<double>(loss, "rates");
    require(!out->t_ns.empty() && out->t_ns.size() == out->rate.size(), "loss over time needs a chance at each time");
    for (std::size_t i = 0; i < out->t_ns.size(); ++i) {
        require(i == 0 || out->t_ns[i] > out->t_ns[i - 1], "times of a loss must rise");
        require(out->rate[i] >= 0 && out->rate[i] <= 1, "a chance of loss is between 0 and 1");
    }
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
    if (periods == "constant")
        out.periods = Periods::kConstant;
    else if (periods == "exponential")
        out.periods = Periods::kExponential;
    else if (periods == "pareto")
        out.periods = Periods::kPareto;
    else
        throw py::value_error("unknown law of periods '" + periods + "'");
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

ReceiverOf read_receiver(const std::string& name) {
    if (name == "linux-6.12") return ReceiverOf::kLinux612;
    if (name == "linux-6.1") return ReceiverOf::kLinux61;
    throw py::value_error("receiver must be linux-6.12 or linux-6.1, not " + name);
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
    out.delayed_ack_max = ns("delayed_ack_max_s");
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
    out.receiver = read_receiver(constants.attr("receiver").cast<std::string>());
    return out;
}

}  // namespace

LossConfig read_loss(const py::handle& loss) {
    LossConfig out;
    out.kind = loss.attr("kind").cast<std::string>();
    for (const auto& [name, value] : loss.attr("numbers")().cast<std::map<std::string, double>>())
        out.numbers[name] = {value};
    if (out.kind == kFrameLoss) out.frames = read_frames(loss.attr("frames"));
    if (out.kind == kScheduledLoss) out.schedule = read_schedule(loss);
    return out;
}

RelayConfig read_relay(const py::handle& relay) {
    RelayConfig out;
    out.at = relay.attr("at").cast<double>();
    out.rate_bps = relay.attr("rate_bps").cast<double>();
    out.queue_bytes = relay.attr("queue_bytes").cast<std::int64_t>();
    for (const auto& source : relay.attr("cross_traffic")) out.cross_traffic.push_back(read_cross(source));
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
    out.queue_packets = link.attr("queue_packets").cast<std::int64_t>();
    out.loss = read_loss(link.attr("loss"));
    out.up_loss = read_loss(link.attr("up_loss"));
    using Outages = std::vector<std::pair<Time, Time>>;
    out.outages_ns = link.attr("outages_ns").cast<Outages>();
    const py::object up_outages = link.attr("up_outages_ns");
    out.up_outages_ns = up_outages.is_none() ? out.outages_ns : up_outages.cast<Outages>();
    out.unannounced_ns = link.attr("unannounced_ns").cast<Outages>();
    const auto shares = [&](const char* t_ns, const char* share) {
        return Shares{link.attr(t_ns).cast<std::vector<Time>>(), link.attr(share).cast<std::vector<double>>()};
    };
    out.rate = shares("rate_t_ns", "rate_share");
    out.up_rate = shares("up_rate_t_ns", "up_rate_share");
    out.hidden = shares("hidden_t_ns", "hidden_share");
    for (const auto& source : link.attr("cross_traffic")) out.cross_traffic.push_back(read_cross(source));
    out.subflows = link.attr("subflows").cast<int>();
    out.drops = link.attr("drops").cast<std::vector<std::pair<std::int64_t, int>>>();
    for (const auto& flow : link.attr("flows")) out.flows.push_back(read_flow(flow));
    if (const py::object relay = link.attr("relay"); !relay.is_none()) out.relay = read_relay(relay);
    return out;
}

TransportConfig read_transport_config(const py::handle& transport) {
    TransportConfig out;
    out.congestion = transport.attr("congestion").cast<std::string>();
    out.scheduler = transport.attr("scheduler").cast<std::string>();
    const auto mode = transport.attr("mode").cast<std::string>();
    if (mode != "stream" && mode != "lanes" && mode != "coded")
        throw py::value_error("unknown transport mode '" + mode + "'");
    out.lanes = mode == "lanes";
    out.coded = mode == "coded";
    out.handshake = transport.attr("handshake").cast<bool>();
    out.lanes_per_link = transport.attr("lanes_per_link").cast<int>();
    out.apart = transport.attr("apart").cast<bool>();
    out.mss_bytes = transport.attr("mss_bytes").cast<int>();
    out.header_bytes = transport.attr("header_bytes").cast<int>();
    out.option_bytes = transport.attr("option_bytes").cast<int>();
    out.initial_cwnd = transport.attr("initial_cwnd").cast<int>();
    out.receive_buffer_bytes = transport.attr("receive_buffer_bytes").cast<std::int64_t>();
    out.parameters = transport.attr("parameters").cast<std::map<std::string, Parameters>>();
    out.layer_links = transport.attr("layer_links").cast<std::vector<int>>();
    out.drop_late = transport.attr("drop_late").cast<bool>();
    out.layer_first = transport.attr("layer_first").cast<bool>();
    // NOLINTBEGIN(bugprone-exception-escape): a py::object checks that the lock is held when it goes, and it is
    if (const py::object extension = transport.attr("congestion_extension"); !extension.is_none())
        out.make_control = [extension](const ControlSetup& setup) { return make_python_control(extension, setup); };
    if (const py::object extension = transport.attr("scheduler_extension"); !extension.is_none())
        out.make_scheduler = [extension](const SchedulerSetup& setup) {
            return make_python_scheduler(extension, setup);
        };
    // NOLINTEND(bugprone-exception-escape)
    out.constants = read_constants(transport.attr("constants"), transport.attr("scale").cast<double>());
    return out;
}

namespace {

CodingConfig read_coding(const py::handle& coding) {
    CodingConfig out;
    const py::object repair = coding.attr("repair");
    out.automatic = repair.is_none();
    if (!out.automatic) out.repair = repair.cast<std::vector<double>>();
    const auto rule = coding.attr("rule").cast<std::string>();
    require(rule.empty() || rule == "delayed-feedback" || rule == "table", "a rule is delayed-feedback or table");
    out.law = rule == "table" ? RateLaw::kTable
              : !rule.empty() ? RateLaw::kFeedback
              : out.automatic ? RateLaw::kAuto
                              : RateLaw::kShares;
    out.table = coding.attr("table").cast<std::vector<double>>();
    const auto code = coding.attr("code").cast<std::string>(), place = coding.attr("place").cast<std::string>();
    require(code == "mds" || code == "raptorq", "a code is mds or raptorq");
    require(place == "same" || place == "other" || place == "spread", "a place is same, other or spread");
    out.code = code == "mds" ? ErasureCode::kMds : ErasureCode::kRaptorQ;
    out.place = place == "same" ? RepairPlace::kSame : place == "other" ? RepairPlace::kOther : RepairPlace::kSpread;
    out.block_ns = coding.attr("block_ns").cast<Time>();
    out.word_packets = coding.attr("word_packets").cast<std::int64_t>();
    out.words = coding.attr("words").cast<std::vector<std::uint32_t>>();
    std::vector<std::uint32_t> periods;
    for (const std::int64_t period : read_column<std::int64_t>(coding, "period")) {
        require(period >= 0 && period < UINT32_MAX, "periods are numbered from 0");
        periods.push_back(static_cast<std::uint32_t>(period));
    }
    out.period = std::move(periods);
    return out;
}

}  // namespace

EngineConfig read_engine_config(const py::handle& config) {
    EngineConfig out;
    out.seed = static_cast<std::uint64_t>(config.attr("seed").cast<std::int64_t>());
    for (const auto& link : config.attr("links")) out.links.push_back(read_link(link));
    out.transport = read_transport_config(config.attr("transport"));
    const py::handle objects = config.attr("objects");
    out.objects.chunk = read_column<std::int64_t>(objects, "chunk");
    out.objects.layer = read_layers(objects);
    out.objects.payload_bytes = read_column<std::int64_t>(objects, "payload_bytes");
    out.objects.release_ns = read_column<std::int64_t>(objects, "release_ns");
    out.objects.deadline_ns = read_column<std::int64_t>(objects, "deadline_ns");
    if (const py::object coding = config.attr("coding"); !coding.is_none()) out.coding = read_coding(coding);
    out.slot_ns = config.attr("slot_ns").cast<Time>();
    out.duration_ns = config.attr("duration_ns").cast<Time>();
    out.begin_ns = config.attr("begin_ns").cast<Time>();
    out.ledger = config.attr("ledger").cast<bool>();
    out.trace = config.attr("trace").cast<bool>();
    validate(out);
    return out;
}

}  // namespace dstcc
