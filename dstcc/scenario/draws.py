"""The link values that a seed draws before a trial starts, the same for every algorithm (common random numbers).

Each value has a separate random stream, named by ("scenario", link, key, seed), so that adding a link or a key
changes no other draw.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np

from dstcc.engine.config import Flow as EngineFlow
from dstcc.engine.config import FrameSchedule
from dstcc.engine.config import Link as EngineLink
from dstcc.engine.config import Loss as EngineLoss
from dstcc.errors import InputError, ScenarioError

from .changing import Steps, chain_until_s, least, rate_rows, shares
from .contacts import skipped
from .fields import AS_DOWN, NS_PER_S, BodyPair, Draw, ns
from .losses import Drawing, LossModel, document_of
from .model import Link, Scenario
from .network import longest_s, over_nodes
from .physics import DelayColumns, Outages, Physics, at_rate, clamped, clipped_contacts, physics
from .traffic import engine_flows, engine_traffic

AS_GIVEN = tuple(one.name for one in fields(EngineLink) if one.name in Link.model_fields)
"""Keys of a link that have the same name in the engine, where a seed does not draw them."""
MIN_QUEUE_BYTES = 64_000
"""The least default queue: 43 full packets."""


def draw_links(scenario: Scenario, seed: int) -> tuple[EngineLink, ...]:
    """The links of the trials with this seed, in the engine's form; between nodes the paths."""
    lines = draw_lines(scenario, seed)
    return over_nodes(scenario, lines, partial(_draw, seed=seed)) if scenario.node else lines


def draw_lines(scenario: Scenario, seed: int) -> tuple[EngineLink, ...]:
    """Each link by itself, whatever path goes over it."""
    return tuple(_link(scenario, link, seed) for link in scenario.link)


def link_notes(scenario: Scenario) -> tuple[str, ...]:
    """Warnings for a reader of the run: uplinks that are assumed, and link values outside their tables, under the first
    seed."""
    notes: list[str] = [*skipped(scenario.link, scenario.scenario)]
    for link in scenario.link:
        known = physics(link, scenario.scenario, scenario.run.seed)
        notes += known.notes
        notes += clipped_contacts(link, scenario.scenario, scenario.run.seed)
        notes += _slower_than_planned(scenario, link, known)
        if link.up_rate_bps is None and known.up_rate_bps is None and known.up_plan_rate is None:
            up_bps = _link(scenario, link, scenario.run.seed).up_rate_bps
            notes.append(
                f"link {link.name}: up_rate_bps is not given: acknowledgements have the data's rate, "
                f"{up_bps:,.0f} bit/s"
            )
        for key, loss in (("loss", link.loss), ("up_loss", link.up_loss)):
            if loss is None or loss.ebn0_db is None or loss.code is None:
                continue
            said = clamped(loss.code, _draw(loss.ebn0_db, scenario.run.seed, link.name, f"{key}.ebn0_db"))
            notes += [f"link {link.name}: {key}: {said}"] if said else []
    return tuple(notes)


def rtt_s(link: EngineLink) -> float:
    """Round-trip propagation time: twice the one-way delay, the longest of a table."""
    return 2 * max(link.delay_ns) / NS_PER_S


def longest_possible_rtt_s(scenario: Scenario) -> float:
    """The longest round trip that any seed can draw, in seconds."""
    return 2 * longest_s(scenario, partial(_longest_delay_s, scenario))


def describe(link: EngineLink, end_s: float) -> dict[str, object]:
    """The record of a drawn link (one-way delay, RTT in seconds; rates in bit/s).

    Outages count up to ``end_s``, mission seconds: those of a contact plan never end.
    """
    others = [_describe_flow(flow) for flow in link.flows]
    table = [[t / NS_PER_S, d / NS_PER_S] for t, d in zip(link.delay_t_ns, link.delay_ns, strict=True)]
    dark_s = [min(stop / NS_PER_S, end_s) - start / NS_PER_S for start, stop in link.outages_ns]
    dark_s = [length for length in dark_s if length > 0]
    return {
        "name": link.name,
        "rate_bps": link.rate_bps,
        "up_rate_bps": link.up_rate_bps,
        "delay_s": table[0][1] if len(table) == 1 else table if not link.delay_slope else _range_s(link),
        "rtt_s": rtt_s(link),
        "loss": describe_loss(link.loss, link.outages_ns),
        "up_loss": describe_loss(link.up_loss, link.back_outages_ns),
        "queue_bytes": link.queue_bytes,
        "up_queue_bytes": link.up_queue_bytes,
        "outages": len(dark_s),
        "outage_s": sum(dark_s, 0.0),
        **_changes(link, end_s),
        "subflows": link.subflows,
        "flows": others,
        "datagrams_bps": [source.rate_bps for source in link.cross_traffic],
    }


