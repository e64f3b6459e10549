"""Tunes a stock congestion control to a scenario's links, as their operator would.

``python -m dstcc.tune SCENARIO --congestion cubic``: coordinate descent from the scenario's settings. Along each axis
(time scale, initial window, lanes, a window per lane or per link, constants) the value with the most
``weighted_layers`` on average over the seeds is kept, until a round changes nothing. All controls have the same axes,
and the seeds are used for nothing else, so that a comparison on other seeds is fair. Each tested setting is printed to
stderr, the result to stdout as a ``[[variant]]`` for the scenario. The descent also begins from the settings of the
scenario's variants of the same control, and the better end is taken: a tuned variant is replaced only by a better one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isqrt
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from dstcc.errors import DstccError, InputError

if TYPE_CHECKING:
    from dstcc.scenario import Scenario, Source

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
                best = self._along(key, best)
            if best[0] == before:
                break
        return best

    def _along(self, key: str, start: tuple[Settings, float]) -> tuple[Settings, float]:
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
    from dstcc.scenario import scale_of
    from dstcc.scenario.draws import longest_possible_rtt_s

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
    from dstcc.run import run_trials
    from dstcc.scenario.variant import Variant, as_variant

    run = scenario.run.model_copy(update={"seed": seeds.start, "seeds": len(seeds)})
    base = scenario.model_copy(update={"run": run})

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


def lines(congestion: str, settings: Settings, mean: float, untuned: float, seeds: range) -> Iterator[str]:
    """The result as TOML of a scenario, with a comment on how it was obtained."""
    from dstcc.scenario.write import value_text

    yield f"# python -m dstcc.tune, seeds {seeds[0]} to {seeds[-1]}: {METRIC} {mean:.3f}, {untuned:.3f} as it comes."
    yield "[[variant]]"
    yield f'label = "tuned {congestion}"'
    yield f'congestion = "{congestion}"'
    yield f"set = {value_text(nested(settings))}"
    yield f"chosen_on = [{seeds[0]}, {seeds[-1]}]"


def main(argv: Sequence[str] | None = None) -> int:
    """Choose settings for each control and print them as variants."""
    from dstcc.scenario import load_scenario, load_source, parse_override

    parser = argparse.ArgumentParser(prog="python -m dstcc.tune", description=__doc__)
    parser.add_argument("scenario", type=Path)
    parser.add_argument("--congestion", action="append", required=True, metavar="NAME", help="repeatable")
    parser.add_argument("--seeds", type=_seeds, default=SEEDS, metavar="FIRST-LAST", help="(default 901-905)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="override a key of the scenario"
    )
    arguments = parser.parse_args(argv)
    try:
        scenario = load_scenario(arguments.scenario, [parse_override(text) for text in arguments.set])
        source = load_source(scenario)
        for congestion in arguments.congestion:
            print(
                f"{congestion}: mean {METRIC} of seeds {arguments.seeds[0]} to {arguments.seeds[-1]}",
                file=sys.stderr,
            )
            score = scored(scenario, source, congestion, arguments.seeds)
            axes = axes_of(scenario, congestion)
            starts = starts_of(scenario, congestion, axes)
            search = Search(axes, score, starts, lambda line: print(line, file=sys.stderr))
            settings, mean = search.best()
            untuned = search.known[""] or 0.0
            print(*lines(congestion, settings, mean, untuned, arguments.seeds), sep="\n", end="\n\n")
    except DstccError as error:
        print(f"dstcc.tune: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _seeds(text: str) -> range:
    first, dash, last = text.partition("-")
    if not first.isdigit() or (dash and not last.isdigit()) or int(last or first) < int(first):
        raise argparse.ArgumentTypeError(f"'{text}': must be FIRST-LAST, like 901-905")
    return range(int(first), int(last or first) + 1)


if __name__ == "__main__":
    sys.exit(main())
