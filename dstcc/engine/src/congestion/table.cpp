#include "congestion/control.hpp"

namespace dstcc {

std::unique_ptr<CongestionControl> make_congestion(const TransportConfig& transport, const std::string& name,
                                                   ControlSetup setup) {
    const ControlEntry* const entry = registered<ControlEntry>(name);
    if (entry == nullptr) throw std::invalid_argument("unknown congestion control '" + name + "'");
    const auto given = transport.parameters.find(name);
    setup.parameters = given == transport.parameters.end() ? nullptr : &given->second;
    return entry->make(setup);
}

}  // namespace dstcc
