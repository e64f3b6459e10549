"""How a planet turns: its pole, its equator and its prime meridian.

::

    pole = (a0, d0)                       right ascension and declination, ICRF
    q    = (-sin a0, cos a0, 0)           where its equator rises through the ICRF's
    W    = W0 + rate * days               from q along its equator to the prime meridian; east longitudes add

Source: IAU/IAG working group on cartographic coordinates and rotational elements, report of 2000 (Seidelmann et al.,
Celest. Mech. Dyn. Astron. 82, 2002), table I. Linear in time there, but for the bodies that it gives more terms: they
are left out of the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from dstcc.errors import InputError

from ..data import nearest, rows
from .bodies import body
from .times import CENTURY_S, DAY_S

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Rotation:
    """A planet's pole and prime meridian at J2000 with their rates, degrees."""

    pole_ra_deg: float
    pole_ra_deg_cy: float
    pole_dec_deg: float
    pole_dec_deg_cy: float
    meridian_deg: float
    meridian_deg_day: float

    @property
    def rate_rad_s(self) -> float:
        """Of the sidereal rotation; negative for Venus."""
        return float(np.radians(self.meridian_deg_day)) / DAY_S

    def equator(self, tdb_s: float) -> NDArray[np.float64]:
        """The equator's frame in the ICRF at a time: rows q, 90 degrees east of it, and the pole."""
        centuries = tdb_s / CENTURY_S
        ra = np.radians(self.pole_ra_deg + self.pole_ra_deg_cy * centuries)
        dec = np.radians(self.pole_dec_deg + self.pole_dec_deg_cy * centuries)
        node = np.array([-np.sin(ra), np.cos(ra), 0.0])
        pole = np.array([np.cos(dec) * np.cos(ra), np.cos(dec) * np.sin(ra), np.sin(dec)])
        return np.stack([node, np.cross(pole, node), pole])

    def meridian_rad(self, tdb_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """From q to the prime meridian, radians."""
        return np.radians(self.meridian_deg + self.meridian_deg_day * (tdb_s / DAY_S))


@cache
def _rotations() -> dict[str, Rotation]:
    return {
        row["body"]: Rotation(*(float(row[key]) for key in row if key not in ("body", "ref")))
        for row in rows("rotation.csv")
    }


def rotation(name: str) -> Rotation:
    """How the body called ``name`` turns; ``InputError`` for one whose rotation we have no table of."""
    found = _rotations().get(body(name).name)
    if found is None:
        raise InputError(f"no rotation is known of {name!r}: {nearest(name, _rotations())}")
    return found
