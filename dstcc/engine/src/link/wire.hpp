// The packets of one transport that are under way on a link, data and ACKs, in arrival order. Only the event loop takes packets off
// it; the ends put packets on it through link/transmitter.hpp and link/ack_transmitter.hpp, and see nothing else of it.
#pragma once

#include <map>
#include <memory>

#include "core/events.hpp"
#include "core/ring.hpp"
#include "link/network.hpp"
#include "link/packet_log.hpp"
#include "link/packets.hpp"

namespace dstcc {

// Those who want to know of every transmission and its fate, which no end may.
struct WireObservers {
    PacketLog* log = nullptr;
    std::vector<Time>* worst_ns =
        nullptr;  // per layer: the latest arrival of what was sent of it; kNever once any was lost
    const LayerHeaders* layers = nullptr;  // with that
    bool any() const { return log != nullptr || worst_ns != nullptr; }
};

class Wire {
public:
    struct Beside {              // what travels beside each ACK
        bool stamps = false;     // how long the newest segment took
        bool delivered = false;  // in-order payload at the receiver, whose window is bounded
    };
    // Of its heads, the number of each is `index`: packets that arrive, and ACKs that come back.
    Wire(Link& link, std::size_t index, QuickHeads arrivals, QuickHeads answers)
        : link_(&link),
          arrivals_(arrivals),
          answers_(answers),
          head_(index) {
        if (link.network != nullptr) beyond_ = std::make_unique<Beyond>(*this, link);
    }
    // Transmissions that a script takes away, on the far end of the link (LinkConfig::drops).
    void script(const std::vector<std::pair<std::int64_t, int>>& drops) { drops_ = {drops.begin(), drops.end()}; }
    void carry_beside(Beside beside) { beside_ = beside; }
    void observe(const WireObservers& observers) {
        observers_ = observers;
        observed_ = observers.any();
    }

    // Data packets that are alike are one record.
    void set_joining() { joins_ = true; }
    // Packets of a run have their places one after another in an ordering domain, and not all the same.
    void set_ordered(bool ordered) {
        order_step_ = ordered;
        joins_acks_ = ordered && !beside_.stamps && !beside_.delivered;
    }

