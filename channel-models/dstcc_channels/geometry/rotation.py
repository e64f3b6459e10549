"""The rotation of a body: its pole, its equator and its prime meridian.

::

    a, d  = at J2000 + rate * centuries + sum A sin E, sum D cos E     right ascension, declination of the pole (ICRF)
    W     = at J2000 + rate * days      + sum B sin E                  from q along its equator to the prime meridian
    E     = at J2000 + rate * days                                     the Moon has 13 of them, planets none
    q     = (-sin a, cos a, 0)                                         where its equator rises through the ICRF's

East longitudes add to W. Source: IAU/IAG working group on cartographic coordinates and rotational elements, report of
2000 (Seidelmann et al., Celest. Mech. Dyn. Astron. 82, 2002), tables I and II, without the Moon's 1.4e-12 deg/day^2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dstcc.errors import InputError

from ..data import nearest, rows
from .bodies import body
from .times import CENTURY_S, DAY_S


@dataclass(frozen=True)
class Term:
    """A periodic part of a rotation, degrees."""

    angle_deg: float
    angle_deg_day: float
    pole_ra_sin_deg: float
    pole_dec_cos_deg: float
    meridian_sin_deg: float

    def angle_rad(self, tdb_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """E at a time."""
        return np.radians(self.angle_deg + self.angle_deg_day * (tdb_s / DAY_S))


@dataclass(frozen=True)
class Rotation:
    """A body's pole and prime meridian at J2000, their rates and periodic terms, degrees."""

    pole_ra_deg: float
    pole_ra_deg_cy: float
    pole_dec_deg: float
    pole_dec_deg_cy: float
    meridian_deg: float
    meridian_deg_day: float
    terms: tuple[Term, ...] = field(default=(), kw_only=True)

    @property
    def rate_rad_s(self) -> float:
        """Rate of the sidereal rotation; negative for Venus."""
        return float(np.radians(self.meridian_deg_day)) / DAY_S

    def equator(self, tdb_s: ArrayLike) -> NDArray[np.float64]:
        """The equator's frame in the ICRF, ``(.., 3, 3)``: rows q, 90 degrees east of it, and the pole."""
        at = np.asarray(tdb_s, dtype=np.float64)
        ra = self.pole_ra_deg + self.pole_ra_deg_cy * at / CENTURY_S
        dec = self.pole_dec_deg + self.pole_dec_deg_cy * at / CENTURY_S
        for term in self.terms:
            ra = ra + term.pole_ra_sin_deg * np.sin(term.angle_rad(at))
            dec = dec + term.pole_dec_cos_deg * np.cos(term.angle_rad(at))
        ra, dec = np.radians(ra), np.radians(dec)
        node = np.stack([-np.sin(ra), np.cos(ra), np.zeros_like(ra)], axis=-1)
        pole = np.stack([np.cos(dec) * np.cos(ra), np.cos(dec) * np.sin(ra), np.sin(dec)], axis=-1)
        return np.stack([node, np.cross(pole, node), pole], axis=-2)

    def meridian_rad(self, tdb_s: ArrayLike) -> NDArray[np.float64]:
        """From q to the prime meridian, radians."""
        at = np.asarray(tdb_s, dtype=np.float64)
        meridian = self.meridian_deg + self.meridian_deg_day * (at / DAY_S)
        for term in self.terms:
            meridian = meridian + term.meridian_sin_deg * np.sin(term.angle_rad(at))
        return np.asarray(np.radians(meridian), dtype=np.float64)


@cache
def _rotations() -> dict[str, Rotation]:
    def numbers(row: dict[str, str]) -> list[float]:
        return [float(row[key]) for key in row if key not in ("body", "ref")]

    terms = [(row["body"], Term(*numbers(row))) for row in rows("rotation-terms.csv")]
    return {
        row["body"]: Rotation(*numbers(row), terms=tuple(term for name, term in terms if name == row["body"]))
        for row in rows("rotation.csv")
    }


def rotation(name: str) -> Rotation:
    """The rotation of the body called ``name``; ``InputError`` for one whose rotation is not in our table."""
    match = _rotations().get(body(name).name)
    if match is None:
        raise InputError(f"no rotation is known of {name!r}: {nearest(name, _rotations())}")
    return match
