"""The decisions of a trial beside the channel as it was."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dstcc.arrays import Float64Array
from dstcc.clock import Clock
from dstcc.engine.config import subflow_links
from dstcc.errors import RunError
from dstcc.report.numbers import listed
from dstcc.run.capture import DROPPED, sender_links
from dstcc.run.datagrams import DATA_SENT
from dstcc.run.logs import connections_of
from dstcc.run.replay import replay

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dstcc.engine import Trace
    from dstcc.learn.policies.controller import Decided
    from dstcc.run import Run
    from dstcc.run.trials import Outcome


LOST = 1
"""A packet's fate in a trace: lost on the channel."""
PARTS = 10
"""Parts of a mission in the short table."""
NS_PER_S = 1e9


@dataclass(frozen=True)
class LinkTruth:
    """What became of the data packets that a link's channel carried, decision by decision."""

    name: str
    rate_bps: float
    """As the link begins."""
    subflows: tuple[int, ...]
    """The subflows on it, as a policy numbers them."""
    sent: NDArray[np.int64]
    """Packets put on the channel from one decision to the next."""
    lost: NDArray[np.int64]
    """Of these, what the channel lost."""
    reported: bool = False
    """Whether this is from feedback: what queues and nodes on the way dropped counts as lost."""

    def loss(self) -> Float64Array:
        """The share lost, NaN where nothing was sent."""
        share: Float64Array = np.where(self.sent > 0, self.lost / np.maximum(self.sent, 1), np.nan)
        return share


@dataclass(frozen=True)
class Explanation:
    """A trial's decisions, and what came of them."""

    trial: str
    scenario: str
    clock: Clock
    policy: str
    observed: tuple[str, ...]
    """What each place of an observation holds."""
    decisions: tuple[Decided, ...]
    end_s: float
    links: tuple[LinkTruth, ...]
    capture_s: Float64Array
    """When each chunk's last frame is captured."""
    levels: NDArray[np.int64]
    """The level that each chunk was played at, -1 for none."""
    layers: int

    @property
    def t_s(self) -> Float64Array:
        """When the decisions were made."""
        return np.array([decision.t_s for decision in self.decisions])

    def choices(self) -> dict[str, list[str]]:
        """What was decided, and each decision's words for it."""
        names = dict.fromkeys(name for decision in self.decisions for name in decision.chose)
        return {
            name: [decision.chose.get(name, "fell back") for decision in self.decisions] for name in names
        }

    def shares(self) -> dict[str, list[tuple[str, float]]]:
        """For what was decided, the choices by the share of decisions that took them."""
        return {
            name: [(choice, count / len(chosen)) for choice, count in Counter(chosen).most_common()]
            for name, chosen in self.choices().items()
        }

    def believed_of(self, link: LinkTruth, what: str) -> Float64Array:
        """What was believed of a link at each decision: the mean over its subflows, NaN where there was no belief."""
        return np.array(
            [
                float(np.mean(decision.believed[what][list(link.subflows)]))
                if what in decision.believed
                else np.nan
                for decision in self.decisions
            ]
        )

    def parts(self) -> list[dict[str, Any]]:
        """The mission in :data:`PARTS` equal parts: the loss believed and true of each link, and what was played."""
        edges = np.linspace(0.0, self.end_s, PARTS + 1)
        when = np.clip(np.searchsorted(edges, self.t_s, side="right") - 1, 0, PARTS - 1)
        of_chunk = np.clip(np.searchsorted(edges, self.capture_s, side="right") - 1, 0, PARTS - 1)
        rows = []
        for part in range(PARTS):
            mine, links = when == part, []
            for link in self.links:
                held = self.believed_of(link, "loss")[mine]
                sent = int(link.sent[mine].sum())
                links.append(
                    {
                        "link": link.name,
                        "believed_loss": float(np.nanmean(held)) if np.isfinite(held).any() else None,
                        "channel_loss": float(link.lost[mine].sum() / sent) if sent else None,
                    }
                )
            levels = self.levels[of_chunk == part]
            rows.append(
                {
                    "from_s": float(edges[part]),
                    "to_s": float(edges[part + 1]),
                    "links": links,
                    "captured": len(levels),
                    "played": float((levels >= 0).mean()) if len(levels) else None,
                    "in_full": float((levels == self.layers - 1).mean()) if len(levels) else None,
                }
            )
        return rows

    def finding(self) -> str:
        """One sentence: how many decisions there were, and how much of them is one choice."""
        played, full = (self.levels >= 0).mean(), (self.levels == self.layers - 1).mean()
        steady = [f"{name} {choices[0][0]}" for name, choices in self.shares().items() if choices[0][1] == 1]
        varied = [name for name, choices in self.shares().items() if choices[0][1] < 1]
        times = f"{self.policy} decided {len(self.decisions)} times"
        said = f"{times}; {played:.1%} of chunks were played, {full:.1%} in full."
        if steady:
            said += f" Always the same: {listed(steady)}."
        if varied:
            said += f" Changed over time: {listed(varied)}."
        return said

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "trial": self.trial,
            "scenario": self.scenario,
            "policy": self.policy,
            "observed": list(self.observed),
            "decisions": [
                {
                    "t_s": decision.t_s,
                    "observation": decision.observation.tolist(),
                    "saw": {name: values.tolist() for name, values in decision.saw.items()},
                    "believed": {name: values.tolist() for name, values in decision.believed.items()},
                    "chose": decision.chose,
                }
                for decision in self.decisions
            ],
            "links": [
                {"link": link.name, "sent": link.sent.tolist(), "lost": link.lost.tolist()}
                for link in self.links
            ],
            "shares": {name: dict(choices) for name, choices in self.shares().items()},
            "parts": self.parts(),
        }


