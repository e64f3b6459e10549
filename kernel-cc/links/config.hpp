// A link of a plan file, in the simulator's own terms and in emulated time: lines of a key and its values, written by
// dstcc_kernel/link_plan.py. Every program of a trial reads these.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "core/config.hpp"

namespace links {

// Takes the line, if it is a link's: `link` begins the next link, and a key that begins with a dot is of that one. `in` fails
// where a value is missing.
bool read_line(const std::string& key, std::istringstream& in, std::vector<dstcc::LinkConfig>& links);

}  // namespace links
