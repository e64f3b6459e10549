// The members of a struct by the names that they have in dstcc/engine/config.py, each written once.
#pragma once

#include <array>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace dstcc {

// Calls each(NAME, MEMBER) for members that `names` lists as code does; of a member's member `a.b` the name is a_b.
template <class Each, class... Members>
void each_field(const char* names, Each&& each, Members&... members) {
    const auto next = [&names] {
        std::string name;
        for (; *names != '\0' && *names != ','; ++names)
            if (*names != ' ') name += *names == '.' ? '_' : *names;
        if (*names == ',') ++names;
        return name;
    };
    (each(next(), members), ...);
}

// In a struct: its members that dstcc/engine/config.py has, too.
#define DSTCC_FIELDS(...)                                     \
    template <class Each>                                     \
    void fields(Each&& each) {                                \
        ::dstcc::each_field(#__VA_ARGS__, each, __VA_ARGS__); \
    }                                                         \
    template <class Each>                                     \
    void fields(Each&& each) const {                          \
        ::dstcc::each_field(#__VA_ARGS__, each, __VA_ARGS__); \
    }

template <class T, class = void>
struct HasFields : std::false_type {};
template <class T>
struct HasFields<T, std::void_t<decltype(std::declval<T&>().fields(0))>> : std::true_type {};

// The words of an enumeration, in its order.
template <class T>
inline constexpr std::array<const char*, 0> kWords{};

template <class T>
T by_word(const std::string& word) {
    std::string known;
    for (std::size_t i = 0; i < kWords<T>.size(); ++i) {
        if (word == kWords<T>[i]) return static_cast<T>(i);
        known += (i == 0 ? "" : ", ") + std::string(kWords<T>[i]);
    }
    throw std::invalid_argument("'" + word + "' is none of " + known);
}

}  // namespace dstcc
