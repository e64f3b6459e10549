"""Weather: the attenuation by the atmosphere at a site, as a share of time and as a process in time.

::

    A(cd)         zenith attenuation not exceeded in a share cd of the time (tables/zenith.csv)
    dX = -b X dt + sqrt(2 b) dW                a stationary Gauss-Markov process with mean 0 and variance 1
    cd(t) = Phi(X(t)),   A(t) = A(cd(t))       so that every exceedance share of the table is kept

The states ``clear``, ``cloudy``, ``rain`` and ``storm`` name the table's decades (exceeded in more than 10 %, 10 to
1 %, 1 to 0.1 %, less than 0.1 % of the time). Between rows log A is linear over log(1 - cd); outside them the first
or last row holds. Source of the process and of b: ITU-R P.1853 (Maseng and Bakken 1981), which states it for rain.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dstcc.errors import InputError

from .chance import generator
from .data import nearest, rows

DECAY_PER_S = 2e-4
"""b of ITU-R P.1853: the weather decorrelates in about 1.4 hours."""
STATES = ("clear", "cloudy", "rain", "storm")
STATE_BOUNDS_CD = (0.9, 0.99, 0.999)
"""Where one state ends and the next begins."""


def zenith_db(site: str, band: str, cd: ArrayLike) -> NDArray[np.float64]:
    """Zenith attenuation in dB that is not exceeded in a share ``cd`` of the time, any shape.

    Raises :class:`InputError` for a site without rows in the band.
    """
    depth, log_db = _curve(site, band)
    with np.errstate(divide="ignore"):  # cd = 1 lies beyond the last row
        return np.asarray(np.exp(np.interp(-np.log10(1 - np.asarray(cd, dtype=np.float64)), depth, log_db)))


def weather_cd(site: str, t_s: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """The weather's percentile over time at a site, seeded; a year of minutes takes milliseconds.

    ``t_s`` rises. All bands and links of a site share its weather under the same seed.
    """
    from scipy.signal import lfilter
    from scipy.special import ndtr

    draws = generator("weather", site, seed).standard_normal(len(t_s))
    keep = np.exp(-DECAY_PER_S * np.diff(t_s))
    if len(t_s) > 1 and np.allclose(keep, keep[0], rtol=1e-9):  # one step throughout: a recursive filter
        driven = np.sqrt(1 - keep[0] ** 2) * draws
        driven[0] = draws[0]
        return np.asarray(ndtr(lfilter([1.0], [1.0, -keep[0]], driven)))
    state = draws.copy()
    for step, share in enumerate(keep, 1):
        state[step] = share * state[step - 1] + np.sqrt(1 - share**2) * draws[step]
    return np.asarray(ndtr(state))


def state_of(cd: ArrayLike) -> NDArray[np.int64]:
    """The index in :data:`STATES` of each percentile."""
    return np.searchsorted(STATE_BOUNDS_CD, np.asarray(cd, dtype=np.float64), side="right")


@cache
def _curve(site: str, band: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    known = sorted({(row["site"], row["band"]) for row in rows("zenith.csv")})
    if (site, band) not in known:
        names = [f"{place}/{which}" for place, which in known]
        raise InputError(f"weather of {site}/{band}: not in zenith.csv; {nearest(f'{site}/{band}', names)}")
    points = [
        (float(row["cd"]), float(row["zenith_db"]))
        for row in rows("zenith.csv")
        if (row["site"], row["band"]) == (site, band)
    ]
    cd, attenuation = np.array(sorted(points)).T
    return -np.log10(1 - cd), np.log(attenuation)
