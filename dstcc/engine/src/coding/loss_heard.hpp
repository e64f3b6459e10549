// A sender's feedback on losses: their share, and how bursty they are.
//
//   share    p = (lost + 3) / (heard + 100): three in a hundred before any feedback, as there is none for a round trip,
//            and layers without repair lose more by a loss than repair costs
//   bursts   phi = sum (x - N p)^2 / sum N p (1 - p) over blocks of N packets of which x were lost: 1 where losses are
//            independent, at least; a row of 50 lost packets weighs like one loss of 50
//
// Both forget: from kMemory packets on, earlier feedback counts half.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace dstcc {

class LossHeard {
public:
    void packet(bool lost) {
        lost_ += lost;
        if (++heard_ < kMemory) return;
        lost_ /= 2;
        heard_ /= 2;
    }
    // So many that arrived.
    void arrived(std::uint32_t packets) {
        for (; packets > 0 && heard_ + packets >= kMemory; --packets) packet(false);
        heard_ += packets;
    }
    // Of a block whose packets' fates are all known.
    void block(double packets, double lost) {
        const double p = share(), expected = packets * p;
        squares_ += (lost - expected) * (lost - expected);
        variance_ += expected * (1 - p);
        if (++blocks_ < kBlocks) return;
        squares_ /= 2;
        variance_ /= 2;
        blocks_ /= 2;
    }
    double share() const { return heard_share() + unheard_; }
    // What is lost beyond that of what goes where nothing is heard of in time.
    void set_unheard(double share) { unheard_ = share; }
    // A path's share, by what was ever heard of it; and beyond that of all.
    static double of_path(std::int64_t heard, std::int64_t lost) {
        return (static_cast<double>(lost) + kPriorLost) / (static_cast<double>(heard) + kPrior);
    }
    double more_of(std::int64_t heard, std::int64_t lost) const {
        return std::max(of_path(heard, lost) - heard_share(), 0.0);
    }
    double bursts() const { return variance_ > 0 ? std::max(squares_ / variance_, 1.0) : 1.0; }

private:
    double heard_share() const { return (lost_ + kPriorLost) / (heard_ + kPrior); }
    static constexpr double kPrior = 100, kPriorLost = 3, kMemory = 20'000;
    static constexpr int kBlocks = 200;
    double unheard_ = 0;
    double lost_ = 0, heard_ = 0, squares_ = 0, variance_ = 0;
    int blocks_ = 0;
};

// The share of the last few packets that was lost, by what an ACK says of all that it names.
class LostLately {
public:
    void take(std::size_t packets, std::size_t lost) {
        if (packets == 0 || (lost == 0 && share_ == 0)) return;
        const auto all = static_cast<double>(packets);
        share_ += (static_cast<double>(lost) / all - share_) * (1 - std::exp(-all / kPackets));
        if (share_ < kNone) share_ = 0;
    }
    // So many times as many that all arrived.
    void take_arrived(std::size_t packets, std::int64_t times) {
        if (packets == 0 || share_ == 0) return;
        const double keeps = 1 - std::exp(-static_cast<double>(packets) / kPackets);
        for (; times > 0 && share_ != 0; --times) {
            share_ += (0 - share_) * keeps;
            if (share_ < kNone) share_ = 0;
        }
    }
    // More than any channel loses for so long: storage overflows.
    bool overflows() const { return share_ > kOverflows; }

private:
    static constexpr double kPackets = 64, kNone = 1e-6, kOverflows = 0.25;
    double share_ = 0;
};

}  // namespace dstcc
