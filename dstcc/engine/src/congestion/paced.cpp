// paced: a measured rate for coded packets: this project's own.
//
//   own line    paths/own_queue.hpp: its rate within the first packets, and a short queue in front of it
//   further on  sixteen times a round trip, from what reports say: paths/far_queue.hpp (a queue that is not the sender's own, by the
//               delay and the rate of what arrives) and paths/pacing_limit.hpp (losses that the sender causes)
//
// The pace is the least of the three. Nothing is acknowledged packet by packet: a receiver reports as its uplink allows
// (coding/receiving_end.hpp). Before a report has come the own line's rate is all there is, and is sent at.
//
// What is not used is forgotten: while nothing is in flight the limits of downstream bottlenecks rise by a quarter a round trip, and so does a
// share of the own line that others left. Else a rate at which no layer could be in time would be the last one.
//
// Told the rates of its lines (`told_rates`) it searches for none and sends at no more; the rest is as it is found. Losses are the
// channel's then, unless a queue was seen to stand further on, or something waited there for a contact, in storage that may overflow.
//
// A silent link is not a slow one. While nothing is heard for longer than a round trip and a slot, and of packets that were sent
// over more than a slot and are all lost, nothing is learned: the pace stays.
#include "congestion/paced.hpp"

#include <array>
#include <optional>

#include "congestion/control.hpp"
#include "congestion/told_rate.hpp"
#include "core/ring.hpp"
#include "paths/far_queue.hpp"
#include "paths/own_queue.hpp"
#include "paths/pacing_limit.hpp"

namespace dstcc {
namespace {

constexpr Time kFirstWaits = 1024;   // in a round trip: what a train waits for at first
constexpr Time kSlots = 16;          // in a round trip, at most
constexpr double kSlotPackets = 16;  // in a slot, at least
constexpr int kSlotReports = 4;      // likewise; one that heard fewer was too short to count in
constexpr int kMostSlots = 128;      // that are made up for after a silence
constexpr double kRests =
    1.0 / 4;  // in a round trip in which nothing is in flight, a downstream bottleneck may carry more
constexpr double kLinePackets = 2;  // a packet on each of two lines is no queue

class Paced final : public CongestionControl {
public:
    explicit Paced(const ControlSetup& setup) : far_(setup.sharers > 1) {
        if (setup.one("told_rates", 0) > 0) told_.emplace(setup, 0);
        sharers_ = setup.sharers;
    }
    void init(TcpState& tcp, Time now) override {
        tcp.cwnd = kInfiniteWindow;
        const double full = tcp.wire_bytes;
        queue_.emplace(full, std::max<Time>(tcp.srtt_ns / kFirstWaits, 1), sharers_);
        limit_.emplace(full, true);
        heard_ns_ = newest_ns_ = now;
        if (!told_) return;
        take_told(tcp, now);
        begin_slots(tcp, now);
        tcp.pacing_bytes_per_ns = pace();
    }
    std::int64_t ssthresh(TcpState&, Time) override { return kInfiniteWindow; }
    void cong_avoid(TcpState&, std::int64_t, Time) override {}
    bool owns_window() const override { return true; }
    bool takes_acks() const override { return true; }
    bool wants_queue() const override { return true; }
    bool wants_reports() const override { return true; }

