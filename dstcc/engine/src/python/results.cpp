// What happened, as dictionaries of numpy arrays.
#include <pybind11/stl.h>

#include "coding/coded.hpp"
#include "ltp/ltp.hpp"
#include "mptcp/connection.hpp"
#include "python/convert.hpp"

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

py::list flow_results(const Flows& of) {
    py::list out;
    const std::vector<FlowOutcome> flows = of.outcomes();
    for (std::size_t f = 0; f < flows.size(); ++f) {
        const FlowOutcome& flow = flows[f];
        const FlowSampleColumns& s = of.samples(f);
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

py::object trace_columns(const TraceColumns& t) {
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

py::object step_columns(const StepColumns& s) {
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
    out["inflight_segments"] = to_array(s.inflight);
    out["pacing_bps"] = to_array(s.pacing_bps);
    return out;
}

struct CodingColumns {
    std::vector<std::int64_t> source, repair, planned, repair_bytes, arrived, decoded_ns, whole, state, block,
        recovered;

    py::dict document() const {
        py::dict out;
        out["source_packets"] = to_array(source);
        out["repair_packets"] = to_array(repair);
        out["planned_packets"] = to_array(planned);
        out["repair_bytes"] = to_array(repair_bytes);
        out["arrived_packets"] = to_array(arrived);
        out["decoded_ns"] = to_array(decoded_ns);
        out["whole"] = to_array(whole);
        out["state"] = state.empty() ? py::object(py::none()) : py::object(to_array(state));
        out["block"] = to_array(block);
        out["recovered"] = to_array(recovered);
        return out;
    }
};

// What became of blocks, and of each layer by its block; nothing where nothing is coded.
template <class Ends>
py::object coding_columns(const Ends& engine, std::size_t objects) {
    if (!engine.coding()) return py::none();
    CodingColumns out;
    for (std::size_t b = 0; b < engine.blocks(); ++b) {
        const BlockOutcome block = engine.block(b);
        out.source.push_back(block.source);
        out.repair.push_back(block.repair);
        out.planned.push_back(block.planned);
        out.repair_bytes.push_back(block.repair_bytes);
        out.arrived.push_back(block.arrived);
        out.decoded_ns.push_back(block.decoded_ns);
        out.whole.push_back(block.whole);
        if (engine.has_states()) out.state.push_back(block.state);
    }
    for (std::size_t object = 0; object < objects; ++object) {
        out.block.push_back(engine.block_of(object));
        out.recovered.push_back(engine.recovered(object));
    }
    return out.document();
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
    const SampleColumns& s = simulation.ends().samples();
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
    py::dict totals;
    simulation.totals().each([&](const char* name, auto value) { totals[name] = value; });
    out["totals"] = totals;
    out["flows"] = flow_results(simulation.flows());
    for (const char* none : {"trace", "steps", "coding"}) out[none] = py::none();
    if constexpr (std::is_same_v<Ends, Connection>) {
        out["trace"] = trace_columns(simulation.trace());
        if (simulation.config().trace) out["steps"] = step_columns(simulation.ends().steps());
    } else {
        out["coding"] = coding_columns(simulation.ends(), simulation.config().objects.size());
    }
    out["ledger"] = py::none();
    if (simulation.config().ledger) {
        py::dict ledger;
        ledger["acknowledged_bytes"] = outcome_column(simulation, [](const O& x) { return x.acknowledged_bytes; });
        // A scheduler that plans ahead cuts a layer before it sends it.
        ledger["begun_bytes"] = outcome_column(simulation, [](const O& x) { return std::min(x.offset, x.sent_bytes); });
        out["ledger"] = ledger;
    }
    return out;
}

template py::dict engine_result(const Trial<Connection>&);
template py::dict engine_result(const Trial<Coded>&);
template py::dict engine_result(const Trial<Ltp>&);

}  // namespace dstcc
