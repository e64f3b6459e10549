"""When a packet may leave: both ends' windows, moved by the light's way."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from dstcc_channels.geometry import (
    CircularOrbit,
    Site,
    elevation_deg,
    intersection,
    light_time_s,
    link_times,
    occultation,
    site_elevation_deg,
    total_s,
    union,
    visibility,
)

from dstcc.errors import InputError

START = datetime(2026, 11, 21, tzinfo=UTC)
DAY_S = 86_400.0


@pytest.mark.parametrize("direction", ["down", "up"])
@pytest.mark.parametrize(
    "far", ["mars", CircularOrbit("mars", 280e3, 92.65, 40.0), Site("mars", 18.4, 77.5)], ids=str
)
def test_windows_and_outages_share_the_run(far, direction):
    times = link_times(far, ["madrid"], START, DAY_S, direction=direction)
    assert times.usable
    assert times.outages
    assert intersection(times.usable, times.outages) == []
    assert total_s(times.usable) + total_s(times.outages) == pytest.approx(DAY_S)
    assert times.outages == union(times.far_hidden, times.near_hidden)


def test_what_leaves_mars_arrives_when_the_station_sees_it():
    seen = visibility("goldstone", "mars", START, DAY_S)
    ((begin, end),) = link_times("mars", ["goldstone"], START, DAY_S).usable
    sent = light_time_s("mars", "earth", START, [begin, end], sent=True)
    assert np.array([begin, end]) + sent == pytest.approx(seen[0], abs=0.01)


def test_what_leaves_the_earth_does_so_when_the_station_sees_mars():
    sent = link_times("mars", ["goldstone"], START, DAY_S, direction="up")
    assert sent.usable == visibility("goldstone", "mars", START, DAY_S)


@pytest.mark.parametrize("direction", ["down", "up"])
def test_both_ends_see_each_other_at_random_times(direction):
    # The rule itself, instant by instant, away from the edges.
    site = Site("mars", 18.4, 77.5)
    usable = link_times(site, ["canberra", "madrid"], START, 2 * DAY_S, direction=direction).usable
    times = np.random.default_rng(1).uniform(0, 2 * DAY_S, 300)
    near, away = ("mars", "earth") if direction == "down" else ("earth", "mars")
    arrival = times + light_time_s(near, away, START, times, sent=True)
    at_earth, at_mars = (arrival, times) if direction == "down" else (times, arrival)
    heights = [elevation_deg(name, "mars", START, at_earth) for name in ("canberra", "madrid")]
    margin = np.minimum(np.max(heights, axis=0), site_elevation_deg(site, "earth", START, at_mars)) - 10
    inside = np.array([any(begin < at < end for begin, end in usable) for at in times])
    clear = np.abs(margin) > 0.02
    assert clear.sum() > 250
    assert (inside == (margin > 0))[clear].all()


def test_an_uplink_meets_the_orbiter_where_it_will_be():
    orbit = CircularOrbit("mars", 280e3, 92.65, 60.0)
    everywhere = ["goldstone", "madrid", "canberra"]
    usable = link_times(orbit, everywhere, START, DAY_S, direction="up", mask_deg=-90.0).usable
    tau = float(light_time_s("earth", "mars", START, 0.0, sent=True))
    hidden = occultation(orbit, START, DAY_S + tau)
    reached = [at + float(light_time_s("earth", "mars", START, at, sent=True)) for at, _ in usable[1:]]
    assert len(reached) > 8
    ends = [end for _, end in hidden]
    assert all(min(abs(at - end) for end in ends) < 0.1 for at in reached)


def test_three_sites_leave_mars_no_gap_when_it_is_high():
    # On 2026-11-21 Mars is at 14 degrees north: the three complexes hand it over with no gap above 10 degrees.
    assert link_times("mars", ["goldstone", "madrid", "canberra"], START, DAY_S).outages == []


def test_bad_words_are_refused():
    with pytest.raises(InputError, match="direction: 'sideways' is none; allowed: down, up"):
        link_times("mars", ["madrid"], START, DAY_S, direction="sideways")
    with pytest.raises(InputError, match="no body is called 'marz'"):
        link_times("marz", ["madrid"], START, DAY_S)
    with pytest.raises(InputError, match="2050"):
        link_times("mars", ["madrid"], datetime(2049, 12, 31, tzinfo=UTC) + timedelta(hours=20), DAY_S)


def test_a_link_without_a_station_is_never_usable():
    assert link_times("mars", [], START, DAY_S).outages == [(0.0, DAY_S)]
