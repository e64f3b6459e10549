"""Which algorithm delivered most video, and which differences are statistically significant.

The leader is the algorithm with the highest interquartile mean, whatever it knows: what each knows and was given
stands in its row. Algorithms are compared by their differences at the same seeds, with a paired t test; as any of them
may turn out to be the leader, Holm's correction is over all pairs, and over all scenarios of the page. The leader is
*better* than another if the corrected test says so, both have :data:`BETTER_SEEDS` common seeds or more in every
scenario, and the leader was not trained or tuned on the scenario, which it may have overfitted. It *leads* if it is
better than each of its rivals; else it has the highest value, and without rivals it is alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations

from dstcc.stats import SAME, SIGNIFICANT, Estimate, Paired, holm, paired_p

from .catalogue import METRIC, RANKING, Metric
from .controllers import chosen_on, controller_of
from .footing import Footing, footings_of
from .model import Algorithm, Section, differences, paired
from .pooled import Pooled

HEADLINE: Metric = METRIC[RANKING[0]]
"""The metric that ranks: "most video" means its highest value."""
BETTER_SEEDS = 10
"""Fewest common seeds for the word *better*."""
LEAST = 0.0005
"""Half of the last digit shown: a smaller difference is shown as none."""

(
    LEADS,
    HIGHEST,
    ALONE,
    SAME_VALUE,
    WORSE,
    LOWER,
    HIGHER_MEAN,
    UNCLEAR,
    ONE_SEED,
    FAILED,
    MISSING,
) = (
    "leads",
    "highest",
    "alone",
    "same",
    "worse",
    "lower",
    "higher mean",
    "unclear",
    "one seed",
    "trials failed",
    "missing",
)
WORDS = {
    LEADS: "better than each of the others compared",
    HIGHEST: "the highest interquartile mean of those compared, but not significantly higher than each of the others",
    ALONE: "there is no other algorithm to rank it by",
    SAME_VALUE: "the leader's value at each common seed",
    WORSE: f"{BETTER_SEEDS} common seeds or more, and a significant difference (paired t test, Holm's correction, 5 %)",
    LOWER: "a significant difference, but of too few seeds, or the leader was trained or chosen on this scenario",
    HIGHER_MEAN: "its mean is significantly higher than the leader's, though its interquartile mean is not",
    UNCLEAR: "these seeds do not show a difference",
    ONE_SEED: "there are no two seeds in common, so a difference may be random",
    FAILED: "not compared: its value may be of the easier seeds",
    MISSING: "not compared: it has no value everywhere",
}
"""Explanation of each word."""

Pair = frozenset[str]
"""Two algorithms."""


@dataclass(frozen=True)
class Comparison:
    """The algorithms that have a value of :data:`HEADLINE`."""

    leader: str
    values: Mapping[str, Estimate]
    """Highest first, the leader before those with the same value."""
    differences: Mapping[str, Paired]
    """Paired differences to the leader."""
    adjusted: Mapping[Pair, float]
    """The p-value of each pair's difference, adjusted for all comparisons of the page."""
    seeds: Mapping[str, int]
    """Number of seeds that each has in common with the leader, the least over the scenarios; the leader's own."""
    failed: frozenset[str]
    """The algorithms with failed trials, where the leader has none: their values may be of the easier seeds."""
    doubt: str
    """Why the leader may not be called *better*, as a clause; usually empty."""
    footings: Mapping[str, Footing] = field(default_factory=dict)
    """What each algorithm knows and was given, where the runs record it and it is the same in all scenarios."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """The algorithms that are not ranked, and why."""

    @property
    def rivals(self) -> list[str]:
        """All algorithms but the leader and those with failed trials."""
        return [name for name in self.values if name not in {self.leader, *self.failed}]

    def word(self, name: str) -> str:
        """The word for an algorithm's result compared with the leader's."""
        if name == self.leader:
            return self._leaders_word()
        if name not in self.rivals:
            return FAILED if name in self.failed else MISSING
        difference = self.differences.get(name)
        if difference is None:
            same = abs(self.values[self.leader].value - self.values[name].value) <= SAME
            return SAME_VALUE if same else ONE_SEED
        if difference.above == difference.below == 0:
            return SAME_VALUE
        way = side(difference, self.adjusted[Pair((self.leader, name))])
        if way >= 0:
            return HIGHER_MEAN if way else UNCLEAR
        return WORSE if self.seeds[name] >= BETTER_SEEDS and not self.doubt else LOWER

    def _leaders_word(self) -> str:
        if not self.rivals:
            return ALONE
        return LEADS if all(self.word(name) == WORSE for name in self.rivals) else HIGHEST


def side(one: Paired, adjusted: float) -> int:
    """+1 or −1 where the mean difference is significantly above or below zero and large enough to be shown, else 0."""
    if adjusted >= SIGNIFICANT:
        return 0
    return (one.mean.value > LEAST) - (one.mean.value < -LEAST)


def compare(section: Section) -> Comparison | None:
    """The comparison of one scenario; None where the best algorithm has no value of :data:`HEADLINE`."""
    best = section.best
    if best is None or HEADLINE.key not in best.estimates:
        return None
    algorithms = {a.name: a for a in section.finished if HEADLINE.key in a.estimates}
    values = {name: a.estimates[HEADLINE.key] for name, a in algorithms.items()}
    to_leader = paired(section, HEADLINE.key, best)
    return Comparison(
        best.name,
        _ranked(best.name, values),
        to_leader,
        adjusted(section),
        {name: one.n for name, one in values.items()} | {n: one.mean.n for n, one in to_leader.items()},
        _failed(best.name, {name: a.whole for name, a in algorithms.items()}),
        _doubt(section, best),
        footings_of(section),
        {a.name: "none of its trials finished" for a in section.algorithms if not a.finished},
    )


def adjusted(section: Section) -> dict[Pair, float]:
    """The adjusted p-value of each pair of algorithms with two common seeds or more."""
    names = [a.name for a in section.finished if HEADLINE.key in a.estimates]
    return _adjusted(names, lambda a, b: [differences(section, HEADLINE.key, a, b)], section.comparisons)


def compare_pooled(pooled: Pooled) -> Comparison | None:
    """The comparison of all scenarios together; None where they do not share :data:`HEADLINE`."""
    if HEADLINE not in pooled.metrics:
        return None
    best = pooled.best
    values = {name: pooled.estimate(name, HEADLINE) for name in pooled.names}
    doubts = (_doubt(section, pooled.find(section, best)) for section in pooled.sections)
    return Comparison(
        best,
        _ranked(best, values),
        pooled.paired(HEADLINE, best),
        _adjusted(pooled.names, partial(pooled.differences, HEADLINE), pooled.sections[0].comparisons),
        {name: min(map(len, pooled.differences(HEADLINE, name, best))) for name in pooled.names},
        _failed(best, {name: pooled.whole(name) for name in pooled.names}),
        next(filter(None, doubts), ""),
        pooled.footings,
        pooled.missing,
    )


def _adjusted(
    names: Sequence[str], of_pair: Callable[[str, str], list[list[float]]], families: int
) -> dict[Pair, float]:
    strata_by_pair = {Pair(pair): of_pair(*pair) for pair in combinations(names, 2)}
    return holm(
        {pair: paired_p(strata) for pair, strata in strata_by_pair.items() if min(map(len, strata)) > 1},
        families,
    )


def _ranked(leader: str, values: Mapping[str, Estimate]) -> dict[str, Estimate]:
    order = sorted(values, key=lambda name: (-values[name].value, name != leader))
    return {name: values[name] for name in order}


def _failed(leader: str, whole: Mapping[str, bool]) -> frozenset[str]:
    return frozenset(name for name, one in whole.items() if not one) if whole[leader] else frozenset()


def _doubt(section: Section, algorithm: Algorithm) -> str:
    controller = controller_of(section, algorithm)
    if controller is not None and controller.seen:
        return f"{algorithm.name} was trained on {section.name}"
    if controller is not None and controller.seen is None:
        return f"the run does not say what {algorithm.name} was trained on"
    return chosen_on(section, algorithm)