def _changes(link: EngineLink, end_s: float) -> dict[str, object]:
    """What few links have; a record without it has neither."""
    said: dict[str, object] = {}
    if link.unannounced_ns:
        said["unannounced_s"] = sum(stop - start for start, stop in link.unannounced_ns) / NS_PER_S
    if link.rate_share or link.hidden_share:
        said["rate_steps"] = max(1, len(link.rate_share)) + max(1, len(link.hidden_share)) - 1
        said["least_rate_bps"] = (
            link.rate_bps * min(link.rate_share or (1.0,)) * min(link.hidden_share or (1.0,))
        )
    if link.up_rate_share:
        said["up_rate_steps"] = len(link.up_rate_share)
        said["least_up_rate_bps"] = link.up_rate_bps * min(link.up_rate_share)
    if link.onward:
        said["onward"] = [{"node": hop.node.name, **describe(hop.line, end_s)} for hop in link.onward]
    return said


def _range_s(link: EngineLink) -> dict[str, float]:
    return {"min": min(link.delay_ns) / NS_PER_S, "max": max(link.delay_ns) / NS_PER_S}


def _describe_flow(flow: EngineFlow) -> dict[str, object]:
    return {
        "congestion": flow.congestion,
        "start_s": flow.start_ns / NS_PER_S,
        "bytes": flow.payload_bytes or None,
        "rate_bps": flow.source.rate_bps if flow.source else None,
    }


def describe_loss(loss: EngineLoss, outages_ns: Outages = ()) -> dict[str, object]:
    """A loss process with the keys of a scenario; empty when nothing is lost.

    For code frames: the least and the greatest Eb/N0 outside the outages, and the frame error rates at these.
    """
    if loss.frames is not None:
        return {"frames": _describe_frames(loss.frames, outages_ns)}
    return document_of(loss)


def _describe_frames(frames: FrameSchedule, outages_ns: Outages) -> dict[str, object]:
    edges = np.array(outages_ns, dtype=np.int64).ravel()
    lit = np.searchsorted(edges, frames.t_ns, side="right") % 2 == 0
    lit = lit if lit.any() else np.ones_like(lit)
    ebn0_db = np.array([frames.ebn0_db[lit].min(), frames.ebn0_db[lit].max()])
    grid = frames.curve_from_db + frames.curve_step_db * np.arange(len(frames.log10_fer))
    fer = 10 ** np.interp(ebn0_db, grid, frames.log10_fer)
    index = frames.scintillation_index[lit]
    return {
        "code": frames.code,
        "frame_bits": frames.frame_bits,
        "ebn0_db": ebn0_db.tolist(),
        "table_ebn0_db": [float(grid[0]), float(grid[-1])],
        "frame_error_rate": fer.tolist(),
        "scintillation_index": [float(index.min()), float(index.max())],
    }


def _link(scenario: Scenario, link: Link, seed: int) -> EngineLink:
    try:
        known = physics(link, scenario.scenario, seed)
    except InputError as error:
        raise ScenarioError(f"link {link.name}: {error}") from None
    draw = partial(_draw, seed=seed, link=link.name)
    until_s = chain_until_s(scenario)
    down, up = _rates(link, known, draw)
    (rate, steps), (up_rate, up_steps) = shares(down), shares(up)
    hidden: Steps = ((), ())
    if link.loss is not None:
        hidden = link.loss.rate_steps(drawing(seed, link.name, "loss", until_s))
    delay = _delay(link, seed) or known.delay
    assert delay is not None
    round_trip_s = 2 * max(delay.delay_ns) / NS_PER_S
    loss = _loss(link.loss, drawing(seed, link.name, "loss", until_s))
    up_loss = _loss(link.up_loss, drawing(seed, link.name, "up_loss", until_s))
    if known.loss is not None and known.up_loss is not None and known.rate_bps and known.up_rate_bps:
        loss = loss or at_rate(known.loss, known.rate_bps, down)
        up_loss = up_loss or at_rate(known.up_loss, known.up_rate_bps, up)
    own_outages = link.given("outages") or (link.contacts is None and link.outages is not None)
    drawn: dict[str, Any] = {
        "rate_bps": rate,
        "up_rate_bps": up_rate,
        "delay_t_ns": delay.t_ns,
        "delay_ns": delay.delay_ns,
        "delay_slope": delay.slope,
        "queue_bytes": link.queue_bytes or _default_queue(rate, round_trip_s),
        "up_queue_bytes": link.up_queue_bytes or _default_queue(up_rate, round_trip_s),
        "loss": loss or EngineLoss(),
        "up_loss": up_loss or loss or EngineLoss(),
        "outages_ns": _outages(link.outages) if own_outages else known.outages or (),
        "up_outages_ns": _up_outages(link, None if own_outages else known.up_outages),
        "unannounced_ns": _outages(link.unannounced_outages),
        "rate_t_ns": steps[0],
        "rate_share": steps[1],
        "up_rate_t_ns": up_steps[0],
        "up_rate_share": up_steps[1],
        "hidden_t_ns": hidden[0],
        "hidden_share": hidden[1],
        "cross_traffic": engine_traffic(link.cross_traffic, link.mix),
        "flows": engine_flows(
            link.flows, link.mix, scenario.transport.mss_bytes, lambda value, key: draw(value, key=key)
        ),
    }
    as_given = {name: value for name in AS_GIVEN if (value := getattr(link, name)) is not None}
    return EngineLink(**{**as_given, **drawn})


