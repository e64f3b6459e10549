// A link of a plan file, in the simulator's own terms and in emulated time: lines of a key and its values, written by
// dstcc_kernel/link_plan.py. Every program of a trial reads these.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "core/config.hpp"

namespace links {

// Takes the line, if its key is one of a link's; `link` begins the next link. `in` fails where a value is missing.
bool read_line(const std::string& key, std::istringstream& in, std::vector<dstcc::LinkConfig>& links);

}  // namespace links
