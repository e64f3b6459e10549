"""A policy and the kernel's congestion control, once a slot: state in, actions out, a guard between.

::

    slot's end ──> state of all subflows ──> observation (dstcc.learn.observe) ──> policy ──> actions, in one message
                                                                                        └──> a subflow per layer

An observation has the engine's values by their names, in mission time. What the kernel tells differently:

* ``queue_bytes``, the sender's queue on its link, is in the link's emulation, not at the sender: what is in flight
  beyond the shortest round trip stands for it, W (1 - RTTmin / RTT), as in Vegas (Brakmo, Peterson, JSAC 1995);
* ``assigned_bytes`` are those handed to the subflow's socket and not sent;
* layers are not sent twice, so nothing is ever ``copied``.

The guard is the simulator's: windows within the law's bounds, Reno for a slot whose decision is not finite and after
four slots without one. The module keeps it, so it holds when this program is dead, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dstcc.engine.stepper import EPISODE_VALUES, LAYER_VALUES, SUBFLOW_VALUES
from dstcc.errors import InputError
from dstcc.learn.observe import Observer

from .genetlink import NetlinkError
from .netlink import Action, Subflow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstcc.learn.policy import Policy

    FloatArray = NDArray[np.float64]

SILENCE_SLOTS = 4
"""As ``Transport.agent_silence_slots`` of the simulator."""
MAX_SLOT_US = (1 << 32) - 1
MIN_SLOT_US = 1000
WRAP = 1 << 32
"""Of the kernel's counters of segments."""


class Steered(Protocol):
    """The congestion control, as :class:`dstcc_kernel.netlink.Client` has it."""

    def subflows(self) -> list[Subflow]:
        """The state of all."""

    def act(self, actions: Iterable[Action]) -> int:
        """Act on several; how many were still there."""

    def set_parameters(
        self, *, slot_us: int | None = None, silence_slots: int | None = None, headroom: int | None = None
    ) -> None:
        """For actions to come."""


@dataclass(frozen=True)
class Contact:
    """What is known of a path beforehand, at one time; mission seconds."""

    one_way_s: float
    up: bool
    change_s: float
    """Until ``up`` changes; infinite if it never does."""


@dataclass(frozen=True)
class Route:
    """One subflow of the policy: the TCP connections from these addresses, and when its link can be used."""

    addresses: frozenset[str]
    contact: Callable[[float], Contact]
    """Of mission time."""


@dataclass
class Values:
    """An episode's values in the shapes that :class:`~dstcc.learn.observe.Observer` takes."""

    subflow_values: FloatArray
    layer_values: FloatArray
    episode_values: FloatArray


@dataclass
class Totals:
    """What the guard did."""

    clamps: int = 0
    fallbacks: int = 0


