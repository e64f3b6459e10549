// What passes by on the links, packet by packet: kept on request only, for captures and logs.
#pragma once

#include <functional>
#include <vector>

#include "core/fields.hpp"
#include "core/ranges.hpp"
#include "link/direction.hpp"
#include "link/packets.hpp"

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
    std::vector<std::int8_t> kind;         // of ltp's segments; else 0
    std::vector<std::int32_t> checkpoint;  // likewise: its serial
    std::vector<std::int64_t> sack;        // three blocks a row: begin, end; 0, 0 where there is none
    // What ACKs of packets and ltp's segments name: row, and begin, end. Of TCP's segments of several layers: layer, bytes.
    std::vector<std::int64_t> range_row, ranges;
    DSTCC_FIELDS(t_ns, event, fate, syn, kind, sender, number, bytes, object, order, checkpoint, sack, range_row,
                 ranges)
};

class PacketLog {
public:
    // Senders from `first_flow` on are background flows.
    explicit PacketLog(std::size_t first_flow) : first_flow_(first_flow) {}
    const TraceColumns& columns() const { return columns_; }

    // What an own sender's ACK names that says so of ranges, the newest of which ends there.
    using Reader = std::function<std::vector<Range>(std::size_t sender, std::int64_t said, std::int64_t end)>;
    void read_with(Reader reader) { reader_ = std::move(reader); }

    void know_layers(const LayerHeaders* layers) { layers_ = layers; }

    // The last row; and that what it says was sent did not come through after all, over nodes.
    std::int64_t last() const { return static_cast<std::int64_t>(columns_.t_ns.size()) - 1; }
    void is_lost(std::int64_t row) {
        columns_.fate[static_cast<std::size_t>(row)] = static_cast<std::int8_t>(TraceFate::kLost);
    }

    // `number`: the segment's own, 0 for a SYN.
    void data_sent(Time now, const DataPacket& packet, std::int64_t number, Direction::Passage passage) {
        add_data(now, TraceEvent::kDataSent, fate_of(passage), packet, number);
    }
    void data_arrived(Time now, const DataPacket& packet, std::int64_t number) {
        add_data(now, TraceEvent::kDataArrived, TraceFate::kCarried, packet, number);
    }
    // `said`: of ranges, beside it.
    void ack_sent(Time now, std::size_t sender, std::int64_t cumulative, const Range* blocks, int count, bool syn,
                  std::int64_t said, Direction::Passage passage) {
        add(now, TraceEvent::kAckSent, fate_of(passage), sender, cumulative, 0, syn, -1, -1, blocks, count);
        if (reader_ && sender < first_flow_ && !syn) name(reader_(sender, said, cumulative));
    }
    void ack_arrived(Time now, std::size_t sender, std::int64_t cumulative, const Range* blocks, int count, bool syn) {
        add(now, TraceEvent::kAckArrived, TraceFate::kCarried, sender, cumulative, 0, syn, -1, -1, blocks, count);
    }

    // An ACK of packets, by the ranges that it names.
    void ack_arrived(Time now, std::size_t sender, const std::vector<Range>& named) {
        ack_arrived(now, sender, named.back().end, nullptr, 0, false);
        name(named);
    }

    // A segment of ltp, either way; `object` and `order` may be -1.
    struct Segment {
        std::int8_t kind;
        std::int64_t number, object, order;
        std::int32_t bytes, checkpoint;
        std::vector<Range> named;
    };
    void segment_sent(Time now, bool up, std::size_t sender, const Segment& segment, Direction::Passage passage) {
        add(now, up ? TraceEvent::kAckSent : TraceEvent::kDataSent, fate_of(passage), sender, segment);
    }
    void segment_arrived(Time now, bool up, std::size_t sender, const Segment& segment) {
        add(now, up ? TraceEvent::kAckArrived : TraceEvent::kDataArrived, TraceFate::kCarried, sender, segment);
    }

private:
    void add(Time at, TraceEvent what, TraceFate became, std::size_t who, const Segment& segment) {
        add(at, what, became, who, segment.number, segment.bytes, false, segment.object, segment.order, nullptr, 0);
        columns_.kind.back() = segment.kind;
        columns_.checkpoint.back() = segment.checkpoint;
        name(segment.named);
    }
    void name(const std::vector<Range>& named) {
        for (const Range& range : named) {
            columns_.range_row.push_back(last());
            columns_.ranges.insert(columns_.ranges.end(), {range.begin, range.end});
        }
    }
    static TraceFate fate_of(Direction::Passage passage) {
        if (passage.arrive_ns != kNever) return TraceFate::kCarried;
        return passage.wait_ns >= 0 ? TraceFate::kLost : TraceFate::kDropped;
    }
    void add_data(Time now, TraceEvent what, TraceFate became, const DataPacket& packet, std::int64_t number) {
        const bool syn = packet.bytes == 0, own = packet.sender < first_flow_ && !syn;
        add(now, what, became, packet.sender, number, packet.bytes, syn,
            own ? static_cast<std::int64_t>(packet.object) : -1, own ? static_cast<std::int64_t>(packet.order) : -1,
            nullptr, 0);
        if (!own || layers_ == nullptr) return;
        std::vector<Range> pieces;
        layers_->each({packet.order, packet.object, packet.bytes},
                      [&](std::uint32_t layer, std::uint16_t bytes) { pieces.push_back({layer, bytes}); });
        if (pieces.size() > 1) name(pieces);
    }
    // Kept out of those who log, as hardly a trial does.
    [[gnu::noinline, gnu::cold]] void add(Time at, TraceEvent what, TraceFate became, std::size_t who,
                                          std::int64_t which, std::int32_t payload, bool opens, std::int64_t layer,
                                          std::int64_t place, const Range* blocks, int count) {
        columns_.t_ns.push_back(at);
        columns_.number.push_back(which);
        columns_.sender.push_back(static_cast<std::int32_t>(who));
        columns_.object.push_back(static_cast<std::int32_t>(layer));
        columns_.bytes.push_back(payload);
        columns_.order.push_back(place);
        columns_.event.push_back(static_cast<std::int8_t>(what));
        columns_.fate.push_back(static_cast<std::int8_t>(became));
        columns_.syn.push_back(opens);
        columns_.kind.push_back(0);
        columns_.checkpoint.push_back(0);
        for (int i = 0; i < 3; ++i) {
            columns_.sack.push_back(i < count ? blocks[i].begin : 0);
            columns_.sack.push_back(i < count ? blocks[i].end : 0);
        }
    }

    std::size_t first_flow_;
    Reader reader_;
    const LayerHeaders* layers_ = nullptr;
    TraceColumns columns_;
};

}  // namespace dstcc
