"""A lander's sky: Mars turns as published, and the Earth rises and sets with it."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from dstcc_channels.geometry import (
    CircularOrbit,
    Site,
    areostationary_orbit,
    earth_windows,
    relay_elevation_deg,
    relay_windows,
    site_elevation_deg,
    total_s,
)
from dstcc_channels.geometry.rotation import rotation

from dstcc.errors import InputError

START = datetime(2026, 11, 21, tzinfo=UTC)
DAY_S = 86_400.0
SOL_S = 88_775.244
"""Solar day of Mars."""


def test_the_sun_stands_where_mars24_has_it():
    # M. Allison, R. Schmunk, "Mars24 sunclock: algorithm and worked examples": on 2000-01-06 00:00 UTC the Sun is
    # overhead at 174.726 W and, after their formula for the planetographic declination, 24.99 S.
    at = datetime(2000, 1, 6)
    below = Site("mars", -24.98, 360 - 174.726)
    assert float(site_elevation_deg(below, "sun", at, 0.0)) > 90 - 0.05


def test_the_moon_is_turned_as_spice_has_it():
    # CSPICE, frame IAU_MOON with pck00011.tpc, 14,610 days after J2000: where its prime meridian and its pole point.
    at_s = 14_610 * DAY_S
    frame, meridian = rotation("moon").equator(at_s), float(rotation("moon").meridian_rad(at_s))
    prime = np.cos(meridian) * frame[0] + np.sin(meridian) * frame[1]
    # The quadratic term that is left out: 1.4e-12 * 14610^2 degrees = 5e-6 rad.
    assert prime == pytest.approx([0.5720547, -0.7610737, -0.3058106], abs=6e-6)
    assert frame[2] == pytest.approx([-0.0258425, -0.3893808, 0.9207143], abs=1e-7)


def test_the_earth_hangs_over_the_middle_of_the_moons_near_side():
    # Librations: up to 8 degrees of longitude and 7 of latitude, never both at their most; in the mean none.
    times = np.arange(0, 365, 0.25) * DAY_S
    height = site_elevation_deg(Site("moon", 0.0, 0.0), "earth", START, times)
    assert 79 < height.min() < 84
    assert height.max() > 89
    assert earth_windows(Site("moon", 0.0, 180.0), START, 30 * DAY_S, mask_deg=0.0) == []


@pytest.mark.parametrize("latitude", [-60.0, 0.0, 18.4])
def test_the_earth_rises_once_a_sol(latitude):
    seen = earth_windows(Site("mars", latitude, 77.5), START, 10 * SOL_S, mask_deg=0.0)
    rises = np.diff([begin for begin, _ in seen[1:]])
    # From Mars the Earth drifts against the stars by at most a degree a day: 4 minutes.
    assert rises == pytest.approx(SOL_S, abs=300)


def test_a_pole_has_the_earth_up_or_not_for_days():
    north = site_elevation_deg(Site("mars", 90.0, 0.0), "earth", START, np.arange(0, SOL_S, 3600.0))
    south = site_elevation_deg(Site("mars", -90.0, 0.0), "earth", START, np.arange(0, SOL_S, 3600.0))
    assert np.ptp(north) < 1
    assert north == pytest.approx(-south, abs=0.01)


def test_half_the_sky_is_above_the_horizon_of_the_equator():
    seen = earth_windows(Site("mars", 0.0, 0.0), START, 20 * SOL_S, mask_deg=0.0)
    assert total_s(seen) / (20 * SOL_S) == pytest.approx(0.5, abs=0.02)


def test_windows_end_at_the_mask():
    site = Site("mars", 18.4, 77.5)
    begin, end = earth_windows(site, START, 3 * SOL_S)[1]
    assert site_elevation_deg(site, "earth", START, [begin, end]) == pytest.approx([10.0, 10.0], abs=1e-3)


def test_passes_of_a_low_relay():
    # At 280 km above a mask of 10 degrees the relay is within acos(R cos 10 / a) - 10 = 14.5 degrees of arc: a pass
    # lasts at most 29/360 of 112.8 min, 9.1 min (more by a tenth as the planet turns along).
    site, orbit = Site("mars", 0.0, 0.0), CircularOrbit("mars", 280e3, inclination_deg=0.0)
    passes = relay_windows(site, orbit, START, DAY_S)
    whole = [end - begin for begin, end in passes[1:-1]]
    assert len(whole) > 8
    assert np.array(whole) / 60 == pytest.approx(9.1 * 1.08, abs=0.3)
    middle = np.mean(passes[2])
    assert float(relay_elevation_deg(site, orbit, START, middle)) > 89


def test_a_stationary_relay_is_below_the_other_sides_horizon():
    orbit = areostationary_orbit(0.0, START)
    assert float(relay_elevation_deg(Site("mars", 0.0, 180.0), orbit, START, 0.0)) < -80
    assert relay_windows(Site("mars", 0.0, 180.0), orbit, START, DAY_S) == []


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Site("mars", 91.0, 0.0), "latitude_deg: from -90 to 90, not 91"),
        (lambda: Site("saturn", 0.0, 0.0), "no rotation is known of 'saturn'"),
        (
            lambda: relay_windows(Site("mars", 0.0, 0.0), CircularOrbit("venus", 1e6), START, 1.0),
            "a relay around 'venus' serves no site on 'mars'",
        ),
    ],
)
def test_impossible_places_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
