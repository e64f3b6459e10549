// Segments that leave by themselves. Where a subflow is paced, and nothing that comes back bears on its pace, the segments of a layer
// leave at equal distances: all but the last are one run, which is put on the line when somebody looks there, or something happens to
// the subflow.
#include "dispatch/dispatcher.hpp"

namespace dstcc {

namespace {

constexpr std::int64_t kFew = 3;  // segments, of which each by itself costs no more

}  // namespace

bool Dispatcher::begin_going(std::size_t s, std::uint32_t object) {
    Outlet& subflow = subflows_[s];
    std::int64_t count = (unsent_bytes(object) - 1) / transport_.mss_bytes;
    if (count < kFew || reinjecting_ != 0 || !subflow.sender.goes_by_pace()) return false;
    Run ahead{now_, subflow.sender.full_gap(), count};
    if (deadlines_ && objects_.deadline_ns[object] != kNever)
        count = ahead.until(objects_.deadline_ns[object] - paths_[s].one_way_ns);
    if (count < kFew || !subflow.sender.undisturbed_until(now_, ahead.at(count))) return false;
    ahead.count = count;
    note_first(s, layers_[object]);
    subflow.ahead = ahead;
    subflow.left.count = 0;
    subflow.going = object;
    insert(going_, s);
    leave(s, now_);
    erase(ready_, s);
    paces_.set(s, ahead.at(count));
    return true;
}

void Dispatcher::leave(std::size_t s, Time to) {
    Outlet& subflow = subflows_[s];
    Run& ahead = subflow.ahead;
    const auto full = static_cast<std::uint16_t>(transport_.mss_bytes);
    std::uint32_t& order = order_of(subflow, subflow.going);
    if (subflow.left.count == 0) subflow.left = {ahead.first, ahead.spacing, 0};
    const Run now{ahead.first, ahead.spacing, ahead.until(to)};
    const std::int64_t count = now.count;
    const Time timer = subflow.sender.append_run(now, subflow.going, order, full);
    if (timer < timers_.at(s)) timers_.set(s, timer);
    order += static_cast<std::uint32_t>(count);
    ahead.drop(count);
    subflow.left.count += count;
    subflow.sent += count;
    data_packets_ += count;
    packets_in_runs_ += count;
    const std::int64_t bytes = count * full;
    LayerSending& layer = layers_[subflow.going];
    layer.offset += bytes;
    layer.sent_bytes += bytes;
    new_payload_ += bytes;
    backlog_ -= bytes;
}

void Dispatcher::put_on_line(std::size_t s) {
    Outlet& subflow = subflows_[s];
    const std::int64_t count = subflow.left.count;
    if (count == 0) return;
    const DataPacket first{0,
                           subflow.left.first,
                           static_cast<std::uint32_t>(subflow.sender.tcp().snd_nxt - count),
                           subflow.going,
                           order_of(subflow, subflow.going) - static_cast<std::uint32_t>(count),
                           static_cast<std::uint16_t>(transport_.mss_bytes),
                           static_cast<std::uint16_t>(s & 0x7FFF),
                           0};
    for (const auto& [wait_ns, packets] : subflow.out.send(subflow.left, first, header_bytes_))
        waits_.add(wait_ns, packets);
    subflow.left.count = 0;
}

// The next segment leaves by itself again, or not.
void Dispatcher::stop_going(std::size_t s) {
    Outlet& subflow = subflows_[s];
    put_on_line(s);
    erase(going_, s);
    if (subflow.ahead.count > 0) paces_.set(s, subflow.ahead.first);
}

// Whether no timer goes off, and no repair goes before, until the last of them has left.
bool Dispatcher::goes_on_undisturbed(std::size_t s) const {
    const Outlet& subflow = subflows_[s];
    return !subflow.sender.repairs_waiting() && subflow.sender.window_open() &&
           subflow.sender.undisturbed_until(now_, subflow.ahead.at(subflow.ahead.count));
}

void Dispatcher::put_on_line(std::size_t s, const Volleys& volleys, std::int64_t number, std::uint32_t object,
                             std::uint32_t order) {
    const DataPacket first{0,
                           volleys.times.first,
                           static_cast<std::uint32_t>(number),
                           object,
                           order,
                           static_cast<std::uint16_t>(transport_.mss_bytes),
                           static_cast<std::uint16_t>(s & 0x7FFF),
                           0};
    for (const auto& [wait_ns, packets] : subflows_[s].out.send(volleys, first, header_bytes_))
        waits_.add(wait_ns, packets);
}

std::int64_t Dispatcher::go_by_acks(std::size_t s, std::int64_t to, const Run& times, std::int64_t each) {
    if (pending_.empty() || copied_layers_ != 0 || layers_[pending_.front()].offset == 0) return 0;
    Outlet& subflow = subflows_[s];
    const std::uint32_t object = pending_.front();
    const std::int64_t mss = transport_.mss_bytes, before = subflow.sender.tcp().snd_nxt;
    const Subflow::Clocked done =
        subflow.sender.clock(to, times, each, (unsent_bytes(object) - 1) / mss, timers_.at(s), volleys_);
    if (done.acks == 0) return 0;
    now_ = times.at(done.acks - 1);
    const std::int64_t sent = subflow.sender.tcp().snd_nxt - before, bytes = sent * mss;
    LayerSending& layer = layers_[object];
    layer.offset += bytes;
    layer.sent_bytes += bytes;
    new_payload_ += bytes;
    backlog_ -= bytes;
    data_packets_ += sent;
    packets_in_runs_ += sent;
    subflow.sent += sent;
    subflow.delivered_bytes += done.bytes;
    if (done.timer < timers_.at(s)) timers_.set(s, done.timer);
    if (done.over) {
        put_volleys(s);
        pump(s);
    } else {
        refresh(s, subflow.sender);
    }
    return done.acks;
}

void Dispatcher::put_volleys(std::size_t s) {
    if (volleys_.empty()) return;
    Subflow& sender = subflows_[s].sender;
    const std::uint32_t object = pending_.front();
    std::uint32_t& order = order_of(subflows_[s], object);
    for (const Volleys& volleys : volleys_) {
        const std::int64_t number =
            sender.append(volleys, object, order, static_cast<std::uint16_t>(transport_.mss_bytes));
        put_on_line(s, volleys, number, object, order);
        order += static_cast<std::uint32_t>(volleys.count());
    }
    volleys_.clear();
}

}  // namespace dstcc
