"""Light times beside published ones, both ephemerides beside each other, and what is refused."""

from __future__ import annotations

import math
import sys
import warnings
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from dstcc_channels.data import rows
from dstcc_channels.geometry import BODIES, LIGHT_M_S, light_time_s, sight_m
from dstcc_channels.geometry import de421 as kernel
from dstcc_channels.geometry.kepler import eccentric_anomaly, position_m
from dstcc_channels.geometry.light_time import NODE_S
from dstcc_channels.geometry.times import TT_MINUS_TAI_S, tai_minus_utc_s, tdb_s, utc_of_tdb

from dstcc.errors import InputError, MissingCapabilityError

PUBLISHED = {
    datetime(2026, 11, 21): 630.943,
    datetime(2027, 2, 19): 338.342,
    datetime(2028, 3, 21): 1191.467,
}
"""Earth-Mars, DE421: one-way light time received at the Earth, to the millisecond, at 00:00 TDB of these days."""
STATED_S = {
    "sun": 0.03,
    "mercury": 0.05,
    "venus": 0.08,
    "moon": 0.002,
    "mars": 0.25,
    "jupiter": 3.0,
    "saturn": 10.0,
}
"""Worst error of the built-in elements, 1972-2050, as docs/geometry.md has it."""
TDB_BEHIND_UTC_S = 37 + 32.184
"""00:00 TDB is 69.184 s before 00:00 UTC."""
START = datetime(2026, 11, 21, tzinfo=UTC)
DAY_S = 86_400.0


@pytest.mark.parametrize(("day", "published"), PUBLISHED.items())
def test_earth_mars_is_within_a_millisecond_by_de421(day, published):
    # At 00:00 UTC the distance has changed by up to 69 s of 16 km/s = 1100 km = 3.7 ms (2026-11-21).
    light_s = light_time_s("earth", "mars", day, -TDB_BEHIND_UTC_S, ephemeris="de421")
    assert abs(light_s - published) < 0.001


@pytest.mark.parametrize(("day", "published"), PUBLISHED.items())
def test_earth_mars_is_within_a_fifth_of_a_second_built_in(day, published):
    assert abs(light_time_s("earth", "mars", day, 0.0) - published) < 0.2


@pytest.mark.parametrize("name", ["mars", "venus", "jupiter", "moon"])
def test_de421_is_what_skyfield_observes(name):
    planets, scale = kernel._kernel()
    days = range(1, 700, 50)
    seen = planets["earth"].at(scale.utc(2026, 11, days)).observe(planets[BODIES[name].kernel])
    times = [(datetime(2026, 11, 1) + timedelta(days=day - 1) - START.replace(tzinfo=None)) for day in days]
    ours = light_time_s("earth", name, START, [at.total_seconds() for at in times], ephemeris="de421")
    # skyfield's own TDB differs from TT by up to 2 ms: 2e-3 s of 40 km/s is 0.3 us.
    assert ours == pytest.approx(seen.light_time * DAY_S, abs=1e-6)


@pytest.mark.parametrize(("name", "within_s"), STATED_S.items())
def test_built_in_elements_keep_their_stated_accuracy(name, within_s):
    # 1972 to 2050, every ten days: the whole range.
    times = np.arange(0, 78 * 365, 10) * DAY_S
    start = datetime(1972, 1, 1)
    error = light_time_s("earth", name, start, times) - light_time_s(
        "earth", name, start, times, ephemeris="de421"
    )
    assert np.abs(error).max() < within_s


def test_earth_is_the_earth_and_not_the_barycentre():
    # The Earth goes round the common centre with the Moon at 384,400 / 82.3 = 4,671 km: 16 ms of light time to a body
    # far off, once a month. Without it the Sun's light time would err by that.
    times = np.arange(0, 60) * DAY_S
    error = light_time_s("earth", "sun", START, times) - light_time_s(
        "earth", "sun", START, times, ephemeris="de421"
    )
    monthly = error - np.polyval(np.polyfit(times, error, 2), times)
    assert np.abs(monthly).max() < 0.004


@pytest.mark.parametrize("ephemeris", ["kepler", "de421"])
@pytest.mark.parametrize(("one", "other"), [("earth", "mars"), ("earth", "moon"), ("mercury", "earth")])
def test_a_long_series_is_the_exact_one(one, other, ephemeris):
    minutes = np.arange(0, 40 * DAY_S, 60.0)
    long = light_time_s(one, other, START, minutes, ephemeris=ephemeris)
    some = np.linspace(0, minutes.size - 1, 17, dtype=int)
    exact = [float(light_time_s(one, other, START, minutes[i], ephemeris=ephemeris)) for i in some]
    assert minutes.size > 40 * DAY_S / NODE_S * 2  # it was interpolated
    assert long[some] == pytest.approx(exact, abs=1e-6)


def test_what_one_end_sends_the_other_receives():
    tau = float(light_time_s("mars", "earth", START, 0.0, sent=True))
    assert float(light_time_s("earth", "mars", START, tau)) == pytest.approx(tau, abs=1e-6)
    # Sent and received at one time differ by tau * rate: 630 s at -16 km/s / c is 34 ms.
    assert 0.02 < float(light_time_s("earth", "mars", START, 0.0)) - tau < 0.05


