// Python face of paths/pacing_limit.hpp: one limit, and a slot for those of K episodes at once.
#include "python/paths.hpp"

#include <pybind11/numpy.h>

#include <string_view>

#include "mptcp/stepper.hpp"
#include "paths/pacing_limit.hpp"

namespace py = pybind11;

namespace dstcc {
namespace {

using Table = py::array_t<double, py::array::c_style>;
using Flags = py::array_t<bool, py::array::c_style>;

constexpr std::size_t place_of(std::string_view name) {
    std::size_t place = 0;
    while (name != kSubflowValues[place]) ++place;
    return place;
}

// Give each path its slot; (K, N) limits, infinite where there is no path. `paths`: a list of limits for each of K episodes.
// `values`: a stepper's, (K, N, values). `slot_s` and `overhead`: (K, 1). The others: (K, N), as PathSlot has them.
Table update_pacing_limits(const py::list& paths, const Table& values, const Table& slot_s, const Table& overhead,
                           const Table& allowed, const Flags& queue_seen, const Table& shown, const Flags& probed) {
    const auto episodes = static_cast<py::ssize_t>(paths.size()), subflows = shown.shape(1);
    const auto value = values.unchecked<3>();
    const auto slots = slot_s.unchecked<2>(), overheads = overhead.unchecked<2>();
    const auto limit = allowed.unchecked<2>(), rate = shown.unchecked<2>();
    const auto seen = queue_seen.unchecked<2>(), probe = probed.unchecked<2>();
    for (const py::ssize_t rows : {value.shape(0), slots.shape(0), overheads.shape(0), limit.shape(0), rate.shape(0),
                                   seen.shape(0), probe.shape(0)})
        if (rows != episodes) throw py::value_error("a row for each episode");
    for (const py::ssize_t columns : {value.shape(1), limit.shape(1), seen.shape(1), probe.shape(1)})
        if (columns != subflows) throw py::value_error("a column for each subflow");
    if (value.shape(2) != static_cast<py::ssize_t>(kSubflowValues.size())) throw py::value_error("a stepper's values");
    Table limits({episodes, subflows});
    auto out = limits.mutable_unchecked<2>();
    for (py::ssize_t k = 0; k < episodes; ++k) {
        const py::list episode = paths[static_cast<std::size_t>(k)];
        const auto count = static_cast<py::ssize_t>(episode.size());
        if (count > subflows) throw py::value_error("more paths than subflows");
        for (py::ssize_t n = 0; n < subflows; ++n) {
            out(k, n) = std::numeric_limits<double>::infinity();
            if (n >= count) continue;
            auto& path = episode[static_cast<std::size_t>(n)].cast<PacingLimit&>();
            PathSlot slot;
            slot.slot_s = slots(k, 0);
            slot.srtt_s = value(k, n, place_of("srtt_s"));
            slot.up = value(k, n, place_of("link_up")) > 0;
            slot.delivered = value(k, n, place_of("delivered_bytes")) * overheads(k, 0);
            slot.lost = value(k, n, place_of("lost_segments"));
            slot.limit = limit(k, n);
            slot.queue_seen = seen(k, n);
            slot.rate = rate(k, n);
            slot.probed = probe(k, n);
            path.update(slot);
            out(k, n) = path.limit();
        }
    }
    return limits;
}

}  // namespace

void bind_paths(py::module_& engine) {
    py::class_<PacingLimit>(engine, "PacingLimit", "The limit of one path; see dstcc.learn.paths.pacing_limit.")
        .def(py::init<double>(), py::arg("packet_bytes"))
        .def(
            "take",
            [](PacingLimit& path, double slot_s, double srtt_s, bool up, double delivered, double lost, double limit,
               bool queue_seen, double rate,
               bool probed) { path.update({slot_s, srtt_s, up, delivered, lost, limit, queue_seen, rate, probed}); },
            py::arg("slot_s"), py::arg("srtt_s"), py::arg("up"), py::arg("delivered"), py::arg("lost"),
            py::arg("limit"), py::arg("queue_seen"), py::arg("rate"), py::arg("probed"))
        .def_property_readonly("limit", &PacingLimit::limit)
        .def_property("base_loss", &PacingLimit::base_loss, &PacingLimit::set_base_loss)
        .def_property_readonly("phase_number", [](const PacingLimit& path) { return static_cast<int>(path.phase()); });
    engine.def("update_pacing_limits", &update_pacing_limits, py::arg("paths"), py::arg("values"), py::arg("slot_s"),
               py::arg("overhead"), py::arg("allowed"), py::arg("queue_seen"), py::arg("shown"), py::arg("probed"));
    engine.attr("PACING_STEPS") = py::make_tuple(kMinStep, kMaxStep);
}

}  // namespace dstcc
