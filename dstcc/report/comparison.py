"""Who brought home most video, and which differences are more than chance.

The leader is the best of those that find the links' rates out for themselves; an algorithm that is given them is a
yardstick. Of two algorithms the leader is *better* where both have :data:`BETTER_SEEDS` seeds or more in every
scenario, their 95 % intervals have no point in common, and nothing else speaks against it: a controller that was
trained on the scenario may have learned it by heart. The leader *leads* where it is better than each of its rivals;
else it has the highest value, and without rivals it is alone. What each knows and has stands beside it.
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
"""What is meant by most video."""
BETTER_SEEDS = 10
"""Fewer are not enough for the word *better*."""
LEAST = 0.0005
"""Half of the last digit shown: a smaller difference reads as none."""

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
    HIGHEST: "the highest value; not from each of the others is it a difference that is one",
    ALONE: "nobody beside it finds the rates out, so there is nothing to rank",
    WORSE: f"{BETTER_SEEDS} seeds or more, and intervals that do not overlap",
    LOWER: "the intervals do not overlap, but there are too few seeds, or the leader was trained on this scenario",
    PAIRED_LOWER: "the intervals overlap, but that of the differences at the same seeds lies below zero",
    UNCLEAR: "these seeds do not show a difference",
    ONE_SEED: "there is no interval, so a difference may be chance",
    KNOWS_RATES: "a yardstick: it need not find out what the links carry",
    FAILED: "not compared: its value may be of the easier seeds",
    MISSING: "not compared: it has no value everywhere",
}
"""What the words say of an algorithm beside the leader."""


@dataclass(frozen=True)
class Comparison:
    """The algorithms that have a value of :data:`HEADLINE`."""

    leader: str
    values: Mapping[str, Estimate]
    """Highest first, the leader before those with the same value."""
    knows_rates: frozenset[str]
    """Those that are given the links' rates, where others are not."""
    differences: Mapping[str, Paired]
    """To the leader, seed by seed."""
    seeds: Mapping[str, int]
    """The least of the scenarios'."""
    failed: frozenset[str]
    """Those that lack trials, where the leader lacks none: their values are of the easier seeds, perhaps."""
    doubt: str
    """Why the leader's value says less than another's; mostly empty."""
    footings: Mapping[str, Footing] = field(default_factory=dict)
    """What each knows and has, as far as runs say it and it is the same everywhere."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """Those that have no place here, and why."""

    @property
    def rivals(self) -> list[str]:
        """All but the leader, those that know the rates and those with failed trials."""
        return [name for name in self.values if name not in {self.leader, *self.knows_rates, *self.failed}]

    def word(self, name: str) -> str:
        """How an algorithm stands beside the leader."""
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
    """+1 or −1 where the mean difference's interval lies wholly above or below zero, as it is shown, else 0."""
    low, high = one.mean.bounds()
    return (low > LEAST) - (high < -LEAST)


def compare(section: Section) -> Comparison | None:
    """Of one scenario; None where the best algorithm has no value of :data:`HEADLINE`."""
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
    """Of all scenarios together; None where they do not share :data:`HEADLINE`."""
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
        {name: min(map(len, found)) for name, found in strata.items()},
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
