// Python face of mptcp/stepper.hpp: K episodes, their actions and values in numpy arrays that are allocated once.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "../../../../kernel-cc/law/dstcc_law.h"
#include "core/pool.hpp"
#include "mptcp/stepper.hpp"
#include "python/convert.hpp"

namespace py = pybind11;

namespace dstcc {
namespace {

// What stands for "no action" in the arrays; kept in step with dstcc/engine/stepper.py.
constexpr std::int32_t kSilentCode = -1, kFallBackCode = -2, kKeepLayers = -2;
constexpr double kLongestGapS = 1e7;  // 64 layers of it are within a Time

template <class T>
using Array = py::array_t<T, py::array::c_style>;

class Stepper {
public:
    Stepper(std::size_t episodes, std::size_t subflows, std::size_t layers, int threads, std::size_t flows)
        : subflows_(subflows),
          layers_(layers),
          flows_(flows),
          episodes_(episodes),
          pool_(threads),
          flow_alpha_({episodes, flows}),
          flow_beta_({episodes, flows}),
          flow_subflow_values_({episodes, flows, kSubflowValues.size()}),
          flow_values_({episodes, flows, kFlowValues.size()}),
          alpha_({episodes, subflows}),
          beta_({episodes, subflows}),
          layer_({episodes, layers}),
          copied_({episodes, layers}),
          active_(static_cast<py::ssize_t>(episodes)),
          done_(static_cast<py::ssize_t>(episodes)),
          order_({episodes, std::size_t{2}}),
          subflow_values_({episodes, subflows, kSubflowValues.size()}),
          layer_values_({episodes, layers, kLayerValues.size()}),
          episode_values_({episodes, kEpisodeValues.size()}) {
        std::fill_n(alpha_.mutable_data(), alpha_.size(), kSilentCode);
        std::fill_n(beta_.mutable_data(), beta_.size(), 0);
        std::fill_n(flow_alpha_.mutable_data(), flow_alpha_.size(), kSilentCode);
        std::fill_n(flow_beta_.mutable_data(), flow_beta_.size(), 0);
        std::fill_n(layer_.mutable_data(), layer_.size(), kKeepLayers);
        std::fill_n(copied_.mutable_data(), copied_.size(), std::uint8_t{0});
        for (std::size_t k = 0; k < episodes; ++k) {
            order_.mutable_data()[2 * k] = std::numeric_limits<double>::infinity();
            order_.mutable_data()[2 * k + 1] = LayerAction().repair_share;
        }
        std::fill_n(active_.mutable_data(), active_.size(), std::uint8_t{1});
        std::fill_n(done_.mutable_data(), done_.size(), std::uint8_t{0});
        for (Array<double>* out :
             {&subflow_values_, &layer_values_, &episode_values_, &flow_subflow_values_, &flow_values_})
            std::fill_n(out->mutable_data(), out->size(), 0.0);
    }

    void load(std::size_t k, const py::object& config) {
        check(k);
        const EngineConfig native = read_engine_config(config);
        auto episode = std::make_unique<Episode>(native);
        if (episode->trial().ends().sending().subflows() > subflows_ || episode->layers() > layers_)
            throw py::value_error("the configuration has more subflows or layers than the stepper");
        if (flows_ > 0 && episode->trial().flows().steered() > flows_)
            throw py::value_error("the configuration has more flows of the controller than the stepper");
        episodes_[k] = std::move(episode);
        observe(k, data());
    }

    void step() {
        const Data arrays = data();
        for (std::size_t k = 0; k < episodes_.size(); ++k)
            if (arrays.active[k] != 0 && !episodes_[k])
                throw py::value_error("an episode is stepped before it is loaded");
        py::gil_scoped_release release;
        pool_.run(episodes_.size(), [&](std::size_t k) {
            if (arrays.active[k] == 0) return;
            act(k, arrays);
            observe(k, arrays);
        });
    }

    py::dict result(std::size_t k) const {
        check(k);
        if (!episodes_[k]) throw py::value_error("an episode has a result once it is loaded");
        return engine_result(episodes_[k]->trial());
    }

