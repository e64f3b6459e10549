// What passes by on the links, packet by packet: kept on request only, for captures and logs.
#pragma once

#include <vector>

#include "core/ranges.hpp"

namespace dstcc {

enum class TraceEvent : std::int8_t { kDataSent, kDataArrived, kAckSent, kAckArrived };
enum class TraceFate : std::int8_t {
    kCarried,
    kLost,
    kDropped
};  // of what was sent: on its way, lost, no room in the queue

struct TraceColumns {
    std::vector<std::int64_t> t_ns, number;           // a segment's number, or the cumulative acknowledgement
    std::vector<std::int32_t> sender, object, bytes;  // object: -1 for SYNs, ACKs and background flows; bytes: payload
    std::vector<std::int64_t> order;                  // place in the ordering domain, in segments; -1 likewise
    std::vector<std::int8_t> event, fate, syn;
    std::vector<std::int64_t> sack;  // three blocks a row: begin, end; 0, 0 where there is none

    void add(Time at, TraceEvent what, TraceFate became, std::size_t who, std::int64_t which, std::int32_t payload,
             bool opens, std::int64_t layer = -1, std::int64_t place = -1, const Range* blocks = nullptr,
             int count = 0) {
        t_ns.push_back(at);
        number.push_back(which);
        sender.push_back(static_cast<std::int32_t>(who));
        object.push_back(static_cast<std::int32_t>(layer));
        bytes.push_back(payload);
        order.push_back(place);
        event.push_back(static_cast<std::int8_t>(what));
        fate.push_back(static_cast<std::int8_t>(became));
        syn.push_back(opens);
        for (int i = 0; i < 3; ++i) {
            sack.push_back(i < count ? blocks[i].begin : 0);
            sack.push_back(i < count ? blocks[i].end : 0);
        }
    }
};

// What a sender holds after each ACK and each timer: kept with the packets.
struct StepColumns {
    std::vector<std::int64_t> t_ns, una, cwnd, ssthresh, srtt_ns, rto_ns, lost;
    std::vector<std::int32_t> sender;
    std::vector<std::int8_t> state, backoff;
    std::vector<double> pacing_bps;
};

}  // namespace dstcc
