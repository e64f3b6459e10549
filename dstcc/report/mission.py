"""The mission at a glance: links, video, playout and scale, in words and round numbers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np

from dstcc.algorithms import TRANSFERS
from dstcc.clock import Clock
from dstcc.errors import RunError

from .controllers import controllers_of
from .model import Section, Trial
from .numbers import grouped, quantity, scientific, span
from .tables import Tables

CUBIC_C_POWER = 3
"""CUBIC's window grows with C·t³, so stretching time by S divides C by S³."""
BBR_MIN_RTT_WINDOW_S = 10.0
"""tcp_bbr.c: bbr_min_rtt_win_sec."""
RTO_MIN_S = 0.2
"""Linux TCP_RTO_MIN."""
DELAYED_ACK_S = 0.04
"""Linux TCP_DELACK_MIN."""


@dataclass(frozen=True)
class LinkFacts:
    """One row of the table of links, every cell as text."""

    name: str
    rtt: str
    rate: str
    loss: str
    bdp: str
    more: str
    """Queue, outages, cross traffic: the link's other keys in the scenario."""


@dataclass(frozen=True)
class Mission:
    """The video, the links and the transport of a section."""

    links: tuple[LinkFacts, ...]
    facts: tuple[tuple[str, str], ...]
    """Term and text."""
    description: str


def describe_mission(section: Section, tables: Tables) -> Mission:
    """Everything from the scenario, the drawn links and one trial's chunks."""
    links = section.scenario.get("link") or section.meta.get("links") or []
    about = section.scenario.get("scenario") or {}
    clock = Clock.of(section.scenario)
    facts = [
        *([("Start", f"{clock.moment(0.0, 0.0)} UTC")] if clock.dated else []),
        *_video(section, tables),
        ("Playout", _playout(section)),
        ("Transport", _transport(section)),
        ("Backend", str(section.meta.get("backend", "unknown"))),
        ("Trials", _trials(section)),
        ("Scale", describe_scale(float(section.meta.get("scale") or 1.0), _controls(section))),
    ]
    try:
        rows = tuple(_link(section, link) for link in links)
    except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
        raise RunError(
            f"{section.runs[0].path}: a link in its record cannot be described: {error!r}"
        ) from None
    return Mission(rows, tuple(facts), str(about.get("description") or ""))


def _controls(section: Section) -> frozenset[str]:
    """The congestion controls of the trials; a controller's is ``agent``."""
    return frozenset(trial.congestion or "" for one in section.algorithms for trial in one.trials)


def describe_scale(scale: float, controls: Collection[str]) -> str:
    """The scale and its effect on constants that do not scale with it, those that one of ``controls`` has."""
    if scale == 1.0:
        return "1: unscaled, every constant of the transport is Linux's own."
    said = f"1 emulated second stands for {scale:g} mission seconds."
    if all(name in TRANSFERS for name in controls):
        return f"{said} None of these transfers has a constant of TCP's in seconds."
    changed = [
        f"the least retransmission timeout is {quantity('seconds', RTO_MIN_S * scale)}",
        f"a delayed ACK waits {quantity('seconds', DELAYED_ACK_S * scale)}",
    ]
    if "cubic" in controls:
        changed.append(f"CUBIC's C is {scientific(scale**CUBIC_C_POWER)} times smaller")
    if "bbr" in controls:
        own = ", bbr-scaled counts in RTTs instead" if "bbr-scaled" in controls else ""
        changed.append(
            f"BBR's minimum-RTT window is {quantity('seconds', BBR_MIN_RTT_WINDOW_S * scale)}{own}"
        )
    *most, last = changed
    return (
        f"{said} The transport's constants are Linux's in emulated time, so in mission time "
        f"{', '.join(most)}, and {last}."
    )


def describe_loss(loss: Any) -> str:
    """A loss process in a few words."""
    if not loss:
        return "none"
    if not isinstance(loss, Mapping):
        return f"{scientific(float(loss))} of packets"
    write = next((write for key, write in LOSSES.items() if key in loss), None)
    return write(loss) if write else ", ".join(f"{key} {value}" for key, value in loss.items())


def _bursts(loss: Mapping[str, Any]) -> str:
    states = {"good": 0.0, "bad": 1.0, **loss["gilbert_elliott"]}
    good, bad, p, r = (scientific(float(states[key])) for key in ("good", "bad", "p", "r"))
    return f"bursts: {good} / {bad} of packets in good / bad state (good→bad {p}, bad→good {r})"


