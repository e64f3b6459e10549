// A configuration in a plan file, in the simulator's own terms and in emulated time, as dstcc.engine.config.named_values
// writes it. Every program of a trial reads these lines:
//
//     config PLACE VALUES    as `config transport.mss_bytes 1460`
//     link                   begins the next link
//     .NAME VALUES           of that link
#pragma once

#include <array>
#include <cstdint>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/read_config.hpp"

namespace links {

// A place among the lines; a Source for dstcc::ConfigReader.
class Lines {
public:
    struct Table : std::map<std::string, std::string> {  // values by place
        mutable std::set<std::string> asked = {};        // places of which a value was taken
    };
    explicit Lines(const Table& table, std::string place = "") : table_(&table), place_(std::move(place)) {}
    Lines operator[](const std::string& name) const {
        return Lines(*table_, place_.empty() ? name : place_ + "." + name);
    }
    bool none() const { return !place_.empty() && table_->count(place_) == 0 && names().empty(); }
    std::vector<Lines> entries() const {
        table_->asked.insert(place_);  // a list of none is an empty line
        std::vector<Lines> out;
        for (Lines next = (*this)["0"]; !next.none(); next = (*this)[std::to_string(out.size())]) out.push_back(next);
        return out;
    }
    template <class T>
    T as() const {
        table_->asked.insert(place_);
        const auto line = table_->find(place_);
        std::istringstream in(line == table_->end() ? "" : line->second);
        T out{};
        take(in, out);
        if (in.fail()) throw std::runtime_error("plan: " + place_ + ": a value is missing or no number");
        return out;
    }
    template <class T>
    void fill(dstcc::Column<T>& /*column*/) const {}  // in files of their own
    dstcc::Parameters numbers() const {
        dstcc::Parameters out;
        for (const std::string& name : names())
            if (name != "kind" && name != "t_ns" && name != "rates" && name != "frames")
                out[name] = {(*this)[name].as<double>()};
        return out;
    }

private:
    using Words = std::istringstream;
    template <class T>
    void take(Words& in, T& out) const {
        in >> out;
    }
    void take(Words& in, std::string& out) const {
        if ((in >> std::ws).eof()) return in.clear();  // an empty word
        std::getline(in, out);
    }
    template <class A, class B>
    void take(Words& in, std::pair<A, B>& out) const {
        in >> out.first >> out.second;
    }
    template <class T>
    void take(Words& in, std::vector<T>& out) const {
        while (!(in >> std::ws).eof()) {
            take(in, out.emplace_back());
            if (in.fail()) return;
        }
        in.clear();
    }
    void take(Words& /*in*/, std::map<std::string, dstcc::Parameters>& out) const {
        for (const std::string& control : names())
            for (const std::string& name : (*this)[control].names())
                out[control][name] = (*this)[control][name].as<std::vector<double>>();
    }
    // What follows this place in longer ones.
    std::vector<std::string> names() const {
        std::vector<std::string> out;
        const std::string head = place_ + ".";
        for (auto line = table_->lower_bound(head); line != table_->end(); ++line) {
            if (line->first.compare(0, head.size(), head) != 0) break;
            const std::string name = line->first.substr(head.size(), line->first.find('.', head.size()) - head.size());
            if (out.empty() || out.back() != name) out.push_back(name);
        }
        return out;
    }
    const Table* table_;
    std::string place_;
};

// Takes the line, if its key is one of these.
inline bool read_line(const std::string& key, std::istringstream& in, Lines::Table& config) {
    std::string place;
    if (key == "link") {
        std::string& links = config["links"];  // how many there are
        links = std::to_string(links.empty() ? 1 : std::stoi(links) + 1);
        return true;
    }
    if (key == "config")
        in >> place;
    else if (key.front() == '.' && config.count("links") != 0)
        place = "links." + std::to_string(std::stoi(config["links"]) - 1) + key;
    if (place.empty()) return false;
    std::getline(in, config[place]);
    in.clear();
    return true;
}

// Reads a plan: `take` has the lines of a program's own and says whether one is, the configuration's are returned.
template <class Take>
Lines::Table read_lines(const std::string& path, const Take& take) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error(path + ": cannot be read");
    Lines::Table config;
    for (std::string line; std::getline(file, line);) {
        std::istringstream in(line);
        std::string key;
        if (!(in >> key)) continue;
        if (!take(key, in) && !read_line(key, in, config)) throw std::runtime_error("plan: unknown key " + key);
        if (in.fail()) throw std::runtime_error("plan: " + key + ": a value is missing or no number");
    }
    return config;
}

// What is left of a line: a path may have spaces.
inline std::string rest_of(std::istringstream& in) {
    std::string text;
    std::getline(in >> std::ws, text);
    return text;
}

// The rows of a file of numbers.
template <std::size_t kColumns, class Each>
void each_row(const std::string& path, const Each& each) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error(path + ": cannot be read");
    for (std::array<std::int64_t, kColumns> row; file.read(reinterpret_cast<char*>(row.data()), sizeof row);) each(row);
}

// What was read of the lines at a place; a line there that nothing asked for is an error by its place.
template <class T>
void read_all(const Lines::Table& config, const std::string& place, T& to) {
    dstcc::ConfigReader<Lines>().read(Lines(config, place), to);
    for (const auto& line : config)
        if (config.asked.count(line.first) == 0)
            throw std::runtime_error("plan: " + line.first + ": there is no such place");
}

inline std::vector<dstcc::LinkConfig> links_of(const Lines::Table& config) {
    std::vector<dstcc::LinkConfig> links;
    read_all(config, "links", links);
    return links;
}

}  // namespace links
