// The schedulers' decisions as functions, for tests: numbers in, numbers out.
#include "bind.hpp"

#include <pybind11/stl.h>

#include "scheduler/linucb.hpp"
#include "scheduler/rules.hpp"

namespace py = pybind11;

namespace dstcc {

void bind_rules(py::module_& engine) {
    py::module_ m = engine.def_submodule("rules", "Decisions of the schedulers; see engine/src/scheduler/rules.hpp.");
    using namespace rules;
    m.def("blest_fast_bytes", &blest_fast_bytes, py::arg("cwnd"), py::arg("ssthresh"), py::arg("rtt_ns"),
          py::arg("linger_ns"), py::arg("mss_bytes"), py::arg("lam"));
    m.def("blest_linger_ns", &blest_linger_ns, py::arg("srtt_ns"), py::arg("min_rtt_ns"), py::arg("max_rtt_ns"),
          py::arg("in_flight"), py::arg("cwnd"));
    m.def("blest_lambda", &blest_lambda, py::arg("lam"), py::arg("blocked"));
    py::enum_<Ecf>(m, "Ecf")
        .value("SEND", Ecf::kSend)
        .value("SEND_FOR_NOW", Ecf::kSendForNow)
        .value("WAIT", Ecf::kWait);
    m.def("ecf", &ecf, py::arg("unsent"), py::arg("cwnd_fast"), py::arg("rtt_fast"), py::arg("cwnd_slow"),
          py::arg("rtt_slow"), py::arg("delta"), py::arg("waiting"));
    m.def("qaware_cost", &qaware_cost, py::arg("queued_packets"), py::arg("srtt"), py::arg("queue_wait"));
    m.def("daps_schedule", &daps_schedule, py::arg("srtt_ns"), py::arg("windows"));
    m.def("po_mptcp_before", &po_mptcp_before, py::arg("rtt_a"), py::arg("cwnd_a"), py::arg("rtt_b"),
          py::arg("cwnd_b"));
    m.def("linux_rate", &linux_rate, py::arg("cwnd"), py::arg("ssthresh"), py::arg("packets_out"), py::arg("mss_bytes"),
          py::arg("srtt_ns"));
    m.def("linux_pace", &linux_pace, py::arg("pace"), py::arg("queued_bytes"), py::arg("rate"), py::arg("burst_bytes"));
    m.def("peekaboo_features", &peekaboo_features, py::arg("cwnd_f"), py::arg("in_flight_f"), py::arg("srtt_f"),
          py::arg("cwnd_s"), py::arg("in_flight_s"), py::arg("srtt_s"), py::arg("room_bytes"), py::arg("mss_bytes"));
    using Arm = LinearArm<2>;
    py::class_<Arm>(m, "LinearArm")
        .def(py::init<>())
        .def_property_readonly("theta", &Arm::theta)
        .def_property_readonly("inverse", &Arm::inverse)
        .def("mean", &Arm::mean, py::arg("x"))
        .def("bound", &Arm::bound, py::arg("x"), py::arg("alpha"))
        .def("update", &Arm::update, py::arg("x"), py::arg("reward"));
}

}  // namespace dstcc
