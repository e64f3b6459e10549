// Python face of paths/: a slot for the paths of K episodes at once, whose states are numpy arrays that Python owns.
#include "python/paths.hpp"

#include <pybind11/numpy.h>

#include <array>
#include <string_view>

#include "mptcp/stepper.hpp"
#include "paths/further_on.hpp"
#include "paths/measured_rate.hpp"
#include "paths/pacing_limit.hpp"
#include "paths/probing.hpp"

namespace py = pybind11;

namespace dstcc {
namespace {

using Table = py::array_t<double, py::array::c_style>;
using Flags = py::array_t<bool, py::array::c_style>;
template <class State>
using States = py::array_t<State, py::array::c_style>;  // (K, N), changed in place: noconvert()

constexpr std::size_t place_of(std::string_view name) {
    std::size_t place = 0;
    while (name != kSubflowValues[place]) ++place;
    return place;
}

constexpr std::size_t kEstablished = place_of("established"), kUp = place_of("link_up");
constexpr std::size_t kCwnd = place_of("cwnd_segments"), kSrtt = place_of("srtt_s"), kSent = place_of("sent_segments");
constexpr std::size_t kLost = place_of("lost_segments"), kDelivered = place_of("delivered_bytes");
constexpr std::size_t kQueue = place_of("queue_bytes"), kPacing = place_of("pacing_bps"),
                      kOneWay = place_of("one_way_s");

PathReport report_of(const double* row) {
    PathReport report;
    report.established = row[kEstablished] > 0;
    report.up = row[kUp] > 0;
    report.cwnd_segments = row[kCwnd];
    report.srtt_s = row[kSrtt];
    report.sent_segments = row[kSent];
    report.lost_segments = row[kLost];
    report.delivered_bytes = row[kDelivered];
    report.queue_bytes = row[kQueue];
    report.pacing_bps = row[kPacing];
    report.one_way_s = row[kOneWay];
    return report;
}

// K episodes' paths: what a stepper says of them, and that every array has as many rows and columns.
class Paths {
public:
    Paths(const Table& values, std::initializer_list<const py::array*> per_path,
          std::initializer_list<const Table*> per_episode)
        : data_(values.data()) {
        if (values.ndim() != 3 || values.shape(2) != static_cast<py::ssize_t>(kSubflowValues.size()))
            throw py::value_error("a stepper's values");
        episodes = values.shape(0), subflows = values.shape(1);
        for (const py::array* one : per_path)
            if (one->ndim() != 2 || one->shape(0) != episodes || one->shape(1) != subflows)
                throw py::value_error("a row for each episode, a column for each subflow");
        for (const Table* one : per_episode)
            if (one->size() != episodes) throw py::value_error("a row for each episode");
    }
    // Path n of episode k, of flat arrays (K, N).
    std::size_t at(py::ssize_t k, py::ssize_t n) const { return static_cast<std::size_t>(k * subflows + n); }
    const double* row(py::ssize_t k, py::ssize_t n) const { return data_ + at(k, n) * kSubflowValues.size(); }

