// VP9 quality and size scalability through libvpx: layers of falling quantizer, each as large as the one below it or
// twice as wide and high.
//
// Layer k of a frame is predicted from layer k of the frame before and from layer k-1 of the same frame, never from a
// higher layer, so frames 0..m of every superframe form a stream of their own. `g_error_resilient` is what makes that
// true in the entropy coder too: without it a frame inherits the probabilities adapted by the frame coded before it,
// which is the top layer of the last picture, and the base layer alone decodes to garbage.
//
// From a smaller layer, enlarged by the decoder, only the first picture is predicted (WebRTC's L2T1_KEY and L3T1_KEY).
// libvpx 1.12's rate-distortion search, which the slower real-time speeds and the other deadline use, takes the smaller
// picture for one of full size and reads beyond its end. The faster speeds, without that search, code the first
// picture; predicting every picture there would save them at most 2 % of the bits.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <vpx/vp8cx.h>
#include <vpx/vp8dx.h>
#include <vpx/vpx_decoder.h>
#include <vpx/vpx_encoder.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "i420.hpp"
#include "vpx_context.hpp"

namespace py = pybind11;

namespace dstcc_svc {
namespace {

constexpr int kMinSide = 16;       // below this libvpx's one-pass mode has no whole block to work on
constexpr int kMaxLayers = 4;      // libvpx has 5, and 8 reference slots; four is what dstcc streams use
constexpr int kMaxQuantizer = 63;  // libvpx's external scale, 0 (finest) .. 63
// libvpx 1.12 starts a layer when its output buffer has room for one raw picture and does not check further.
// Black-and-white noise, the worst there is, takes 0.91 of that at quantizer 8 and 1.39 at 0.
constexpr int kMinQuantizer = 8;
constexpr int kMaxSpeed = 9;         // VP8E_SET_CPUUSED of VP9
constexpr int kMaxDivisor = 4;       // of the smallest layer's width and height: three sizes, as WebRTC's L3
constexpr int kSearchlessSpeed = 5;  // the slowest real-time speed without a rate-distortion search
constexpr int kTileColumnsLog2 = 2;  // at most four, fewer below 1024 pixels of width: what threads share out
constexpr unsigned kThreads = 4;     // one per tile column; the bytes do not depend on it
constexpr unsigned kPredictAll = 0, kPredictFromSmallerOnKey = 2;  // VP9E_SET_SVC_INTER_LAYER_PRED
constexpr unsigned kRateKbps = 100000;  // per layer; out of the way, as the quantizers are fixed, and four fit an int

class Encoder {
public:
    Encoder(int width, int height, const std::vector<int>& quantizers, const std::vector<int>& divisors, int speed,
            bool realtime)
        : width_(width),
          height_(height),
          layers_(static_cast<int>(quantizers.size())),
          several_sizes_(!divisors.empty() && divisors.front() != divisors.back()),
          speed_(speed),
          deadline_(realtime ? VPX_DL_REALTIME : VPX_DL_GOOD_QUALITY) {
        check_size(width, height, kMinSide);
        if (layers_ < 1 || layers_ > kMaxLayers)
            throw std::invalid_argument("quantizers: 1..4 layers, not " + std::to_string(layers_));
        for (const int q : quantizers)
            if (q < kMinQuantizer || q > kMaxQuantizer)
                throw std::invalid_argument("quantizer " + std::to_string(q) + ": must be 8..63");
        if (speed < 0 || speed > kMaxSpeed)
            throw std::invalid_argument("speed " + std::to_string(speed) + ": must be 0..9");
        check_divisors(divisors);
        open(quantizers);
        configure(quantizers, divisors);
    }

    // -> one VP9 frame per layer, base first
    py::list encode(const py::buffer& picture) {
        const I420View view(picture, width_, height_);
        std::vector<std::string> frames;
        {
            const py::gil_scoped_release unlocked;
            const std::lock_guard<std::mutex> guard(mutex_);
            if (failed_) throw std::runtime_error("libvpx: this encoder has failed before");
            failed_ = true;
            frames = encode_locked(view);
            failed_ = false;
        }
        py::list result;
        for (const std::string& frame : frames) result.append(py::bytes(frame));
        return result;
    }

    // The finest picture of the last superframe as the encoder has it, from which it predicts the next one.
    py::tuple reconstruction() {
        const std::lock_guard<std::mutex> guard(mutex_);
        vp9_ref_frame_t reference{};  // whatever its index, libvpx 1.12 answers with the frame shown last
        if (frame_ == 0 || vpx_codec_control(&context_.codec, VP9_GET_REFERENCE, &reference) != VPX_CODEC_OK)
            throw std::runtime_error("libvpx: no picture has been coded");
        return picture_of(reference.img);
    }

private:
    void check_divisors(const std::vector<int>& divisors) const {
        if (divisors.size() != static_cast<size_t>(layers_) || divisors.back() != 1)
            throw std::invalid_argument("divisors: one per layer, the last one 1");
        for (size_t k = 1; k < divisors.size(); ++k)
            if (divisors[k - 1] != divisors[k] && divisors[k - 1] != 2 * divisors[k])
                throw std::invalid_argument("divisors: each must be the next one or twice that");
        const int smallest = divisors.front();
        if (smallest > kMaxDivisor) throw std::invalid_argument("divisors: at most " + std::to_string(kMaxDivisor));
        if (width_ % (2 * smallest) != 0 || height_ % (2 * smallest) != 0 ||
            std::min(width_, height_) / smallest < kMinSide)
            throw std::invalid_argument("size " + std::to_string(width_) + "x" + std::to_string(height_) +
                                        ": the smallest layer needs even sides of " + std::to_string(kMinSide) +
                                        " or more");
    }

