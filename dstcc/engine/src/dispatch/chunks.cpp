#include "dispatch/chunks.hpp"

namespace dstcc {

ChunkManager::ChunkManager(const ObjectsConfig& objects) : objects_(objects) {
    for (std::uint32_t object = 0; object < objects.size(); ++object) {
        if (object == 0 || objects.chunk[object] != objects.chunk[object - 1]) chunks_.push_back({object, object});
        chunks_.back().end = object + 1;
        chunks_.back().bytes += objects.payload_bytes[object];
        chunk_of_.push_back(static_cast<std::uint32_t>(chunks_.size() - 1));
    }
}

void ChunkManager::handle_cut(Time now, std::uint32_t object, std::uint32_t order, std::int64_t offset) {
    Chunk& chunk = chunks_[chunk_of_[object]];
    if (chunk.first_sent < 0) chunk.first_sent = now;
    under_way_[object].cuts.push_back({order, offset});
}

void ChunkManager::handle_ack(Time now, const Acked& segment, Time srtt_ns) {
    const auto found = under_way_.find(segment.object);
    if (found == under_way_.end()) return;  // a copy of what is all there
    Layer& layer = found->second;
    const auto cut = std::lower_bound(layer.cuts.begin(), layer.cuts.end(), segment.order,
                                      [](const auto& c, std::uint32_t order) { return c.first < order; });
    DSTCC_CHECK(cut != layer.cuts.end() && cut->first == segment.order, "what is acknowledged was cut");
    Chunk& chunk = chunks_[chunk_of_[segment.object]];
    layer.acked.add(cut->second, cut->second + segment.bytes,
                    [&](std::int64_t from, std::int64_t to) { chunk.acked += to - from; });
    const Range& first = layer.acked.front();
    if (first.begin == 0 && first.end == objects_.payload_bytes[segment.object]) under_way_.erase(found);
    if (chunk.acked < chunk.bytes) return;
    const double download_s = static_cast<double>(std::max<Time>(now - chunk.first_sent - srtt_ns / 2, 1)) / kNsPerS;
    done_ += 1;
    bytes_per_s_ += static_cast<double>(chunk.bytes) / download_s;
}

ChunkManager::View ChunkManager::view(Time now, std::size_t released, const std::vector<LayerSending>& layers) {
    const auto over = [&](const Chunk& chunk) {
        bool given_up = false;
        for (std::uint32_t object = chunk.first; object < chunk.end; ++object) given_up |= layers[object].given_up;
        return given_up || chunk.acked == chunk.bytes;
    };
    while (oldest_ < chunks_.size() && chunks_[oldest_].first < released && over(chunks_[oldest_])) ++oldest_;
    if (oldest_ == chunks_.size()) return {};
    const Chunk& chunk = chunks_[oldest_];
    const Time deadline = objects_.deadline_ns[chunk.first];
    View view;
    view.due_ns = deadline == kNever ? kNever : deadline - now;
    if (chunk.first >= released) return view;
    view.bytes = chunk.bytes;
    view.acked_bytes = chunk.acked;
    view.elapsed_ns = chunk.first_sent < 0 ? 0 : now - chunk.first_sent;
    return view;
}

}  // namespace dstcc
