// Time, errors, addresses, and what the plan says: shared by all programs of a trial.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>

#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/config.hpp"
#include "link/delay.hpp"

namespace transfer {

using Time = std::int64_t;  // emulated nanoseconds since the start of the trial
constexpr Time kNever = INT64_MAX;
constexpr Time kNsPerS = 1'000'000'000;

// A message for the user. The program ends with it.
struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

[[noreturn]] inline void fail_errno(const std::string& what) { throw Failure(what + ": " + std::strerror(errno)); }

// A program of one argument, a plan's path: its exit status.
template <class Body>
int program(const char* name, int argc, char** argv, const Body& body) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s PLAN\n", name);
        return 2;
    }
    try {
        body(argv[1]);
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}

inline Time ns_of(const timespec& t) { return static_cast<Time>(t.tv_sec) * kNsPerS + t.tv_nsec; }

inline timespec timespec_of(Time t) { return {static_cast<time_t>(t / kNsPerS), static_cast<long>(t % kNsPerS)}; }

inline Time clock_ns(clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return ns_of(t);
}

// The trial's time 0, of both clocks.
struct Start {
    Time monotonic = clock_ns(CLOCK_MONOTONIC), realtime = clock_ns(CLOCK_REALTIME);

    // For the process that changes the links over time.
    void announce() const {
        std::printf("%" PRId64 "\n", monotonic);
        std::fflush(stdout);
    }
    // Until a time of the trial.
    void sleep_until(Time now) const {
        const timespec when = timespec_of(monotonic + now);
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr) == EINTR) {}
    }
};

// In a network namespace from now on.
inline void enter(int space) {
    if (setns(space, CLONE_NEWNET) != 0) fail_errno("setns");
}

inline sockaddr_in address(const std::string& host, std::size_t port) {
    sockaddr_in made{};
    made.sin_family = AF_INET;
    made.sin_port = htons(static_cast<std::uint16_t>(port));
    inet_pton(AF_INET, host.c_str(), &made.sin_addr);
    return made;
}

// A row of the source: a chunk's layer.
struct Object {
    std::int64_t chunk, layer, bytes;
    Time release, deadline;
    std::int64_t payload;    // index into Plan::payloads; below 0: made from its own number
    std::int64_t begin = 0;  // in its payload
};

struct Link {
    std::string craft_device, arrive_device, depart_device;  // where acknowledgements arrive, data arrive, data depart
    std::string earth;
    int free_bytes =
        0;  // of a packet's IP length that the line does not count; below 0: it counts payload and a header
    dstcc::DelayTable light;
    bool played() const { return free_bytes < 0; }  // by a program, and not netem's
};

// One MPTCP connection; `stream` has one, `lanes` one per lane.
struct LanePlan {
    int link;
    std::string craft;
    std::uint16_t port;
    Time opens;  // when its handshake begins
};

struct Plan {
    int craft_ns = -1, earth_ns = -1;   // open namespace files
    int steer_in = -1, steer_out = -1;  // pipes to a controller; below 0: none
    std::string congestion, result;
    bool lanes = false, layer_first = false, drop_late = false, rotate = false;
    bool shared = false;  // the lanes of a link share its window, which a controller sets
    bool placed = false;  // stream: the kernel's scheduler sends each layer's bytes on the subflow that it is told
    int mss = 1460, header_bytes = 40, subflows = 1;
    bool rate = false;         // shared: the window says the pace and holds beside what is under way
    std::size_t rotating = 1;  // shared: of a link's lanes, those that get layers in rotation
    std::int64_t receive_buffer = 0, send_buffer = 0;
    Time tick = 0, slot = 0, duration = kNever, stall = kNever;
    std::vector<int> layer_links;                // -1: any
    std::vector<int> subflow_links;              // by subflow number
    std::vector<std::string> subflow_addresses;  // the spacecraft's, by subflow number; backups have their link's first
    std::vector<std::string> addresses;          // every address of the spacecraft
    std::vector<int> address_subflow;            // the subflow that each stands for
    std::uint64_t seed = 0;
    bool ledger = false;                     // the result has what the sender knows of each layer at the end
    std::vector<dstcc::LinkConfig> configs;  // of the links, in the simulator's own terms
    std::vector<Link> links;
    std::vector<LanePlan> lane_plans;
    std::vector<std::pair<Time, Time>> outages;  // of all links
    std::vector<std::string> payloads;
    std::vector<Object> objects;
    int layers = 1;
    // Lines of their names.
    DSTCC_FIELDS(congestion, lanes, layer_first, drop_late, rotate, shared, placed, rate, rotating, mss, header_bytes,
                 receive_buffer, send_buffer, tick, slot, duration, stall, seed, ledger)
};

Plan read_plan(const std::string& path);

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace transfer
