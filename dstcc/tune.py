"""Tunes a stock congestion control to a scenario's links, as their operator would; ``dstcc tune``.

Coordinate descent from the scenario's settings. Along each axis (time scale, initial window, lanes, a window per lane
or per link, constants) the value with the most ``weighted_layers`` on average over the seeds is kept, until a round
changes nothing. All controls have the same axes, and the seeds are used for nothing else, so that a comparison on other
seeds is fair. The descent also begins from the settings of the scenario's variants of the same control, and the better
end is taken: a tuned variant is replaced only by a better one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import isqrt
from statistics import fmean
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from dstcc.algorithms import OWN, rule_for
from dstcc.errors import InputError
from dstcc.run import run_trials
from dstcc.scenario import Scenario, Source, scale_of
from dstcc.scenario.draws import longest_possible_rtt_s
from dstcc.scenario.variant import Variant, as_variant
from dstcc.scenario.write import value_text

Settings = dict[str, Any]

METRIC = "weighted_layers"
SEEDS = range(901, 906)
"""Seeds that no published comparison uses."""
LEAST_GAIN = 0.0005
"""Half of the last digit that tables show: a smaller gain does not change a setting."""
ROUNDS = 4
WINDOWS = (10, 40, 160, 640, 2_500, 10_000)
"""Initial windows in segments: Linux's, and larger ones that suit an operator who knows the bandwidth-delay product."""
LANES = (1, 4, 16)
LONGEST_TIMEOUTS = (1.5, 4.0, 16.0)
"""Longest retransmission timeouts, in round trips of the longest link."""


@dataclass
class Search:
    """The search for one control; ``score`` gives the mean of :data:`METRIC`, or None for settings that cannot run."""

    axes: dict[str, tuple[Any, ...]]
    score: Callable[[Settings], float | None]
    starts: tuple[Settings, ...] = ()
    """Where else to begin than from the settings as they come."""
    say: Callable[[str], None] = lambda _: None
    known: dict[str, float | None] = field(default_factory=dict)

    def best(self) -> tuple[Settings, float]:
        """The settings that differ from the scenario's, and their mean; raises InputError if it cannot run."""
        untuned = self._ask({})
        if untuned is None:
            raise InputError("the control cannot run as the scenario has it")
        best = self._descent({}, untuned)
        for settings in self.starts:
            mean = self._ask(settings)
            if mean is not None and (end := self._descent(settings, mean))[1] > best[1] + LEAST_GAIN:
                best = end
        return best

    def _descent(self, settings: Settings, mean: float) -> tuple[Settings, float]:
        best = settings, mean
        for _ in range(ROUNDS):
            before = best[0]
            for key in self.axes:
                best = self._try_axis(key, best)
            if best[0] == before:
                break
        return best

    def _try_axis(self, key: str, start: tuple[Settings, float]) -> tuple[Settings, float]:
        best = start
        without = {name: value for name, value in start[0].items() if name != key}
        for settings in (without, *({**without, key: value} for value in self.axes[key])):
            mean = self._ask(settings)
            if mean is not None and mean > best[1] + LEAST_GAIN:
                best = settings, mean
        return best

    def _ask(self, settings: Settings) -> float | None:
        name = settings_text(settings)
        if name not in self.known:
            self.known[name] = self.score(settings)
            mean = self.known[name]
            self.say(f"{'cannot run' if mean is None else f'{mean:.4f}':>10}  {name or 'as it comes'}")
        return self.known[name]


def axes_of(scenario: Scenario, congestion: str) -> dict[str, tuple[Any, ...]]:
    """The settings to tune, each with the values to try besides the scenario's."""
    fields, scale = type(scenario.transport).model_fields, round(scale_of(scenario))
    axes: dict[str, tuple[Any, ...]] = {"scale": tuple(s for s in (1, isqrt(scale)) if s < scale)}
    axes["initial_cwnd"] = tuple(w for w in WINDOWS if w != scenario.transport.initial_cwnd)
    if scenario.transport.mode == "lanes":
        axes["lanes_per_link"] = tuple(n for n in LANES if n != scenario.transport.lanes_per_link)
        if "window" in fields:
            axes["window"] = ("lane", "link")
    if "constants" in fields:
        longest_s = longest_possible_rtt_s(scenario)
        axes["constants.rto_max_s"] = tuple(float(round(k * longest_s, 3)) for k in LONGEST_TIMEOUTS)
        if congestion == "cubic":
            axes["constants.hystart"] = (False,)
    return {key: values for key, values in axes.items() if values}


