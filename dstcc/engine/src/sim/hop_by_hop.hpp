// A trial hop by hop: each node that sends has a trial of its own, of the transport over the links that leave it. A layer that is whole
// at the other end of a link is there the next node's to send, from that instant on.
//
//   stage    a node that sends: a Trial whose links lead to the nodes of other stages, which are behind it in order, or to the end
//   order    the least next event of all stages; at one instant the stage in front goes first
//   holds    a node has room for a layer from its first segment on, and holds it until the next hop has acknowledged it, or until it
//            gives it up. What there is no room for its sender keeps
//   restart  the node neither hears nor sends until it has booted; unless it keeps what it holds, all sessions and layers are lost, and
//            whoever in front of it has not heard yet that a layer came sends that again. The first stage's node, the sender, loses
//            instead what it has captured until then and no next hop has acknowledged
//
// Conservation (Node::check): what came = what left + is held + was dropped + was lost in restarts, in layers, begun ones included.
#pragma once

#include <algorithm>
#include <memory>
#include <set>

#include "core/keeper.hpp"
#include "core/onward.hpp"
#include "link/node.hpp"
#include "sim/trial.hpp"

namespace dstcc {

// A link of a stage: the place of the stage that it leads to; -1: the end of the way.
struct LeadsTo {
    int stage = -1;
    Onward onward;
};

template <class Ends>
class HopByHop {
    static_assert(!Ends::kAhead, "its ends keep to the order of time");

public:
    // The first stage captures. Nodes: of each stage; of the first only its restarts count.
    HopByHop(const std::vector<EngineConfig>& stages, const std::vector<NodeConfig>& nodes,
             const std::vector<std::vector<LeadsTo>>& links);
    // False when interrupted.
    bool run(bool (*interrupted)());

    std::size_t stages() const { return stages_.size(); }
    const Trial<Ends>& trial(std::size_t s) const { return stages_[s]->trial; }
    const Node& node(std::size_t s) const { return stages_[s]->node; }  // from 1 on
    const NodeSamples& samples(std::size_t s) const { return stages_[s]->samples; }
    Time now() const { return now_; }

private:
    using News = Settlement::News;
    struct Stage : Keeper {
        Stage(const EngineConfig& config, const NodeConfig& of, const std::vector<LeadsTo>& to)
            : trial(config),
              node(of),
              links(to) {}
        bool takes(std::uint32_t layer, std::int64_t wire_bytes) override;
        void drops(std::uint32_t layer) override;
        bool give_back(std::uint32_t layer);

        Trial<Ends> trial;
        Node node;
        std::vector<LeadsTo> links;
        std::vector<News> news;
        std::set<std::uint32_t> custody, coming;  // whole and in part
        std::vector<std::uint32_t> bytes;         // on the wire, by layer
        std::vector<std::uint8_t> begun;          // by layer: it was its to send
        NodeSamples samples;
        bool restarting = false;
    };
    void tell(Stage& stage);
    void restart(Stage& stage);
    void sample();
    bool alive(std::uint32_t layer) const;
    std::vector<std::uint32_t> held_by_sender(Time until) const;

