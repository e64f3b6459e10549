"""The page of a study of the value of information, in the report's style."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dstcc.report.template import TEMPLATES, Plot, fill
from dstcc.stats import Paired

from .baselines import BOUND, Baseline, Gap, Ladder
from .figure import baselines_figure

KNOWS = {
    BOUND: "every draw of the losses: the bound, of any sender",
    "planner-law": "the loss model, its parameters, and its true state as late as feedback comes",
    "controller": "a sender's observations: a policy or a file of rules",
    "planner-belief": "a sender's observations: the same planner, on a filter's belief",
    "best-constant": "one choice for the whole mission, chosen in hindsight on these seeds",
    "tuned-rule": "the measured loss, by a rule that was tuned on other scenarios",
    "random": "nothing: random shares in each slot",
}

FORETOLD = "where the loss is a table, also every future change: there it is clairvoyant, as no sender can be"
"""Of ``planner-law``."""


@dataclass(frozen=True)
class View:
    """A scenario on the page."""

    name: str
    baselines: Sequence[Baseline]
    gap: Gap
    plot: Plot


def render_ladder(ladder: Ladder, argv: Sequence[str]) -> str:
    """The page; the same ladder and command give the same bytes."""
    views = list(_views(ladder))
    return fill(
        TEMPLATES / "ladder.html",
        views=views,
        verdict=verdict(ladder),
        knows=dict(_knows(ladder)),
        interval=interval,
        difference=difference,
        command=shlex.join(["dstcc", *argv[1:]]),
    )


def _knows(ladder: Ladder) -> Iterator[tuple[str, str]]:
    for kind, words in KNOWS.items():
        those = [one for one in ladder.baselines if one.baseline == kind]
        foretold = kind != BOUND and any(one.clairvoyant for one in those)
        if those:
            yield kind, f"{words}; {FORETOLD}" if foretold else words


def verdict(ladder: Ladder) -> str:
    """In how many scenarios there is something to learn."""
    teaching = [gap.scenario for gap in ladder.gaps if gap.teaches]
    all_of = len(ladder.scenarios)
    if all_of == 1:
        return ladder.gaps[0].sentence() + "."
    which = f": {', '.join(teaching)}" if 0 < len(teaching) < all_of else ""
    foretold = [gap.scenario for gap in ladder.gaps if gap.clairvoyant]
    future = f" It is clairvoyant in {', '.join(foretold)}, where the loss is a table." if foretold else ""
    return (
        f"In {len(teaching)} of {all_of} scenarios a planner configured with the loss model plays more than the best "
        f"constant{which}.{future}"
    )


def interval(baseline: Baseline) -> str:
    """Of a mean."""
    low, high = baseline.estimate.bounds()
    return f"{low:.4f} to {high:.4f}" if baseline.estimate.has_interval else "–"


def difference(paired: Paired | None) -> tuple[str, str]:
    """A mean difference, and its interval."""
    if paired is None:
        return "–", ""
    low, high = paired.mean.bounds()
    return f"{paired.mean.value:+.4f}", f"{low:+.4f} to {high:+.4f}" if paired.mean.has_interval else ""


def _views(ladder: Ladder) -> Iterator[View]:
    for number, (name, gap) in enumerate(zip(ladder.scenarios, ladder.gaps, strict=True)):
        baselines = ladder.baselines_of(name)
        played = ", ".join(
            f"{baseline.label} ({baseline.name}) {baseline.estimate.value:.4f}" for baseline in baselines
        )
        label = f"{gap.sentence()}. Weighted layers: {played}."
        wide, narrow = (
            baselines_figure(name, baselines, f"{number}{key}", narrow=bool(key)) for key in ("", "n")
        )
        yield View(name, baselines, gap, Plot(wide, label, narrow))
