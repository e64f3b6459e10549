// What a link's loss process, delay and rate do, and what a contact plan says of it, for tests.
#include <pybind11/stl.h>

#include "link/bursts.hpp"
#include "link/contact.hpp"
#include "link/answer_clock.hpp"
#include "link/line.hpp"
#include "ltp/segments.hpp"
#include "python/convert.hpp"
#include "bind.hpp"

namespace py = pybind11;

namespace dstcc {
namespace {

// How many draws tell a Gilbert-Elliott state in `slot` to someone who last asked in slot 0 (for tests).
std::int64_t burst_draws(const py::object& loss, std::int64_t seed, std::int64_t slot) {
    const LossConfig config = read_loss(loss);
    Bursts bursts(config.number("p"), config.number("r"),
                  Stream(static_cast<std::uint64_t>(seed), kStreamSojourn, 0, 0));
    bursts.bad(0);
    bursts.bad(slot);
    return bursts.drawn();
}

// Whether a packet of `bytes` is lost that has each of a slot's first draws, slot by slot.
std::vector<std::vector<bool>> slot_draws(const py::object& link, std::int64_t seed, std::uint64_t index,
                                          std::uint32_t full_bytes, std::uint32_t bytes, std::int64_t slots,
                                          std::uint32_t draws) {
    const LinkConfig config = read_link(link);
    const Time slot_ns = Direction(config, false, 0, 0, full_bytes).slot_ns();
    Losses losses({config.loss, slot_ns, static_cast<std::uint64_t>(seed), index});
    std::vector<std::vector<bool>> out;
    for (std::int64_t slot = 0; slot < slots; ++slot) {
        out.emplace_back();
        for (std::uint32_t nth = 0; nth < draws; ++nth) out.back().push_back(losses.lost(slot, nth, bytes));
    }
    return out;
}

// Which of some slots' first draws are below a threshold, one by one, and of how many the first of these is (for tests).
std::pair<std::vector<bool>, std::int64_t> below(std::uint64_t seed, std::int64_t slot, std::int64_t step,
                                                 std::int64_t count, double share) {
    const SlotDraws draws(seed, 0, 0);
    const std::uint64_t threshold = to_threshold(share);
    std::vector<bool> each;
    for (std::int64_t k = 0; k < count; ++k) each.push_back(draws.below(slot + k * step, 0, threshold));
    return {each, draws.first_below(slot, step, count, threshold)};
}

// The delay of what departs at each of some times, and the latest departure that arrives by each (for tests).
py::tuple delays(const py::object& link, const std::vector<Time>& at) {
    const LinkConfig config = read_link(link);
    const DelayTable table(config.delay_t_ns, config.delay_ns, config.delay_slope);
    std::vector<Time> delay, departure;
    for (const Time t : at) {
        delay.push_back(table.at(t));
        departure.push_back(table.latest_departure(t));
    }
    return py::make_tuple(to_array(delay), to_array(departure));
}

// Whether data can be sent at a time, and in how long that changes; -1: never (for tests).
std::pair<bool, Time> contact(const py::object& link, Time at) {
    const ContactPlan::Contact now = ContactPlan(read_link(link), 40).contact(at);
    return {now.up, now.change_ns == kNever ? -1 : now.change_ns};
}

// How long what leaves a path's sender at each of some times waits at nodes, by the plan (for tests).
py::array waits_further_on(const py::object& link, const std::vector<Time>& at) {
    const PlannedPath path(read_link(link), false, 1);
    std::vector<Time> waits;
    for (const Time t : at) waits.push_back(path.journey(t).waits);
    return to_array(waits);
}

// When answers are due over a path, by its plan.
struct ClockBench {
    ClockBench(const LinkConfig& path, std::uint32_t full_bytes)
        : plan(path, 40),
          clock(paths.of(path, plan, full_bytes, 1).clock) {}
    ClockBench(const ClockBench&) = delete;

    ContactPlan plan;
    PathPlans paths{1};
    AnswerClock clock;
};

// A line with all that it stands on.
struct LineBench {
    LineBench(const LinkConfig& link, bool up, double told_bps, std::uint32_t full_bytes)
        : direction(link, up, 1, 0, full_bytes),
          way(direction, 0, QuickHeads(heads.quick(), 0), settlement),
          plan(link, up),
          line(way, plan, full_bytes, told_bps) {}

