// What both ends of ltp know of blocks: a layer of a chunk is one, cut into segments of mss bytes, red or green.
#pragma once

#include <array>

#include "core/config.hpp"
#include "core/ranges.hpp"

namespace dstcc {

constexpr const char* kTransferLtp = "ltp";  // its name among the congestion controls
// Its parameters.
constexpr const char* kLtpRate = "rate_bps";               // the wire rate per link, the link's own unless set
constexpr const char* kLtpGreenFrom = "green_from_layer";  // this layer and those above are green; none unless set
constexpr const char* kLtpRetryLimit = "retry_limit";      // 20 unless set
inline constexpr std::array kLtpParameters = {kLtpRate, kLtpGreenFrom, kLtpRetryLimit};

class LtpBlocks {
public:
    // Throws std::invalid_argument for parameters that make no sense.
    LtpBlocks(const TransportConfig& transport, const ObjectsConfig& objects);

    std::size_t size() const { return objects_.size(); }
    const ObjectsConfig& objects() const { return objects_; }
    std::size_t layer(std::uint32_t block) const { return objects_.layer[block]; }
    bool red(std::uint32_t block) const { return objects_.layer[block] < green_from_layer_; }
    std::uint32_t retry_limit() const { return retry_limit_; }
    // The wire rate that a link is configured with; 0: its own.
    double told_bps(std::size_t link) const { return link < told_rates_bps_.size() ? told_rates_bps_[link] : 0; }
    // On the wire: a segment without data, and a full one.
    std::uint32_t control_bytes() const { return control_bytes_; }
    std::uint32_t full_bytes() const { return static_cast<std::uint32_t>(mss_) + control_bytes_; }

    std::int64_t payload(std::uint32_t block) const { return objects_.payload_bytes[block]; }
    std::int64_t segments(std::uint32_t block) const { return (payload(block) + mss_ - 1) / mss_; }
    std::uint32_t segment_bytes(std::uint32_t block, std::int64_t segment) const {
        return static_cast<std::uint32_t>(std::min(mss_, payload(block) - segment * mss_));
    }
    std::int64_t payload_bytes(std::uint32_t block, Range segments) const {
        if (segments.begin >= segments.end) return 0;
        return std::min(segments.end * mss_, payload(block)) - segments.begin * mss_;
    }
    std::int64_t wire_bytes(std::uint32_t block, Range segments) const {
        return payload_bytes(block, segments) +
               control_bytes_ * std::max<std::int64_t>(segments.end - segments.begin, 0);
    }
    std::int64_t wire_bytes(std::uint32_t block) const { return wire_bytes(block, {0, segments(block)}); }

private:
    const ObjectsConfig& objects_;
    std::int64_t mss_;
    std::uint32_t control_bytes_, retry_limit_ = 0;
    std::int32_t green_from_layer_ = 0;
    std::vector<double> told_rates_bps_;
};

}  // namespace dstcc
