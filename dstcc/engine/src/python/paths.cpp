// Python face of paths/: a slot for the paths of K episodes at once, whose states are numpy arrays that Python owns.
#include "python/paths.hpp"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "mptcp/stepper.hpp"
#include "paths/further_on.hpp"
#include "paths/measured_rate.hpp"
#include "paths/pacing_limit.hpp"
#include "paths/probing.hpp"

namespace py = pybind11;

namespace dstcc {
namespace {

using Table = py::array_t<double, py::array::c_style>;
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

constexpr std::size_t kTime = 0, kSlot = 1;
static_assert(std::string_view(kEpisodeValues[kTime]) == "time_s" &&
              std::string_view(kEpisodeValues[kSlot]) == "slot_s");

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

// A source of live video over time; see dstcc/learn/paths/captured.py.
class Captured {
public:
    Captured(Table times_s, Table payload_bytes) : times_(std::move(times_s)), bytes_(std::move(payload_bytes)) {
        if (times_.ndim() != 1 || bytes_.ndim() != 1 || times_.size() != bytes_.size())
            throw py::value_error("as many capture times as sums of bytes");
    }
    // Payload bytes captured, and payload bytes per second; 0 before the second capture time.
    std::pair<double, double> by(double time_s) const {
        const double* first = times_.data();
        const auto count = std::upper_bound(first, first + times_.size(), time_s) - first;
        if (count == 0) return {0.0, 0.0};
        const double captured = bytes_.data()[count - 1], span_s = first[count - 1] - first[0];
        const auto chunks = static_cast<double>(count);
        return {captured, count > 1 ? captured * (chunks - 1) / (span_s * chunks) : 0.0};
    }

private:
    Table times_, bytes_;
};

std::pair<double, double> captured_by(const py::handle& source, double time_s) {
    if (py::isinstance<Captured>(source)) return source.cast<const Captured&>().by(time_s);
    return source.attr("by")(time_s).cast<std::pair<double, double>>();
}

// K episodes' paths: what a stepper says of them, and that every array has as many rows and columns.
class Paths {
public:
    Paths(const Table& values, std::initializer_list<const py::array*> per_path,
          std::initializer_list<const Table*> per_episode)
        : data_(values.data()) {
        if (values.ndim() != 3 || values.shape(2) != static_cast<py::ssize_t>(kSubflowValues.size()))
            throw py::value_error("a stepper's values");
        episodes = static_cast<std::size_t>(values.shape(0)), subflows = static_cast<std::size_t>(values.shape(1));
        if (subflows > kMostPaths) throw py::value_error("more subflows than a policy knows");
        for (const py::array* one : per_path)
            if (one->ndim() != 2 || one->shape(0) != values.shape(0) || one->shape(1) != values.shape(1))
                throw py::value_error("a row for each episode, a column for each subflow");
        for (const Table* one : per_episode)
            if (one->size() != values.shape(0)) throw py::value_error("a row for each episode");
    }
    // Path n of episode k, of flat arrays (K, N).
    std::size_t at(std::size_t k, std::size_t n) const { return k * subflows + n; }
    PathReport report(std::size_t k, std::size_t n) const {
        return report_of(data_ + at(k, n) * kSubflowValues.size());
    }