    Time on_queue(TcpState& tcp, const QueueSeen& seen, Time now) override {
        const bool known = queue_->known();
        if (told_ && (!told_->steady() || tcp.part != part_)) take_told(tcp, now);
        const double share = queue_->share();
        const Time gap = queue_->see(now, seen, std::min(most_, line_));
        if (queue_->share() != share) shares_.push_back({now, share});
        if (!known && queue_->known()) begin_slots(tcp, now);
        see_pause(now);
        left_ns_ = now;
        if (seen.after > seen.before) sent_ += seen.packet;  // else the sender keeps it
        slot_wait_ = std::max(slot_wait_, seen.leaves_ns - now);
        close_slots(tcp, now);
        tcp.pacing_bytes_per_ns = pace();
        return gap;
    }
    // In a slot what comes back is counted. What was sent in it, or in the one before, matters; a pause would.
    Time deaf_until(Time round_trip) const override {
        const bool counts = slot_ns_ > 0 && 2 * slot_ns_ <= round_trip && slot_end_ns_ - left_ns_ <= 2 * slot_ns_;
        return counts ? slot_end_ns_ - 1 : -1;
    }
    void on_slot(TcpState& tcp, Time now) override {
        if (!queue_->known()) return;
        close_slots(tcp, now);
        tcp.pacing_bytes_per_ns = pace();
    }
    void on_event(TcpState& tcp, CaEvent event, Time now) override {
        if (event != CaEvent::kIdleRestart) return;
        heard_ns_ = now;
        if (slot_ns_ == 0 || tcp.gap_ns == 0 || !far_.found()) return;
        look_further(tcp, now);
        bound(tcp);
    }
    bool cong_control(TcpState& tcp, const RateSample& sample, Time now) override {
        close_slots(tcp, now);
        const std::uint64_t lost = tcp.lost - known_lost_;
        known_lost_ = tcp.lost;
        const Time newest = sample.rtt_ns < 0 ? newest_ns_ : now - sample.rtt_ns;
        const double counts = newest - newest_ns_ <= slot_ns_ ? static_cast<double>(lost) : 0;
        const Time before = newest_ns_;
        newest_ns_ = std::max(newest_ns_, newest);
        lost_ += counts;
        far_.lose(counts * tcp.wire_bytes);
        delivered_ += static_cast<double>(sample.acked_bytes);
        if (slot_ns_ > 0) count_turn(tcp, before, static_cast<double>(sample.acked_bytes), counts);
        if (tcp.one_way_ns < 0) {
            far_.skip();
            stored_ = true;
            tcp.far_wait_ns = -1;
        } else if (sample.sent_ns >= 0 && queue_->known()) {
            const Time own = own_wait(tcp, sample.sent_ns, share_at(now, sample.behind));
            const Time wait = tcp.one_way_ns - tcp.light_ns - own;
            tcp.far_wait_ns = std::max<Time>(wait, 0);
            far_.hear(sample.sent_ns, wait, static_cast<double>(sample.acked_bytes));
        }
        tcp.far_full = far_.full();
        if (sample.acked_sacked > 0) heard_ns_ = now;
        ++reports_;
        return true;
    }

private:
    double pace() const { return std::min({queue_->share(), most_, line_}); }
    // The configured rate now; where that is new, it applies at once.
    void take_told(const TcpState& tcp, Time now) {
        part_ = tcp.part;
        const double parts = part_ > 0 ? part_ * sharers_ : 1;
        const double rate = parts * told_->at(now, static_cast<double>(tcp.wire_bytes));
        if (rate != line_) queue_->tell(rate);
        line_ = rate;
    }
    // A slot has packets enough to count.
    void begin_slots(const TcpState& tcp, Time now) {
        slot_ns_ = std::max(tcp.srtt_ns / kSlots, static_cast<Time>(kSlotPackets * tcp.wire_bytes / queue_->share()));
        end_slot_at(now + slot_ns_);
    }
    // Slots are remembered in a ring: how many ago a time is, 0 being the present one, and the place of a past one.
    Time slots_ago(Time at) {
        if (at <= asked_.from_ns || at > asked_.to_ns) {
            const Time ago = (slot_end_ns_ - at) / slot_ns_, to = slot_end_ns_ - ago * slot_ns_;
            asked_ = {to - slot_ns_, to, std::clamp<Time>(ago, 0, kMostSlots - 2), 0};
            for (Time back = std::max<Time>(asked_.ago - 1, 1); back <= asked_.ago + 1; ++back)
                asked_.wait_ns = std::max(asked_.wait_ns, waits_[place(back)]);
        }
        return asked_.ago;
    }
    std::size_t place(Time ago) const { return static_cast<std::size_t>((slots_ + 1 - ago + kMostSlots) % kMostSlots); }
    // What a packet of that time took beyond light and a queue further on, at most.
    Time own_wait(const TcpState& tcp, Time sent, double share) {
        const Time wait = slots_ago(sent) <= 1 ? std::max(slot_wait_, asked_.wait_ns) : asked_.wait_ns;
        return wait + static_cast<Time>(kLinePackets * tcp.wire_bytes / share);
    }
    // The own line's, before what left then; `behind`: or later. Nobody asks for an earlier time.
    double share_at(Time now, bool behind) {
        while (!shares_.empty() && (!behind || shares_.front().until < now)) shares_.pop_front();
        return shares_.empty() ? queue_->share() : shares_.front().share;
    }
    // What a report told of one slot, by the turn of a trial in which it was sent; `before`: the newest of the report before.
    void count_turn(const TcpState& tcp, Time before, double delivered, double lost) {
        const Time ago = slots_ago(newest_ns_);
        const PacingLimit::Turn turn = ago < 1 ? PacingLimit::kNoTurn : taken_[place(ago)];
        if (turn == PacingLimit::kNoTurn || paces_[place(ago)] <= 0 || slots_ago(before) != ago) return;
        SentThen& of = turns_[static_cast<std::size_t>(turn)];
        of.delivered += delivered;
        of.lost += lost;
        of.busy_s += (delivered + lost * tcp.wire_bytes) / paces_[place(ago)] / kNsPerS;
    }
    void close_slots(TcpState& tcp, Time now) {
        if (slot_ns_ == 0 || now < slot_end_ns_) return;
        end_slot_at(std::max(slot_end_ns_, now - kMostSlots * slot_ns_));
        for (; now >= slot_end_ns_; end_slot_at(slot_end_ns_ + slot_ns_)) close_slot(tcp);
    }
    void end_slot_at(Time end) {
        slot_end_ns_ = end;
        asked_ = {};
    }
    // A gap of more than two slots is a pause; nobody waits so long for his pace.
    void see_pause(Time now) {
        if (slot_ns_ > 0 && now - left_ns_ > 2 * slot_ns_) far_.pause(left_ns_, now);
    }
    void close_slot(TcpState& tcp) {
        see_pause(slot_end_ns_);
        share_at(slot_end_ns_, false);
        const double slot_s = static_cast<double>(slot_ns_) / kNsPerS, packet = tcp.wire_bytes;
        const double shown = queue_->share() * kNsPerS;
        const bool up = tcp.in_flight() == 0 || slot_end_ns_ - heard_ns_ <= tcp.srtt_ns + slot_ns_;
        // The pace at which was sent what was heard of: a source that sends less is no slower line.
        const Time ago = slots_ago(newest_ns_);
        const double sent_at = ago < 1 || paces_[place(ago)] <= 0 ? pace() : paces_[place(ago)];
        ++slots_;
        waits_[place(1)] = slot_wait_;
        paces_[place(1)] = pace();
        taken_[place(1)] = limit_->turn();
        if (tcp.in_flight() == 0) {
            const double grows = 1 + kRests * static_cast<double>(slot_ns_) / static_cast<double>(tcp.srtt_ns);
            queue_->rest(grows);
            far_.rest(grows);
            limit_->rest(grows);
        }
        if (up) look_further(tcp, slot_end_ns_);
        PathSlot slot;
        slot.slot_s = slot_s;
        slot.busy_s = (delivered_ + lost_ * packet) / sent_at / kNsPerS;
        slot.srtt_s = static_cast<double>(tcp.srtt_ns) / kNsPerS;
        slot.up = up;
        slot.delivered = delivered_;
        slot.lost = lost_;
        slot.slower = turns_[PacingLimit::kSlower];
        slot.faster = turns_[PacingLimit::kFaster];
        turns_ = {};
        slot.queue_seen = true;
        slot.rate = shown;
        limit_->update(slot);
        bound(tcp);
        tcp.ahead_ns = far_.ahead();
        tcp.far_found = far_.found();
        slot_wait_ = 0;
        const bool whole = was_up_ && in_contact(tcp);  // reports of a slot that an outage cut short are few
        was_up_ = in_contact(tcp);
        const bool few = reports_ < kSlotReports && delivered_ >= kSlotPackets * packet;  // a fade reports little, too
        if (whole && few && 2 * slot_ns_ <= tcp.srtt_ns) {
            slot_ns_ *= 2;
            waits_.fill(*std::max_element(waits_.begin(), waits_.end()));
            paces_.fill(pace());
            taken_.fill(PacingLimit::kNoTurn);
        }
        reports_ = 0;
        delivered_ = lost_ = 0;
    }

