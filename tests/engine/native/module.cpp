// The extension dstcc.engine._testing: parts of the engine by themselves, for tests and benches. It is built in place
// only. An InvariantError in it is translated by dstcc.engine._engine, which is imported first.
#include "bind.hpp"
#include "floor.hpp"

namespace py = pybind11;

PYBIND11_MODULE(_testing, m, py::mod_gil_not_used()) {
    m.doc() = "Parts of the engine by themselves, for tests and benches.";
    using Unlocked = py::call_guard<py::gil_scoped_release>;
    m.def("ring_walk", &dstcc::ring_walk, py::arg("packets"), py::arg("window"), py::arg("loss"), py::arg("seed"),
          Unlocked());
    m.def("event_walk", &dstcc::event_walk, py::arg("packets"), py::arg("window"), py::arg("subflows"), py::arg("loss"),
          py::arg("seed"), Unlocked());
    dstcc::bind_links(m);
    dstcc::bind_law_bench(m);
    dstcc::bind_window_law(m);
    dstcc::bind_rules(m);
    dstcc::bind_structures(m);
    dstcc::bind_parts(m);
    dstcc::bind_dispatch(m);
    dstcc::bind_coding(m);
}
