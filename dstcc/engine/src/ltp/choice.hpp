// Which block ltp sends next and on which link, what is too late to be sent, and what waits.
//
// A block goes where its delivery is expected first:  finish(now, backlog + block) + light,  over the known outages, and from there
// onwards by the plans of the links behind. It is bound when a link has nothing more to send, so that repairs elsewhere count. With deadlines those that leave time for a
// repair go before those that do not, as with the TCP senders.
#pragma once

#include "dispatch/layer_queue.hpp"
#include "core/onward.hpp"
#include "dispatch/layer_sending.hpp"
#include "link/line.hpp"
#include "ltp/segments.hpp"
#include "ltp/session.hpp"

namespace dstcc {

class BlockChoice {
public:
    // `layers`: what was sent of each, which it may give up.
    BlockChoice(const TransportConfig& transport, const LtpBlocks& blocks, std::vector<LayerSending>& layers,
                Lines<DownSegment>& lines, Settlement& settlement);
    void add(const AnswerClock& clock);
    // What a link leads to is not the end of the way.
    void go_on(std::size_t l, const Onward& onward) { links_[l].onward = onward; }
    // Nothing is begun on it until then.
    void hold(std::size_t l, Time until) { links_[l].held_until = until; }
    Time held_until(std::size_t l) const { return links_[l].held_until; }

    void wait(std::uint32_t block) { waiting_.push_back(block, blocks_.objects().layer[block]); }
    // Where older and newer ones wait already.
    void wait_among(std::uint32_t block) {
        has_link_[block] = 0;
        waiting_.insert(block, blocks_.objects().layer[block]);
    }
    // It waits no longer, wherever it does.
    void forget(std::uint32_t block);
    bool any_wait() const { return !waiting_.empty(); }
    bool bound(std::size_t l) const { return !links_[l].bound.empty(); }
    // Bind waiting blocks to the links they suit best until this link has one. False if it gets none.
    bool feed(Time now, std::size_t l);
    std::uint32_t next(std::size_t l) const { return links_[l].bound.front(); }
    void take(std::size_t l) { links_[l].bound.pop_front(); }

    void handle_slot(Time now);
    void drop_expired(Time now);
    void give_up(std::uint32_t block);
    // The layer it builds on was given up: it could not be decoded.
    bool hopeless(std::uint32_t block) const;
    // Not even light could bring a further segment in time.
    bool past_light(Time now, Time deadline, std::size_t l) const { return deadlines_ && arrival(now, l) > deadline; }
    // The last time at which one could still leave, on a link that leads to the other end.
    Time last_light(std::uint32_t block, std::size_t l) const {
        return deadlines_ ? blocks_.objects().deadline_ns[block] - links_[l].light_ns : kNever;
    }
    bool past_light(Time now, std::uint32_t block, std::size_t l) const {
        return past_light(now, blocks_.objects().deadline_ns[block], l);
    }

    Time light_ns(std::size_t l) const { return links_[l].light_ns; }
    // Of a link: bytes on the wire that are bound, under way in a block, or to be repaired.
    std::int64_t& backlog_bytes(std::size_t l) { return links_[l].backlog_bytes; }
    std::int64_t backlog_bytes(std::size_t l) const { return links_[l].backlog_bytes; }

private:
    struct Link {
        AnswerClock clock;
        LayerQueue bound;
        std::int64_t backlog_bytes = 0;
        Time light_ns = 0, held_until = 0;
        Onward onward;
    };
    // Of what leaves then and needs no time on the line.
    Time arrival(Time leaves, std::size_t l) const {
        const Link& link = links_[l];
        return link.onward.arrival(link.clock.over_nodes() ? link.clock.arrival(leaves) : leaves + link.light_ns);
    }
    bool still_good(std::uint32_t block, std::size_t l) const;
    bool choose(std::uint32_t& block);
    bool first_in_time(const WaitingLevel& waiting, bool repairable, std::uint32_t& block) const;
    void drop_lost_causes(const WaitingLevel& waiting);
    Time expected_delivery(std::size_t l, std::int64_t wire, bool queued) const;
    Time due(std::uint32_t block, std::size_t l, bool repairable) const;
    bool in_time(std::uint32_t block, std::size_t l) const;
    int soonest(std::uint32_t block) const;
    bool allowed(std::uint32_t block, std::size_t l) const;
    bool premature(std::uint32_t block) const;
    bool lost_cause(std::uint32_t block) const;
    void bind(std::uint32_t block, std::size_t l);
    void unbind(std::uint32_t block) { waiting_.take(block, blocks_.objects().layer[block]); }

    const TransportConfig& transport_;
    const LtpBlocks& blocks_;
    std::vector<LayerSending>& layers_;
    Lines<DownSegment>& lines_;
    Settlement& settlement_;
    bool deadlines_ = false;
    Time now_ = 0;
    std::vector<Link> links_;
    WaitingLayers waiting_;
    std::vector<std::uint8_t> has_link_;  // by block
};

}  // namespace dstcc