def _frames(loss: Mapping[str, Any]) -> str:
    frames = loss["frames"]
    low, high = (f"{float(db):.2f}" for db in frames["ebn0_db"])
    worst, best = (scientific(float(rate)) for rate in frames["frame_error_rate"])
    rates = worst if worst == best else f"{worst} to {best}"
    return f"{frames['code']} at {low if low == high else f'{low} to {high}'} dB: {rates} of frames"


def _drawn_share(value: Any) -> str:
    if isinstance(value, Mapping):
        (law, (low, high)), *_ = value.items()
        return f"{scientific(float(low))} – {scientific(float(high))} ({law.replace('_', '-')} draw)"
    return scientific(float(value))


LOSSES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "packet": lambda loss: f"{_drawn_share(loss['packet'])} of packets",
    "ber": lambda loss: f"{_drawn_share(loss['ber'])} of bits",
    "gilbert_elliott": _bursts,
    "frames": _frames,
    "ebn0_db": lambda loss: f"{loss['code']} at {_drawn_share(loss['ebn0_db'])} dB",
}
"""Key of a loss process → its words."""


def _link(section: Section, link: Mapping[str, Any]) -> LinkFacts:
    name = str(link.get("name", ""))
    drawn = [draw for trial in section.trials for draw in trial.links if draw.name == name]
    rtts = [draw.rtt_s for draw in drawn if draw.rtt_s is not None]
    if not rtts or isinstance(link.get("delay_s"), list):
        rtts = _delays(link)
    rates = [draw.rate_bps for draw in drawn if draw.rate_bps is not None] or _bounds(link.get("rate_bps"))
    pairs = [(f.rate_bps, f.rtt_s) for f in drawn if f.rate_bps is not None and f.rtt_s is not None]
    products = [rate * rtt / 8 for rate, rtt in pairs or [(rate, rtt) for rate in rates for rtt in rtts]]
    segments = sorted(product / section.segment_bytes for product in products)
    bdp = span("bytes", products)
    if segments:
        low, high = (f"{count:,.0f}".replace(",", "\u202f") for count in (segments[0], segments[-1]))
        bdp += f" ({low if low == high else f'{low}–{high}'} segments)"
    resolved = _resolved(section, name)
    least = resolved.get("least_rate_bps")  # where the rate changes; those of trials are the highest
    return LinkFacts(
        name,
        span("seconds", rtts),
        span("bps", rates if least is None else [*rates, float(least)]),
        describe_loss(link.get("loss") or resolved.get("loss")),
        bdp,
        _more(link, resolved),
    )


def _resolved(section: Section, name: str) -> Mapping[str, Any]:
    """The values of a link's profile under the first seed; empty if ``run.json`` has none."""
    links: Sequence[Mapping[str, Any]] = section.meta.get("links") or ()
    return next((link for link in links if link.get("name") == name), {})


def _delays(link: Mapping[str, Any]) -> list[float]:
    """Round-trip times of a scenario's link: from a number, a draw's bounds, or a table over time."""
    delay = link.get("delay_s")
    if isinstance(delay, Sequence) and not isinstance(delay, str):
        return [2.0 * float(row[1]) for row in delay]
    return [2.0 * bound for bound in _bounds(delay)] or _bounds(link.get("rtt_s"))


def _bounds(value: Any) -> list[float]:
    if isinstance(value, Mapping):
        return [float(bound) for bounds in value.values() for bound in bounds]
    return [float(value)] if isinstance(value, (int, float)) else []


def _more(link: Mapping[str, Any], resolved: Mapping[str, Any]) -> str:
    said = [f"{key} {PurePath(str(link[key])).name}" for key in ("profile", "contacts") if link.get(key)]
    up = _bounds(link.get("up_rate_bps")) or _bounds(resolved.get("up_rate_bps"))
    if (
        up
        and link.get("up_rate_bps") != "rate_bps"
        and up != (_bounds(link.get("rate_bps")) or _bounds(resolved.get("rate_bps")))
    ):
        said.append(f"up {span('bps', up)}")
    if link.get("queue_bytes"):
        said.append(f"queue {quantity('bytes', float(link['queue_bytes']))}")
    if outages := link.get("outages"):
        gone = sum(float(stop) - float(start) for start, stop in outages)
        said.append(f"{_count(len(outages), 'outage')}, {quantity('seconds', gone)} in all")
    elif count := resolved.get("outages"):
        said.append(f"{_count(count, 'outage')}, {quantity('seconds', float(resolved['outage_s']))} in all")
    said += [
        f"{_count(int(flow.get('count', 1)), 'TCP flow')} of others ({flow.get('congestion', 'same')})"
        for flow in link.get("flows") or ()
    ]
    if mix := link.get("mix"):
        tcp_share = float(mix.get("tcp_share", 0.8))
        said.append(f"mix of {quantity('bps', float(mix['rate_bps']))}, {tcp_share:.0%} TCP")
    said += [
        f"cross traffic {quantity('bps', float(other['rate_bps']))}"
        for other in link.get("cross_traffic") or ()
    ]
    return "; ".join(said) or "–"


