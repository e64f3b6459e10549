"""What each baseline plays of each scenario, with intervals over seeds, and the gap for learning to close."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from dstcc.arrays import Float64Array
from dstcc.coded.channels import laws_of
from dstcc.coded.fleet import Fleet
from dstcc.coded.rules import CHOICES, Automatic, Constant, Random
from dstcc.coded.seen import Sender
from dstcc.errors import InputError
from dstcc.scenario import Scenario
from dstcc.scenario.draws import draw_lines
from dstcc.stats import Estimate, Paired, mean_estimate, paired_difference

from .believing import PlannerOnBelief, PlannerOnLaw

BOUND = "clairvoyant"
BASELINES = (
    BOUND,
    "planner-law",
    "controller",
    "planner-belief",
    "best-constant",
    "tuned-rule",
    "random",
)
"""From the top, as far as knowledge goes."""
SCREENED = 8
"""Seeds on which constants are searched; the best :data:`FINALISTS` then run on all."""
FINALISTS = 3
SAME, OTHER, SPREAD = 0, 1, 2
LEAST_GAP = 0.005
"""Of all weight: a smaller gap teaches nothing, even where its interval is above 0."""

Advance = Callable[[float], None]


@dataclass(frozen=True)
class Baseline:
    """What one sender plays of a scenario."""

    scenario: str
    baseline: str
    name: str
    values: Mapping[int, float]
    """By seed: the share of all weight that was played."""
    clairvoyant: bool = False
    """Whether it knows what no sender can: draws, or changes of the loss that are still to come."""

    @property
    def label(self) -> str:
        """Its kind, for people."""
        return (
            f"{self.baseline}, clairvoyant" if self.clairvoyant and self.baseline != BOUND else self.baseline
        )

    @property
    def estimate(self) -> Estimate:
        """The mean with its interval by bootstrap over seeds."""
        return mean_estimate([list(self.values.values())])

    def document(self) -> dict[str, Any]:
        """As ``dstcc ladder --json`` has it."""
        estimate = self.estimate
        return {
            "scenario": self.scenario,
            "rung": self.baseline,
            "name": self.name,
            "clairvoyant": self.clairvoyant,
            "value": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "seeds": len(self.values),
        }


@dataclass(frozen=True)
class Gap:
    """What a planner that knows the loss model plays more than the best constant: the most that learning could
    bring."""

    scenario: str
    paired: Paired | None
    belief: Paired | None = None
    """The same planner on a filter's belief, less the best constant."""
    rule: Paired | None = None
    """The best tuned rule, less the best constant."""
    controller: Paired | None = None
    """The best controller given, less the best constant."""
    clairvoyant: bool = False
    """Whether the planner that knows the loss model knows the future with it."""

    @property
    def teaches(self) -> bool:
        """Whether there is anything to learn."""
        if self.paired is None:
            return False
        mean = self.paired.mean
        return mean.bounds()[0] > 0 and mean.value >= LEAST_GAP

    def sentence(self) -> str:
        """For a reader."""
        if self.paired is None:
            return f"{self.scenario}: one seed is not enough for a gap"
        mean = self.paired.mean
        low, high = mean.bounds()
        who_plays = "planner-law, clairvoyant here," if self.clairvoyant else "planner-law"
        said = f"{who_plays} plays {mean.value:+.4f} [{low:+.4f}, {high:+.4f}] more than the best constant"
        for who, other in (
            ("the controller", self.controller),
            ("planner-belief", self.belief),
            ("the best tuned rule", self.rule),
        ):
            if other is not None:
                low, high = other.mean.bounds()
                said += f", {who} {other.mean.value:+.4f} [{low:+.4f}, {high:+.4f}]"
        return f"{self.scenario}: {said}" + ("" if self.teaches else "; this scenario teaches nothing")

    def document(self) -> dict[str, Any]:
        """Beside the baselines."""
        return {
            "scenario": self.scenario,
            **_interval(self.paired),
            "teaches": self.teaches,
            "clairvoyant": self.clairvoyant,
            "planner_belief": _interval(self.belief),
            "tuned_rule": _interval(self.rule),
            "controller": _interval(self.controller),
        }


def _interval(paired: Paired | None) -> dict[str, float | None]:
    if paired is None:
        return {"value": None, "low": None, "high": None}
    return {"value": paired.mean.value, "low": paired.mean.low, "high": paired.mean.high}


@dataclass(frozen=True)
class Ladder:
    """All baselines of all scenarios, in their order."""

    baselines: tuple[Baseline, ...]

    def of(self, scenario: str, baseline: str) -> list[Baseline]:
        """Those of a kind; the best first."""
        mine = [one for one in self.baselines if (one.scenario, one.baseline) == (scenario, baseline)]
        return sorted(mine, key=lambda one: -one.estimate.value)

    def baselines_of(self, scenario: str) -> list[Baseline]:
        """All of a scenario, in their order."""
        return [one for one in self.baselines if one.scenario == scenario]

    @property
    def scenarios(self) -> list[str]:
        """Their names."""
        return list(dict.fromkeys(one.scenario for one in self.baselines))

    @property
    def gaps(self) -> list[Gap]:
        """One a scenario."""
        return [self._gap(name) for name in self.scenarios]

    def _gap(self, scenario: str) -> Gap:
        return Gap(
            scenario,
            self.difference(scenario, "planner-law", "best-constant"),
            belief=self.difference(scenario, "planner-belief", "best-constant"),
            rule=self.difference(scenario, "tuned-rule", "best-constant"),
            controller=self.difference(scenario, "controller", "best-constant"),
            clairvoyant=any(one.clairvoyant for one in self.of(scenario, "planner-law")),
        )

    def difference(self, scenario: str, upper: str, lower: str) -> Paired | None:
        """The best of one kind minus the best of another, by seeds."""
        one, other = self.of(scenario, upper), self.of(scenario, lower)
        return paired_difference(one[0].values, other[0].values) if one and other else None


