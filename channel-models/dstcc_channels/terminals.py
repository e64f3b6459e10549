"""Ground terminals: gain and noise temperature over elevation and weather.

::

    G(e) = G0 - G1 (e - gamma)^2                       antenna alone, dBi
    A(e) = Azen / sin e,    L = 10^(A / 10)            flat atmosphere
    T(e) = T1 + T2 exp(-a e) + (255 + 25 CD)(1 - 1/L) + 2.725 / L
    G/T  = G - A - 10 log10 T                          as the handbook plots it

e is the elevation in degrees, CD the share of time in which the weather is no worse. Source: DSN 810-005 module 104,
appendix A, and module 105; a row's own source is in ``tables/terminals.csv``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dstcc.errors import InputError

from .data import nearest, rows

BACKGROUND_K = 2.725
"""The cosmic microwave background."""


@dataclass(frozen=True)
class Terminal:
    """One station in one band."""

    station: str
    band: str
    site: str
    """Site whose weather it has."""
    g0_dbi: float
    g1_db_per_deg2: float
    gamma_deg: float
    t1_k: float
    t2_k: float
    a_per_deg: float
    up_g0_dbi: float | None
    """Gain towards the spacecraft; ``None`` where our sources list no transmitter."""
    up_power_w: float | None
    ref: str

    def gain_dbi(self, elevation_deg: ArrayLike) -> NDArray[np.float64]:
        """Receiving gain without the atmosphere, dBi, at each elevation in degrees."""
        return self.g0_dbi - self._sag_db(elevation_deg)

    def up_eirp_dbw(self, elevation_deg: ArrayLike) -> NDArray[np.float64]:
        """Radiated power towards the spacecraft, dBW. Raises :class:`InputError` without a transmitter."""
        if self.up_g0_dbi is None or self.up_power_w is None:
            raise InputError(f"station = '{self.station}': no {self.band}-band transmitter in terminals.csv")
        boresight_dbw = 10 * float(np.log10(self.up_power_w)) + self.up_g0_dbi
        return boresight_dbw - self._sag_db(elevation_deg)

    def noise_k(self, elevation_deg: ArrayLike, zenith_db: ArrayLike, cd: ArrayLike) -> NDArray[np.float64]:
        """System noise temperature in kelvin; the arguments broadcast."""
        receiver_k = self.t1_k + self.t2_k * np.exp(
            -self.a_per_deg * np.asarray(elevation_deg, dtype=np.float64)
        )
        through = 10 ** (-atmosphere_db(elevation_deg, zenith_db) / 10)
        mean_radiating_k = 255 + 25 * np.asarray(cd, dtype=np.float64)
        return np.asarray(receiver_k + mean_radiating_k * (1 - through) + BACKGROUND_K * through)

    def _sag_db(self, elevation_deg: ArrayLike) -> NDArray[np.float64]:
        off: NDArray[np.float64] = np.asarray(elevation_deg, dtype=np.float64) - self.gamma_deg
        return self.g1_db_per_deg2 * off * off


def atmosphere_db(elevation_deg: ArrayLike, zenith_db: ArrayLike) -> NDArray[np.float64]:
    """Attenuation along the path in dB; elevation in degrees, above 0."""
    return np.asarray(zenith_db / np.sin(np.radians(elevation_deg)), dtype=np.float64)


@cache
def terminal(station: str, band: str) -> Terminal:
    """The terminal of that station and band. Raises :class:`InputError` with the known ones."""
    table = {(row["station"], row["band"]): row for row in rows("terminals.csv")}
    stations = sorted({name for name, _ in table})
    if station not in stations:
        raise InputError(f"station = {station!r}: not known; {nearest(station, stations)}")
    if (station, band) not in table:
        bands = sorted(known for name, known in table if name == station)
        raise InputError(f"band = {band!r}: {station} has no such receiver; allowed: {', '.join(bands)}")
    row = table[station, band]
    numbers = {
        key: float(row[key]) for key in ("g0_dbi", "g1_db_per_deg2", "gamma_deg", "t1_k", "t2_k", "a_per_deg")
    }
    up_gain, up_power = (float(row[key]) if row[key] else None for key in ("up_g0_dbi", "up_power_w"))
    return Terminal(
        station, band, row["site"], **numbers, up_g0_dbi=up_gain, up_power_w=up_power, ref=row["ref"]
    )
