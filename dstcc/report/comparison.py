"""Which algorithm brought home most video, and which differences are statistically significant.

The leader is the best algorithm of those that have to find the links' rates out; one that is given them is shown for
reference and not ranked. The leader is *better* than another algorithm if both have :data:`BETTER_SEEDS` seeds or more
in every scenario, their 95 % intervals are disjoint, and the leader was not trained on the scenario, which it may have
overfitted. The leader *leads* if it is better than each of its rivals; else it has the highest value, and without
rivals it is alone. Each row also shows what the algorithm knows and was given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dstcc.stats import SAME, Estimate, Paired

from .catalogue import METRIC, RANKING, Metric
from .controllers import controller_of
from .footing import Footing, footings_of
from .model import Algorithm, Section, paired
from .pooled import Pooled

HEADLINE: Metric = METRIC[RANKING[0]]
"""The metric that ranks: "most video" means its highest value."""
BETTER_SEEDS = 10
"""Fewest seeds for the word *better*."""
LEAST = 0.0005
"""Half of the last digit shown: a smaller difference is shown as none."""

(
    LEADS,
    HIGHEST,
    ALONE,
    SAME_VALUE,
    WORSE,
    LOWER,
    PAIRED_LOWER,
    UNCLEAR,
    ONE_SEED,
    KNOWS_RATES,
    FAILED,
    MISSING,
) = (
    "leads",
    "highest",
    "alone",
    "same",
    "worse",
    "lower",
    "lower seed by seed",
    "unclear",
    "one seed",
    "knows the rates",
    "trials failed",
    "missing",
)
WORDS = {
    LEADS: "better than each of the others that find the rates out",
    HIGHEST: "the highest value, but not significantly higher than each of the others",
    ALONE: "nobody beside it finds the rates out, so there is nothing to rank",
    WORSE: f"{BETTER_SEEDS} seeds or more, and intervals that do not overlap",
    LOWER: "the intervals do not overlap, but there are too few seeds, or the leader was trained on this scenario",
    PAIRED_LOWER: "the intervals overlap, but that of the differences at the same seeds lies below zero",
    UNCLEAR: "these seeds do not show a difference",
    ONE_SEED: "there is no interval, so a difference may be chance",
    KNOWS_RATES: "for reference: it is given the links' rates and need not find them out",
    FAILED: "not compared: its value may be of the easier seeds",
    MISSING: "not compared: it has no value everywhere",
}
"""Explanation of each word."""


@dataclass(frozen=True)
class Comparison:
    """The algorithms that have a value of :data:`HEADLINE`."""

    leader: str
    values: Mapping[str, Estimate]
    """Highest first, the leader before those with the same value."""
    knows_rates: frozenset[str]
    """The algorithms that are given the links' rates, where others are not."""
    differences: Mapping[str, Paired]
    """Paired differences to the leader."""
    seeds: Mapping[str, int]
    """Number of seeds of each algorithm, the least over the scenarios."""
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
        """All algorithms but the leader, those that know the rates and those with failed trials."""
        return [name for name in self.values if name not in {self.leader, *self.knows_rates, *self.failed}]

    def word(self, name: str) -> str:
        """The word for an algorithm's result compared with the leader's."""
        if name == self.leader:
            return self._leaders_word()
        if name not in self.rivals:
            return KNOWS_RATES if name in self.knows_rates else FAILED if name in self.failed else MISSING
        top, one = self.values[self.leader], self.values[name]
        if not top.has_interval or not one.has_interval:
            return SAME_VALUE if abs(top.value - one.value) <= SAME else ONE_SEED
        if not one.overlaps(top):
            sure = min(self.seeds[self.leader], self.seeds[name]) >= BETTER_SEEDS and not self.doubt
            return WORSE if sure else LOWER
        difference = self.differences.get(name)
        if difference is not None and difference.above == difference.below == 0:
            return SAME_VALUE
        return PAIRED_LOWER if difference is not None and side(difference) < 0 else UNCLEAR

    def _leaders_word(self) -> str:
        if not self.rivals:
            return ALONE
        return LEADS if all(self.word(name) == WORSE for name in self.rivals) else HIGHEST


def side(one: Paired) -> int:
    """+1 or −1 where the shown interval of the mean difference is wholly above or below zero, else 0."""
    low, high = one.mean.bounds()
    return (low > LEAST) - (high < -LEAST)


def compare(section: Section) -> Comparison | None:
    """The comparison of one scenario; None where the best algorithm has no value of :data:`HEADLINE`."""
    best = section.best
    if best is None or HEADLINE.key not in best.estimates:
        return None
    algorithms = {a.name: a for a in section.finished if HEADLINE.key in a.estimates}
    values = {name: a.estimates[HEADLINE.key] for name, a in algorithms.items()}
    return Comparison(
        best.name,
        _ranked(best.name, values),
        _knowing_rates(best, algorithms.values()),
        paired(section, HEADLINE.key, best),
        {name: one.n for name, one in values.items()},
        _failed(best.name, {name: a.whole for name, a in algorithms.items()}),
        _doubt(section, best),
        footings_of(section),
        {a.name: "none of its trials finished" for a in section.algorithms if not a.finished},
    )


def compare_pooled(pooled: Pooled) -> Comparison | None:
    """The comparison of all scenarios together; None where they do not share :data:`HEADLINE`."""
    if HEADLINE not in pooled.metrics:
        return None
    best, first = pooled.best, pooled.sections[0]
    strata = {name: pooled.strata(name, HEADLINE) for name in pooled.names}
    values = {name: pooled.estimate(name, HEADLINE) for name in pooled.names}
    doubts = (_doubt(section, pooled.find(section, best)) for section in pooled.sections)
    return Comparison(
        best,
        _ranked(best, values),
        _knowing_rates(pooled.find(first, best), [pooled.find(first, name) for name in pooled.names]),
        pooled.paired(HEADLINE, best),
        {name: min(map(len, values_by_scenario)) for name, values_by_scenario in strata.items()},
        _failed(best, {n: all(pooled.find(s, n).whole for s in pooled.sections) for n in pooled.names}),
        next(filter(None, doubts), ""),
        pooled.footings,
        pooled.missing,
    )


def _ranked(leader: str, values: Mapping[str, Estimate]) -> dict[str, Estimate]:
    order = sorted(values, key=lambda name: (-values[name].value, name != leader))
    return {name: values[name] for name in order}


def _knowing_rates(best: Algorithm, algorithms: Iterable[Algorithm]) -> frozenset[str]:
    return frozenset() if best.knows_rates else frozenset(a.name for a in algorithms if a.knows_rates)


def _failed(leader: str, whole: Mapping[str, bool]) -> frozenset[str]:
    return frozenset(name for name, one in whole.items() if not one) if whole[leader] else frozenset()


def _doubt(section: Section, algorithm: Algorithm) -> str:
    controller = controller_of(section, algorithm)
    if controller is None or controller.seen is False:
        return ""
    if controller.seen:
        return f"{algorithm.name} was trained on {section.name}"
    return f"the run does not say what {algorithm.name} was trained on"
