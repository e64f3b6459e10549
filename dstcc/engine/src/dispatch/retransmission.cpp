#include "dispatch/retransmission.hpp"

#include <algorithm>
#include <cmath>

namespace dstcc {

namespace {

// Bytes: SKB_FRAG_PAGE_ORDER; struct mptcp_data_frag, and its alignment; less is no room (mptcp_page_frag_refill()).
constexpr std::int64_t kPage = 32768, kPieceOverhead = 40, kAlignment = 8, kLeastPiece = 32;
constexpr double kShortestNs = 2e8;                                 // TCP_RTO_MIN
constexpr int kLeastStale = 4, kMostStale = 254, kMostCount = 255;  // ends of the timer; U8_MAX

}  // namespace

Retransmission::Retransmission(const Dispatcher& d, Time longest_rtt)
    : d_(d),
      stale_count_(static_cast<int>(
          std::clamp(std::ceil(static_cast<double>(longest_rtt) / (kShortestNs * d.transport().constants.scale)),
                     double{kLeastStale}, double{kMostStale}))),
      heard_(d.outlets()) {}

SubflowSet Retransmission::active() const {
    SubflowSet found = 0;
    for (SubflowSet set = d_.established(); set != 0; set &= set - 1)
        if (const auto s = static_cast<std::size_t>(lowest(set)); active(s)) insert(found, s);
    return found;
}

std::int64_t Retransmission::room_for_piece() const {
    return (page_left_ < kPieceOverhead + kLeastPiece ? kPage : page_left_ / kAlignment * kAlignment) - kPieceOverhead;
}

void Retransmission::begin_piece(Time now, std::int64_t bytes) {
    page_left_ = room_for_piece() - bytes;
    ++piece_;
    set_interval(now);
}

void Retransmission::handle_cut(Time now, const Cut& segment) {
    sent_.push_back({segment, piece_});
    if (due_ == kNever) due_ = due(now);
}

void Retransmission::handle_ack(Time now, std::size_t s, std::int64_t delivered) {
    heard_[s].last_ns = now;
    if (delivered <= acknowledged_) return;
    waiting_ += delivered - acknowledged_;
    acknowledged_ = delivered;
    while (!sent_.empty() && sent_.front().cut.bytes <= waiting_) {
        waiting_ -= sent_.front().cut.bytes;
        sent_.pop_front();
    }
    due_ = sent_.empty() ? kNever : due(now);
}

// The timer's first end after news notes it, those that follow count silence. Has the subflow become stale?
bool Retransmission::check_stale(std::size_t s) {
    Heard& heard = heard_[s];
    if (heard.count > 0 && heard.then_ns != heard.last_ns) {
        heard.count = 0;
        heard.stale = false;
        return false;
    }
    heard.then_ns = heard.last_ns;
    heard.count = std::min(heard.count + 1, kMostCount);
    if (heard.stale || heard.count <= stale_count_) return false;
    for (SubflowSet set = active() & ~bit(s); set != 0; set &= set - 1)
        if (heard_[static_cast<std::size_t>(lowest(set))].count < stale_count_ - 1) heard.stale = true;
    return heard.stale;
}

void Retransmission::set_interval(Time now) {
    const ConstantsNs& constants = d_.transport().constants;
    interval_ = 0;
    for (std::size_t s = 0; s < heard_.size(); ++s) {
        const Time timer = d_.timer(s);
        if (heard_[s].count > 0 || timer == kNever) continue;
        interval_ = std::max(interval_, (constants.ticks(timer) - constants.ticks(now)) * constants.jiffy);
    }
    if (interval_ <= 0) interval_ = static_cast<Time>(kShortestNs * constants.scale);
}

Time Retransmission::due(Time now) const { return d_.transport().constants.wheel(now, now + interval_); }

}  // namespace dstcc