def nested(settings: Settings) -> Settings:
    """Settings in the form of a variant's ``set``: ``constants.rto_max_s`` within ``constants``."""
    tables: Settings = {}
    for key, value in settings.items():
        table, _, name = key.rpartition(".")
        (tables.setdefault(table, {}) if table else tables)[name] = value
    return tables


def flat(settings: Settings) -> Settings:
    """What :func:`nested` made a table of, as settings again."""
    single: Settings = {}
    for key, value in settings.items():
        single |= (
            {f"{key}.{name}": one for name, one in value.items()} if isinstance(value, dict) else {key: value}
        )
    return single


def starts_of(
    scenario: Scenario, congestion: str, axes: Mapping[str, tuple[Any, ...]]
) -> tuple[Settings, ...]:
    """The settings of the scenario's variants of a control that are along the axes and nowhere else."""
    variants = [
        one
        for one in scenario.variant
        if one.congestion == congestion and one.scheduler is None and one.controller is None
    ]
    settings = [flat(one.set) for one in variants]
    return tuple(one for one in settings if one and one.keys() <= axes.keys())


def settings_text(settings: Settings) -> str:
    """``scale = 1, initial_cwnd = 40``, sorted, so that the order of the search does not matter."""
    return ", ".join(f"{key} = {settings[key]}" for key in sorted(settings))


def scored(
    scenario: Scenario, source: Source, congestion: str, seeds: range
) -> Callable[[Settings], float | None]:
    """The mean of :data:`METRIC` over ``seeds`` for settings; None where they are refused or a trial fails."""
    base = scenario.with_run(seed=seeds.start, seeds=len(seeds))

    def score(settings: Settings) -> float | None:
        try:
            variant = Variant(label="tuned", congestion=congestion, set=nested(settings))
            tuned = as_variant(base, variant)
            tuned.check()
        except (ValidationError, PydanticCustomError):
            return None
        metrics = [trial.metrics for trial in run_trials(tuned, source, quality=False)]
        values = [None if one is None else one.values[METRIC] for one in metrics]
        return None if None in values else fmean(value for value in values if value is not None)

    return score


@dataclass(frozen=True)
class Tuned:
    """What was found for a control."""

    congestion: str
    settings: Settings
    """Those that differ from the scenario's."""
    mean: float
    """Of :data:`METRIC` over the seeds, under the settings."""
    untuned: float
    """The same as the scenario has it."""
    seeds: range

    def lines(self) -> Iterator[str]:
        """TOML of a scenario, with a comment on how it was obtained."""
        first, last = self.seeds[0], self.seeds[-1]
        yield f"# dstcc tune, seeds {first} to {last}: {METRIC} {self.mean:.3f}, {self.untuned:.3f} as it comes."
        yield "[[variant]]"
        yield f'label = "tuned {self.congestion}"'
        yield f'congestion = "{self.congestion}"'
        yield f"set = {value_text(nested(self.settings))}"
        yield f"chosen_on = [{first}, {last}]"

    def document(self) -> dict[str, Any]:
        """As ``dstcc tune --json`` prints it."""
        return {
            "congestion": self.congestion,
            "set": nested(self.settings),
            METRIC: self.mean,
            "untuned": self.untuned,
            "chosen_on": [self.seeds[0], self.seeds[-1]],
        }


def tune(
    scenario: Scenario,
    source: Source,
    congestion: str,
    seeds: range = SEEDS,
    *,
    say: Callable[[str], None] = lambda _: None,
) -> Tuned:
    """Choose settings; raises InputError for a control that there is not, or that cannot run in the scenario.

    ``say`` gets a line on every setting that was tried.
    """
    if congestion == OWN:
        raise InputError(f"--congestion {OWN}: nothing to tune; it finds rate, blocks and repair by itself")
    if wrong := rule_for(congestion, "congestion"):
        raise InputError(f"--congestion {congestion}: {wrong}")
    axes = axes_of(scenario, congestion)
    starts = starts_of(scenario, congestion, axes)
    search = Search(axes, scored(scenario, source, congestion, seeds), starts, say)
    settings, mean = search.best()
    return Tuned(congestion, settings, mean, search.known[""] or 0.0, seeds)
