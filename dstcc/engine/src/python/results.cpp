// What happened, as dictionaries of numpy arrays.
#include <pybind11/stl.h>

#include "coding/coded.hpp"
#include "ltp/ltp.hpp"
#include "mptcp/connection.hpp"
#include "python/convert.hpp"
#include "sim/hop_by_hop.hpp"

namespace py = pybind11;

namespace dstcc {
namespace {

// A column of what became of each layer, written at once: a month of video has millions of them.
template <class Ends, class Field>
py::array_t<std::int64_t> outcome_column(const Trial<Ends>& trial, Field&& field) {
    const std::size_t layers = trial.config().objects.size();
    py::array_t<std::int64_t> out(static_cast<py::ssize_t>(layers));
    auto view = out.template mutable_unchecked<1>();
    for (std::size_t i = 0; i < layers; ++i) view(static_cast<py::ssize_t>(i)) = field(trial.ends().object(i));
    return out;
}

template <class T>
py::array_t<T> to_python(const std::vector<T>& values) {
    return to_array(values);
}
template <class T, class = std::enable_if_t<!std::is_class_v<T>>>
py::object to_python(T value) {
    return py::cast(value);
}
py::object to_python(const std::string& value) { return py::str(value); }

// Members by their names.
template <class Struct>
py::dict to_dict(const Struct& from) {
    py::dict out;
    from.fields([&](const std::string& name, const auto& member) { out[name.c_str()] = to_python(member); });
    return out;
}

py::list flow_results(const Flows& of) {
    py::list out;
    const std::vector<FlowOutcome> flows = of.outcomes();
    for (std::size_t f = 0; f < flows.size(); ++f) {
        const SampleColumns& s = of.samples(f);
        py::dict row = to_dict(flows[f]);
        row["slot_cwnd_segments"] = to_array(s.cwnd_segments);
        row["slot_inflight_segments"] = to_array(s.inflight_segments);
        row["slot_srtt_ns"] = to_array(s.srtt_ns);
        row["slot_sent_segments"] = to_array(s.sent_segments);
        row["slot_lost_segments"] = to_array(s.lost_segments);
        row["slot_delivered_bytes"] = to_array(s.delivered_bytes);
        out.append(row);
    }
    return out;
}

py::dict node_result(const Node& node, const NodeSamples& samples) {
    py::dict row = to_dict(node.counts());
    row["number"] = node.config().number;
    row.attr("update")(to_dict(samples));
    return row;
}

py::list node_results(const Network& network) {
    py::list out;
    for (std::size_t n = 0; n < network.nodes(); ++n) out.append(node_result(network.node(n), network.samples(n)));
    return out;
}

py::list hop_results(const Network& network) {
    py::list out;
    for (std::size_t h = 0; h < network.hops(); ++h) {
        py::dict row = to_dict(network.hop(h));
        row.attr("update")(to_dict(network.hop_samples(h)));
        out.append(row);
    }
    return out;
}

template <class Ends>
constexpr const char* kName = "tcp";
template <>
constexpr const char* kName<Coded> = "coded";
template <>
constexpr const char* kName<Ltp> = "ltp";

// `transport`: of the first `senders`; the others are background flows.
py::object trace_columns(const TraceColumns& trace, const char* transport, std::size_t senders) {
    if (trace.t_ns.empty()) return py::none();
    py::dict out = to_dict(trace);
    out["sack"] =
        to_array(trace.sack).reshape({static_cast<py::ssize_t>(trace.t_ns.size()), py::ssize_t{3}, py::ssize_t{2}});
    out["ranges"] = to_array(trace.ranges).reshape({static_cast<py::ssize_t>(trace.range_row.size()), py::ssize_t{2}});
    out["transport"] = transport;
    out["senders"] = senders;
    return out;
}

struct CodingColumns {
    std::vector<std::int64_t> source_packets, repair_packets, planned_packets, repair_bytes, arrived_packets,
        decoded_ns, whole, state, block, recovered;
    DSTCC_FIELDS(source_packets, repair_packets, planned_packets, repair_bytes, arrived_packets, decoded_ns, whole,
                 state, block, recovered)
};

// What became of blocks, and of each layer by its block; nothing where nothing is coded.
template <class Ends>
py::object coding_columns(const Ends& engine, std::size_t objects) {
    if (!engine.coding()) return py::none();
    CodingColumns out;
    for (std::size_t b = 0; b < engine.blocks(); ++b) {
        const BlockOutcome block = engine.block(b);
        out.source_packets.push_back(block.source);
        out.repair_packets.push_back(block.repair);
        out.planned_packets.push_back(block.planned);
        out.repair_bytes.push_back(block.repair_bytes);
        out.arrived_packets.push_back(block.arrived);
        out.decoded_ns.push_back(block.decoded_ns);
        out.whole.push_back(block.whole);
        out.state.push_back(block.state);
    }
    for (std::size_t object = 0; object < objects; ++object) {
        out.block.push_back(engine.block_of(object));
        out.recovered.push_back(engine.recovered(object));
    }
    py::dict columns = to_dict(out);
    if (!engine.has_states()) columns["state"] = py::none();
    return columns;
}

}  // namespace

template <class Ends>
py::dict engine_result(const Trial<Ends>& simulation) {
    using O = ObjectOutcome;
    py::dict objects;
    objects["first_sent_ns"] = outcome_column(simulation, [](const O& x) { return x.first_sent_ns; });
    objects["first_arrival_ns"] = outcome_column(simulation, [](const O& x) { return x.first_arrival_ns; });
    objects["complete_ns"] = outcome_column(simulation, [](const O& x) { return x.complete_ns; });
    objects["sent_bytes"] = outcome_column(simulation, [](const O& x) { return x.sent_bytes; });
    objects["delivered_bytes"] = outcome_column(simulation, [](const O& x) { return x.delivered_bytes; });
    objects["retransmissions"] = outcome_column(simulation, [](const O& x) { return x.retransmissions; });
    objects["subflow"] = outcome_column(simulation, [](const O& x) { return static_cast<std::int64_t>(x.subflow); });
    objects["given_up"] = outcome_column(simulation, [](const O& x) { return static_cast<std::int64_t>(x.given_up); });
    py::dict out;
    out["objects"] = objects;
    out["samples"] = to_dict(simulation.ends().samples());
    out["end_ns"] = simulation.now();
    py::dict totals;
    simulation.totals().each([&](const char* name, auto value) { totals[name] = value; });
    out["totals"] = totals;
    out["flows"] = flow_results(simulation.flows());
    out["nodes"] = node_results(simulation.network());
    out["hops"] = hop_results(simulation.network());
    for (const char* none : {"steps", "coding"}) out[none] = py::none();
    out["trace"] = trace_columns(simulation.trace(), kName<Ends>, count_subflows(simulation.config()));
    if constexpr (std::is_same_v<Ends, Connection>) {
        if (simulation.config().trace) out["steps"] = to_dict(simulation.ends().steps());
    } else {
        out["coding"] = coding_columns(simulation.ends(), simulation.config().objects.size());
    }
    out["ledger"] = py::none();
    if (simulation.config().ledger) {
        py::dict ledger;
        ledger["acknowledged_bytes"] = outcome_column(simulation, [](const O& x) { return x.acknowledged_bytes; });
        // A scheduler that plans ahead cuts a layer before it sends it.
        ledger["begun_bytes"] = outcome_column(simulation, [](const O& x) { return std::min(x.offset, x.sent_bytes); });
        ledger["entered"] = to_dict(simulation.network().entered());
        out["ledger"] = ledger;
    }
    return out;
}

template py::dict engine_result(const Trial<Connection>&);
template py::dict engine_result(const Trial<Coded>&);
template py::dict engine_result(const Trial<Ltp>&);

template <class Ends>
py::dict hop_by_hop_result(const HopByHop<Ends>& trial) {
    py::list stages, nodes;
    for (std::size_t s = 0; s < trial.stages(); ++s) {
        stages.append(engine_result(trial.trial(s)));
        if (s > 0) nodes.append(node_result(trial.node(s), trial.samples(s)));
    }
    py::dict out;
    out["stages"] = stages;
    out["nodes"] = nodes;
    out["end_ns"] = trial.now();
    return out;
}

template py::dict hop_by_hop_result(const HopByHop<Ltp>&);

}  // namespace dstcc
