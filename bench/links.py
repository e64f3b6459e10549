"""The cost of a year of one-minute link states."""

from __future__ import annotations

import statistics
from datetime import UTC, datetime

import numpy as np
from dstcc_channels.profiles import load_profile
from dstcc_channels.states import link_states

from .figure import Measured, core_s, interleaved, median_ratio

START = datetime(2027, 6, 1, tzinfo=UTC)
"""A year with a solar conjunction, so that the cost includes scintillation."""
MINUTES = 60.0 * np.arange(525_600, dtype=np.float64)
REPEATS = 5


def year_s() -> Measured:
    """Geometry, budget, scintillation and error rates of MRO X to DSS-35 for every minute of a year."""
    profile = load_profile("mro-x-dss35")
    first_s = core_s(lambda: link_states(profile, START, MINUTES))  # imports scipy, builds the tables

    def states() -> float:
        return core_s(lambda: link_states(profile, START, MINUTES))

    def logarithms() -> float:
        return core_s(lambda: [np.log10(MINUTES + 1) for _ in range(10)])

    ours, beside = interleaved(REPEATS, states, logarithms)
    return Measured(
        statistics.median(ours),
        "s CPU",
        "ten logarithms a minute",
        median_ratio(ours, beside),
        repeats=ours,
        details={"first_s": first_s},
        notes=(f"the first call, which imports scipy and builds its tables: {first_s:.3f} s CPU",),
    )
