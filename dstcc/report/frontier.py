"""Delay and quality: each algorithm's weighted layers over the playout delay, from runs that differ in nothing else.

Sections whose runs have the same ``any_delay_sha256``, backend and scale differ in ``playout.delay_rtts`` alone
(:func:`dstcc.scenario.any_delay_hash`). Two delays or more are a frontier; runs without that hash are in none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from dstcc.stats import SAME, Estimate, estimate

from .catalogue import METRIC, RANKING
from .model import PICTURED, Report, Section
from .numbers import SPACE, listed, unit_for, with_interval

HEADLINE = METRIC[RANKING[0]]
BOUND = METRIC["oracle_ratio"]
BOUND_NAME = "clairvoyant bound"
DEFAULT_RTTS = 2.0
"""``playout.delay_rtts`` where a scenario with deadlines names no delay."""
NEAR = 0.01
"""A value that lacks no more than this of the bound, in weighted layers, is called near it."""
UNIT = unit_for(HEADLINE.kind, [1.0])
NAMED = 4
"""Most algorithms of which a sentence says where they come near the bound."""


@dataclass(frozen=True)
class Frontier:
    """Sections that differ in the playout delay only, the shortest first."""

    sections: tuple[Section, ...]

    @property
    def name(self) -> str:
        """The scenario's name."""
        return self.sections[0].name

    @cached_property
    def delays(self) -> tuple[float, ...]:
        """Playout delay of each section, in round trips of the longest link."""
        return tuple(map(delay_rtts, self.sections))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The algorithms that finished at one delay or more, the highest mean over its delays first."""
        found = dict.fromkeys(a.name for section in self.sections for a in section.finished)

        def mean(name: str) -> float:
            values = [one.value for one in self.line(name) if one is not None]
            return sum(values) / len(values) if values else -1.0

        return tuple(sorted(found, key=mean, reverse=True))

    @property
    def pictured(self) -> tuple[str, ...]:
        """The algorithms that the figure shows."""
        return self.names[:PICTURED]

    def line(self, name: str) -> tuple[Estimate | None, ...]:
        """An algorithm's weighted layers at each delay; None where it was not run or did not finish."""
        return self._lines[name]

    @cached_property
    def _lines(self) -> Mapping[str, tuple[Estimate | None, ...]]:
        at = [{a.name: a.estimates.get(HEADLINE.key) for a in section.finished} for section in self.sections]
        names = dict.fromkeys(name for one in at for name in one)
        return {name: tuple(one.get(name) for one in at) for name in names}

    @cached_property
    def bound(self) -> tuple[Estimate | None, ...]:
        """What a sender that knows every loss in advance could have played at each delay."""
        return tuple(_bound(section) for section in self.sections)

    @cached_property
    def finding(self) -> str:
        """Who has most at the shortest and at the longest delay, and from where on algorithms are near the bound."""
        ends = " ".join(self._most(index) for index in (0, -1))
        return f"{ends} {self._closeness()}".strip()

    def _most(self, index: int) -> str:
        values = {name: one.value for name in self.names if (one := self.line(name)[index]) is not None}
        at = f"{words_of_delay(self.delays[index])}"
        top = max(values.values(), default=None)
        if top is None:
            return f"At {at} nothing finished."
        bound = self.bound[index]
        beside = f" (bound {UNIT.text(bound.value)})" if bound else ""
        if top <= SAME:
            return f"At {at} nothing is played{beside}."
        best = [name for name, value in values.items() if top - value <= SAME]
        who = listed(best) if len(best) <= NAMED else f"{len(best)} algorithms"
        value = f"{UNIT.text(top)} of the layers' weight{beside}"
        return f"At {at} {who} {'has' if len(best) == 1 else 'have'} the highest value, {value}."

    def _closeness(self) -> str:
        if None in self.bound:
            return ""
        starts = {name: self._close_delay(name) for name in self.names[:NAMED]}
        near = [f"{name} from {words_of_delay(at)} on" for name, at in starts.items() if at is not None]
        never = [name for name, at in starts.items() if at is None]
        if not near:
            return f"Within {NEAR * 100:g} point of the bound at the longest delay: none."
        rest = f"; not at the longest delay: {listed(never)}" if never else ""
        return f"Within {NEAR * 100:g} point of the bound: {listed(near)}{rest}."

    def _close_delay(self, name: str) -> float | None:
        """The shortest delay from which on the algorithm lacks no more than :data:`NEAR` of the bound at any."""
        start = None
        for delay, one, bound in reversed(list(zip(self.delays, self.line(name), self.bound, strict=True))):
            if one is None or bound is None or one.value < bound.value - NEAR - SAME:
                break
            start = delay
        return start


