#include "coding/coded.hpp"

#include <limits>

#include "coding/setup.hpp"
#include "core/stall.hpp"

namespace dstcc {

namespace {

constexpr unsigned kNowAndThen = (1u << 16) - 1;  // every so many events: Ctrl-C, and the memory held

std::size_t count_subflows(const EngineConfig& config) {
    std::size_t subflows = 0;
    for (const LinkConfig& link : config.links) subflows += static_cast<std::size_t>(link.subflows);
    return subflows;
}

std::size_t count_sources(const EngineConfig& config) {
    std::size_t sources = 0;
    for (const LinkConfig& link : config.links) sources += link.cross_traffic.size();
    return sources;
}

}  // namespace

Coded::Coded(const EngineConfig& config)
    : config_(config),
      wire_bytes_(static_cast<std::uint32_t>(config.transport.mss_bytes + config.transport.header_bytes)),
      subflows_(count_subflows(config)),
      sending_heads_(config.links.size(), 2 * subflows_ + 2 + count_sources(config)),
      receiving_heads_(config.links.size(), subflows_),
      map_(config_.objects, config_.coding),
      headers_(map_.blocks(), config_.objects.size()),
      ranges_(subflows_),
      sending_({config_.transport, config_.objects, config_.coding}, map_, headers_, Timers(sending_heads_.timers(), 0),
               Timers(sending_heads_.timers(), idle_pace(0))),
      receiving_(config_.objects, config_.coding.code, config_.seed, map_, headers_,
                 static_cast<std::uint32_t>(config_.transport.header_bytes), config_.transport.constants.delayed_ack,
                 Timers(receiving_heads_.timers(), 0)),
      samples_(subflows_) {
    wires_.reserve(config_.links.size());  // transmitters and plans are pointed at
    plans_.reserve(config_.links.size());
    for (std::size_t l = 0; l < config_.links.size(); ++l) {
        const LinkConfig& link = config_.links[l];
        wires_.emplace_back(link, config_.seed, l, wire_bytes_, subflows_, receiving_heads_, sending_heads_);
        wires_.back().carry_beside({true, true});  // what the newest packet took; the place of the newest range
        plans_.emplace_back(link, config_.transport.header_bytes);
        for (std::size_t k = 0; k < link.cross_traffic.size(); ++k)
            cross_.push_back({TrafficSource(link.cross_traffic[k], config_.seed, l, k), l});
    }
    for (std::size_t l = 0; l < config_.links.size(); ++l)
        for (int k = 0; k < config_.links[l].subflows; ++k) add_subflow(l);
    for (const Time deadline : config_.objects.deadline_ns) last_deadline_ns_ = std::max(last_deadline_ns_, deadline);
    for (std::size_t i = 0; i < cross_.size(); ++i) sending_heads_.set_idle(idle_source(i), cross_[i].traffic.start());
    if (config_.objects.size() > 0) sending_heads_.set_idle(idle_release(), config_.objects.release_ns[0]);
    sending_heads_.set_idle(idle_slot(), config_.slot_ns);
    sending_.begin();
}

void Coded::add_subflow(std::size_t link) {
    const Direction &down = wires_[link].down(), &up = wires_[link].up();
    const Time answer = up.service_ns(static_cast<std::uint32_t>(config_.transport.header_bytes));
    sending_.add({make_flight(config_, link, sending_.subflows(), sending_.siblings(), down.slot_ns(), answer),
                  Transmitter(wires_[link]), &plans_[link], link});
    const std::size_t s = sending_.subflows() - 1;
    receiving_.add(AckTransmitter(wires_[link]), ranges_[s], sending_.subflow(s).flight.wants_reports());
}

bool Coded::run_until(Time until, bool (*interrupted)()) {
    const Time end = std::min(until, config_.duration_ns);
    const EventTree &data = receiving_heads_.busy(), &acks = sending_heads_.busy();
    const EventTree &delayed = receiving_heads_.idle(), &idle = sending_heads_.idle();
    over_ = over_ || finished();
    while (!over_) {
        const Time next = std::min(std::min(data.time(), acks.time()), std::min(delayed.time(), idle.time()));
        if (next > end) break;
        DSTCC_CHECK(next >= now_, "time never goes back");
        now_ = next;
        if (data.time() == next)
            on_data(data.head());
        else if (acks.time() == next)
            on_ack(acks.head());
        else if (delayed.time() == next)
            receiving_.handle_timer(now_, delayed.head());
        else
            on_idle(idle.head());
        if ((++events_ & kNowAndThen) == 0) {
            peak_bytes_ = std::max(peak_bytes_, bytes());
            if (interrupted != nullptr && interrupted()) over_ = true;
        }
    }
    if (!over_ && end < kNever) now_ = end;
    if (now_ >= config_.duration_ns) over_ = true;
    if (over_) peak_bytes_ = std::max(peak_bytes_, bytes());  // else a trial in steps would have looked more often
    check();
    return !over_;
}

void Coded::on_data(std::size_t link) {
    Wire& wire = wires_[link];
    const DataPacket& packet = wire.front_data();
    if (!wire.scripted() || !wire.dropped_by_script(packet)) receiving_.handle_data(now_, packet);
    wire.note_data_head(wire.pop_data());
    over_ = finished();
}

void Coded::on_ack(std::size_t link) {
    Wire& wire = wires_[link];
    const AckPacket packet = wire.take_ack();
    const Time one_way = wire.take_stamp();
    const std::int64_t newest = wire.take_delivered();
    const std::size_t s = packet.sender;
    if (packet.kind == kSyn) return sending_.handle_established(now_, s, packet.echo_ns);
    const std::int64_t reference = sending_.subflow(s).flight.tcp().snd_una;
    PacketAck ack = ranges_[s].say(newest, widen(reference, packet.cumulative));
    ack.wait_ns = packet.echo_ns;
    ack.one_way_ns = one_way;
    sending_.handle_ack(now_, s, ack);
}

void Coded::on_idle(std::size_t head) {
    if (head < subflows_) return sending_.handle_timer(now_, head);
    if (head < idle_release()) return sending_.handle_pace(now_, head - subflows_);
    if (head == idle_release()) return sending_heads_.set_idle(head, sending_.handle_release(now_));
    if (head == idle_slot()) return on_slot();
    on_source(head - idle_source(0));
}

void Coded::on_slot() {
    sending_.handle_slot(now_);
    samples_.take(now_, sending_);
    peak_bytes_ = std::max(peak_bytes_, bytes());
    check();
    over_ = over_ || finished() || silent_for_good();
    sending_heads_.set_idle(idle_slot(), now_ + config_.slot_ns);
}

void Coded::on_source(std::size_t i) {
    CrossSource& source = cross_[i];
    Time next = kNever;
    if (source.traffic.poll(now_, next)) {
        wires_[source.link].pass(now_, source.traffic.packet_bytes());
        ++cross_packets_;
    }
    sending_heads_.set_idle(idle_source(i), next);
}

// Every part is there; or all deadlines are over, or nothing more is sent, and nothing is under way.
bool Coded::finished() const {
    if (receiving_.complete() == config_.objects.size()) return true;
    if (!sending_.done() && now_ < last_deadline_ns_) return false;
    if (!sending_.done() && !config_.transport.drop_late) return false;
    for (const Wire& wire : wires_)
        if (wire.data_under_way() > 0) return false;
    return true;
}

bool Coded::silent_for_good() const {
    if (config_.duration_ns != kNever || sending_.released() < config_.objects.size()) return false;
    const Time quiet_since = std::max<Time>(receiving_.last_delivery_ns(), dark_until(config_, now_));
    return stalled(now_, quiet_since, config_.transport.constants.rto_max, sending_.longest_one_way_ns());
}

// --------------------------------------------------------------------------------------------------- bookkeeping

std::int64_t Coded::bytes() const {
    std::int64_t bytes = sending_.bytes();
    for (const Wire& wire : wires_) bytes += wire.bytes();
    for (const AckRanges& ranges : ranges_) bytes += ranges.bytes();
    return bytes;
}

void Coded::check() const {
    std::int64_t sent = 0;
    for (const Wire& wire : wires_) {
        const Direction &down = wire.down(), &up = wire.up();
        sent += down.sent();
        DSTCC_CHECK(down.sent() >= down.dropped() + down.lost() + wire.data_under_way(), "packets are conserved");
        DSTCC_CHECK(up.sent() >= up.dropped() + up.lost() + wire.acks_under_way(), "packets are conserved");
    }
    for (std::size_t s = 0; s < subflows_; ++s) sent -= sending_.subflow(s).syns;
    DSTCC_CHECK(sent == sending_.data_packets() + cross_packets_, "what links carried, somebody sent");
    DSTCC_CHECK(receiving_.arrived_payload() <= sending_.source_payload() &&
                    receiving_.repair_payload() <= sending_.repair_payload() &&
                    receiving_.arrived_payload() + receiving_.recovered_payload() <= sending_.source_payload(),
                "bytes are conserved");
    if (!over_) return;  // looks at every layer
    std::int64_t delivered = 0;
    for (const PartArrival& part : receiving_.parts()) delivered += part.bytes;
    DSTCC_CHECK(delivered == receiving_.arrived_payload() + receiving_.recovered_payload(), "bytes are conserved");
    sending_.check();
}

std::map<std::string, double> Coded::totals() const {
    double rtt_sum = 0, timeouts = 0;
    std::int64_t rtt_samples = 0, dropped = 0, lost = 0, syns = 0;
    for (std::size_t s = 0; s < subflows_; ++s) {
        const CodedSendingEnd::Subflow& from = sending_.subflow(s);
        rtt_sum += from.flight.rtt_sum_s();
        rtt_samples += from.flight.rtt_samples();
        timeouts += static_cast<double>(from.flight.timeouts());
        syns += from.syns;
    }
    for (const Wire& wire : wires_) {
        dropped += wire.down().dropped();
        lost += wire.down().lost();
    }
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto seconds = [&](Time at) { return at < 0 ? nan : static_cast<double>(at) / kNsPerS; };
    const std::int64_t sent_payload = sending_.source_payload() + sending_.repair_payload() + sending_.probe_payload();
    const std::int64_t sent_wire = sent_payload + config_.transport.header_bytes * (sending_.data_packets() + syns);
    const std::int64_t delivered = receiving_.arrived_payload() + receiving_.recovered_payload();
    return {{"sent_wire_bytes", static_cast<double>(sent_wire)},
            {"sent_payload_bytes", static_cast<double>(sent_payload)},
            {"retransmitted_payload_bytes", static_cast<double>(sending_.fresh_payload())},
            {"repair_payload_bytes", static_cast<double>(sending_.repair_payload())},
            {"arrived_payload_bytes", static_cast<double>(receiving_.arrived_payload())},
            {"recovered_payload_bytes", static_cast<double>(receiving_.recovered_payload())},
            {"delivered_payload_bytes", static_cast<double>(delivered)},
            {"duplicate_payload_bytes", 0.0},
            {"hol_payload_bytes", 0.0},
            {"hol_wait_byte_s", 0.0},
            {"rtt_sum_s", rtt_sum},
            {"rtt_samples", static_cast<double>(rtt_samples)},
            {"queue_p95_s", sending_.waits().quantile(0.95) / kNsPerS},
            {"data_packets", static_cast<double>(sending_.data_packets())},
            {"dropped_queue_packets", static_cast<double>(dropped)},
            {"lost_channel_packets", static_cast<double>(lost)},
            {"timeouts", timeouts},
            {"events", static_cast<double>(events_)},
            {"engine_peak_bytes", static_cast<double>(peak_bytes_)},
            {"reorder_peak_bytes", 0.0},
            {"first_send_s", seconds(sending_.first_send_ns())},
            {"last_delivery_s", seconds(receiving_.last_delivery_ns())}};
}

}  // namespace dstcc
