"""Delay over time: Hermite's cubic between rows, first in, first out; and times that hardly fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from dstcc.engine import Loss, clairvoyant_weight
from dstcc.engine._testing import delays

from . import net

HOUR = 3600.0


def curved(t_s: np.ndarray, delay_s: np.ndarray, rate_bps: float = 12e6, **more: Any):
    """A link whose delay is the spline through those rows."""
    table: dict[str, Any] = {
        "delay_t_ns": tuple(net.ns(t) for t in t_s),
        "delay_ns": tuple(net.ns(d) for d in delay_s),
        "delay_slope": tuple(CubicSpline(t_s, delay_s)(t_s, 1)),
    }
    return net.link(rate_bps, 2.0, **(table | more))


def swinging(t_s: np.ndarray) -> np.ndarray:
    """A light time of 600 s that swings by 1 s in three hours: 15 times as fast as Mars ever does."""
    return 600 + np.sin(2 * np.pi * t_s / (3 * HOUR))


def test_a_row_in_ten_minutes_is_enough_for_a_tenth_of_a_millisecond():
    # The spline's error is h^4 / 384 times the fourth derivative: 600^4 / 384 x (2 pi / 10,800)^4 = 39 us.
    rows = np.arange(0, 6 * HOUR + 1, 600)
    at = np.linspace(1000, 5 * HOUR, 2000)
    seen, _ = delays(curved(rows, swinging(rows)), [net.ns(t) for t in at])
    np.testing.assert_allclose(seen / net.S, swinging(at), atol=1e-4)


def test_it_is_scipys_spline():
    rng = np.random.default_rng(1)
    t_s, delay_s = np.cumsum(rng.uniform(50, 500, 20)), rng.uniform(1, 20, 20)
    at = np.linspace(t_s[0], t_s[-1], 1000)
    seen, _ = delays(curved(t_s, delay_s), [net.ns(t) for t in at])
    np.testing.assert_allclose(seen / net.S, np.maximum(CubicSpline(t_s, delay_s)(at), 0), atol=1e-8)


def test_it_is_constant_outside_its_rows():
    link = curved(np.array([100.0, 200.0]), np.array([5.0, 6.0]))
    seen, _ = delays(link, [0, net.ns(100), net.ns(200), net.ns(10**6)])
    np.testing.assert_array_equal(seen / net.S, [5, 5, 6, 6])


@pytest.mark.parametrize("slopes", [True, False])
def test_the_latest_departure_is_the_inverse(slopes):
    rows = np.arange(0, 6 * HOUR, 600)
    straight: dict[str, Any] = {} if slopes else {"delay_slope": ()}
    link = curved(rows, swinging(rows), **straight)
    departures = [net.ns(t) for t in np.linspace(0, 5.9 * HOUR, 500)]
    seen, _ = delays(link, departures)
    _, latest = delays(link, [t + int(d) for t, d in zip(departures, seen, strict=True)])
    np.testing.assert_allclose(latest, departures, atol=3)


def test_the_latest_departure_where_the_path_shortens_faster_than_time():
    # 5 s until t = 10 s, 1 s from t = 12 s on: what departs at 10 s arrives at 15 s, at 12 s already at 13 s.
    link = net.link(12e6, 2.0, delay_t_ns=(net.ns(10), net.ns(12)), delay_ns=(net.ns(5), net.ns(1)))
    _, latest = delays(link, [net.ns(12), net.ns(14), net.ns(100)])
    np.testing.assert_allclose(latest / net.S, [7, 13, 99])


def test_of_rows_whose_packets_arrive_later_than_later_ones_the_latest_in_time_counts():
    # What leaves at 10, 12, 12.5 s arrives at 11, 15, 13 s. By 14 s arrives what leaves at 13.5 s, after the last row,
    # though what left at 12 s does not.
    table = ((10, 1), (12, 3), (12.5, 0.5))
    link = net.link(
        12e6,
        2.0,
        delay_t_ns=tuple(net.ns(t) for t, _ in table),
        delay_ns=tuple(net.ns(d) for _, d in table),
    )
    _, latest = delays(link, [net.ns(14)])
    np.testing.assert_allclose(latest / net.S, [13.5])


def test_a_curve_dips_no_lower_than_no_delay():
    link = net.link(
        12e6, 1.0, delay_t_ns=(0, net.ns(10)), delay_ns=(net.ns(0.1),) * 2, delay_slope=(-0.5, 0.5)
    )
    # Without a bound the delay would be -1.15 s amid the rows.
    seen, _ = delays(link, [net.ns(t) for t in (0, 0.1, 5, 9.9, 10)])
    assert (seen >= 0).all() and seen[2] == 0 and 0 < seen[1] < seen[0]


def test_packets_take_the_curve_and_stay_in_order():
    rows = np.arange(0, 2000, 100.0)
    link = curved(rows, 2 + 0.5 * np.sin(rows / 100))
    result = net.run("open-loop", link, objects=net.live(150, (net.MSS,), chunk_s=10), slot_s=100)
    sent = result.objects.first_sent_ns
    expected, _ = delays(link, (sent + net.ns(0.001)).tolist())
    np.testing.assert_array_equal(result.objects.first_arrival_ns - sent - net.ns(0.001), expected)
    assert result.totals.hol_payload_bytes == 0


def test_a_curve_that_outruns_time_is_refused():
    link = net.link(
        12e6, 2.0, delay_t_ns=(0, net.ns(10)), delay_ns=(net.ns(5), net.ns(4)), delay_slope=(-0.1, -3.0)
    )
    with pytest.raises(ValueError, match="more slowly than time"):
        net.run("fixed", link, duration_s=1)


def test_the_bound_knows_the_curve():
    # A light time of 1 s + t / 500 and a playout delay of 2 s: packets of 10 ms that start at t make it while
    # 1.01 s + t / 500 <= 2 s, that is until t = 495 s; one more may be under way.
    t = np.linspace(0, 1000, 11)
    link = curved(t, 1 + t / 500, rate_bps=1.2e6)
    objects = net.live(1000, (net.MSS,), playout_s=2.0)
    config = net.config("open-loop", link, objects=objects)
    assert clairvoyant_weight(config, np.ones(1000)) == pytest.approx(495, abs=2)


@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_a_packet_may_take_a_day(rate):
    # 1,500 bytes at 0.1 bit/s: 120,000 s. Times stay within an int64 whatever the queue.
    link = net.link(rate, 1.0, queue_bytes=2**40, up_rate_bps=1e6, loss=Loss("packet", 0.1))
    result = net.run("fixed", link, objects=net.bulk(10 * net.MSS), slot_s=1e6, scale=1000.0, duration_s=2e9)
    assert result.objects.complete_ns[0] >= 10 * 12_000 / rate * net.S


def test_a_rate_that_no_time_can_hold_is_refused():
    with pytest.raises(ValueError, match="rates must be at least"):
        net.run("fixed", net.link(1e-6, 1.0), duration_s=1)
