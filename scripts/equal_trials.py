"""Do two builds of the engine give the same results? Random trials, each with one digest per part of its result.

    python scripts/equal_trials.py -o FILE [--seed 1] [--trials 10000]        at one commit
    python scripts/equal_trials.py --against FILE [--ignore PART]... [-o F]  at the other: names the trials that differ
    python scripts/equal_trials.py --show NUMBER [--seed 1]                  what trial NUMBER is

A trial follows from the seed and its number. Together they have every congestion control and scheduler, a Python
control and scheduler, ltp, every loss process, both modes, lanes that share a window and lanes apart, deadlines and
none, outages that end and that do not, curved delays, bounded receivers, background flows, cross traffic, scripted
drops, traces, and trials that an agent steers with random actions; of many the clairvoyant bound is taken too. They
are short: 10,000 take a minute or two of one core.

The parts of a result, each with its own digest: `objects` (with the time of the end), `samples`, `totals`, `cost` (the
three totals that say what the engine itself spent: events, engine_peak_bytes, reorder_peak_bytes), `flows`, `trace`
(packets and steps), `values` (what the agent saw in each slot), `bound`. --ignore leaves a part out of the comparison.
An error that the engine raises counts as a result.

Exit status 1: some trial differs. 2: FILE holds other trials than these.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, NoReturn

import numpy as np

from dstcc.algorithms import CONGESTION, SCHEDULERS
from dstcc.engine import (
    AGENT,
    NEVER_NS,
    CrossTraffic,
    EngineConfig,
    EngineResult,
    Flow,
    FrameSchedule,
    Link,
    Loss,
    Objects,
    Stepper,
    TcpConstants,
    Transport,
    clairvoyant_weight,
    simulate,
)
from dstcc.engine.config import AGENT_BBR, AGENT_LATE, AGENT_POLICIES, AGENT_RATE, SAME
from dstcc.engine.stepper import (
    ALPHA_MAX_Q16,
    AUTOMATIC,
    AVOID,
    FALL_BACK,
    KEEP,
    ONE_Q16,
    REPAIRABLE,
    RUNNING,
    SILENT,
)
from dstcc.extensions import Extension
from dstcc.remy.table import shipped_numbers

S = 10**9
PARTS = ("objects", "samples", "totals", "cost", "flows", "trace", "values", "bound")
COST = ("events", "engine_peak_bytes", "reorder_peak_bytes")
KINDS = ("tcp",) * 6 + ("steered",) * 3 + ("ltp",)
"""By the trial's number, so that each kind has its share."""
AGENT_CONTROLS = (AGENT, AGENT_RATE, AGENT_BBR)
AGENT_SCHEDULERS = (AGENT, AGENT_LATE, AGENT_POLICIES, "minrtt")
EXTENSION = "extension"
"""Stands for a Python class among the controls and the schedulers."""
LOSSES = ("none", "packet", "ber", "gilbert-elliott", "periodic", "frames")
MODES = ("stream", "lanes", "window", "apart")
"""``window``: lanes of one subflow; ``lanes``: several subflows a link, on lanes; ``apart``: these are connections of
their own."""
MAX_STEPS = 400
FOREVER_NS = 10**18
"""The longest time of a scenario: an outage until then has no end."""
PLACE = re.compile(r" \([\w/.]+:\d+\)$")
"""Of the source, in the message of an invariant: no part of a result."""


@dataclass(frozen=True)
class Trial:
    """What is run: the kind, the configuration, a name that says the most of it."""

    number: int
    kind: str
    mode: str
    config: EngineConfig

    def __str__(self) -> str:
        t = self.config.transport
        links = ", ".join(f"{link.subflows} x {link.loss.kind}" for link in self.config.links)
        return f"{self.number}: {self.kind} {t.congestion}+{t.scheduler} {self.mode} on {links}"


# ------------------------------------------------------------------------------------------------------- drawing