def test_a_sight_belongs_to_the_light_time():
    times = [0.0, DAY_S]
    tau = light_time_s("earth", "mars", START, times)
    assert np.linalg.norm(sight_m("earth", "mars", START, times), axis=1) == pytest.approx(tau * LIGHT_M_S)


def test_answers_have_the_shape_of_the_times():
    assert light_time_s("earth", "mars", START, 0.0).shape == ()
    assert light_time_s("earth", "mars", START, []).shape == (0,)
    assert light_time_s("earth", "mars", START, [[0.0, 1.0, 2.0]]).shape == (1, 3)


def test_the_moon_is_the_books():
    """Montenbruck and Gill, "Satellite Orbits", equations 3.47 to 3.51, angles in degrees and seconds of arc."""
    for at in (datetime(1975, 4, 2), datetime(2000, 1, 1, 12), datetime(2026, 11, 21), datetime(2049, 8, 30)):
        t = tdb_s(at) / (36525 * DAY_S)
        mean = 218.31617 + 481267.88088 * t - 1.3972 * t
        l, ls, f, d = (  # noqa: E741
            134.96292 + 477198.86753 * t,
            357.52543 + 35999.04944 * t,
            93.27283 + 483202.01873 * t,
            297.85027 + 445267.11135 * t,
        )

        def sin(degrees):
            return math.sin(math.radians(degrees))

        def cos(degrees):
            return math.cos(math.radians(degrees))

        more = (
            *(22640 * sin(l), 769 * sin(2 * l), -4586 * sin(l - 2 * d), 2370 * sin(2 * d), -668 * sin(ls)),
            *(-412 * sin(2 * f), -212 * sin(2 * l - 2 * d), -206 * sin(l + ls - 2 * d), 192 * sin(l + 2 * d)),
            *(-165 * sin(ls - 2 * d), 148 * sin(l - ls), -125 * sin(d), -110 * sin(l + ls)),
            -55 * sin(2 * f - 2 * d),
        )
        length = mean + sum(more) / 3600
        width = (
            sum(
                (
                    18520 * sin(f + length - mean + (412 * sin(2 * f) + 541 * sin(ls)) / 3600),
                    *(-526 * sin(f - 2 * d), 44 * sin(l + f - 2 * d), -31 * sin(-l + f - 2 * d)),
                    *(
                        -25 * sin(-2 * l + f),
                        -23 * sin(ls + f - 2 * d),
                        21 * sin(-l + f),
                        11 * sin(-ls + f - 2 * d),
                    ),
                )
            )
            / 3600
        )
        away = 1000 * sum(
            (
                *(385000, -20905 * cos(l), -3699 * cos(2 * d - l), -2956 * cos(2 * d), -570 * cos(2 * l)),
                *(246 * cos(2 * l - 2 * d), -205 * cos(ls - 2 * d), -171 * cos(l + 2 * d)),
                -152 * cos(l + ls - 2 * d),
            )
        )
        x, y, z = away * cos(width) * cos(length), away * cos(width) * sin(length), away * sin(width)
        tilt = 23.43928
        book = [x, y * cos(tilt) - z * sin(tilt), y * sin(tilt) + z * cos(tilt)]
        seconds = np.array([tdb_s(at)])
        moon = position_m("moon", seconds)[0] - position_m("earth", seconds)[0]
        assert moon == pytest.approx(book, rel=1e-7, abs=20)


def test_the_moons_direction_is_de421s():
    """The series errs by several minutes of arc."""
    days = np.arange(0, 40 * 365, 7) * DAY_S
    ours, theirs = (
        sight_m("earth", "moon", datetime(1990, 1, 1), days, ephemeris=name) for name in ("kepler", "de421")
    )
    apart = np.linalg.norm(ours - theirs, axis=1) / np.linalg.norm(theirs, axis=1)
    assert np.degrees(apart.max()) * 60 < 10


def test_earth_and_moon_turn_about_their_barycentre():
    """The Moon is 1/81.3006 of the Earth; the barycentre is on the ellipse of the elements, as planets are."""
    at = tdb_s(datetime(2026, 11, 21))
    t = at / (36525 * DAY_S)
    earth, moon = (position_m(name, np.array([at]))[0] for name in ("earth", "moon"))
    places = {"earth-moon": (81.3006 * earth + moon) / 82.3006}
    places |= {name: position_m(name, np.array([at]))[0] for name in ("mercury", "mars", "saturn")}
    for row in rows("elements.csv"):
        if row["body"] not in places:
            continue
        a, e, i, mean, low, node = (
            float(row[key]) + float(row[f"{key}_cy"]) * t
            for key in ("a_au", "e", "i_deg", "l_deg", "perihelion_deg", "node_deg")
        )
        anomaly = 0.0
        for _ in range(200):  # E = M + e sin E converges by e each time
            anomaly = math.radians((mean - low) % 360) + e * math.sin(anomaly)
        flat = np.array([a * (math.cos(anomaly) - e), a * math.sqrt(1 - e * e) * math.sin(anomaly), 0.0])
        for angle, axis in ((low - node, 2), (i, 0), (node, 2), (23.43928, 0)):
            cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
            one, other = ((0, 1), (1, 2))[axis == 0]
            flat[[one, other]] = cos * flat[one] - sin * flat[other], sin * flat[one] + cos * flat[other]
        assert places[row["body"]] == pytest.approx(149_597_870_700 * flat, rel=1e-9, abs=100)


