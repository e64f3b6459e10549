"""Stations' elevations beside skyfield's, and when they see Mars."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from dstcc_channels.geometry import (
    BODIES,
    STATIONS,
    elevation_deg,
    intersection,
    station,
    total_s,
    union,
    visibility,
)
from dstcc_channels.geometry.de421 import _kernel
from dstcc_channels.geometry.stations import _of_date
from dstcc_channels.geometry.times import tdb_s

from dstcc.errors import InputError

START = datetime(2026, 11, 21, tzinfo=UTC)
DAY_S = 86_400.0
HOURS = {"goldstone": 11.7, "madrid": 11.8, "canberra": 8.9}
"""Mars above 10 degrees on 2026-11-21, to a tenth of an hour."""


@pytest.mark.parametrize("ephemeris", ["kepler", "de421"])
@pytest.mark.parametrize(("site", "hours"), HOURS.items())
def test_hours_above_ten_degrees(site, hours, ephemeris):
    seen = visibility(site, "mars", START, DAY_S, ephemeris=ephemeris)
    assert total_s(seen) / 3600 == pytest.approx(hours, abs=0.05)


def test_two_sites_see_mars_at_once_a_third_of_the_day():
    seen = [visibility(site, "mars", START, DAY_S) for site in HOURS]
    two = union(*(intersection(seen[i], seen[j]) for i in range(3) for j in range(i)))
    assert total_s(two) / DAY_S == pytest.approx(0.35, abs=0.005)


@pytest.mark.parametrize("name", ["mars", "moon", "venus"])
@pytest.mark.parametrize("year", [1980, 2026, 2049])
def test_elevations_are_skyfields(name, year):
    from skyfield.api import wgs84

    planets, scale = _kernel()
    seconds = np.arange(0, DAY_S, 5400)
    for site in HOURS:
        up, (x, y, _) = station(site).up, station(site).earth_fixed_m
        place = wgs84.latlon(np.degrees(np.arcsin(up[2])), np.degrees(np.arctan2(y, x)), elevation_m=900.0)
        seen = (planets["earth"] + place).at(scale.utc(year, 11, 21, 0, 0, seconds))
        theirs = seen.observe(planets[BODIES[name].kernel]).apparent().altaz()[0].degrees
        ours = elevation_deg(site, name, datetime(year, 11, 21), seconds, ephemeris="de421")
        # Nutation 10", aberration 20", UT1 - UTC up to 0.9 s = 14": 0.01 degrees.
        assert np.abs(ours - theirs).max() < 0.012


def test_the_pole_of_date_is_that_of_iers():
    """Conventions (2010), equation 5.16: X and Y to the second power of centuries, after fifty years, in seconds."""
    at = datetime(2000, 1, 1) + timedelta(
        days=18262.5
    )  # half a century after J2000, but for half a day and a minute
    t = tdb_s(at) / (36525 * DAY_S)
    arcsec = np.pi / 648_000
    pole = (2004.191898 * t - 0.4297829 * t**2) * arcsec, (-0.025896 * t - 22.4072747 * t**2) * arcsec
    x, y, z = (column.tolist() for column in _of_date(np.eye(3), at, np.zeros(3)))
    assert x == pytest.approx([1, 0, -pole[0]], abs=1e-12)
    assert y == pytest.approx([0, 1, -pole[1]], abs=1e-12)
    assert z == pytest.approx([*pole, 1], abs=1e-12)
    assert pole[0] / arcsec == pytest.approx(1001.99, abs=0.1) and pole[1] / arcsec == pytest.approx(
        -5.61, abs=0.02
    )


def test_a_window_ends_where_the_body_crosses_the_mask():
    for edge in np.ravel(visibility("goldstone", "mars", START, DAY_S, mask_deg=20.0)):
        assert float(elevation_deg("goldstone", "mars", START, edge)) == pytest.approx(20.0, abs=1e-3)


def test_verticals_are_geodetic():
    # DSS-14: 35 deg 25' 33.2432" N, 243 deg 6' 37.66 E (810-005, module 301).
    up = station("dss-14").up
    assert np.degrees(np.arcsin(up[2])) == pytest.approx(35 + 25 / 60 + 33.24 / 3600, abs=1e-5)
    assert np.degrees(np.arctan2(up[1], up[0])) % 360 == pytest.approx(243 + 6 / 60 + 37.66 / 3600, abs=1e-5)
    for place in STATIONS.values():
        assert np.linalg.norm(place.up) == pytest.approx(1)


def test_a_complex_is_its_large_antenna_and_case_does_not_matter():
    assert station("Goldstone") is STATIONS["dss-14"]
    assert station("DSS-43").complex == "canberra"


def test_an_unknown_station_is_refused_with_the_nearest():
    with pytest.raises(InputError, match="no station is called 'goldstoen': did you mean 'goldstone'"):
        visibility("goldstoen", "mars", START, DAY_S)


def test_the_earth_has_no_elevation():
    with pytest.raises(InputError, match="two bodies"):
        elevation_deg("madrid", "earth", START, 0.0)
