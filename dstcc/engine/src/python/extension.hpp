// Congestion controls and schedulers written in Python: adaptors between the engine's interfaces and dstcc/extend.py.
//
// The engine runs without Python's global lock; an adaptor takes it for the length of a call. What the Python side is
// shown are named tuples, built here in the order of their fields; what it may answer is checked there, and an exception
// passes through the engine and ends the trial.
#pragma once

#include <pybind11/pybind11.h>

#include "scheduler/scheduler.hpp"

namespace dstcc {

std::unique_ptr<CongestionControl> make_python_control(const pybind11::object& extension, const ControlSetup& setup);
std::unique_ptr<Scheduler> make_python_scheduler(const pybind11::object& extension, const SchedulerSetup& setup);

}  // namespace dstcc
