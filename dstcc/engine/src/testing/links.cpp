// What a link's loss process and delay do, for tests.
#include <pybind11/stl.h>

#include "link/bursts.hpp"
#include "link/delay.hpp"
#include "python/convert.hpp"
#include "testing/bind.hpp"

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

}  // namespace

void bind_links(py::module_& m) {
    m.def("burst_draws", &burst_draws, py::arg("loss"), py::arg("seed"), py::arg("slot"));
    m.def("delays", &delays, py::arg("link"), py::arg("at_ns"));
}

}  // namespace dstcc
