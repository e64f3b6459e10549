#include "sim/tcp.hpp"

namespace dstcc {

double socket_buffer(const EngineConfig& config) {
    constexpr double kLeast = 4 << 20, kLargest = 1U << 31;  // bytes
    double buffer = 0;
    for (const LinkConfig& on : config.links)
        buffer += 4 * (on.rate_bps / 8 * 2 * static_cast<double>(longest_delay(on)) / kNsPerS +
                       static_cast<double>(on.queue_bytes));
    return std::clamp(buffer, kLeast, kLargest);
}

SubflowReceiver make_receiver(const EngineConfig& config, std::size_t link, int option_bytes) {
    const TransportConfig& transport = config.transport;
    const auto mss = static_cast<std::uint32_t>(transport.mss_bytes),
               options = static_cast<std::uint32_t>(option_bytes);
    double buffer = static_cast<double>(transport.receive_buffer_bytes) /
                    SubflowReceiver::window_share(transport.constants.receiver, mss);
    if (transport.receive_buffer_bytes == 0) buffer = socket_buffer(config);
    return {transport.constants, SubflowReceiver::growth(transport.constants.receiver, buffer, mss, options),
            2 * longest_delay(config.links[link]), mss, options};
}

}  // namespace dstcc
