// The rules of timeliness and order on instances given as lists, for tests: kernel-cc/dispatch/dstcc_dispatch.hpp.
#include <pybind11/stl.h>

#include <optional>

#include "../../../kernel-cc/dispatch/dstcc_dispatch.hpp"
#include "bind.hpp"

namespace py = pybind11;

namespace dstcc {
namespace {

using namespace dstcc_dispatch;

using LayerRow = std::tuple<Time, Time, std::int64_t, std::int64_t, bool>;  // release, deadline, bytes, layer, begun
using PathRow = std::tuple<Time, Time, double, std::int64_t, Time, Time>;   // the fields of Forecast
using Answer = std::optional<std::pair<Object, std::uint64_t>>;             // the layer and its paths

Layer layer_of(const LayerRow& row) {
    const auto& [release, deadline, bytes, layer, begun] = row;
    return {release, deadline, bytes, layer, begun};
}

Forecast forecast_of(const PathRow& row) {
    const auto& [light, window, ns_per_byte, room, one_way, repair] = row;
    return {light, window, ns_per_byte, room, one_way, repair};
}

// A sender that waits for one decision.
class Instance {
public:
    using Set = std::uint64_t;
    Instance(const std::vector<LayerRow>& layers, std::vector<bool> blocked, const std::vector<PathRow>& paths,
             const std::vector<std::vector<Object>>& levels, double share, Time gap, std::vector<std::int32_t> table,
             Set usable, bool strict)
        : blocked_(std::move(blocked)),
          share_(share),
          gap_(gap),
          table_(std::move(table)),
          usable_(usable),
          strict_(strict) {
        for (const LayerRow& row : layers) layers_.push_back(layer_of(row));
        for (const PathRow& row : paths) paths_.push_back(forecast_of(row));
        for (const auto& objects : levels) {
            levels_.emplace_back();
            for (const Object object : objects) levels_.back().push_back(object);
        }
    }
    Layer layer(Object o) const { return layers_.at(o); }
    bool blocked(Object o) const { return blocked_.at(o); }
    Time light(std::size_t s) const { return paths_.at(s).light_ns; }
    Forecast forecast(std::size_t s) const { return paths_.at(s); }
    double repair_share() const { return share_; }
    const std::vector<WaitingLevel>& levels() const { return levels_; }
    Time gap_ns() const { return gap_; }
    std::int32_t entry(std::int64_t layer) const {
        const auto m = static_cast<std::size_t>(layer);
        return m < table_.size() ? table_[m] : kAutomatic;
    }
    Set usable() const { return usable_; }
    std::size_t paths() const { return paths_.size(); }
    bool strict() const { return strict_; }

    bool take(std::size_t level, Object object) { return levels_.at(level).take(object); }
    Answer in_time(Set ready, const std::vector<std::int64_t>& least_bytes) const {
        Object object = 0;
        if (!next_in_time(*this, ready, object, [](const WaitingLevel&) {}, least_bytes)) return std::nullopt;
        return std::pair(object, ready);
    }
    Answer in_turn(Set ready) const {
        Object object = 0;
        if (!next_in_turn(*this, ready, object)) return std::nullopt;
        return std::pair(object, ready);
    }

private:
    std::vector<Layer> layers_;
    std::vector<bool> blocked_;
    std::vector<Forecast> paths_;
    std::vector<WaitingLevel> levels_;
    double share_;
    Time gap_;
    std::vector<std::int32_t> table_;
    Set usable_;
    bool strict_;
};

}  // namespace

void bind_dispatch(py::module_& engine) {
    py::module_ m = engine.def_submodule("dispatch", "kernel-cc/dispatch/dstcc_dispatch.hpp.");
    py::enum_<Slack>(m, "Slack")
        .value("LIGHT", Slack::kLight)
        .value("WINDOW", Slack::kWindow)
        .value("REPAIR", Slack::kRepair)
        .value("ROUND_TRIP", Slack::kRoundTrip);
    m.def("due", [](const LayerRow& layer, const PathRow& path, Slack slack, double share) {
        return due(layer_of(layer), forecast_of(path), slack, share);
    });
    m.def("late", [](const LayerRow& layer, const PathRow& path, Slack slack, double share) {
        return late(layer_of(layer), forecast_of(path), slack, share);
    });
    m.def("lost_cause", [](const LayerRow& layer, bool hopeless, Time light) {
        return lost_cause(layer_of(layer), hopeless, light);
    });
    m.def("turn", [](const LayerRow& layer, Time gap) { return turn(layer_of(layer), gap); });
    m.def("allowed", &allowed<std::uint64_t>, py::arg("entry"), py::arg("ready"), py::arg("usable"), py::arg("paths"),
          py::arg("strict"));
    m.attr("LOOK_AHEAD") = kLookAhead;
    py::class_<Instance>(m, "Instance")
        .def(py::init<const std::vector<LayerRow>&, std::vector<bool>, const std::vector<PathRow>&,
                      const std::vector<std::vector<Object>>&, double, Time, std::vector<std::int32_t>, std::uint64_t,
                      bool>(),
             py::arg("layers"), py::arg("blocked"), py::arg("paths"), py::arg("levels"), py::arg("share") = 0.5,
             py::arg("gap_ns") = kNever, py::arg("table") = std::vector<std::int32_t>{},
             py::arg("usable") = ~std::uint64_t{0}, py::arg("strict") = false)
        .def("take", &Instance::take, py::arg("level"), py::arg("object"))
        .def("next_in_time", &Instance::in_time, py::arg("ready"), py::arg("least_bytes") = std::vector<std::int64_t>{})
        .def("next_in_turn", &Instance::in_turn, py::arg("ready"));
}

}  // namespace dstcc
