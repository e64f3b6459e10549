"""Relay orbiters: periods, shadows, and that a stationary one stays."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from dstcc_channels.geometry import (
    CircularOrbit,
    EllipticOrbit,
    Site,
    areostationary_orbit,
    beta_deg,
    body,
    occultation,
    occultation_share,
    relay_elevation_deg,
    relay_windows,
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


MAVEN = EllipticOrbit(
    "mars", (150e3 + 6200e3) / 2, 75.0, 30.0, 40.0, eccentricity=0.4603, periapsis_deg=100.0
)
"""From 150 to 6,200 km: a = 3,396 + 3,175 km, e = 3,025 / 6,571."""


def test_an_ellipse_has_keplers_distances_and_speeds():
    """Lowest and highest as given; v^2 = GM (2/r - 1/a) at every point, by the difference of positions a second apart;
    equal areas in equal times. The drifts are 3/2 J2 (R/p)^2 = 1.2e-3 of the mean motion."""
    t_s = np.linspace(0, MAVEN.period_s, 2000)
    place = MAVEN.position_m(START, t_s)
    radius = np.linalg.norm(place, axis=1)
    ground = body("mars").radius_m
    assert radius.min() - ground == pytest.approx(150e3, abs=3e3)
    assert radius.max() - ground == pytest.approx(6200e3, abs=3e3)
    moved = MAVEN.position_m(START, t_s + 0.5) - MAVEN.position_m(START, t_s - 0.5)
    speed = np.sqrt(body("mars").gm_m3_s2 * (2 / radius - 1 / MAVEN.radius_m))
    assert np.linalg.norm(moved, axis=1) == pytest.approx(speed, rel=2e-3)
    areas = np.linalg.norm(np.cross(place, moved), axis=1)
    assert areas == pytest.approx(np.full(areas.shape, areas.mean()), rel=3e-3)


def test_half_a_turn_from_the_lowest_point_is_the_highest():
    orbit = EllipticOrbit("moon", 4e6, phase_deg=20.0, eccentricity=0.6, periapsis_deg=20.0)
    low, high = (
        np.linalg.norm(orbit.position_m(START, [t_s]), axis=1)[0] for t_s in (0.0, orbit.period_s / 2)
    )
    assert low == pytest.approx(0.4 * orbit.radius_m, rel=1e-9)
    assert high == pytest.approx(1.6 * orbit.radius_m, rel=1e-9)


@given(st.floats(0, 180), st.floats(0, 360), st.floats(0, 360), st.floats(0, 360))
def test_an_ellipse_without_eccentricity_is_a_circle(tilt, node, phase, periapsis):
    circle = CircularOrbit("mars", ALTITUDE_M, tilt, node, phase)
    ellipse = EllipticOrbit("mars", ALTITUDE_M, tilt, node, phase, 0.0, periapsis)
    t_s = np.linspace(0, 3600.0, 20)  # the ellipse's turning in its plane is 1.1e-6 rad/s at most
    assert ellipse.haste == 1 and ellipse.period_s == circle.period_s
    apart = np.linalg.norm(ellipse.position_m(START, t_s) - circle.position_m(START, t_s), axis=1)
    assert apart.max() <= abs(ellipse.periapsis_drift_rad_s) * 3600 * circle.radius_m + 1


def test_an_ellipse_turns_in_its_plane_and_stands_still_at_the_critical_tilt():
    """5 cos^2 i = 1 at 63.43 degrees, that of Molniya orbits."""
    still = EllipticOrbit("mars", 6e6, np.degrees(np.arccos(np.sqrt(0.2))), eccentricity=0.3)
    assert still.periapsis_drift_rad_s == pytest.approx(0.0, abs=1e-18)
    flat = EllipticOrbit("mars", 6e6, 0.0, eccentricity=0.3)
    assert (
        flat.periapsis_drift_rad_s
        > 0
        > EllipticOrbit("mars", 6e6, 90.0, eccentricity=0.3).periapsis_drift_rad_s
    )


def test_a_pass_near_the_highest_point_lasts_longest():
    """An orbiter that turns half as fast as Mars at its highest hangs there: the longest pass is above 100 minutes, and
    that of the circle of the same period is shorter."""
    site = Site("mars", 60.0, 0.0)
    ellipse = EllipticOrbit("mars", 7e6, 63.4, eccentricity=0.6, periapsis_deg=270.0)
    circle = CircularOrbit("mars", 7e6, 63.4)
    longest = [
        max(stop - begin for begin, stop in relay_windows(site, orbit, START, 3 * DAY_S))
        for orbit in (ellipse, circle)
    ]
    assert longest[0] > 1.3 * longest[1]


def test_windows_of_an_ellipse_miss_no_short_pass():
    """Behind Mars by samples a tenth as far apart."""
    orbit = replace(MAVEN, inclination_deg=15.0)
    seen = occultation(orbit, START, DAY_S)
    t_s = np.arange(0, DAY_S, orbit.period_s / 3600)
    place = orbit.position_m(START, t_s)
    earth = sight_m("mars", "earth", START, t_s, sent=True) - place
    unit = earth / np.linalg.norm(earth, axis=1)[:, None]
    along = np.sum(place * unit, axis=1)
    off = np.linalg.norm(place - along[:, None] * unit, axis=1)
    dark = (along < 0) & (off < body("mars").radius_m)
    by_windows = np.zeros(len(t_s), dtype=bool)
    for begin, stop in seen:
        by_windows |= (t_s >= begin) & (t_s < stop)
    assert dark.any() and np.mean(dark != by_windows) < 1e-3


@pytest.mark.parametrize("e", [-0.1, 1.0, 0.95])
def test_an_ellipse_is_closed_and_above_the_ground(e):
    with pytest.raises(InputError, match="eccentricity"):
        EllipticOrbit("mars", 6e6, eccentricity=e)
