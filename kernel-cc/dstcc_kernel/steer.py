"""Who decides once a slot in a guest: a policy through our congestion control, or a constant window.

The transfer program tells a slot's end in a line: the time (emulated ns), the bytes in each link's queue at the sender,
then for each layer the bytes that wait and the time to the deadline of the oldest that does (ns, -1 for none).

The answer is what becomes of the layers: by how much each goes later than the one below it (ns, -1 for the sender's own
order), the share of the time to spare that is kept for a repair, the links that rest (bits of a number), and for each
layer a link, -1 for any, or what :mod:`dstcc.engine.stepper` has beside: ``REPAIRABLE``, ``AVOID - i``. An empty answer
leaves all as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dstcc.wire import HEADER_BYTES

from .controller_process import Controller
from .job import NEVER_NS, OBJECTS, Job, LinkJob
from .layers import set_table
from .netlink import Client
from .path_manager import Backups
from .topology import backup_address, craft_address

if TYPE_CHECKING:
    from dstcc.engine import EngineConfig

MOST_NS = 1 << 62
"""Later than any trial's end: base layers first."""
SILENCE_SLOTS = 1000
"""The longest that the module takes: a constant window is to hold."""


def make(job: Job, folder: Path) -> Controller:
    """The controller of a job in its folder; the module is loaded, and the spacecraft's namespace is ours."""
    assert job.steer is not None
    if "windows" in job.steer:
        return hold(job.steer["windows"], job)
    return TcpController(job, folder, **job.steer)


def hold(windows: Sequence[int], job: Job) -> Controller:
    """Each of a link's subflows holds its window of so many segments; lanes, which share one, hold all of it each."""
    from . import host
    from .agent import share_windows
    from .netlink import ACTIONS_MAX, Action

    client = host.client()
    client.set_parameters(slot_us=max(1000, job.slot_ns // 1000), silence_slots=SILENCE_SLOTS, headroom=0)
    places = [_addresses(index, link) for index, link in enumerate(job.links)]

    def slot(_line: str) -> str:
        subflows = client.subflows()
        groups = [[s for s in subflows if s.local_address in place] for place in places]
        acts = [Action(s.id, 0, window) for group, window in zip(groups, windows, strict=True) for s in group]
        for start in range(0, len(acts), ACTIONS_MAX):
            client.act(acts[start : start + ACTIONS_MAX])
        if job.shared:
            share_windows(client, groups)
        return ""

    return slot


class TcpController:
    """A policy of TCP that drives a trial; :class:`.coded_steer.CodedController` is one of coded packets."""

    def __init__(
        self, job: Job, folder: Path, *, policy: str, layers: int, slot_s: float, scale: float
    ) -> None:
        """Read the policy."""
        from dstcc.learn.policies.policy import load_policy

        from . import host
        from .agent import Agent, Route

        routes = [
            Route(frozenset(_addresses(index, link)), _contacts(link, scale))
            for index, link in enumerate(job.links)
        ]
        self.scale = scale
        self.placed = job.placed
        self.backups: Backups | None = None
        if not (job.placed or job.lanes) and len(job.links) > 1:
            self.backups = Backups(
                [
                    [craft_address(index, k) for k in range(link.subflows)]
                    for index, link in enumerate(job.links)
                ]
            )
        self.links = len(routes)
        self.layers = layers
        loaded = load_policy(policy)
        config = _trial(job, folder, slot_s, scale) if loaded.action.measured else None
        self.client = host.client()
        self.agent = Agent(
            loaded, self.client, routes, layers, slot_s, scale, job.mss_bytes, config, shared=job.shared
        )

    def __call__(self, line: str) -> str:
        """Act on a slot's line."""
        now, *rest = (int(word) for word in line.split())
        queues, waiting = rest[: self.links], rest[self.links :]
        seconds = self.scale / 1e9
        backlog = [float(value) for value in waiting[0 : 2 * self.layers : 2]]
        slack = [value * seconds if value >= 0 else inf for value in waiting[1 : 2 * self.layers : 2]]
        decision = self.agent.decide(now * seconds, backlog, slack, [float(value) for value in queues])
        if self.placed:
            self._place(decision.layers)
        elif self.backups is not None:
            self.backups.keep(decision.layers)
        gap_ns = -1 if decision.gap_s is None else round(min(decision.gap_s / seconds, MOST_NS))
        dark = sum(1 << link for link in decision.dark)
        return " ".join(map(str, (gap_ns, decision.repair, dark, *decision.layers)))

    def _place(self, places: Sequence[int]) -> None:
        """Tell the kernel's scheduler each connection's table. A layer that may go on several links has no row: the
        transfer program says with its bytes where they go."""
        for token, local_ids in self.agent.local_ids.items():
            table = {layer: local_ids.get(place) for layer, place in enumerate(places)}
            assert isinstance(self.client, Client)  # only the module knows of layers
            set_table(self.client, token, table)

    @property
    def totals(self) -> dict[str, int]:
        """What the guard did, by the simulator's names."""
        totals = self.agent.totals
        return {"guard_clamps": totals.clamps, "guard_fallbacks": totals.fallbacks}


def _trial(job: Job, folder: Path, slot_s: float, scale: float) -> EngineConfig:
    """What is known of a trial before it: what the source needs and what packets weigh, in mission time."""
    import numpy as np

    from dstcc.engine import AGENT, EngineConfig, Link, Objects, Transport

    numbers = np.fromfile(folder / OBJECTS, np.int64)
    chunk, layer, payload, release, deadline = (numbers[column::7] for column in range(5))
    timed = deadline != NEVER_NS
    due = np.where(timed, np.round(np.where(timed, deadline, 0) * scale).astype(np.int64), NEVER_NS)
    links = tuple(
        Link(
            link.name,
            link.down.rate_bps / scale,
            link.up.rate_bps / scale,
            (0,),
            (round(link.down.steps[0].delay_ns * scale),),
            link.down.queue_packets * (job.mss_bytes + HEADER_BYTES),
            link.up.queue_packets * HEADER_BYTES,
            subflows=link.subflows,
        )
        for link in job.links
    )
    objects = Objects(chunk, layer, payload, np.round(release * scale).astype(np.int64), due)
    transport = Transport(AGENT, AGENT, mss_bytes=job.mss_bytes, header_bytes=HEADER_BYTES)
    return EngineConfig(0, links, transport, objects, round(slot_s * 1e9))


def _addresses(index: int, link: LinkJob) -> list[str]:
    return [*(craft_address(index, k) for k in range(link.subflows)), backup_address(index)]


def _contacts(link: LinkJob, scale: float) -> Callable[[float], Any]:
    """What a mission knows of a link beforehand, by mission time."""
    from .agent import Contact

    seconds = scale / 1e9
    delays = [(step.from_ns * seconds, step.delay_ns * seconds) for step in link.down.steps]
    outages = [(start * seconds, end * seconds) for start, end in link.planned_ns]

    def contact(now_s: float) -> Contact:
        delay_s = delays[max((i for i, row in enumerate(delays) if row[0] <= now_s), default=0)][1]
        start_s, end_s = next((outage for outage in outages if outage[1] > now_s), (inf, inf))
        up = now_s < start_s
        return Contact(delay_s, up, (start_s if up else end_s) - now_s)

    return contact
