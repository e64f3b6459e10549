"""A policy and the kernel's congestion control, once a slot: state in, actions out, a guard between.

::

    slot's end ──> state of all subflows ──> observation (dstcc.learn.spaces) ──> policy ──> actions, in one message
    link's queues ─┘                                                                    └──> which layers go where, when

An observation has the engine's values by their names, in mission time:

* ``queue_bytes`` comes from whoever sees the sender's queue on its link; where nobody does, what is in flight beyond
  the shortest round trip stands for it, W (1 - RTTmin / RTT), as in Vegas (Brakmo, Peterson, JSAC 1995);
* lanes that share their link's window (:attr:`Agent.shared`) each hold all of it, and are a group, whose sum the module
  bounds (under BPF the sender does): the window is their mean, the smoothed round trip that of the lanes that heard
  something in the slot, the pace W per round trip in bytes on the wire, headers included, as the simulator counts it;
* ``assigned_bytes`` are those handed to the subflow's socket and not sent;
* layers are not sent twice, so nothing is ever ``copied``;
* a subflow that joins a connection is there once it can carry data (RFC 8684 section 3.2), as in the simulator: before
  that it is shown as not established, and no action is for it;
* a window that says a pace (``rate``) holds beside what was in flight at the action, of which the group is told.

The guard is the simulator's: windows within the law's bounds, Reno for a slot whose decision is not finite and after
four slots without one. The module keeps it, so it holds when this program is dead, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from dstcc.engine.stepper import LAYER_VALUES, SUBFLOW_VALUES
from dstcc.errors import InputError
from dstcc.learn.spaces.deciding import Deciding
from dstcc.wire import HEADER_BYTES

from .genetlink import NetlinkError
from .netlink import ACTIONS_MAX, Action, Subflow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstcc.engine import EngineConfig
    from dstcc.learn.policies.controller import Controller
    from dstcc.learn.policies.policy import Policy
    from dstcc.learn.spaces.actions import Actions

SILENCE_SLOTS = 4
"""As ``silence_slots`` of the simulator's ``agent``."""
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


@runtime_checkable
class Sharing(Protocol):
    """A control whose subflows can share a window: the module, not BPF."""

    def set_group(self, group: int, subflows: Sequence[int] = (), beside: int | None = None) -> int:
        """Have subflows join a group; how many are in it now."""


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


