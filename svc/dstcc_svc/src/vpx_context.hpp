// What libvpx's encoder and decoder share here: owning a context, its errors, superframes, pictures for Python.
#pragma once

#include <pybind11/pybind11.h>
#include <vpx/vpx_codec.h>
#include <vpx/vpx_image.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace dstcc_svc {

[[noreturn]] inline void fail(vpx_codec_ctx_t& codec, const std::string& what) {
    const char* detail = vpx_codec_error_detail(&codec);
    throw std::runtime_error("libvpx: " + what + ": " + vpx_codec_error(&codec) +
                             (detail != nullptr ? std::string(" (") + detail + ")" : ""));
}

// Owns the codec context; the constructor of its user may throw after the library's init.
struct Context {
    vpx_codec_ctx_t codec{};
    Context() = default;
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    ~Context() { vpx_codec_destroy(&codec); }
};

// Frame sizes of a superframe (VP9 bitstream specification, annex B); one size when there is no index.
inline std::vector<size_t> frame_sizes(const uint8_t* data, size_t bytes) {
    if (bytes == 0) throw std::runtime_error("libvpx: empty packet");
    const uint8_t marker = data[bytes - 1];
    if ((marker & 0xe0) != 0xc0) return {bytes};
    const size_t frames = (marker & 7u) + 1u;
    const size_t width = ((marker >> 3) & 3u) + 1u;
    const size_t index = 2 + frames * width;
    if (bytes < index || data[bytes - index] != marker) return {bytes};
    std::vector<size_t> sizes;
    size_t total = 0;
    const uint8_t* cursor = data + bytes - index + 1;
    for (size_t frame = 0; frame < frames; ++frame) {
        size_t size = 0;
        for (size_t i = 0; i < width; ++i) size |= static_cast<size_t>(*cursor++) << (8 * i);
        sizes.push_back(size);
        total += size;
    }
    if (total + index != bytes) throw std::runtime_error("libvpx: a superframe's index does not add up");
    return sizes;
}

// (width, height, I420 bytes without padding)
inline pybind11::tuple picture_of(const vpx_image_t& image) {
    std::string planes;
    for (int plane = 0; plane < 3; ++plane) {
        const unsigned shift = plane == 0 ? 0 : 1;
        const unsigned columns = (image.d_w + shift) >> shift;
        const unsigned rows = (image.d_h + shift) >> shift;
        for (unsigned row = 0; row < rows; ++row)
            planes.append(
                reinterpret_cast<const char*>(image.planes[plane]) + static_cast<ptrdiff_t>(row) * image.stride[plane],
                columns);
    }
    return pybind11::make_tuple(image.d_w, image.d_h, pybind11::bytes(planes));
}

}  // namespace dstcc_svc