class HalfWindow:
    """A control in Python: it grows by a segment a round trip and halves at a loss."""

    def __init__(self, setup: Any) -> None:
        self.window = 10.0

    def on_ack(self, view: Any) -> Any:
        """A segment more each time, half after a loss."""
        self.window = max(2.0, self.window / 2) if view.lost_segments else self.window + 1 / self.window
        return self.window


class MostRoom:
    """A scheduler in Python: the path with most room, and now and then it waits."""

    def __init__(self, setup: Any) -> None:
        self.asked = 0

    def pick(self, paths: Any, ready: tuple[int, ...], item: Any, busy: tuple[int, ...]) -> int | None:
        """The most room; every seventh time wait, if there is something to wait for."""
        self.asked += 1
        if busy and self.asked % 7 == 0:
            return None
        return max(ready, key=lambda i: (paths[i].cwnd_segments - paths[i].inflight_segments, -i))


def ns(seconds: float) -> int:
    """Seconds in the engine's unit."""
    return round(seconds * S)


def log_uniform(rng: Random, low: float, high: float) -> float:
    """Every order of magnitude alike."""
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def maybe(rng: Random, share: float) -> bool:
    """True so often."""
    return rng.random() < share


def draw_loss(rng: Random, kind: str, duration_s: float) -> Loss:
    """A loss process of that kind, neither void nor hopeless."""
    if kind in ("packet", "periodic"):
        return Loss(kind, log_uniform(rng, 2e-4, 0.05))
    if kind == "ber":
        return Loss(kind, log_uniform(rng, 1e-8, 5e-6))
    if kind == "gilbert-elliott":
        p, r = log_uniform(rng, 1e-3, 0.05), log_uniform(rng, 0.05, 1)
        return Loss(kind, p=p, r=r, good=0.0, bad=rng.uniform(0.2, 0.9))
    if kind == "frames":
        times = [ns(duration_s * x) for x in (0, 0.3, 0.7)]
        steady = maybe(rng, 0.5)
        schedule = FrameSchedule(
            frame_bits=rng.choice([1, 1784, 8920]),
            t_ns=np.array(times, dtype=np.int64),
            ebn0_db=np.array([rng.uniform(-1, 3) for _ in times]),
            scintillation_index=np.array([0.0 if steady else rng.uniform(0, 1) for _ in times]),
            coherence_ns=ns(duration_s / 50) + 1,
            curve_from_db=-2.0,
            curve_step_db=1.0,
            log10_fer=np.array([0.0, -0.3, -1.0, -2.5, -4.5, -6.0]),
        )
        return Loss(kind, frames=schedule)
    return Loss()


def draw_outages(rng: Random, duration_s: float) -> tuple[tuple[int, int], ...]:
    """None, one or two; now and then the last has no end."""
    out, at = [], 0.0
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        begin = at + rng.uniform(0.05, 0.4) * duration_s
        at = begin + rng.uniform(0.02, 0.3) * duration_s
        out.append((ns(begin), ns(at) + 1))
    if out and maybe(rng, 0.2):
        out[-1] = (out[-1][0], FOREVER_NS)
    return tuple(out)


def draw_source(rng: Random, rate_bps: float, duration_s: float) -> CrossTraffic:
    """Somebody else's datagrams, or what a background flow's application writes."""
    on_s, off_s = rng.uniform(0.02, 0.3) * duration_s, rng.uniform(0, 0.2) * duration_s
    return CrossTraffic(
        rate_bps=rate_bps * rng.uniform(0.1, 0.6),
        packet_bytes=rng.randint(200, 1500),
        start_ns=ns(rng.uniform(0, 0.3) * duration_s),
        stop_ns=rng.choice([NEVER_NS, ns(0.8 * duration_s)]),
        on_ns=rng.choice([NEVER_NS, ns(on_s) + 1]),
        off_ns=ns(off_s),
        periods=rng.choice(["constant", "exponential", "pareto"]),
    )