@dataclass(frozen=True)
class SlotAction:
    """What a slot's decision says of the layers; windows went to the control."""

    layers: list[int]
    """Where each may go: a subflow, ``AUTOMATIC`` for any, ``REPAIRABLE``, or ``AVOID - i`` for any but i."""
    gap_s: float | None = None
    """Mission time by which a layer goes later than the one below it; None for the sender's own order."""
    repair: float = 0.5
    """Share of the time to spare that is kept for a repair."""
    dark: frozenset[int] = frozenset()
    """Subflows that rest."""


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
    config: EngineConfig | None = None
    """The trial, in mission time; policies that measure ask what the source needs and what a packet weighs."""
    shared: bool = False
    """Each of a route's connections holds the route's whole window, and all of them together no more."""
    totals: Totals = field(default_factory=Totals)
    _before: dict[int, Subflow] = field(default_factory=dict)
    _open: list[Subflow] = field(default_factory=list)

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
        if self.policy.observation.kind == "measured" and self.config is None:
            raise InputError(f"policy {self.policy.name} measures: it needs the trial's configuration")
        subflows = len(self.routes)
        self._decides = Deciding(self.policy, subflows=subflows, layers=self.layers, mss_bytes=self.mss_bytes)
        if self.config is not None:
            self._decides.measure(self.config)
        self._srtt_s = [0.0] * len(self.routes)
        self._beside = [0] * len(self.routes)
        self._chosen: NDArray[Any] | None = None
        self._held = 0

    def decide(
        self,
        now_s: float,
        backlog_bytes: Sequence[float],
        slack_s: Sequence[float],
        queue_bytes: Sequence[float] | None = None,
    ) -> SlotAction:
        """Act; what becomes of the layers until the next slot.

        ``now_s`` is mission time, ``backlog_bytes`` what of each layer waits, ``slack_s`` the time to the deadline of
        the oldest that does, infinite if none, ``queue_bytes`` what each route's own queue at the sender holds, None
        where that is not known. Raises :class:`~dstcc_kernel.genetlink.NetlinkError` when the control is gone.
        """
        groups = self._groups()
        contacts = [route.contact(now_s) for route in self.routes]
        self._fill(now_s, groups, contacts, queue_bytes)
        self._fill_layers(backlog_bytes, slack_s)
        choice = self._choose()
        if choice is None:
            self._act([Action(s.id, None) for group in groups for s in group])
            return SlotAction([-1] * self.layers)
        actions = self._decides.decode(choice)
        rate = self.policy.action.pacing == "rate"
        if self.shared:
            if rate:
                self._beside = [sum(s.in_flight for s in group) for group in groups]
            share_windows(self.control, groups, self._beside if rate else None)
        windows = zip(groups, actions.alpha_q16[0].tolist(), actions.beta[0].tolist(), strict=False)
        self._act(
            [
                Action(s.id, alpha, beta if self.shared else round(beta / len(group)))
                for group, alpha, beta in windows
                for s in group
            ]
        )
        return self._of_layers(actions, contacts)

    def _choose(self) -> NDArray[Any] | None:
        """The policy's choice, the one before while that holds; None for one that is no number."""
        observed = self._decides.observe()
        if self._held == 0:
            chosen = self._decides.choose(observed)
            if chosen is None:
                return None
            self._chosen = chosen
        self._held = (self._held + 1) % self.policy.action.hold
        return self._chosen

    def _of_layers(self, actions: Actions, contacts: Sequence[Contact]) -> SlotAction:
        places = actions.layer_subflow[0, : self.layers].tolist()
        if not self.policy.action.measured:
            return SlotAction([place if place < len(self.routes) else -1 for place in places])
        gap_s, repair = actions.order[0].tolist()
        dark = frozenset(row for row, contact in enumerate(contacts) if not contact.up)
        return SlotAction(places, gap_s, repair, dark)

    @property
    def local_ids(self) -> dict[int, dict[int, int]]:
        """By connection, its token, the local ids of the subflows on each route when they were last looked at, those
        that join among them: what a table has for one is there when it can send."""
        found: dict[int, dict[int, int]] = {}
        for subflow in self._open:
            for row, route in enumerate(self.routes):
                if (
                    subflow.token
                    and subflow.local_id is not None
                    and subflow.local_address in route.addresses
                ):
                    found.setdefault(subflow.token, {})[row] = subflow.local_id
        return found

    def _groups(self) -> list[list[Subflow]]:
        """TCP connections by route, as soon as they can send; what the counters rose by goes into :attr:`totals`."""
        self._open = self.control.subflows()
        there = [s for s in self._open if not s.joining]
        groups = [[s for s in there if s.local_address in route.addresses] for route in self.routes]
        for subflow in (s for group in groups for s in group):
            before = self._before.get(subflow.id)
            self.totals.clamps += subflow.clamps - (before.clamps if before else 0)
            self.totals.fallbacks += subflow.fallbacks - (before.fallbacks if before else 0)
        return groups

    def _act(self, actions: list[Action]) -> None:
        """In as few messages as they fit in; where a subflow has closed since the state was read, the others again."""
        for start in range(0, len(actions), ACTIONS_MAX):
            message = actions[start : start + ACTIONS_MAX]
            try:
                self.control.act(message)
            except NetlinkError as error:
                if error.name != "ENOENT":
                    raise
                open_now = {subflow.id for subflow in self.control.subflows()}
                left = [action for action in message if action.subflow in open_now]
                if left:
                    self.control.act(left)

    def _fill(
        self,
        now_s: float,
        groups: list[list[Subflow]],
        contacts: Sequence[Contact],
        queues: Sequence[float] | None = None,
    ) -> None:
        values = self._decides
        values.subflow_values[:] = 0
        for row, (contact, group) in enumerate(zip(contacts, groups, strict=True)):
            row_values = self._values_of(row, group) | {
                "one_way_s": contact.one_way_s,
                "link_up": contact.up,
                "change_s": contact.change_s,
            }
            if queues is not None:
                row_values["queue_bytes"] = queues[row]
            for name, value in row_values.items():
                values.subflow_values[0, row, SUBFLOW_VALUES.index(name)] = value
        values.clock(now_s, self.slot_s)
        self._before = {s.id: s for group in groups for s in group}

    def _fill_layers(self, backlog: Sequence[float], slack: Sequence[float]) -> None:
        for name, column in (("backlog_bytes", backlog), ("slack_s", slack)):
            self._decides.layer_values[0, : self.layers, LAYER_VALUES.index(name)] = column

    def _values_of(self, row: int, group: list[Subflow]) -> dict[str, float]:
        """A route's values: sums over its connections."""
        group = [s for s in group if s.srtt_us > 0]
        if not group:
            return {}
        delivered = [self._rise(s, "delivered") for s in group]
        srtt_s = self._srtt(row, group, delivered)
        least_s = min(s.min_rtt_us for s in group) * self.scale / 1e6
        in_flight, cwnd = sum(s.in_flight for s in group), sum(s.cwnd for s in group)
        pacing_bps = sum(s.pacing_rate for s in group) * 8 / self.scale
        steered = all(s.steered for s in group)
        if self.shared:
            cwnd = round(cwnd / len(group))
            pacing_bps = cwnd * (self.mss_bytes + HEADER_BYTES) * 8 / srtt_s if steered else 0.0
            cwnd += self._beside[row] if steered else 0
        return {
            "established": 1,
            "cwnd_segments": cwnd,
            "inflight_segments": in_flight,
            "srtt_s": srtt_s,
            "min_rtt_s": least_s,
            "sent_segments": sum(self._rise(s, "sent") for s in group),
            "lost_segments": sum(self._rise(s, "lost") for s in group),
            "retransmitted_segments": sum(self._rise(s, "retransmitted") for s in group),
            "delivered_bytes": sum(n * s.mss for n, s in zip(delivered, group, strict=True)),
            "queue_bytes": in_flight * max(0.0, 1 - least_s / srtt_s) * self.mss_bytes,
            "assigned_bytes": sum(s.unsent_bytes for s in group),
            "pacing_bps": pacing_bps,
            "bdp_segments": sum(s.bdp for s in group),
            "steered": steered,
        }

    def _srtt(self, row: int, group: list[Subflow], delivered: list[int]) -> float:
        """Mission time; a connection at rest keeps an old one, so those that received ACKs count."""
        weights = delivered if self.shared else [1] * len(group)
        if not any(weights):
            weights = [0 if self._srtt_s[row] else 1] * len(group)
        if any(weights):
            mean = sum(n * s.srtt_us for n, s in zip(weights, group, strict=True)) / sum(weights)
            self._srtt_s[row] = mean * self.scale / 1e6
        return self._srtt_s[row]

    def _rise(self, subflow: Subflow, counter: str) -> int:
        before = self._before.get(subflow.id)
        return int(getattr(subflow, counter) - (getattr(before, counter) if before else 0)) % WRAP


def share_windows(
    control: Steered | Sharing, groups: Sequence[Sequence[Subflow]], beside: Sequence[int] | None = None
) -> None:
    """Have each link's subflows share a window, as group 1 and so on, and what may be in flight ``beside`` it.

    Nothing happens under a control without groups. One that closes meanwhile has its link's others wait for a slot.
    """
    if not isinstance(control, Sharing):
        return
    for number, subflows in enumerate(groups, start=1):
        new = [s.id for s in subflows if s.group != number]
        extra = beside[number - 1] if beside is not None and subflows else None
        try:
            for start in range(0, len(new), ACTIONS_MAX):
                control.set_group(number, new[start : start + ACTIONS_MAX])
            if extra is not None:
                control.set_group(number, beside=extra)
        except NetlinkError as error:
            if error.name != "ENOENT":
                raise


def check_policy(policy: Controller) -> None:
    """Raise :class:`~dstcc.errors.InputError` for a policy that steers what the kernel's control has not."""
    if policy.simulator_only:
        raise InputError(f"policy {policy.name} {policy.simulator_only}")
