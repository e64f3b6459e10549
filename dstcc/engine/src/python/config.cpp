// The dataclasses of dstcc/engine/config.py as the engine's structs.
#include <pybind11/stl.h>

#include <limits>

#include "core/read_config.hpp"
#include "python/convert.hpp"
#include "python/extension.hpp"

namespace py = pybind11;

namespace dstcc {
namespace {

template <class T>
struct IsVectorOfNumbers : std::false_type {};
template <class T>
struct IsVectorOfNumbers<std::vector<T>> : std::is_arithmetic<T> {};

// A value of a dataclass.
class Value {
public:
    Value(py::object value, std::string name) : value_(std::move(value)), name_(std::move(name)) {}
    Value operator[](const std::string& name) const { return {value_.attr(name.c_str()), name}; }
    bool none() const { return value_.is_none(); }
    std::vector<Value> entries() const {
        std::vector<Value> out;
        for (const auto& entry : value_) out.emplace_back(py::reinterpret_borrow<py::object>(entry), name_);
        return out;
    }
    template <class T>
    T as() const {
        if constexpr (IsVectorOfNumbers<T>::value)
            if (py::isinstance<py::array>(value_)) return array<typename T::value_type>();
        return value_.cast<T>();
    }
    template <class T>
    void fill(Column<T>& column) const {
        const std::vector<std::int64_t> values = array<std::int64_t>();
        if constexpr (std::is_same_v<T, std::int64_t>)
            column = values;
        else {
            for (const std::int64_t value : values)
                if (value < 0 || value > std::int64_t{std::numeric_limits<T>::max()})
                    throw py::value_error(name_ + ": " + std::to_string(value) + " is out of range");
            column = std::vector<T>(values.begin(), values.end());
        }
    }
    Parameters numbers() const {
        Parameters out;
        for (const auto& [name, value] : value_.attr("numbers")().cast<std::map<std::string, double>>())
            out[name] = {value};
        return out;
    }

private:
    template <class T>
    std::vector<T> array() const {
        const auto values = py::array_t<T, py::array::c_style | py::array::forcecast>::ensure(value_);
        if (!values || values.ndim() != 1) throw py::value_error(name_ + " must be a flat array of numbers");
        return {values.data(), values.data() + values.size()};
    }
    py::object value_;
    std::string name_;
};

template <class T>
T read(const py::handle& value) {
    T out;
    ConfigReader<Value>().read(Value(py::reinterpret_borrow<py::object>(value), ""), out);
    return out;
}

void read_extensions(const py::handle& transport, TransportConfig& out) {
    // NOLINTBEGIN(bugprone-exception-escape): a py::object checks that the lock is held when it goes, and it is
    if (const py::object extension = transport.attr("congestion_extension"); !extension.is_none())
        out.make_control = [extension](const ControlSetup& setup) { return make_python_control(extension, setup); };
    if (const py::object extension = transport.attr("scheduler_extension"); !extension.is_none())
        out.make_scheduler = [extension](const SchedulerSetup& setup) {
            return make_python_scheduler(extension, setup);
        };
    // NOLINTEND(bugprone-exception-escape)
}

}  // namespace

LossConfig read_loss(const py::handle& loss) {
    auto out = read<LossConfig>(loss);
    validate(out);
    return out;
}

LinkConfig read_link(const py::handle& link) {
    auto out = read<LinkConfig>(link);
    validate(out.loss);
    validate(out.up_loss);
    return out;
}

NodeConfig read_node(const py::handle& node) { return read<NodeConfig>(node); }

TransportConfig read_transport_config(const py::handle& transport) {
    auto out = read<TransportConfig>(transport);
    read_extensions(transport, out);
    return out;
}

EngineConfig read_engine_config(const py::handle& config) {
    auto out = read<EngineConfig>(config);
    read_extensions(config.attr("transport"), out.transport);
    validate(out);
    return out;
}

}  // namespace dstcc
