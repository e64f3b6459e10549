#include "ltp/blocks.hpp"

#include <stdexcept>

namespace dstcc {

namespace {

constexpr double kMostLayers = 1 << 20, kMostRetries = 1 << 20;
constexpr std::int64_t kMostSegments = INT32_MAX;  // of a block: no block is near it, and sums of them fit anything

}  // namespace

LtpBlocks::LtpBlocks(const TransportConfig& transport, const ObjectsConfig& objects)
    : objects_(objects),
      mss_(transport.mss_bytes),
      control_bytes_(static_cast<std::uint32_t>(transport.header_bytes)) {
    const auto given = transport.parameters.find(kTransferLtp);
    const Parameters* const parameters = given == transport.parameters.end() ? nullptr : &given->second;
    const double green = value_of(parameters, kLtpGreenFrom, kMostLayers);
    const double limit = value_of(parameters, kLtpRetryLimit, 20);
    if (!(green >= 0 && green <= kMostLayers)) throw std::invalid_argument("ltp: green_from_layer must be 0 to 2^20");
    if (!(limit >= 0 && limit <= kMostRetries)) throw std::invalid_argument("ltp: retry_limit must be 0 to 2^20");
    green_from_layer_ = static_cast<std::int32_t>(green);
    retry_limit_ = static_cast<std::uint32_t>(limit);
    told_rates_bps_ = values_of(parameters, kLtpRate);
    for (const std::int64_t payload : objects.payload_bytes)
        DSTCC_CHECK(payload / mss_ < kMostSegments, "a block has fewer than 2^31 segments");
}

}  // namespace dstcc
