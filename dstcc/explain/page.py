"""An explanation as a page, in the report's style."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dstcc.report.numbers import quantity
from dstcc.report.template import TEMPLATES, Plot, fill

from .explanation import PARTS, Explanation
from .figures import choice_figure, loss_figure, rate_figure


def render(told: Explanation) -> str:
    """The page; the same trial gives the same bytes."""
    return fill(
        TEMPLATES / "explain.html",
        told=told,
        finding=told.finding(),
        figures=_figures(told),
        shares=told.shares(),
        parts=told.parts(),
        links=[link.name for link in told.links],
        moment=partial(moment, told),
        utc=" (UTC)" if told.clock.dated else "",
    )


def moment(told: Explanation, t_s: float) -> str:
    """When a part of the mission begins or ends."""
    return told.clock.moment(t_s, told.end_s / PARTS) if told.clock.dated else quantity("seconds", t_s)


def _figures(told: Explanation) -> list[dict[str, Any]]:
    return [
        {
            "key": "loss",
            "title": "Loss",
            "plot": Plot(loss_figure(told), _loss_said(told), loss_figure(told, narrow=True)),
            "caption": (
                "Reported loss is that of the packets sent at that time, by the channel, queues and nodes on the way; "
                if any(link.reported for link in told.links)
                else "The channel's loss is that of the packets sent at that time; "
            )
            + "the controller gets feedback on it a round trip later at the earliest. Zero is drawn at 10⁻⁶.",
        },
        {
            "key": "rate",
            "title": "Rate",
            "plot": Plot(rate_figure(told), _rate_said(told), rate_figure(told, narrow=True)),
            "caption": "All subflows of a link together, on the wire.",
        },
        {
            "key": "choices",
            "title": "Choices over time",
            "plot": Plot(choice_figure(told), _choices_said(told), choice_figure(told, narrow=True)),
            "caption": "A choice holds until the next decision. Grey: the rarer ones.",
        },
    ]


def _loss_said(told: Explanation) -> str:
    said = []
    for link in told.links:
        held, sent = told.believed_of(link, "loss"), int(link.sent.sum())
        words = [f"believed {np.nanmean(held):.2g} on average"] if np.isfinite(held).any() else []
        whose = "lost by feedback:" if link.reported else "the channel lost"
        words += [f"{whose} {link.lost.sum() / sent:.2g} of what was sent"] if sent else []
        said.append(f"{link.name}: {', '.join(words) or 'nothing sent'}")
    return f"Loss of each link over mission time, believed and true. {'; '.join(said)}."


def _rate_said(told: Explanation) -> str:
    said = []
    for link in told.links:
        mine = list(link.subflows)
        paced = np.array([float(decision.saw["pacing_bps"][mine].sum()) for decision in told.decisions])
        words = f"paced at {quantity('bps', float(paced.mean()))} on average" if paced.size else "no decision"
        whole = f" of the link's {quantity('bps', link.rate_bps)}" if link.rate_bps else ""
        said.append(f"{link.name}: {words}{whole}")
    return f"Rate of each link over mission time, believed and used. {'; '.join(said)}."


def _choices_said(told: Explanation) -> str:
    most = (f"{name}: {choices[0][0]}, {choices[0][1]:.0%}" for name, choices in told.shares().items())
    return f"What was chosen over mission time, the most frequent choice of each. {'; '.join(most)}."
