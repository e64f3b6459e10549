// paced: a rate for coded packets that nobody is told: this project's own.
//
//   own line    paths/own_queue.hpp: its rate within the first packets, and a short queue in front of it
//   further on  sixteen times a round trip, from what reports say: paths/further_on.hpp (a queue that is not the sender's own, by the
//               delay and the rate of what arrives) and paths/pacing_limit.hpp (losses that the sender causes)
//
// The pace is the least of the three. Nothing is acknowledged packet by packet: a receiver reports as its uplink allows
// (coding/receiving_end.hpp). Before a report has come the own line's rate is all there is, and is sent at.
//
// A silent link is not a slow one. While nothing is heard for longer than a round trip and a slot, and of packets that were sent
// over more than a slot and are all lost, nothing is learned: the pace stays.
#include "congestion/paced.hpp"

#include <optional>

#include "congestion/control.hpp"
#include "paths/further_on.hpp"
#include "paths/own_queue.hpp"
#include "paths/pacing_limit.hpp"

namespace dstcc {
namespace {

constexpr Time kFirstWaits = 1024;              // in a round trip: what a train waits for at first
constexpr Time kSlots = 16;                     // in a round trip, at most
constexpr double kSlotPackets = 16;             // in a slot, at least
constexpr int kSlotReports = 4;                 // likewise; one that heard fewer was too short to count in
constexpr Time kMostSlots = FurtherOn::kSlots;  // that are made up for after a silence

class Paced final : public CongestionControl {
public:
    void init(TcpState& tcp, Time now) override {
        tcp.cwnd = kInfiniteWindow;
        const double full = tcp.wire_bytes;
        queue_.emplace(full, std::max<Time>(tcp.srtt_ns / kFirstWaits, 1));
        limit_.emplace(full);
        heard_ns_ = newest_ns_ = now;
    }
    std::int64_t ssthresh(TcpState&, Time) override { return kInfiniteWindow; }
    void cong_avoid(TcpState&, std::int64_t, Time) override {}
    bool owns_window() const override { return true; }
    bool takes_acks() const override { return true; }
    bool wants_queue() const override { return true; }
    bool wants_reports() const override { return true; }

    Time on_queue(TcpState& tcp, const QueueSeen& seen, Time now) override {
        const bool known = queue_->known();
        const Time gap = queue_->see(now, seen, most_);
        if (!known && queue_->known()) begin_slots(tcp, now);
        sent_ += seen.packet;
        last_queue_ = static_cast<double>(seen.after);
        close_slots(tcp, now);
        tcp.pacing_bytes_per_ns = std::min(queue_->share(), most_);
        return gap;
    }
    void on_event(TcpState&, CaEvent event, Time now) override {
        if (event == CaEvent::kIdleRestart) heard_ns_ = now;
    }
    bool cong_control(TcpState& tcp, const RateSample& sample, Time now) override {
        close_slots(tcp, now);
        const std::uint64_t lost = tcp.lost - known_lost_;
        known_lost_ = tcp.lost;
        const Time newest = sample.rtt_ns < 0 ? newest_ns_ : now - sample.rtt_ns;
        if (newest - newest_ns_ <= slot_ns_) lost_ += static_cast<double>(lost);
        newest_ns_ = std::max(newest_ns_, newest);
        delivered_ += static_cast<double>(sample.acked_bytes);
        if (sample.acked_sacked > 0) heard_ns_ = now;
        ++reports_;
        return true;
    }

private:
    // A slot has packets enough to count.
    void begin_slots(const TcpState& tcp, Time now) {
        slot_ns_ = std::max(tcp.srtt_ns / kSlots, static_cast<Time>(kSlotPackets * tcp.wire_bytes / queue_->share()));
        slot_end_ns_ = now + slot_ns_;
    }
    void close_slots(TcpState& tcp, Time now) {
        if (slot_ns_ == 0 || now < slot_end_ns_) return;
        slot_end_ns_ = std::max(slot_end_ns_, now - kMostSlots * slot_ns_);
        for (; now >= slot_end_ns_; slot_end_ns_ += slot_ns_) close_slot(tcp);
    }
    void close_slot(const TcpState& tcp) {
        const double slot_s = static_cast<double>(slot_ns_) / kNsPerS, packet = tcp.wire_bytes;
        const double shown = queue_->share() * kNsPerS;
        PathReport report;
        report.established = true;
        report.up = tcp.in_flight() == 0 || slot_end_ns_ - heard_ns_ <= tcp.srtt_ns + slot_ns_;
        report.srtt_s = static_cast<double>(tcp.srtt_ns) / kNsPerS;
        report.one_way_s = static_cast<double>(tcp.light_ns) / kNsPerS;
        report.sent_segments = sent_ / packet;
        report.delivered_bytes = delivered_;
        report.queue_bytes = last_queue_;
        const double further_on = further_on_.update(report, slot_s, shown, packet, 1);
        PathSlot slot;
        slot.slot_s = slot_s;
        slot.srtt_s = report.srtt_s;
        slot.up = report.up;
        slot.delivered = delivered_;
        slot.lost = lost_;
        slot.queue_seen = true;
        slot.rate = shown;
        limit_->update(slot);
        const double least = packet / slot_s;  // a packet a slot goes on to be heard of
        most_ = std::max(std::min(further_on, limit_->limit()), least) / kNsPerS;
        sent_ = delivered_ = lost_ = 0;
        if (reports_ > 0 && reports_ < kSlotReports && 2 * slot_ns_ <= tcp.srtt_ns) {
            slot_ns_ *= 2;
            further_on_ = FurtherOn();  // whose slots are of one length
        }
        reports_ = 0;
    }

    std::optional<OwnQueue> queue_;
    std::optional<PacingLimit> limit_;
    FurtherOn further_on_;
    double most_ = std::numeric_limits<double>::infinity();  // bytes in a nanosecond
    Time slot_ns_ = 0, slot_end_ns_ = 0;
    Time heard_ns_ = 0, newest_ns_ = 0;  // when the last report came, or sending began; when its newest packet was sent
    std::uint64_t known_lost_ = 0;
    int reports_ = 0;                                              // in the slot
    double sent_ = 0, delivered_ = 0, lost_ = 0, last_queue_ = 0;  // in the slot: bytes, bytes and packets; the queue
};

const Registered<ControlEntry> kEntry{{kPaced, make_control<Paced>}};

}  // namespace

}  // namespace dstcc
