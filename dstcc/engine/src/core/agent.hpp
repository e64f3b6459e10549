// What an agent outside the engine may ask of a trial, once per slot.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base.hpp"

namespace dstcc {

// The name of the control and the scheduler that an agent steers.
inline constexpr const char* kAgent = "agent";
// A window that sets the pace and applies in addition to what is in flight.
inline constexpr const char* kAgentRate = "agent-rate";
// The same window, paced by BBR.
inline constexpr const char* kAgentBbr = "agent-bbr";
// A scheduler whose layers take, in an order that the agent sets, whatever subflow it allows them has room first.
inline constexpr const char* kAgentLate = "agent-late";
// A scheduler that follows one of several others, the one that the agent says.
inline constexpr const char* kAgentPolicies = "agent-policies";

// For one subflow: W <- alpha W + beta (kernel-cc/law/dstcc_law.h), nothing, or the window back to NewReno.
struct WindowAction {
    enum class Kind : std::uint8_t { kSilent, kSet, kFallBack };
    Kind kind = Kind::kSilent;
    std::uint32_t alpha_q16 = 1u << 16;
    std::int32_t beta = 0;
};

constexpr std::int32_t kAutomatic = -1;  // the subflow with the earliest expected delivery

// `agent-late` only: the layer goes first where it could still be repaired, and leaves the other subflows to other layers
// while it could be repaired somewhere.
constexpr std::int32_t kRepairable = -3;
constexpr std::int32_t kAvoid = -16;  // kAvoid - i, `agent-late` only: any subflow but i

// Which subflow carries each layer, from now on and for what waits; layers above the table's last are automatic.
// For `agent-policies` the first entry is the policy's number.
struct LayerAction {
    std::vector<std::int32_t> subflow;
    // Bit m: layer m goes out a second time on whatever other subflow is free first; with `agent-late` on any subflow that
    // has room when nothing new could use it.
    std::uint64_t copied = 0;
    // For `agent-late`: layer m of a chunk goes before what was released m * gap_ns later; kNever: base layers first.
    Time gap_ns = kNever;
    // Of what the playout delay leaves beyond the light time, the share kept for a repair where that can be had.
    double repair_share = 0.5;
};

}  // namespace dstcc
