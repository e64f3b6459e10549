#include <pybind11/pybind11.h>
PYBIND11_MODULE(_engine, m) { m.attr("ready") = false; }
