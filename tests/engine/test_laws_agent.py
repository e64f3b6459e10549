"""A window that is steered from outside: what of it the engine measures, and what the two other kinds make of it."""

from __future__ import annotations

import numpy as np
import pytest

from dstcc.engine import AGENT, Link, Stepper
from dstcc.engine.config import AGENT_BBR, AGENT_RATE
from dstcc.engine.stepper import ONE_Q16

from . import net
from .net import config, link, ns


def steered(control: str, path: Link, seconds: int, beta: int, **more: object) -> Stepper:
    """A trial in slots of 1 s, its window set to ``beta`` in each."""
    stepper = Stepper(1, 1, 1)
    stepper.load(0, config(control, path, duration_s=seconds, slot_s=1.0, **more))  # type: ignore[arg-type]
    stepper.alpha_q16[:], stepper.beta[:] = 0, beta
    return stepper


def test_a_measured_bandwidth_delay_product_is_forgotten():
    # 1,000 packets fit the path, and are sent for 20 s. Then 40 are, a round trip of 1 s each, and after
    # the 16 round trips that a maximum is kept at most the cap is twice that.
    stepper = steered(AGENT, link(12e6, 1.0, queue_bdp=2.0), 100, 1000)
    for _ in range(20):
        stepper.step()
    stepper.beta[:] = 40
    for _ in range(20):
        stepper.step()
    stepper.beta[:] = 10**6
    stepper.step()
    stepper.step()
    windows = stepper.result(0).samples.cwnd_segments
    assert 1000 in windows
    assert windows[-1] == pytest.approx(2 * 40, abs=4)


def test_a_rate_is_told_apart_from_the_window_that_holds():
    # Told 100 segments a round trip, then "as before" (alpha 1): the pace stays 100 · 1,500 bytes a srtt of 1 s, though
    # the window is that beside what is under way.
    stepper = steered(AGENT_RATE, link(12e6, 1.0), 60, 100, headroom=0)
    for _ in range(10):
        stepper.step()
    stepper.alpha_q16[:], stepper.beta[:] = ONE_Q16, 0
    for _ in range(20):
        stepper.step()
    samples = stepper.result(0).samples
    pace_bps = 100 * net.WIRE * 8 / 1.0
    np.testing.assert_allclose(samples.pacing_bps[5:], pace_bps, rtol=0.02)
    assert samples.cwnd_segments[-1] == pytest.approx(200, rel=0.05)


def test_a_pace_by_bbr_probes_though_the_round_trip_grew():
    # The light time grows by a fifth at 20 s. BBR by itself would drain the path in PROBE_RTT to learn of it, and
    # wait for four segments in flight, which a held window never comes to. Here it goes on: 5/4 and 3/4 of the rate
    # by turns.
    longer = link(1.2e6, 1.0, delay_t_ns=(ns(20), ns(21)), delay_ns=(ns(0.5), ns(0.6)), queue_bdp=4.0)
    stepper = steered(AGENT_BBR, longer, 200, 300, headroom=0)
    while stepper.done[0] == 0:
        stepper.step()
    pace = stepper.result(0).samples.pacing_bps[60:]
    assert pace.max() / pace.min() > 1.5
