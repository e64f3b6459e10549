// A configuration, read from whatever has its fields by name: Python's dataclasses (python/config.cpp), or lines of text
// (kernel-cc/coded/plan.cpp).
//
// A Source is one value there. source[NAME] is a field of it, none() says that there is no value, entries() are those of
// a list of structs, as<T>() is a plain value: a number, a word, a list or a map of them. fill() makes a column, numbers()
// the fields that are numbers.
#pragma once

#include "core/config.hpp"

namespace dstcc {

template <class Source>
class ConfigReader {
public:
    // What is none stays as the struct has it.
    template <class T>
    void read(const Source& from, T& to) const {
        if (from.none()) return;
        if constexpr (HasFields<T>::value)
            to.fields([&](const std::string& name, auto& member) { read(from[name], member); });
        else if constexpr (std::is_enum_v<T>)
            to = by_word<T>(from.template as<std::string>());
        else
            to = from.template as<T>();
    }
    template <class T>
    void read(const Source& from, std::vector<T>& to) const {
        if constexpr (HasFields<T>::value)
            for (const Source& entry : from.entries()) read(entry, to.emplace_back());
        else if (!from.none())
            to = from.template as<std::vector<T>>();
    }
    template <class T>
    void read(const Source& from, std::shared_ptr<const T>& to) const {
        if (from.none()) return;
        auto made = std::make_shared<T>();
        read(from, *made);
        to = std::move(made);
    }
    template <class T>
    void read(const Source& from, Column<T>& to) const {
        from.fill(to);
    }
    void read(const Source& from, std::uint64_t& seed) const {
        seed = static_cast<std::uint64_t>(from.template as<std::int64_t>());
    }
    void read(const Source& from, LossConfig& to) const {
        to.fields([&](const std::string& name, auto& member) { read(from[name], member); });
        to.numbers = from.numbers();
        auto schedule = std::make_shared<LossSchedule>();
        read(from, *schedule);
        if (!schedule->t_ns.empty()) to.schedule = std::move(schedule);
    }
    void read(const Source& from, FlowConfig& to) const {
        to.fields([&](const std::string& name, auto& member) { read(from[name], member); });
        to.app_limited = !from["source"].none();
    }
    void read(const Source& from, LinkConfig& to) const {
        to.fields([&](const std::string& name, auto& member) { read(from[name], member); });
        if (from["up_outages_ns"].none()) to.up_outages_ns = to.outages_ns;
    }
    void read(const Source& from, TransportConfig& to) const {
        to.fields([&](const std::string& name, auto& member) { read(from[name], member); });
        const auto mode = by_word<Mode>(from["mode"].template as<std::string>());
        to.lanes = mode == Mode::kLanes;
        to.coded = mode == Mode::kCoded;
        read_constants(from["constants"], from["scale"].template as<double>(), to.constants);
    }
    void read(const Source& from, CodingConfig& to) const {
        if (from.none()) return;
        to.fields([&](const std::string& name, auto& member) { read(from[name], member); });
        to.automatic = from["repair"].none();
        const auto rule = from["rule"].template as<std::string>();
        to.law = !rule.empty() ? by_word<RateLaw>(rule) : to.automatic ? RateLaw::kAuto : RateLaw::kShares;
    }

private:
    // In emulated seconds there, in mission time here.
    void read_constants(const Source& from, double scale, ConstantsNs& to) const {
        const auto ns = [&](const std::string& name) {
            return static_cast<Time>(from[name].template as<double>() * scale * kNsPerS);
        };
        to.fields([&](const std::string& name, auto& member) {
            if constexpr (std::is_same_v<decltype(member), Time&>)
                member = ns(name + "_s");
            else
                read(from[name], member);
        });
        to.scale = scale;
        // Only where the machine stands in a turn of its timer wheel matters: no timer reaches beyond 32,768 ticks' slots.
        const Time turn = to.jiffy << 15;
        to.uptime = turn > 0 ? (to.uptime % turn + turn) % turn : 0;
    }
};

}  // namespace dstcc
