"""Named random streams: the same name and seed give the same numbers, whatever else is drawn."""

from __future__ import annotations

import hashlib

import numpy as np


def generator(*name: object) -> np.random.Generator:
    """A generator of its own for this name, for instance ``("weather", "madrid", seed)``."""
    text = "\0".join(("dstcc_channels", *map(str, name)))
    return np.random.Generator(
        np.random.Philox(int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big"))
    )
