"""Who decides once a slot in a guest: a policy through our congestion control, or a constant window.

The transfer program tells a slot's end in a line: the time (emulated ns), then for each layer the bytes that wait and
the time to the deadline of the oldest that does (ns, -1 for none). The answer is a link for each layer, or -1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

from .job import Job, LinkJob
from .topology import backup_address, craft_address

Controller = Callable[[str], str]
SILENCE_SLOTS = 1000
"""The longest that the module takes: a constant window is to hold."""


def make(job: Job) -> Controller:
    """The controller of a job; the module is loaded, and the spacecraft's namespace is ours."""
    assert job.steer is not None
    if "windows" in job.steer:
        return hold(job.steer["windows"], job)
    return Pilot(job, **job.steer)


def hold(windows: Sequence[int], job: Job) -> Controller:
    """Each link's subflows share a window of so many segments."""
    from . import host
    from .netlink import Action

    client = host.client()
    client.set_parameters(slot_us=max(1000, job.slot_ns // 1000), silence_slots=SILENCE_SLOTS, headroom=0)
    places = [_addresses(index, link) for index, link in enumerate(job.links)]

    def slot(_line: str) -> str:
        found = client.subflows()
        groups = [[s for s in found if s.local_address in place] for place in places]
        acts = [
            Action(s.id, 0, max(2, window // len(group)))
            for group, window in zip(groups, windows, strict=True)
            for s in group
        ]
        if acts:
            client.act(acts)
        return ""

    return slot


class Pilot:
    """A policy at the wheel of a trial."""

    def __init__(self, job: Job, *, policy: str, layers: int, slot_s: float, scale: float) -> None:
        """Read the policy."""
        from dstcc.learn.policy import load_policy

        from . import host
        from .agent import Agent, Route

        routes = [
            Route(frozenset(_addresses(index, link)), _contacts(link, scale))
            for index, link in enumerate(job.links)
        ]
        self.scale = scale
        self.layers = layers
        self.agent = Agent(load_policy(policy), host.client(), routes, layers, slot_s, scale, job.mss_bytes)

    def __call__(self, line: str) -> str:
        """Act on a slot's line."""
        now, *rest = (int(word) for word in line.split())
        seconds = self.scale / 1e9
        backlog = [float(value) for value in rest[0 : 2 * self.layers : 2]]
        slack = [value * seconds if value >= 0 else inf for value in rest[1 : 2 * self.layers : 2]]
        return " ".join(map(str, self.agent.decide(now * seconds, backlog, slack)))

    @property
    def totals(self) -> dict[str, int]:
        """What the guard did, by the simulator's names."""
        told = self.agent.totals
        return {"guard_clamps": told.clamps, "guard_fallbacks": told.fallbacks}


def _addresses(index: int, link: LinkJob) -> list[str]:
    return [*(craft_address(index, k) for k in range(link.subflows)), backup_address(index)]


def _contacts(link: LinkJob, scale: float) -> Callable[[float], Any]:
    """What a mission knows of a link beforehand, by mission time."""
    from .agent import Contact

    seconds = scale / 1e9
    rows = [(step.from_ns * seconds, step.delay_ns * seconds, step.loss != 1.0) for step in link.down.steps]

    def contact(now_s: float) -> Contact:
        at = max((i for i, row in enumerate(rows) if row[0] <= now_s), default=0)
        change = next((row[0] for row in rows[at + 1 :] if row[2] != rows[at][2]), inf)
        return Contact(rows[at][1], rows[at][2], change - now_s)

    return contact
