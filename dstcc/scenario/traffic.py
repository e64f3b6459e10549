"""Background traffic on a link: datagrams, TCP connections, and a mix of both; and its form for the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from dstcc.algorithms import CODED_ONLY, CONGESTION, OWN, TRANSFERS, rule_for
from dstcc.engine.config import NEVER_NS, SAME
from dstcc.engine.config import CrossTraffic as EngineTraffic
from dstcc.engine.config import Flow as EngineFlow
from dstcc.wire import HEADER_BYTES

from .fields import Bytes, Draw, DrawableInstant, Instant, Rate, ScenarioTable, Seconds, broken, ns

if TYPE_CHECKING:
    from .network import Way

MAX_FLOWS = 1_000
"""Most flows of one entry; each costs the memory of its window."""

DrawStart = Callable[["float | Draw", str], float]
"""A function of a value or its draw and of the stream's name; it returns the seed's value."""


_MORE_SENDERS = "subflows = 2 gives a link or path a second sender of coded packets"


def _known(name: str) -> str:
    if name in (SAME, *CONGESTION):
        return name
    if name in TRANSFERS:
        raise broken(f"'{name}': a transfer without TCP, and flows are TCP connections")
    if name in CODED_ONLY or name == OWN:
        raise broken(f"'{name}': of coded packets only, and flows are TCP connections; {_MORE_SENDERS}")
    rule = rule_for(name, "congestion") or "an extension can only be under test"
    raise broken(f'{rule}; or "{SAME}"')


_Control = Annotated[str, AfterValidator(_known)]
"""A congestion control, or ``same``: the one under test."""


def check_same(congestion: Iterable[str], ways: Sequence[Way]) -> None:
    """Raise where a flow is to have the control under test, and that is none of TCP's."""
    foreign = next((name for name in congestion if name in TRANSFERS or name in CODED_ONLY), None)
    for way in ways:
        entry = next((number for number, flow in enumerate(way.flows) if flow.congestion == SAME), None)
        if foreign is not None and entry is not None:
            hint = f"; {_MORE_SENDERS}" if foreign in CODED_ONLY else ""
            raise broken(
                f"\"{SAME}\" is '{foreign}' here, and flows are TCP connections; name a congestion control of TCP"
                f"{hint}",
                key=f"{way.key}.flows.{entry}.congestion",
            )


class _OnOff(ScenarioTable):
    """The time in which traffic is sent, and its bursts and gaps."""

    stop_s: Seconds | None = None
    """End of the traffic; never unless given."""
    on_s: Seconds | None = None
    """Length of a burst; without it the traffic is continuous."""
    off_s: Instant = 0.0
    periods: Literal["constant", "exponential", "pareto"] = "constant"
    """``constant``: bursts and gaps last ``on_s`` and ``off_s``; else these are the means of random lengths."""
    pareto_shape: Annotated[float, Field(gt=1, le=100)] | None = None
    """1.5 unless given, which has a finite mean and an infinite variance."""

    @model_validator(mode="after")
    def _periods(self) -> _OnOff:
        if self.on_s is not None and ns(self.on_s) < 1:
            raise broken(f"must be a nanosecond at least, not {self.on_s:g} s", key="on_s")
        if self.on_s is None and self.off_s:
            raise broken("needs on_s too", key="off_s")
        if self.on_s is None and self.periods != "constant":
            raise broken("needs on_s too", key="periods")
        if self.pareto_shape is not None and self.periods != "pareto":
            raise broken('needs periods = "pareto"', key="pareto_shape")
        return self

    def source(self, rate_bps: float, packet_bytes: int, start_s: float) -> EngineTraffic:
        """Packets of that size at that rate while it is on."""
        return EngineTraffic(
            rate_bps=rate_bps,
            packet_bytes=packet_bytes,
            start_ns=ns(start_s),
            stop_ns=_stop_ns(self.stop_s),
            on_ns=NEVER_NS if self.on_s is None else ns(self.on_s),
            off_ns=ns(self.off_s),
            periods=self.periods,
            pareto_shape=self.pareto_shape or 1.5,
        )


