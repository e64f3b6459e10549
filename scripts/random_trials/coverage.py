"""What a set of trials has tried, and what none of them has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from dstcc.algorithms import CONGESTION, SCHEDULERS
from dstcc.engine import AGENT, NEVER_NS
from dstcc.engine.config import AGENT_LATE, AGENT_POLICIES, SAME

from .coded import CODES, PLACES
from .trial import AGENT_CONTROLS, EXTENSION, FOREVER_NS, KINDS, LOSSES, MODES, Trial


def coverage(trials: Iterable[Trial]) -> dict[str, Counter[str]]:
    """How many trials have what."""
    out: dict[str, Counter[str]] = {
        name: Counter() for name in ("kind", "mode", "control", "scheduler", "loss", "flow", "coding", "has")
    }
    for trial in trials:
        config, t = trial.config, trial.config.transport
        out["kind"][trial.kind] += 1
        out["mode"][trial.mode] += 1
        out["control"][t.congestion] += 1
        out["scheduler"][t.scheduler] += 1
        out["loss"].update({link.loss.kind for link in config.links})
        out["flow"].update({flow.congestion for link in config.links for flow in link.flows})
        deadlines = bool((config.objects.deadline_ns < NEVER_NS).any())
        has = {
            "deadlines": deadlines and t.drop_late,
            "no deadlines": not deadlines,
            "outages": any(link.outages_ns for link in config.links),
            "endless outages": any(end == FOREVER_NS for link in config.links for _, end in link.outages_ns),
            "cross traffic": any(link.cross_traffic for link in config.links),
            "bounded receiver": t.receive_buffer_bytes > 0,
            "drops": any(link.drops for link in config.links),
            "curved delay": any(link.delay_slope for link in config.links),
            "trace": config.trace,
            "layer links": bool(t.layer_links),
            "a spool": config.restarts is not None and config.restarts.spool,
            "no spool": config.restarts is not None and not config.restarts.spool,
        }
        if config.coding is not None:
            out["coding"][config.coding.code] += 1
            out["coding"][config.coding.place] += 1
            out["coding"]["auto" if config.coding.repair is None else "shares"] += 1
            out["coding"]["words" if config.coding.words else "one word"] += 1
            out["coding"]["handshake" if t.handshake else "no handshake"] += 1
        out["has"].update(name for name, present in has.items() if present)
    return out


def missing(covered: dict[str, Counter[str]]) -> list[str]:
    """What at least one trial should have and none has."""
    agents = (AGENT, AGENT_LATE, AGENT_POLICIES)
    wanted = {
        "kind": set(KINDS),
        "mode": set(MODES),
        "control": {*CONGESTION, *AGENT_CONTROLS, EXTENSION, "ltp"},
        "scheduler": {*SCHEDULERS, *agents, EXTENSION, "none"},
        "loss": set(LOSSES),
        "flow": {*CONGESTION, SAME},
        "coding": {*CODES, *PLACES, "auto", "shares", "words", "one word", "handshake", "no handshake"},
        "has": {
            *("deadlines", "no deadlines", "outages", "endless outages", "cross traffic", "bounded receiver"),
            *("drops", "curved delay", "trace", "layer links", "a spool", "no spool"),
        },
    }
    return sorted(f"{what} {name}" for what, names in wanted.items() for name in names - covered[what].keys())
