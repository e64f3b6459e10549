// Python face of trials that are stepped side by side (mptcp/stepper.hpp, coding/stepper.hpp): K episodes, their actions and
// values in numpy arrays that are allocated once.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "../../../../kernel-cc/law/dstcc_law.h"
#include "coding/stepper.hpp"
#include "core/pool.hpp"
#include "mptcp/stepper.hpp"
#include "python/convert.hpp"

namespace py = pybind11;

namespace dstcc {
namespace {

// What stands for "no action" in the arrays; kept in step with dstcc/engine/stepper.py and coded_stepper.py.
constexpr std::int32_t kSilentCode = -1, kFallBackCode = -2, kKeepLayers = -2;
constexpr int kConfigured = -1;
constexpr double kLongestGapS = 1e7;  // 64 layers of it are within a Time

// How much there is room for.
struct Room {
    std::size_t episodes, subflows, layers, flows;
};

// An array with so many entries an episode, which Python finds by its name.
template <class T>
class Rows {
public:
    Rows(py::dict& arrays, const char* name, std::size_t episodes, const std::vector<std::size_t>& shape, T begin) {
        std::vector<std::size_t> whole{episodes};
        whole.insert(whole.end(), shape.begin(), shape.end());
        for (const std::size_t length : shape) width_ *= length;
        py::array_t<T, py::array::c_style> array(whole);
        std::fill_n(array.mutable_data(), array.size(), begin);
        data_ = array.mutable_data();
        arrays[name] = std::move(array);
    }
    T* operator[](std::size_t k) const { return data_ + k * width_; }

private:
    T* data_;  // the dictionary holds it
    std::size_t width_ = 1;
};

// K episodes of a kind. `Actions` says of which, and holds the arrays that only these have:
//
//   steps(config), kRefusal          for which configurations, and what is said of others
//   check(episode)                   ValueError where one has no room
//   take(k)                          ValueError for actions that nobody can carry out
//   act(k, episode), observe(k, episode)
template <class Actions>
class Stepper {
public:
    using Episode = typename Actions::Episode;

    Stepper(std::size_t episodes, std::size_t subflows, std::size_t layers, std::size_t flows, int threads)
        : room_{episodes, subflows, layers, flows},
          episodes_(episodes),
          pool_(threads),
          active_(arrays_, "active", episodes, {}, 1),
          done_(arrays_, "done", episodes, {}, 0),
          subflow_values_(arrays_, "subflow_values", episodes, {subflows, Actions::kSubflow.size()}, 0),
          layer_values_(arrays_, "layer_values", episodes, {layers, Actions::kLayer.size()}, 0),
          episode_values_(arrays_, "episode_values", episodes, {Actions::kEpisode.size()}, 0),
          actions_(arrays_, room_) {}

    py::dict arrays() const { return arrays_; }

    void load(std::size_t k, const py::object& config) {
        check(k);
        const EngineConfig native = read_engine_config(config);
        require(Actions::steps(native), Actions::kRefusal);
        auto episode = std::make_unique<Episode>(native);
        require(episode->subflows() <= room_.subflows && episode->layers() <= room_.layers,
                "the configuration has more subflows or layers than the stepper");
        actions_.check(*episode);
        episodes_[k] = std::move(episode);
        observe(k);
    }

    void step() {
        for (std::size_t k = 0; k < episodes_.size(); ++k) {
            if (*active_[k] == 0) continue;
            require(episodes_[k] != nullptr, "an episode is stepped before it is loaded");
            actions_.take(k);
        }
        py::gil_scoped_release release;
        pool_.run(episodes_.size(), [&](std::size_t k) {
            if (*active_[k] == 0) return;
            actions_.act(k, *episodes_[k]);
            observe(k);
        });
    }

