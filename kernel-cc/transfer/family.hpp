// The module's netlink family "dstcc" (kernel-cc/module/dstcc.yaml), as far as a sender needs it: where the kernel places byte
// ranges, what the next bytes are, and what each subflow carried of each layer; where subflows share a window, its state.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base.hpp"

namespace transfer {

// What a subflow carried of a layer, in bytes (struct mptcp_dstcc_row).
struct Carried {
    int layer = 0, local_id = 0;
    std::int64_t carried = 0, strayed = 0, moved = 0, late = 0;
};

// Subflows that share a window, which the kernel sees to; segments.
struct Group {
    std::int64_t window = 0, beside = 0, in_flight = 0;
};

class Family {
public:
    // Of the network namespace that the caller is in; none where the kernel has another control than our module.
    static std::unique_ptr<Family> find();
    // Likewise; a failure without our module.
    Family();
    ~Family();
    Family(const Family&) = delete;

    // The connection's next bytes are of a layer, due at `deadline` (the kernel's monotonic clock, 0: never); for a subflow by
    // its local id, or where the connection's table has them (-1).
    void announce(std::uint32_t token, int layer, std::int64_t bytes, Time deadline, int local_id);
    std::vector<Carried> carried(std::uint32_t token);
    // Local ids of the subflows that can carry data now.
    std::vector<int> living(std::uint32_t token);

    // Nothing while nobody is in it.
    std::optional<Group> group(std::uint32_t id);

private:
    explicit Family(bool needed);
    int ask(std::uint8_t command, const std::string& attributes);
    void request(std::uint8_t command, const std::string& attributes);
    int receive();
    void read_family(const char* at, const char* end);
    void read_rows(const char* at, const char* end);
    void read_group(const char* at, const char* end);

    int socket_ = -1;
    std::uint16_t family_;
    std::uint32_t sequence_ = 0;
    std::vector<char> room_ = std::vector<char>(1 << 16);
    std::vector<Carried> rows_;
    std::vector<int> living_;
    std::optional<Group> group_;
    bool asked_group_ = false;
};

}  // namespace transfer
