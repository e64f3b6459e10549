// Python face of coding/stepper.hpp: K episodes, their actions and values in numpy arrays that are allocated once.
#include <pybind11/numpy.h>

#include <cmath>

#include "coding/stepper.hpp"
#include "core/pool.hpp"
#include "python/convert.hpp"

namespace py = pybind11;

namespace dstcc {
namespace {

constexpr int kConfigured =
    -1;  // in the arrays: as the configuration says; kept in step with dstcc/engine/coded_stepper.py

template <class T>
using Array = py::array_t<T, py::array::c_style>;

class CodedStepper {
public:
    CodedStepper(std::size_t episodes, std::size_t subflows, std::size_t layers, int threads)
        : subflows_(subflows),
          layers_(layers),
          episodes_(episodes),
          actions_(episodes),
          pool_(threads),
          repair_({episodes, layers}),
          pace_({episodes, subflows}),
          left_out_({episodes, layers}),
          active_(static_cast<py::ssize_t>(episodes)),
          done_(static_cast<py::ssize_t>(episodes)),
          place_(static_cast<py::ssize_t>(episodes)),
          subflow_values_({episodes, subflows, kCodedSubflowValues.size()}),
          layer_values_({episodes, layers, kCodedLayerValues.size()}),
          episode_values_({episodes, kCodedEpisodeValues.size()}) {
        std::fill_n(repair_.mutable_data(), repair_.size(), static_cast<double>(kConfigured));
        std::fill_n(pace_.mutable_data(), pace_.size(), 1.0);
        std::fill_n(place_.mutable_data(), place_.size(), kConfigured);
        std::fill_n(left_out_.mutable_data(), left_out_.size(), std::uint8_t{0});
        std::fill_n(active_.mutable_data(), active_.size(), std::uint8_t{1});
        std::fill_n(done_.mutable_data(), done_.size(), std::uint8_t{0});
        for (Array<double>* out : {&subflow_values_, &layer_values_, &episode_values_})
            std::fill_n(out->mutable_data(), out->size(), 0.0);
    }

    void load(std::size_t k, const py::object& config) {
        check(k);
        const EngineConfig native = read_engine_config(config);
        require(native.transport.coded, "a coded stepper steps trials of the mode coded");
        auto episode = std::make_unique<CodedEpisode>(native);
        require(episode->subflows() <= subflows_ && episode->layers() <= layers_,
                "the configuration has more subflows or layers than the stepper");
        episodes_[k] = std::move(episode);
        done_.mutable_data()[k] = 0;
        observe(k, data());
    }

    void step() {
        const Data arrays = data();
        for (std::size_t k = 0; k < episodes_.size(); ++k) {
            if (arrays.active[k] == 0) continue;
            require(episodes_[k] != nullptr, "an episode is stepped before it is loaded");
            actions_[k] = action_of(k, arrays);
            if (const char* problem = wrong(actions_[k])) throw py::value_error(problem);
        }
        py::gil_scoped_release release;
        pool_.run(episodes_.size(), [&](std::size_t k) {
            if (arrays.active[k] == 0) return;
            const CodedAction& action = actions_[k];
            episodes_[k]->step(decides(action) || episodes_[k]->steered() ? &action : nullptr);
            observe(k, arrays);
        });
    }

    py::dict result(std::size_t k) const {
        check(k);
        require(episodes_[k] != nullptr, "an episode has a result once it is loaded");
        return engine_result(episodes_[k]->trial());
    }

