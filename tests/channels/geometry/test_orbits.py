"""Relay orbiters: periods, shadows, and that a stationary one stays."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from dstcc_channels.geometry import (
    CircularOrbit,
    Site,
    areostationary_orbit,
    beta_deg,
    body,
    occultation,
    occultation_share,
    relay_elevation_deg,
    sight_m,
    total_s,
)
from hypothesis import given
from hypothesis import strategies as st

from dstcc.errors import InputError

START = datetime(2026, 11, 21, tzinfo=UTC)
DAY_S = 86_400.0
ALTITUDE_M = 280e3


def test_a_low_mars_orbiter_is_dark_for_three_eighths_of_its_turn():
    orbit = CircularOrbit("mars", ALTITUDE_M)
    assert orbit.period_s / 60 == pytest.approx(112.8, abs=0.05)
    assert occultation_share("mars", ALTITUDE_M) == pytest.approx(0.375, abs=0.0005)
    assert occultation_share("mars", ALTITUDE_M) * orbit.period_s / 60 == pytest.approx(42, abs=0.5)


def test_an_orbit_that_never_passes_behind_its_planet():
    # Hidden only where beta < asin(R/a): 3396.19/3676.19 is 67.5 degrees.
    assert occultation_share("mars", ALTITUDE_M, 67.0) > 0
    assert occultation_share("mars", ALTITUDE_M, 68.0) == 0
    assert occultation_share("mars", ALTITUDE_M, 90.0) == 0


@given(st.floats(0, 180), st.floats(0, 360), st.floats(0, 360), st.floats(150e3, 6e6))
def test_what_is_seen_over_orbits_is_the_formulas_share(tilt, node, phase, altitude_m):
    # Twelve whole turns, in which the Earth and the plane move by a degree or two: the share at the middle's beta.
    orbit = CircularOrbit("mars", altitude_m, tilt, node, phase)
    orbits_s = 12 * orbit.period_s
    beta = float(beta_deg(orbit, START, orbits_s / 2))
    edge = np.degrees(np.arcsin(body("mars").radius_m / orbit.radius_m))
    if abs(abs(beta) - edge) < 6:  # near grazing the share falls off like a square root
        return
    dark = total_s(occultation(orbit, START, orbits_s)) / orbits_s
    assert dark == pytest.approx(occultation_share("mars", altitude_m, beta), abs=0.01)


def test_a_window_opens_and_closes_at_the_limb():
    orbit = CircularOrbit("mars", ALTITUDE_M, inclination_deg=30.0, node_deg=80.0, phase_deg=10.0)
    for edge in np.ravel(occultation(orbit, START, DAY_S)[1:-1]):
        earth = sight_m("mars", "earth", START, edge, sent=True)[0]
        earth /= np.linalg.norm(earth)
        place = orbit.position_m(START, edge)[0]
        from_line = np.linalg.norm(place - (place @ earth) * earth)
        # The line to the Earth touches the planet: to 0.03 s of an orbital speed of 3.4 km/s.
        assert from_line == pytest.approx(body("mars").radius_m, abs=150)
        assert place @ earth < 0


def test_windows_from_later_on_are_those_of_the_whole():
    orbit = CircularOrbit("mars", ALTITUDE_M)
    whole = np.array(occultation(orbit, START, DAY_S))
    part = np.array(occultation(orbit, START, DAY_S / 2, from_s=DAY_S / 2))
    assert part[1:-1] == pytest.approx(whole[-part.shape[0] :][1:-1], abs=0.1)


@given(st.floats(0, 180), st.floats(0, 360), st.floats(0, 1e6))
def test_places_are_on_the_circle_and_in_the_plane(tilt, node, at):
    orbit = CircularOrbit("mars", ALTITUDE_M, tilt, node)
    place, normal = orbit.position_m(START, at)[0], orbit.normal(START, at)[0]
    assert np.linalg.norm(place) == pytest.approx(orbit.radius_m)
    assert np.linalg.norm(normal) == pytest.approx(1)
    assert place @ normal == pytest.approx(0, abs=1e-3)


def test_the_orbit_goes_round_its_normal_at_its_rate():
    orbit = CircularOrbit("mars", ALTITUDE_M, 40.0, 20.0)
    before, after = orbit.position_m(START, [0.0, orbit.period_s / 4])
    assert before @ after == pytest.approx(0, abs=1e-2 * orbit.radius_m**2)  # the plane turns meanwhile
    assert np.cross(before, after) @ orbit.normal(START, 0.0)[0] > 0


def test_a_sun_synchronous_orbit_of_mars_drifts_with_the_sun():
    # MRO: 92.65 degrees at 255-320 km follows the Sun, 360 degrees in 687 days = 0.524 a day.
    drift = np.degrees(CircularOrbit("mars", ALTITUDE_M, 92.65).node_drift_rad_s) * DAY_S
    assert drift == pytest.approx(0.524, rel=0.03)


def test_a_low_lunar_orbiter_is_dark_as_long_as_the_formula_says():
    # 100 km: 117.8 min a turn; the Earth is 209 lunar radii away, which moves the limb by asin(1/221) = 0.26 degrees.
    orbit = CircularOrbit("moon", 100e3, inclination_deg=90.0, node_deg=30.0)
    assert orbit.period_s / 60 == pytest.approx(117.8, abs=0.05)
    begin, end = occultation(orbit, START, DAY_S)[1]
    share = occultation_share("moon", 100e3, float(beta_deg(orbit, START, (begin + end) / 2)))
    # The beta of either side of the Earth's distance differs a little: a degree of arc at the very most.
    assert (end - begin) / orbit.period_s == pytest.approx(share, abs=1 / 360)


def test_an_areostationary_relay_stays_above_its_longitude():
    orbit = areostationary_orbit(137.4, START)
    # 20,428 km from the centre and 17,032 km up; a sidereal day of Mars is 88,642.66 s.
    assert orbit.radius_m / 1e3 == pytest.approx(20_428, abs=1)
    assert orbit.period_s == pytest.approx(88_642.66, abs=0.01)
    heights = relay_elevation_deg(Site("mars", 0.0, 137.4), orbit, START, np.arange(0, 687, 30) * DAY_S)
    assert heights == pytest.approx(90.0, abs=0.02)


def test_an_areostationary_relay_is_dark_around_the_equinoxes_only():
    # Hidden where the Earth is within asin(3396/20428) = 9.6 degrees of the equator, at most 19.1/360 of a day, 78 min.
    orbit = areostationary_orbit(0.0, START)
    days = np.arange(0, 687) * DAY_S
    beta = beta_deg(orbit, START, days)
    assert occultation(orbit, START, 3 * DAY_S) == []
    assert abs(beta[0]) > 9.6
    crossing = float(days[np.abs(beta).argmin()])
    dark = occultation(orbit, START, 10 * orbit.period_s, from_s=crossing)
    assert max(end - begin for begin, end in dark) / 60 == pytest.approx(78.4, abs=1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CircularOrbit("mars", 0.0), "altitude_m: an orbit is above the ground, not at 0 m"),
        (lambda: CircularOrbit("mars", float("nan")), "altitude_m"),
        (
            lambda: CircularOrbit("jupiter", 1e8),
            "no rotation is known of 'jupiter': allowed: mercury, venus, moon, mars",
        ),
        (lambda: CircularOrbit("marz", 1e5), "no body is called 'marz'"),
    ],
)
def test_impossible_orbits_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
