"""Named random streams: the same name and seed give the same numbers, whatever else is drawn."""

from __future__ import annotations

import hashlib

import numpy as np


def generator(*name: object) -> np.random.Generator:
    """The random generator of this name, for instance ``("weather", "madrid", seed)``; no other name shares it."""
    text = "\0".join(("dstcc_channels", *map(str, name)))
    return np.random.Generator(
        np.random.Philox(int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big"))
    )