def draw_flow(rng: Random, rate_bps: float, duration_s: float, *, own: bool) -> Flow:
    """A background flow, under the trial's ``own`` control or any other."""
    return Flow(
        congestion=SAME if own else rng.choice(CONGESTION),
        start_ns=ns(rng.uniform(0, 0.4) * duration_s),
        stop_ns=rng.choice([NEVER_NS, ns(0.9 * duration_s)]),
        payload_bytes=rng.choice([0, rng.randint(10_000, 1_000_000)]),
        source=draw_source(rng, rate_bps, duration_s) if maybe(rng, 0.3) else None,
    )


def draw_delay(rng: Random, delay_s: float, duration_s: float) -> dict[str, Any]:
    """Constant, or a table over the trial, straight or curved between its rows."""
    if maybe(rng, 0.6):
        return {"delay_t_ns": (0,), "delay_ns": (ns(delay_s),)}
    times = tuple(ns(duration_s * x) for x in (0, 0.4, 1.0))
    delays = tuple(ns(delay_s * rng.uniform(0.8, 1.2)) for _ in times)
    table: dict[str, Any] = {"delay_t_ns": times, "delay_ns": delays}
    if maybe(rng, 0.5):
        secants = [
            (b - a) / (u - t) for a, b, t, u in zip(delays, delays[1:], times, times[1:], strict=False)
        ]
        table["delay_slope"] = (secants[0], sum(secants) / 2, secants[1])
    return table


def draw_link(rng: Random, number: int, base: dict[str, float], trial: dict[str, Any]) -> Link:
    """A link near the rate and the delay of ``base``."""
    rate, duration_s = base["rate_bps"] * log_uniform(rng, 0.3, 3), base["duration_s"]
    delay_s = base["delay_s"] * log_uniform(rng, 0.5, 2)
    bdp = rate * 2 * delay_s / 8
    flows = (
        ()
        if trial["kind"] == "ltp"
        else tuple(
            draw_flow(rng, rate, duration_s, own=maybe(rng, 0.6 if trial["kind"] == "steered" else 0.3))
            for _ in range(rng.choice([0, 0, 0, 1, 2]))
        )
    )
    return Link(
        name=f"link{number}",
        rate_bps=rate,
        up_rate_bps=rate * log_uniform(rng, 0.02, 2),
        queue_bytes=max(3000, int(bdp * log_uniform(rng, 0.02, 3))),
        up_queue_bytes=rng.choice([5_000, 10**7]),
        loss=draw_loss(rng, trial["losses"][number % len(trial["losses"])], duration_s),
        up_loss=draw_loss(rng, rng.choice(LOSSES[:4]), duration_s) if maybe(rng, 0.5) else Loss(),
        outages_ns=draw_outages(rng, duration_s),
        up_outages_ns=draw_outages(rng, duration_s) if maybe(rng, 0.2) else None,
        cross_traffic=(draw_source(rng, rate, duration_s),) if maybe(rng, 0.2) else (),
        subflows=trial["subflows"],
        flows=flows,
        drops=tuple((n, rng.randint(1, 3)) for n in sorted(rng.sample(range(80), 5)))
        if maybe(rng, 0.1)
        else (),
        **draw_delay(rng, delay_s, duration_s),
    )


