"""Pairs of a network's places: who sees whom, and how far apart they are."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from dstcc_channels.geometry import (
    LIGHT_M_S,
    CircularOrbit,
    Site,
    Stations,
    body,
    light_time_s,
    link_times,
    occultation_share,
    place_light_time_s,
    relay_windows,
    sight,
    total_s,
)

from dstcc.errors import InputError

START = datetime(2026, 11, 21, tzinfo=UTC)
DAY_S = 86_400.0
LOW = CircularOrbit("mars", 400e3, 93)
DSN = Stations(("goldstone", "madrid", "canberra"))
ROVER = Site("mars", 18, 77)


def test_a_site_and_an_orbiter_are_those_of_the_relay_windows():
    seen = sight(ROVER, LOW, START, DAY_S, mask_deg=20)
    assert seen.there == seen.back == relay_windows(ROVER, LOW, START, DAY_S, mask_deg=20)
    assert sight(LOW, ROVER, START, DAY_S, mask_deg=20) == seen


def test_with_stations_they_are_those_of_the_link_with_the_earth():
    down, up = (
        link_times(LOW, DSN.names, START, DAY_S, direction=way, mask_deg=15).usable for way in ("down", "up")
    )
    seen = sight(LOW, DSN, START, DAY_S, mask_deg=15)
    assert (seen.there, seen.back) == (down, up)
    back = sight(DSN, LOW, START, DAY_S, mask_deg=15)
    assert (back.there, back.back) == (up, down)


def test_orbiters_in_one_plane_are_hidden_where_the_chord_meets_the_ground():
    """Two on one circle of radius a, an angle apart, see each other where a cos(angle / 2) > R."""
    radius = body("mars").radius_m
    altitude = 2e6
    most = 2 * np.degrees(np.arccos(radius / (radius + altitude)))
    one = CircularOrbit("mars", altitude)
    for phase, is_seen in ((most - 0.1, True), (most + 0.1, False), (180.0, False), (-most + 0.1, True)):
        windows = sight(one, CircularOrbit("mars", altitude, phase_deg=phase), START, DAY_S).there
        assert windows == ([(0.0, DAY_S)] if is_seen else [])


def test_orbiters_share_of_the_time_is_the_formulas():
    """A low one in the plane of one far away is behind the body as long as it is hidden from the Earth in its plane."""
    far = CircularOrbit("mars", 1e10)
    low = CircularOrbit("mars", 400e3)
    duration_s = 40 * low.period_s
    hidden = 1 - total_s(sight(low, far, START, duration_s).there) / duration_s
    assert hidden == pytest.approx(occultation_share("mars", 400e3), abs=0.005)


def test_light_time_is_the_distance():
    high = CircularOrbit("mars", 9e6)
    opposite = CircularOrbit("mars", 9e6, phase_deg=180)
    assert place_light_time_s(high, opposite, START, [0.0, 5000.0]) == pytest.approx(
        2 * high.radius_m / LIGHT_M_S, rel=1e-9
    )
    t_s = np.linspace(0, DAY_S, 50)
    to_earth, centre = (
        place_light_time_s(LOW, DSN, START, t_s),
        light_time_s("mars", "earth", START, t_s, sent=True),
    )
    assert np.abs(to_earth - centre).max() <= LOW.radius_m / LIGHT_M_S + 1e-6
    assert np.abs(to_earth - centre).max() > 0.4 * LOW.radius_m / LIGHT_M_S
    above = place_light_time_s(ROVER, LOW, START, t_s)
    assert (above >= LOW.altitude_m / LIGHT_M_S).all()
    assert (place_light_time_s(DSN, LOW, START, t_s) == to_earth).all()


@pytest.mark.parametrize(
    ("one", "other", "rule"),
    [
        (ROVER, Site("mars", 0, 0), "two sites do not see each other"),
        (ROVER, CircularOrbit("moon", 1e6), "'mars' and 'moon'"),
        (DSN, DSN, "stations see orbiters and sites"),
    ],
)
def test_other_pairs_are_refused(one, other, rule):
    for ends in ((one, other), (other, one)):
        with pytest.raises(InputError, match="see"):
            sight(*ends, START, DAY_S)
    with pytest.raises(InputError, match=rule):
        sight(one, other, START, DAY_S)
