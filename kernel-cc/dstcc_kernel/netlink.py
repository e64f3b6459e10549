"""The module's generic netlink family ``dstcc``, typed: state of subflows, actions, parameters, reports.

``kernel-cc/module/dstcc.yaml`` describes the family; numbers here, from 1 on in their order, are its. Windows are in
segments, times in microseconds, rates in bytes a second. A client belongs to the network namespace it was opened in and
sees that one's subflows only.
"""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from enum import IntEnum, IntFlag
from functools import lru_cache

from dstcc.errors import MissingCapabilityError

from .genetlink import Closing, Family, Message, NetlinkError, attribute, attributes, nest, u32

FAMILY, VERSION, GROUP = "dstcc", 1, "slots"
ONE_Q16 = 1 << 16
ACTIONS_MAX = 64
"""Of one message."""
Command = IntEnum(
    "Command",
    "SUBFLOW_GET ACT PARAMETERS_GET PARAMETERS_SET LIMITS_SET REPORT TABLE_SET ANNOUNCE LAYERS_GET "
    "GROUP_SET GROUP_GET",
)
"""Commands of the family."""


class Flags(IntFlag):
    """``flags`` of a subflow."""

    STEERED = 1
    """The agent's window holds; without it Reno's."""
    MPTCP = 2
    BACKUP = 4
    JOINING = 8
    """It joins a connection and can carry no data yet; unset where the module was built without the kernel's source."""


State = IntEnum(
    "State",
    "ID TOKEN LOCAL_ID REMOTE_ID LOCAL_ADDRESS REMOTE_ADDRESS LOCAL_PORT REMOTE_PORT FLAGS CA_STATE MSS "
    "CWND SSTHRESH IN_FLIGHT SRTT_US MIN_RTT_US SENT DELIVERED LOST RETRANSMITTED ACKED_BYTES "
    "UNSENT_BYTES DELIVERY_RATE PACING_RATE BDP ACTIONS CLAMPS FALLBACKS PAD TCP_STATE GROUP",
)
"""Attributes of a subflow's state."""
Act = IntEnum("Act", "ACTION APPLIED")
"""Attributes of an act message."""
ActionPart = IntEnum("ActionPart", "SUBFLOW TOKEN ALPHA BETA FALL_BACK")
"""Attributes of one action."""
Parameter = IntEnum("Parameter", "SLOT_US SILENCE_SLOTS HEADROOM REPORTS CWND_MAX")
"""Attributes of parameters and limits."""
ReportPart = IntEnum("ReportPart", "SLOT TIME_US MORE SUBFLOW PAD")
"""Attributes of a report."""
GroupPart = IntEnum("GroupPart", "ID SUBFLOW BESIDE JOINED WINDOW IN_FLIGHT MEMBERS WAITING UNSENT_BYTES PAD")
"""Attributes of a group."""


@dataclass(frozen=True)
class Subflow:
    """A subflow's state at one instant. Counters run since the connection began, modulo 2^32 but for the bytes."""

    id: int
    """The module's number for it; never given twice until 2^32 are used up."""
    local_address: str
    remote_address: str
    local_port: int
    remote_port: int
    flags: Flags
    ca_state: int
    """TCP's: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss."""
    tcp_state: int
    """TCP's, as the kernel counts them: 1 established, 4 and 5 closing after our end did, 8 after theirs."""
    mss: int
    cwnd: int
    ssthresh: int
    in_flight: int
    srtt_us: int
    """0 before the first sample, as the next."""
    min_rtt_us: int
    sent: int
    """Segments with data, repeats included."""
    delivered: int
    """Segments acknowledged, selectively or not."""
    lost: int
    """Segments marked lost."""
    retransmitted: int
    acked_bytes: int
    unsent_bytes: int
    """In its queue and never sent."""
    delivery_rate: int
    """Bytes a second; the latest sample that the application did not limit, or a larger one."""
    pacing_rate: int
    """Bytes a second, 0 for none."""
    bdp: int
    """Segments, measured for the window's cap; 0 unknown."""
    actions: int
    clamps: int
    """Actions that asked for a window out of bounds."""
    fallbacks: int
    """Times Reno took the window."""
    token: int | None = None
    """Its MPTCP connection's, 0 once that is closed; None where it is plain TCP, or where the module was built without
    the kernel's source."""
    local_id: int | None = None
    remote_id: int | None = None
    group: int = 0
    """That it shares a window with, 0 for none; ``cwnd`` is its own window then."""

    @property
    def steered(self) -> bool:
        """Whether the agent's window holds."""
        return Flags.STEERED in self.flags

    @property
    def joining(self) -> bool:
        """Whether it joins a connection and can carry no data yet."""
        return Flags.JOINING in self.flags