def draw_objects(rng: Random, total_bps: float, duration_s: float, longest_s: float) -> Objects:
    """A file, or chunks in layers, live or all there from the start, with deadlines or without."""
    if maybe(rng, 0.1):
        one = np.ones(1, dtype=np.int64)
        size = int(total_bps * duration_s / 8 * rng.choice([0.5, 4.0])) + 1
        return Objects(0 * one, 0 * one, size * one, 0 * one, NEVER_NS * one)
    layers, chunks = rng.randint(1, 4), rng.randint(2, 60)
    chunk_s = duration_s * rng.uniform(0.4, 0.9) / chunks
    mean = max(1.0, total_bps * chunk_s / 8 / layers * log_uniform(rng, 0.2, 1.6))
    chunk = np.repeat(np.arange(chunks, dtype=np.int64), layers)
    layer = np.tile(np.arange(layers, dtype=np.int64), chunks)
    payload = np.array([max(1, int(mean * rng.uniform(0.3, 1.7))) for _ in chunk], dtype=np.int64)
    release = (chunk + 1) * ns(chunk_s) if maybe(rng, 0.85) else 0 * chunk
    deadline = np.full_like(release, NEVER_NS)
    if maybe(rng, 0.7):
        playout = ns(longest_s * rng.choice([1.05, 1.5, 2.0, 4.0])) + ns(chunk_s)
        deadline = (chunk + 1) * ns(chunk_s) + playout
        if maybe(rng, 0.1):
            deadline[layer == layers - 1] = NEVER_NS
    return Objects(chunk, layer, payload, release, deadline)


def draw_constants(rng: Random) -> TcpConstants:
    """Linux's constants, mostly."""
    if maybe(rng, 0.6):
        return TcpConstants()
    return TcpConstants(
        rto_min_s=rng.choice([0.2, 1.0]),
        delayed_ack_s=rng.choice([1e-4, 0.04, 0.2]),
        hystart=maybe(rng, 0.5),
        jiffy_s=rng.choice([1e-9, 0.001, 0.004]),
        uptime_s=rng.choice([0.0, -300.0, 17.3]),
        quick_acks=rng.choice([0, 16]),
    )


