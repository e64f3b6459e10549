#include "python/extension.hpp"

namespace py = pybind11;

namespace dstcc {

namespace {

double seconds(Time at) { return static_cast<double>(at) / kNsPerS; }

py::object number(double value) { return py::reinterpret_steal<py::object>(PyFloat_FromDouble(value)); }
py::object number(std::int64_t value) { return py::reinterpret_steal<py::object>(PyLong_FromLongLong(value)); }
py::object number(bool value) { return py::bool_(value); }

// A named tuple without its constructor's detour through Python.
template <class... Fields>
py::object named_tuple(const py::object& type, Fields... fields) {
    auto values = py::reinterpret_steal<py::object>(PyTuple_New(sizeof...(fields)));
    Py_ssize_t i = 0;
    (PyTuple_SET_ITEM(values.ptr(), i++, number(fields).release().ptr()), ...);
    const auto arguments = py::reinterpret_steal<py::object>(PyTuple_Pack(1, values.ptr()));
    PyObject* made = PyTuple_Type.tp_new(reinterpret_cast<PyTypeObject*>(type.ptr()), arguments.ptr(), nullptr);
    if (made == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(made);
}

std::int64_t least_rtt(const TcpState& tcp) { return tcp.min_rtt_ns == kNever ? 0 : tcp.min_rtt_ns; }

py::tuple members(SubflowSet set) {
    py::tuple out(count(set));
    for (std::size_t i = 0; set != 0; set &= set - 1) out[i++] = py::int_(lowest(set));
    return out;
}

// The window is the extension's alone: the engine neither grows nor reduces it.
class PythonControl final : public CongestionControl {
public:
    PythonControl(const py::object& calls)
        : view_(calls.attr("view")),
          on_ack_(calls.attr("on_ack")),
          on_loss_(calls.attr("on_loss")),
          hears_losses_(!on_loss_.is_none()),
          interval_(static_cast<Time>(calls.attr("interval_s").cast<double>() * kNsPerS)) {}

    void init(TcpState& tcp, Time now) override {
        delivered_ = tcp.delivered;
        lost_ = tcp.lost;
        next_ = now;
    }
    std::int64_t ssthresh(TcpState& tcp, Time) override { return tcp.ssthresh; }
    void cong_avoid(TcpState&, std::int64_t, Time) override {}
    bool owns_window() const override { return true; }

    bool wants_rates() const override { return true; }
    bool cong_control(TcpState& tcp, const RateSample& sample, Time now) override {
        if (sample.interval_ns > 0 && sample.delivered > 0) {
            rate_bps_ = static_cast<double>(sample.delivered) * tcp.mss_bytes * 8.0 * kNsPerS /
                        static_cast<double>(sample.interval_ns);
            app_limited_ = sample.is_app_limited;
        }
        const bool news = tcp.delivered != delivered_ || tcp.lost != lost_;
        if (news && now >= next_) {
            next_ = now + interval_;
            ask(on_ack_, tcp, false, now);
        }
        return true;
    }
    void on_event(TcpState& tcp, CaEvent event, Time now) override {
        if (hears_losses_ && (event == CaEvent::kEnterRecovery || event == CaEvent::kEnterLoss))
            ask(on_loss_, tcp, event == CaEvent::kEnterLoss, now);
    }

private:
    void ask(const py::object& method, TcpState& tcp, bool timeout, Time now) {
        const py::gil_scoped_acquire gil;
        const py::object view = named_tuple(
            view_, seconds(now), static_cast<std::int64_t>(tcp.subflow), tcp.cwnd, tcp.in_flight(),
            seconds(tcp.srtt_ns), seconds(least_rtt(tcp)), seconds(std::max<Time>(tcp.last_rtt_ns, 0)),
            static_cast<std::int64_t>(tcp.delivered - delivered_), static_cast<std::int64_t>(tcp.lost - lost_),
            static_cast<std::int64_t>(tcp.delivered), static_cast<std::int64_t>(tcp.lost), rate_bps_, app_limited_,
            tcp.ca_state != CaState::kOpen, timeout);
        delivered_ = tcp.delivered;
        lost_ = tcp.lost;
        const py::object answer = method(view);
        const bool paced = PyTuple_Check(answer.ptr()) != 0;
        const double window = paced ? answer[py::int_(0)].cast<double>() : answer.cast<double>();
        const double pacing_bps = paced ? answer[py::int_(1)].cast<double>() : 0;
        tcp.cwnd = std::max<std::int64_t>(static_cast<std::int64_t>(window), 1);
        tcp.pacing_bytes_per_ns = pacing_bps / 8.0 / kNsPerS;
    }

    py::object view_, on_ack_, on_loss_;
    bool hears_losses_;
    Time interval_, next_ = 0;
    std::uint64_t delivered_ = 0, lost_ = 0;  // at the last call
    double rate_bps_ = 0;
    bool app_limited_ = false;
};

class PythonScheduler final : public Scheduler {
public:
    PythonScheduler(const py::object& calls)
        : path_(calls.attr("path_view")),
          item_(calls.attr("item_view")),
          pick_(calls.attr("pick")),
          on_ack_(calls.attr("on_ack")),
          wants_feedback_(!on_ack_.is_none()) {}

    int pick(const std::vector<Path>& paths, SubflowSet ready, const Next& next) override {
        const py::gil_scoped_acquire gil;
        py::tuple views(paths.size());
        for (std::size_t i = 0; i < paths.size(); ++i) views[i] = view(i, paths[i], next.now_ns);
        const bool unlimited = next.room == kNoLimit;
        const py::object item = named_tuple(item_, seconds(next.now_ns), static_cast<std::int64_t>(next.layer),
                                            next.bytes, next.backlog, unlimited ? std::int64_t{-1} : next.room);
        return pick_(views, members(ready), item, members(next.busy)).cast<int>();
    }
    bool wants_feedback() const override { return wants_feedback_; }
    void on_ack(int path, std::int64_t acked_bytes, Time sent_ns, Time now) override {
        const py::gil_scoped_acquire gil;
        on_ack_(path, acked_bytes, seconds(now - sent_ns), seconds(now));
    }

private:
    py::object view(std::size_t index, const Path& path, Time now) const {
        const TcpState& tcp = path.subflow->tcp();
        return named_tuple(path_, static_cast<std::int64_t>(index), path.subflow->established(), tcp.cwnd,
                           tcp.in_flight(), seconds(tcp.srtt_ns), seconds(least_rtt(tcp)), seconds(path.one_way_ns),
                           path.transmitter->queue_bytes(now), path.assigned_bytes,
                           static_cast<std::int64_t>(tcp.delivered), static_cast<std::int64_t>(tcp.lost),
                           tcp.pacing_bytes_per_ns * 8.0 * kNsPerS);
    }

    py::object path_, item_, pick_, on_ack_;
    bool wants_feedback_;
};

}  // namespace

std::unique_ptr<CongestionControl> make_python_control(const py::object& extension, const ControlSetup& setup) {
    const TcpState& tcp = setup.tcp;
    return std::make_unique<PythonControl>(extension.attr("control")(
        py::arg("seed") = tcp.seed, py::arg("subflow") = tcp.subflow, py::arg("mss_bytes") = tcp.mss_bytes,
        py::arg("header_bytes") = tcp.wire_bytes - tcp.mss_bytes, py::arg("initial_cwnd_segments") = tcp.initial_cwnd,
        py::arg("link_rate_bps") = setup.line_bps));
}

std::unique_ptr<Scheduler> make_python_scheduler(const py::object& extension, const SchedulerSetup& setup) {
    return std::make_unique<PythonScheduler>(extension.attr("scheduler")(
        py::arg("seed") = setup.seed, py::arg("subflows") = setup.paths,
        py::arg("mss_bytes") = setup.transport.mss_bytes, py::arg("header_bytes") = setup.transport.header_bytes,
        py::arg("mode") = setup.transport.lanes ? "lanes" : "stream"));
}

}  // namespace dstcc
