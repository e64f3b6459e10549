"""The layers of steered streams on both backends, link by link, the agent's decisions the same on both.

    python -m experiments.recorded_agent [--draw N]... [--policy NAME] [--duration S] [--losses SEEDS]

Links as `--draw` of examples/iodst/four-hours-quarter.toml draws them (3 and 4 where none is named), in one MPTCP
connection. What the policy decides in the simulator is replayed on the kernel slot by slot, as its own decisions
part wherever two actions are nearly equal. A row a layer: its bytes on each link, sent for the first time. Without
`--losses` nothing is lost; with it each backend has that many seeds of losses on the frozen links, under what the
policy decided where nothing was, and a cell is a mean and its standard deviation.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from dstcc_kernel.backend import run

from dstcc.engine import AGENT, EngineConfig, EngineResult, Loss
from dstcc.engine.config import subflow_links
from dstcc.learn.policies.controller import Decided
from dstcc.learn.policies.policy import Policy, load_policy
from dstcc.scenario import draw_trial, engine_config, load_scenario, load_source

if TYPE_CHECKING:
    from numpy.typing import NDArray


MISSION = Path(__file__).parents[1] / "examples/iodst/four-hours-quarter.toml"
DRAWS = (3, 4)
DEEP_PACKETS = 1 << 16
"""Queues in which nothing is lost."""
TICK_NS = 2_000_000
"""How often the kernel's program looks: else a two-thousandth of a round trip, by which it sees a join later than the
simulator, and a decision may come in between."""
NOTHING_MB = 1e-3
"""A packet more or less on all seeds is no chance."""


def trial(draw: int, duration_s: float | None = None, *, lossless: bool) -> EngineConfig:
    """The mission of a draw of its links as one connection."""
    lanes = load_scenario(MISSION)
    scenario = lanes.model_copy(update={"transport": lanes.transport.model_copy(update={"mode": "stream"})})
    config = engine_config(scenario, draw_trial(scenario, load_source(scenario), draw), AGENT, AGENT)
    full = config.transport.mss_bytes + config.transport.header_bytes
    links = tuple(
        replace(
            link, loss=Loss(), up_loss=Loss(), queue_bytes=DEEP_PACKETS * full, queue_packets=DEEP_PACKETS
        )
        if lossless
        else replace(link, queue_packets=max(1, link.queue_bytes // full))
        for link in config.links
    )
    config = replace(config, links=links, trace=True)
    return config if duration_s is None else replace(config, duration_ns=round(duration_s * 1e9))


def recorded(policy: Policy, config: EngineConfig) -> Policy:
    """The policy's decisions in the simulator, as a policy; the kernel decides for the first time a slot later.

    ValueError for one whose decisions hold for several slots: that slot would part them.
    """
    if policy.action.hold > 1:
        raise ValueError(f"policy {policy.name} holds a decision for {policy.action.hold} slots")
    told: list[Decided] = []
    policy.drive(config, told.append)
    rows = np.nan_to_num([one.outputs for one in told]).astype(np.float32)
    return replace(policy, network={"kind": "recorded"}, tensors={"outputs": rows})


def a_slot_on(policy: Policy) -> Policy:
    """A recorded policy whose first decision is the second one."""
    return replace(policy, tensors={"outputs": policy.tensors["outputs"][1:]})


def simulated_bytes(config: EngineConfig, result: EngineResult) -> NDArray[np.int64]:
    """(layers, links): payload that was sent for the first time."""
    trace = result.trace
    assert trace is not None
    sent = (trace.event == 0) & (trace.syn == 0) & (trace.object >= 0)
    _, first = np.unique(trace.order[sent], return_index=True)
    layer = config.objects.layer[trace.object[sent][first]]
    link = np.array(subflow_links(config.links))[trace.sender[sent][first]]
    placed = np.zeros((config.objects.layers, len(config.links)), dtype=np.int64)
    np.add.at(placed, (layer, link), trace.bytes[sent][first])
    return placed


def kernel_bytes(config: EngineConfig, result: EngineResult) -> NDArray[np.int64]:
    """The same by the kernel's own counters."""
    placed = np.zeros((config.objects.layers, len(config.links)), dtype=np.int64)
    for row in result.placed:
        placed[row.layer, row.link] = row.first_bytes
    return placed


