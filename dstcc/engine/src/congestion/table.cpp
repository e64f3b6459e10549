#include "congestion/control.hpp"

namespace dstcc {

const std::vector<std::pair<std::string, CongestionFactory>>& congestion_table() {
    static const std::vector<std::pair<std::string, CongestionFactory>> table = {
        {"fixed", make_fixed},
        {"open-loop", make_open_loop},
        {"newreno", make_newreno},
        {"cubic", make_cubic},
        {"westwood", make_westwood},
        {"bbr", make_bbr},
        {"bbr-scaled", make_bbr_scaled},
        {"bic", make_bic},
        {"vegas", make_vegas},
        {"ledbat", make_ledbat},
        {"lia", make_lia},
        {"olia", make_olia},
        {"balia", make_balia},
        {"wvegas", make_wvegas},
        {"tp-planet", make_tp_planet},
        {"remy", make_remy},
    };
    return table;
}

std::unique_ptr<CongestionControl> make_congestion(const std::string& name) {
    for (const auto& [known, factory] : congestion_table())
        if (known == name) return factory();
    if (name == kAgent) return make_agent();
    if (name == kAgentRate) return make_agent_rate();
    if (name == kAgentBbr) return make_agent_bbr();
    throw std::invalid_argument("unknown congestion control '" + name + "'");
}

}  // namespace dstcc