    // By the plan, as far as the control is told of it.
    static bool in_contact(const TcpState& tcp) { return tcp.gap_ns > 0 || tcp.until_gap_ns == kNever; }
    void look_further(const TcpState& tcp, Time now) {
        const double each = sent_ / static_cast<double>(std::max<std::int64_t>(tcp.snd_nxt, 1));
        far_.set_packet(tcp.wire_bytes);
        far_limit_ = far_.pace(now, each * static_cast<double>(tcp.in_flight()), queue_->share(),
                               std::max<Time>(2 * tcp.light_ns, 1), tcp.spare_ns, {tcp.until_gap_ns, tcp.gap_ns});
    }
    void bound(const TcpState& tcp) {
        // A packet a slot goes on to be heard of.
        const double least = tcp.wire_bytes / static_cast<double>(slot_ns_);
        const bool judged = !told_ || far_.found() || stored_;
        most_ = judged ? limit_->limit() / kNsPerS : std::numeric_limits<double>::infinity();
        most_ = std::max(std::min(far_limit_, most_), least);
    }
    static std::array<PacingLimit::Turn, kMostSlots> nobody() {
        std::array<PacingLimit::Turn, kMostSlots> turns;
        turns.fill(PacingLimit::kNoTurn);
        return turns;
    }

