"""The ephemerides by name, and the dates that each covers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from dstcc.errors import InputError

from ..data import nearest
from . import de421, kepler
from .times import iso, utc


@dataclass(frozen=True)
class Ephemeris:
    """Where bodies are over time."""

    name: str
    position_m: Callable[[str, NDArray[np.float64]], NDArray[np.float64]]
    """Body and ``(n,)`` seconds of TDB since J2000 to ``(n, 3)`` metres in the ICRF; each ephemeris has its origin."""
    first: datetime
    last: datetime


FIRST = datetime(1972, 1, 1, tzinfo=UTC)
"""UTC has whole leap seconds since then; an earlier UTC time is not exact to the second."""
EPHEMERIDES: dict[str, Ephemeris] = {
    ephemeris.name: ephemeris
    for ephemeris in (
        Ephemeris("kepler", kepler.position_m, FIRST, datetime(2050, 1, 1, tzinfo=UTC)),
        # The kernel ends on 2053-10-09; a day of room for light that left earlier or arrives later.
        Ephemeris("de421", de421.position_m, FIRST, datetime(2053, 10, 8, tzinfo=UTC)),
    )
}


def ephemeris_over(name: str, start: datetime, t_s: NDArray[np.float64]) -> Ephemeris:
    """The ephemeris called ``name``, if it covers every time of ``t_s`` (seconds after ``start``).

    Raises ``InputError`` with the key, the date and the range otherwise.
    """
    ephemeris = EPHEMERIDES.get(name)
    if ephemeris is None:
        raise InputError(f"ephemeris: {name!r} is none: {nearest(name, EPHEMERIDES)}")
    if not t_s.size:
        return ephemeris
    if not np.all(np.isfinite(t_s)):
        raise InputError("times after start are finite numbers of seconds")
    for after_s in (0.0, float(t_s.min()), float(t_s.max())):
        try:
            moment: datetime | None = utc(start) + timedelta(seconds=after_s)
        except OverflowError:
            moment = None
        if moment is None or not ephemeris.first <= moment <= ephemeris.last:
            key = f"start = {iso(start)}" + (f" and {after_s:g} s more" if after_s else "")
            date = "" if moment is None or not after_s else f", {iso(moment)},"
            raise InputError(
                f"{key}{date} is outside what ephemeris = {name!r} covers, "
                f"{iso(ephemeris.first)} to {iso(ephemeris.last)}"
            )
    return ephemeris
