// What happened, as dictionaries of numpy arrays.
#include <pybind11/stl.h>

#include "coding/coded.hpp"
#include "ltp/ltp.hpp"
#include "mptcp/simulation.hpp"
#include "python/convert.hpp"

namespace py = pybind11;

namespace dstcc {
namespace {

// A column of what became of each layer, written at once: a month of video has millions of them.
template <class Engine, class Field>
py::array_t<std::int64_t> outcome_column(const Engine& engine, Field&& field) {
    const std::size_t layers = engine.config().objects.size();
    py::array_t<std::int64_t> out(static_cast<py::ssize_t>(layers));
    auto view = out.template mutable_unchecked<1>();
    for (std::size_t i = 0; i < layers; ++i) view(static_cast<py::ssize_t>(i)) = field(engine.object(i));
    return out;
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
py::object trace_columns(const Coded&) { return py::none(); }

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
    out["inflight_segments"] = to_array(s.inflight);
    out["pacing_bps"] = to_array(s.pacing_bps);
    return out;
}

py::object step_columns(const Ltp&) { return py::none(); }
py::object step_columns(const Coded&) { return py::none(); }

// Background flows are TCP's; a trial of ltp has none, nor has one of coded.
py::list flow_results(const Ltp&) { return py::list(); }
py::list flow_results(const Coded&) { return py::list(); }

// What became of blocks, and of each layer by its block; nothing where nothing is coded.
py::object coding_columns(const Simulation&) { return py::none(); }

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

template <class Engine>
py::object coding_columns(const Engine& engine) {
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
    for (std::size_t object = 0; object < engine.config().objects.size(); ++object) {
        out.block.push_back(engine.block_of(object));
        out.recovered.push_back(engine.recovered(object));
    }
    return out.document();
}

template <class Engine>
py::dict document(const Engine& simulation) {
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
    out["coding"] = coding_columns(simulation);
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

}  // namespace

py::dict engine_result(const Simulation& simulation) { return document(simulation); }
py::dict engine_result(const Ltp& transfer) { return document(transfer); }
py::dict engine_result(const Coded& trial) { return document(trial); }

}  // namespace dstcc