def frontiers(report: Report) -> tuple[Frontier, ...]:
    """The frontiers among a report's sections, in order of appearance."""
    groups: dict[tuple[object, ...], list[Section]] = {}
    for section in report.sections:
        meta = section.meta
        if meta.get("any_delay_sha256") and section.finished:
            key = (meta["any_delay_sha256"], meta.get("backend"), meta.get("scale"))
            groups.setdefault(key, []).append(section)
    made = (Frontier(tuple(sorted(group, key=delay_rtts))) for group in groups.values())
    return tuple(one for one in made if len(set(one.delays)) > 1)


def titles(report: Report) -> tuple[str, ...]:
    """A name for each section: the scenario's, and the playout delay where that is what tells it from another."""
    told = {id(section) for one in frontiers(report) for section in one.sections}
    return tuple(
        f"{section.name}, playout after {words_of_delay(delay_rtts(section))}"
        if id(section) in told
        else section.name
        for section in report.sections
    )


def delay_rtts(section: Section) -> float:
    """The playout delay of a scenario that has it in round trips."""
    rtts = (section.scenario.get("playout") or {}).get("delay_rtts")
    return DEFAULT_RTTS if rtts is None else float(rtts)


def words_of_delay(rtts: float) -> str:
    """``1 round trip``, ``1.5 round trips``."""
    return f"{rtts:g}{SPACE}round trip{'' if rtts == 1 else 's'}"


@dataclass(frozen=True)
class FrontierRow:
    """A delay's texts: value and interval of the bound and of each algorithm; a dash where there is no value."""

    delay: str
    cells: tuple[tuple[str, str], ...]


def table(frontier: Frontier, names: tuple[str, ...]) -> list[FrontierRow]:
    """A row for each delay: the bound, then the algorithms of ``names``, in percent."""
    columns = [frontier.bound, *map(frontier.line, names)]
    unit = unit_for(HEADLINE.kind, [one.value for column in columns for one in column if one is not None])
    return [
        FrontierRow(f"{delay:g}", tuple(with_interval(column[index], unit) for column in columns))
        for index, delay in enumerate(frontier.delays)
    ]


def document(frontier: Frontier) -> dict[str, Any]:
    """The frontier as plain data."""
    return {
        "scenario": frontier.name,
        "backend": frontier.sections[0].meta.get("backend"),
        "scale": frontier.sections[0].meta.get("scale"),
        "metric": HEADLINE.key,
        "finding": frontier.finding,
        "delay_rtts": list(frontier.delays),
        "rows": list(_rows(frontier)),
    }


def _rows(frontier: Frontier) -> Iterator[dict[str, Any]]:
    """A row for each algorithm and delay; the bound's have null for an algorithm."""
    lines: dict[str | None, tuple[Estimate | None, ...]] = {None: frontier.bound}
    lines |= {name: frontier.line(name) for name in frontier.names}
    for name, line in lines.items():
        for delay, section, one in zip(frontier.delays, frontier.sections, line, strict=True):
            if one is not None:
                yield {
                    "algorithm": name,
                    "delay_rtts": delay,
                    "scenario_sha256": section.meta.get("scenario_sha256"),
                    **asdict(one),
                }


def _bound(section: Section) -> Estimate | None:
    """From the trials: their weighted layers are their share (``oracle_ratio``) of it. None where a seed's trials all
    played nothing, which leaves it open."""
    by_seed: dict[int, float] = {}
    for algorithm in section.finished:
        shares = algorithm.by_seed(BOUND.key)
        for seed, value in algorithm.by_seed(HEADLINE.key).items():
            if value > 0 and shares.get(seed):
                by_seed[seed] = max(by_seed.get(seed, 0.0), value / shares[seed])
    seeds = {trial.seed for algorithm in section.finished for trial in algorithm.finished}
    return estimate([by_seed[seed] for seed in sorted(seeds)]) if seeds == by_seed.keys() else None