def _rates(link: Link, known: Physics, draw: Callable[..., float]) -> tuple[Steps, Steps]:
    """The announced rates of both directions over time, bit/s."""

    def own(key: str, profile_bps: float | None) -> Steps | None:
        value = getattr(link, key)
        if value is None:
            return None if profile_bps is None else rate_rows([(0.0, profile_bps)])
        return rate_rows(value if isinstance(value, tuple) else [(0.0, draw(value, key=key))])

    def within(planned: Steps | None, rate: Steps | None, key: str) -> Steps:
        if planned is None or link.given(key):
            assert rate is not None  # held by the model
            return rate
        return planned if rate is None or "rate" in link.contacts_override else least(planned, rate)

    own_down = own("rate_bps", known.rate_bps)
    down = within(known.plan_rate, own_down, "rate_bps")
    if link.up_rate_bps == AS_DOWN:
        up: Steps | None = rate_rows([(0.0, max(down[1]))])
    else:
        up = own("up_rate_bps", known.up_rate_bps)
    if up is None and own_down is not None and (link.contacts is None or link.profile is not None):
        up = rate_rows([(0.0, max(own_down[1]))])  # a link or a profile with one rate has it both ways
    return down, within(known.up_plan_rate, up, "up_rate_bps")


def _slower_than_planned(scenario: Scenario, link: Link, known: Physics) -> Iterator[str]:
    """A sentence for each direction in which a plan has more than the link's profile can carry."""
    if known.plan_rate is None or known.up_plan_rate is None or link.profile is None:
        return
    draw = partial(_draw, seed=scenario.run.seed, link=link.name)
    plans = zip(
        ("down", "up"), ("rate_bps", "up_rate_bps"), (known.plan_rate, known.up_plan_rate), strict=True
    )
    for (way, key, planned), rate in zip(plans, _rates(link, known, draw), strict=True):
        if not link.given(key) and least(planned, rate) != planned:
            yield (
                f"link {link.name}: the plan has up to {max(planned[1]):,.0f} bit/s {way}, the profile carries "
                f"{max(rate[1]):,.0f}: the lesser rate holds"
            )


def _outages(windows: tuple[tuple[float, float], ...] | None) -> Outages:
    return tuple((ns(start), ns(end)) for start, end in windows or ())


def _up_outages(link: Link, known: Outages | None) -> Outages | None:
    return known if link.up_outages is None else _outages(link.up_outages)


def _delay(link: Link, seed: int) -> DelayColumns | None:
    """The link's ``delay_s``; ``None`` where its physics gives the delay."""
    if link.delay_s is None or isinstance(link.delay_s, BodyPair):
        return None
    if isinstance(link.delay_s, tuple):
        return DelayColumns(
            tuple(ns(t) for t, _ in link.delay_s), tuple(ns(delay) for _, delay in link.delay_s)
        )
    return DelayColumns((0,), (ns(_draw(link.delay_s, seed, link.name, "delay_s")),))


def _longest_delay_s(scenario: Scenario, link: Link) -> float:
    if link.delay_s is None or isinstance(link.delay_s, BodyPair):
        delay = physics(link, scenario.scenario, scenario.run.seed).delay  # the same for every seed
        return max(delay.delay_ns) / NS_PER_S if delay else 0.0
    return _bounds(link.delay_s)[1]


def _default_queue(rate_bps: float, round_trip_s: float) -> int:
    return max(MIN_QUEUE_BYTES, round(rate_bps * round_trip_s / 8))


def _loss(model: LossModel | None, drawn: Drawing) -> EngineLoss | None:
    return None if model is None else model.engine(drawn)


def drawing(seed: int, link: str, key: str, until_s: float) -> Drawing:
    """What a seed gives the losses of a link: ``key`` is ``loss`` or ``up_loss``."""
    return Drawing(
        number=lambda name, value: _draw(value, seed, link, f"{key}.{name}"),
        generator=lambda name: _generator(seed, link, f"{key}.{name}"),
        until_s=until_s,
    )


def _bounds(value: object) -> tuple[float, float]:
    if isinstance(value, Draw):
        return value.bounds
    if isinstance(value, tuple):
        delays = [delay for _time, delay in value]
        return min(delays), max(delays)
    return float(str(value)), float(str(value))


def _generator(seed: int, link: str, key: str) -> np.random.Generator:
    name = "\0".join(("scenario", link, key, str(seed)))
    entropy = int.from_bytes(hashlib.sha256(name.encode()).digest(), "big")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))


def _draw(value: float | Draw, seed: int, link: str, key: str) -> float:
    if not isinstance(value, Draw):
        return float(value)
    low, high = value.bounds
    share = _generator(seed, link, key).random()
    even = value.uniform is not None
    drawn = low + (high - low) * share if even else low * (high / low) ** share
    return float(min(max(drawn, low), high))
