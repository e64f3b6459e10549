// A table of named things (congestion controls, schedulers) into which each enters itself, in its own file:
//
//   const Registered<ControlEntry> kEntry{{"newreno", make_control<NewReno>}};
//
// Such an object is set up before anything is run. A name that is taken throws there, so the extension does not load. The
// linker must take every object file, needed or not: setup.py lists them, no static library stands between.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace dstcc {

template <class Entry>
const std::map<std::string, Entry>& registry();

template <class Entry>
class Registered {
public:
    explicit Registered(Entry entry) {
        const std::string name = entry.name;
        if (!entries().emplace(name, std::move(entry)).second)
            throw std::logic_error("'" + name + "' is registered twice");
    }

private:
    static std::map<std::string, Entry>& entries() {
        static std::map<std::string, Entry> table;
        return table;
    }
    friend const std::map<std::string, Entry>& registry<Entry>();
};

template <class Entry>
const std::map<std::string, Entry>& registry() {
    return Registered<Entry>::entries();
}

// The entry of that name, or nullptr.
template <class Entry>
const Entry* registered(const std::string& name) {
    const auto found = registry<Entry>().find(name);
    return found == registry<Entry>().end() ? nullptr : &found->second;
}

}  // namespace dstcc
