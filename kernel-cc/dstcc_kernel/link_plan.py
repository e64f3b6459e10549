"""A link in the simulator's own terms, in emulated time, as the programs of a trial read it
(``kernel-cc/links/lines.hpp``); and which links netem has not all of.

netem decides when a packet leaves the line as it joins the queue, and knows no packets but those that pass. A link that
changes its rate, that others' traffic shares, or that leads to a node, is *played*: every packet goes through a
program that has the simulator's line (``kernel-cc/links``) in the place of netem.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace

from dstcc.engine import opening
from dstcc.engine.config import SAME, Link, Loss, emulated, named_values

from .job import NEVER_NS
from .names import CONGESTION
from .topology import craft_address, earth_address

OF_NETEM = frozenset(
    {
        *("name", "first_name", "subflows"),
        *("rate_bps", "up_rate_bps", "queue_bytes", "up_queue_bytes", "queue_packets"),
        *("delay_t_ns", "delay_ns", "delay_slope", "loss", "up_loss", "drops"),
        *("outages_ns", "up_outages_ns", "unannounced_ns"),
    }
)
"""Fields of a link that netem has, or nobody on a kernel; any other has its link played, without a line of ours."""


OF_PEOPLE = ("name", "first_name", "code")
"""Words of a link for people: no program reads them."""


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
    yield from (f".{name} {words}" for name, words in named_values(seen, without=(*OF_PEOPLE, "flows")))


def flow_lines(links: Sequence[Link], congestion: str, scale: float) -> Iterator[str]:
    """Others' connections of all links for their program (``kernel-cc/flows``), if there are any; those of the trial's
    own control have the kernel's name ``congestion``."""
    for link in links if any(link.flows for link in links) else ():
        yield "link"
        seen = replace(emulated(link, scale), loss=Loss(), up_loss=Loss())
        yield from (f".{name} {words}" for name, words in named_values(seen, without=OF_PEOPLE))
    for index, link in enumerate(links):
        for number, flow in enumerate(link.flows):
            name = congestion if flow.congestion == SAME else CONGESTION[flow.congestion]
            opens = opening(link, flow.start_ns)
            opens = opens if opens == NEVER_NS else round(opens / scale)
            yield f"flow {index} {number} {craft_address(index)} {earth_address(index)} {name} {opens}"
