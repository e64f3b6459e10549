"""Named random streams of a training run: each purpose draws from its own, so that one never shifts another."""

from __future__ import annotations

from zlib import crc32

import numpy as np

TRAINING = 1 << 61
"""Scenario seeds of training have this bit, so that no seed a user or an evaluation names is ever trained on."""


def generator(seed: int, name: str) -> np.random.Generator:
    """The generator of a purpose in a run with that seed."""
    return np.random.default_rng([seed, crc32(name.encode())])


def training_seed(seed: int, episode: int) -> int:
    """The scenario seed of a run's n-th training episode: a function of both, with nothing to remember."""
    drawn = int(np.random.SeedSequence([seed, crc32(b"episode"), episode]).generate_state(1, np.uint64)[0])
    return TRAINING | drawn >> 3
