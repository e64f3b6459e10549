// Congestion controls by themselves, for tests; see law_bench.hpp.
#include "law_bench.hpp"

#include <pybind11/stl.h>

#include "python/convert.hpp"
#include "bind.hpp"

namespace py = pybind11;

namespace dstcc {
namespace {

template <class T>
void field(py::class_<LawBench>& bench, const char* name, T TcpState::* member) {
    bench.def(name, [member](LawBench& b, std::size_t i) { return b.state(i).*member; }, py::arg("subflow"));
    bench.def((std::string("set_") + name).c_str(),
              [member](LawBench& b, std::size_t i, T value) { b.state(i).*member = value; }, py::arg("subflow"),
              py::arg("value"));
}

}  // namespace

void bind_law_bench(py::module_& m) {
    py::class_<LawBench> bench(m, "LawBench");
    bench.def(
        py::init([](const py::object& transport, std::size_t subflows, double line_bps, std::int64_t bdp_segments) {
            const TransportConfig native = read_transport_config(transport);
            return std::make_unique<LawBench>(native.congestion, native, subflows, line_bps, bdp_segments);
        }),
        py::arg("transport"), py::arg("subflows") = 1, py::arg("line_bps") = 0, py::arg("bdp_segments") = 1);
    bench.def("establish", &LawBench::establish, py::arg("subflow"), py::arg("now_ns"), py::arg("rtt_ns"));
    bench.def("join", &LawBench::join, py::arg("subflow"), py::arg("answered_ns"), py::arg("now_ns"));
    bench.def("send", &LawBench::send, py::arg("subflow"), py::arg("segments"), py::arg("now_ns"));
    bench.def("ack", &LawBench::ack, py::arg("subflow"), py::arg("segments"), py::arg("rtt_ns"), py::arg("now_ns"),
              py::arg("one_way_ns") = -1);
    bench.def(
        "sample",
        [](LawBench& b, std::size_t i, std::int64_t acked, std::int64_t delivered, Time interval, Time rtt,
           std::int64_t losses, std::uint64_t prior_delivered, std::int64_t prior_in_flight, bool app_limited,
           Time now) {
            RateSample sample;
            sample.acked_sacked = acked;
            sample.delivered = delivered;
            sample.interval_ns = interval;
            sample.rtt_ns = rtt;
            sample.losses = losses;
            sample.prior_delivered = prior_delivered;
            sample.prior_in_flight = prior_in_flight;
            sample.is_app_limited = app_limited;
            b.sample(i, sample, now);
        },
        py::arg("subflow"), py::arg("acked"), py::arg("delivered"), py::arg("interval_ns"), py::arg("rtt_ns"),
        py::arg("losses"), py::arg("prior_delivered"), py::arg("prior_in_flight"), py::arg("app_limited"),
        py::arg("now_ns"));
    bench.def("enter_recovery", &LawBench::enter_recovery, py::arg("subflow"), py::arg("segments"), py::arg("now_ns"));
    bench.def("leave_recovery", &LawBench::leave_recovery, py::arg("subflow"), py::arg("now_ns"));
    bench.def("restart_idle", &LawBench::restart_idle, py::arg("subflow"), py::arg("now_ns"));
    bench.def("undo", &LawBench::undo, py::arg("subflow"), py::arg("now_ns"));
    bench.def("lose", &LawBench::lose, py::arg("subflow"), py::arg("segments"), py::arg("now_ns"));
    bench.def("time_out", &LawBench::time_out, py::arg("subflow"), py::arg("now_ns"));
    field(bench, "cwnd", &TcpState::cwnd);
    field(bench, "ssthresh", &TcpState::ssthresh);
    field(bench, "srtt_ns", &TcpState::srtt_ns);
    field(bench, "pacing_bytes_per_ns", &TcpState::pacing_bytes_per_ns);
    field(bench, "is_cwnd_limited", &TcpState::is_cwnd_limited);
    field(bench, "ack_has_sacks", &TcpState::ack_has_sacks);
    field(bench, "option_bytes", &TcpState::option_bytes);
    field(bench, "app_limited", &TcpState::app_limited);
    field(bench, "pacing_until_ns", &TcpState::pacing_until_ns);
    field(bench, "snd_una", &TcpState::snd_una);
    field(bench, "delivered", &TcpState::delivered);
    field(bench, "sacked_out", &TcpState::sacked_out);
    field(bench, "max_packets_out", &TcpState::max_packets_out);
}

}  // namespace dstcc
