// What a sender knows to have been handed on at Earth: in each ordering domain, what was acknowledged without a gap from the
// domain's start. What was acknowledged beyond a gap still waits there, and goes with the connection. A program that keeps what
// it sends until then (docs/simulator.md, A sender that restarts) reads this off its socket.
#pragma once

#include <map>
#include <vector>

#include "tcp/sender.hpp"

namespace dstcc {

class Acknowledged {
public:
    Acknowledged(std::size_t domains, const LayerHeaders& headers)
        : headers_(headers),
          domains_(domains),
          bytes_(headers.domain.size(), 0) {}
    void handle_ack(std::size_t domain, const Acked& segment) {
        Domain& of = domains_[domain];
        if (segment.order < of.next) return;  // a copy of what was acknowledged
        of.apart.emplace(segment.order, segment);
        for (auto first = of.apart.begin(); first != of.apart.end() && first->first == of.next; ++of.next) {
            headers_.each({first->first, first->second.object, first->second.bytes},
                          [&](std::uint32_t object, std::uint16_t bytes) { bytes_[object] += bytes; });
            first = of.apart.erase(first);
        }
    }
    std::int64_t bytes(std::size_t object) const { return bytes_[object]; }  // of a layer, from its first byte on

private:
    struct Domain {
        std::uint32_t next = 0;
        std::map<std::uint32_t, Acked> apart;  // acknowledged from there on, by order
    };
    const LayerHeaders& headers_;
    std::vector<Domain> domains_;
    std::vector<std::int64_t> bytes_;
};

}  // namespace dstcc
