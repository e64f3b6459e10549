"""What a dry run says of a network: nodes, links with their contacts, paths, and what can pass at most."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dstcc.engine import EngineConfig
from dstcc.engine.config import Link
from dstcc.engine.passing import NEVER_NS, Line, Passage, contacts_s, lines_of, network_of, passage
from dstcc.frozen import dataclass
from dstcc.scenario import Scenario, Source, describe, draw_trial, engine_config
from dstcc.scenario.network import nodes_on

from .trials import scenarios_of, trial_keys

NS_PER_S = 1e9


@dataclass(frozen=True)
class PlannedPath:
    """The way of a subflow, or of several."""

    name: str
    via: tuple[str, ...]
    nodes: tuple[str, ...]
    light_s: float
    """The least light time of the whole."""
    least_s: float | None
    """The least that a packet takes to Earth, whenever it is ready, waits for contacts included; ``None``: nothing
    arrives within the run."""
    longest_s: float | None
    """The longest of those that arrive within the run."""
    subflows: int


@dataclass(frozen=True)
class PlannedNetwork:
    """As the first seed draws it."""

    nodes: tuple[dict[str, Any], ...]
    """The keys of each."""
    hops: tuple[dict[str, Any], ...]
    """Of each link the record of :func:`~dstcc.scenario.describe`, ``from``, ``to``, and ``contacts``: when it is up
    within the run, as ``[[from_s, to_s], ..]``."""
    paths: tuple[PlannedPath, ...]
    most_bytes: float
    """Payload that can be on Earth by the run's end, whoever sends: a maximum flow over time, without losses."""
    notes: tuple[str, ...]
    """Paths on which nothing arrives, and links that are on no path."""


def planned_network(scenario: Scenario, source: Source) -> PlannedNetwork | None:
    """Of the first seed; ``None`` without nodes."""
    if not scenario.node:
        return None
    config, setup = _drawn(scenario, source)
    lines, _ = lines_of(config)
    until_ns = config.duration_ns
    took = _passages(config)
    mss, header = config.transport.mss_bytes, config.transport.header_bytes
    wire = network_of(config).most_bytes([until_ns])[0]
    by_name = {line.name: line for line in lines}
    ends_s = until_ns / NS_PER_S
    return PlannedNetwork(
        nodes=tuple(node.model_dump() for node in scenario.node),
        hops=tuple(
            {
                **describe(by_name[link.name].link, ends_s),
                "from": link.from_,
                "to": link.to,
                "contacts": [list(contact) for contact in contacts_s(by_name[link.name], until_ns)],
            }
            for link in scenario.link
            if link.name in by_name
        ),
        paths=tuple(
            PlannedPath(
                name=way.name,
                via=tuple(scenario.link[i].name for i in way.links),
                nodes=nodes_on(scenario, way),
                light_s=min(link.delay_ns) / NS_PER_S,
                least_s=_seconds(one.least_ns),
                longest_s=_seconds(one.longest_ns),
                subflows=way.subflows,
            )
            for way, link, (_, one) in zip(scenario.ways, setup, took, strict=True)
        ),
        most_bytes=wire * mss / (mss + header),
        notes=tuple(_notes(scenario, config, took)),
    )


def notes_on_network(scenario: Scenario, source: Source) -> tuple[str, ...]:
    """What a reader of a run must know of its network, under the first seed."""
    if not scenario.node:
        return ()
    config, _ = _drawn(scenario, source)
    return tuple(_notes(scenario, config, _passages(config)))


def _passages(config: EngineConfig) -> list[tuple[list[Line], Passage]]:
    """Of each path its links, and what a packet takes on them."""
    lines, rows = lines_of(config)
    paths = [[lines[i] for i in row] for row in rows]
    return [(path, passage(path, config.duration_ns)) for path in paths]


def _notes(
    scenario: Scenario, config: EngineConfig, passages: list[tuple[list[Line], Passage]]
) -> Iterator[str]:
    """Each path on which nothing arrives, with the reason; that there is no other; links on no path."""
    stuck = 0
    for way, (path, found) in zip(scenario.ways, passages, strict=True):
        if found.least_ns == NEVER_NS:
            stuck += 1
            yield f"path {way.name}: nothing arrives within the run: {_why(path, found, config.duration_ns)}"
            continue
        back = [_back(line) for line in reversed(path)]
        answer = passage(back, config.duration_ns)
        if answer.least_ns == NEVER_NS:
            yield (
                f"path {way.name}: no answer comes back within the run: {_why(back, answer, config.duration_ns)}, on "
                "the way back"
            )
    if stuck == len(passages):
        yield "nothing can arrive: no path has contacts one after the other"
    else:
        yield from _too_little(config, passages)
    yield from _unused(scenario)


def _back(line: Line) -> Line:
    """The acknowledgements' direction."""
    link = line.link
    up = replace(
        link,
        rate_bps=link.up_rate_bps,
        rate_t_ns=link.up_rate_t_ns,
        rate_share=link.up_rate_share,
        hidden_t_ns=(),
        hidden_share=(),
        outages_ns=link.back_outages_ns,
    )
    return Line(line.name, line.head, line.tail, up)


def _too_little(config: EngineConfig, passages: list[tuple[list[Line], Passage]]) -> Iterator[str]:
    """Where all paths together carry less than the smallest layer."""
    if not len(config.objects.payload_bytes):
        return
    run = np.array([0]), np.array([config.duration_ns])
    most = sum(min(float(line.carried_bits(*run)[0]) for line in path) / 8 for path, _ in passages)
    smallest = int(config.objects.payload_bytes.min())
    if most < smallest:
        yield (
            f"no layer can arrive whole: all paths carry {most:,.0f} bytes within the run, the smallest layer has "
            f"{smallest:,}"
        )


def _why(lines: list[Line], found: Passage, until_ns: int) -> str:
    line = lines[found.stuck]
    contacts = contacts_s(line, until_ns)
    if not contacts:
        return f"link {line.name} is never up"
    if found.stuck == 0:
        return f"what link {line.name} takes is not there before the end, {until_ns / NS_PER_S:,.6g} s"
    return (
        f"link {line.name} has its last contact until {contacts[-1][1]:,.6g} s, and what comes to it over "
        f"{lines[found.stuck - 1].name} comes later, or arrives after the end"
    )


def _unused(scenario: Scenario) -> Iterator[str]:
    used = {i for way in scenario.ways for i in way.links}
    for number, link in enumerate(scenario.link):
        if number not in used:
            yield f"link {link.name}: on no path; nothing goes over it"


def _drawn(scenario: Scenario, source: Source) -> tuple[EngineConfig, tuple[Link, ...]]:
    key = trial_keys(scenario)[0]
    one = scenarios_of(scenario)[key.setting]
    setup = draw_trial(one, source, scenario.run.seed)
    return engine_config(one, setup, key.congestion, key.scheduler), setup.links


def _seconds(time_ns: int) -> float | None:
    return None if time_ns == NEVER_NS else time_ns / NS_PER_S
