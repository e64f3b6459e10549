// What a sender that restarted asks. Its spool says of some layers that they were sent whole and that nobody acknowledged them. Most of
// them are there: what was in flight still arrives, and over a path it arrives before whatever leaves later. So the first reports of each
// path say which are there (kAskedReports), and until then they are held: only the others are sent again.
#include "coding/sending_end.hpp"

namespace dstcc {

// What shares its block with layers that are sent in any case goes with them: its repair had not been sent.
void CodedSendingEnd::ask() {
    if (coding_.asked.empty()) return;
    holds_.assign(objects_.size(), 0);
    for (const std::uint32_t object : coding_.asked) holds_[object] = 1;
    for (std::uint32_t block = 0; block < map_.blocks(); ++block) {
        std::uint8_t all = 1;
        for (std::uint32_t i = 0; i < map_.size(block); ++i) all &= holds_[map_.member(block, i)];
        for (std::uint32_t i = 0; i < map_.size(block); ++i) holds_[map_.member(block, i)] = all;
    }
}

void CodedSendingEnd::handle_answer(Time now, std::size_t s, const std::vector<bool>& there) {
    now_ = now;
    for (std::size_t i = 0; i < there.size(); ++i)
        if (there[i]) note_there(coding_.asked[i]);
    insert(answered_, s);
    look_after_held();
}

// It is not sent, unless an earlier answer said otherwise.
void CodedSendingEnd::note_there(std::uint32_t object) {
    LayerSending& layer = layers_[object];
    if (layer.given_up || layer.offset > 0) return;
    next_ = kNoObject;
    if (const auto at = std::lower_bound(held_.begin(), held_.end(), object); at != held_.end() && *at == object) {
        held_.erase(at);
    } else {
        std::deque<std::uint32_t>& waiting = level_with(object).objects;
        waiting.erase(std::lower_bound(waiting.begin(), waiting.end(), object));
    }
    layer.offset = objects_.payload_bytes[object];
    backlog_ -= layer.offset;
    member_done(map_.block_of(object));
}

// They wait for an answer over each path of which anything is heard. A path that has nothing to send asks with a packet of its own.
void CodedSendingEnd::look_after_held() {
    if (held_.empty() || established_ == 0) return;
    std::vector<std::uint32_t> held;
    held.swap(held_);
    const bool answered = (heard() & ~answered_) == 0;
    for (const std::uint32_t object : held) {
        if (left_out(object) || !reachable(objects_.deadline_ns[object])) {
            give_up(object);
        } else if (!answered) {
            held_.push_back(object);
        } else {
            std::deque<std::uint32_t>& waiting = level_with(object).objects;
            waiting.insert(std::lower_bound(waiting.begin(), waiting.end(), object), object);
        }
    }
    next_ = kNoObject;
    if (answered) offer();
    for (SubflowSet set = held_.empty() ? 0 : established_ & ~answered_; set != 0; set &= set - 1) {
        const auto s = static_cast<std::size_t>(lowest(set));
        if (subflows_[s].flight.tcp().in_flight() == 0 && subflows_[s].flight.window_open() && !resting(s))
            send_probe(s);
    }
    for (std::size_t s = 0; s < subflows_.size(); ++s) finish(s);
}

}  // namespace dstcc