def _video(section: Section, tables: Tables) -> list[tuple[str, str]]:
    video = section.scenario.get("video") or {}
    name = (section.meta.get("video") or {}).get("name", "synthetic")
    kind = f"{name} ({video.get('source', 'live')})"
    if not section.representative:
        return [("Video", kind)]
    chunks = tables.chunks(section.representative[0])
    layers, count = chunks["layer"], int(np.unique(chunks["chunk"]).size)
    capture = np.unique(chunks["capture_s"])
    chunk_s = float(np.median(np.diff(capture))) if capture.size > 1 else 1.0
    duration_s = float(capture.max() - capture.min()) + chunk_s
    rates = [float(chunks["bytes"][layers == layer].sum()) * 8 / duration_s for layer in np.unique(layers)]
    named = ["BL", *(f"EL{layer}" for layer in range(1, len(rates)))]
    parts = " + ".join(f"{name} {quantity('bps', rate)}" for name, rate in zip(named, rates, strict=True))
    offered = sum(rates)
    facts = [
        ("Video", f"{kind}, {quantity('seconds', duration_s)} in {_count(count, 'chunk')}"),
        ("Layers", f"{parts} = {quantity('bps', offered)}"),
    ]
    load = _load(section.representative[0], offered, float(chunks["bytes"].sum()))
    return [*facts, ("Load", load)] if load else facts


def _load(trial: Trial, offered_bps: float, offered_bytes: float) -> str:
    """The video's share of what the links carry, at their rates and, where they have outages, in their contacts."""
    rate_bps = sum(link.rate_bps or 0.0 for link in trial.links)
    if not rate_bps:
        return ""
    said = f"{offered_bps / rate_bps * 100:.0f} % of the links' {quantity('bps', rate_bps)} together"
    if not any(link.outages for link in trial.links):
        return said
    fits_bytes = sum(contact.get("capacity_bytes") or 0.0 for contact in trial.contacts)
    if not fits_bytes:
        return f"{said} while all are up"
    share = f"{offered_bytes / fits_bytes * 100:.0f} % of the {quantity('bytes', fits_bytes)}"
    return f"{said} while all are up; {share} that fit into the contacts until the run's end"


def _playout(section: Section) -> str:
    playout = section.scenario.get("playout") or {}
    mode = playout.get("mode", "deadline")
    words = "skips what is not there" if mode == "deadline" else "waits for what is not there"
    if (delay := playout.get("delay_s")) is not None:
        return f"{quantity('seconds', float(delay))} after capture; {words} ({mode})."
    rtts = float(playout.get("delay_rtts") or (2.0 if mode == "deadline" else 0.0))
    if rtts == 0.0:
        return f"Right after capture; {words} ({mode})."
    longest = [
        max(known) for t in section.trials if (known := [link.rtt_s for link in t.links if link.rtt_s])
    ]
    absolute = f" ({span('seconds', [rtts * rtt for rtt in longest])})" if longest else ""
    return f"{rtts:g} RTTs of the longest link{absolute} after capture; {words} ({mode})."


def _transport(section: Section) -> str:
    transport = section.scenario.get("transport") or {}
    mode = transport.get("mode", "stream")
    if mode == "lanes":
        lanes = int(transport.get("lanes_per_link", 1))
        lanes_asked = ((one.name, int(one.about.get("lanes") or 0)) for one in controllers_of(section))
        most = transport.get("controller_lanes")
        limit = f", gets at most {most:,}" if most else ""
        requests = "".join(
            f" ({name} asks for {_count(count, 'lane')}{limit})" for name, count in lanes_asked if count
        )
        return f"MPTCP, an ordering domain per lane, {_count(lanes, 'lane')} per link{requests}"
    if mode == "coded":
        opening = (
            "after a handshake" if transport.get("handshake", True) else "from time 0, without a handshake"
        )
        return f"coded: packets without an order, layers coded over them, {opening}"
    return "MPTCP, one ordering domain (stream)"


def _trials(section: Section) -> str:
    failed = sum(not trial.ok for trial in section.trials)
    text = f"{_count(len(section.algorithms), 'algorithm')} × {_count(len(section.seeds), 'seed')}"
    text += f", {_count(len(section.trials), 'trial')}"
    return f"{text}, {failed} failed" if failed else text


def _count(number: int, noun: str) -> str:
    return f"{grouped(number)} {noun}" if number == 1 else f"{grouped(number)} {noun}s"