def explain(run: Run, trial: str) -> Explanation:
    """Repeat a trial under a controller and tell its decisions.

    Raises :class:`~dstcc.errors.RunError` for a trial without a controller, and what :func:`replay` raises.
    """
    name = run.trial(trial)["controller"]
    if name is None:
        raise RunError(
            f"{run.path}: trial {trial!r} has no controller, and explain shows a controller's decisions"
        )
    decisions: list[Decided] = []
    outcome = replay(run, trial, trace=True, watcher=decisions.append)
    t_s = np.array([decision.t_s for decision in decisions])
    logged = [connection.trace for connection in connections_of(outcome)]
    links = _truth(outcome, logged, t_s) if logged else _heard(outcome, decisions, t_s)
    return Explanation(
        trial=trial,
        scenario=run.meta["scenario_name"],
        clock=Clock.of(run.scenario),
        policy=name,
        observed=decisions[-1].observed if decisions else (),
        decisions=tuple(decisions),
        end_s=outcome.result.end_ns / NS_PER_S,
        links=links,
        capture_s=outcome.setup.capture_ns / NS_PER_S,
        levels=outcome.playback.levels,
        layers=outcome.setup.objects.layers,
    )


def _heard(outcome: Outcome, decisions: list[Decided], t_s: Float64Array) -> tuple[LinkTruth, ...]:
    """The same of a coded trial, which keeps no packets: the feedback on each slot's packets, a round trip later."""
    windows = np.array(subflow_links(outcome.setup.links))
    sent, lost = (np.zeros((len(windows), len(t_s)), dtype=np.int64) for _ in range(2))
    for decision in decisions:
        some = decision.saw["heard"] > 0
        place = np.maximum(np.searchsorted(t_s, decision.saw["sent_s"][some], side="right") - 1, 0)
        sent[some, place] += decision.saw["heard"][some].astype(np.int64)
        lost[some, place] += decision.saw["lost"][some].astype(np.int64)
    truths = []
    for index, link in enumerate(outcome.setup.links):
        mine = windows == index
        subflows = tuple(np.flatnonzero(mine).tolist())
        truths.append(
            LinkTruth(
                link.name,
                float(link.rate_bps),
                subflows,
                sent[mine].sum(axis=0),
                lost[mine].sum(axis=0),
                reported=True,
            )
        )
    return tuple(truths)


def _truth(outcome: Outcome, logged: Sequence[Trace], t_s: Float64Array) -> tuple[LinkTruth, ...]:
    """The channel's doing on each link between one decision and the next."""
    links, windows = np.array(sender_links(outcome.links)), np.array(subflow_links(outcome.setup.links))
    sent, lost = (np.zeros((len(outcome.setup.links), len(t_s)), dtype=np.int64) for _ in range(2))
    for trace in logged:
        data = (trace.event == DATA_SENT) & (trace.fate != DROPPED) & (trace.syn == 0)
        link = links[trace.sender]
        place = np.maximum(np.searchsorted(t_s, trace.t_ns / NS_PER_S, side="right") - 1, 0)
        for counts, rows in ((sent, data), (lost, data & (trace.fate == LOST))):
            np.add.at(counts, (link[rows], place[rows]), 1)
    return tuple(
        LinkTruth(
            link.name,
            float(link.rate_bps),
            tuple(np.flatnonzero(windows == index).tolist()),
            sent[index],
            lost[index],
        )
        for index, link in enumerate(outcome.setup.links)
    )
