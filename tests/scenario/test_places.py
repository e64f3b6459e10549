"""Where nodes are: the geometry's places, what is none, and the rows of a light time."""

from __future__ import annotations

from datetime import UTC, datetime
from math import ceil
from typing import Any

import pytest
from dstcc_channels.geometry import CircularOrbit, EllipticOrbit, Stations
from pydantic import ValidationError

from dstcc.scenario.places import MOST_ROWS, End, Ground, Orbit, light, place_of_end, with_places

START = datetime(2026, 11, 21, tzinfo=UTC)
MARS: dict[str, Any] = {"body": "mars", "altitude_m": 400e3}
GROUND = End(site=Ground(body="mars", latitude_deg=18, longitude_deg=77))


def test_an_orbit_is_a_circle_over_the_equator_unless_more_is_given() -> None:
    assert place_of_end(End(orbit=Orbit(**MARS))) == CircularOrbit("mars", 400e3, 0.0, 0.0, 0.0)
    tilted = Orbit(**MARS, inclination_deg=1, node_deg=2, phase_deg=3)
    assert place_of_end(End(orbit=tilted)) == CircularOrbit("mars", 400e3, 1.0, 2.0, 3.0)
    ellipse = Orbit(body="mars", altitude_m=3e6, eccentricity=0.4)
    assert place_of_end(End(orbit=ellipse)) == EllipticOrbit("mars", 3e6, eccentricity=0.4)
    assert place_of_end(End(stations=("madrid",))) == Stations(("madrid",))


@pytest.mark.parametrize("degrees", [-360.5, 360.5, float("nan"), float("inf")])
@pytest.mark.parametrize("key", ["inclination_deg", "node_deg", "phase_deg", "periapsis_deg"])
def test_angles_go_once_round_at_most(key: str, degrees: float) -> None:
    Orbit(**{**MARS, key: -360})
    Orbit(**{**MARS, key: 360})
    with pytest.raises(ValidationError, match=key):
        Orbit(**{**MARS, key: degrees})


@pytest.mark.parametrize("stations", [(), ("",), ("madrid", "")])
def test_stations_have_names(stations: tuple[str, ...]) -> None:
    with pytest.raises(ValidationError, match="at least 1 "):
        End(stations=stations)


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ({"altitude_m": 0}, "altitude_m"),
        ({"altitude_m": float("inf")}, "altitude_m"),
        ({"eccentricity": 0}, "eccentricity"),
        ({"eccentricity": 1}, "eccentricity"),
    ],
)
def test_an_orbit_is_above_the_ground_and_an_ellipse_is_no_circle(
    changes: dict[str, Any], refused: str
) -> None:
    with pytest.raises(ValidationError, match=refused):
        Orbit(**{**MARS, **changes})


@pytest.mark.parametrize("places", [{}, {"site": GROUND.site, "stations": ("madrid",)}])
def test_an_end_is_in_one_place(places: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="exactly one of orbit, site, stations"):
        End(**places)


def test_rows_of_a_light_time_are_ten_minutes_apart_or_a_48th_of_an_orbit() -> None:
    """600,000 s are 1,000 steps of ten minutes; and for an orbit of period T 48 steps a turn."""
    earth = End(stations=("madrid",))
    t_s, delay_s = light((GROUND, earth), START, 600_000.0)
    assert len(t_s) == len(delay_s) == 1001 and (t_s[0], t_s[-1]) == (0, 600_000)
    period_s = CircularOrbit("mars", 400e3).period_s
    for ends in ((GROUND, End(orbit=Orbit(**MARS))), (End(orbit=Orbit(**MARS)), earth)):
        assert len(light(ends, START, 86_400.0)[0]) == ceil(86_400 / (period_s / 48)) + 1


def test_a_light_time_has_three_rows_at_least_and_not_more_than_the_most() -> None:
    ends = (GROUND, End(orbit=Orbit(**MARS)))
    assert light(ends, START, 1.0)[0].tolist() == [0, 0.5, 1]
    assert len(light(ends, START, 5e6)[0]) == MOST_ROWS == 20_000


SITE: dict[str, Any] = {"body": "mars", "latitude_deg": 1, "longitude_deg": 2}
ORBIT: dict[str, Any] = {"body": "mars", "altitude_m": 4e5}


@pytest.mark.parametrize(
    ("node", "link", "has"),
    [
        ({"site": SITE}, {}, True),
        ({}, {}, False),
        ({"site": None}, {}, False),
        ({"site": SITE}, {"profile": "mro-x-dss35"}, False),
        ({"site": SITE}, {"contacts": "plan.txt"}, False),
        ({"site": SITE}, {"ends": [{"site": SITE}]}, False),
    ],
)
def test_a_link_has_the_places_of_both_its_nodes_unless_it_has_other_physics(
    node: dict[str, Any], link: dict[str, Any], has: bool
) -> None:
    given = {"from": "a", "to": "b", **link}
    document = {"node": [{"name": "a", **node}, {"name": "b", "orbit": ORBIT}, 5], "link": [given, 5]}
    places = {"ends": [{"site": SITE}, {"orbit": ORBIT}]} if has else {}
    assert with_places(document)["link"] == [given | places, 5]


@pytest.mark.parametrize("document", [{}, {"node": 5, "link": [{}]}, {"node": [{}], "link": 5}])
def test_what_is_no_network_stays_as_it_is(document: dict[str, Any]) -> None:
    assert with_places(document) is document
