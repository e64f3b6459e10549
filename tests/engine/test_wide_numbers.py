"""Deep space in nanoseconds: products of times, windows and bytes that 32 bits, and some that 64 bits, do not hold.

A round trip of 3 hours is 1.08e13 ns; times a window of a million segments that is 1.08e19, beyond an int64 (9.2e18).
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from dstcc.engine import (
    CONGESTION_NAMES,
    SCHEDULER_NAMES,
    TRANSFER_NAMES,
    EngineConfig,
    EngineResult,
    Loss,
    simulate,
)

from . import net

HOUR = 3600.0
STRETCHES = {12_000: "40 min", 54_000: "3 h", 180_000: "10 h"}
"""Of a round trip of 200 ms."""
SENDERS = (*CONGESTION_NAMES, *TRANSFER_NAMES)


def scheduler_of(sender: str) -> str:
    return "none" if sender in TRANSFER_NAMES else "minrtt"


def dilated(config: EngineConfig, k: int) -> EngineConfig:
    """The same network with every time multiplied by ``k``: light, service, constants, releases, deadlines."""

    def later(times: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(k * t for t in times)

    links = tuple(
        dataclasses.replace(
            link,
            rate_bps=link.rate_bps / k,
            up_rate_bps=link.up_rate_bps / k,
            delay_t_ns=later(link.delay_t_ns),
            delay_ns=later(link.delay_ns),
        )
        for link in config.links
    )
    objects = dataclasses.replace(
        config.objects, release_ns=config.objects.release_ns * k, deadline_ns=config.objects.deadline_ns * k
    )
    transport = dataclasses.replace(config.transport, scale=config.transport.scale * k)
    return dataclasses.replace(
        config,
        links=links,
        objects=objects,
        transport=transport,
        slot_ns=config.slot_ns * k,
        duration_ns=config.duration_ns * k,
    )


def laboratory(sender: str, scheduler: str) -> EngineConfig:
    """Three links of 80 to 200 ms with losses, 10 seconds of live video with deadlines.

    Their rates have no common measure: of two events at one time, the rounding of nanoseconds would decide.
    """
    links = (
        net.link(1.229e6, 0.1, loss=Loss("packet", 0.003), up_loss=Loss("packet", 0.003)),
        net.link(2.393e6, 0.2, loss=Loss("packet", 0.003), up_loss=Loss("packet", 0.003)),
        net.link(0.601e6, 0.08),
    )
    return net.config(
        sender,
        links,
        objects=net.live(20, (40_000, 30_000, 20_000), chunk_s=0.5, playout_s=1.0),
        scheduler=scheduler,
        duration_s=20,
    )


def stretched(k: int, **algorithms: str) -> tuple[EngineResult, EngineResult]:
    config = laboratory(**algorithms)
    return simulate(config), simulate(dilated(config, k))


def assert_alike(lab: EngineResult, space: EngineResult, k: int) -> None:
    """All is the same but for the unit of time; nanoseconds round, and a window that is a product by a segment."""
    np.testing.assert_array_equal(lab.objects.sent_bytes, space.objects.sent_bytes)
    np.testing.assert_array_equal(lab.objects.subflow, space.objects.subflow)
    done = lab.objects.complete_ns >= 0
    np.testing.assert_array_equal(done, space.objects.complete_ns >= 0)
    np.testing.assert_allclose(space.objects.complete_ns[done] / k, lab.objects.complete_ns[done], atol=1_000)
    np.testing.assert_allclose(space.samples.cwnd_segments, lab.samples.cwnd_segments, atol=1)


@pytest.mark.parametrize("k", STRETCHES, ids=STRETCHES.values())
@pytest.mark.parametrize("sender", SENDERS)
def test_a_laboratory_in_slow_motion_is_deep_space_for_every_sender(sender: str, k: int) -> None:
    assert_alike(*stretched(k, sender=sender, scheduler=scheduler_of(sender)), k)


@pytest.mark.parametrize("k", STRETCHES, ids=STRETCHES.values())
@pytest.mark.parametrize("scheduler", SCHEDULER_NAMES)
def test_a_laboratory_in_slow_motion_is_deep_space_for_every_scheduler(scheduler: str, k: int) -> None:
    assert_alike(*stretched(k, sender="cubic", scheduler=scheduler), k)


def assert_sane(result: EngineResult, rates_bps: float, rtt_s: float) -> None:
    """All of it came, no faster than the lines and light, and the round trip was the links'."""
    totals = result.totals
    assert result.objects.complete_ns[0] > 0
    took_s = totals.last_delivery_s - totals.first_send_s
    assert took_s >= totals.sent_wire_bytes * 8 / rates_bps + rtt_s / 2 - 1e-6
    if totals.rtt_samples:  # a single block of ltp is there before its report is back
        assert rtt_s <= totals.rtt_sum_s / totals.rtt_samples < 3 * rtt_s
    assert (result.samples.cwnd_segments >= 0).all()
    assert (result.samples.inflight_segments >= 0).all()
    assert np.isfinite(result.samples.pacing_bps).all()
    assert (result.samples.srtt_ns < 10 * net.ns(rtt_s)).all()


TEN_HOURS = 10 * HOUR


@pytest.mark.parametrize("sender", SENDERS)
def test_hundreds_of_thousands_of_segments_are_out_for_ten_hours(sender: str) -> None:
    # 300,000 segments × 3.6e13 ns = 1.1e19. Losses make every law work out what is left of its window.
    link = net.link(10e9, TEN_HOURS, loss=Loss("packet", 2e-5))
    result = net.run(
        sender,
        link,
        objects=net.bulk(400_000 * net.MSS),
        scheduler=scheduler_of(sender),
        initial_cwnd=300_000,
        slot_s=HOUR,
        duration_s=400 * HOUR,
        scale=900.0,
    )
    assert result.totals.lost_channel_packets > 0
    assert_sane(result, 10e9, TEN_HOURS)


@pytest.mark.parametrize("scheduler", SCHEDULER_NAMES)
def test_every_scheduler_weighs_wide_windows_over_hours(scheduler: str) -> None:
    links = (net.link(10e9, 8 * HOUR), net.link(10e9, TEN_HOURS))
    result = net.run(
        "cubic",
        links,
        objects=net.bulk(400_000 * net.MSS),
        scheduler=scheduler,
        initial_cwnd=300_000,
        slot_s=HOUR,
        duration_s=400 * HOUR,
        scale=900.0,
    )
    assert_sane(result, 20e9, 8 * HOUR)


@pytest.mark.parametrize("sender", SENDERS)
def test_a_hundred_gigabits(sender: str) -> None:
    # A segment is 120 ns on the line; 10 ms of it, 83,000 segments, are on the way.
    result = net.run(
        sender,
        net.link(100e9, 0.01),
        objects=net.bulk(200_000 * net.MSS),
        scheduler=scheduler_of(sender),
        slot_s=0.1,
    )
    assert_sane(result, 100e9, 0.01)


@pytest.mark.parametrize("scheduler", SCHEDULER_NAMES)
def test_a_hundred_gigabits_under_every_scheduler(scheduler: str) -> None:
    links = (net.link(100e9, 0.01), net.link(100e9, 0.015))
    result = net.run("cubic", links, objects=net.bulk(200_000 * net.MSS), scheduler=scheduler, slot_s=0.1)
    assert_sane(result, 200e9, 0.01)
