"""The ladder as a picture: a row a rung, a panel a scenario, each mean with its interval. Plain SVG."""

from __future__ import annotations

from html import escape
from math import ceil, floor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .rungs import Ladder, Rung

WIDTH, LABELS, RIGHT = 760, 250, 70
ROW, HEAD, FOOT = 20, 34, 30
COLOURS = {
    "clairvoyant": "#777777",
    "planner-law": "#1b6ca8",
    "planner-belief": "#3fa0d9",
    "controller": "#8a4fbf",
    "best-constant": "#c46a00",
    "tuned-rule": "#d9a441",
    "random": "#999999",
}


def svg(ladder: Ladder) -> str:
    """One picture for all scenarios."""
    parts: list[str] = []
    top = 0.0
    for name in ladder.scenarios:
        rungs = [rung for rung in ladder.rungs if rung.scenario == name]
        parts.append(_panel(name, rungs, top))
        top += HEAD + ROW * len(rungs) + FOOT
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top:g}" width="{WIDTH}" height="{top:g}" '
        'font-family="sans-serif" font-size="12" role="img">'
    )
    said = "<title>What each rung of the ladder plays, with 95 % intervals over seeds</title>"
    return "\n".join(
        [head, said, f'<rect width="{WIDTH}" height="{top:g}" fill="white"/>', *parts, "</svg>", ""]
    )


def _panel(name: str, rungs: list[Rung], top: float) -> str:
    ends = [end for rung in rungs for end in rung.estimate.bounds()]
    low, high = floor(min(ends) * 50) / 50, ceil(max(ends) * 50) / 50
    high = max(high, low + 0.02)

    def x(value: float) -> float:
        return LABELS + (value - low) / (high - low) * (WIDTH - LABELS - RIGHT)

    bottom = top + HEAD + ROW * len(rungs)
    lines = [f'<text x="8" y="{top + 20:g}" font-size="14" font-weight="bold">{escape(name)}</text>']
    for step in range(6):
        value = low + (high - low) * step / 5
        lines.append(
            f'<line x1="{x(value):.1f}" x2="{x(value):.1f}" y1="{top + HEAD - 4:g}" y2="{bottom:g}" stroke="#e4e4e4"/>'
            f'<text x="{x(value):.1f}" y="{bottom + 14:g}" text-anchor="middle" fill="#555">{value:.3f}</text>'
        )
    for number, rung in enumerate(rungs):
        y = top + HEAD + ROW * (number + 0.5)
        estimate, colour = rung.estimate, COLOURS[rung.rung]
        least, most = estimate.bounds()
        lines.append(
            f'<text x="{LABELS - 10}" y="{y + 4:g}" text-anchor="end">{escape(f"{rung.rung} · {rung.name}")}</text>'
            f'<line x1="{x(least):.1f}" x2="{x(most):.1f}" y1="{y:g}" y2="{y:g}" stroke="{colour}" stroke-width="3"/>'
            f'<circle cx="{x(estimate.value):.1f}" cy="{y:g}" r="4.5" fill="{colour}"/>'
            f'<text x="{WIDTH - RIGHT + 12}" y="{y + 4:g}">{estimate.value:.4f}</text>'
        )
    return "\n".join(lines)
