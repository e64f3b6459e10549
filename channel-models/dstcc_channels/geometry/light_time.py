"""Light time and directions between bodies, corrected for the time that light travels.

::

    received at t:   tau = |target(t - tau) - origin(t)| / c       what the origin sees
    sent at t:       tau = |target(t + tau) - origin(t)| / c       where the origin's signal arrives

Both are solved by fixed-point iteration, which gains a factor v/c (1e-4) per iteration. The two differ by tau times the
rate of the distance over c: tens of milliseconds between Earth and Mars. A packet that leaves Mars at t takes
``light_time_s("mars", "earth", .., sent=True)``.

Long series are computed every three hours and interpolated by a cubic spline: the fastest motion, the Moon's orbit,
takes 27 days, and the spline stays within 1e-6 s and 1e-6 degrees of the exact solution (tests check that). Distances
are between the centres of the bodies; a station on the near side is up to 21 ms closer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dstcc.errors import InputError

from .bodies import body
from .ephemeris import Ephemeris, ephemeris_over
from .times import tdb_s

LIGHT_M_S = 299_792_458.0
"""Speed of light, exact (SI)."""
NODE_S = 10_800.0
"""Distance of the exact points of a long series."""
MARGIN_NODES = 3
"""Exact points beyond both ends, where a spline that knows no slope is weakest."""
ITERATIONS = 4
"""Iterations of the fixed point: (v/c)^4 = 1e-16 is below a float's precision."""


def light_time_s(
    origin: str,
    target: str,
    start: datetime,
    t_s: ArrayLike,
    *,
    ephemeris: str = "kepler",
    sent: bool = False,
) -> NDArray[np.float64]:
    """One-way light time between two bodies' centres in seconds, at ``t_s`` seconds after ``start``; shape of ``t_s``.

    Of light that ``origin`` receives at that time, or, with ``sent``, that leaves ``origin`` then. Raises
    ``InputError`` for an unknown body or a date that the ephemeris does not cover, ``MissingCapabilityError`` for
    ``ephemeris="de421"`` without skyfield.
    """
    times, solve = _prepared((origin, target), start, t_s, ephemeris, sent)
    return over_time(lambda at: solve(at)[0], times).reshape(np.shape(t_s))


def sight_m(
    origin: str,
    target: str,
    start: datetime,
    t_s: ArrayLike,
    *,
    ephemeris: str = "kepler",
    sent: bool = False,
) -> NDArray[np.float64]:
    """From ``origin`` at ``t_s`` to where it sees ``target`` (or its signal meets it): ``(n, 3)`` metres, ICRF."""
    times, solve = _prepared((origin, target), start, t_s, ephemeris, sent)
    return over_time(lambda at: solve(at)[1], times)


def over_time(
    exact: Callable[[NDArray[np.float64]], NDArray[np.float64]], times: NDArray[np.float64]
) -> NDArray[np.float64]:
    """``exact`` at each time, by a spline through fewer exact points where that saves work."""
    if times.size == 0:
        return exact(times)
    first = np.floor(times.min() / NODE_S) - MARGIN_NODES
    last = np.ceil(times.max() / NODE_S) + MARGIN_NODES
    if last - first + 1 >= times.size:
        return exact(times)
    from scipy.interpolate import CubicSpline

    nodes = NODE_S * np.arange(first, last + 1)
    return np.asarray(CubicSpline(nodes, exact(nodes))(times), dtype=np.float64)


@dataclass(frozen=True)
class _Pair:
    """Two bodies of one ephemeris; a call gives the light time between them."""

    origin: str
    target: str
    ephemeris: Ephemeris
    epoch_s: float
    sign: float

    def __call__(self, times: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Light time ``(n,)`` and line of sight ``(n, 3)``."""
        at = self.epoch_s + times
        here = self.ephemeris.position_m(self.origin, at)
        away = np.zeros(times.size)
        sight = np.zeros_like(here)
        for _ in range(ITERATIONS):
            sight = self.ephemeris.position_m(self.target, at + self.sign * away) - here
            away = np.sqrt(np.sum(sight**2, axis=1)) / LIGHT_M_S
        return away, sight


def _prepared(
    pair: tuple[str, str], start: datetime, t_s: ArrayLike, ephemeris: str, sent: bool
) -> tuple[NDArray[np.float64], _Pair]:
    times = np.asarray(t_s, dtype=np.float64).ravel()
    origin, target = (body(name).name for name in pair)
    if origin == target:
        raise InputError(f"a light time needs two bodies, not {origin!r} twice")
    covering = ephemeris_over(ephemeris, start, times)
    return times, _Pair(origin, target, covering, tdb_s(start), 1.0 if sent else -1.0)
