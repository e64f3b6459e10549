"""Routes of a network whose scenario gives no paths: contact graph routing on the plan of its links.

As in CCSDS 734.3-B-1 (SABR), for one bundle after the other::

    start   = max(there at the node, contact begins, what was booked on it before is over)
    arrives = start + bytes / rate + light          if that transmission ends within the contact
    route   = the contacts by which it arrives first (Dijkstra's algorithm); they are booked

The video's bundles are what is captured in a step of time. Each row of links that some of them take is a path.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dstcc.engine.passing import Line

from .draws import draw_lines
from .fields import MAX_TIME_S, NS_PER_S, broken
from .network import nodes_on

if TYPE_CHECKING:
    from dstcc.engine.config import Link as EngineLink

    from .model import Scenario

STEPS = 200
"""Bundles that a video is cut into."""
MOST_ROUTES = 64


@dataclass
class Contact:
    """A time in which a link is up at one rate; what was booked on it grows."""

    link: str
    tail: str
    head: str
    from_s: float
    to_s: float
    rate_bps: float
    light_s: float
    booked_until_s: float = 0.0

    def __post_init__(self) -> None:
        """Nothing is booked before it begins."""
        self.booked_until_s = max(self.booked_until_s, self.from_s)

    def sends(self, there_s: float, bytes_: float) -> tuple[float, float] | None:
        """When a bundle that is there at that time leaves and arrives; ``None`` if it does not fit any more."""
        start = max(there_s, self.booked_until_s)
        over = start + 8 * bytes_ / self.rate_bps
        return (over, over + self.light_s) if over <= self.to_s else None


def route(
    contacts: Sequence[Contact], source: str, sink: str, there_s: float, bytes_: float
) -> tuple[float, tuple[Contact, ...]] | None:
    """The contacts by which a bundle arrives first, and when; ``None`` if it cannot. Nothing is booked."""
    leaving: dict[str, list[Contact]] = {}
    for contact in contacts:
        leaving.setdefault(contact.tail, []).append(contact)
    best: dict[str, float] = {source: there_s}
    by: dict[str, Contact] = {}
    queue, done = [(there_s, source)], set()
    while queue:
        at, node = heapq.heappop(queue)
        if node in done:
            continue
        done.add(node)
        if node == sink:
            break
        for contact in leaving.get(node, ()):
            sent = contact.sends(at, bytes_)
            if sent is not None and sent[1] < best.get(contact.head, float("inf")):
                best[contact.head], by[contact.head] = sent[1], contact
                heapq.heappush(queue, (sent[1], contact.head))
    if sink not in done:
        return None
    row, node = [], sink
    while node != source:
        row.append(by[node])
        node = by[node].tail
    return best[sink], tuple(reversed(row))


def book(row: Iterable[Contact], there_s: float, bytes_: float) -> None:
    """Take the time of a bundle's transmissions out of its contacts."""
    for contact in row:
        sent = contact.sends(there_s, bytes_)
        assert sent is not None  # route() found it so
        contact.booked_until_s, there_s = sent


def contacts_of(scenario: Scenario, lines: Sequence[EngineLink], until_s: float) -> Iterator[Contact]:
    """The contacts of a seed's links within the run, in pieces of one rate; the light time is that of their start."""
    for link, drawn in zip(scenario.link, lines, strict=True):
        line = Line(link.name, 0, 1, drawn)
        t_ns, bps = line.rate
        ends = [*t_ns[1:].tolist(), round(until_s * NS_PER_S)]
        light = (line.arrival(t_ns) - t_ns).tolist()
        for at, rate, end, light_ns in zip(t_ns.tolist(), bps.tolist(), ends, light, strict=True):
            begin, over = at / NS_PER_S, min(end / NS_PER_S, until_s)
            if rate > 0 and begin < over:
                yield Contact(
                    link.name, str(link.from_), str(link.to), begin, over, rate, light_ns / NS_PER_S
                )


def found_paths(scenario: Scenario) -> list[dict[str, Any]]:
    """``[[path]]`` tables: the routes of the video's bundles under the first seed, those that most take first."""
    until_s = scenario.scenario.duration_s or MAX_TIME_S
    source, *_, sink = nodes_on(scenario, scenario.ways[0])
    contacts = list(contacts_of(scenario, draw_lines(scenario, scenario.run.seed), until_s))
    length_s = min(scenario.video.loop_to_s or until_s, until_s)
    made = scenario.video.synthetic
    most_bps = max(link.rate_bps for link in draw_lines(scenario, scenario.run.seed))
    rate_bps = sum(made.layer_bps) if made else most_bps / 2
    bundle = rate_bps * length_s / STEPS / 8
    taken: dict[tuple[str, ...], int] = {}
    for number in range(STEPS):
        stored = scenario.video.source == "stored"
        there_s = 0.0 if stored else length_s * (number + 1) / STEPS
        found = route(contacts, source, sink, there_s, bundle)
        if found is None:
            break  # nor does any that is there later
        book(found[1], there_s, bundle)
        via = tuple(contact.link for contact in found[1])
        taken[via] = taken.get(via, 0) + 1
    if not taken:
        raise broken("missing, and no route is found: nothing that the video has can arrive", key="path")
    most_first = sorted(taken, key=lambda via: -taken[via])
    return [{"via": list(via)} for via in most_first[:MOST_ROUTES]]


def needs_routes(document: dict[str, Any]) -> bool:
    """Whether it is a network whose document gives no path; one whose links do not join its nodes is refused as any."""
    nodes, links = document.get("node"), document.get("link")
    if "path" in document or not all(isinstance(one, (list, tuple)) and one for one in (nodes, links)):
        return False
    names = [node.get("name") for node in nodes or () if isinstance(node, dict)]
    ends = [link.get(end) for link in links or () if isinstance(link, dict) for end in ("from", "to")]
    return all(isinstance(end, str) and end in names for end in ends)


def simple_rows(document: dict[str, Any]) -> list[list[str]]:
    """Some rows of links from the one node that no link leads to, to the one that no link leaves."""
    links = [link for link in document["link"] if isinstance(link, dict)]
    names = [str(node.get("name")) for node in document["node"] if isinstance(node, dict)]
    heads, tails = {str(link.get("to")) for link in links}, {str(link.get("from")) for link in links}
    first, last = [n for n in names if n not in heads], [n for n in names if n not in tails]
    if len(first) != 1 or len(last) != 1:
        raise broken(
            "missing: routes are found from the one node that no link leads to, to the one that no link leaves; here "
            f"these are {', '.join(first) or 'none'} and {', '.join(last) or 'none'}: give each subflow's links, "
            "[[path]] via = [..]",
            key="path",
        )
    source, sink = first[0], last[0]
    rows: list[list[str]] = []

    def go(node: str, row: list[str], seen: tuple[str, ...]) -> None:
        if len(rows) >= MOST_ROUTES:
            return
        if node == sink:
            rows.append(row)
            return
        for link in links:
            if str(link.get("from")) == node and str(link.get("to")) not in seen:
                go(str(link.get("to")), [*row, str(link.get("name"))], (*seen, str(link.get("to"))))

    go(source, [], (source,))
    if not rows:
        raise broken(f"missing, and no links lead from '{source}' to '{sink}'", key="path")
    return rows
