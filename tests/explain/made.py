"""An explanation made by hand: two links, three subflows, and decisions with all numbers given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dstcc.clock import Clock
from dstcc.explain import Explanation, LinkTruth
from dstcc.learn.policies.controller import Decided


def decided(
    t_s: float,
    chose: Mapping[str, str] | None = None,
    *,
    pacing_bps: Sequence[float] = (0.0, 0.0, 0.0),
    **believed: Sequence[float],
) -> Decided:
    """A decision, with a belief about each subflow."""
    return Decided(
        t_s,
        ("a", "b"),
        np.array([t_s, 1.0], dtype=np.float32),
        np.zeros(1, dtype=np.float32),
        {"pacing_bps": np.array(pacing_bps)},
        {name: np.array(values) for name, values in believed.items()},
        dict(chose or {}),
    )


def made(
    decisions: Sequence[Decided],
    sent: Sequence[Sequence[int]],
    lost: Sequence[Sequence[int]],
    **more: Any,
) -> Explanation:
    """``near`` has the first subflow, ``far`` the two others."""
    links = tuple(
        LinkTruth(name, rate, subflows, np.array(given), np.array(gone))
        for (name, rate, subflows), given, gone in zip(
            (("near", 1e6, (0,)), ("far", 2e6, (1, 2))), sent, lost, strict=True
        )
    )
    whole: dict[str, Any] = {
        "trial": "made/s1",
        "scenario": "made",
        "clock": Clock(),
        "policy": "ours",
        "observed": ("a", "b"),
        "decisions": tuple(decisions),
        "end_s": 100.0,
        "links": links,
        "capture_s": np.array([5.0, 100.0, 101.0]),
        "levels": np.array([2, -1, 1]),
        "layers": 3,
    }
    return Explanation(**{**whole, **more})
