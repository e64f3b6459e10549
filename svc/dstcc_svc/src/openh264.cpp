// OpenH264's temporal scalability: dyadic hierarchical P frames, every access unit with its temporal id.
//
// With T temporal layers the group of pictures has 2^(T-1) frames; layer 0 holds one of them, each further
// layer doubles the rate. A frame refers only to frames of lower layers or, in layer 0, of the same layer.
// Rate control is off: the quantizer is constant per layer, cascaded by the library (layer 0 finer).
#include <pybind11/pybind11.h>
#include <wels/codec_api.h>

#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include "i420.hpp"

namespace py = pybind11;

namespace dstcc_svc {
namespace {

constexpr int kMinSide = 16;      // one macroblock; smaller pictures are refused by the library
constexpr int kMaxLayers = 4;     // MAX_TEMPORAL_LAYER_NUM of the library
constexpr int kMaxQp = 51;        // H.264, clause 7.4.2.2
constexpr double kMinFps = 1.0;   // MIN_FRAME_RATE and MAX_FRAME_RATE of the library,
constexpr double kMaxFps = 60.0;  // which with rate control off only picks a level by them

struct Destroy {
    void operator()(ISVCEncoder* encoder) const {
        encoder->Uninitialize();
        WelsDestroySVCEncoder(encoder);
    }
};

class Encoder {
public:
    Encoder(int width, int height, int qp, int layers, double fps) : width_(width), height_(height) {
        check_size(width, height, kMinSide);
        if (qp < 0 || qp > kMaxQp) throw std::invalid_argument("qp " + std::to_string(qp) + ": must be 0..51");
        if (layers < 1 || layers > kMaxLayers)
            throw std::invalid_argument("layers " + std::to_string(layers) + ": must be 1..4");
        if (!(fps >= kMinFps && fps <= kMaxFps)) throw std::invalid_argument("fps: must be 1..60");

        ISVCEncoder* raw = nullptr;
        if (WelsCreateSVCEncoder(&raw) != 0 || raw == nullptr)
            throw std::runtime_error("OpenH264: cannot create an encoder");
        encoder_.reset(raw);
        int quiet = WELS_LOG_QUIET;
        encoder_->SetOption(ENCODER_OPTION_TRACE_LEVEL, &quiet);
        SEncParamExt parameters = settings(qp, layers, fps);
        if (encoder_->InitializeExt(&parameters) != cmResultSuccess)
            throw std::runtime_error("OpenH264: refused " + std::to_string(width) + "x" + std::to_string(height) +
                                     " with " + std::to_string(layers) +
                                     " temporal layers; it codes at most 36864 macroblocks (4096x2304)");
    }

    // -> (temporal id, is it an IDR picture, Annex B access unit)
    py::tuple encode(const py::buffer& picture) {
        const I420View view(picture, width_, height_);
        std::string unit;
        int temporal_id = -1;
        bool idr = false;
        {
            const py::gil_scoped_release unlocked;
            const std::lock_guard<std::mutex> guard(mutex_);
            if (failed_) throw std::runtime_error("OpenH264: this encoder has failed before");
            SFrameBSInfo info{};
            SSourcePicture source = wrap(view);
            failed_ = encoder_->EncodeFrame(&source, &info) != cmResultSuccess;
            if (failed_)
                throw std::runtime_error("OpenH264: picture " + std::to_string(frame_) +
                                         " needs more than the 8 bits per pixel the library has room for");
            ++frame_;
            idr = info.eFrameType == videoFrameTypeIDR;
            for (int i = 0; i < info.iLayerNum; ++i) temporal_id = append(info.sLayerInfo[i], unit, temporal_id);
        }
        if (temporal_id < 0) throw std::runtime_error("OpenH264: a frame was skipped although rate control is off");
        return py::make_tuple(temporal_id, idr, py::bytes(unit));
    }

private:
    SEncParamExt settings(int qp, int layers, double fps) {
        SEncParamExt p{};
        encoder_->GetDefaultParams(&p);
        p.iUsageType = CAMERA_VIDEO_REAL_TIME;
        p.iPicWidth = width_;
        p.iPicHeight = height_;
        p.fMaxFrameRate = static_cast<float>(fps);
        p.iRCMode = RC_OFF_MODE;
        p.iTargetBitrate = p.iMaxBitrate = UNSPECIFIED_BIT_RATE;
        p.iMinQp = 0;
        p.iMaxQp = kMaxQp;
        p.bEnableFrameSkip = false;
        p.bEnableAdaptiveQuant = false;
        p.iTemporalLayerNum = layers;
        p.uiIntraPeriod = 0;                 // one IDR per encoder: an encoder encodes one chunk
        p.bEnableSceneChangeDetect = false;  // it would put IDR pictures inside a chunk
        p.bEnableLongTermReference = false;  // a marked frame of a higher layer would break prefixes
        p.eSpsPpsIdStrategy = CONSTANT_ID;
        p.bPrefixNalAddingCtrl = false;  // ids are kept in the manifest
        // CAVLC costs 8-13 % more bits than CABAC, but with CABAC the library (2.3.1) writes past the end of
        // its bitstream buffer when a picture needs more than about 8 bits a pixel; with CAVLC it checks.
        p.iEntropyCodingModeFlag = 0;
        p.iComplexityMode = HIGH_COMPLEXITY;
        p.iMultipleThreadIdc = 1;  // the same bytes on every machine
        p.iSpatialLayerNum = 1;    // its spatial layers are simulcast, of no use here
        SSpatialLayerConfig& picture = p.sSpatialLayers[0];
        picture.iVideoWidth = width_;
        picture.iVideoHeight = height_;
        picture.fFrameRate = p.fMaxFrameRate;
        picture.iSpatialBitrate = picture.iMaxSpatialBitrate = UNSPECIFIED_BIT_RATE;
        picture.iDLayerQp = qp;
        picture.uiProfileIdc = PRO_BASELINE;
        picture.uiLevelIdc = LEVEL_UNKNOWN;
        picture.sSliceArgument.uiSliceMode = SM_SINGLE_SLICE;
        return p;
    }

