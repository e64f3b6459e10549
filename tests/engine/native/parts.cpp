// The ends of a subflow by themselves, for tests: segments, ACKs and timers handed in one by one. And the count of losses that a
// path's pacing limit goes by.
#include "python/convert.hpp"
#include "bind.hpp"

#include <pybind11/stl.h>

#include "paths/pacing_limit.hpp"
#include "paths/probing.hpp"
#include "tcp/receiver.hpp"
#include "tcp/sender.hpp"

namespace py = pybind11;

namespace dstcc {

namespace {

using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;

// A sender under some law, its window in use; who drives it says what is put on a link and what comes back.
class Sender {
public:
    explicit Sender(const TransportConfig& transport)
        : transport_(transport),
          subflow_(transport_, control(transport_), record(transport_)) {}
    Sender(const Sender&) = delete;
    Sender& operator=(const Sender&) = delete;

    Subflow& subflow() { return subflow_; }
    const TcpState& tcp() { return subflow_.tcp(); }
    // New segments, beyond the window too: probes may.
    void send(Time now, std::int64_t segments, bool starved) {
        for (std::int64_t n = 0; n < segments; ++n)
            subflow_.append(now, 0, static_cast<std::uint32_t>(tcp().snd_nxt),
                            static_cast<std::uint16_t>(transport_.mss_bytes));
        subflow_.finish_sending(now, starved, !starved);
    }
    std::vector<std::int64_t> repeat(Time now) {
        std::vector<std::int64_t> numbers;
        std::int64_t number = 0;
        while (subflow_.window_open() && subflow_.poll_retransmit(number)) {
            subflow_.mark_retransmitted(now, number);
            numbers.push_back(number);
        }
        return numbers;
    }
    void repeat_as_probe(Time now, std::int64_t number) {
        subflow_.mark_retransmitted(now, number);
        subflow_.finish_probe(now);
    }
    std::int64_t ack(Time now, std::int64_t cumulative, const Ranges& blocks, Time echo, bool duplicate, bool more) {
        AckBlocks ack;
        ack.more = more;
        ack.cumulative = cumulative;
        ack.echo_ns = echo;
        ack.duplicate = duplicate;
        for (const auto& [begin, end] : blocks) ack.sack[ack.sacks++] = {begin, end};
        return subflow_.handle_ack(now, ack);
    }

private:
    static TcpState record(const TransportConfig& transport) {
        TcpState tcp;
        tcp.mss_bytes = static_cast<std::uint32_t>(transport.mss_bytes);
        tcp.wire_bytes = tcp.mss_bytes + static_cast<std::uint32_t>(transport.header_bytes);
        return tcp;
    }
    static std::unique_ptr<CongestionControl> control(const TransportConfig& transport) {
        return make_congestion(transport, transport.congestion, {record(transport), 0, 0, transport.initial_cwnd});
    }
    TransportConfig transport_;
    Subflow subflow_;
};

const char* name(TimerResult result) {
    switch (result) {
        case TimerResult::kRetry:
            return "repair";
        case TimerResult::kProbe:
            return "probe";
        case TimerResult::kTimeout:
            return "timeout";
        default:
            return "";
    }
}

const char* name(CaState state) {
    return state == CaState::kOpen ? "open" : state == CaState::kRecovery ? "recovery" : "loss";
}

template <class T>
void field(py::class_<Sender>& sender, const char* name, T TcpState::* member) {
    sender.def_property(
        name, [member](Sender& s) { return s.tcp().*member; },
        [member](Sender& s, T value) { s.subflow().tcp().*member = value; });
}

void bind_sender(py::module_& m) {
    py::class_<Sender> sender(m, "Sender");
    sender.def(py::init(
        [](const py::object& transport) { return std::make_unique<Sender>(read_transport_config(transport)); }));
    sender.def("establish", [](Sender& s, Time now, Time rtt) { s.subflow().establish(now, rtt); });
    sender.def("send", &Sender::send, py::arg("now"), py::arg("segments"), py::arg("starved") = false);
    sender.def("repeat", &Sender::repeat);
    sender.def("push", [](Sender& s) { s.subflow().push(); });
    sender.def("repeat_as_probe", &Sender::repeat_as_probe);
    sender.def("ack", &Sender::ack, py::arg("now"), py::arg("cumulative"), py::arg("blocks") = Ranges(),
               py::arg("echo") = 0, py::arg("duplicate") = false, py::arg("more") = false);
    sender.def("rest", [](Sender& s, Time until) { s.subflow().rest(until); });
    sender.def("repairs_instead", [](Sender& s) { return s.subflow().repairs_instead(); });
    sender.def("timer", [](Sender& s, Time now) { return name(s.subflow().handle_timer(now)); });
    sender.def_property_readonly("next_timer", [](Sender& s) { return s.subflow().next_timer(); });
    sender.def_property_readonly("pacing_until", [](Sender& s) { return s.subflow().pacing_until(); });
    sender.def_property_readonly("window_open", [](Sender& s) { return s.subflow().window_open(); });
    sender.def_property_readonly("timeouts", [](Sender& s) { return s.subflow().timeouts(); });
    sender.def_property_readonly("state", [](Sender& s) { return name(s.tcp().ca_state); });
    sender.def_property_readonly("in_flight", [](Sender& s) { return s.tcp().in_flight(); });
    field(sender, "cwnd", &TcpState::cwnd);
    field(sender, "ssthresh", &TcpState::ssthresh);
    field(sender, "lost_out", &TcpState::lost_out);
    field(sender, "sacked_out", &TcpState::sacked_out);
    field(sender, "retrans_out", &TcpState::retrans_out);
    field(sender, "lost", &TcpState::lost);
    field(sender, "srtt_ns", &TcpState::srtt_ns);
    field(sender, "min_rtt_ns", &TcpState::min_rtt_ns);
    field(sender, "last_rtt_ns", &TcpState::last_rtt_ns);
    field(sender, "app_limited", &TcpState::app_limited);
    field(sender, "is_cwnd_limited", &TcpState::is_cwnd_limited);
    field(sender, "pacing_bytes_per_ns", &TcpState::pacing_bytes_per_ns);
}

void bind_receivers(py::module_& m) {
    py::class_<SubflowReceiver>(m, "Receiver")
        .def(py::init([](const py::object& transport, double window_segments, Time rtt) {
                 const TransportConfig native = read_transport_config(transport);
                 const auto mss = static_cast<std::uint32_t>(native.mss_bytes);
                 const auto options = static_cast<std::uint32_t>(native.option_bytes);
                 return std::make_unique<SubflowReceiver>(
                     native.constants, std::llround(window_segments * 2 * (mss + options)), rtt, mss, options);
             }),
             py::arg("transport"), py::arg("window_segments"), py::arg("rtt"))
        .def("speaks_first", &SubflowReceiver::speaks_first)
        .def("leave_unanswered", &SubflowReceiver::leave_unanswered)
        // (fresh, answered at once)
        .def(
            "segment",
            [](SubflowReceiver& r, Time now, std::int64_t number, Time sent, std::uint32_t bytes, bool pushed) {
                const auto answer = r.handle_segment(now, number, sent, bytes, pushed);
                return std::pair(answer.fresh, answer.now);
            },
            py::arg("now"), py::arg("number"), py::arg("sent"), py::arg("bytes"), py::arg("pushed") = false)
        // (cumulative, echo, duplicate, blocks)
        .def("make_ack",
             [](SubflowReceiver& r) {
                 const auto ack = r.make_ack();
                 Ranges blocks;
                 for (int i = 0; i < ack.sacks; ++i) blocks.emplace_back(ack.sack[i].begin, ack.sack[i].end);
                 return std::tuple(ack.cumulative, ack.echo_ns, ack.duplicate, blocks);
             })
        .def("ack_time", &SubflowReceiver::ack_time)
        .def("expire", &SubflowReceiver::expire)
        .def_property_readonly("pushed", [](SubflowReceiver& r) { return r.pushed(); })
        .def_property_readonly("ack_deadline", [](SubflowReceiver& r) { return r.ack_deadline(); });
    py::class_<OrderingDomain>(m, "OrderingDomain")
        .def(py::init<>())
        // (place, delivered: (object, bytes, wait))
        .def("segment", [](OrderingDomain& domain, Time now, std::uint32_t order, std::uint32_t object,
                           std::uint16_t bytes) {
            std::vector<std::tuple<std::uint32_t, std::uint16_t, Time>> delivered;
            const auto place = domain.handle_segment(now, order, object, bytes,
                                                     [&](std::uint32_t, std::uint32_t o, std::uint16_t b, Time wait) {
                                                         delivered.emplace_back(o, b, wait);
                                                     });
            using Place = OrderingDomain::Place;
            const char* said = place == Place::kDuplicate ? "duplicate" : place == Place::kHeld ? "held" : "delivered";
            return std::pair(said, delivered);
        });
}

}  // namespace

void bind_parts(py::module_& engine) {
    py::module_ m = engine.def_submodule(
        "parts",
        "The ends of a subflow; see tcp/sender.hpp, tcp/receiver.hpp, tcp/rtt.hpp, and paths/pacing_limit.hpp.");
    bind_sender(m);
    bind_receivers(m);
    py::class_<RttEstimator>(m, "RttEstimator")
        .def(py::init<>())
        .def("sample", &RttEstimator::sample, py::arg("m"), py::arg("rto_min"), py::arg("round_passed"))
        .def_property_readonly("srtt", &RttEstimator::srtt)
        .def_property_readonly("deviation", &RttEstimator::deviation)
        .def_property_readonly("rto", &RttEstimator::rto);
    py::class_<WindowedMin>(m, "WindowedMin")
        .def(py::init<>())
        .def("sample", &WindowedMin::sample, py::arg("value"), py::arg("now"), py::arg("window"))
        .def_property_readonly("value", &WindowedMin::value);
    py::class_<FateCount>(m, "FateCount")
        .def(py::init(
                 [](double segments, double lost, double time_s) { return FateCount{segments, lost, time_s, time_s}; }),
             py::arg("segments"), py::arg("lost"), py::arg("time_s"))
        .def("beyond", &FateCount::beyond, py::arg("share"), py::arg("dispersion") = 1.0, py::arg("deviations") = 2.0)
        .def("complete", &FateCount::complete, py::arg("round_s"));
    py::class_<Dispersion>(m, "Dispersion")
        .def(py::init<>())
        .def("add", &Dispersion::add, py::arg("segments"), py::arg("lost"))
        .def("skip", &Dispersion::skip)
        .def("times", &Dispersion::times);
    m.def("rest", [](PacingLimit& limit, double grows) { limit.rest(grows); }, py::arg("limit"), py::arg("grows"));
    py::class_<Probe>(m, "Probe")
        .def(py::init<>())
        .def("update", &Probe::update, py::arg("used"), py::arg("standing"), py::arg("drained"), py::arg("slots"))
        .def_property_readonly("share_gain", &Probe::share_gain)
        .def_readonly("deep", &Probe::deep)
        .def_readonly("probed", &Probe::probed)
        .def_readonly("gain", &Probe::gain);
}

}  // namespace dstcc
