#include "congestion/control.hpp"

namespace dstcc {

std::unique_ptr<CongestionControl> make_congestion(const TransportConfig& transport, const std::string& name,
                                                   ControlSetup setup) {
    const ControlEntry* const entry = registered<ControlEntry>(name);
    if (entry == nullptr) throw std::invalid_argument("unknown congestion control '" + name + "'");
    const auto own = transport.parameters.find(name);
    setup.parameters = own == transport.parameters.end() ? nullptr : &own->second;
    return entry->make(setup);
}

}  // namespace dstcc
