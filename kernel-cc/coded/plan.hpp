// The plan file: lines of a key and its values, written by dstcc_kernel/coded.py; the layers lie in a file of int64 rows beside
// it. What both ends need of a trial is the simulator's own configuration, in emulated time.
#pragma once

#include <string>
#include <vector>

#include "core/config.hpp"
#include "../transfer/base.hpp"

namespace coded {

using dstcc::Time;
using transfer::Failure;

struct Path {
    std::size_t link;
    std::string craft;
};

struct Plan {
    int craft_ns = -1, earth_ns = -1;   // open namespace files
    int steer_in = -1, steer_out = -1;  // pipes to a controller; below 0: none
    int queues = -1;                    // links/queues.hpp; below 0: nobody else's TCP is on the links
    std::string result, received;       // `received`: a folder for the first layers' parts as they came; empty: none
    Time tick = 0, stall = dstcc::kNever;
    dstcc::EngineConfig engine;
    std::vector<std::string> earths;                         // addresses, by link
    std::vector<std::pair<std::size_t, std::size_t>> lines;  // likewise: where it begins and where it ends, in `queues`
    std::vector<Path> paths;                                 // by subflow
    transfer::Plan payloads;                                 // objects and their files

    // Of the links that begin, and of those that end, on the same line the first.
    std::size_t begins_as(std::size_t link) const {
        const int first = engine.links[link].first_hop_of;
        return first < 0 ? link : static_cast<std::size_t>(first);
    }
    std::size_t ends_as(std::size_t link) const {
        std::size_t first = 0;
        while (lines[first].second != lines[link].second) ++first;
        return first;
    }
    // A link's last hop: what comes back begins on it.
    const dstcc::LinkConfig& last_hop(std::size_t link) const {
        const dstcc::LinkConfig& of = engine.links[link];
        return of.onward.empty() ? of : of.onward.back().line;
    }
};

Plan read_plan(const std::string& path);

}  // namespace coded