    std::size_t episodes = 0, subflows = 0;

private:
    const double* data_;
};

// Let K episodes' paths take in a slot. `sources` and `limits` (of each episode's paths): a list entry an episode. `rates`,
// `probes`, `further_on` (none: such queues are not looked for): (K, N), and `source_rate`, (K, 1), are brought up to date.
// `packet`, `overhead` (bytes on the wire per byte of payload) and `trial_paths`: (K, 1). Values are a stepper's.
void update_paths(const py::list& sources, const py::list& limits, States<MeasuredRate>& rates, States<Probe>& probes,
                  std::optional<States<FurtherOn>>& further_on, Table& source_rate, const Table& packet,
                  const Table& overhead, const Table& trial_paths, const Table& values, const Table& episode_values) {
    const Paths paths(values, {&rates, &probes}, {&source_rate, &packet, &overhead, &trial_paths});
    const std::size_t count = paths.subflows;
    if (sources.size() != paths.episodes || limits.size() != paths.episodes ||
        (further_on && further_on->size() != rates.size()) || episode_values.ndim() != 2 ||
        episode_values.shape(0) != values.shape(0) ||
        episode_values.shape(1) != static_cast<py::ssize_t>(kEpisodeValues.size()))
        throw py::value_error("a row for each episode");
    MeasuredRate* rate = rates.mutable_data();
    Probe* probe = probes.mutable_data();
    FurtherOn* further = further_on ? further_on->mutable_data() : nullptr;
    double* of_source = source_rate.mutable_data();
    std::array<double, kMostPaths> shown{}, limit{}, srtt_s{};
    for (std::size_t k = 0; k < paths.episodes; ++k) {
        const double* own = episode_values.data() + k * kEpisodeValues.size();
        const double bytes = packet.data()[k], on_the_wire = overhead.data()[k], slot_s = own[kSlot];
        const auto [captured, per_s] = captured_by(sources[k], own[kTime]);
        of_source[k] = per_s * on_the_wire;
        const py::list pacing = limits[k];
        if (pacing.size() > count) throw py::value_error("more paths than subflows");
        for (std::size_t n = 0; n < count; ++n) {
            const std::size_t at = paths.at(k, n);
            const PathReport report = paths.report(k, n);
            const double share = of_source[k] / trial_paths.data()[k], allowed = rate[at].limit;
            srtt_s[n] = report.srtt_s;
            shown[n] = rate[at].show(report, probe[at], slot_s, bytes, share);
            rate[at].count_losses(report, bytes);
            limit[n] = std::numeric_limits<double>::infinity();
            if (n < pacing.size()) {
                auto& path = pacing[n].cast<PacingLimit&>();
                path.update({slot_s, report.srtt_s, report.up, report.delivered_bytes * on_the_wire,
                             report.lost_segments, allowed, rate[at].known, shown[n], probe[at].probed});
                limit[n] = path.limit();
            }
            if (further != nullptr)
                limit[n] = std::min(limit[n], further[at].update(report, slot_s, shown[n], bytes, on_the_wire));
        }
        const std::size_t first = paths.at(k, 0);
        limit_rates(rate + first, probe + first, shown.data(), limit.data(), srtt_s.data(), count,
                    {of_source[k], captured * on_the_wire}, trial_paths.data()[k]);
    }
}

// Take in a slot where a queue may stand further on; (K, N) limits, infinite where none is known.
Table update_further_on(States<FurtherOn>& states, const Table& values, const Table& slot_s, const Table& shown,
                        const Table& packet, const Table& overhead) {
    const Paths paths(values, {&states, &shown}, {&slot_s, &packet, &overhead});
    Table limits({paths.episodes, paths.subflows});
    for (std::size_t k = 0; k < paths.episodes; ++k)
        for (std::size_t n = 0; n < paths.subflows; ++n) {
            const std::size_t at = paths.at(k, n);
            limits.mutable_data()[at] = states.mutable_data()[at].update(
                paths.report(k, n), slot_s.data()[k], shown.data()[at], packet.data()[k], overhead.data()[k]);
        }
    return limits;
}

// What actions are relative to: windows, queues and limits (K, N), then the lossiest paths and the longest round trips (K,).
py::tuple path_units(const States<MeasuredRate>& rates, const States<Probe>& probes, const Table& values,
                     const Table& slot_s, const Table& packet) {
    const Paths paths(values, {&rates, &probes}, {&slot_s, &packet});
    Table window({paths.episodes, paths.subflows}), queue({paths.episodes, paths.subflows});
    Table limit({paths.episodes, paths.subflows}), round_trip_s(values.shape(0));
    py::array_t<std::int64_t> worst(values.shape(0));
    for (std::size_t k = 0; k < paths.episodes; ++k) {
        double longest = 0;
        for (std::size_t n = 0; n < paths.subflows; ++n) {
            const std::size_t at = paths.at(k, n);
            const MeasuredRate& path = rates.data()[at];
            const PathReport report = paths.report(k, n);
            const double probed = path.rate * probes.data()[at].gain, bytes = packet.data()[k];
            window.mutable_data()[at] = probed * report.srtt_s / bytes;
            queue.mutable_data()[at] = path.queue / std::max(path.rate * slot_s.data()[k], bytes);
            limit.mutable_data()[at] = path.limit / std::max(probed, kLeast);
            longest = std::max(longest, report.one_way_s);
        }
        round_trip_s.mutable_data()[k] = 2 * longest;
        worst.mutable_data()[k] = lossiest(rates.data() + paths.at(k, 0), paths.subflows);
    }
    return py::make_tuple(window, queue, limit, worst, round_trip_s);
}

}  // namespace

void bind_paths(py::module_& engine) {
    py::class_<PacingLimit>(engine, "PacingLimit", "The limit of one path; see dstcc.learn.paths.pacing_limit.")
        .def(py::init<double, bool>(), py::arg("packet_bytes"), py::arg("alternates") = false)
        .def(
            "take",
            [](PacingLimit& path, double slot_s, double srtt_s, bool up, double delivered, double lost, double limit,
               bool queue_seen, double rate, bool probed, const std::array<double, 3>& slower,
               const std::array<double, 3>& faster) {
                PathSlot slot{slot_s, srtt_s, up, delivered, lost, limit, queue_seen, rate, probed};
                slot.slower = {slower[0], slower[1], slower[2]};
                slot.faster = {faster[0], faster[1], faster[2]};
                path.update(slot);
            },
            py::arg("slot_s"), py::arg("srtt_s"), py::arg("up"), py::arg("delivered"), py::arg("lost"),
            py::arg("limit"), py::arg("queue_seen"), py::arg("rate"), py::arg("probed"), py::arg("slower"),
            py::arg("faster"))
        .def_property_readonly("limit", &PacingLimit::limit)
        .def_property("base_loss", &PacingLimit::base_loss, &PacingLimit::set_base_loss)
        .def_property_readonly("turn_number", [](const PacingLimit& path) { return static_cast<int>(path.turn()); })
        .def_property_readonly("phase_number", [](const PacingLimit& path) { return static_cast<int>(path.phase()); });
    py::class_<Captured>(engine, "Captured", "A source over time; see dstcc.learn.paths.captured.")
        .def(py::init<Table, Table>(), py::arg("times_s"), py::arg("payload_bytes"))
        .def("by", &Captured::by, py::arg("time_s"));
    PYBIND11_NUMPY_DTYPE(MeasuredRate, rate, limit, used, queue, lost, judged, initial, deepest, proven, known,
                         has_drained);
    PYBIND11_NUMPY_DTYPE(Probe, deep, probed, gain, left);
    PYBIND11_NUMPY_DTYPE(FurtherOn, far_s, carried, slot, sent, wait);
    engine.def("update_paths", &update_paths, py::arg("sources"), py::arg("limits"), py::arg("rates").noconvert(),
               py::arg("probes").noconvert(), py::arg("further_on").noconvert(), py::arg("source_rate").noconvert(),
               py::arg("packet"), py::arg("overhead"), py::arg("trial_paths"), py::arg("values"),
               py::arg("episode_values"));
    engine.def("update_further_on", &update_further_on, py::arg("states").noconvert(), py::arg("values"),
               py::arg("slot_s"), py::arg("shown"), py::arg("packet"), py::arg("overhead"));
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