@dataclass
class Agent:
    """Steers the subflows of one connection, or of one per lane; call :meth:`decide` at each slot's end.

    Raises :class:`~dstcc.errors.PolicyError` when there are more subflows or layers than the policy knows, and
    :class:`~dstcc.errors.InputError` for a policy or a slot that the kernel cannot have.
    """

    policy: Policy
    control: Steered
    routes: Sequence[Route]
    layers: int
    slot_s: float
    """Mission time."""
    scale: float
    """Mission seconds of an emulated one."""
    mss_bytes: int
    totals: Totals = field(default_factory=Totals)
    _before: dict[int, Subflow] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Tell the control about slots and headroom."""
        check_policy(self.policy)
        self.policy.check_fits(subflows=len(self.routes), layers=self.layers)
        slot_us = round(self.slot_s / self.scale * 1e6)
        if not MIN_SLOT_US <= slot_us <= MAX_SLOT_US:
            raise InputError(
                f"a slot of {self.slot_s:g} s at scale {self.scale:g} is {slot_us:,} us; "
                f"the kernel takes {MIN_SLOT_US:,} to {MAX_SLOT_US:,}"
            )
        headroom = self.policy.action.headroom
        self.control.set_parameters(slot_us=slot_us, silence_slots=SILENCE_SLOTS, headroom=headroom)
        self.policy = replace(self.policy)  # a network of this trial's own, with nothing in its memory
        n, m = self.policy.action.subflows, self.policy.action.layers
        shapes = ((1, n, len(SUBFLOW_VALUES)), (1, m, len(LAYER_VALUES)), (1, len(EPISODE_VALUES)))
        self._values = Values(*(np.zeros(shape) for shape in shapes))
        self._observer = Observer(self.policy.observation, 1)
        self._observer.begin(0, subflows=len(self.routes), layers=self.layers, mss_bytes=self.mss_bytes)

    def decide(self, now_s: float, backlog_bytes: Sequence[float], slack_s: Sequence[float]) -> list[int]:
        """Act; the subflow of each layer, -1 for the sender's own choice.

        ``now_s`` is mission time, ``backlog_bytes`` what of each layer waits, ``slack_s`` the time to the deadline of
        the oldest that does, infinite if none. Raises :class:`~dstcc_kernel.genetlink.NetlinkError` when the control
        is gone.
        """
        groups = self._groups()
        self._fill(now_s, groups, backlog_bytes, slack_s)
        with np.errstate(over="ignore", invalid="ignore"):
            outputs = self.policy.outputs(self._observer.observe(self._values))  # type: ignore[arg-type]
        if not np.isfinite(outputs).all():
            self._act([Action(s.id, None) for group in groups for s in group])
            return [-1] * self.layers
        told = self.policy.action.decode(self.policy.action.greedy(outputs))
        windows = zip(groups, told.alpha_q16[0].tolist(), told.beta[0].tolist(), strict=False)
        self._act([Action(s.id, a, round(b / len(group))) for group, a, b in windows for s in group])
        self._observer.note(told.layer_subflow, np.zeros_like(told.copied))
        return [place if place < len(self.routes) else -1 for place in told.layer_subflow[0].tolist()][
            : self.layers
        ]

    def _groups(self) -> list[list[Subflow]]:
        """TCP connections by route; what the counters rose by goes into :attr:`totals`."""
        found = self.control.subflows()
        groups = [[s for s in found if s.local_address in route.addresses] for route in self.routes]
        for subflow in (s for group in groups for s in group):
            before = self._before.get(subflow.id)
            self.totals.clamps += subflow.clamps - (before.clamps if before else 0)
            self.totals.fallbacks += subflow.fallbacks - (before.fallbacks if before else 0)
        return groups

    def _act(self, actions: list[Action]) -> None:
        """In one message; where a subflow has closed since the state was read, the others again."""
        if not actions:
            return
        try:
            self.control.act(actions)
        except NetlinkError as error:
            if error.name != "ENOENT":
                raise
            there = {subflow.id for subflow in self.control.subflows()}
            left = [action for action in actions if action.subflow in there]
            if left:
                self.control.act(left)

    def _fill(
        self, now_s: float, groups: list[list[Subflow]], backlog: Sequence[float], slack: Sequence[float]
    ) -> None:
        values = self._values
        values.subflow_values[:] = 0
        for row, (route, group) in enumerate(zip(self.routes, groups, strict=True)):
            contact = route.contact(now_s)
            told = self._told(group) | {
                "one_way_s": contact.one_way_s,
                "link_up": contact.up,
                "change_s": contact.change_s,
            }
            for name, value in told.items():
                values.subflow_values[0, row, SUBFLOW_VALUES.index(name)] = value
        for name, column in (("backlog_bytes", backlog), ("slack_s", slack)):
            values.layer_values[0, : self.layers, LAYER_VALUES.index(name)] = column
        values.episode_values[0, EPISODE_VALUES.index("time_s")] = now_s
        values.episode_values[0, EPISODE_VALUES.index("slot_s")] = self.slot_s
        self._before = {s.id: s for group in groups for s in group}

    def _told(self, group: list[Subflow]) -> dict[str, float]:
        """A route's values: sums over its connections, round trips as they have them on average."""
        if not group:
            return {}
        count = len(group)
        srtt_s = sum(s.srtt_us for s in group) / count * self.scale / 1e6
        least_s = min(s.min_rtt_us for s in group) * self.scale / 1e6
        in_flight = sum(s.in_flight for s in group)
        return {
            "established": 1,
            "cwnd_segments": sum(s.cwnd for s in group),
            "inflight_segments": in_flight,
            "srtt_s": srtt_s,
            "min_rtt_s": least_s,
            "sent_segments": sum(self._rise(s, "sent") for s in group),
            "lost_segments": sum(self._rise(s, "lost") for s in group),
            "retransmitted_segments": sum(self._rise(s, "retransmitted") for s in group),
            "delivered_bytes": sum(self._rise(s, "delivered") * s.mss for s in group),
            "queue_bytes": in_flight * max(0.0, 1 - least_s / srtt_s) * self.mss_bytes if srtt_s else 0.0,
            "assigned_bytes": sum(s.unsent_bytes for s in group),
            "pacing_bps": sum(s.pacing_rate for s in group) * 8 / self.scale,
            "bdp_segments": sum(s.bdp for s in group),
            "steered": all(s.steered for s in group),
        }

    def _rise(self, subflow: Subflow, counter: str) -> int:
        before = self._before.get(subflow.id)
        return int(getattr(subflow, counter) - (getattr(before, counter) if before else 0)) % WRAP


def check_policy(policy: Policy) -> None:
    """Raise :class:`~dstcc.errors.InputError` for a policy that steers what the kernel's control has not."""
    if policy.action.encoding == "policies":
        raise InputError(f"policy {policy.name} chooses among schedulers that exist in the simulator only")
    if policy.action.measured or policy.action.orders:
        raise InputError(f"policy {policy.name} measures queues and binds layers late, in the simulator only")
    if policy.action.pacing != "window":
        raise InputError(
            f"policy {policy.name} paces by {policy.action.pacing}, which exists in the simulator only"
        )