    std::optional<ToldRate> told_;
    std::optional<OwnQueue> queue_;
    std::optional<PacingLimit> limit_;
    FarQueue far_;
    int sharers_ = 1;  // of its line
    double part_ = 0;  // of the line's rate, as it was last told
    double far_limit_ = std::numeric_limits<double>::infinity();
    double most_ = std::numeric_limits<double>::infinity();  // bytes in a nanosecond
    double line_ = std::numeric_limits<double>::infinity();  // the configured rate
    Time slot_ns_ = 0, slot_end_ns_ = 0;
    struct Ago {
        Time from_ns = 0, to_ns = 0, ago = 0;
        Time wait_ns = 0;  // the longest in the own queue, around then
    };
    Ago asked_;                          // the past slot that was asked for last: from, but for that time, and to
    Time left_ns_ = 0;                   // the newest packet
    Time heard_ns_ = 0, newest_ns_ = 0;  // when the last report came, or sending began; when its newest packet was sent
    std::uint64_t known_lost_ = 0;
    bool stored_ = false;                   // something waited further on for a contact
    bool was_up_ = true;                    // by the plan, at the slot's begin
    int reports_ = 0;                       // in the slot
    double delivered_ = 0, lost_ = 0;       // likewise: bytes, packets
    Time slot_wait_ = 0;                    // the longest in the own queue
    std::array<Time, kMostSlots> waits_{};  // of the last slots
    std::array<double, kMostSlots> paces_{};
    std::array<PacingLimit::Turn, kMostSlots> taken_ = nobody();
    std::array<SentThen, 2> turns_{};  // since the last slot
    Time slots_ = 0;
    double sent_ = 0;  // bytes in all
    struct Shown {
        Time until;
        double share;
    };
    BlockRing<Shown, 4> shares_;  // of the own line, that are others by now
};

const Registered<ControlEntry> kEntry{{kPaced, make_control<Paced>, {"told_rates"}}};

}  // namespace

}  // namespace dstcc