def on_both(policy: Policy, config: EngineConfig) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A trial's bytes in the simulator and on the kernel, under the simulator's decisions."""
    tape = recorded(policy, config)
    ours = tape.drive(config)
    real = run(config, policy=a_slot_on(tape), tick_ns=TICK_NS)
    return simulated_bytes(config, ours), kernel_bytes(config, real)


def lossless_rows(draw: int, policy: Policy, duration_s: float | None) -> list[str]:
    """Of the table."""
    ours, real = on_both(policy, trial(draw, duration_s, lossless=True))
    apart = np.abs(ours - real).max(axis=1) / real.sum(axis=1)
    return [
        f"| {draw} | {layer} | {_cells(ours[layer] / 1e6)} | {_cells(real[layer] / 1e6)} | {100 * apart[layer]:.1f} |"
        for layer in range(len(ours))
    ]


def _cells(values: Sequence[float] | NDArray[np.float64]) -> str:
    return " | ".join(f"{value:.3f}" for value in values)


def lossy_rows(draw: int, policy: Policy, duration_s: float | None, seeds: int) -> list[str]:
    """Of the table with losses."""
    config, tape = (
        trial(draw, duration_s, lossless=False),
        recorded(policy, trial(draw, duration_s, lossless=True)),
    )
    ours, real = [], []
    for seed in range(1, seeds + 1):
        one = replace(config, seed=seed)
        ours.append(simulated_bytes(one, tape.drive(one)))
        real.append(kernel_bytes(one, run(one, policy=a_slot_on(tape), tick_ns=TICK_NS)))
    mine, theirs = np.array(ours) / 1e6, np.array(real) / 1e6
    return [
        f"| {draw} | {layer} | {link + 1} | {_spread(mine[:, layer, link])} | {_spread(theirs[:, layer, link])} | "
        f"{_apart(mine[:, layer, link], theirs[:, layer, link])} |"
        for layer in range(mine.shape[1])
        for link in range(mine.shape[2])
    ]


def _spread(values: NDArray[np.float64]) -> str:
    return f"{values.mean():.3f} ± {values.std(ddof=1):.3f}"


def _apart(mine: NDArray[np.float64], theirs: NDArray[np.float64]) -> str:
    """The ratio of the means, and how many standard errors they are apart where anything is left to chance."""
    error = sqrt(mine.var(ddof=1) / len(mine) + theirs.var(ddof=1) / len(theirs))
    ratio = f"{mine.mean() / theirs.mean():.3f}" if theirs.any() else "–"
    return f"{ratio} | {(mine.mean() - theirs.mean()) / error:+.1f}" if error > NOTHING_MB else f"{ratio} | –"


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--draw", action="append", type=int)
    parser.add_argument("--policy", default="iodst-dqn+")
    parser.add_argument("--duration", type=float, help="seconds of the mission; all of it where not given")
    parser.add_argument("--losses", type=int, metavar="SEEDS", help="seeds of losses a backend, two at least")
    options = parser.parse_args(argv)
    policy = load_policy(options.policy)
    if options.losses:
        print(
            "| draw | layer | link | simulator, MB | kernel, MB | ratio | z |\n|---|---|---|---|---|---|---|",
            flush=True,
        )
    else:
        print(
            "| draw | layer | simulator: link 1, MB | link 2 | kernel: link 1, MB | link 2 | apart, % |\n"
            "|---|---|---|---|---|---|---|",
            flush=True,
        )
    for draw in options.draw or DRAWS:
        rows = (
            lossy_rows(draw, policy, options.duration, options.losses)
            if options.losses
            else lossless_rows(draw, policy, options.duration)
        )
        print("\n".join(rows), flush=True)


if __name__ == "__main__":
    main()
