// The extension dstcc.engine._engine: what the simulator is asked by Python.
#include <pybind11/stl.h>

#include <algorithm>

#include "coding/coded.hpp"
#include "coding/setup.hpp"
#include "congestion/control.hpp"
#include "congestion/paced.hpp"
#include "link/stall.hpp"
#include "link/contact.hpp"
#include "link/frames.hpp"
#include "link/loss.hpp"
#include "ltp/ltp.hpp"
#include "mptcp/connection.hpp"
#include "oracle/oracle.hpp"
#include "python/convert.hpp"
#include "python/paths.hpp"
#include "scheduler/scheduler.hpp"
#include "sim/hop_by_hop.hpp"

namespace py = pybind11;

namespace dstcc {
namespace {

bool interrupted() {
    py::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
}

// Run a trial and hand over what it leaves.
template <class Ends>
py::dict simulate_with(const EngineConfig& config) {
    Trial<Ends> trial(config);
    {
        py::gil_scoped_release release;
        trial.run_until(kNever, interrupted);
    }
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();
    return engine_result(trial);
}

py::dict simulate(const py::object& config) {
    const EngineConfig native = read_engine_config(config);
    require(std::none_of(native.links.begin(), native.links.end(),
                         [](const auto& link) {
                             return !link.onward.empty() && link.onward.front().node.forwards == Forwards::kCustody;
                         }),
            "custody is simulated hop by hop");
    if (native.transport.coded) return simulate_with<Coded>(native);
    return native.transport.congestion == kTransferLtp ? simulate_with<Ltp>(native) : simulate_with<Connection>(native);
}

// A stage of each configuration, the first of which captures; its node; of each the stages that its links lead to
// (-1: the end of the way) and its place in the whole, and from there onwards when what comes can arrive.
py::dict simulate_hop_by_hop(const py::list& configs, const py::list& nodes,
                             const std::vector<std::vector<int>>& leads_to,
                             const std::vector<std::vector<std::uint64_t>>& places,
                             const std::vector<std::vector<std::pair<std::vector<Time>, std::vector<Time>>>>& onward) {
    std::vector<EngineConfig> stages;
    for (const py::handle config : configs) {
        stages.push_back(read_engine_config(py::reinterpret_borrow<py::object>(config)));
        const std::size_t s = stages.size() - 1;
        require(s < places.size() && places[s].size() == stages[s].links.size(), "each link has a place");
        stages[s].places = places[s];
        require(stages.back().transport.congestion == kTransferLtp, "custody is ltp's");
        require(stages.back().duration_ns < kNever, "nodes need a duration");
    }
    std::vector<NodeConfig> of_stages;
    for (const py::handle node : nodes) of_stages.push_back(read_node(node));
    require(!stages.empty() && of_stages.size() == stages.size() && leads_to.size() == stages.size() &&
                onward.size() == stages.size(),
            "each stage has a node and its links");
    std::vector<std::vector<LeadsTo>> links(stages.size());
    for (std::size_t s = 0; s < stages.size(); ++s) {
        require(leads_to[s].size() == stages[s].links.size() && onward[s].size() == leads_to[s].size(),
                "each link leads to a stage");
        for (std::size_t l = 0; l < leads_to[s].size(); ++l) {
            const int to = leads_to[s][l];
            require(to == -1 || (to > static_cast<int>(s) && to < static_cast<int>(stages.size())),
                    "a link leads to a stage behind its own");
            links[s].push_back({to, {onward[s][l].first, onward[s][l].second}});
        }
    }
    HopByHop<Ltp> trial(stages, of_stages, links);
    bool whole = false;
    {
        py::gil_scoped_release release;
        whole = trial.run(interrupted);
    }
    if (!whole) throw py::error_already_set();
    return hop_by_hop_result(trial);
}

using Weights = py::array_t<double, py::array::c_style | py::array::forcecast>;

template <class Bound>
double bound_of(const py::object& config, const Weights& given, Bound&& bound) {
    const EngineConfig native = read_engine_config(config);
    const std::vector<double> weights(given.data(), given.data() + given.size());
    require(weights.size() == native.objects.size(), "weights must have one entry per object");
    py::gil_scoped_release release;
    return bound(native, weights);
}

double clairvoyant_weight_of(const py::object& config, const Weights& weights, bool any_packets) {
    return bound_of(config, weights, [&](const EngineConfig& native, const std::vector<double>& of) {
        return clairvoyant_weight(native, of, any_packets);
    });
}

std::optional<Time> least_playout_delay_of(const py::object& config, Time delay, bool any_packets) {
    const EngineConfig native = read_engine_config(config);
    py::gil_scoped_release release;
    return least_playout_delay(native, delay, any_packets);
}

double law_weight_of(const py::object& config, const Weights& weights) {
    return bound_of(config, weights, [](const EngineConfig& native, const std::vector<double>& of) {
        return law_weight(native, of, native.transport.handshake && native.transport.congestion != kTransferLtp);
    });
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
    if (config.loss.kind == kFrameLoss && config.loss.frames->frame_bits > 1) {
        FrameLoss process(config.loss.frames, config.rate_bps, RateSteps::actual(config, false), bytes, key, index, 0);
        for (std::int64_t k = 0; k < slots; ++k) view(k) = process.lost((first + k) * slot_ns, bytes);
    } else {
        const auto process = make_loss({config.loss, slot_ns, key, index, 0, RateSteps::actual(config, false)});
        for (std::int64_t k = 0; k < slots; ++k) view(k) = process->lost(first + k, 0, bytes);
    }
    return out;
}

// When a handshake that is to begin at `at` does by the link's plan, kNever if it never passes; and where a repeat of it
// would be of use again.
py::tuple openings(const py::object& link, int header_bytes, Time at) {
    const ContactPlan plan(read_link(link), header_bytes);
    const Time opening = plan.opening(at);
    return py::make_tuple(opening, opening == kNever ? kNever : plan.reopening(opening));
}

// How long a run without a duration may deliver nothing before it ends.
Time patience(const py::object& config) {
    const EngineConfig native = read_engine_config(config);
    Time longest = 0;
    for (const LinkConfig& link : native.links)
        longest = std::max(longest, *std::max_element(link.delay_ns.begin(), link.delay_ns.end()));
    return stall_patience(native.transport.constants.rto_max, longest);
}

// Those that one may choose for TCP, in the order of their letters.
template <class Entry>
py::tuple choices() {
    py::list out;
    for (const auto& [name, entry] : registry<Entry>())
        if (!entry.steered && name != kPaced) out.append(name);
    return out;
}

py::tuple loss_kinds() {
    py::list out;
    for (const auto& kind : registry<LossEntry>()) out.append(kind.first);
    return out;
}

py::dict parameters() {
    py::dict out;
    for (const auto& [name, entry] : registry<ControlEntry>())
        if (!entry.steered) out[py::str(name)] = py::tuple(py::cast(entry.parameters));
    out[kTransferLtp] = py::tuple(py::cast(kLtpParameters));
    return out;
}

}  // namespace
}  // namespace dstcc

