"""A link in the simulator's own terms, in emulated time, as the programs of a trial read it
(``kernel-cc/links/config.cpp``); and which links netem has not all of.

netem decides when a packet leaves the line as it joins the queue, and knows no packets but those that pass. A link that
changes its rate, that others' traffic shares, or that has a second hop, is *played*: every packet goes through a
program that has the simulator's line (``kernel-cc/links``) in the place of netem.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dstcc.engine import opening
from dstcc.engine.config import SAME
from dstcc.wire import HEADER_BYTES

from .job import NEVER_NS
from .names import CONGESTION
from .topology import craft_address, earth_address

if TYPE_CHECKING:
    from dstcc.engine.config import CrossTraffic, Link, Loss

PERIODS = ("constant", "exponential", "pareto")
"""By the numbers of the engine's ``Periods``."""
FLOW_NUMBERS = 1 << 16
"""Of a source of a flow in the engine's draws (``kFlowNumbers`` of ``engine/src/mptcp/setup.cpp``)."""


def is_played(link: Link) -> bool:
    """Whether a program of ours carries its packets."""
    changing = link.rate_t_ns or link.up_rate_t_ns or link.hidden_t_ns
    return bool(changing or link.cross_traffic or link.relay or link.flows)


def link_lines(link: Link, scale: float, *, queue_packets: int, played: bool) -> Iterator[str]:
    """The link's lines. netem's queue counts packets; a played link's counts bytes (``queue_packets`` 0), and its
    losses are in the lines, too: of a link that is netem's they are netem's."""

    def rising(times: Sequence[int]) -> list[int]:
        return _rising(times, scale)

    rate, up_rate = link.rate_bps * scale, link.up_rate_bps * scale
    yield f"link {rate!r} {up_rate!r} {link.queue_bytes} {link.up_queue_bytes} {queue_packets} {link.subflows}"
    for t, delay, slope in zip(
        rising(link.delay_t_ns), link.delay_ns, link.delay_slope or [None] * len(link.delay_ns), strict=True
    ):
        yield f".delay {t} {_at(delay, scale)}{'' if slope is None else f' {slope!r}'}"
    up_outages = link.outages_ns if link.up_outages_ns is None else link.up_outages_ns
    for key, outages in (
        ("outage", link.outages_ns),
        ("up-outage", up_outages),
        ("unannounced", link.unannounced_ns),
    ):
        yield from (f".{key} {_at(start, scale)} {_at(end, scale)}" for start, end in outages)
    for key, times, shares in (
        ("rate", link.rate_t_ns, link.rate_share),
        ("up-rate", link.up_rate_t_ns, link.up_rate_share),
        ("hidden-rate", link.hidden_t_ns, link.hidden_share),
    ):
        yield from (f".{key} {t} {share!r}" for t, share in zip(rising(times), shares, strict=True))
    if link.relay is not None:
        yield f".relay {link.relay.at!r} {link.relay.rate_bps * scale!r} {link.relay.queue_bytes}"
    for key, sources in (
        ("traffic", link.cross_traffic),
        ("relay-traffic", link.relay.cross_traffic if link.relay is not None else ()),
    ):
        yield from (f".{key} {_source(one, scale)}" for one in sources)
    if played:
        yield from _loss_lines(link.loss, "", scale)
        yield from _loss_lines(link.up_loss, "up-", scale)


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


def _loss_lines(loss: Loss, way: str, scale: float) -> Iterator[str]:
    numbers = " ".join(f"{name} {float(value)!r}" for name, value in loss.numbers().items())
    yield f".{way}loss {loss.kind} {numbers}"
    for t, rate in zip(_rising(loss.t_ns, scale), loss.rates, strict=True):
        yield f".{way}loss-row {t} {float(rate)!r}"
    if loss.frames is None:
        return
    frames = loss.frames
    curve = " ".join(repr(rate) for rate in frames.log10_fer.tolist())
    yield (
        f".{way}frames {frames.frame_bits} {round(frames.coherence_ns / scale)} {frames.curve_from_db!r} "
        f"{frames.curve_step_db!r} {curve}"
    )
    for t, ebn0, index in zip(
        _rising(frames.t_ns.tolist(), scale),
        frames.ebn0_db.tolist(),
        frames.scintillation_index.tolist(),
        strict=True,
    ):
        yield f".{way}frame-row {t} {ebn0!r} {index!r}"


def _rising(times_ns: Sequence[int], scale: float) -> list[int]:
    """In emulated time, where rows a nanosecond apart would fall together."""
    rising: list[int] = []
    for t_ns in times_ns:
        t = round(t_ns / scale)
        rising.append(max(t, rising[-1] + 1) if rising else t)
    return rising