    SSourcePicture wrap(const I420View& view) const {
        const auto luma = static_cast<size_t>(width_) * static_cast<size_t>(height_);
        SSourcePicture source{};
        source.iColorFormat = videoFormatI420;
        source.iPicWidth = width_;
        source.iPicHeight = height_;
        source.iStride[0] = width_;
        source.iStride[1] = source.iStride[2] = width_ / 2;
        source.pData[0] = view.data();
        source.pData[1] = view.data() + luma;
        source.pData[2] = view.data() + luma + luma / 4;
        source.uiTimeStamp = frame_ * 40;  // unused with rate control off, but must rise
        return source;
    }

    // Appends the NAL units of one library "layer" (parameter sets or a picture); the temporal id so far.
    static int append(const SLayerBSInfo& layer, std::string& unit, int temporal_id) {
        size_t bytes = 0;
        for (int i = 0; i < layer.iNalCount; ++i) bytes += static_cast<size_t>(layer.pNalLengthInByte[i]);
        unit.append(reinterpret_cast<const char*>(layer.pBsBuf), bytes);
        return layer.uiLayerType == VIDEO_CODING_LAYER ? layer.uiTemporalId : temporal_id;
    }

    const int width_;
    const int height_;
    long long frame_ = 0;
    bool failed_ = false;  // the library's state is undefined afterwards
    std::mutex mutex_;
    std::unique_ptr<ISVCEncoder, Destroy> encoder_;
};

std::string library_version() {
    OpenH264Version version{};
    WelsGetCodecVersionEx(&version);
    return std::to_string(version.uMajor) + "." + std::to_string(version.uMinor) + "." +
           std::to_string(version.uRevision);
}

}  // namespace
}  // namespace dstcc_svc

PYBIND11_MODULE(_openh264, m) {
    using dstcc_svc::Encoder;
    m.doc() = "OpenH264 with temporal layers";
    m.def("library_version", &dstcc_svc::library_version);
    m.attr("MAX_LAYERS") = dstcc_svc::kMaxLayers;
    m.attr("MIN_SIDE") = dstcc_svc::kMinSide;
    m.attr("MAX_QP") = dstcc_svc::kMaxQp;
    m.attr("MIN_FPS") = dstcc_svc::kMinFps;
    m.attr("MAX_FPS") = dstcc_svc::kMaxFps;
    py::class_<Encoder>(m, "Encoder", py::module_local(), "Encodes one chunk: its first picture is an IDR picture.")
        .def(py::init<int, int, int, int, double>(), py::arg("width"), py::arg("height"), py::arg("qp"),
             py::arg("layers"), py::arg("fps"))
        .def("encode", &Encoder::encode, py::arg("picture"),
             "A (height * 3/2, width) uint8 picture -> (temporal id, is IDR, Annex B access unit).");
}