    // The packet that arrives next; it lies there until it is popped.
    const DataPacket& front_data() { return data_.front(); }
    // When the next one arrives, which its head is to be told.
    Time pop_data() {
        data_.pop_front();
        data_.prefetch_ahead(kPrefetch);
        return data_.empty() ? kNever : data_.front().arrive_ns;
    }
    // As many as are one record with it arrive at equal distances; of these, so many are taken.
    PacketRun front_run() { return data_.front().pushed != 0 ? data_runs_.front() : PacketRun{1, 0, 0}; }
    Time pop_data(std::int64_t count) {
        DataPacket& front = data_.front();
        if (front.pushed == 0) return pop_data();
        PacketRun& run = data_runs_.front();
        data_in_runs_ -= count;
        if (run.count == count) {
            data_runs_.pop_front();
            return pop_data();
        }
        front.arrive_ns += count * run.spacing;
        front.sent_ns += run.sent_after(count);
        run.drop(count);
        front.number += static_cast<std::uint32_t>(count);
        front.order += order_step_ * static_cast<std::uint32_t>(count);
        return front.arrive_ns;
    }
    // When what follows that record arrives; kNever: nothing does.
    Time arrival_behind() const { return nth_arrival(2); }
    // Packets that arrive by then, or are one record with such.
    std::int64_t arriving(Time until) const {
        std::int64_t packets = 0, run = data_runs_.begin();
        for (std::int64_t i = data_.begin(); i < data_.end() && data_[i].arrive_ns <= until; ++i)
            packets += data_[i].pushed != 0 ? data_runs_[run++].count : 1;
        return packets;
    }
    // When the nth record of what is under way arrives; kNever if there are not so many.
    Time nth_arrival(std::int64_t n) const {
        return data_.size() < n ? kNever : data_[data_.begin() + n - 1].arrive_ns;
    }
    // When the newest record under way arrives, its first; -1: none is.
    Time newest_arrival() const { return data_.empty() ? -1 : data_[data_.end() - 1].arrive_ns; }
    bool scripted() const { return !drops_.empty(); }
    bool dropped_by_script(const DataPacket& packet) {
        if (packet.bytes == 0) return false;
        passed_ = widen(passed_, packet.number);
        const auto scripted = drops_.find(passed_);
        if (scripted == drops_.end()) return false;
        if (--scripted->second == 0) drops_.erase(scripted);
        return true;
    }
    // The next ACK that arrives; then what travels beside it: its stamp, the receiver's count and its SACK blocks, if it has any.
    AckPacket take_ack() {
        const AckPacket packet = acks_.front();
        acks_.pop_front();
        acks_.prefetch_ahead(kPrefetch);
        answers_.set(head_, acks_.empty() ? kNever : acks_.front().arrive_ns);
        return packet;
    }
    // When the first ACK comes of which it is not so, up to and including then; else the time after it. f(the first of a run, what is
    // delivered, the run) is of how many it is so.
    template <class F>
    Time acks_while(Time until, F&& f) const {
        std::int64_t next = ack_runs_.begin();
        for (std::int64_t i = acks_.begin(); i < acks_.end() && acks_[i].arrive_ns <= until; ++i) {
            const AckRun run = acks_[i].kind == kRun ? ack_runs_[next++] : AckRun{1, 0, 0, 0};
            const std::int64_t so = f(acks_[i], delivered_[i], run);
            if (so < run.count) return std::min(acks_[i].arrive_ns + so * run.spacing, until + 1);
        }
        return until + 1;
    }
    // The ACK that arrives next, what travels beside it, and as many as are one record with it; of these, so many are taken.
    const AckPacket& front_ack() { return acks_.front(); }
    bool answers() const { return !acks_.empty(); }
    Time front_stamp() { return stamps_.front(); }
    std::int64_t front_delivered() { return delivered_.front(); }
    AckRun front_acks() { return acks_.front().kind == kRun ? ack_runs_.front() : AckRun{1, 0, 0, 0}; }
    void pop_acks(std::int64_t count) {
        AckPacket& front = acks_.front();
        if (front.kind == kRun) {
            AckRun& run = ack_runs_.front();
            acks_in_runs_ -= count;
            run.count -= count;
            if (run.count > 0) {
                front.arrive_ns += count * run.spacing;
                front.cumulative += static_cast<std::uint32_t>(count * run.acknowledges);
                (beside_.stamps ? stamps_.front() : front.echo_ns) += count * run.stamp_spacing;
                if (run.lengthens > 0) blocks_.front().end[0] += static_cast<std::uint32_t>(count * run.lengthens);
                return answers_.set(head_, front.arrive_ns);
            }
            ack_runs_.pop_front();
        }
        if (front.sacks > 0) take_blocks();
        take_ack();
        if (beside_.stamps) take_stamp();
        if (beside_.delivered) take_delivered();
    }
    const SackBlocks& front_blocks() { return blocks_.front(); }
    const Beside& beside() const { return beside_; }
    Time take_stamp() { return take(stamps_); }
    std::int64_t take_delivered() { return take(delivered_); }
    SackBlocks take_blocks() { return take(blocks_); }

    std::int64_t data_under_way() const {
        return data_.size() + data_in_runs_ - data_runs_.size() + (beyond_ ? beyond_->data.under_way : 0);
    }
    std::int64_t acks_under_way() const {
        return acks_.size() + acks_in_runs_ - ack_runs_.size() + (beyond_ ? beyond_->acks.under_way : 0);
    }
    // Of the records kept of packets under way.
    std::int64_t bytes() const {
        return data_.bytes() + data_runs_.bytes() + acks_.bytes() + ack_runs_.bytes() + blocks_.bytes() +
               stamps_.bytes() + delivered_.bytes() +
               (beyond_ ? beyond_->data.packets.bytes() + beyond_->acks.packets.bytes() : 0);
    }

private:
    friend class Transmitter;
    friend class AckTransmitter;
    static constexpr std::int64_t kPrefetch = 8;  // packets ahead in a ring; see tcp/sender_acks.cpp for what it saves