    py::dict result(std::size_t k) const {
        check(k);
        require(episodes_[k] != nullptr, "an episode has a result once it is loaded");
        return engine_result(episodes_[k]->trial());
    }

private:
    void check(std::size_t k) const {
        if (k >= episodes_.size()) throw py::index_error("no such episode");
    }
    void observe(std::size_t k) {
        Episode& episode = *episodes_[k];
        episode.observe(subflow_values_[k], room_.subflows, layer_values_[k], room_.layers, episode_values_[k]);
        actions_.observe(k, episode);
        *done_[k] = !episode.trial().over() ? 0 : episode.trial().finished() ? 1 : 2;
    }

    Room room_;
    std::vector<std::unique_ptr<Episode>> episodes_;
    Pool pool_;
    py::dict arrays_;
    Rows<std::uint8_t> active_, done_;
    Rows<double> subflow_values_, layer_values_, episode_values_;
    Actions actions_;
};

// Windows and layers of TCP, and windows of the background flows under the same control.
class TcpActions {
public:
    using Episode = dstcc::Episode;
    static constexpr const auto &kSubflow = kSubflowValues, &kLayer = kLayerValues, &kEpisode = kEpisodeValues;
    static constexpr const char* kRefusal = "a stepper of TCP steps no trials of the mode coded";
    static bool steps(const EngineConfig& config) { return !config.transport.coded; }

    TcpActions(py::dict& arrays, const Room& room)
        : room_(room),
          alpha_(arrays, "alpha_q16", room.episodes, {room.subflows}, kSilentCode),
          beta_(arrays, "beta", room.episodes, {room.subflows}, 0),
          layer_(arrays, "layer_subflow", room.episodes, {room.layers}, kKeepLayers),
          copied_(arrays, "copied", room.episodes, {room.layers}, 0),
          order_(arrays, "order", room.episodes, {2}, std::numeric_limits<double>::infinity()),
          flow_alpha_(arrays, "flow_alpha_q16", room.episodes, {room.flows}, kSilentCode),
          flow_beta_(arrays, "flow_beta", room.episodes, {room.flows}, 0),
          flow_subflow_values_(arrays, "flow_subflow_values", room.episodes, {room.flows, kSubflow.size()}, 0),
          flow_values_(arrays, "flow_values", room.episodes, {room.flows, kFlowValues.size()}, 0) {
        for (std::size_t k = 0; k < room.episodes; ++k) order_[k][1] = LayerAction().repair_share;
    }
    void check(const Episode& episode) const {
        require(room_.flows == 0 || episode.trial().flows().steered() <= room_.flows,
                "the configuration has more flows of the controller than the stepper");
    }
    void take(std::size_t) {}
    void act(std::size_t k, Episode& episode) const {
        const std::vector<WindowAction> windows = read(alpha_[k], beta_[k], room_.subflows);
        const std::vector<WindowAction> flows = read(flow_alpha_[k], flow_beta_[k], room_.flows);
        const std::int32_t* row = layer_[k];
        LayerAction layers;
        layers.subflow.assign(row, row + room_.layers);
        for (std::size_t m = 0; m < std::min<std::size_t>(room_.layers, 64); ++m)
            layers.copied |= copied_[k][m] != 0 ? std::uint64_t{1} << m : 0;
        const double gap_s = order_[k][0];
        layers.gap_ns = gap_s < kLongestGapS ? static_cast<Time>(gap_s * kNsPerS) : kNever;
        layers.repair_share = order_[k][1];
        episode.step(windows, row[0] == kKeepLayers ? nullptr : &layers, flows);
    }
    void observe(std::size_t k, const Episode& episode) const {
        episode.observe_flows(flow_subflow_values_[k], flow_values_[k], room_.flows);
    }

private:
    static std::vector<WindowAction> read(const std::int32_t* alpha, const std::int32_t* beta, std::size_t count) {
        std::vector<WindowAction> windows(count);
        for (std::size_t s = 0; s < count; ++s) {
            if (alpha[s] == kFallBackCode) windows[s].kind = WindowAction::Kind::kFallBack;
            if (alpha[s] >= 0) windows[s] = {WindowAction::Kind::kSet, static_cast<std::uint32_t>(alpha[s]), beta[s]};
        }
        return windows;
    }

