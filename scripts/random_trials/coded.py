"""A drawn trial with its layers coded over packets."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from dstcc.algorithms import CONGESTION
from dstcc.engine import Coding, EngineConfig, Transport

from .chance import maybe

CODES = ("mds", "raptorq")
PLACES = ("same", "other", "spread")
SHARES = (0.0, 0.02, 0.1, 0.5)
WORD_PACKETS = 255
"""Of Reed–Solomon over GF(2^8)."""
MOST_WORDS = 256


def as_coded(rng: Random, config: EngineConfig) -> EngineConfig:
    """The same links and data under ``coded``, which keeps no order; :mod:`.changing` has flows beside it."""
    return replace(
        config,
        links=tuple(replace(link, flows=()) for link in config.links),
        transport=_transport(rng, config.transport),
        coding=_coding(rng, config),
        trace=False,
    )


def _transport(rng: Random, drawn: Transport) -> Transport:
    known = drawn.congestion in CONGESTION or drawn.congestion_extension is not None
    return replace(
        drawn,
        congestion=drawn.congestion if known else rng.choice(CONGESTION),
        scheduler="minrtt",
        scheduler_extension=None,
        mode="coded",
        lanes_per_link=1,
        apart=False,
        layer_links=(),
        receive_buffer_bytes=0,
        handshake=maybe(rng, 0.5),
    )


def _coding(rng: Random, config: EngineConfig) -> Coding:
    objects = config.objects
    chunks, layers = rng.choice([1, 3, 10, 60]), int(objects.layer.max()) + 1
    period = objects.chunk // chunks
    spacing_ns = int(objects.release_ns[-1]) // (int(objects.chunk[-1]) + 1)
    code = rng.choice(CODES)
    words: tuple[int, ...] = ()
    if code == "mds" and maybe(rng, 0.3):
        packets = -(-objects.payload_bytes // config.transport.mss_bytes)
        most = max(int(packets[period == number].sum()) for number in range(int(period[-1]) + 1))
        words = (min(1 + 2 * most // WORD_PACKETS, MOST_WORDS),) * layers
    return Coding(
        period=period,
        block_ns=max(chunks * spacing_ns, 1),
        repair=None if maybe(rng, 0.5) else tuple(rng.choice(SHARES) for _ in range(layers)),
        code=code,
        place=rng.choice(PLACES),
        word_packets=WORD_PACKETS if words else 0,
        words=words,
    )
