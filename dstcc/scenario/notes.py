"""What is said of a scenario before it is run, under its first seed: of coded packets, of slots, of what never is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dstcc.algorithms import OWN
from dstcc.engine.config import Link
from dstcc.wire import HEADER_BYTES

from .build import MAX_SLOTS, TrialSetup, draw_trial
from .coding import CODED, Coding, block_ns, codes_ltp
from .fields import NS_PER_S, ns
from .model import Scenario
from .video import Source


def notes_on(scenario: Scenario, source: Source) -> tuple[str, ...]:
    """All of them."""
    return (*notes_on_coding(scenario, source), *notes_on_slots(scenario, source), *notes_on_never(scenario))


def notes_on_coding(scenario: Scenario, source: Source) -> tuple[str, ...]:
    """Warnings of a scenario and its variants, under the first seed: shares of repair that the links cannot carry, and
    chunks that their blocks come too late for."""
    varied = [(f"{name}: ", one) for name, one in scenario.varied().items()]
    notes: list[str] = []
    for whose, one in [("", scenario), *varied]:
        if one.transport.mode != CODED and not codes_ltp(one):
            continue
        setup, coding = draw_trial(one, source, one.run.seed), one.coding or Coding()
        said = (_overload(coding, setup), _first_chunks(one, coding, setup))
        notes += [f"{whose}{note}" for note in said if note is not None]
    return tuple(notes)


def notes_on_slots(scenario: Scenario, source: Source) -> tuple[str, ...]:
    """A warning where ``run.slot_s`` is shorter than slots can be in a run so long."""
    given = scenario.run.slot_s
    if given is None:
        return ()
    slot_s = draw_trial(scenario, source, scenario.run.seed).slot_ns / NS_PER_S
    if slot_s <= given + 1 / NS_PER_S:
        return ()
    return (f"run.slot_s: {given:g} s would make more than {MAX_SLOTS:,} slots; they have {slot_s:g} s",)


def notes_on_never(scenario: Scenario) -> tuple[str, ...]:
    """Warnings of links that are never up in the run, and of restarts after it."""
    length_s = scenario.scenario.duration_s
    if length_s is None:
        return ()
    notes = [
        f"link {link.name}: {key} cover the whole run of {length_s:g} s"
        for link in scenario.link
        for key in ("outages", "up_outages", "unannounced_outages")
        if _cover(getattr(link, key) or (), length_s)
    ]
    nodes = [(f"node {node.name}", node.restart) for node in scenario.node]
    for owner, restart in (("transport", scenario.transport.restart), *nodes):
        times = restart.at_s if restart is not None else ()
        late = sum(at >= length_s for at in times)
        if late:
            notes.append(
                f"{owner}: restart.at_s: {late} of {len(times)} times come after the run of {length_s:g} s"
            )
    return tuple(notes)


def _cover(windows: Sequence[tuple[float, float]], length_s: float) -> bool:
    until = 0.0
    for start, stop in windows:
        if start > until:
            break
        until = stop
    return until >= length_s


def _overload(coding: Coding, setup: TrialSetup) -> str | None:
    if coding.shares is None:
        return None
    objects = setup.objects
    packets = objects.packets(setup.mss_bytes)
    wire = (objects.payload_bytes + packets * HEADER_BYTES).astype(np.float64)
    shares = np.array([*coding.shares, *([0.0] * objects.layers)])[objects.layer]
    seconds = float(setup.chunk_ns.sum()) / NS_PER_S
    source_bps = 8 * float(wire.sum()) / seconds
    repair_bps = 8 * float((packets * shares).sum()) * (setup.mss_bytes + HEADER_BYTES) / seconds
    links_bps = sum(link.capacity_bits(0, ns(setup.length_s)) for link in setup.links) / setup.length_s
    if source_bps + repair_bps <= links_bps:
        return None
    return (
        f"coding.repair: {source_bps / 1e3:,.1f} kbit/s of source and {repair_bps / 1e3:,.1f} kbit/s of repair packets "
        f"are {(source_bps + repair_bps) / links_bps:.1%} of the links' {links_bps / 1e3:,.1f} kbit/s: the highest "
        "layers give way"
    )


def _first_chunks(scenario: Scenario, coding: Coding, setup: TrialSetup) -> str | None:
    if scenario.playout.mode != "deadline":
        return None
    light_s = min(_light_s(link) for link in setup.links)
    delay_s = setup.playout_delay_ns / NS_PER_S
    spare_s = delay_s - light_s
    if spare_s < 0:
        key = "delay_s" if scenario.playout.delay_rtts is None else "delay_rtts"
        return (
            f"playout.{key}: the playout delay is {delay_s:,.1f} s and light takes {light_s:,.1f} s: what leaves when "
            "it is captured comes too late"
        )
    block_s = block_ns(coding, setup, next(iter(scenario.transport.congestion), "")) / NS_PER_S
    if block_s <= spare_s:
        return None
    ours = OWN in scenario.transport.controller
    key = "" if ours else "coding.block_s: "  # our transport has no such key
    return (
        f"{key}repair packets leave {block_s:g} s after a block's first chunk begins and take "
        f"{light_s:,.1f} s at least, the playout delay is {delay_s:,.1f} s: the first "
        f"{block_s - spare_s:,.1f} s of each block cannot be recovered"
    )


def _light_s(link: Link) -> float:
    return min(link.delay_ns) / NS_PER_S