    py::ssize_t episodes = 0, subflows = 0;

private:
    const double* data_;
};

// The rates that queues show, (K, N). `slot_s`, `packet`, `share` (of the source's rate, a path that begins has so much): (K, 1).
Table show_rates(States<MeasuredRate>& rates, States<Probe>& probes, const Table& values, const Table& slot_s,
                 const Table& packet, const Table& share) {
    const Paths paths(values, {&rates, &probes}, {&slot_s, &packet, &share});
    Table shown({paths.episodes, paths.subflows});
    MeasuredRate* rate = rates.mutable_data();
    Probe* probe = probes.mutable_data();
    for (py::ssize_t k = 0; k < paths.episodes; ++k)
        for (py::ssize_t n = 0; n < paths.subflows; ++n) {
            const std::size_t at = paths.at(k, n);
            shown.mutable_data()[at] = rate[at].show(report_of(paths.row(k, n)), probe[at], slot_s.data()[k],
                                                     packet.data()[k], share.data()[k]);
        }
    return shown;
}

// Take in a slot where a queue may stand further on; (K, N) limits, infinite where none is known.
Table update_further_on(States<FurtherOn>& states, const Table& values, const Table& slot_s, const Table& shown,
                        const Table& packet, const Table& overhead) {
    const Paths paths(values, {&states, &shown}, {&slot_s, &packet, &overhead});
    Table limits({paths.episodes, paths.subflows});
    FurtherOn* state = states.mutable_data();
    for (py::ssize_t k = 0; k < paths.episodes; ++k)
        for (py::ssize_t n = 0; n < paths.subflows; ++n) {
            const std::size_t at = paths.at(k, n);
            limits.mutable_data()[at] = state[at].update(report_of(paths.row(k, n)), slot_s.data()[k], shown.data()[at],
                                                         packet.data()[k], overhead.data()[k]);
        }
    return limits;
}

// Bring rates and limits up to date, and count losses. `source_rate`, `captured`, `trial_paths`, `packet`: (K, 1).
void update_rates(States<MeasuredRate>& rates, States<Probe>& probes, const Table& values, const Table& shown,
                  const Table& limits, const Table& source_rate, const Table& captured, const Table& trial_paths,
                  const Table& packet) {
    const Paths paths(values, {&rates, &probes, &shown, &limits}, {&source_rate, &captured, &trial_paths, &packet});
    const auto count = static_cast<std::size_t>(paths.subflows);
    if (count < 1 || count > kMostPaths) throw py::value_error("1 to 8 subflows");
    MeasuredRate* rate = rates.mutable_data();
    Probe* probe = probes.mutable_data();
    std::array<double, kMostPaths> srtt_s{};
    for (py::ssize_t k = 0; k < paths.episodes; ++k) {
        const std::size_t first = paths.at(k, 0);
        for (std::size_t n = 0; n < count; ++n) {
            const PathReport report = report_of(paths.row(k, static_cast<py::ssize_t>(n)));
            srtt_s[n] = report.srtt_s;
            rate[first + n].count_losses(report, packet.data()[k]);
        }
        limit_rates(rate + first, probe + first, shown.data() + first, limits.data() + first, srtt_s.data(), count,
                    {source_rate.data()[k], captured.data()[k]}, trial_paths.data()[k]);
    }
}

// What actions are relative to: windows, queues and limits (K, N), then the lossiest paths and the longest round trips (K,).
py::tuple path_units(const States<MeasuredRate>& rates, const States<Probe>& probes, const Table& values,
                     const Table& slot_s, const Table& packet) {
    const Paths paths(values, {&rates, &probes}, {&slot_s, &packet});
    Table window({paths.episodes, paths.subflows}), queue({paths.episodes, paths.subflows});
    Table limit({paths.episodes, paths.subflows}), round_trip_s(paths.episodes);
    py::array_t<std::int64_t> worst(paths.episodes);
    for (py::ssize_t k = 0; k < paths.episodes; ++k) {
        double longest = 0;
        for (py::ssize_t n = 0; n < paths.subflows; ++n) {
            const std::size_t at = paths.at(k, n);
            const MeasuredRate& path = rates.data()[at];
            const PathReport report = report_of(paths.row(k, n));
            const double probed = path.rate * probes.data()[at].gain, bytes = packet.data()[k];
            window.mutable_data()[at] = probed * report.srtt_s / bytes;
            queue.mutable_data()[at] = path.queue / std::max(path.rate * slot_s.data()[k], bytes);
            limit.mutable_data()[at] = path.limit / std::max(probed, kLeast);
            longest = std::max(longest, report.one_way_s);
        }
        round_trip_s.mutable_data()[k] = 2 * longest;
        worst.mutable_data()[k] = lossiest(rates.data() + paths.at(k, 0), static_cast<std::size_t>(paths.subflows));
    }
    return py::make_tuple(window, queue, limit, worst, round_trip_s);
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
            slot.srtt_s = value(k, n, kSrtt);
            slot.up = value(k, n, kUp) > 0;
            slot.delivered = value(k, n, kDelivered) * overheads(k, 0);
            slot.lost = value(k, n, kLost);
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
    PYBIND11_NUMPY_DTYPE(MeasuredRate, rate, limit, used, queue, lost, judged, initial, deepest, proven, known,
                         has_drained);
    PYBIND11_NUMPY_DTYPE(Probe, deep, probed, gain, left);
    PYBIND11_NUMPY_DTYPE(FurtherOn, far_s, carried, slot, sent, wait);
    engine.def("show_rates", &show_rates, py::arg("rates").noconvert(), py::arg("probes").noconvert(),
               py::arg("values"), py::arg("slot_s"), py::arg("packet"), py::arg("share"));
    engine.def("update_further_on", &update_further_on, py::arg("states").noconvert(), py::arg("values"),
               py::arg("slot_s"), py::arg("shown"), py::arg("packet"), py::arg("overhead"));
    engine.def("update_rates", &update_rates, py::arg("rates").noconvert(), py::arg("probes").noconvert(),
               py::arg("values"), py::arg("shown"), py::arg("limits"), py::arg("source_rate"), py::arg("captured"),
               py::arg("trial_paths"), py::arg("packet"));
    engine.def("path_units", &path_units, py::arg("rates").noconvert(), py::arg("probes").noconvert(),
               py::arg("values"), py::arg("slot_s"), py::arg("packet"));
    engine.attr("PATH_STATES") =
        py::make_tuple(py::dtype::of<MeasuredRate>(), py::dtype::of<Probe>(), py::dtype::of<FurtherOn>());
    engine.attr("PACING_STEPS") = py::make_tuple(kMinStep, kMaxStep);
    engine.attr("PROBING") = py::make_tuple(kShareGain, kProbedSlots, kDeep, kStandingGain);
    engine.attr("RATE_GAINS") = py::make_tuple(kUnknownGain, kSourceGain);
    engine.attr("FURTHER_ON") = py::make_tuple(kStands, kTargetWait, kLeastShare, kGrowth);
}

}  // namespace dstcc