    // An ACK and what travels beside it.
    struct WholeAck {
        AckPacket packet;
        SackBlocks blocks;
        Time one_way_ns;
        std::int64_t delivered;
    };
    // What is between two nodes, in the order of sending; of what was lost on the way the place stays until a later one arrives.
    template <class Packet, void (Wire::*kArrive)(const Packet&, Time)>
    struct Travelling : Carrier {
        Travelling(Wire& of, const Link& link, bool up)
            : wire(&of),
              network(link.network),
              entry(link.network->add(*this, link.number, up)) {}
        void enter(const Packet& packet, Time at, std::uint32_t bytes, std::uint8_t layer) {
            network->enter(entry, at, static_cast<std::uint32_t>(packets.end()), bytes, layer);
            packets.push_back(packet);
            if (wire->observers_.log != nullptr) rows.push_back(wire->observers_.log->last());
            ++under_way;
        }
        void arrives(std::uint32_t place, Time at) override {
            packets.pop_front(widen(packets.begin(), place));
            packets.prefetch_ahead(kPrefetch);
            (wire->*kArrive)(packets.front(), at);
            packets.pop_front();
            if (wire->observers_.log != nullptr) rows.pop_front(packets.begin());
            --under_way;
        }
        void is_lost(std::uint32_t place) override {
            if (wire->observers_.log != nullptr) wire->observers_.log->is_lost(rows[widen(rows.begin(), place)]);
            --under_way;
        }

        Wire* wire;
        Network* network;
        std::uint32_t entry;
        BlockRing<Packet> packets;
        BlockRing<std::int64_t> rows;  // of the log, where there is one
        std::int64_t under_way = 0;
    };
    void arrive(const DataPacket& packet, Time at) {
        DataPacket& put = put_data(at);
        put = packet;
        put.arrive_ns = at;
    }
    void arrive(const WholeAck& ack, Time at) {
        if (ack.packet.sacks > 0) blocks_.push_back(ack.blocks);
        AckPacket& put = put_ack(at, ack.one_way_ns, ack.delivered);
        put = ack.packet;
        put.arrive_ns = at;
    }
    [[gnu::noinline]] void send_beyond(const DataPacket& packet, std::uint32_t bytes) {
        const std::uint8_t layer = packet.bytes > 0 ? link_->network->layer_of(packet.object, packet.order) : 0;
        beyond_->data.enter(packet, packet.arrive_ns, bytes, layer);
    }
    // On a path over nodes.
    struct Beyond {
        Beyond(Wire& of, const Link& link) : data(of, link, false), acks(of, link, true) {}
        Travelling<DataPacket, &Wire::arrive> data;
        Travelling<WholeAck, &Wire::arrive> acks;
    };