def test_kepler_equation_is_solved():
    mean, e = np.meshgrid(np.linspace(-np.pi, np.pi, 361), np.linspace(0, 0.3, 7))
    anomaly = eccentric_anomaly(mean, e)
    assert anomaly - e * np.sin(anomaly) == pytest.approx(mean, abs=1e-12)


def test_a_start_counts_in_its_zone():
    local = datetime(2026, 11, 21, 2, tzinfo=timezone(timedelta(hours=2)))
    naive = START.replace(tzinfo=None)
    assert light_time_s("earth", "mars", local, 0.0) == light_time_s("earth", "mars", START, 0.0)
    assert light_time_s("earth", "mars", naive, 0.0) == light_time_s("earth", "mars", START, 0.0)


@pytest.mark.parametrize(
    "shown",
    [
        datetime(1985, 7, 1),
        datetime(1999, 1, 1, 0, 1, 3),
        datetime(1999, 1, 1, 0, 1, 5),
        datetime(2026, 11, 21),
    ],
)
def test_a_moment_of_tdb_has_the_utc_at_which_clocks_show_it(shown):
    at = utc_of_tdb(shown)
    assert tdb_s(at) == pytest.approx((shown - datetime(2000, 1, 1, 12)).total_seconds(), abs=1e-5)
    assert (shown.replace(tzinfo=UTC) - at).total_seconds() == pytest.approx(tai_minus_utc_s(at) + 32.184)
    with pytest.raises(ValueError, match="no zones"):
        utc_of_tdb(shown.replace(tzinfo=UTC))


def test_leap_seconds():
    # IERS Bulletin C: 10 s from 1972, 32 s before 1999, 37 s since 2017.
    assert tai_minus_utc_s(datetime(1972, 1, 1)) == 10
    assert tai_minus_utc_s(datetime(1998, 12, 31)) == 31
    assert tai_minus_utc_s(datetime(1999, 1, 1)) == 32
    assert tai_minus_utc_s(datetime(2016, 12, 31)) == 36
    assert tai_minus_utc_s(datetime(2026, 11, 21)) + TT_MINUS_TAI_S == TDB_BEHIND_UTC_S


@pytest.mark.parametrize(
    ("start", "times", "message"),
    [
        (
            datetime(1960, 5, 1),
            0.0,
            "start = 1960-05-01T00:00:00Z is outside what ephemeris = 'kepler' covers",
        ),
        (
            datetime(2049, 12, 31),
            2 * DAY_S,
            "start = 2049-12-31T00:00:00Z and 172800 s more, 2050-01-02T00:00:00Z, is outside",
        ),
        (START, 1e15, "start = 2026-11-21T00:00:00Z and 1e+15 s more is outside"),
    ],
)
def test_a_date_outside_the_range_is_refused(start, times, message):
    with pytest.raises(InputError, match="1972-01-01T00:00:00Z to 2050-01-01T00:00:00Z") as caught:
        light_time_s("earth", "mars", start, times)
    assert message in str(caught.value)


def test_de421_reaches_further_and_says_how_far():
    last = datetime(2053, 10, 8)
    assert float(light_time_s("saturn", "earth", last, 0.0, ephemeris="de421", sent=True)) > 3600
    with pytest.raises(InputError, match="2053-10-08"):
        light_time_s("earth", "mars", datetime(2053, 10, 9), 0.0, ephemeris="de421")


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        ("earth", "marz", "no body is called 'marz': did you mean 'mars'"),
        ("earth", "earth", "two bodies"),
    ],
)
def test_unknown_bodies_are_refused(one, other, message):
    with pytest.raises(InputError, match=message):
        light_time_s(one, other, START, 0.0)


def test_an_unknown_ephemeris_and_endless_times_are_refused():
    with pytest.raises(InputError, match="ephemeris: 'de422' is none: did you mean 'de421'"):
        light_time_s("earth", "mars", START, 0.0, ephemeris="de422")
    with pytest.raises(InputError, match="finite"):
        light_time_s("earth", "mars", START, [0.0, np.nan])


@pytest.mark.parametrize("missing", ["skyfield.api", "skyfield_data"])
def test_without_its_packages_de421_says_what_to_install(monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    kernel._kernel.cache_clear()
    try:
        with pytest.raises(MissingCapabilityError, match=r"pip install 'dstcc\[ephemeris\]'"):
            light_time_s("earth", "mars", START, 0.0, ephemeris="de421")
    finally:
        monkeypatch.undo()
        kernel._kernel.cache_clear()


def test_reading_the_kernel_warns_of_nothing():
    kernel._kernel.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        light_time_s("earth", "mars", START, 0.0, ephemeris="de421")
