"""How constant the choices of the learned policies are: docs/tables/constancy.csv.

    python -m experiments.constancy [--only NAME] [--seeds 3]

A policy drives its card's held-out scenario, seeds 1 and up. A trial's decisions are alike where they take the same
choice for every subflow and layer, in the words of `dstcc explain`; factors of a window are rounded to twentieths.
Printed are decisions a trial, the share of them that takes the trial's most frequent choice, the share that repeats the
choice before, and different choices a trial: interquartile means with 95 % bootstrap intervals over seeds.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dstcc.report import printed
from dstcc.run.backends import Simulator
from dstcc.run.trials import Judge, iter_trials, load_controllers
from dstcc.scenario import load_source
from dstcc.scenario.variant import Variant, as_variant

from .cards import DIVERSE, LOSSY, TABLE_1
from .played import metrics_of, mission

if TYPE_CHECKING:
    from dstcc.learn.policies.controller import Decided

TWO_RTTS = "playout.delay_rtts=2"
DRIVEN: dict[str, tuple[Path, tuple[str, ...]]] = {
    "iodst-dqn": (TABLE_1, (TWO_RTTS,)),
    "iodst-dqn+": (TABLE_1, (TWO_RTTS,)),
    "iodst-q": (TABLE_1, (TWO_RTTS,)),
    "drl-cc": (TABLE_1, (TWO_RTTS,)),
    "dstcc-lanes": (TABLE_1, (TWO_RTTS,)),
    "mpquic-rl": (DIVERSE, ()),
    "pbq": (LOSSY, ()),
    "gru-mpc": (Path("examples/learning/held-out/sinking.toml"), ()),
}
"""A policy to its scenario and what is set in it."""
STEPS = 20
"""Of a factor: what differs by less than a twentieth counts as alike."""
FACTOR = re.compile(r"^×(\d+(?:\.\d+)?)$")

Choice = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Trials:
    """What was decided, a list for each trial."""

    trials: list[list[Choice]] = field(default_factory=list)

    def shares(self) -> list[list[float]]:
        """Of each trial: decisions, the most frequent choice's share, that of repetitions, different choices."""
        return [
            [
                len(choices),
                Counter(choices).most_common(1)[0][1] / len(choices),
                sum(one == next_one for one, next_one in pairwise(choices)) / max(len(choices) - 1, 1),
                len(set(choices)),
            ]
            for choices in self.trials
        ]


def choice_of(decision: Decided) -> Choice:
    """All that was decided, factors in twentieths."""
    return tuple((name, rounded(words)) for name, words in decision.chose.items())


def rounded(words: str) -> str:
    """A factor in twentieths; other words as they are."""
    found = FACTOR.match(words)
    return f"×{round(float(found[1]) * STEPS) / STEPS:.2f}" if found else words


def driven(name: str, seeds: int) -> Trials:
    """A policy's decisions on its scenario, seed by seed."""
    path, settings = DRIVEN[name]
    scenario = as_variant(mission(path, *settings), Variant(label="row", controller=name))
    decided = Trials()
    for seed in range(1, seeds + 1):
        one = scenario.model_copy(update={"run": scenario.run.model_copy(update={"seed": seed, "seeds": 1})})
        source, choices = load_source(one), list[Choice]()

        def keep(decision: Decided, choices: list[Choice] = choices) -> None:
            choices.append(choice_of(decision))

        judge, policies = Judge(source, wanted=False), load_controllers(one, source)
        metrics_of(iter_trials(one, source, judge, policies=policies, backend=Simulator(keep), jobs=1))
        decided.trials.append(choices)
    return decided


@click.command(help=__doc__)
@click.option("--only", type=click.Choice(list(DRIVEN)), help="One policy.")
@click.option("--seeds", default=3, show_default=True, type=click.IntRange(2), help="From 1 on.")
def main(only: str | None, seeds: int) -> None:
    """Print the table."""
    titles = ("", "scenario", "decisions", "most frequent choice, %", "as before, %", "different choices")
    printed.heading("How constant choices are", titles)
    for name, (path, _) in DRIVEN.items():
        if only in (None, name):
            decisions, most, again, kinds = map(list, zip(*driven(name, seeds).shares(), strict=True))
            printed.line(
                f"`{name}`",
                path.stem,
                printed.interval(decisions, 0),
                printed.interval(most, 1, 0.01),
                printed.interval(again, 1, 0.01),
                printed.interval(kinds, 0),
            )


if __name__ == "__main__":
    main()
