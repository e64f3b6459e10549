#include "mptcp/stepper.hpp"

#include <limits>

namespace dstcc {

namespace {

constexpr double kLayerWeight = 100;  // W of equation 1 in Ha et al., ICT Express 2023

double seconds(Time ns) {
    return ns == kNever ? std::numeric_limits<double>::infinity() : static_cast<double>(ns) / kNsPerS;
}

double amount(std::int64_t bytes) {
    return bytes == kNever ? std::numeric_limits<double>::infinity() : static_cast<double>(bytes);
}

// A row of kSubflowValues, over a step that began at `before`.
void put_values(const SubflowView& view, const SubflowView& before, double sent_weight, double* row) {
    const TcpState& tcp = *view.tcp;
    const double values[kSubflowValues.size()] = {
        view.established ? 1.0 : 0.0,
        view.established ? static_cast<double>(std::min(tcp.cwnd, kInfiniteWindow)) : 0.0,
        static_cast<double>(tcp.in_flight()),
        seconds(tcp.srtt_ns),
        tcp.min_rtt_ns == kNever ? 0.0 : seconds(tcp.min_rtt_ns),
        static_cast<double>(view.sent - before.sent),
        static_cast<double>(view.lost - before.lost),
        static_cast<double>(view.retransmitted - before.retransmitted),
        static_cast<double>(view.delivered_bytes - before.delivered_bytes),
        sent_weight,
        static_cast<double>(view.queue_bytes),
        amount(view.assigned_bytes),
        tcp.pacing_bytes_per_ns * 8.0 * kNsPerS,
        static_cast<double>(tcp.agent.bdp_segments),
        tcp.agent.steered ? 1.0 : 0.0,
        seconds(view.one_way_ns),
        view.up ? 1.0 : 0.0,
        seconds(view.change_ns),
        static_cast<double>(tcp.agent.clamps),
        static_cast<double>(tcp.agent.fallbacks),
        seconds(view.rtt_deviation_ns),
    };
    std::copy(std::begin(values), std::end(values), row);
}

}  // namespace

// ------------------------------------------------------------------------------------------------------- one trial

Episode::Episode(const EngineConfig& config)
    : trial_(config),
      played_(config.objects.size(), 0),
      sent_(config.objects.size(), 0),
      promised_(config.objects.size(), 0),
      before_(trial_.ends().sending().subflows()),
      flows_before_(trial_.flows().steered()) {
    const ObjectsConfig& objects = config.objects;
    watch_.worst_ns.assign(objects.size(), 0);
    for (std::uint32_t object = 0; object < objects.size(); ++object) {
        const auto layer = static_cast<std::size_t>(objects.layer[object]);
        if (by_layer_.size() <= layer) by_layer_.resize(layer + 1);
        by_layer_[layer].push_back(object);
    }
    waiting_.resize(by_layer_.size(), 0);
    sent_weight_.resize(before_.size());
    delivered_.resize(by_layer_.size());
    played_count_.resize(by_layer_.size());
    for (std::uint32_t object = 0; object < objects.size(); ++object) total_weight_ += weight(object);
    for (std::size_t s = 0; s < before_.size(); ++s) before_[s] = observe_subflow(s);
    for (std::size_t f = 0; f < flows_before_.size(); ++f) flows_before_[f] = observe_flow(f);
}

double Episode::weight(std::uint32_t object) const {
    const auto layer = static_cast<std::size_t>(trial_.config().objects.layer[object]);
    return static_cast<double>(by_layer_.size() - layer) * kLayerWeight;
}

void Episode::step(const std::vector<WindowAction>& windows, const LayerAction* layers,
                   const std::vector<WindowAction>& flows) {
    began_ = trial_.now();
    for (std::size_t s = 0; s < before_.size(); ++s) before_[s] = observe_subflow(s);
    for (std::size_t f = 0; f < flows_before_.size(); ++f) flows_before_[f] = observe_flow(f);
    std::fill(sent_weight_.begin(), sent_weight_.end(), 0.0);
    std::fill(delivered_.begin(), delivered_.end(), 0.0);
    std::fill(played_count_.begin(), played_count_.end(), 0.0);
    played_weight_ = repaired_weight_ = 0;
    watch_.sent.clear();
    watch_.delivered.clear();
    if (chunks() != nullptr) chunks()->begin_slot();
    trial_.ends().watch(&watch_);
    if (!trial_.over() && (windows.size() > 0 || layers != nullptr))
        trial_.ends().sending().steer(began_, windows, layers);
    if (!trial_.over()) trial_.flows().steer(began_, flows);  // the last layer may have been given up
    slot_end_ += trial_.config().slot_ns;
    trial_.run_until(slot_end_, nullptr);
    trial_.ends().watch(nullptr);
    for (const std::uint32_t object : watch_.sent) {
        sent_weight_[static_cast<std::size_t>(trial_.ends().sending().layers()[object].subflow)] += weight(object);
        note_promise(object);
    }
    for (const std::uint32_t object : watch_.delivered) note_delivery(object);
    const auto slot = static_cast<std::size_t>(began_ / trial_.config().slot_ns);
    promised_weight_ = repaired_weight_ + (slot < departing_.size() ? departing_[slot] : 0.0);
}

bool Episode::in_time(std::uint32_t object) const {
    const Time complete = trial_.ends().receiving().layers()[object].complete_ns;
    return complete >= 0 && complete <= trial_.config().objects.deadline_ns[object];
}

bool Episode::follows(std::uint32_t object) const {
    const auto& chunk = trial_.config().objects.chunk;
    return object > 0 && chunk[object] == chunk[object - 1];
}

// As below, by when the segments of a layer that were sent arrive, the lost ones never.
void Episode::note_promise(std::uint32_t object) {
    const ObjectsConfig& objects = trial_.config().objects;
    sent_[object] = 1;
    if (follows(object) && promised_[object - 1] == 0) return;
    for (std::uint32_t o = object;
         o < objects.size() && (o == object || follows(o)) && sent_[o] != 0 && promised_[o] == 0 &&
         watch_.worst_ns[o] != kNever && watch_.worst_ns[o] <= objects.deadline_ns[o];
         ++o) {
        promised_[o] = 1;
        // Its own queue is behind it a light time before it arrives: until then nothing is earned by filling queues.
        const auto s = static_cast<std::size_t>(trial_.ends().sending().layers()[o].subflow);
        const Time left = watch_.worst_ns[o] - observe_subflow(s).one_way_ns;
        const auto slot = static_cast<std::size_t>(std::max(left, began_) / trial_.config().slot_ns);
        if (departing_.size() <= slot) departing_.resize(slot + 1, 0.0);
        departing_[slot] += weight(o);
    }
}

// A layer plays when it and all lower ones of its chunk are there in time; so it may set higher ones free.
void Episode::note_delivery(std::uint32_t object) {
    const ObjectsConfig& objects = trial_.config().objects;
    delivered_[static_cast<std::size_t>(objects.layer[object])] += 1;
    if (follows(object) && played_[object - 1] == 0) return;
    for (std::uint32_t o = object; o < objects.size() && (o == object || follows(o)) && played_[o] == 0 && in_time(o);
         ++o) {
        played_[o] = 1;
        played_count_[static_cast<std::size_t>(objects.layer[o])] += 1;
        played_weight_ += weight(o);
        if (promised_[o] != 0) continue;
        promised_[o] = 1;
        repaired_weight_ += weight(o);
    }
}

void Episode::observe(double* subflows, std::size_t subflow_rows, double* layers, std::size_t layer_rows, double* own) {
    const ObjectsConfig& objects = trial_.config().objects;
    const Time now = trial_.now();
    for (std::size_t s = 0; s < subflow_rows; ++s) {
        double* row = subflows + s * kSubflowValues.size();
        if (s >= before_.size()) {
            std::fill_n(row, kSubflowValues.size(), 0.0);
            continue;
        }
        const SubflowView view = observe_subflow(s), &before = before_[s];
        put_values(view, before, sent_weight_[s], row);
    }
    const SendingEnd& sending = trial_.ends().sending();
    const std::vector<LayerSending>& sent = sending.layers();
    for (std::size_t m = 0; m < layer_rows; ++m) {
        double* row = layers + m * kLayerValues.size();
        if (m >= by_layer_.size()) {
            std::fill_n(row, kLayerValues.size(), 0.0);
            continue;
        }
        const auto& mine = by_layer_[m];
        std::size_t& at = waiting_[m];
        while (at < mine.size() && mine[at] < sending.released() &&
               (sent[mine[at]].given_up || sent[mine[at]].offset == objects.payload_bytes[mine[at]]))
            ++at;
        const bool waits = at < mine.size() && mine[at] < sending.released();
        const Time deadline = waits ? objects.deadline_ns[mine[at]] : kNever;
        row[0] = static_cast<double>(sending.layer_backlog(m));
        row[1] = seconds(deadline == kNever ? kNever : deadline - now);
        row[2] = delivered_[m];
        row[3] = played_count_[m];
    }
    own[0] = seconds(now);
    own[1] = seconds(now - began_);
    own[2] = played_weight_;
    own[3] = total_weight_;
    std::fill_n(own + 4, kEpisodeValues.size() - 4, 0.0);
    own[kEpisodeValues.size() - 1] = promised_weight_;
    ChunkManager* const manager = chunks();
    if (manager == nullptr) return;
    const ChunkManager::View view = manager->view(now, sending.released(), sent);
    const std::int64_t window = sending.send_window_bytes();
    const double values[] = {
        static_cast<double>(view.bytes),
        static_cast<double>(view.acked_bytes),
        seconds(view.elapsed_ns),
        seconds(view.due_ns),
        manager->done(),
        manager->bytes_per_s(),
        window == kNever ? std::numeric_limits<double>::infinity() : static_cast<double>(window),
    };
    static_assert(std::size(values) + 5 == kEpisodeValues.size());
    std::copy(std::begin(values), std::end(values), own + 4);
}

void Episode::observe_flows(double* subflows, double* sources, std::size_t rows) const {
    const Time now = trial_.now();
    for (std::size_t f = 0; f < rows; ++f) {
        double* row = subflows + f * kSubflowValues.size();
        double* own = sources + f * kFlowValues.size();
        if (f >= flows_before_.size()) {
            std::fill_n(row, kSubflowValues.size(), 0.0);
            std::fill_n(own, kFlowValues.size(), 0.0);
            continue;
        }
        put_values(observe_flow(f), flows_before_[f], 0, row);
        const FlowSourceView source = trial_.flows().source(now, f);
        const double values[kFlowValues.size()] = {
            now >= source.start_ns ? 1.0 : 0.0,
            seconds(std::max<Time>(now - source.start_ns, 0)),
            seconds(std::max<Time>(now - std::max(began_, source.start_ns), 0)),
            amount(source.written_bytes),
            amount(source.unsent_bytes),
            static_cast<double>(source.writes),
            seconds(source.last_write_ns - source.first_write_ns),
        };
        std::copy(std::begin(values), std::end(values), own);
    }
}

}  // namespace dstcc