    std::vector<std::unique_ptr<Stage>> stages_;
    Time now_ = 0, end_ns_, slot_ns_, next_slot_ns_;
    std::vector<std::uint8_t> over_;  // by layer: at the end of the way, or nowhere any more
    std::size_t open_;
};

template <class Ends>
HopByHop<Ends>::HopByHop(const std::vector<EngineConfig>& stages, const std::vector<NodeConfig>& nodes,
                         const std::vector<std::vector<LeadsTo>>& links)
    : end_ns_(stages.front().duration_ns),
      slot_ns_(stages.front().slot_ns),
      next_slot_ns_(slot_ns_),
      over_(stages.front().objects.size(), 0),
      open_(over_.size()) {
    for (std::size_t s = 0; s < stages.size(); ++s) {
        stages_.push_back(std::make_unique<Stage>(stages[s], nodes[s], links[s]));
        stages_.back()->bytes.resize(over_.size());
        stages_.back()->begun.resize(over_.size(), s == 0);
        stages_.back()->trial.ends().settlement().tell(&stages_.back()->news);
        if (s > 0) stages_.back()->trial.ends().capture_nothing();
    }
    for (const auto& stage : stages_)
        for (std::size_t l = 0; l < stage->links.size(); ++l) {
            const LeadsTo& to = stage->links[l];
            Keeper* const keeper = to.stage < 0 ? nullptr : stages_[static_cast<std::size_t>(to.stage)].get();
            stage->trial.ends().go_on(l, keeper, to.onward);
        }
}

template <class Ends>
bool HopByHop<Ends>::Stage::takes(std::uint32_t layer, std::int64_t wire_bytes) {
    const auto size = static_cast<std::uint32_t>(wire_bytes);
    if (!node.fits(size)) return false;
    bytes[layer] = size;
    node.come();
    node.hold(size);
    coming.insert(layer);
    return true;
}

template <class Ends>
void HopByHop<Ends>::Stage::drops(std::uint32_t layer) {
    if (coming.erase(layer) == 0) return;
    node.release(bytes[layer]);
    restarting ? node.lose_in_restart() : node.drop();
}

// It has no custody of it any more.
template <class Ends>
bool HopByHop<Ends>::Stage::give_back(std::uint32_t layer) {
    if (custody.erase(layer) == 0) return false;
    node.release(bytes[layer]);
    return true;
}

template <class Ends>
bool HopByHop<Ends>::run(bool (*interrupted)()) {
    for (std::uint64_t events = 1; open_ > 0; ++events) {
        Stage* first = nullptr;
        Time at = kNever;
        for (const auto& stage : stages_)
            if (stage->trial.next() < at) {
                first = stage.get();
                at = first->trial.next();
            }
        Stage* restarts = nullptr;
        for (const auto& stage : stages_)
            if (stage->node.next_restart() <= at) {
                restarts = stage.get();
                at = restarts->node.next_restart();
            }
        if (at > end_ns_) break;
        now_ = at;
        for (; next_slot_ns_ < now_; next_slot_ns_ += slot_ns_) sample();
        restarts != nullptr ? restart(*restarts) : first->trial.step();
        for (const auto& stage : stages_)
            if (!stage->news.empty()) tell(*stage);
        if ((events & kNowAndThen) == 0 && interrupted != nullptr && interrupted()) return false;
    }
    if (open_ > 0) now_ = end_ns_;
    for (; next_slot_ns_ <= now_; next_slot_ns_ += slot_ns_) sample();
    for (const auto& stage : stages_) {
        stage->trial.end(now_);
        stage->node.check();
    }
    return true;
}

// What became of layers there, to whom it concerns.
template <class Ends>
void HopByHop<Ends>::tell(Stage& stage) {
    std::vector<News> news;
    news.swap(stage.news);
    for (const auto& [what, layer] : news) {
        if (what == News::kComplete) {
            const LeadsTo& to = stage.links[stage.trial.ends().link_of(layer)];
            if (to.stage >= 0) {
                Stage& next = *stages_[static_cast<std::size_t>(to.stage)];
                DSTCC_CHECK(next.coming.erase(layer) == 1, "what is whole at a node came there");
                next.custody.insert(layer);
                next.begun[layer] = 1;
                next.trial.ends().handle_custody(now_, layer);
            } else if (over_[layer] == 0) {
                over_[layer] = 1;
                --open_;
            }
        } else if (what == News::kDone) {
            if (stage.give_back(layer))
                stage.trial.ends().settlement().completed(layer) ? stage.node.leave() : stage.node.drop();
        } else if (over_[layer] == 0 && !alive(layer)) {
            over_[layer] = 1;
            --open_;
        }
    }
}

template <class Ends>
bool HopByHop<Ends>::alive(std::uint32_t layer) const {
    return std::any_of(stages_.begin(), stages_.end(), [layer](const auto& stage) {
        return stage->begun[layer] != 0 && !stage->trial.ends().settlement().settled(layer);
    });
}

template <class Ends>
void HopByHop<Ends>::restart(Stage& stage) {
    Node& node = stage.node;
    node.restart(now_);
    const Time until = node.up_at_ns();
    stage.restarting = true;
    std::vector<std::uint32_t> lost(stage.custody.begin(), stage.custody.end());
    stage.trial.ends().turn_off(now_, until);
    if (&stage == stages_.front().get()) {
        if (!node.config().keeps_over_restart) stage.trial.ends().lose(held_by_sender(until));
    } else if (!node.config().keeps_over_restart) {
        for (const std::uint32_t layer : lost) {
            stage.give_back(layer);
            node.lose_in_restart();
        }
        stage.trial.ends().lose(lost);
    }
    for (const auto& before : stages_)
        for (std::size_t l = 0; l < before->links.size(); ++l) {
            const int to = before->links[l].stage;
            if (to < 0 || stages_[static_cast<std::size_t>(to)].get() != &stage) continue;
            Ends& ends = before->trial.ends();
            ends.turn_off_beyond(now_, l, until);
            if (node.config().keeps_over_restart) continue;
            std::vector<std::uint32_t> came;
            for (const std::uint32_t layer : lost)
                if (ends.link_of(layer) == l) came.push_back(layer);
            ends.lose_beyond(l, came);
        }
    stage.restarting = false;
}

// What has been captured by then, and no other node has acknowledged.
template <class Ends>
std::vector<std::uint32_t> HopByHop<Ends>::held_by_sender(Time until) const {
    const Trial<Ends>& first = stages_.front()->trial;
    const auto& release = first.config().objects.release_ns;
    std::vector<std::uint32_t> held;
    for (std::uint32_t layer = 0; layer < release.size() && release[layer] < until; ++layer)
        if (!first.ends().settlement().done(layer)) held.push_back(layer);
    return held;
}

template <class Ends>
void HopByHop<Ends>::sample() {
    for (const auto& stage : stages_) {
        const NodeCounts& counts = stage->node.counts();
        stage->node.check();
        stage->samples.slot_held_bytes.push_back(counts.held_bytes);
        stage->samples.slot_dropped_packets.push_back(counts.dropped_packets);
        stage->samples.slot_lost_in_restarts_packets.push_back(counts.lost_in_restarts_packets);
    }
}

}  // namespace dstcc