@dataclass(frozen=True)
class Action:
    """For one subflow: W ← α·W + β, or its window back to Reno."""

    subflow: int
    """Its ``id``."""
    alpha_q16: int | None
    """α × 65,536, at most 64 × 65,536; None: Reno takes the window until the next action."""
    beta: int = 0
    """Segments; α = 0 sets the window outright."""
    token: int | None = None
    """If given, the connection that the subflow must be of."""

    def encode(self) -> bytes:
        """As it stands in a message."""
        parts = [u32(ActionPart.SUBFLOW, self.subflow)]
        if self.token is not None:
            parts.append(u32(ActionPart.TOKEN, self.token))
        if self.alpha_q16 is None:
            parts.append(attribute(ActionPart.FALL_BACK, b""))
        else:
            parts.append(u32(ActionPart.ALPHA, self.alpha_q16))
            parts.append(attribute(ActionPart.BETA, struct.pack("=i", self.beta)))
        return nest(Act.ACTION, *parts)


@dataclass(frozen=True)
class Group:
    """Subflows that share a window: ``in_flight`` stays below ``window`` and ``beside`` together."""

    id: int
    beside: int
    """Segments that may be in flight beside the window."""
    window: int
    """Segments: the mean of the windows of the members that are steered, or of all where none is."""
    in_flight: int
    members: int
    waiting: int
    """Members that would send more if there were room."""
    unsent_bytes: int
    """In the members' queues and never sent."""


@dataclass(frozen=True)
class Parameters:
    """What an agent may set for its network namespace, and the module's limit."""

    slot_us: int
    """Length of a slot, at least 1,000."""
    silence_slots: int
    """Without an action for so many slots Reno takes over; 1 to 1,000."""
    headroom: int
    """Windows stay below so many measured bandwidth-delay products; 0 lifts that; at most 1,024. 0 and more than 4
    need CAP_NET_ADMIN of the machine."""
    reports: bool
    """A report is sent each slot; that ends by itself with the last listener."""
    cwnd_max: int
    """Segments; in all namespaces, whatever agents ask for."""


@dataclass(frozen=True)
class Report:
    """The state of all subflows at a slot's end."""

    slot: int
    time_us: int
    """The kernel's monotonic clock."""
    subflows: tuple[Subflow, ...]