    void open(const std::vector<int>& quantizers) {
        vpx_codec_iface_t* interface = vpx_codec_vp9_cx();
        vpx_codec_enc_cfg_t cfg{};
        if (vpx_codec_enc_config_default(interface, &cfg, 0) != VPX_CODEC_OK)
            throw std::runtime_error("libvpx: no default VP9 configuration");
        const auto layers = static_cast<unsigned>(layers_);
        cfg.g_w = static_cast<unsigned>(width_);
        cfg.g_h = static_cast<unsigned>(height_);
        cfg.g_timebase = {1, 30};
        cfg.g_threads = kThreads;
        cfg.g_error_resilient = VPX_ERROR_RESILIENT_DEFAULT;
        cfg.g_lag_in_frames = 0;
        cfg.g_pass = VPX_RC_ONE_PASS;
        cfg.kf_mode = VPX_KF_DISABLED;  // one key frame per encoder: an encoder encodes one chunk
        cfg.rc_end_usage = VPX_CBR;     // the one mode in which libvpx does one-pass SVC
        cfg.rc_dropframe_thresh = 0;
        cfg.rc_resize_allowed = 0;
        cfg.rc_min_quantizer = static_cast<unsigned>(*std::min_element(quantizers.begin(), quantizers.end()));
        cfg.rc_max_quantizer = static_cast<unsigned>(*std::max_element(quantizers.begin(), quantizers.end()));
        cfg.rc_target_bitrate = kRateKbps * layers;
        cfg.ss_number_layers = layers;
        cfg.ts_number_layers = 1;
        cfg.ts_rate_decimator[0] = 1;
        cfg.temporal_layering_mode = VP9E_TEMPORAL_LAYERING_MODE_NOLAYERING;
        for (unsigned k = 0; k < layers; ++k) cfg.layer_target_bitrate[k] = cfg.ss_target_bitrate[k] = kRateKbps;
        if (vpx_codec_enc_init(&context_.codec, interface, &cfg, 0) != VPX_CODEC_OK)
            fail(context_.codec, "cannot open a VP9 encoder");
    }

    void configure(const std::vector<int>& quantizers, const std::vector<int>& divisors) {
        for (size_t k = 0; k < quantizers.size(); ++k) {
            svc_.min_quantizers[k] = svc_.max_quantizers[k] = quantizers[k];
            svc_.scaling_factor_num[k] = 1;
            svc_.scaling_factor_den[k] = divisors[k];
        }
        svc_.temporal_layering_mode = VP9E_TEMPORAL_LAYERING_MODE_NOLAYERING;
        const unsigned prediction = several_sizes_ ? kPredictFromSmallerOnKey : kPredictAll;
        vpx_codec_ctx_t* codec = &context_.codec;
        const bool ok = vpx_codec_control(codec, VP9E_SET_SVC, 1) == VPX_CODEC_OK && set_speed() &&
                        vpx_codec_control(codec, VP9E_SET_SVC_INTER_LAYER_PRED, prediction) == VPX_CODEC_OK &&
                        vpx_codec_control(codec, VP9E_SET_TILE_COLUMNS, kTileColumnsLog2) == VPX_CODEC_OK &&
                        vpx_codec_control(codec, VP9E_SET_AQ_MODE, 0u) == VPX_CODEC_OK &&
                        vpx_codec_control(codec, VP9E_SET_NOISE_SENSITIVITY, 0u) == VPX_CODEC_OK;
        if (!ok) fail(context_.codec, "cannot set up the layers");
    }

    bool first_of_several_sizes() const { return several_sizes_ && frame_ == 0; }

    // The speed of the next picture, the same for all its layers
    bool set_speed() {
        const int speed = first_of_several_sizes() ? std::max(speed_, kSearchlessSpeed) : speed_;
        std::fill_n(svc_.speed_per_layer, layers_, speed);
        return vpx_codec_control(&context_.codec, VP8E_SET_CPUUSED, speed) == VPX_CODEC_OK &&
               vpx_codec_control(&context_.codec, VP9E_SET_SVC_PARAMETERS, &svc_) == VPX_CODEC_OK;
    }

