// What is wanted in time, and the most weight of it that fits.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "oracle/demand_tree.hpp"
#include "oracle/supply.hpp"

namespace dstcc {

// A layer and what it takes: bytes in full packets, and bytes of line time.
struct WantedLayer {
    std::size_t chunk;
    double weight, full_bytes, line_bytes;
};

struct Demand {
    std::size_t chunk;
    double bytes, density;
};

// Layers as they are wanted, chunk by chunk: one that is denser than what it builds on is pooled with that.
class Demands {
public:
    void add(std::size_t chunk, double bytes, double weight) {
        if (layers_.empty() || layers_.back().chunk != chunk) floor_ = layers_.size();
        layers_.push_back({chunk, bytes, weight});
        while (layers_.size() > floor_ + 1) {
            const Layer above = layers_.back(), below = layers_[layers_.size() - 2];
            if (above.weight * below.bytes <= below.weight * above.bytes) break;
            layers_.pop_back();
            layers_.back() = {chunk, above.bytes + below.bytes, above.weight + below.weight};
        }
    }
    // The densest first.
    std::vector<Demand> sorted() const {
        std::vector<Demand> demands;
        demands.reserve(layers_.size());
        for (const Layer& layer : layers_)
            demands.push_back({layer.chunk, layer.bytes, layer.bytes > 0 ? layer.weight / layer.bytes : layer.weight});
        std::stable_sort(demands.begin(), demands.end(),
                         [](const Demand& a, const Demand& b) { return a.density > b.density; });
        return demands;
    }

private:
    struct Layer {
        std::size_t chunk;
        double bytes, weight;
    };
    std::vector<Layer> layers_;
    std::size_t floor_ = 0;  // where the last chunk's begin
};

// The most weight that fits the windows, if layers may be split.
inline double most_weight(const Windows& windows, const Demands& wanted) {
    DemandTree tree(windows.p, windows.q);
    double total = 0;
    for (const Demand& demand : wanted.sorted()) {
        if (demand.bytes <= 0) {
            total += demand.density;
            continue;
        }
        const double taken = std::clamp(tree.room(demand.chunk), 0.0, demand.bytes);
        if (taken <= 0) continue;
        tree.take(demand.chunk, taken);
        total += taken * demand.density;
    }
    return total;
}

// Those layers that could come whole if their chunk had the links for itself, with all that they build on.
inline std::vector<WantedLayer> that_fit_alone(const std::vector<WantedLayer>& layers, const Windows& full,
                                               const Windows& line) {
    constexpr double kRounding = 1e-9;  // of what is carried: sums of many terms
    const auto fits = [](const Windows& windows, std::size_t k, double bytes) {
        return bytes <= windows.p[k] - windows.q[k] + kRounding * windows.p[k] + kRounding;
    };
    std::vector<WantedLayer> kept;
    double full_bytes = 0, line_bytes = 0;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        if (i == 0 || layers[i].chunk != layers[i - 1].chunk) full_bytes = line_bytes = 0;
        full_bytes += layers[i].full_bytes;
        line_bytes += layers[i].line_bytes;
        if (fits(full, layers[i].chunk, full_bytes) && fits(line, layers[i].chunk, line_bytes))
            kept.push_back(layers[i]);
    }
    return kept;
}

// Whether the windows have room for all of each chunk's bytes.
inline bool all_fit(const Windows& windows, const std::vector<double>& bytes) {
    double needed = 0;  // by this deadline, since the release from which on that is most
    for (std::size_t k = 0; k < bytes.size(); ++k) {
        needed = std::max(needed, windows.q[k]) + bytes[k];
        if (needed > windows.p[k]) return false;
    }
    return true;
}

// What all weights are multiples of; 0 where these are no integers, as nothing is known then.
inline double unit_of(const std::vector<double>& weights) {
    constexpr double kMostInteger = 9e15;
    std::int64_t unit = 0;
    for (const double weight : weights) {
        if (weight != std::floor(weight) || std::abs(weight) > kMostInteger) return 0;
        const auto whole = static_cast<std::int64_t>(weight);
        if (unit == 0 || whole % unit != 0) unit = std::gcd(unit, whole);
    }
    return static_cast<double>(unit);
}

// Whole layers weigh a multiple of the unit of their weights.
inline double in_whole_layers(double total, double unit) {
    constexpr double kRounding = 1e-6;
    return unit == 0 ? total : std::floor(total / unit + kRounding) * unit;
}

}  // namespace dstcc
