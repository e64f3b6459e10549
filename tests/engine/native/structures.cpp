// The engine's containers, for tests: they are held against plain ones.
#include "bind.hpp"

#include <pybind11/stl.h>

#include "core/bit_window.hpp"
#include "core/events.hpp"
#include "core/histogram.hpp"
#include "core/ranges.hpp"
#include "core/ring.hpp"
#include "oracle/demand_tree.hpp"

namespace py = pybind11;

namespace dstcc {

namespace {

using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;
using Ring = BlockRing<std::int64_t, 2>;

template <class Set>
Ranges add(Set& set, std::int64_t begin, std::int64_t end) {
    Ranges fresh;
    set.add(begin, end, [&](std::int64_t a, std::int64_t b) { fresh.emplace_back(a, b); });
    return fresh;
}

Ranges within(const RangeSet& set, std::int64_t begin, std::int64_t end) {
    Ranges found;
    set.each(begin, end, [&](std::int64_t a, std::int64_t b) { found.emplace_back(a, b); });
    return found;
}

template <std::size_t kGroup>
void bind_tree(py::module_& m, const char* name) {
    using Tree = GroupedTree<kGroup>;
    py::class_<Tree>(m, name)
        .def(py::init<std::size_t>(), py::arg("heads"))
        .def("set", &Tree::set, py::arg("head"), py::arg("at"))
        .def_property_readonly("first", [](const Tree& tree) { return std::pair(tree.time(), tree.head()); });
}

}  // namespace

void bind_structures(py::module_& engine) {
    py::module_ m = engine.def_submodule("structures",
                                         "Containers of the engine; see core/ranges.hpp, core/bit_window.hpp, "
                                         "core/events.hpp, core/histogram.hpp, oracle/demand_tree.hpp.");
    py::class_<RangeSet>(m, "RangeSet")
        .def(py::init<>())
        .def("add", &add<RangeSet>, py::arg("begin"), py::arg("end"))
        .def("within", &within, py::arg("begin"), py::arg("end"))
        .def("drop_below", &RangeSet::drop_below, py::arg("x"))
        .def("pop_front", &RangeSet::pop_front)
        .def("contains", &RangeSet::contains, py::arg("x"))
        .def("__bool__", [](const RangeSet& set) { return !set.empty(); });
    py::class_<BitWindow>(m, "BitWindow")
        .def(py::init<>())
        .def("add", &add<BitWindow>, py::arg("begin"), py::arg("end"))
        .def("insert", &BitWindow::insert, py::arg("x"))
        .def("drop_below", &BitWindow::drop_below, py::arg("x"))
        .def("least", &BitWindow::least)
        .def("first_missing", &BitWindow::first_missing, py::arg("x"))
        .def("last_missing", &BitWindow::last_missing, py::arg("least"), py::arg("x"))
        .def("contains", &BitWindow::contains, py::arg("x"))
        .def_property_readonly("end", &BitWindow::end)
        .def("__bool__", [](const BitWindow& set) { return !set.empty(); });
    py::class_<Ring>(m, "BlockRing", "Of integers, in blocks of four.")
        .def(py::init<>())
        .def(
            "push_back", [](Ring& ring, std::int64_t x) { ring.push_back(x); }, py::arg("x"))
        .def("pop_front", py::overload_cast<>(&Ring::pop_front))
        .def("pop_front", py::overload_cast<std::int64_t>(&Ring::pop_front), py::arg("to"))
        .def_property_readonly("front", [](Ring& ring) { return ring.front(); })
        .def_property_readonly("begin", &Ring::begin)
        .def_property_readonly("end", &Ring::end)
        .def_property_readonly("bytes", &Ring::bytes)
        .def_property_readonly("peak_bytes", &Ring::peak_bytes)
        .def("__getitem__", [](const Ring& ring, std::int64_t i) { return ring[i]; }, py::arg("i"));
    bind_tree<4>(m, "TreeOfFours");
    bind_tree<8>(m, "TreeOfEights");
    py::class_<DemandTree>(m, "DemandTree")
        .def(py::init<const std::vector<double>&, const std::vector<double>&>(), py::arg("p"), py::arg("q"))
        .def("room", &DemandTree::room, py::arg("chunk"))
        .def("take", &DemandTree::take, py::arg("chunk"), py::arg("bytes"));
    py::class_<LogHistogram>(m, "LogHistogram")
        .def(py::init<>())
        .def("add", &LogHistogram::add, py::arg("value"), py::arg("times") = 1)
        .def("quantile", &LogHistogram::quantile, py::arg("q"));
}

}  // namespace dstcc
