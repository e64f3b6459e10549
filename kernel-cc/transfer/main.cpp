// One trial on real sockets: both hosts in one process, which looks at them at every tick of the plan and, where lanes have
// windows of their own, at every ACK; it sleeps in between. The times in its results are the packets' own.
//
//   transfer PLAN      writes the plan's `result`: a line of JSON, then rows of the objects and of the samples
#include <sys/resource.h>
#include <unistd.h>

#include <cinttypes>
#include <csignal>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <poll.h>
#include <sstream>

#include "samples.hpp"
#include "sender.hpp"
#include "tap.hpp"
#include "shared_window.hpp"

namespace transfer {

namespace {

constexpr int kSlotsAPart = 5;

class Trial {
public:
    explicit Trial(const Plan& plan)
        : plan_(plan),
          payloads_(plan),
          ledger_(plan),
          earth_(plan, ledger_, payloads_),
          taps_(open_taps(plan)),
          acks_(ack_files()),
          started_(begin()),
          craft_(plan, ledger_, started_.monotonic),
          feeder_(make_feeder()),
          sampler_(plan, ledger_, craft_),
          standing_(plan.links.size()) {}

    void run() {
        Time now = 0, slot = plan_.slot;
        const std::function<void()> drained = [this] { drain(); };
        while (!over(now)) {
            craft_.poll(now);
            earth_.poll();
            drain();
            earth_.read();
            for (std::size_t link = 0; link < standing_.size(); ++link)
                standing_[link] = ledger_.queue_bytes(static_cast<int>(link), now);
            feeder_->pump(now, drained);
            if (now == slot) slot += plan_.slot;
            now = wait({(now / plan_.tick + 1) * plan_.tick, plan_.duration, slot});
            if (now == slot) {
                drain();
                sampler_.take(slot);
                if (++slots_ % kSlotsAPart == 0) write_part(slot);
                steer(slot);
            }
        }
        drain();
        earth_.read();
        if (plan_.placed) earth_.require_all_read();
        carried_ = craft_.carried();
        if (plan_.ledger) {
            std::vector<std::int64_t> acknowledged;
            for (int lane = 0; lane < static_cast<int>(plan_.lane_plans.size()); ++lane)
                acknowledged.push_back(craft_.acknowledged(lane));
            known_ = ledger_.known(acknowledged);
        }
        end_ = std::min(now, plan_.duration);
        if (end_ % plan_.slot != 0) sampler_.take(end_);
        for (std::size_t i = 0; i < taps_.size(); ++i)
            if (taps_[i].lost() > 0)
                throw Failure("the packets of link " + std::to_string(i / 3) + " came faster than they were looked at");
    }