    template <class T>
    static T take(BlockRing<T>& ring) {
        const T front = ring.front();
        ring.pop_front();
        ring.prefetch_ahead(2 * kPrefetch);
        return front;
    }
    // A segment on its way, for the caller to fill in.
    [[gnu::always_inline]] DataPacket& put_data(Time arrive_ns) {
        if (data_.empty()) arrivals_.set(head_, arrive_ns);
        return data_.emplace_back();
    }
    // Packets that may go on with the last one's run, of which the first is given. By value: see coding/sent_packets.hpp.
    void join(Time arrive_ns, Time sent_ns, std::uint32_t number, std::uint32_t object, std::uint32_t order,
              std::uint16_t bytes, std::uint16_t sender, const PacketRun& more = {1, 0, 0}) {
        if (!data_.empty() && object != UINT32_MAX) {
            DataPacket& last = data_.back();
            const PacketRun run = last.pushed != 0 ? data_runs_.back() : PacketRun{1, 0, 0};
            const Time spacing = arrive_ns - last.arrive_ns - (run.count - 1) * run.spacing;
            const Time sent_spacing = sent_ns - last.sent_ns - (run.count - 1) * run.sent_spacing;
            const auto goes_on = [&](const PacketRun& of) {
                return of.count == 1 || (spacing == of.spacing && sent_spacing == of.sent_spacing);
            };
            const auto packets = static_cast<std::uint32_t>(run.count);
            if (last.object == object && last.order + order_step_ * packets == order && last.bytes == bytes &&
                last.number + packets == number && goes_on(run) && goes_on(more)) {
                data_in_runs_ += more.count;
                if (last.pushed == 0) {
                    last.pushed = 1;
                    ++data_in_runs_;
                    data_runs_.push_back({1, 0, 0});
                }
                data_runs_.back() = {run.count + more.count, sent_spacing, spacing};
                return;
            }
        }
        const std::uint16_t is_run = more.count > 1;
        put_data(arrive_ns) = {arrive_ns, sent_ns, number, object, order, bytes, sender, is_run};
        if (more.count == 1) return;
        data_runs_.push_back(more);
        data_in_runs_ += more.count;
    }
    // A record of its own.
    void put_run(const DataPacket& first, const PacketRun& run) {
        DataPacket& packet = put_data(first.arrive_ns) = first;
        packet.pushed = run.count > 1;
        if (run.count == 1) return;
        data_runs_.push_back(run);
        data_in_runs_ += run.count;
    }
    // An ACK on its way, for the caller to fill in.
    [[gnu::always_inline]] AckPacket& put_ack(Time arrive_ns, Time one_way_ns, std::int64_t delivered) {
        if (beside_.stamps) stamps_.push_back(one_way_ns);
        if (beside_.delivered) delivered_.push_back(delivered);
        if (acks_.empty()) answers_.set(head_, arrive_ns);
        AckPacket& packet = acks_.emplace_back();
        packet.arrive_ns = arrive_ns;
        return packet;
    }
    // The ACK that was put there last is the first of these.
    void put_run(const AckRun& run) {
        ack_runs_.push_back(run);
        acks_in_runs_ += run.count;
    }
    // ACKs without blocks, which may go on with the last ones.
    void join_acks(const AckPacket& first, const AckRun& more) {
        if (!acks_.empty()) {
            AckPacket& last = acks_.back();
            const bool is_run = last.kind == kRun;
            const AckRun run = is_run ? ack_runs_.back() : AckRun{1, 0, 0, 0};
            const std::int64_t places = run.count - 1;
            const AckRun whole{
                run.count + more.count, first.arrive_ns - last.arrive_ns - places * run.spacing,
                first.echo_ns - last.echo_ns - places * run.stamp_spacing,
                first.cumulative - last.cumulative - static_cast<std::uint32_t>(places) * run.acknowledges};
            const auto goes_on = [&](const AckRun& of) {
                return of.count == 1 || (of.spacing == whole.spacing && of.stamp_spacing == whole.stamp_spacing &&
                                         of.acknowledges == whole.acknowledges);
            };
            if ((is_run || last.kind == kPlain) && last.sacks == 0 && last.sender == first.sender && goes_on(run) &&
                goes_on(more)) {
                acks_in_runs_ += more.count + !is_run;
                if (!is_run) ack_runs_.push_back(whole);
                ack_runs_.back() = whole;
                last.kind = kRun;
                return;
            }
        }
        AckPacket& packet = put_ack(first.arrive_ns, -1, 0) = first;
        if (more.count == 1) return;
        packet.kind = kRun;
        put_run(more);
    }
    // `first`: a layer's segment goes out for the first time.
    [[gnu::noinline, gnu::cold]] void tell_observers(const DataPacket& packet, std::int64_t number, bool first,
                                                     Direction::Passage passage) {
        if (observers_.worst_ns != nullptr && first) {
            observers_.layers->each({packet.order, packet.object, packet.bytes},
                                    [&](std::uint32_t layer, std::uint16_t) {
                                        Time& worst = (*observers_.worst_ns)[layer];
                                        worst = std::max(worst, passage.arrive_ns);
                                    });
        }
        if (observers_.log != nullptr) observers_.log->data_sent(packet.sent_ns, packet, number, passage);
    }

    Link* link_;
    std::unique_ptr<Beyond> beyond_;  // points here: a wire stays where it is made
    BlockRing<DataPacket> data_;
    BlockRing<PacketRun> data_runs_;  // of those of them that are a run
    std::int64_t data_in_runs_ = 0;   // packets
    RunPassage passage_;              // of the run at hand
    BlockRing<AckPacket> acks_;
    BlockRing<AckRun> ack_runs_;  // likewise
    std::int64_t acks_in_runs_ = 0;
    BlockRing<SackBlocks> blocks_;  // of each ACK that has any
    BlockRing<Time> stamps_;
    BlockRing<std::int64_t> delivered_;
    QuickHeads arrivals_, answers_;
    std::size_t head_;
    bool observed_ = false, joins_ = false, joins_acks_ = false;
    std::uint32_t order_step_ = 0;
    Beside beside_;
    WireObservers observers_;
    std::map<std::int64_t, int> drops_;  // LinkConfig::drops still to come
    std::int64_t passed_ = 0;            // number of the last segment that might have been dropped
};

}  // namespace dstcc
