// Which layers are settled: delivered, or given up. Either end says what it has done with a layer and cannot look; the links say
// what is under way of it. A layer that its sender has no more to send of is given up when nothing of it is under way any more.
//
// Where the receiver is a node that sends it on (sim/hop_by_hop.hpp), a restart there may take a layer away again.
#pragma once

#include <vector>

#include "core/base.hpp"

namespace dstcc {

class Settlement {
public:
    struct News {
        enum What : std::uint8_t { kComplete, kGivenUp, kDone } what;  // kDone: its sender holds it no longer
        std::uint32_t layer;
    };
    explicit Settlement(std::size_t layers) : layers_(layers), open_(layers) {}
    // What happens from now on is noted there.
    void tell(std::vector<News>* news) { news_ = news; }
    bool settled(std::uint32_t layer) const { return layers_[layer].complete || layers_[layer].given_up; }
    bool completed(std::uint32_t layer) const { return layers_[layer].complete; }
    // Its sender sends no more of it.
    bool done(std::uint32_t layer) const { return layers_[layer].sent; }

    // The receiving end has all of it.
    void complete(std::uint32_t layer) {
        Layer& of = layers_[layer];
        DSTCC_CHECK(!of.complete, "a layer is completed once");
        of.complete = true;
        if (!of.given_up) take_off();
        of.given_up = false;
        note(News::kComplete, layer);
    }
    // The receiving end lost all of it.
    void lose(std::uint32_t layer) {
        Layer& of = layers_[layer];
        if (!of.complete) return;
        of.complete = false;
        ++open_;
        if (of.closed) send_no_more(layer);
    }
    // It is to be sent, perhaps once more.
    void begin(std::uint32_t layer) {
        Layer& of = layers_[layer];
        if (of.given_up) ++open_;
        of.sent = of.closed = of.given_up = false;
    }
    // The sending end sends no more of it: it gave it up, or sent all of what is never repeated.
    void send_no_more(std::uint32_t layer) {
        if (!layers_[layer].sent) note(News::kDone, layer);
        layers_[layer].sent = true;
        give_up_if_lost(layer);
    }
    // The sending end needs to hear no more of it: what it was told of all, the receiving end had.
    void close(std::uint32_t layer) {
        layers_[layer].closed = true;
        send_no_more(layer);
        forget_if_over(layer);
    }

private:
    friend class Ltp;
    template <class Segment>
    friend class Way;

    struct Layer {
        std::uint32_t under_way = 0;  // segments
        bool sent = false, closed = false, complete = false, given_up = false;
    };
    void leave(std::uint32_t layer, std::int64_t segments = 1) {
        layers_[layer].under_way += static_cast<std::uint32_t>(segments);
    }
    void arrive(std::uint32_t layer, std::int64_t segments = 1) {
        layers_[layer].under_way -= static_cast<std::uint32_t>(segments);
        give_up_if_lost(layer);
        forget_if_over(layer);
    }
    void give_up_if_lost(std::uint32_t layer) {
        Layer& of = layers_[layer];
        if (!of.sent || of.under_way > 0 || of.complete || of.given_up) return;
        of.given_up = true;
        take_off();
        note(News::kGivenUp, layer);
    }
    void forget_if_over(std::uint32_t layer) {
        if (layers_[layer].closed && layers_[layer].under_way == 0) over_.push_back(layer);
    }
    void take_off() {
        DSTCC_CHECK(open_ > 0, "a layer is settled once");
        --open_;
    }
    void note(News::What what, std::uint32_t layer) {
        if (news_ != nullptr) news_->push_back({what, layer});
    }

    std::vector<Layer> layers_;
    std::size_t open_;
    std::vector<News>* news_ = nullptr;
    std::vector<std::uint32_t> over_;  // of which nothing is to come any more, since the event loop last looked
};

}  // namespace dstcc
