"""The cost and the accuracy of the built-in geometry: ``python -m bench.geometry`` prints the accuracy.

The accuracy is that against DE421 over the dates that the built-in elements cover, as seen from the Earth.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np
from dstcc_channels.geometry import BODIES, EPHEMERIDES, elevation_deg, light_time_s, sight_m
from dstcc_channels.geometry.de421 import position_m

from .figure import Measured, core_s, interleaved, median_ratio

START = datetime(2026, 11, 21, tzinfo=UTC)
YEAR_MINUTES = 525_600
EXACT_MINUTES = 5_256
"""Every hundredth minute: enough for the exact computation, whose cost is proportional to the points."""
REPEATS = 5
STEP_S = 5 * 86_400.0
"""Step between the compared dates: errors change over weeks, the Moon's over days."""


def light_time_us() -> Measured:
    """A year of minutes: light time to Mars and its elevation over one station, per minute of the year."""
    minutes = 60.0 * np.arange(YEAR_MINUTES, dtype=np.float64)
    some = np.arange(0, 60.0 * YEAR_MINUTES, 60.0 * YEAR_MINUTES / EXACT_MINUTES, dtype=np.float64)
    position_m("mars", some[:1])  # reads the kernel

    def ours() -> float:
        def work() -> None:
            light_time_s("earth", "mars", START, minutes)
            elevation_deg("goldstone", "mars", START, minutes)

        return core_s(work) / minutes.size * 1e6

    def exact() -> float:
        def work() -> None:
            for _ in range(5):  # the observer, and the target four times until the light time converges
                position_m("mars", some)

        return core_s(work) / some.size * 1e6

    spline, kernel = interleaved(REPEATS, ours, exact)
    year_s = statistics.median(spline) * YEAR_MINUTES / 1e6
    return Measured(
        statistics.median(spline),
        "us CPU",
        "skyfield, five DE421 places",
        median_ratio(spline, kernel),
        repeats=spline,
        details={"year_s": year_s, "skyfield_us": statistics.median(kernel)},
        notes=(f"a year of minutes, light time and elevation: {year_s:.3f} s CPU",),
    )


def accuracy() -> Iterator[str]:
    """The rows of docs/geometry.md's table."""
    covered = EPHEMERIDES["kepler"]
    times = np.arange(STEP_S, (covered.last - covered.first).total_seconds() - STEP_S, STEP_S)
    yield "| body | light time, worst | root mean square | direction, worst |"
    yield "|---|---|---|---|"
    for name in BODIES:
        if name == "earth":
            continue
        away, exact = (
            light_time_s("earth", name, covered.first, times, ephemeris=ephemeris)
            for ephemeris in ("kepler", "de421")
        )
        sight, true = (
            sight_m("earth", name, covered.first, times, ephemeris=ephemeris)
            for ephemeris in ("kepler", "de421")
        )
        across = np.linalg.norm(np.cross(sight, true), axis=1)
        angle = np.degrees(np.arctan2(across, np.sum(sight * true, axis=1)))
        error = away - exact
        rms = float(np.sqrt(np.mean(error**2)))
        yield f"| {name} | {np.abs(error).max():.2g} s | {rms:.2g} s | {angle.max():.2g}° |"


if __name__ == "__main__":
    print("\n".join(accuracy()))
