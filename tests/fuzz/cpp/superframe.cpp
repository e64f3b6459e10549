// libFuzzer over the index of VP9's superframes (svc/dstcc_svc/src/vpx_context.hpp): any packet.
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "vpx_context.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        std::size_t total = 0;
        for (const std::size_t frame : dstcc_svc::frame_sizes(data, size)) total += frame;
        if (total > size) __builtin_trap();
    } catch (const std::runtime_error&) {  // refused
    }
    return 0;
}
