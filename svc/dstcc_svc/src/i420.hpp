// A picture handed over from Python: 8-bit 4:2:0, the layout of PyAV's `to_ndarray(format="yuv420p")`.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace dstcc_svc {

// Both libraries use int for sizes and products of them; 16384 keeps width * height * 3/2 below 2^31.
constexpr int kMaxSide = 16384;
static_assert(static_cast<int64_t>(kMaxSide) * kMaxSide * 3 / 2 < INT32_MAX);

inline void check_size(int width, int height, int min_side) {
    if (width < min_side || height < min_side || width > kMaxSide || height > kMaxSide)
        throw std::invalid_argument("size " + std::to_string(width) + "x" + std::to_string(height) +
                                    ": each side must be " + std::to_string(min_side) + ".." +
                                    std::to_string(kMaxSide));
    if (width % 2 != 0 || height % 2 != 0)
        throw std::invalid_argument("size " + std::to_string(width) + "x" + std::to_string(height) +
                                    ": both sides must be even");
}

// Borrows a C-contiguous uint8 array of shape (height * 3/2, width): Y, then U, then V, without padding.
// Holds the buffer for its lifetime, so the encoder may read it with the GIL released.
class I420View {
public:
    I420View(const pybind11::buffer& picture, int width, int height) : info_(picture.request()) {
        const auto rows = static_cast<pybind11::ssize_t>(height) * 3 / 2;
        if (info_.itemsize != 1 || info_.format != pybind11::format_descriptor<uint8_t>::format())
            throw std::invalid_argument("picture: elements must be uint8, not '" + info_.format + "'");
        if (info_.ndim != 2 || info_.shape[0] != rows || info_.shape[1] != width)
            throw std::invalid_argument("picture: shape must be (" + std::to_string(rows) + ", " +
                                        std::to_string(width) + ")");
        if (info_.strides[0] != width || info_.strides[1] != 1)
            throw std::invalid_argument("picture: rows must be contiguous");
    }

    // The libraries take non-const pointers but only read the input.
    uint8_t* data() const { return static_cast<uint8_t*>(info_.ptr); }

private:
    pybind11::buffer_info info_;
};

}  // namespace dstcc_svc
