"""The cost of learning: environment steps per second and core (the engine alone), and a policy's decision."""

from __future__ import annotations

import statistics
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dstcc.engine import AGENT, EngineConfig, Objects, Stepper, Transport, simulate
from dstcc.engine.stepper import RUNNING
from dstcc.learn.policies.policy import Policy, load_policy
from dstcc.learn.spaces.branched import JointActions
from dstcc.learn.spaces.observe import ObservationSpec

from .figure import Measured, core_s, interleaved, median_ratio
from .nets import link, ns

EPISODES = 16
RTTS_S = (8.5, 10.0)
"""The shortest round trips of Ha et al.'s table 1, in seconds for its minutes: 82 and 200 packets of BDP."""
RATES_BPS = (115_200, 240_000)
SLOTS = 300


def env_steps_per_s() -> Measured:
    """Slots of one round trip, on one core; both windows are at their BDP, a live source has 90 % of both rates."""
    configs = [_config(seed) for seed in range(EPISODES)]
    stepper = Stepper(EPISODES, 2, 3)
    steps = packets = 0

    def stepped() -> None:
        nonlocal steps, packets
        steps = 0
        for place, config in enumerate(configs):
            stepper.load(place, config)
        stepper.alpha_q16[:], stepper.beta[:] = 0, _windows()
        stepper.layer_subflow[:] = (1, 0, 1)
        while (stepper.done == RUNNING).any():
            steps += int((stepper.done == RUNNING).sum())
            stepper.step()
        packets = sum(int(stepper.result(k).totals.data_packets) for k in range(EPISODES))

    def uninterrupted() -> None:
        for config in configs:
            fixed = replace(
                config.transport, congestion="fixed", parameters={"fixed": {"cwnd_segments": _windows()}}
            )
            simulate(replace(config, transport=fixed))

    stepped()
    times, plain = interleaved(5, lambda: core_s(stepped), lambda: core_s(uninterrupted))
    rates = tuple(steps / spent for spent in times)
    return Measured(
        statistics.median(rates),
        "steps/s/core",
        "CPU of whole trials, windows fixed / stepped",
        median_ratio(plain, times),
        repeats=rates,
        details={"packets_per_step": packets / steps},
        notes=(f"env_steps_per_s: {packets / steps:.0f} data packets a step",),
    )


def inference_us() -> Measured:
    """A decision of two hidden layers of 256 over 2 subflows and 3 layers: observation in, greedy action out.

    The details have the same for the shipped `dstcc`, with 2 and with 8 subflows and 3 layers.
    """
    rng = np.random.default_rng(1)
    observation, action = ObservationSpec("full", 2, 3), JointActions(subflows=2, layers=3)
    widths = (observation.size, 256, 256, action.outputs)
    tensors = {}
    for k, (inputs, outputs) in enumerate(pairwise(widths)):
        tensors[f"layers.{k}.weight"] = rng.normal(0, inputs**-0.5, (outputs, inputs)).astype(np.float32)
        tensors[f"layers.{k}.bias"] = np.zeros(outputs, dtype=np.float32)
    network = {"kind": "mlp", "activation": "relu"}
    policy = Policy(
        algorithm="bench",
        observation=observation,
        action=action,
        network=network,
        tensors=tensors,
        seed=1,
        scenario_sha256="",
    )
    seen = rng.random((1, observation.size)).astype(np.float32)
    times = _decisions_us(policy, seen)
    shipped, shipped_us = load_policy("dstcc-lanes"), {}
    for subflows in (2, 8):
        observation_in = np.zeros((1, shipped.observation.size), dtype=np.float32)
        for place, name in enumerate(shipped.observation.names):
            observation_in[0, place] = name.startswith("layer") and int(name[5]) < 3
            observation_in[0, place] += name.startswith("subflow") and int(name[7]) < subflows
        shipped_us[f"dstcc_{subflows}_subflows_us"] = statistics.median(
            _decisions_us(shipped, observation_in)
        )
    weights = sum(tensor.size for tensor in tensors.values())
    return Measured(
        statistics.median(times),
        "us CPU",
        f"{weights:,} weights",
        repeats=times,
        details={"weights": weights, **shipped_us},
        notes=tuple(f"inference_us: {name} {value:.0f}" for name, value in shipped_us.items()),
    )


def _decisions_us(policy: Policy, seen: NDArray[np.float32]) -> tuple[float, ...]:
    repeats = 2_000

    def decide() -> None:
        for _ in range(repeats):
            policy.act(seen)

    decide()
    return tuple(core_s(decide) / repeats * 1e6 for _ in range(5))


def _windows() -> tuple[int, ...]:
    return tuple(int(rate * rtt / 12_000) for rate, rtt in zip(RATES_BPS, RTTS_S, strict=True))


def _config(seed: int) -> EngineConfig:
    layer_bytes = np.array([15_500, 13_625, 9_750], dtype=np.int64)  # table-1.toml's layers: 311 kbit/s
    chunks = int(SLOTS * RTTS_S[0])
    chunk = np.repeat(np.arange(chunks, dtype=np.int64), 3)
    release = (chunk + 1) * ns(1.0)
    objects = Objects(
        chunk,
        np.tile(np.arange(3, dtype=np.int64), chunks),
        np.tile(layer_bytes, chunks),
        release,
        release + ns(2 * RTTS_S[1]),
    )
    return EngineConfig(
        seed=seed,
        links=tuple(link(rate, rtt) for rate, rtt in zip(RATES_BPS, RTTS_S, strict=True)),
        transport=Transport(AGENT, AGENT, mode="lanes", lanes_per_link=16, layer_first=True),
        objects=objects,
        slot_ns=ns(RTTS_S[0]),
    )