    std::vector<std::string> encode_locked(const I420View& view) {
        vpx_image_t image{};
        if (vpx_img_wrap(&image, VPX_IMG_FMT_I420, static_cast<unsigned>(width_), static_cast<unsigned>(height_), 1,
                         view.data()) == nullptr)
            throw std::runtime_error("libvpx: cannot wrap the picture");
        const vpx_enc_frame_flags_t flags = frame_ == 0 ? VPX_EFLAG_FORCE_KF : 0;
        const unsigned long deadline = first_of_several_sizes() ? VPX_DL_REALTIME : deadline_;
        if (frame_ == 1 && several_sizes_ && !set_speed()) fail(context_.codec, "cannot set the speed");
        if (vpx_codec_encode(&context_.codec, &image, frame_, 1, flags, deadline) != VPX_CODEC_OK)
            fail(context_.codec, "encoding failed at frame " + std::to_string(frame_));
        ++frame_;
        std::vector<std::string> frames;
        vpx_codec_iter_t iterator = nullptr;
        while (const vpx_codec_cx_pkt_t* packet = vpx_codec_get_cx_data(&context_.codec, &iterator)) {
            if (packet->kind != VPX_CODEC_CX_FRAME_PKT) continue;
            const auto* data = static_cast<const uint8_t*>(packet->data.frame.buf);
            for (const size_t size : frame_sizes(data, packet->data.frame.sz)) {
                frames.emplace_back(reinterpret_cast<const char*>(data), size);
                data += size;
            }
        }
        if (static_cast<int>(frames.size()) != layers_)
            throw std::runtime_error("libvpx: picture " + std::to_string(frame_ - 1) +
                                     " has no room in the library's buffer with all its layers");
        return frames;
    }

    const int width_;
    const int height_;
    const int layers_;
    const bool several_sizes_;
    const int speed_;
    const unsigned long deadline_;
    vpx_svc_extra_cfg_t svc_{};
    vpx_codec_pts_t frame_ = 0;
    bool failed_ = false;  // layers of the failed picture may still be inside the library
    std::mutex mutex_;
    Context context_;
};

// libvpx's own reading of "layers 0..m of the whole stream": the reference that assembled prefixes must equal.
class LayerDecoder {
public:
    LayerDecoder(int layer) {
        if (layer < 0 || layer >= kMaxLayers)
            throw std::invalid_argument("layer " + std::to_string(layer) + ": must be 0..3");
        if (vpx_codec_dec_init(&context_.codec, vpx_codec_vp9_dx(), nullptr, 0) != VPX_CODEC_OK ||
            vpx_codec_control(&context_.codec, VP9_DECODE_SVC_SPATIAL_LAYER, layer) != VPX_CODEC_OK)
            fail(context_.codec, "cannot open a VP9 decoder");
    }

    // One superframe -> (width, height, I420 bytes without padding)
    py::tuple decode(const py::bytes& superframe) {
        const auto view = static_cast<std::string_view>(superframe);
        if (view.empty()) throw std::invalid_argument("superframe: empty");
        if (vpx_codec_decode(&context_.codec, reinterpret_cast<const uint8_t*>(view.data()),
                             static_cast<unsigned>(view.size()), nullptr, 0) != VPX_CODEC_OK)
            fail(context_.codec, "cannot decode");
        vpx_codec_iter_t iterator = nullptr;
        const vpx_image_t* image = vpx_codec_get_frame(&context_.codec, &iterator);
        if (image == nullptr || image->fmt != VPX_IMG_FMT_I420)
            throw std::runtime_error("libvpx: no 8-bit 4:2:0 frame");
        if (vpx_codec_get_frame(&context_.codec, &iterator) != nullptr)
            throw std::runtime_error("libvpx: more than one frame for a superframe");
        return picture_of(*image);
    }

private:
    Context context_;
};

}  // namespace
}  // namespace dstcc_svc

PYBIND11_MODULE(_vpx, m) {
    using dstcc_svc::Encoder;
    using dstcc_svc::LayerDecoder;
    m.doc() = "libvpx's VP9 with layers of quality and size";
    m.def("library_version", [] { return std::string(vpx_codec_version_str()); });
    m.attr("MAX_LAYERS") = dstcc_svc::kMaxLayers;
    m.attr("MIN_SIDE") = dstcc_svc::kMinSide;
    m.attr("MIN_QUANTIZER") = dstcc_svc::kMinQuantizer;
    m.attr("MAX_QUANTIZER") = dstcc_svc::kMaxQuantizer;
    py::class_<Encoder>(m, "Encoder", py::module_local(), "Encodes one chunk: its first picture is a key frame.")
        .def(py::init<int, int, const std::vector<int>&, const std::vector<int>&, int, bool>(), py::arg("width"),
             py::arg("height"), py::arg("quantizers"), py::arg("divisors"), py::arg("speed"), py::arg("realtime"))
        .def("encode", &Encoder::encode, py::arg("picture"),
             "A (height * 3/2, width) uint8 picture -> one VP9 frame per layer, base first.")
        .def("reconstruction", &Encoder::reconstruction,
             "The finest picture of the last superframe -> (width, height, I420 bytes).");
    py::class_<LayerDecoder>(m, "LayerDecoder", py::module_local(),
                             "Decodes whole superframes up to one layer: the reference for assembled prefixes.")
        .def(py::init<int>(), py::arg("layer"))
        .def("decode", &LayerDecoder::decode, py::arg("superframe"), "-> (width, height, I420 bytes).");
}