    EventHeads heads{1, 1};
    Settlement settlement{1};
    Direction direction;
    Way<DownSegment> way;
    PlannedWay plan;
    Line<DownSegment> line;
};

}  // namespace

void bind_links(py::module_& m) {
    m.def("burst_draws", &burst_draws, py::arg("loss"), py::arg("seed"), py::arg("slot"));
    m.def("slot_draws", &slot_draws, py::arg("link"), py::arg("seed"), py::arg("index"), py::arg("full_bytes"),
          py::arg("bytes"), py::arg("slots"), py::arg("draws"));
    m.def("below", &below, py::arg("seed"), py::arg("slot"), py::arg("step"), py::arg("count"), py::arg("share"));
    m.def("delays", &delays, py::arg("link"), py::arg("at_ns"));
    m.def("waits_further_on", &waits_further_on, py::arg("link"), py::arg("at_ns"));
    m.def("contact", &contact, py::arg("link"), py::arg("at_ns"));
    py::class_<RateSteps>(m, "RateSteps")
        .def(py::init([](const py::object& link, bool up, bool planned) {
                 const LinkConfig config = read_link(link);
                 return planned ? RateSteps::planned(config, up) : RateSteps::actual(config, up);
             }),
             py::arg("link"), py::arg("up") = false, py::arg("planned") = false)
        .def("share_at", &RateSteps::share_at, py::arg("at_ns"))
        .def("finish", &RateSteps::finish, py::arg("at_ns"), py::arg("work_ns"))
        .def("work", &RateSteps::work, py::arg("from_ns"), py::arg("to_ns"))
        .def("done", &RateSteps::done, py::arg("at_ns"))
        .def("reach", &RateSteps::reach, py::arg("work_ns"))
        .def("change_before", &RateSteps::change_before, py::arg("at_ns"))
        .def(
            "change_after",
            [](const RateSteps& steps, Time at) {
                const Time next = steps.change_after(at);
                return next == kNever ? -1 : next;
            },
            py::arg("at_ns"));
    m.def(
        "slowest_back",
        [](const py::object& config, std::size_t path) { return slowest_back(read_engine_config(config), path); },
        py::arg("config"), py::arg("path"));
    py::class_<ClockBench>(m, "AnswerClock")
        .def(py::init([](const py::object& path, std::uint32_t full_bytes) {
                 return std::make_unique<ClockBench>(read_link(path), full_bytes);
             }),
             py::arg("path"), py::arg("full_bytes"))
        .def(
            "arrival", [](const ClockBench& on, Time at) { return on.clock.arrival(at); }, py::arg("at_ns"))
        .def(
            "waits_there", [](const ClockBench& on, Time at) { return on.clock.waits_there(at); }, py::arg("at_ns"))
        .def(
            "waits_both", [](const ClockBench& on, Time at) { return on.clock.waits_both(at); }, py::arg("at_ns"))
        .def(
            "answer_rests", [](const ClockBench& on, Time at) { return on.clock.answer_rests(at); }, py::arg("at_ns"))
        .def(
            "margin", [](const ClockBench& on, Time at, Time answered) { return on.clock.margin(at, answered); },
            py::arg("at_ns"), py::arg("answered_ns"))
        .def(
            "stay",
            [](const ClockBench& on, Time at) {
                const Stay stay = on.clock.stay(at);
                return std::pair(stay.node, stay.until);
            },
            py::arg("at_ns"))
        .def("may_wait", [](const ClockBench& on) { return on.clock.may_wait(); });
    py::class_<LineBench>(m, "Line")
        .def(py::init([](const py::object& link, bool up, double told_bps, std::uint32_t full_bytes) {
                 return std::make_unique<LineBench>(read_link(link), up, told_bps, full_bytes);
             }),
             py::arg("link"), py::arg("up") = false, py::arg("told_bps") = 0.0, py::arg("full_bytes") = 1500)
        .def(
            "transmit", [](LineBench& on, Time at, std::uint32_t bytes) { on.line.send(at, {}, bytes); },
            py::arg("at_ns"), py::arg("bytes"))
        .def("free_ns", [](const LineBench& on) { return on.line.free_ns(); })
        .def(
            "rate_bps", [](const LineBench& on, Time at) { return on.line.rate_bps(at); }, py::arg("at_ns"))
        .def(
            "fit_bytes", [](const LineBench& on, Time at, std::uint32_t bytes) { return on.line.fit(at, bytes); },
            py::arg("at_ns"), py::arg("bytes"))
        .def(
            "finish", [](const LineBench& on, Time at, Time work) { return on.line.finish(at, work); },
            py::arg("at_ns"), py::arg("work_ns"));
}

}  // namespace dstcc