def draw_names(rng: Random, number: int, kind: str) -> tuple[str, str]:
    """Each control and each scheduler in its turn, the other of the pair at random."""
    if kind == "ltp":
        return "ltp", rng.choice(["none", "layer-pinned"])
    if kind == "steered":
        return AGENT_CONTROLS[number % len(AGENT_CONTROLS)], rng.choice(AGENT_SCHEDULERS)
    controls = (*CONGESTION, AGENT, EXTENSION)
    schedulers = (*SCHEDULERS, AGENT, AGENT_LATE, AGENT_POLICIES, EXTENSION)
    if number % 2:
        return controls[number // 2 % len(controls)], rng.choice(schedulers)
    return rng.choice(controls), schedulers[number // 2 % len(schedulers)]


def draw_parameters(rng: Random, links: tuple[Link, ...]) -> dict[str, dict[str, tuple[float, ...]]]:
    """What ``fixed``, ``open-loop`` and ``ltp`` are given, at times; and Remy's rules."""
    given: dict[str, dict[str, tuple[float, ...]]] = {"remy": {"rules": shipped_numbers()}}
    if maybe(rng, 0.3):
        given["fixed"] = {"cwnd_segments": tuple(rng.randint(2, 200) for _ in links)}
    if maybe(rng, 0.3):
        rates_bps = tuple(link.rate_bps * rng.uniform(0.5, 1.2) for link in links)
        given |= {"open-loop": {"rate_bps": rates_bps}, "ltp": {"rate_bps": rates_bps}}
    return given


def with_parameters(transport: Transport, name: str, values: Mapping[str, tuple[float, ...]]) -> Transport:
    """With these parameters of that control, beside those that it has."""
    given = {**transport.parameters.get(name, {}), **values}
    return replace(transport, parameters={**transport.parameters, name: given})


def draw_trial(seed: int, number: int) -> Trial:
    """The trial of that number."""
    rng = Random(f"{seed}/{number}")
    kind, mode = KINDS[number % len(KINDS)], rng.choice(MODES)
    if kind == "ltp":
        mode = "stream"
    count = rng.choice([1, 2, 2, 3])
    subflows = rng.choice([1, 2, 5, 20]) if mode in ("lanes", "apart") else rng.choice([1, 1, 1, 2])
    trial = {
        "kind": kind,
        "subflows": 1 if kind == "ltp" else subflows,
        "losses": [LOSSES[number // 10 % len(LOSSES)], rng.choice(LOSSES), rng.choice(LOSSES)],
    }
    base = {
        "rate_bps": log_uniform(rng, 1e5, 2e7),
        "delay_s": log_uniform(rng, 5e-3, rng.choice([0.5, 10, 1200])),
    }
    packets = log_uniform(rng, 1000, 60_000)
    base["duration_s"] = max(packets * 12_000 / base["rate_bps"] / count, 12 * base["delay_s"])
    # A long delay needs a slow link, or the trial has more packets than it should.
    base["rate_bps"] = min(base["rate_bps"], packets * 12_000 / base["duration_s"])
    links = tuple(draw_link(rng, i, base, trial) for i in range(count))
    longest_s = max(max(link.delay_ns) for link in links) / S
    congestion, scheduler = draw_names(rng, number, kind)
    extensions: dict[str, Any] = {}
    if congestion == EXTENSION:
        extensions["congestion_extension"] = Extension("HalfWindow", "congestion", HalfWindow, "here", None)
    if scheduler == EXTENSION:
        extensions["scheduler_extension"] = Extension("MostRoom", "scheduler", MostRoom, "here", None)
    lanes = {"stream": 1, "apart": 1}.get(mode, rng.choice([1, 2, 16]))
    layer_links = tuple(rng.randrange(count) for _ in range(4))
    pinned = scheduler == "layer-pinned" and (mode == "apart" or trial["subflows"] == 1) and maybe(rng, 0.5)
    transport = Transport(
        congestion=congestion,
        scheduler=scheduler,
        mode="stream" if mode == "stream" else "lanes",
        lanes_per_link=lanes,
        apart=mode == "apart",
        mss_bytes=rng.choice([500, 1460, 1460]),
        option_bytes=rng.choice([0, 24]),
        initial_cwnd=rng.choice([1, 10, 10]),
        receive_buffer_bytes=rng.choice([0, 0, 30_000, 1_000_000]),
        scale=max(1.0, longest_s / 20) if maybe(rng, 0.7) else 1.0,
        parameters=draw_parameters(rng, links),
        layer_links=layer_links if pinned else (),
    )
    green, limit = rng.randint(-1, 3), rng.choice([0, 1, 20])
    parts = {"green_from_layer": (green,) if green >= 0 else (), "retry_limit": (limit,)}
    transport = with_parameters(transport, "ltp", parts)
    transport = replace(
        transport,
        join_rtts=rng.choice([0.0, 3.0]),
        drop_late=maybe(rng, 0.85),
        layer_first=maybe(rng, 0.5),
    )
    if kind == "steered":
        transport = with_parameters(transport, congestion, {"headroom": (rng.choice([1, 2, 4]),)})
    transport = replace(transport, constants=draw_constants(rng), **extensions)
    total_bps = sum(link.rate_bps for link in links)
    config = EngineConfig(
        seed=rng.randrange(2**31),
        links=links,
        transport=transport,
        objects=draw_objects(rng, total_bps, base["duration_s"], longest_s),
        slot_ns=ns(max(longest_s / 4, base["duration_s"] / 60)) + 1,
        duration_ns=ns(base["duration_s"] * rng.choice([1.0, 1.5, 3.0])) + 1,
        trace=maybe(rng, 0.25),
    )
    return Trial(number, kind, mode, config)


# ------------------------------------------------------------------------------------------------------- running


class Digest:
    """Eight bytes of SHA-256 over whatever is put in, with names and types."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def put(self, name: str, value: Any) -> None:
        """Take a value in under its name."""
        self._hash.update(name.encode())
        if isinstance(value, np.ndarray):
            self._hash.update(f"{value.dtype} {value.shape}".encode())
            self._hash.update(np.ascontiguousarray(value).tobytes())
        elif isinstance(value, float):
            self._hash.update(value.hex().encode())
        else:
            self._hash.update(repr(value).encode())

    def put_all(self, values: Iterable[tuple[str, Any]]) -> None:
        """Take pairs of names and values in."""
        for name, value in values:
            self.put(name, value)

    def text(self) -> str:
        """As it is written down."""
        return self._hash.hexdigest()[:16]


def digests(result: EngineResult) -> dict[str, str]:
    """The parts of a result that the engine itself answers."""
    parts = {part: Digest() for part in PARTS[:6]}
    parts["objects"].put_all(vars(result.objects).items())
    parts["objects"].put("end_ns", result.end_ns)
    parts["samples"].put_all(vars(result.samples).items())
    for name, value in sorted(result.totals.items()):
        parts["cost" if name in COST else "totals"].put(name, value)
    for flow in result.flows:
        parts["flows"].put_all(vars(flow).items())
    for table in (result.trace, result.steps):
        parts["trace"].put_all([] if table is None else vars(table).items())
    return {part: digest.text() for part, digest in parts.items()}


def act(rng: Random, stepper: Stepper, subflows: int, layers: int, flows: int) -> None:
    """Random actions for the next slot; some say nothing, some ask for too much."""
    for alpha, beta, rows in (
        (stepper.alpha_q16, stepper.beta, subflows),
        (stepper.flow_alpha_q16, stepper.flow_beta, flows),
    ):
        for s in range(rows):
            what = rng.random()
            if what < 0.3:
                alpha[0, s] = SILENT
            elif what < 0.33:
                alpha[0, s] = FALL_BACK
            elif what < 0.5:
                alpha[0, s], beta[0, s] = 0, rng.randint(1, 400)
            else:
                factor = rng.choice([0.5, 0.9, 1.0, 1.1, 1.5, 64.0])
                alpha[0, s] = min(int(factor * ONE_Q16), ALPHA_MAX_Q16)
                beta[0, s] = rng.randint(-5, 20)
    if maybe(rng, 0.5):
        stepper.layer_subflow[0, 0] = KEEP
        return
    for layer in range(layers):
        choices = [AUTOMATIC, REPAIRABLE, AVOID - rng.randrange(subflows), rng.randrange(subflows + 1)]
        stepper.layer_subflow[0, layer] = rng.choice(choices)
        stepper.copied[0, layer] = maybe(rng, 0.2)
    stepper.order[0, 0] = rng.choice([0.0, math.inf, log_uniform(rng, 0.01, 1000)])
    stepper.order[0, 1] = rng.choice([0.0, 0.5, 1.0])


def run_steered(seed: int, trial: Trial) -> tuple[EngineResult, Digest]:
    """A trial stepped to its end under random actions, and what the agent saw on the way."""
    config = trial.config
    subflows = sum(link.subflows for link in config.links)
    layers = int(config.objects.layer.max()) + 1
    flows = sum(flow.congestion == SAME for link in config.links for flow in link.flows)
    stepper = Stepper(1, subflows, layers, flows=flows)
    stepper.load(0, config)
    seen, rng = Digest(), Random(f"actions {seed}/{trial.number}")
    for _ in range(MAX_STEPS):
        act(rng, stepper, subflows, layers, flows)
        stepper.step()
        for name in (
            "done",
            "subflow_values",
            "layer_values",
            "episode_values",
            "flow_values",
            "flow_subflow_values",
        ):
            seen.put(name, getattr(stepper, name))
        if stepper.done[0] != RUNNING:
            break
    return stepper.result(0), seen


def run_trial(seed: int, trial: Trial) -> dict[str, str]:
    """One digest per part; of a trial that the engine refuses or breaks off, the error."""
    bound, values = Digest(), Digest()
    try:
        if trial.kind == "steered":
            result, values = run_steered(seed, trial)
        else:
            result = simulate(trial.config)
        out = digests(result)
        if trial.number % 3 == 0:
            weights = np.linspace(1, 2, len(trial.config.objects.layer))
            bound.put("bound", clairvoyant_weight(trial.config, weights))
    except (ValueError, RuntimeError) as error:
        return {"objects": f"{type(error).__name__}: {PLACE.sub('', str(error))}"}
    return out | {"values": values.text(), "bound": bound.text()}


# ------------------------------------------------------------------------------------------------------ comparing


def coverage(trials: Iterable[Trial]) -> dict[str, Counter[str]]:
    """How many trials have what."""
    out: dict[str, Counter[str]] = {
        name: Counter() for name in ("kind", "mode", "control", "scheduler", "loss", "flow", "has")
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
        }
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
        "has": {
            *("deadlines", "no deadlines", "outages", "endless outages", "cross traffic", "bounded receiver"),
            *("drops", "curved delay", "trace", "layer links"),
        },
    }
    return sorted(f"{what} {name}" for what, names in wanted.items() for name in names - covered[what].keys())


def differing(old: dict[str, str], new: dict[str, str], ignored: Iterable[str] = ()) -> list[str]:
    """The parts in which two results differ, or that one of them lacks."""
    return [part for part in PARTS if part not in ignored and old.get(part) != new.get(part)]


def fail(message: str) -> NoReturn:
    """Say what is wrong with the input and leave."""
    print(f"equal_trials: {message}", file=sys.stderr)
    raise SystemExit(2)


def read(path: Path, drawn: dict[str, Any]) -> list[dict[str, str]]:
    """Take the digests of another build, if they are of the same trials."""
    try:
        document = json.loads(path.read_text())
        trials: list[dict[str, str]] = document.pop("results")
    except (OSError, ValueError, KeyError, AttributeError) as error:
        fail(f"{path}: not written by this program ({error})")
    if document != drawn:
        fail(f"{path} holds other trials: it has {document}, this run {drawn}")
    return trials


def main(argv: list[str] | None = None) -> int:
    """Run the trials; see the top of the file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the digests here")
    parser.add_argument(
        "--against", type=Path, metavar="FILE", help="compare with the digests of another build"
    )
    parser.add_argument("--ignore", action="append", default=[], choices=PARTS, help="a part not to compare")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument(
        "--show", type=int, metavar="NUMBER", help="print one trial's configuration and digests"
    )
    options = parser.parse_args(argv)
    if options.show is not None:
        trial = draw_trial(options.seed, options.show)
        print(trial, *(f"{name}: {value}" for name, value in asdict(trial.config).items()), sep="\n")
        print(run_trial(options.seed, trial))
        return 0
    drawn = {"seed": options.seed, "trials": options.trials}
    drawn["names"] = hashlib.sha256(repr((CONGESTION, SCHEDULERS)).encode()).hexdigest()[:16]
    old = None if options.against is None else read(options.against, drawn)
    trials = [draw_trial(options.seed, number) for number in range(options.trials)]
    began = time.monotonic()
    new = [run_trial(options.seed, trial) for trial in trials]
    errors = [
        f"{trial}: {parts['objects']}" for trial, parts in zip(trials, new, strict=True) if len(parts) == 1
    ]
    print(f"{len(trials)} trials in {time.monotonic() - began:.0f} s, {len(errors)} of them errors")
    print(*errors[:20], sep="\n", end="\n" if errors else "")
    if lacking := missing(coverage(trials)):
        print("no trial has: " + ", ".join(lacking))
    if options.output is not None:
        options.output.write_text(json.dumps(drawn | {"results": new}, indent=0) + "\n")
    if old is None:
        return 0
    changed = [
        (trial, parts)
        for trial, before, after in zip(trials, old, new, strict=True)
        if (parts := differing(before, after, options.ignore))
    ]
    for trial, parts in changed:
        print(f"differs in {', '.join(parts)}: {trial}")
    print(f"{len(changed)} of {len(trials)} trials differ")
    return 1 if changed else 0


if __name__ == "__main__":
    raise SystemExit(main())
