"""A stock control as an operator of a scenario's links would set it.

``python -m dstcc.tune SCENARIO --congestion cubic``: coordinate descent from the scenario's own settings. Axis by axis
(time scale, initial window, lanes, whose window a lane has, constants) the value with the most ``weighted_layers`` on
average over the seeds is kept, until a round changes nothing. The same axes for every control, and seeds of their own,
so that a comparison on other seeds is fair. What was tried goes to stderr, the choice to stdout as a ``[[variant]]`` to
put into the scenario.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
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
"""Of no published comparison."""
LEAST_GAIN = 0.0005
"""Half of the last digit that tables show: less is no reason to change a setting."""
ROUNDS = 4
WINDOWS = (10, 40, 160, 640, 2_500, 10_000)
"""Initial windows in segments: Linux's, and what an operator who knows the bandwidth-delay product may dare."""
LANES = (1, 4, 16)
LONGEST_TIMEOUTS = (1.5, 4.0, 16.0)
"""Longest retransmission timeouts, in round trips of the longest link."""


@dataclass
class Search:
    """One control's descent; ``score`` gives the mean of :data:`METRIC`, or None for what cannot run."""

    axes: dict[str, tuple[Any, ...]]
    score: Callable[[Settings], float | None]
    say: Callable[[str], None] = lambda _: None
    known: dict[str, float | None] = field(default_factory=dict)

    def best(self) -> tuple[Settings, float]:
        """The settings that differ from the scenario's own, and their mean; raises InputError if that cannot run."""
        own = self._ask({})
        if own is None:
            raise InputError("the control cannot run as the scenario has it")
        found: tuple[Settings, float] = ({}, own)
        for _ in range(ROUNDS):
            before = found[0]
            for key in self.axes:
                found = self._along(key, found)
            if found[0] == before:
                break
        return found

    def _along(self, key: str, start: tuple[Settings, float]) -> tuple[Settings, float]:
        best = start
        without = {name: value for name, value in start[0].items() if name != key}
        for settings in (without, *({**without, key: value} for value in self.axes[key])):
            mean = self._ask(settings)
            if mean is not None and mean > best[1] + LEAST_GAIN:
                best = settings, mean
        return best

    def _ask(self, settings: Settings) -> float | None:
        name = told(settings)
        if name not in self.known:
            self.known[name] = self.score(settings)
            mean = self.known[name]
            self.say(f"{'cannot run' if mean is None else f'{mean:.4f}':>10}  {name or 'as it comes'}")
        return self.known[name]


def axes_of(scenario: Scenario, congestion: str) -> dict[str, tuple[Any, ...]]:
    """What may be set, and to what, beside the scenario's own values."""
    from dstcc.scenario import scale_of
    from dstcc.scenario.draws import longest_possible_rtt_s

    fields, scale = type(scenario.transport).model_fields, round(scale_of(scenario))
    found: dict[str, tuple[Any, ...]] = {"scale": tuple(s for s in (1, isqrt(scale)) if s < scale)}
    found["initial_cwnd"] = tuple(w for w in WINDOWS if w != scenario.transport.initial_cwnd)
    if scenario.transport.mode == "lanes":
        found["lanes_per_link"] = tuple(n for n in LANES if n != scenario.transport.lanes_per_link)
        if "window" in fields:
            found["window"] = ("lane", "link")
    if "constants" in fields:
        longest_s = longest_possible_rtt_s(scenario)
        found["constants.rto_max_s"] = tuple(float(round(k * longest_s, 3)) for k in LONGEST_TIMEOUTS)
        if congestion == "cubic":
            found["constants.hystart"] = (False,)
    return {key: values for key, values in found.items() if values}


def nested(settings: Settings) -> Settings:
    """Settings as a variant's ``set`` has them: ``constants.rto_max_s`` within ``constants``."""
    found: Settings = {}
    for key, value in settings.items():
        table, _, name = key.rpartition(".")
        (found.setdefault(table, {}) if table else found)[name] = value
    return found


def told(settings: Settings) -> str:
    """``scale = 1, initial_cwnd = 40``, in an order that does not depend on when each was found."""
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
            own = as_variant(base, variant)
            own.check()
        except (ValidationError, PydanticCustomError):
            return None
        found = [trial.metrics for trial in run_trials(own, source, quality=False)]
        values = [None if one is None else one.values[METRIC] for one in found]
        return None if None in values else fmean(value for value in values if value is not None)

    return score


def lines(congestion: str, settings: Settings, mean: float, own: float, seeds: range) -> Iterator[str]:
    """The choice as a scenario has it, with how it was made."""
    from dstcc.scenario.write import value_text

    yield f"# python -m dstcc.tune, seeds {seeds[0]} to {seeds[-1]}: {METRIC} {mean:.3f}, {own:.3f} as it comes."
    yield "[[variant]]"
    yield f'label = "tuned {congestion}"'
    yield f'congestion = "{congestion}"'
    yield f"set = {value_text(nested(settings))}"


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
    told_us = parser.parse_args(argv)
    try:
        scenario = load_scenario(told_us.scenario, [parse_override(text) for text in told_us.set])
        source = load_source(scenario)
        for congestion in told_us.congestion:
            print(
                f"{congestion}: mean {METRIC} of seeds {told_us.seeds[0]} to {told_us.seeds[-1]}",
                file=sys.stderr,
            )
            score = scored(scenario, source, congestion, told_us.seeds)
            search = Search(axes_of(scenario, congestion), score, lambda line: print(line, file=sys.stderr))
            settings, mean = search.best()
            own = search.known[""] or 0.0
            print(*lines(congestion, settings, mean, own, told_us.seeds), sep="\n", end="\n\n")
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