def check_together(scenarios: Sequence[Scenario]) -> None:
    """Raise :class:`InputError` for scenarios that cannot stand in one table."""
    names = [scenario.scenario.name for scenario in scenarios]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"two scenarios are named '{twice[0]}'")


def climb(
    scenarios: Sequence[Scenario],
    seeds: Sequence[int] | None,
    rules: Sequence[Sender],
    controllers: Sequence[Sender] = (),
    *,
    advance: Advance = lambda _: None,
    say: Callable[[str], None] = lambda _: None,
) -> Ladder:
    """Run all baselines. ``advance`` gets the shares of a scenario that are done, ``say`` which baseline begins.

    Raises :class:`InputError` for scenarios of different layers, of one name, or that no ladder can be made of.
    """
    check_together(scenarios)
    fleets = [Fleet(scenario, scenario.seeds if seeds is None else seeds) for scenario in scenarios]
    for fleet in fleets[1:]:
        if fleet.layers != fleets[0].layers:
            raise InputError(
                f"{fleet.scenario.scenario.name}: {fleet.layers} layers, and {fleets[0].scenario.scenario.name} has "
                f"{fleets[0].layers}: a ladder's scenarios have the same layers"
            )
    baselines: list[Baseline] = []
    for fleet in fleets:
        baselines += _climb(fleet, rules, controllers, advance, say)
    return Ladder(tuple(baselines))


def _climb(
    fleet: Fleet,
    rules: Sequence[Sender],
    controllers: Sequence[Sender],
    advance: Advance,
    say: Callable[[str], None],
) -> list[Baseline]:
    name = fleet.scenario.scenario.name
    laws = [
        [links[link] for link in fleet.links]
        for links in (laws_of(fleet.scenario, seed, draw_lines(fleet.scenario, seed)) for seed in fleet.seeds)
    ]
    on_law = PlannerOnLaw(laws)
    steered: list[tuple[str, Sender]] = [
        ("planner-law", on_law),
        ("planner-belief", PlannerOnBelief()),
    ]
    steered += [("controller", one) for one in controllers]
    steered += [("tuned-rule", one) for one in rules]
    if fleet.automatic:
        steered.append(("tuned-rule", Automatic()))
    steered.append(("random", Random()))
    share = 0.5 / (len(steered) + 1)

    def baseline(kind: str, who: str, values: Float64Array) -> Baseline:
        clairvoyant = kind == BOUND or (kind == on_law.name and on_law.clairvoyant)
        return Baseline(name, kind, who, dict(zip(fleet.seeds, map(float, values), strict=True)), clairvoyant)

    say(f"{name}: {BOUND}")
    found = [baseline(BOUND, "bound", fleet.clairvoyant())]
    advance(share)
    for kind, sender in steered:
        say(f"{name}: {kind} {sender.name}")
        found.append(baseline(kind, sender.name, fleet.run(sender)))
        advance(share)
    say(f"{name}: best-constant")
    best, values = best_constant(fleet)
    found.append(baseline("best-constant", best.name, values))
    advance(0.5)
    return sorted(found, key=lambda one: BASELINES.index(one.baseline))


def best_constant(fleet: Fleet) -> tuple[Constant, Float64Array]:
    """The constant that plays the most of this scenario, in hindsight, and what it plays by seed.

    From the best of equal shares each layer's share is moved in turn by one or two of :data:`CHOICES` while that helps;
    then the places and leaving out the highest layer are tried. The search runs on the first :data:`SCREENED` seeds.
    """
    screen = fleet if len(fleet.seeds) <= SCREENED else Fleet(fleet.scenario, fleet.seeds[:SCREENED])
    known: dict[str, tuple[float, Constant]] = {}

    def score(one: Constant) -> float:
        if one.name not in known:
            known[one.name] = (float(screen.run(one).mean()), one)
        return known[one.name][0]

    def best() -> Constant:
        return max(known.values(), key=lambda pair: pair[0])[1]

    for share in CHOICES[::2]:
        score(Constant((share,) * fleet.layers))
    improved = True
    while improved:
        before = best().name
        for layer, step in product(range(fleet.layers), (1, -1, 2, -2)):
            now = best()
            at = CHOICES.index(now.repair[layer]) + step
            if 0 <= at < len(CHOICES):
                score(Constant((*now.repair[:layer], CHOICES[at], *now.repair[layer + 1 :])))
        improved = best().name != before
    if len(fleet.links) > 1:
        for place in (SAME, OTHER, SPREAD):
            score(Constant(best().repair, place))
    if fleet.layers > 1:
        now = best()
        score(Constant(now.repair, now.place, (fleet.layers - 1,)))
    ranked = sorted(known.values(), key=lambda pair: -pair[0])[:FINALISTS]
    played = [(one, fleet.run(one)) for _, one in ranked]
    return max(played, key=lambda pair: float(np.mean(pair[1])))
