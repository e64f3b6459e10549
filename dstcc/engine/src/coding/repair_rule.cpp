#include "coding/repair_rule.hpp"

#include <cmath>

namespace dstcc {

namespace {

constexpr double kNegligible = 1e-12;  // of a probability
constexpr std::int64_t kFew = 8;       // groups in a block, of packets that are lost together
constexpr double kSteady = 1e-3;       // of phi beyond 1: less is a binomial's
constexpr double kMostShare = 0.75;    // of losses: beyond, no repair helps
constexpr std::int64_t kFine = 512;    // of repair: steps are such a part of it
constexpr double kReach = 8;           // standard deviations from the mean: hardly ever is more or less lost

double log_gamma(double x) {
    int sign = 0;  // std::lgamma keeps it in a global
    return ::lgamma_r(x, &sign);
}

double log_beta(double a, double b) { return log_gamma(a) + log_gamma(b) - log_gamma(a + b); }

}  // namespace

double RepairRule::log_choose(std::int64_t n, std::int64_t x) {
    while (static_cast<std::int64_t>(log_factorial_.size()) <= n)
        log_factorial_.push_back(log_factorial_.back() + std::log(static_cast<double>(log_factorial_.size())));
    const auto at = [this](std::int64_t i) { return log_factorial_[static_cast<std::size_t>(i)]; };
    return at(n) - at(x) - at(n - x);
}

RepairRule::Left RepairRule::left_by(const PlannedLayer& layer, std::int64_t repair, double share, double bursts) {
    if (layer.source == 0) return {};
    if (layer.words > 1) {
        const std::int64_t words = layer.words;
        const PlannedLayer word{layer.objects, (layer.source + words - 1) / words, 0, 0, 0, 1};
        const Left one = left_by(word, repair / words, share, std::max(bursts / static_cast<double>(words), 1.0));
        const auto all = static_cast<double>(words);
        return {1 - std::pow(1 - one.lost, all), one.packets * all};
    }
    const std::int64_t packets = layer.source + repair;
    const auto n = static_cast<double>(packets);
    const auto groups = std::max<std::int64_t>(std::llround(n / bursts), 1);
    const bool few = groups <= kFew || bursts - 1 < kSteady;
    const std::int64_t units = few ? groups : packets;
    const double group = n / static_cast<double>(units), odds = share / (1 - share);
    const double both = (n - 1) / (bursts - 1) - 1, a = share * both, b = both - a;
    const double untouched = 1 - static_cast<double>(layer.source) / static_cast<double>(layer.objects) / n;
    const std::int64_t too_many = static_cast<std::int64_t>(static_cast<double>(repair) / group) + 1;
    if (too_many > units) return {};
    const double mean = static_cast<double>(units) * share, vary = few ? 1 : bursts;
    const std::int64_t least =
        std::max(too_many, static_cast<std::int64_t>(mean - kReach * std::sqrt(mean * (1 - share) * vary)));
    auto lost = static_cast<double>(least), kept = static_cast<double>(units - least);
    double chance = std::exp(log_choose(units, least) + (few ? lost * std::log(share) + kept * std::log1p(-share)
                                                             : log_beta(a + lost, b + kept) - log_beta(a, b)));
    const double spares = std::pow(untouched, group);
    double loss = 0, packets_short = 0, spared = std::pow(spares, lost);
    for (; kept >= 0; ++lost, --kept, spared *= spares) {
        loss += chance * (1 - spared);
        packets_short += chance * (lost * group - static_cast<double>(repair));
        if (chance < kNegligible && lost > mean) break;
        chance *= kept / (lost + 1) * (few ? odds : (a + lost) / (b + kept - 1));
    }
    return {std::min(loss, 1.0), packets_short};
}

std::vector<std::int64_t> RepairRule::plan(const std::vector<PlannedLayer>& layers, double bytes,
                                           const LossHeard& losses, double sure) {
    std::vector<std::vector<Step>> steps(layers.size());
    std::vector<std::size_t> at(layers.size(), 0);
    double all = 0;
    for (std::size_t m = 0; m < layers.size(); ++m) {
        const PlannedLayer& layer = layers[m];
        const auto weight = static_cast<double>(layers.size() - m);
        if (layer.source > 0) all += weight;
        const auto source = static_cast<double>(layer.source);
        const double share = std::min(layer.share < 0 ? losses.share() : layer.share, kMostShare);
        const double bursts =
            std::max({losses.bursts(), 1 + (source - 1) / (sure / std::min(share, LossHeard().share()) + 1),
                      1 + (source - 1) * layer.unsure});
        const double mean = source * share / (1 - share);
        const double reach = mean + kReach * std::sqrt(mean * bursts) + kReach * bursts;
        const auto most =
            layer.source == 0 ? 0 : std::min(layer.most_repair, static_cast<std::int64_t>(std::ceil(reach)));
        for (std::int64_t r = 0; r <= most; r += std::max<std::int64_t>(r / kFine, 1)) {
            const Left left = left_by(layer, r, share, bursts);
            const double again = (1 - layer.left) * left.packets / (1 - share);
            steps[m].push_back({r, 1 - layer.left * left.lost, again});
        }
    }
    const auto expected = [&]() {
        double weight = 0, left = bytes, through = 1;
        for (std::size_t m = 0; m < layers.size(); ++m) {
            if (layers[m].source == 0) continue;
            const Step& step = steps[m][at[m]];
            const double needs = bytes_of(layers[m], step);
            const double carried = bytes <= 0 ? 1 : std::min(1.0, std::max(left, 0.0) / needs);
            left -= needs;
            through *= step.kept;
            weight += carried * static_cast<double>(layers.size() - m) * through;
        }
        return weight;
    };
    double now = expected();
    for (;;) {
        double best_gain = 0;
        std::size_t best_layer = 0, best_step = 0;
        for (std::size_t m = 0; m < layers.size(); ++m) {
            const std::size_t had = at[m];
            for (std::size_t i = had + 1; i < steps[m].size(); ++i) {
                at[m] = i;
                const auto packets = static_cast<double>(steps[m][i].repair - steps[m][had].repair);
                const double gain = expected() - now;
                if (gain > worth_ * all * packets && gain / (packets * layers[m].packet_bytes) > best_gain) {
                    best_gain = gain / (packets * layers[m].packet_bytes);
                    best_layer = m;
                    best_step = i;
                }
            }
            at[m] = had;
        }
        if (best_gain <= 0) break;
        at[best_layer] = best_step;
        now = expected();
    }
    weight_ = now;
    plan_beyond(layers, bytes, steps, at);
    std::vector<std::int64_t> repair;
    for (std::size_t m = 0; m < layers.size(); ++m) repair.push_back(steps[m][at[m]].repair);
    return repair;
}

// For layers for which nothing is left.
void RepairRule::plan_beyond(const std::vector<PlannedLayer>& layers, double bytes,
                             const std::vector<std::vector<Step>>& steps, std::vector<std::size_t>& at) {
    double left = bytes, through = 1, price = 0;
    for (std::size_t m = 0; bytes > 0 && m < layers.size(); ++m) {
        if (layers[m].source == 0) continue;
        const auto weight = static_cast<double>(layers.size() - m);
        if (left <= 0) {
            const auto worth = [&](const Step& step) {
                return weight * through * step.kept - price * static_cast<double>(step.repair) * layers[m].packet_bytes;
            };
            for (std::size_t i = 1; i < steps[m].size(); ++i)
                if (worth(steps[m][i]) > worth(steps[m][at[m]])) at[m] = i;
        }
        through *= steps[m][at[m]].kept;
        const double needs = bytes_of(layers[m], steps[m][at[m]]);
        if (left > 0) price = weight * through / needs;
        left -= needs;
    }
}

// Are more than n - missing of n lost so rarely? Beyond their mean the terms fall at least as fast as a geometric series.
bool RepairRule::is_enough(std::int64_t n, std::int64_t missing, double share, double rarely) {
    const double odds = share / (1 - share), is_lost = std::log(share), arrives = std::log1p(-share);
    double too_few = 0;
    for (std::int64_t lost = n - missing + 1; lost <= n; ++lost) {
        const double chance = std::exp(log_choose(n, lost) + static_cast<double>(lost) * is_lost +
                                       static_cast<double>(n - lost) * arrives);
        too_few += chance;
        if (too_few > rarely) return false;
        const double falls = odds * static_cast<double>(n - lost) / static_cast<double>(lost + 1);
        if (falls < 1 && too_few + chance * falls / (1 - falls) <= rarely) return true;
    }
    return true;
}

// The more are sent, the more arrive: the least number is between one that is too few and one that is enough.
std::int64_t RepairRule::fresh(std::int64_t missing, double share, double rarely) {
    share = std::min(share, kMostShare);
    std::int64_t few = missing - 1, enough = 4 * missing + 16;
    while (enough - few > 1) {
        const std::int64_t n = few + (enough - few) / 2;
        (is_enough(n, missing, share, rarely) ? enough : few) = n;
    }
    return enough;
}

}  // namespace dstcc
