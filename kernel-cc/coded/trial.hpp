// What a trial in datagrams is made of whatever its transport (here, and ../ltp): a look at every tick, what has come by then in
// its order, layers held against what was sent, and the result.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "core/outcome.hpp"
#include "core/samples.hpp"
#include "core/stats.hpp"
#include "datagrams.hpp"
#include "../transfer/payloads.hpp"

namespace coded {

using transfer::Start;

// Asks at every tick, and at the end, whether the trial is over; when it was.
template <class Over>
Time look(const Start& start, Time tick, Time ends, const Over& over) {
    Time now = 0;
    while (!over(now)) {
        now = std::min((now / tick + 1) * tick, ends);
        start.sleep_until(now);
    }
    return now;
}

// A datagram that came in, with bytes of its own; `from` is what its end calls a socket.
template <class From>
struct Arrived {
    Time at;
    From from;
    std::vector<std::uint8_t> bytes;
    Datagram datagram() const { return {bytes.data(), bytes.size(), at}; }
};

// What came by now from sockets given in their order: in the order of its times, of the same time in that of the sockets.
template <class From, class Receive>
std::vector<Arrived<From>> arrived(const std::vector<From>& sockets, Time realtime, Time now, const Receive& receive) {
    std::vector<Arrived<From>> all;
    for (const From& from : sockets)
        for (;;) {
            const std::vector<Datagram>& batch = receive(from);
            for (const Datagram& one : batch)
                all.push_back({std::clamp<Time>(one.at - realtime, 0, now), from, {one.bytes, one.bytes + one.size}});
            if (batch.size() < Socket::kBatch) break;
        }
    std::stable_sort(all.begin(), all.end(),
                     [](const Arrived<From>& a, const Arrived<From>& b) { return a.at < b.at; });
    return all;
}

// Bytes of a layer, from `at` on, must be those that were sent.
inline void hold(const Plan& plan, transfer::Payloads& payloads, std::uint32_t layer, std::size_t at,
                 const std::uint8_t* bytes, std::size_t size) {
    const dstcc::ObjectsConfig& objects = plan.engine.objects;
    const char* own =
        payloads.at(static_cast<int>(layer), static_cast<std::int64_t>(at), static_cast<std::int64_t>(size));
    if (std::memcmp(bytes, own, size) != 0)
        throw Failure("layer " + std::to_string(objects.layer[layer]) + " of chunk " +
                      std::to_string(objects.chunk[layer]) + ": damaged on the way");
}

// A layer that is there goes into the plan's folder, if it is the first with its payload and has all of it.
inline void keep_received(const Plan& plan, std::uint32_t layer, const std::uint8_t* bytes, std::size_t size) {
    const transfer::Object& row = plan.payloads.objects[layer];
    if (plan.received.empty() || row.begin != 0 || row.payload != static_cast<std::int64_t>(layer)) return;
    const std::string path = plan.received + "/" + std::to_string(layer);
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (file == nullptr || std::fwrite(bytes, 1, size, file) != size) transfer::fail_errno(path);
    if (std::fclose(file) != 0) transfer::fail_errno(path);
}

// The plan's `result`: a line of JSON, then rows of int64.
class Result {
public:
    Result(const Plan& plan, const dstcc::TransportStats& stats, const dstcc::SampleColumns& samples, Time end)
        : plan_(plan),
          file_(std::fopen(plan.result.c_str(), "wb")) {
        if (file_ == nullptr) transfer::fail_errno(plan.result);
        std::fprintf(file_, "{\"objects\": %zu, \"samples\": %zu, \"end_ns\": %" PRId64, layers(), samples.t_ns.size(),
                     end);
        stats.each([&](const char* name, auto value) {
            if constexpr (std::is_integral_v<decltype(value)>)
                number(name, value);
            else if (std::isnan(value))
                std::fprintf(file_, ", \"%s\": null", name);
            else
                std::fprintf(file_, ", \"%s\": %.12g", name, value);
        });
        if (plan.engine.ledger) number("ledger", static_cast<std::int64_t>(layers()));
    }
    Result(const Result&) = delete;

    void number(const char* name, std::int64_t value) { std::fprintf(file_, ", \"%s\": %" PRId64, name, value); }
    // After the last number; `outcome` of each layer.
    template <class Outcome>
    void layers_and(const dstcc::SampleColumns& samples, const Outcome& outcome) {
        std::fputs("}\n", file_);
        for (std::size_t i = 0; i < layers(); ++i) {
            const dstcc::ObjectOutcome one = outcome(i);
            row({one.first_sent_ns, one.first_arrival_ns, one.complete_ns, one.sent_bytes, one.delivered_bytes,
                 one.retransmissions, one.subflow, one.given_up});
        }
        for (std::size_t i = 0; i < samples.t_ns.size(); ++i) {
            std::vector<std::int64_t> values;
            samples.fields([&](const std::string&, const auto& column) {
                values.emplace_back();
                std::memcpy(&values.back(), &column[i], sizeof(std::int64_t));  // one of them holds doubles
            });
            row(values);
        }
    }
    void block(const dstcc::BlockOutcome& one) {
        row({one.source, one.repair, one.planned, one.repair_bytes, one.arrived, one.decoded_ns, one.whole});
    }
    void row(const std::vector<std::int64_t>& values) {
        if (std::fwrite(values.data(), 8, values.size(), file_) != values.size()) transfer::fail_errno("the result");
    }
    // The last rows: what of each layer is acknowledged and begun, where that is asked.
    template <class Outcome>
    void end(const Outcome& outcome) {
        for (std::size_t i = 0; plan_.engine.ledger && i < layers(); ++i) {
            const dstcc::ObjectOutcome one = outcome(i);
            row({one.acknowledged_bytes, std::min(one.offset, one.sent_bytes)});
        }
        if (std::fclose(file_) != 0) transfer::fail_errno(plan_.result);
    }

private:
    std::size_t layers() const { return plan_.engine.objects.size(); }

    const Plan& plan_;
    std::FILE* file_;
};

// The program: PLAN is its one argument.
template <class Trial>
int run(const char* name, int argc, char** argv) {
    return transfer::program(name, argc, argv, [](const char* path) {
        std::signal(SIGPIPE, SIG_IGN);  // a controller may go
        const Plan plan = read_plan(path);
        Trial trial(plan);
        trial.run();
        trial.write();
    });
}

}  // namespace coded
