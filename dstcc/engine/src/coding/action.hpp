// What somebody outside decides of a trial of `coded` once a slot; at first what the configuration says.
#pragma once

#include <cstdint>
#include <vector>

namespace dstcc {

struct CodedAction {
    std::vector<double> repair;          // by layer: repair packets for each source packet of a block that closes from
                                         // now on; negative: as configured
    std::vector<std::uint8_t> left_out;  // by layer: 1 begins none of its objects, and gives up those that wait
    std::vector<double> pace;            // by subflow: what its law's pace is multiplied by
    int place = -1;                      // a RepairPlace; negative: as configured
};

// What of an action is out of bounds, or no number; nullptr: nothing.
const char* wrong(const CodedAction& action);

}  // namespace dstcc