class CrossTraffic(_OnOff):
    """Background datagrams in a link's data direction, at a constant rate, with bursts and gaps."""

    rate_bps: Rate
    packet_bytes: Annotated[int, Field(ge=28, le=65_535)] = 1500
    """Size on the wire; 28 is an empty UDP datagram, 65,535 the largest."""
    start_s: Instant = 0.0

    @model_validator(mode="after")
    def _ordered(self) -> CrossTraffic:
        _check_order(self.start_s, self.stop_s)
        return self


class Flow(_OnOff):
    """``count`` background TCP connections, with data and acknowledgements in the link's two queues."""

    congestion: _Control = SAME
    """A name, or ``same``: the trial's congestion control."""
    count: Annotated[int, Field(ge=1, le=MAX_FLOWS)] = 1
    start_s: DrawableInstant = 0.0
    """Time of the handshake; each of ``count`` connections draws one."""
    bytes: Bytes | None = None
    """Payload of each connection; unlimited unless given."""
    rate_bps: Rate | None = None
    """Rate at which its application writes during a burst, in wire bits of full segments; unless given, as fast as TCP
    sends."""

    @model_validator(mode="after")
    def _fits(self) -> Flow:
        latest = self.start_s.bounds[1] if isinstance(self.start_s, Draw) else self.start_s
        _check_order(latest, self.stop_s)
        if self.rate_bps is None and self.on_s is not None:
            raise broken("needs rate_bps too: only an application pauses", key="on_s")
        return self


class Mix(_OnOff):
    """Cross traffic of TCP and UDP as PO-MPTCP's: by default four TCP sources and one UDP source, which offer a
    fifth of ``rate_bps`` each."""

    rate_bps: Rate
    """Rate on the wire that all sources together offer during a burst."""
    tcp_share: Annotated[float, Field(ge=0, le=1)] = 0.8
    tcp_flows: Annotated[int, Field(ge=1, le=MAX_FLOWS)] = 4
    udp_sources: Annotated[int, Field(ge=1, le=MAX_FLOWS)] = 1
    congestion: _Control = "newreno"
    """Congestion control of the TCP sources."""
    packet_bytes: Annotated[int, Field(ge=28, le=65_535)] = 1500
    """Size of the datagrams on the wire."""
    start_s: Instant = 0.0

    @model_validator(mode="after")
    def _ordered(self) -> Mix:
        _check_order(self.start_s, self.stop_s)
        return self


def engine_traffic(cross: tuple[CrossTraffic, ...], mix: Mix | None) -> tuple[EngineTraffic, ...]:
    """A link's sources of background datagrams."""
    sources = [item.source(item.rate_bps, item.packet_bytes, item.start_s) for item in cross]
    if mix is not None and mix.tcp_share < 1:
        each_bps = mix.rate_bps * (1 - mix.tcp_share) / mix.udp_sources
        sources += [mix.source(each_bps, mix.packet_bytes, mix.start_s)] * mix.udp_sources
    return tuple(sources)


def engine_flows(
    flows: tuple[Flow, ...], mix: Mix | None, mss_bytes: int, draw: DrawStart
) -> tuple[EngineFlow, ...]:
    """A link's background TCP connections."""
    connections: list[EngineFlow] = []
    for entry, flow in enumerate(flows):
        for number in range(flow.count):
            start_s = draw(flow.start_s, f"flows.{entry}.{number}.start_s")
            connections.append(_flow(flow, start_s, flow.rate_bps, mss_bytes, flow.bytes or 0))
    if mix is not None and mix.tcp_share > 0:
        each_bps = mix.rate_bps * mix.tcp_share / mix.tcp_flows
        connections += [_flow(mix, mix.start_s, each_bps, mss_bytes)] * mix.tcp_flows
    return tuple(connections)


def _flow(
    entry: Flow | Mix, start_s: float, rate_bps: float | None, mss_bytes: int, payload_bytes: int = 0
) -> EngineFlow:
    written = None if rate_bps is None else entry.source(rate_bps, mss_bytes + HEADER_BYTES, start_s)
    return EngineFlow(entry.congestion, ns(start_s), _stop_ns(entry.stop_s), payload_bytes, written)


def _stop_ns(stop_s: float | None) -> int:
    return NEVER_NS if stop_s is None else ns(stop_s)


def _check_order(start_s: float, stop_s: float | None) -> None:
    if stop_s is not None and stop_s <= start_s:
        raise broken(f"must be after start_s = {start_s:g}, not {stop_s:g}", key="stop_s")
