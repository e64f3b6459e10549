// The bytes of the layers: files of a stream, or made from the layer's number where there is no video.
#pragma once

#include "base.hpp"

namespace transfer {

class Payloads {
public:
    explicit Payloads(const Plan& plan) : plan_(plan), files_(plan.payloads.size()) {}
    ~Payloads();
    Payloads(const Payloads&) = delete;

    // `bytes` of an object from `offset` on, at most kStretch; valid until the next call.
    const char* at(int object, std::int64_t offset, std::int64_t bytes);

    static constexpr std::int64_t kStretch = 256 * 1024;

private:
    struct File {
        const char* data = nullptr;
        std::int64_t bytes = -1;
    };
    const File& open(std::size_t file);

    const Plan& plan_;
    std::vector<File> files_;
    std::vector<char> scratch_ = std::vector<char>(kStretch + 16);
};

}  // namespace transfer
