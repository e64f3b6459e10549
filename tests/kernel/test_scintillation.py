"""Fades near the Sun last as many packets on the kernel as in the simulator, whatever the scintillation index."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from dstcc_channels.codes import code
from dstcc_kernel import backend, guest
from dstcc_kernel.netem import GilbertElliott
from dstcc_kernel.plan import way_of

from dstcc.engine import Link, Loss
from dstcc.engine.simulate import channel_losses
from dstcc.scenario.losses import Drawing, LossModel

NAME, RATE_BPS, SCALE = "ccsds-turbo-1/2-8920", 500e3, 60.0
COHERENCE_NS = 182_000_000
"""Of X band. At 500 kbit/s 7.6 packets of 1,500 bytes."""
INDEXES = (0.0, 0.3, 0.7)
PACKETS = 60_000
"""With a tenth to a half of them lost in bursts of up to a dozen there are a thousand bursts and more, whose mean
length is good to 3 %. Without fading a tenth is lost too, in bursts of two."""


def faded(index: float) -> Loss:
    """A tenth of the packets or more are lost: at FER 0.04 without fading, 1 dB above the threshold with it."""
    known = code(NAME)
    ebn0_db = known.required_ebn0_db(1e-4) + 1 if index else known.required_ebn0_db(0.04)
    model = LossModel(code=NAME, ebn0_db=ebn0_db)
    loss = model.engine(Drawing(lambda _key, value: float(value)))
    assert loss.frames is not None
    frames = replace(loss.frames, scintillation_index=np.array([index]), coherence_ns=COHERENCE_NS)
    return replace(loss, frames=frames)


def chain_of(index: float) -> GilbertElliott:
    way = way_of(RATE_BPS, 10**6, [(0, 10**9)], faded(index), (), packet_bytes=1500, scale=SCALE)
    [step] = way.steps
    assert isinstance(step.loss, GilbertElliott)
    return step.loss


def bursts(lost: np.ndarray) -> float:
    """Their mean length."""
    edges = np.diff(np.concatenate(([False], lost, [False])).astype(int))
    return float(lost.sum() / (edges == 1).sum())


def simulated(index: float, packets: int = 10 * PACKETS) -> np.ndarray:
    link = Link(
        name="link",
        rate_bps=RATE_BPS,
        up_rate_bps=RATE_BPS,
        delay_t_ns=(0,),
        delay_ns=(10**9,),
        queue_bytes=10**6,
        up_queue_bytes=10**6,
        loss=faded(index),
        up_loss=Loss(),
    )
    return channel_losses(link, 1, 0, 1500, packets)


@pytest.mark.parametrize("index", INDEXES)
def test_the_plans_chain_has_the_simulators_losses_and_bursts(index: float) -> None:
    lost, chain = simulated(index), chain_of(index)
    assert chain.p / (chain.p + chain.r) == pytest.approx(lost.mean(), rel=0.05)
    assert 1 / chain.r == pytest.approx(bursts(lost), rel=0.05)


def test_a_fade_is_many_packets_long() -> None:
    # What the chain had before was the unfaded code's: 1/r of 1.6 packets, whatever the index.
    lengths = [1 / chain_of(index).r for index in INDEXES]
    assert lengths[0] < 2
    assert 7 < lengths[1] < lengths[2]


@pytest.mark.parametrize(("index", "more"), [(0.0, 1.35), (0.3, 1.6), (0.7, 1.7)])
def test_losses_of_the_plans_chain_vary_more_than_the_simulators(index: float, more: float) -> None:
    # What docs/kernel.md says. Bursts as long, but of geometric lengths: the variance of the losses among many packets
    # is (1 + rho) / (1 - rho) times that of independent ones, rho = 1 - p - r.
    window = 500
    lost, chain = simulated(index), chain_of(index)
    counts = lost.reshape(-1, window).sum(axis=1)
    there = counts.var() / (window * lost.mean() * (1 - lost.mean()))
    rho = 1 - chain.p - chain.r
    assert (1 + rho) / (1 - rho) / there == pytest.approx(more, rel=0.15)


def test_acknowledgements_fade_by_the_time_between_them() -> None:
    # An ACK for two full packets is there each 48 ms, a quarter of a fade: it shares the gain of the one before it in
    # 1 - 48/182 of the cases, and bursts are shorter than those of ACKs in a row would be.
    def length(every_s: float) -> float:
        way = way_of(
            256e3, 10**6, [(0, 10**9)], faded(0.7), (), packet_bytes=40, scale=SCALE, every_s=every_s
        )
        assert isinstance(way.steps[0].loss, GilbertElliott)
        return 1 / way.steps[0].loss.r

    assert 3 < length(0.048) < 8
    assert length(0.0) > 100


SEND = """
import socket, sys
from dstcc_kernel.netem import GilbertElliott, stream
from dstcc_kernel.topology import Shape, Wire, build, craft_address, earth_address, inside
packets = int(sys.argv[1])
with build(1 << 22) as hosts:
    for link, words in enumerate(sys.argv[2:]):
        shape = Shape(1_000_000, GilbertElliott(*map(float, words.split())), 1e9, 10_000, stream(1, link))
        clear = Shape(1_000_000, 0.0, 1e9, 10_000)
        hosts.lay(link, Wire(shape, clear, 1500, 0, 0, 10), [craft_address(link)])
        with inside(hosts.earth):
            earth = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with inside(hosts.craft):
            craft = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        earth.bind((earth_address(link), 5000))
        earth.settimeout(0.1)
        arrived = bytearray(packets)
        for first in range(0, packets, 100):
            for number in range(first, first + 100):
                craft.sendto(number.to_bytes(4, "big"), (earth_address(link), 5000))
            try:
                while True:
                    number = int.from_bytes(earth.recv(4), "big")
                    arrived[number] = 1
                    if number == first + 99:
                        break
            except TimeoutError:
                pass
        for first in range(0, packets, 1000):
            print("arrived", link, "".join(map(str, arrived[first : first + 1000])))
"""


def sent(kernel: Path, out: Path, chains: Sequence[GilbertElliott]) -> list[np.ndarray]:
    """Which of so many packets a guest's netem loses with each chain."""
    words = [sys.executable, "-c", SEND, str(PACKETS)]
    words += [f"{chain.p!r} {chain.r!r} {chain.good!r} {chain.bad!r}" for chain in chains]
    where = {"PYTHONPATH": backend.python_path()}
    done = guest.run(kernel, words, out=out, seed=1, memory_mb=256, wall_s=600, environment=where)
    text = done.console.read_text()
    assert done.exit_code == 0, text[-3000:]
    lines = [line.split() for line in text.splitlines() if line.startswith("arrived ")]
    fates = ["".join(line[2] for line in lines if line[1] == str(link)) for link in range(len(chains))]
    return [np.frombuffer(fate.encode(), dtype=np.uint8) == ord("0") for fate in fates]


@pytest.mark.kernel
def test_a_guests_netem_loses_in_the_simulators_bursts(kernel: Path, tmp_path: Path) -> None:
    found = sent(kernel, tmp_path / "out", [chain_of(index) for index in INDEXES])
    for index, lost in zip(INDEXES, found, strict=True):
        assert bursts(lost) == pytest.approx(bursts(simulated(index)), rel=0.1), index