class Client(Closing):
    """A connection to the module; use as a context manager.

    Methods raise :class:`~dstcc_kernel.genetlink.NetlinkError` for what the kernel refuses: ``EINVAL`` and ``ERANGE``
    for a value, ``ENOENT`` for a subflow that is not there or of another connection, ``EPERM`` without CAP_NET_ADMIN,
    ``E2BIG`` for more actions than fit.
    """

    def __init__(self) -> None:
        """Raise :class:`~dstcc.errors.MissingCapabilityError` where the module is not loaded."""
        try:
            self.family = Family(FAMILY, VERSION)
        except NetlinkError as error:
            if error.name != "ENOENT":
                raise
            raise MissingCapabilityError(
                "the kernel has no congestion control dstcc: `dstcc kernel load` loads it"
            ) from None

    def close(self) -> None:
        """Close the socket."""
        self.family.close()

    def subflows(self) -> list[Subflow]:
        """Every subflow under ``dstcc``, the oldest first."""
        return [parse_subflow(m.payload) for m in self.family.request(Command.SUBFLOW_GET, dump=True)]

    def act(self, actions: Iterable[Action]) -> int:
        """Act on several subflows, at most :data:`ACTIONS_MAX`, each at most once; how many were still there.

        A message that is refused changes nothing.
        """
        answer = self.family.request(Command.ACT, b"".join(action.encode() for action in actions))
        return _number(dict(attributes(answer[0].payload))[Act.APPLIED])

    def set_group(self, group: int, subflows: Sequence[int] = (), beside: int | None = None) -> int:
        """Have subflows, by their ids and at most :data:`ACTIONS_MAX`, join a group; 0 takes them out of theirs.

        ``beside`` sets what the group may have in flight beside its window. How many of the subflows are in it now: one
        that somebody holds is not. A group that nobody is in has no state: ``ENOENT``.
        """
        parts = [u32(GroupPart.ID, group), *(u32(GroupPart.SUBFLOW, subflow) for subflow in subflows)]
        if beside is not None:
            parts.append(u32(GroupPart.BESIDE, beside))
        answer = self.family.request(Command.GROUP_SET, b"".join(parts))
        return _number(dict(attributes(answer[0].payload))[GroupPart.JOINED])

    def group(self, group: int) -> Group:
        """A group's state; ``ENOENT`` once its last member left."""
        answer = self.family.request(Command.GROUP_GET, u32(GroupPart.ID, group))
        raw = dict(attributes(answer[0].payload))
        return Group(**{field.name: _number(raw[GroupPart[field.name.upper()]]) for field in fields(Group)})

    def parameters(self) -> Parameters:
        """What holds now."""
        values = dict(attributes(self.family.request(Command.PARAMETERS_GET)[0].payload))
        return Parameters(
            slot_us=_number(values[Parameter.SLOT_US]),
            silence_slots=_number(values[Parameter.SILENCE_SLOTS]),
            headroom=_number(values[Parameter.HEADROOM]),
            reports=bool(_number(values[Parameter.REPORTS])),
            cwnd_max=_number(values[Parameter.CWND_MAX]),
        )

    def set_parameters(
        self,
        *,
        slot_us: int | None = None,
        silence_slots: int | None = None,
        headroom: int | None = None,
        reports: bool | None = None,
    ) -> None:
        """Set what is given; see :class:`Parameters`. Silence and headroom hold from the next action on."""
        values = (
            (Parameter.SLOT_US, slot_us),
            (Parameter.SILENCE_SLOTS, silence_slots),
            (Parameter.HEADROOM, headroom),
        )
        parts = [u32(kind, value) for kind, value in values if value is not None]
        if reports is not None:
            parts.append(attribute(Parameter.REPORTS, bytes([reports])))
        self.family.request(Command.PARAMETERS_SET, b"".join(parts))

    def set_cwnd_max(self, segments: int) -> None:
        """Bound windows in all namespaces, 2 to 2^28; needs CAP_NET_ADMIN of the machine."""
        self.family.request(Command.LIMITS_SET, u32(Parameter.CWND_MAX, segments))

    def listen(self) -> None:
        """Have reports sent to :meth:`report`; then set ``reports``."""
        self.family.join(GROUP)

    def report(self, timeout_s: float) -> Report | None:
        """The next report, or None if none begins in time.

        Raises NetlinkError named ``ENOBUFS`` once where reports were lost.
        """
        subflows: list[Subflow] = []
        slot = None
        while (message := self.family.event(timeout_s)) is not None:
            report, more = parse_report(message)
            if report.slot != slot:  # the rest of the one before was lost
                subflows, slot = [], report.slot
            subflows += report.subflows
            if not more:
                return Report(report.slot, report.time_us, tuple(subflows))
        return None


def parse_subflow(payload: bytes) -> Subflow:
    """A subflow's state from its attributes."""
    raw = dict(attributes(payload))

    def maybe(kind: State) -> int | None:
        return _number(raw[kind]) if kind in raw else None

    values = {name: _number(raw[kind]) for kind, name in _FIELDS}
    return Subflow(
        **values,
        flags=Flags(_number(raw[State.FLAGS])),
        local_address=address(raw[State.LOCAL_ADDRESS]),
        remote_address=address(raw[State.REMOTE_ADDRESS]),
        token=maybe(State.TOKEN),
        local_id=maybe(State.LOCAL_ID),
        remote_id=maybe(State.REMOTE_ID),
    )


_SPECIAL = {
    *(State.TOKEN, State.LOCAL_ID, State.REMOTE_ID, State.LOCAL_ADDRESS, State.REMOTE_ADDRESS),
    *(State.FLAGS, State.PAD),
}
_REQUIRED = tuple(kind for kind in State if kind not in _SPECIAL)
_FIELDS = tuple((int(kind), kind.name.lower()) for kind in _REQUIRED)


def parse_report(message: Message) -> tuple[Report, bool]:
    """One message of a report, and whether more of the same slot follow."""
    parts = list(attributes(message.payload))
    raw = dict(parts)
    subflows = tuple(parse_subflow(value) for kind, value in parts if kind == ReportPart.SUBFLOW)
    report = Report(_number(raw[ReportPart.SLOT]), _number(raw[ReportPart.TIME_US]), subflows)
    return report, bool(_number(raw[ReportPart.MORE]))


def _number(value: bytes) -> int:
    return int.from_bytes(value, "little")


@lru_cache(maxsize=1024)
def address(value: bytes) -> str:
    """The words for an address of 4 or 16 bytes; one that maps IPv4 is shown as that."""
    address_ = ipaddress.ip_address(value)
    mapped = address_.ipv4_mapped if isinstance(address_, ipaddress.IPv6Address) else None
    return str(mapped or address_)