    Array<std::int32_t> alpha() const { return alpha_; }
    Array<std::int32_t> beta() const { return beta_; }
    Array<std::int32_t> layer() const { return layer_; }
    Array<std::uint8_t> copied() const { return copied_; }
    Array<double> order() const { return order_; }
    Array<std::uint8_t> active() const { return active_; }
    Array<std::uint8_t> done() const { return done_; }
    Array<double> subflow_values() const { return subflow_values_; }
    Array<double> layer_values() const { return layer_values_; }
    Array<double> episode_values() const { return episode_values_; }
    Array<std::int32_t> flow_alpha() const { return flow_alpha_; }
    Array<std::int32_t> flow_beta() const { return flow_beta_; }
    Array<double> flow_subflow_values() const { return flow_subflow_values_; }
    Array<double> flow_values() const { return flow_values_; }

private:
    struct Data {
        const std::int32_t *alpha, *beta, *layer, *flow_alpha, *flow_beta;
        const std::uint8_t *copied, *active;
        const double* order;
        std::uint8_t* done;
        double *subflow, *layer_values, *episode, *flow_subflow, *flow;
    };
    Data data() {
        return {alpha_.data(),
                beta_.data(),
                layer_.data(),
                flow_alpha_.data(),
                flow_beta_.data(),
                copied_.data(),
                active_.data(),
                order_.data(),
                done_.mutable_data(),
                subflow_values_.mutable_data(),
                layer_values_.mutable_data(),
                episode_values_.mutable_data(),
                flow_subflow_values_.mutable_data(),
                flow_values_.mutable_data()};
    }
    void check(std::size_t k) const {
        if (k >= episodes_.size()) throw py::index_error("no such episode");
    }
    static std::vector<WindowAction> read(const std::int32_t* alpha, const std::int32_t* beta, std::size_t count) {
        std::vector<WindowAction> windows(count);
        for (std::size_t s = 0; s < count; ++s) {
            if (alpha[s] == kFallBackCode) windows[s].kind = WindowAction::Kind::kFallBack;
            if (alpha[s] >= 0) windows[s] = {WindowAction::Kind::kSet, static_cast<std::uint32_t>(alpha[s]), beta[s]};
        }
        return windows;
    }
    void act(std::size_t k, const Data& arrays) {
        const std::vector<WindowAction> windows =
            read(arrays.alpha + k * subflows_, arrays.beta + k * subflows_, subflows_);
        const std::vector<WindowAction> flows =
            read(arrays.flow_alpha + k * flows_, arrays.flow_beta + k * flows_, flows_);
        const std::int32_t* row = arrays.layer + k * layers_;
        LayerAction layers;
        layers.subflow.assign(row, row + layers_);
        for (std::size_t m = 0; m < std::min<std::size_t>(layers_, 64); ++m)
            layers.copied |= arrays.copied[k * layers_ + m] != 0 ? std::uint64_t{1} << m : 0;
        const double gap_s = arrays.order[2 * k];
        layers.gap_ns = gap_s < kLongestGapS ? static_cast<Time>(gap_s * kNsPerS) : kNever;
        layers.repair_share = arrays.order[2 * k + 1];
        episodes_[k]->step(windows, layers_ > 0 && row[0] == kKeepLayers ? nullptr : &layers, flows);
    }
    void observe(std::size_t k, const Data& arrays) {
        Episode& episode = *episodes_[k];
        episode.observe(arrays.subflow + k * subflows_ * kSubflowValues.size(), subflows_,
                        arrays.layer_values + k * layers_ * kLayerValues.size(), layers_,
                        arrays.episode + k * kEpisodeValues.size());
        episode.observe_flows(arrays.flow_subflow + k * flows_ * kSubflowValues.size(),
                              arrays.flow + k * flows_ * kFlowValues.size(), flows_);
        arrays.done[k] = !episode.trial().over() ? 0 : episode.trial().finished() ? 1 : 2;
    }

    std::size_t subflows_, layers_, flows_;
    std::vector<std::unique_ptr<Episode>> episodes_;
    Pool pool_;
    Array<std::int32_t> flow_alpha_, flow_beta_;
    Array<double> flow_subflow_values_, flow_values_;
    Array<std::int32_t> alpha_, beta_, layer_;
    Array<std::uint8_t> copied_, active_, done_;
    Array<double> order_, subflow_values_, layer_values_, episode_values_;
};

template <class Names>
py::tuple to_tuple(const Names& names) {
    py::tuple out(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) out[i] = py::str(names[i]);
    return out;
}

}  // namespace

void bind_stepper(py::module_& engine) {
    py::class_<Stepper>(engine, "Stepper", "Episodes stepped side by side; see dstcc.engine.Stepper.")
        .def(py::init<std::size_t, std::size_t, std::size_t, int, std::size_t>(), py::arg("episodes"),
             py::arg("subflows"), py::arg("layers"), py::arg("threads"), py::arg("flows"))
        .def("load", &Stepper::load, py::arg("episode"), py::arg("config"))
        .def("step", &Stepper::step)
        .def("result", &Stepper::result, py::arg("episode"))
        .def_property_readonly("alpha_q16", &Stepper::alpha)
        .def_property_readonly("beta", &Stepper::beta)
        .def_property_readonly("layer_subflow", &Stepper::layer)
        .def_property_readonly("copied", &Stepper::copied)
        .def_property_readonly("order", &Stepper::order)
        .def_property_readonly("active", &Stepper::active)
        .def_property_readonly("done", &Stepper::done)
        .def_property_readonly("subflow_values", &Stepper::subflow_values)
        .def_property_readonly("layer_values", &Stepper::layer_values)
        .def_property_readonly("episode_values", &Stepper::episode_values)
        .def_property_readonly("flow_alpha_q16", &Stepper::flow_alpha)
        .def_property_readonly("flow_beta", &Stepper::flow_beta)
        .def_property_readonly("flow_subflow_values", &Stepper::flow_subflow_values)
        .def_property_readonly("flow_values", &Stepper::flow_values);
    engine.attr("SUBFLOW_VALUES") = to_tuple(kSubflowValues);
    engine.attr("LAYER_VALUES") = to_tuple(kLayerValues);
    engine.attr("EPISODE_VALUES") = to_tuple(kEpisodeValues);
    engine.attr("FLOW_VALUES") = to_tuple(kFlowValues);
}

}  // namespace dstcc
