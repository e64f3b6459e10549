"""The Sun's angles, conjunctions and oppositions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from dstcc_channels.geometry import (
    alignments,
    conjunction_windows,
    light_time_s,
    sun_earth_probe_deg,
    sun_probe_earth_deg,
    total_s,
)

START = datetime(2026, 11, 21, tzinfo=UTC)
DAY_S = 86_400.0
SYNODIC_S = 780 * DAY_S
"""Of Mars."""
DAYS_BELOW = {5.0: 46.0, 3.0: 27.0, 2.0: 17.0, 1.0: 5.5}
"""Around the conjunction of 2028-03-21."""


@pytest.mark.parametrize("ephemeris", ["kepler", "de421"])
def test_mars_behind_the_sun_in_march_2028(ephemeris):
    turning_points = alignments("mars", START, SYNODIC_S, ephemeris=ephemeris)
    assert [at.kind for at in turning_points] == ["opposition", "superior conjunction"]
    opposition, conjunction = turning_points
    assert (START + timedelta(seconds=opposition.t_s)).date() == datetime(2027, 2, 19).date()
    assert (START + timedelta(seconds=conjunction.t_s)).date() == datetime(2028, 3, 21).date()
    assert conjunction.sep_deg == pytest.approx(0.81, abs=0.005)


@pytest.mark.parametrize("ephemeris", ["kepler", "de421"])
def test_days_near_the_sun(ephemeris):
    near_sun = conjunction_windows("mars", START, SYNODIC_S, ephemeris=ephemeris)
    assert list(near_sun) == list(DAYS_BELOW)
    for angle, days in DAYS_BELOW.items():
        assert len(near_sun[angle]) == 1
        assert total_s(near_sun[angle]) / DAY_S == pytest.approx(days, abs=0.15)


def test_a_window_opens_at_its_angle():
    ((begin, end),) = conjunction_windows("mars", START, SYNODIC_S, [3.0])[3.0]
    assert sun_earth_probe_deg("mars", START, [begin, end]) == pytest.approx([3.0, 3.0], abs=1e-3)


def test_turning_points_are_turning_points():
    for alignment in alignments("mars", START, SYNODIC_S):
        around = sun_earth_probe_deg("mars", START, alignment.t_s + np.array([-7200.0, 0.0, 7200.0]))
        peak = alignment.kind == "opposition"
        assert (around[1] >= max(around[0], around[2])) if peak else (around[1] <= min(around[0], around[2]))


def test_venus_has_both_conjunctions_and_no_opposition():
    # Synodic period 584 days: greatest elongation (47 degrees), superior, elongation, inferior, elongation.
    kinds = [at.kind for at in alignments("venus", START, 584 * DAY_S)]
    assert "opposition" not in kinds
    assert kinds.count("superior conjunction") == kinds.count("inferior conjunction") == 1
    elongations = [
        at.sep_deg for at in alignments("venus", START, 584 * DAY_S) if at.kind == "greatest elongation"
    ]
    assert elongations == pytest.approx([46.5] * len(elongations), abs=1.5)


def test_the_triangle_of_sun_earth_and_probe_closes():
    # Angles of the triangle at the Earth, at the probe and at the Sun; sine rule with the two light times.
    for at in np.linspace(0, SYNODIC_S, 9):
        sep, spe = (
            np.radians(float(angle("mars", START, at)))
            for angle in (sun_earth_probe_deg, sun_probe_earth_deg)
        )
        sun_earth, sun_mars = (float(light_time_s(body, "sun", START, at)) for body in ("earth", "mars"))
        # Each end sees the other where it was a light time ago: 1200 s of 24 km/s in 2.3e8 km is 1e-4.
        assert np.sin(sep) / sun_mars == pytest.approx(np.sin(spe) / sun_earth, rel=0.01, abs=1e-6)
