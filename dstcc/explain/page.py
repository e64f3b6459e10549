"""An explanation as a page, in the report's style."""

from __future__ import annotations

from typing import Any

from dstcc.report.numbers import quantity
from dstcc.report.template import TEMPLATES, fill

from .explanation import Explanation
from .figures import choice_figure, loss_figure, rate_figure


def render(told: Explanation) -> str:
    """The page; the same trial gives the same bytes."""
    return fill(
        TEMPLATES / "explain.html",
        told=told,
        finding=finding(told),
        figures=_figures(told),
        shares=told.shares(),
        parts=told.parts(),
        links=[link.name for link in told.links],
        quantity=quantity,
    )


def finding(told: Explanation) -> str:
    """One sentence: how many decisions there were, and how much of them is one choice."""
    played, full = (told.levels >= 0).mean(), (told.levels == told.layers - 1).mean()
    steady = [name for name, choices in told.shares().items() if choices[0][1] == 1]
    varied = [name for name, choices in told.shares().items() if choices[0][1] < 1]
    said = f"{told.policy} decided {len(told.decisions)} times; {played:.1%} of chunks were played, {full:.1%} in full."
    if steady:
        said += f" It never changed {_listed(steady)}."
    if varied:
        said += f" It changed {_listed(varied)}."
    return said


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _figures(told: Explanation) -> list[dict[str, Any]]:
    return [
        {
            "key": "loss",
            "title": "Loss, believed and true",
            "svg": loss_figure(told),
            "label": "Loss of each link over mission time: what the controller believed, and what the channel did",
            "caption": "None at all is drawn at 10⁻⁶. The channel's is that of the packets sent "
            "at that time: the controller can know of it a round trip later at the earliest.",
        },
        {
            "key": "rate",
            "title": "Rate, believed and used",
            "svg": rate_figure(told),
            "label": "Rate of each link over mission time: what the controller believed, and at which rate it sent",
            "caption": "All subflows of a link together, on the wire.",
        },
        {
            "key": "choices",
            "title": "What was chosen",
            "svg": choice_figure(told),
            "label": "Each choice over mission time, as coloured bars",
            "caption": "A choice holds until the next decision. Grey: the rarer ones.",
        },
    ]