PYBIND11_MODULE(_engine, m, py::mod_gil_not_used()) {
    m.doc() = "Packet-level virtual-time simulator of MPTCP; see dstcc.engine.";
    py::register_exception<dstcc::InvariantError>(m, "InvariantError", PyExc_RuntimeError);
    m.def("simulate", &dstcc::simulate, py::arg("config"));
    m.def("simulate_hop_by_hop", &dstcc::simulate_hop_by_hop, py::arg("stages"), py::arg("nodes"), py::arg("leads_to"),
          py::arg("places"), py::arg("onward"));
    m.def("clairvoyant_weight", &dstcc::clairvoyant_weight_of, py::arg("config"), py::arg("weights"),
          py::arg("any_packets") = false);
    m.def("least_playout_delay", &dstcc::least_playout_delay_of, py::arg("config"), py::arg("delay_ns"),
          py::arg("any_packets") = false);
    m.def("law_weight", &dstcc::law_weight_of, py::arg("config"), py::arg("weights"));
    m.def("channel_losses", &dstcc::channel_losses, py::arg("link"), py::arg("seed"), py::arg("index"),
          py::arg("packet_bytes"), py::arg("slots"), py::arg("first") = 0);
    m.def("openings", &dstcc::openings, py::arg("link"), py::arg("header_bytes"), py::arg("at_ns"));
    m.def("patience", &dstcc::patience, py::arg("config"));
    m.def("fresh_packets_count", &dstcc::fresh_packets_count, py::arg("left_ns"), py::arg("light_ns"));
    dstcc::bind_steppers(m);
    dstcc::bind_paths(m);
    m.attr("CONGESTION_NAMES") = dstcc::choices<dstcc::ControlEntry>();
    m.attr("CODED_CONGESTION_NAMES") = py::make_tuple(dstcc::kPaced);
    m.attr("LOSS_KINDS") = dstcc::loss_kinds();
    m.attr("PARAMETERS") = dstcc::parameters();
    m.attr("TRANSFER_NAMES") = py::make_tuple(dstcc::kTransferLtp);
    m.attr("SCHEDULER_NAMES") = dstcc::choices<dstcc::SchedulerEntry>();
}