    Array<double> repair() const { return repair_; }
    Array<double> pace() const { return pace_; }
    Array<std::uint8_t> left_out() const { return left_out_; }
    Array<std::uint8_t> active() const { return active_; }
    Array<std::uint8_t> done() const { return done_; }
    Array<std::int32_t> place() const { return place_; }
    Array<double> subflow_values() const { return subflow_values_; }
    Array<double> layer_values() const { return layer_values_; }
    Array<double> episode_values() const { return episode_values_; }

private:
    struct Data {
        const double *repair, *pace;
        const std::uint8_t *left_out, *active;
        const std::int32_t* place;
        std::uint8_t* done;
        double *subflow, *layer, *episode;
    };
    Data data() {
        return {repair_.data(),
                pace_.data(),
                left_out_.data(),
                active_.data(),
                place_.data(),
                done_.mutable_data(),
                subflow_values_.mutable_data(),
                layer_values_.mutable_data(),
                episode_values_.mutable_data()};
    }
    void check(std::size_t k) const {
        if (k >= episodes_.size()) throw py::index_error("no such episode");
    }
    CodedAction action_of(std::size_t k, const Data& arrays) const {
        CodedAction action;
        action.repair.assign(arrays.repair + k * layers_, arrays.repair + (k + 1) * layers_);
        action.left_out.assign(arrays.left_out + k * layers_, arrays.left_out + (k + 1) * layers_);
        action.pace.assign(arrays.pace + k * subflows_, arrays.pace + (k + 1) * subflows_);
        action.place = arrays.place[k];
        return action;
    }
    static bool decides(const CodedAction& action) {
        return action.place != kConfigured ||
               std::any_of(action.repair.begin(), action.repair.end(), [](double x) { return x != kConfigured; }) ||
               std::any_of(action.left_out.begin(), action.left_out.end(), [](std::uint8_t x) { return x != 0; }) ||
               std::any_of(action.pace.begin(), action.pace.end(), [](double x) { return x != 1; });
    }
    void observe(std::size_t k, const Data& arrays) {
        const CodedEpisode& episode = *episodes_[k];
        episode.observe(arrays.subflow + k * subflows_ * kCodedSubflowValues.size(), subflows_,
                        arrays.layer + k * layers_ * kCodedLayerValues.size(), layers_,
                        arrays.episode + k * kCodedEpisodeValues.size());
        arrays.done[k] = !episode.trial().over() ? 0 : episode.trial().finished() ? 1 : 2;
    }

    std::size_t subflows_, layers_;
    std::vector<std::unique_ptr<CodedEpisode>> episodes_;
    std::vector<CodedAction> actions_;  // of this step
    Pool pool_;
    Array<double> repair_, pace_;
    Array<std::uint8_t> left_out_, active_, done_;
    Array<std::int32_t> place_;
    Array<double> subflow_values_, layer_values_, episode_values_;
};

template <class Names>
py::tuple to_tuple(const Names& names) {
    py::tuple out(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) out[i] = py::str(names[i]);
    return out;
}

}  // namespace

void bind_coded_stepper(py::module_& engine) {
    py::class_<CodedStepper>(engine, "CodedStepper", "Coded trials side by side; see dstcc.engine.CodedStepper.")
        .def(py::init<std::size_t, std::size_t, std::size_t, int>(), py::arg("episodes"), py::arg("subflows"),
             py::arg("layers"), py::arg("threads"))
        .def("load", &CodedStepper::load, py::arg("episode"), py::arg("config"))
        .def("step", &CodedStepper::step)
        .def("result", &CodedStepper::result, py::arg("episode"))
        .def_property_readonly("repair", &CodedStepper::repair)
        .def_property_readonly("pace", &CodedStepper::pace)
        .def_property_readonly("left_out", &CodedStepper::left_out)
        .def_property_readonly("place", &CodedStepper::place)
        .def_property_readonly("active", &CodedStepper::active)
        .def_property_readonly("done", &CodedStepper::done)
        .def_property_readonly("subflow_values", &CodedStepper::subflow_values)
        .def_property_readonly("layer_values", &CodedStepper::layer_values)
        .def_property_readonly("episode_values", &CodedStepper::episode_values);
    engine.attr("CODED_SUBFLOW_VALUES") = to_tuple(kCodedSubflowValues);
    engine.attr("CODED_LAYER_VALUES") = to_tuple(kCodedLayerValues);
    engine.attr("CODED_EPISODE_VALUES") = to_tuple(kCodedEpisodeValues);
}

}  // namespace dstcc
