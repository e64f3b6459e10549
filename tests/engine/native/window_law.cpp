// kernel-cc/law/dstcc_law.h, for tests.
#include "../../../kernel-cc/law/dstcc_law.h"
#include "bind.hpp"

namespace py = pybind11;

namespace dstcc {

void bind_window_law(py::module_& m) {
    py::module_ law = m.def_submodule("law", "kernel-cc/law/dstcc_law.h.");
    law.def("window", &dstcc_law_window, py::arg("cwnd"), py::arg("alpha_q16"), py::arg("beta"), py::arg("cap"));
    law.def("cap", &dstcc_law_cap, py::arg("bdp_segments"), py::arg("initial_cwnd"), py::arg("headroom"));
    law.def("pace", &dstcc_law_pace, py::arg("cwnd"), py::arg("wire_bytes"), py::arg("srtt_us"));
    py::class_<dstcc_law_bdp>(law, "Bdp")
        .def(py::init([] { return dstcc_law_bdp{}; }))
        .def("round", &dstcc_law_round)
        .def("sample", &dstcc_law_sample, py::arg("delivered"), py::arg("interval_us"), py::arg("min_rtt_us"))
        .def("segments", &dstcc_law_bdp_segments);
}

}  // namespace dstcc
