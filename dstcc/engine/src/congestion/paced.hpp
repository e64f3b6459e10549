// The congestion control that only coded packets have.
#pragma once

namespace dstcc {

constexpr const char* kPaced = "paced";  // its name

}  // namespace dstcc
