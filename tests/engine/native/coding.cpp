// Parts of `coded` by themselves, for tests: the packets of a subflow, and the rules of repair.
#include "python/convert.hpp"
#include "bind.hpp"

#include <deque>

#include <pybind11/stl.h>

#include "coding/admission.hpp"
#include "coding/blocks.hpp"
#include "coding/flight.hpp"
#include "coding/repair_rule.hpp"
#include "coding/storage_seen.hpp"
#include "ltp/rate_rule.hpp"
#include "paths/far_queue.hpp"
#include "paths/own_queue.hpp"

namespace py = pybind11;

namespace dstcc {

namespace {

// The packets of one subflow; each has its number as its object.
class Packets {
public:
    explicit Packets(const TransportConfig& transport)
        : transport_(transport),
          flight_(transport_,
                  make_congestion(transport, transport.congestion, {record(transport), 0, 0, transport.initial_cwnd}),
                  record(transport)) {}
    Packets(const Packets&) = delete;
    Packets& operator=(const Packets&) = delete;

    Flight& flight() { return flight_; }
    // A window in use: more would have gone.
    void send(Time now, std::int64_t packets) {
        for (; packets > 0; --packets)
            flight_.append(now, 0, static_cast<std::uint32_t>(flight_.tcp().snd_nxt),
                           static_cast<std::uint16_t>(transport_.mss_bytes));
        flight_.finish_sending(false, true);
    }
    // It knows the contacts of its path.
    void plan(const LinkConfig& path) {
        plan_.emplace(path, transport_.header_bytes);
        flight_.set_clock(paths_.of(path, *plan_, flight_.tcp().wire_bytes, 1).clock);
    }
    std::vector<std::uint32_t> doubted() const {
        std::vector<std::uint32_t> out;
        for (const Fate& fate : flight_.fates())
            if (!fate.known) out.push_back(fate.packet.object);
        return out;
    }
    // The numbers that arrived, and those that were lost.
    using Fates = std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>>;
    Fates ack(Time now, const std::vector<std::pair<std::int64_t, std::int64_t>>& ranges, Time wait) {
        PacketAck ack;
        for (const auto& [begin, end] : ranges) ack.ranges[ack.count++] = {begin, end};
        ack.wait_ns = wait;
        flight_.handle_ack(now, ack);
        return fates();
    }
    Fates timer(Time now) {
        flight_.handle_timer(now);
        return fates();
    }

private:
    Fates fates() const {
        Fates out;
        for (const Fate& fate : flight_.fates())
            if (fate.known) (fate.lost ? out.second : out.first).push_back(fate.packet.object);
        return out;
    }
    static TcpState record(const TransportConfig& transport) {
        TcpState tcp;
        tcp.mss_bytes = static_cast<std::uint32_t>(transport.mss_bytes);
        tcp.wire_bytes = tcp.mss_bytes + static_cast<std::uint32_t>(transport.header_bytes);
        return tcp;
    }
    TransportConfig transport_;
    Flight flight_;
    std::optional<ContactPlan> plan_;
    PathPlans paths_{1};
};

// Layers of (objects, source packets, bytes of a packet) each.
std::vector<std::int64_t> plan(const std::vector<std::tuple<std::int64_t, std::int64_t, double>>& layers, double bytes,
                               const LossHeard& losses, double left, double sure, double share, double unsure) {
    std::vector<PlannedLayer> planned;
    for (const auto& [objects, source, packet_bytes] : layers)
        planned.push_back({objects, source, static_cast<double>(source) * packet_bytes, packet_bytes, 65'535, 1, left,
                           share, unsure});
    return RepairRule().plan(planned, bytes, losses, sure);
}

// A rule of ltp with the configuration that it looks at.
struct LtpRule {
    LtpRule(const std::string& law, std::vector<double> shares, std::vector<double> table, bool raptorq)
        : rule(coding) {
        coding.law = law == "auto"    ? RateLaw::kAuto
                     : law == "table" ? RateLaw::kTable
                     : law.empty()    ? RateLaw::kShares
                                      : RateLaw::kFeedback;
        coding.repair = std::move(shares);
        coding.table = std::move(table);
        coding.code = raptorq ? ErasureCode::kRaptorQ : ErasureCode::kMds;
    }
    LtpRule(const LtpRule&) = delete;  // the rule points at the configuration
    CodingConfig coding;
    RateRule rule;
};

// A plan at time 0 over links, which bring so many bytes in a nanosecond (0: nobody knows), for its first layer.
struct Plan {
    Plan(const std::vector<LinkConfig>& links, const std::vector<double>& rates, Time longest, Time wait,
         Time shortest) {
        std::vector<Admission::Path> paths;
        for (const LinkConfig& link : links) plans.emplace_back(link, 40);
        for (std::size_t l = 0; l < links.size(); ++l)
            paths.push_back({&plans[l], rates[l], wait, plans[l].light_ns(0)});
        admission.begin(0, shortest > 0 ? shortest : longest, longest, kNever, paths);
        admission.begin_layer();
    }
    Plan(const Plan&) = delete;
    std::deque<ContactPlan> plans;
    Admission admission;
};

}  // namespace

void bind_coding(py::module_& engine) {
    py::module_ m = engine.def_submodule("coding", "Parts of coded; see engine/src/coding.");
    py::class_<Packets> packets(m, "Packets");
    packets.def(py::init(
        [](const py::object& transport) { return std::make_unique<Packets>(read_transport_config(transport)); }));
    packets.def("establish", [](Packets& p, Time now, Time rtt) { p.flight().establish(now, rtt); });
    packets.def("send", &Packets::send);
    packets.def("ack", &Packets::ack, py::arg("now"), py::arg("ranges"), py::arg("wait") = 0);
    packets.def("timer", &Packets::timer);
    packets.def("plan", [](Packets& p, const py::object& path) { p.plan(read_link(path)); });
    packets.def("resume", [](Packets& p, Time now) { p.flight().resume(now); });
    packets.def_property_readonly("doubted", &Packets::doubted);
    packets.def("watch_queue",
                [](Packets& p, Time now, std::int64_t before, std::int64_t after, std::uint32_t packet, Time leaves) {
                    p.flight().watch_queue(now, {before, after, packet, leaves});
                    return p.flight().pacing_until() - now;
                });
    packets.def("set_light", [](Packets& p, Time one_way) { p.flight().set_light(one_way); });
    packets.def_property_readonly("rate", [](Packets& p) { return p.flight().rate(); });
    packets.def_property_readonly("next_timer", [](Packets& p) { return p.flight().next_timer(); });
    packets.def_property_readonly("cwnd", [](Packets& p) { return p.flight().tcp().cwnd; });
    packets.def_property_readonly("in_flight", [](Packets& p) { return p.flight().tcp().in_flight(); });
    packets.def_property_readonly("last_rtt_ns", [](Packets& p) { return p.flight().tcp().last_rtt_ns; });
    packets.def_property_readonly("window_open", [](Packets& p) { return p.flight().window_open(); });
    packets.def_property_readonly("probing", [](Packets& p) { return p.flight().probing(); });
    packets.def_property_readonly("stale", [](Packets& p) { return p.flight().stale(); });
    packets.def_property_readonly("state", [](Packets& p) {
        const CaState state = p.flight().tcp().ca_state;
        return state == CaState::kOpen ? "open" : state == CaState::kRecovery ? "recovery" : "loss";
    });
    py::class_<OwnQueue>(m, "OwnQueue")
        .def(py::init<double, Time>(), py::arg("full_packet"), py::arg("wait"))
        .def(
            "see",
            [](OwnQueue& q, Time now, std::int64_t before, std::int64_t after, std::uint32_t packet, Time leaves,
               double limit) { return q.see(now, {before, after, packet, leaves}, limit); },
            py::arg("now"), py::arg("before"), py::arg("after"), py::arg("packet"), py::arg("leaves"), py::arg("limit"))
        .def_property_readonly("known", &OwnQueue::known)
        .def_property_readonly("share", &OwnQueue::share)
        .def_property_readonly("line", &OwnQueue::line)
        .def_property_readonly("target", &OwnQueue::target);
    py::class_<FarQueue>(m, "FarQueue")
        .def(py::init<bool>(), py::arg("shared") = false)
        .def("skip", &FarQueue::skip)
        .def("hear", &FarQueue::hear, py::arg("sent"), py::arg("wait"), py::arg("arrived"))
        .def(
            "pace",
            [](FarQueue& q, Time now, double under_way, double shown, Time round_trip, Time spare, Time until,
               Time gap) { return q.pace(now, under_way, shown, round_trip, spare, {until, gap}); },
            py::arg("now"), py::arg("under_way"), py::arg("shown"), py::arg("round_trip"), py::arg("spare"),
            py::arg("until") = kNever, py::arg("gap") = 0)
        .def("pause", &FarQueue::pause, py::arg("since"), py::arg("now"))
        .def("rest", &FarQueue::rest, py::arg("grows"))
        .def("set_packet", &FarQueue::set_packet, py::arg("bytes"))
        .def("lose", &FarQueue::lose, py::arg("bytes"))
        .def_property_readonly("found", &FarQueue::found)
        .def_property_readonly("full", &FarQueue::full)
        .def_property_readonly("ahead", &FarQueue::ahead);
    py::class_<StorageSeen>(m, "StorageSeen")
        .def(py::init<>())
        .def("share", &StorageSeen::share)
        .def("limits", &StorageSeen::limits)
        .def(
            "send",
            [](StorageSeen& seen, Time until, double bytes, std::size_t node) { seen.send({node, until}, bytes); },
            py::arg("until"), py::arg("bytes"), py::arg("node") = 0)
        .def(
            "full", [](const StorageSeen& seen, Time until, std::size_t node) { return seen.full({node, until}); },
            py::arg("until"), py::arg("node") = 0)
        .def(
            "hear",
            [](StorageSeen& seen, Time until, double bytes, bool lost, std::size_t node) {
                seen.hear({node, until}, bytes, lost);
            },
            py::arg("until"), py::arg("bytes"), py::arg("lost"), py::arg("node") = 0);
    py::class_<LossMemory>(m, "LossMemory")
        .def(py::init<>())
        .def("add", &LossMemory::add, py::arg("packets"), py::arg("lost"), py::arg("most"))
        .def("add_arrived", &LossMemory::add_arrived, py::arg("packets"), py::arg("most"))
        .def("share", py::overload_cast<double>(&LossMemory::share, py::const_), py::arg("times") = 1.0)
        .def("unsure", &LossMemory::unsure, py::arg("times") = 1.0);
    py::class_<PathLosses>(m, "PathLosses")
        .def(py::init<>())
        .def("take", &PathLosses::take, py::arg("arrived"), py::arg("lost"))
        .def("take_arrived", &PathLosses::take_arrived, py::arg("packets"))
        .def("share", &PathLosses::share, py::arg("memory"))
        .def("variance", &PathLosses::variance, py::arg("memory"))
        .def_property_readonly("settled", &PathLosses::settled);
    py::class_<LossHeard>(m, "LossHeard")
        .def(py::init<>())
        .def("packets",
             [](LossHeard& l, std::int64_t arrived, std::int64_t lost) {
                 for (; arrived > 0; --arrived) l.packet(false);
                 for (; lost > 0; --lost) l.packet(true);
             })
        .def("block", py::overload_cast<double, double>(&LossHeard::block))
        .def("block", py::overload_cast<double, double, double>(&LossHeard::block), py::arg("packets"), py::arg("lost"),
             py::arg("share"))
        .def("shares", &LossHeard::shares)
        .def("compare", &LossHeard::compare)
        .def_property_readonly("share", &LossHeard::share)
        .def_property_readonly("best", &LossHeard::best)
        .def_property_readonly("bursts", &LossHeard::bursts);
    m.def(
        "object_loss",
        [](std::int64_t objects, std::int64_t source, std::int64_t repair, double share, double bursts,
           std::uint32_t words) {
            return RepairRule().object_loss({objects, source, 0, 0, 0, words}, repair, share, bursts);
        },
        py::arg("objects"), py::arg("source"), py::arg("repair"), py::arg("share"), py::arg("bursts") = 1.0,
        py::arg("words") = 1);
    m.def(
        "fresh",
        [](std::int64_t missing, double share, double rarely) { return RepairRule().fresh(missing, share, rarely); },
        py::arg("missing"), py::arg("share"), py::arg("rarely") = 1e-2);
    m.def("plan", &plan, py::arg("layers"), py::arg("bytes"), py::arg("losses"), py::arg("left") = 1.0,
          py::arg("sure") = std::numeric_limits<double>::infinity(), py::arg("share") = -1.0, py::arg("unsure") = 0.0);
    py::class_<LtpRule>(m, "LtpRule")
        .def(py::init<const std::string&, std::vector<double>, std::vector<double>, bool>(), py::arg("law"),
             py::arg("shares") = std::vector<double>(), py::arg("table") = std::vector<double>(),
             py::arg("raptorq") = false)
        .def("heard", [](LtpRule& r, std::int64_t sent, std::int64_t received,
                         bool whole) { r.rule.heard(sent, received, whole); })
        .def("codes", [](const LtpRule& r, std::size_t layer) { return r.rule.codes(layer); })
        .def(
            "repair",
            [](LtpRule& r, std::int64_t source, std::size_t layer, std::int64_t most, double segments) {
                return r.rule.repair(layer, {1, source, static_cast<double>(source), 1, most}, segments);
            },
            py::arg("source"), py::arg("layer") = 0, py::arg("most") = 65'535, py::arg("segments") = 0.0)
        .def_property_readonly("expected_success", [](const LtpRule& r) { return r.rule.expected_success(); })
        .def_property_readonly("state", [](const LtpRule& r) { return r.rule.state(); })
        .def_static("level", &RateRule::level);
    py::class_<Plan>(m, "Plan")
        .def(py::init([](const std::vector<py::object>& links, const std::vector<double>& rates, Time longest,
                         Time wait, Time shortest) {
                 std::vector<LinkConfig> read;
                 for (const py::object& link : links) read.push_back(read_link(link));
                 return std::make_unique<Plan>(read, rates, longest, wait, shortest);
             }),
             py::arg("links"), py::arg("rates"), py::arg("longest"), py::arg("wait") = 0, py::arg("shortest") = 0)
        .def("admit", [](Plan& p, Time deadline, double bytes) { return p.admission.admit(deadline, bytes); })
        .def("expect", [](Plan& p, double rate) { p.admission.expect(rate); })
        .def("begin_layer", [](Plan& p) { p.admission.begin_layer(); });
    m.def("brings_back", [](bool raptorq, std::int64_t arrived, std::int64_t source, double draw) {
        return brings_back(raptorq ? ErasureCode::kRaptorQ : ErasureCode::kMds, arrived, source, draw);
    });
}

}  // namespace dstcc