    Room room_;
    Rows<std::int32_t> alpha_, beta_, layer_;
    Rows<std::uint8_t> copied_;
    Rows<double> order_;
    Rows<std::int32_t> flow_alpha_, flow_beta_;
    Rows<double> flow_subflow_values_, flow_values_;
};

// Repair, paces and layers left out of `coded`.
class CodedActions {
public:
    using Episode = CodedEpisode;
    static constexpr const auto &kSubflow = kCodedSubflowValues, &kLayer = kCodedLayerValues,
                                &kEpisode = kCodedEpisodeValues;
    static constexpr const char* kRefusal = "a coded stepper steps trials of the mode coded";
    static bool steps(const EngineConfig& config) { return config.transport.coded; }

    CodedActions(py::dict& arrays, const Room& room)
        : actions_(room.episodes, {std::vector<double>(room.layers), std::vector<std::uint8_t>(room.layers),
                                   std::vector<double>(room.subflows)}),
          repair_(arrays, "repair", room.episodes, {room.layers}, kConfigured),
          pace_(arrays, "pace", room.episodes, {room.subflows}, 1),
          left_out_(arrays, "left_out", room.episodes, {room.layers}, 0),
          place_(arrays, "place", room.episodes, {}, kConfigured) {}
    void check(const Episode&) const {}
    void take(std::size_t k) {
        CodedAction& action = actions_[k];
        std::copy_n(repair_[k], action.repair.size(), action.repair.begin());
        std::copy_n(left_out_[k], action.left_out.size(), action.left_out.begin());
        std::copy_n(pace_[k], action.pace.size(), action.pace.begin());
        action.place = *place_[k];
        if (const char* problem = wrong(action)) throw py::value_error(problem);
    }
    void act(std::size_t k, Episode& episode) const {
        episode.step(decides(actions_[k]) || episode.steered() ? &actions_[k] : nullptr);
    }
    void observe(std::size_t, const Episode&) const {}

private:
    static bool decides(const CodedAction& action) {
        return action.place != kConfigured ||
               std::any_of(action.repair.begin(), action.repair.end(), [](double x) { return x != kConfigured; }) ||
               std::any_of(action.left_out.begin(), action.left_out.end(), [](std::uint8_t x) { return x != 0; }) ||
               std::any_of(action.pace.begin(), action.pace.end(), [](double x) { return x != 1; });
    }

    std::vector<CodedAction> actions_;  // of this step
    Rows<double> repair_, pace_;
    Rows<std::uint8_t> left_out_;
    Rows<std::int32_t> place_;
};

template <class Names>
py::tuple to_tuple(const Names& names) {
    py::tuple out(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) out[i] = py::str(names[i]);
    return out;
}

template <class Actions>
void bind(py::module_& engine, const char* name, const std::string& prefix) {
    using Bound = Stepper<Actions>;
    py::class_<Bound>(engine, name, "Episodes stepped side by side; see dstcc.engine.")
        .def(py::init<std::size_t, std::size_t, std::size_t, std::size_t, int>(), py::arg("episodes"),
             py::arg("subflows"), py::arg("layers"), py::arg("flows"), py::arg("threads"))
        .def("load", &Bound::load, py::arg("episode"), py::arg("config"))
        .def("step", &Bound::step)
        .def("result", &Bound::result, py::arg("episode"))
        .def_property_readonly("arrays", &Bound::arrays);
    engine.attr((prefix + "SUBFLOW_VALUES").c_str()) = to_tuple(Actions::kSubflow);
    engine.attr((prefix + "LAYER_VALUES").c_str()) = to_tuple(Actions::kLayer);
    engine.attr((prefix + "EPISODE_VALUES").c_str()) = to_tuple(Actions::kEpisode);
}

}  // namespace

void bind_steppers(py::module_& engine) {
    bind<TcpActions>(engine, "Stepper", "");
    bind<CodedActions>(engine, "CodedStepper", "CODED_");
    engine.attr("FLOW_VALUES") = to_tuple(kFlowValues);
}

}  // namespace dstcc
