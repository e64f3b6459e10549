// A sender's feedback on losses: their share, and how bursty they are.
//
//   share    p = (lost + 3) / (heard + 100): three in a hundred before any feedback, as there is none for a round trip,
//            and layers without repair lose more by a loss than repair costs
//   memory   of so many packets: then earlier feedback counts half. Of several the one whose share, as a block was planned, foretold best what
//            was lost of it: ln L = sum (x ln p + (N - x) ln(1 - p)) / phi over blocks of N packets of which x were lost, as of the last
//            blocks (kFar behind the best, none is further); before any, kLengths[kFirst]
//   bursts   phi = sum (x - N p)^2 / sum N p (1 - p): 1 where losses are independent, at least; a row of 50 lost packets weighs like one
//            loss of 50. From kBlocks on earlier ones count half
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace dstcc {

// Of so many of the last packets, at most; earlier ones count half.
struct LossMemory {
    static constexpr double kPrior = 100, kPriorLost = 3;
    static constexpr std::array<double, 4> kLengths = {1'250, 5'000, 20'000, 80'000};  // packets
    static constexpr std::size_t kShort = 1;
    double lost = 0, heard = 0;
    void add(double packets, double more_lost, double most) {
        lost += more_lost;
        heard += packets;
        if (heard < most) return;
        lost /= 2;
        heard /= 2;
    }
    void add_arrived(std::uint32_t packets, double most) {
        for (; packets > 0 && heard + packets >= most; --packets) add(1, 0, most);
        heard += packets;
    }
    // With a prior that counts as so many times kPrior packets.
    double share(double times) const { return (lost + kPriorLost * times) / (heard + kPrior * times); }
    double share() const { return share(1); }
    // Of that share, the variance over share (1 - share).
    double unsure(double times) const { return 1 / (heard + kPrior * times + 1); }
};

// One of each length.
class LossMemories {
public:
    void lose() { add(1); }
    void arrive() { add(0); }
    void arrive(std::uint32_t packets) {
        for (std::size_t m = 0; m < memories_.size(); ++m) memories_[m].add_arrived(packets, LossMemory::kLengths[m]);
    }
    const LossMemory& operator[](std::size_t memory) const { return memories_[memory]; }

private:
    void add(double lost) {
        for (std::size_t m = 0; m < memories_.size(); ++m) memories_[m].add(1, lost, LossMemory::kLengths[m]);
    }
    std::array<LossMemory, LossMemory::kLengths.size()> memories_;
};

// A path's, without its outages: more than kOutage packets lost, and kMore times what arrives with them. Less is known of it before than
// of all.
class PathLosses {
public:
    static constexpr std::size_t kOutage = 32;  // in a row
    // A report says so.
    void take(std::size_t arrived, std::size_t lost) {
        row_ += lost;
        if (arrived > 0) end_row(std::max(kOutage, kMore * arrived));
        memories_.arrive(static_cast<std::uint32_t>(arrived));
    }
    // Reports say so, however many.
    void take_arrived(std::uint32_t packets) {
        end_row(kOutage);
        memories_.arrive(packets);
    }
    // By one of LossMemory::kLengths.
    double share(std::size_t memory) const { return memories_[memory].share(kLittle); }
    // By what was heard lately, where paths are told apart by it: not by a few packets.
    double settled() const { return memories_[LossMemory::kShort].share(kKnown); }
    // Of it, by that many packets.
    double variance(std::size_t memory) const {
        const double p = share(memory);
        return p * (1 - p) * memories_[memory].unsure(kLittle);
    }

private:
    void end_row(std::size_t most) {
        if (row_ > 0 && row_ <= most)
            for (std::size_t lost = row_; lost > 0; --lost) memories_.lose();
        row_ = 0;
    }
    static constexpr std::size_t kMore = 4;
    static constexpr double kKnown = 1.0 / 3;
    static constexpr double kLittle = 1.0 / 30;
    LossMemories memories_;
    std::size_t row_ = 0;  // lost, since any arrived
};

class LossHeard {
public:
    static constexpr std::size_t kMemories = LossMemory::kLengths.size();
    using Shares = std::array<float, kMemories>;

    void packet(bool lost) { lost ? heard_.lose() : heard_.arrive(); }
    // So many that arrived.
    void arrived(std::uint32_t packets) { heard_.arrive(packets); }
    // Of a block whose packets' fates are all known; and of which so much is lost where they went.
    void block(double packets, double lost) { block(packets, lost, share()); }
    void block(double packets, double lost, double p) {
        const double expected = packets * p;
        squares_ += (lost - expected) * (lost - expected);
        variance_ += expected * (1 - p);
        if (++blocks_ < kBlocks) return;
        squares_ /= 2;
        variance_ /= 2;
        blocks_ /= 2;
    }
    // By each memory, for what is planned now.
    Shares shares() const {
        Shares shares;
        for (std::size_t m = 0; m < kMemories; ++m) shares[m] = static_cast<float>(heard_[m].share());
        return shares;
    }
    // Of a block for which those were the shares.
    void compare(const Shares& shares, double packets, double lost) {
        double best = -kFar;
        for (std::size_t m = 0; m < kMemories; ++m) {
            const auto p = static_cast<double>(shares[m]);
            likely_[m] += (lost * std::log(p) + (packets - lost) * std::log1p(-p)) / bursts();
            if (m == 0 || likely_[m] > best) {
                best = likely_[m];
                best_ = m;
            }
        }
        for (double& likely : likely_) likely = std::max(likely - best, -kFar);
    }
    double share() const { return heard_share() + unheard_; }
    // The memory that foretold best.
    std::size_t best() const { return best_; }
    // What is lost beyond that of what goes where nothing is heard of in time.
    void set_unheard(double share) { unheard_ = share; }
    // A path's share, by what was ever heard of it; and beyond that of all.
    static double of_path(std::int64_t heard, std::int64_t lost) {
        return LossMemory{static_cast<double>(lost), static_cast<double>(heard)}.share();
    }
    double more_of(std::int64_t heard, std::int64_t lost) const {
        return std::max(of_path(heard, lost) - heard_share(), 0.0);
    }
    double bursts() const { return variance_ > 0 ? std::max(squares_ / variance_, 1.0) : 1.0; }

private:
    static constexpr double kFar = 8;
    static constexpr int kBlocks = 200;
    static constexpr std::size_t kFirst = 2;
    double heard_share() const { return heard_[best_].share(); }
    LossMemories heard_;
    std::array<double, kMemories> likely_ = {-kFar / 2, -kFar / 2, 0, -kFar / 2};
    std::size_t best_ = kFirst;
    double unheard_ = 0, squares_ = 0, variance_ = 0;
    int blocks_ = 0;
};

// The share of the last few packets that was lost, by what an ACK says of all that it names.
class LostLately {
public:
    void take(std::size_t packets, std::size_t lost) {
        if (packets == 0 || (lost == 0 && share_ == 0)) return;
        share_ += (static_cast<double>(lost) / static_cast<double>(packets) - share_) * counts(packets);
        if (share_ < kNone) share_ = 0;
    }
    // So many times as many that all arrived.
    void take_arrived(std::size_t packets, std::int64_t times) {
        if (packets == 0 || share_ == 0) return;
        const double keeps = counts(packets);
        for (; times > 0 && share_ != 0; --times) {
            share_ += (0 - share_) * keeps;
            if (share_ < kNone) share_ = 0;
        }
    }
    // More than any channel loses for so long: storage overflows.
    bool overflows() const { return share_ > kOverflows; }
    // Nearly all: an outage.
    bool stops() const { return share_ > kStops; }

private:
    static constexpr double kPackets = 64, kNone = 1e-6, kOverflows = 0.25, kStops = 0.75;
    // What so many packets count. Most ACKs name as many as the one before.
    double counts(std::size_t packets) {
        if (packets != packets_) {
            packets_ = packets;
            counts_ = 1 - std::exp(-static_cast<double>(packets) / kPackets);
        }
        return counts_;
    }
    double share_ = 0, counts_ = 0;
    std::size_t packets_ = 0;
};

}  // namespace dstcc
