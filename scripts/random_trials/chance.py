"""Draws that several modules need."""

from __future__ import annotations

import math
from random import Random

S = 10**9


def ns(seconds: float) -> int:
    """Seconds in the engine's unit."""
    return round(seconds * S)


def log_uniform(rng: Random, low: float, high: float) -> float:
    """Every order of magnitude alike."""
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def maybe(rng: Random, share: float) -> bool:
    """True so often."""
    return rng.random() < share
