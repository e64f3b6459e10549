"""A link in the simulator's own terms, in emulated time, as the programs of a trial read it
(``kernel-cc/links/lines.hpp``); and which links netem has not all of.

netem decides when a packet leaves the line as it joins the queue, and knows no packets but those that pass. A link that
changes its rate, that others' traffic shares, or that has a second hop, is *played*: every packet goes through a
program that has the simulator's line (``kernel-cc/links``) in the place of netem.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from dstcc.engine import opening
from dstcc.engine.config import SAME, Link, Loss, emulated, named_values
from dstcc.wire import HEADER_BYTES

from .job import NEVER_NS
from .names import CONGESTION
from .topology import craft_address, earth_address

if TYPE_CHECKING:
    from dstcc.engine.config import CrossTraffic

OF_NETEM = frozenset(
    {
        *("name", "subflows", "rate_bps", "up_rate_bps", "queue_bytes", "up_queue_bytes", "queue_packets"),
        *("delay_t_ns", "delay_ns", "delay_slope", "loss", "up_loss", "drops"),
        *("outages_ns", "up_outages_ns", "unannounced_ns"),
    }
)
"""Fields of a link that netem has, or nobody on a kernel; any other has its link played, without a line of ours."""
PERIODS = ("constant", "exponential", "pareto")
"""By the numbers of the engine's ``Periods``."""
FLOW_NUMBERS = 1 << 16
"""Of a source of a flow in the engine's draws (``kFlowNumbers`` of ``engine/src/mptcp/setup.cpp``)."""


def is_played(link: Link) -> bool:
    """Whether a program of ours carries its packets: it has what netem has not."""
    return any(getattr(link, one.name) != one.default for one in fields(Link) if one.name not in OF_NETEM)


def link_lines(link: Link, scale: float, *, queue_packets: int, played: bool) -> Iterator[str]:
    """The link's lines. netem's queue counts packets; a played link's counts bytes (``queue_packets`` 0), and its
    losses are in the lines, too: of a link that is netem's they are netem's."""
    seen = replace(emulated(link, scale), queue_packets=queue_packets)
    if not played:
        seen = replace(seen, loss=Loss(), up_loss=Loss())
    yield "link"
    yield from (f".{name} {words}" for name, words in named_values(seen, without=("name", "flows")))


def flow_lines(
    links: Sequence[Link], congestion: str, mss_bytes: int, seed: int, scale: float
) -> Iterator[str]:
    """Others' connections of all links for their program (``kernel-cc/flows``); those of the trial's own control have
    the kernel's name ``congestion``."""
    for index, link in enumerate(links):
        for number, flow in enumerate(link.flows):
            name = congestion if flow.congestion == SAME else CONGESTION[flow.congestion]
            yield (
                f"flow {craft_address(index)} {earth_address(index)} {name} {_at(opening(link, flow.start_ns), scale)} "
                f"{_at(flow.stop_ns, scale)} {flow.payload_bytes} {mss_bytes}"
            )
            if flow.source is not None:
                payload = max(flow.source.packet_bytes - HEADER_BYTES, 1)
                yield f"source {seed} {index} {FLOW_NUMBERS + number} {payload} {_source(flow.source, scale)}"


def _at(t_ns: int, scale: float) -> int:
    return NEVER_NS if t_ns >= NEVER_NS else round(t_ns / scale)


def _source(one: CrossTraffic, scale: float) -> str:
    times = " ".join(str(_at(t, scale)) for t in (one.start_ns, one.stop_ns, one.on_ns, one.off_ns))
    periods = PERIODS.index(one.periods)
    return f"{one.rate_bps * scale!r} {one.packet_bytes} {times} {periods} {one.pareto_shape!r}"