    // A list for each layer and link: both numbers, bytes that were handed over for it, whose first packet left over it, and
    // what the kernel counts (Carried). A connection's local ids are the links' numbers.
    std::string placed() const {
        std::ostringstream rows;
        rows << '[';
        for (int layer = 0; plan_.placed && layer < plan_.layers; ++layer)
            for (int link = 0; link < static_cast<int>(plan_.links.size()); ++link) {
                Carried kernel;
                for (const Carried& row : carried_)
                    if (row.layer == layer && row.local_id == link) kernel = row;
                rows << (layer + link > 0 ? "," : "") << '[' << layer << ',' << link << ','
                     << feeder_->told(layer, link) << ',' << ledger_.first_over(layer, link) << ',' << kernel.carried
                     << ',' << kernel.strayed << ',' << kernel.moved << ',' << kernel.late << ']';
            }
        rows << ']';
        return rows.str();
    }
    void write() const { write_to(plan_.result, ledger_.outcomes.size()); }

private:
    void write_to(const std::string& path, std::size_t objects) const;
    // The samples so far, whole or not at all: all that is left if the guest is ended.
    void write_part(Time now) {
        end_ = now;
        const std::string made = plan_.result + ".part", begun = plan_.result + ".tmp";
        write_to(begun, 0);
        if (std::rename(begun.c_str(), made.c_str()) != 0) fail_errno(made);
    }
    static std::vector<Tap> open_taps(const Plan& plan) {
        std::vector<Tap> made;
        const auto tap = [&](int space, const std::string& device, bool outgoing) {
            enter(space);
            made.emplace_back(device, outgoing);
        };
        for (const Link& link : plan.links) {
            tap(link.played() ? plan.craft_ns : plan.earth_ns, link.depart_device, link.played());
            tap(plan.earth_ns, link.arrive_device, !link.played());
        }
        for (const Link& link : plan.links) tap(plan.craft_ns, link.craft_device, !link.played());
        return made;
    }
    static Start begin() {
        const Start start;
        start.announce();
        return start;
    }
    // Until the first of these times, or until an ACK comes; the time then.
    Time wait(std::initializer_list<Time> times) {
        const Time end = std::min(times), at = started_.monotonic + end;
        if (acks_.empty()) {
            started_.sleep_until(end);
            return end;
        }
        const timespec rest = timespec_of(std::max<Time>(at - clock_ns(CLOCK_MONOTONIC), 0));
        const int heard = ppoll(acks_.data(), acks_.size(), &rest, nullptr);
        if (heard < 0 && errno != EINTR) fail_errno("ppoll");
        return heard == 0 ? end : std::min(clock_ns(CLOCK_MONOTONIC) - started_.monotonic, end);
    }
    // Where each lane has a window of its own, the taps that see ACKs.
    std::vector<pollfd> ack_files() const {
        std::vector<pollfd> made;
        if (plan_.lanes && !plan_.shared)
            for (std::size_t i = 2 * plan_.links.size(); i < taps_.size(); ++i)
                made.push_back({taps_[i].file(), POLLIN, 0});
        return made;
    }
    bool over(Time t) const {
        if (t >= plan_.duration || ledger_.finished() == static_cast<int>(plan_.objects.size())) return true;
        return plan_.stall != kNever && t - quiet_since(t) > plan_.stall;
    }
    // The last delivery, or the end of an outage that has begun since.
    Time quiet_since(Time t) const {
        Time since = std::max<Time>(ledger_.totals.last_delivery, 0);
        for (const auto& [from, to] : plan_.outages)
            if (from <= t) since = std::max(since, to);
        return since;
    }
    // Departures first: a packet leaves before it arrives, and arrives before it is acknowledged.
    void drain() {
        Packet packet;
        Time at = 0;
        const std::size_t links = plan_.links.size();
        const auto seen = [&](std::size_t tap, std::size_t link, std::uint32_t Packet::* craft) {
            while (taps_[tap].next(packet, at))
                if (ledger_.is_of(static_cast<int>(link), packet.*craft)) return true;
            return false;
        };
        for (std::size_t i = 0; i < links; ++i)
            while (seen(2 * i, i, &Packet::source))
                ledger_.handle_departure(static_cast<int>(i), packet, at - started_.realtime);
        for (std::size_t i = 0; i < links; ++i)
            while (seen(2 * i + 1, i, &Packet::source)) ledger_.handle_arrival(packet, at - started_.realtime);
        for (std::size_t i = 0; i < links; ++i)
            while (seen(2 * links + i, i, &Packet::destination)) ledger_.handle_ack(packet, at - started_.realtime);
    }
    std::unique_ptr<Feeder> make_feeder() {
        if (plan_.shared) return std::make_unique<SharedWindow>(plan_, ledger_, craft_, earth_, payloads_);
        return std::make_unique<Sender>(plan_, ledger_, craft_, earth_, payloads_);
    }
    // Tells a controller of the slot and does as it answers (dstcc_kernel/steer.py has both lines). One that is gone is asked
    // no more: the links' windows are then for the kernel's own fallback to mind.
    void steer(Time now) {
        if (plan_.steer_out < 0 || gone_) return;
        std::ostringstream line;
        line << now;
        for (std::size_t link = 0; link < standing_.size(); ++link)
            line << ' ' << std::min(standing_[link], ledger_.queue_bytes(static_cast<int>(link), now));
        const std::vector<std::int64_t>& backlog = feeder_->waiting().backlog();
        const std::vector<Time> oldest = feeder_->waiting().oldest();
        for (std::size_t layer = 0; layer < backlog.size(); ++layer)
            line << ' ' << backlog[layer] << ' '
                 << (oldest[layer] == kNever ? -1 : std::max<Time>(oldest[layer] - now, 0));
        line << '\n';
        const std::string text = line.str();
        std::string reply;
        gone_ = ::write(plan_.steer_out, text.data(), text.size()) != static_cast<ssize_t>(text.size());
        for (char c = 0; !gone_ && c != '\n'; reply += c) gone_ = ::read(plan_.steer_in, &c, 1) != 1;
        std::istringstream in(reply);
        Answer answer;
        if (gone_ || !(in >> answer.gap >> answer.repair >> answer.dark)) return;
        for (int link = 0; in >> link;) answer.layers.push_back(link);
        feeder_->steer(answer);
    }

