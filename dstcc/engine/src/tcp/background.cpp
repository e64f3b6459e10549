#include "tcp/background.hpp"

namespace dstcc {

namespace {

constexpr std::int64_t kGreedy = std::int64_t{1} << 62;

}  // namespace

void BackgroundFlows::add(SendingEndpoint endpoint, const FlowConfig& config, bool steered) {
    const std::int64_t bytes = config.payload_bytes > 0 ? config.payload_bytes : kGreedy;
    if (steered) steered_.push_back(flows_.size());
    flows_.push_back({std::move(endpoint), config, config.app_limited ? bytes : 0, config.app_limited ? 0 : bytes});
}

void BackgroundFlows::begin() {
    for (std::size_t f = 0; f < flows_.size(); ++f) open(f, flows_[f], flows_[f].config.start_ns);
}

// ------------------------------------------------------------------------------------------------------ coming in

void BackgroundFlows::handle_established(Time now, std::size_t f, Time syn_ns) {
    now_ = now;
    Flow& flow = flows_[f];
    if (flow.sender.established()) return;  // an answer to a repeated SYN
    flow.syn_at = kNever;
    flow.sender.establish(now_, now_ - syn_ns);
    pump(f);
}

void BackgroundFlows::handle_ack(Time now, std::size_t f, AckBlocks& ack) {
    now_ = now;
    Flow& flow = flows_[f];
    ack.more = has_data(flow);
    flow.delivered_bytes += flow.sender.handle_ack(now_, ack);
    pump(f);
}

void BackgroundFlows::handle_timer(Time now, std::size_t f) {
    now_ = now;
    Flow& flow = flows_[f];
    timers_.set(f, kNever);
    if (!flow.sender.established()) {
        if (now_ >= flow.config.stop_ns) return;
        if (flow.syn_at <= now_) send_syn(f, flow);
        return arm_timer(f, flow);
    }
    if (flow.resting && rest(f, flow)) return;
    const TimerResult result = flow.sender.handle_timer(now_);
    if (result == TimerResult::kNothing) return arm_timer(f, flow);
    if (result == TimerResult::kProbe) send_probe(f);
    pump(f);
}

void BackgroundFlows::handle_pace(Time now, std::size_t f) {
    now_ = now;
    pump(f);
    if (paces_.at(f) <= now_) paces_.set(f, kNever);
}

// The application writes a packet's worth.
void BackgroundFlows::handle_write(Time now, std::size_t f) {
    now_ = now;
    Flow& flow = flows_[f];
    const std::int64_t payload = flow.config.source.packet_bytes - transport_.header_bytes;
    const std::int64_t bytes = std::min(std::max<std::int64_t>(payload, 1), flow.unwritten_bytes);
    flow.unwritten_bytes -= bytes;
    flow.unsent_bytes += bytes;
    if (bytes > 0) {
        flow.written_bytes += bytes;
        ++flow.writes;
        flow.last_write_ns = now_;
        if (flow.first_write_ns < 0) flow.first_write_ns = now_;
    }
    if (flow.sender.established()) pump(f);
}

// ------------------------------------------------------------------------------------------------------ going out

// Repairs first, then new data; woken again when pacing lets go.
void BackgroundFlows::pump(std::size_t f) {
    Flow& flow = flows_[f];
    Subflow& tcp = flow.sender;
    if (flow.resting) return arm_timer(f, flow);
    std::int64_t number = 0;
    if (has_data(flow)) tcp.push();
    while (tcp.window_open() && tcp.pacing_until() <= now_ && tcp.poll_retransmit(number)) {
        repeat_segment(f, number);
        if (has_data(flow)) tcp.push();
    }
    while (tcp.window_open() && tcp.pacing_until() <= now_ && has_data(flow)) send_segment(f);
    if (tcp.repairs_instead())
        while (tcp.window_open() && tcp.pacing_until() <= now_ && tcp.poll_retransmit(number))
            repeat_segment(f, number);
    const bool more = has_data(flow);
    if ((more || tcp.repairs_waiting()) && tcp.window_open() && tcp.pacing_until() > now_)
        paces_.set(f, tcp.pacing_until());
    tcp.finish_sending(now_, !more, more && !tcp.window_open());
    arm_timer(f, flow);
}

// Tail loss probe (RFC 8985 section 7.3).
void BackgroundFlows::send_probe(std::size_t f) {
    Flow& flow = flows_[f];
    const std::int64_t number = flow.sender.tcp().snd_nxt - 1;
    if (has_data(flow))
        send_segment(f);
    else if ((flow.sender.segment(number).flags & (kSacked | kLost | kRetransOut)) == 0)
        repeat_segment(f, number);
    flow.sender.finish_probe(now_);
}

void BackgroundFlows::send_segment(std::size_t f) {
    Flow& flow = flows_[f];
    const auto bytes = static_cast<std::uint16_t>(std::min<std::int64_t>(transport_.mss_bytes, flow.unsent_bytes));
    flow.unsent_bytes -= bytes;
    put(f, flow.sender.append(now_, 0, 0, bytes), bytes);
}

void BackgroundFlows::repeat_segment(std::size_t f, std::int64_t number) {
    Flow& flow = flows_[f];
    const std::uint16_t bytes = flow.sender.segment(number).bytes;
    flow.sender.mark_retransmitted(now_, number);
    flow.retransmitted_bytes += bytes;
    ++flow.retransmitted;
    put(f, number, bytes);
}

void BackgroundFlows::put(std::size_t f, std::int64_t number, std::uint16_t bytes) {
    Flow& flow = flows_[f];
    flow.sent_bytes += bytes;
    ++flow.sent;
    flow.out.send(now_, first_ + f, number, 0, 0, bytes, header_bytes_, false);
}

// ------------------------------------------------------------------------------------------------ steered from outside

// Each flow by an action of its own; what was not spoken to, and whose outage neither began nor ended, stays.
void BackgroundFlows::steer(Time now, const std::vector<WindowAction>& windows) {
    now_ = now;
    for (std::size_t i = 0; i < std::min(windows.size(), steered_.size()); ++i) {
        const std::size_t f = steered_[i];
        Flow& flow = flows_[f];
        const bool rested = flow.resting;
        if (rests_) flow.resting = !flow.plan->contact(now_).up;
        if (windows[i].kind != WindowAction::Kind::kSilent) flow.sender.steer(windows[i], now_);
        if (windows[i].kind == WindowAction::Kind::kSilent && flow.resting == rested) continue;
        if (flow.sender.established()) pump(f);
    }
}

SubflowView BackgroundFlows::observe(Time now, std::size_t i) const {
    const Flow& flow = flows_[steered_[i]];
    SubflowView view = view_of(flow, now);
    view.assigned_bytes = source(now, i).unsent_bytes;
    view.one_way_ns = flow.light_ns;
    return view;
}

FlowSourceView BackgroundFlows::source(Time now, std::size_t i) const {
    const Flow& flow = flows_[steered_[i]];
    const bool greedy = !flow.config.app_limited && flow.config.payload_bytes == 0,
               stopped = now >= flow.config.stop_ns;
    FlowSourceView view;
    view.start_ns = flow.config.start_ns;
    view.unsent_bytes = stopped ? 0 : greedy ? kNever : flow.unsent_bytes;
    view.written_bytes = flow.config.app_limited ? flow.written_bytes : greedy ? kNever : flow.config.payload_bytes;
    view.writes = flow.config.app_limited ? flow.writes : 1;
    view.first_write_ns = flow.config.app_limited ? flow.first_write_ns : flow.config.start_ns;
    view.last_write_ns = flow.config.app_limited ? flow.last_write_ns : flow.config.start_ns;
    return view;
}

}  // namespace dstcc