    const Plan& plan_;
    Payloads payloads_;
    mutable Ledger ledger_;
    Earth earth_;
    std::vector<Tap> taps_;
    std::vector<pollfd> acks_;
    Start started_;
    Craft craft_;
    std::unique_ptr<Feeder> feeder_;
    Sampler sampler_;
    std::vector<std::int64_t>
        standing_;  // each link's queue at the last look, before more was sent: what a look sends is no queue
    std::vector<Carried> carried_;     // by the kernel's scheduler, at the end
    std::vector<std::int64_t> known_;  // of each layer to the sender, likewise
    Time end_ = 0;
    int slots_ = 0;
    bool gone_ = false;
};

void put(std::FILE* file, const void* data, std::size_t bytes, const std::string& path) {
    if (bytes > 0 && std::fwrite(data, 1, bytes, file) != bytes) fail_errno(path);
}

void Trial::write_to(const std::string& path, std::size_t objects) const {
    const Totals& t = ledger_.totals;
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (file == nullptr) fail_errno(path);
    const double p95 = ledger_.wait_p95_s();
    const std::string wait = std::isnan(p95) ? "null" : std::to_string(p95);
    std::fprintf(file,
                 "{\"objects\": %zu, \"samples\": %zu, \"end_ns\": %" PRId64 ", \"sent_wire_bytes\": %" PRId64
                 ", \"sent_payload_bytes\": %" PRId64 ", \"retransmitted_payload_bytes\": %" PRId64
                 ", \"arrived_payload_bytes\": %" PRId64 ", \"delivered_payload_bytes\": %" PRId64
                 ", \"duplicate_payload_bytes\": %" PRId64 ", \"hol_payload_bytes\": %" PRId64
                 ", \"hol_wait_byte_s\": %.9g, \"rtt_sum_s\": %.12g, \"rtt_samples\": %" PRId64
                 ", \"queue_p95_s\": %s, \"data_packets\": %" PRId64 ", \"arrived_packets\": %" PRId64
                 ", \"first_send_ns\": %" PRId64 ", \"last_delivery_ns\": %" PRId64
                 ", \"placed\": %s, \"ledger\": %zu}\n",
                 objects, sampler_.rows.size(), end_, t.sent_wire, t.sent_payload, t.retransmitted_payload,
                 t.arrived_payload, t.delivered_payload, t.duplicate_payload, t.hol_payload, t.hol_wait_byte_s,
                 t.rtt_sum_s, t.rtt_samples, wait.c_str(), t.data_packets, t.arrived_packets, t.first_send,
                 t.last_delivery, placed().c_str(), known_.size() / 2);
    put(file, ledger_.outcomes.data(), objects * sizeof(Outcome), path);
    put(file, sampler_.rows.data(), sampler_.rows.size() * sizeof(Sample), path);
    put(file, known_.data(), known_.size() * sizeof known_[0], path);
    if (std::fclose(file) != 0) fail_errno(path);
}

}  // namespace

}  // namespace transfer

int main(int argc, char** argv) {
    return transfer::program("transfer", argc, argv, [](const char* path) {
        std::signal(SIGPIPE, SIG_IGN);
        // Two sockets a lane, and few systems allow more than 1,024 files unless asked.
        const rlimit files{1 << 16, 1 << 16};
        setrlimit(RLIMIT_NOFILE, &files);
        const transfer::Plan plan = transfer::read_plan(path);
        transfer::Trial trial(plan);
        trial.run();
        trial.write();
    });
}
