"""Gilbert and Elliott's two states: sojourns, shares, and what it costs to skip."""

from __future__ import annotations

import numpy as np
import pytest

from dstcc.engine import Loss
from dstcc.engine._testing import burst_draws
from dstcc.engine.simulate import channel_losses

from . import net

SLOTS = 10_000_000


def states(p: float, r: float, *, slots: int = SLOTS, seed: int = 1, first: int = 0) -> np.ndarray:
    """Whether each slot is bad: everything is lost in the bad state and nothing in the good one."""
    link = net.link(loss=Loss("gilbert-elliott", p=p, r=r))
    return channel_losses(link, seed, 0, net.WIRE, slots, first=first)


def sojourns(bad: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of the good and of the bad ones, without the two that the ends cut."""
    edges = np.flatnonzero(bad[1:] != bad[:-1]) + 1
    lengths, kind = np.diff(edges), bad[edges[:-1]]
    return lengths[~kind], lengths[kind]


@pytest.mark.parametrize(("p", "r"), [(0.01, 0.1), (0.002, 0.05), (0.3, 0.3), (0.02, 1.0)])
def test_sojourns_and_shares_over_ten_million_packets(p, r):
    bad = states(p, r)
    good_runs, bad_runs = sojourns(bad)
    assert bad.mean() == pytest.approx(p / (p + r), rel=0.02)
    assert bad_runs.mean() == pytest.approx(1 / r, rel=0.02)
    assert good_runs.mean() == pytest.approx(1 / p, rel=0.02)
    # Geometric: a burst has one slot with probability r (4 sigma of the binomial law).
    assert (bad_runs == 1).mean() == pytest.approx(r, abs=4 * np.sqrt(r * (1 - r) / len(bad_runs)))


def test_losses_in_both_states():
    link = net.link(loss=Loss("gilbert-elliott", p=0.01, r=0.1, good=0.001, bad=0.4))
    lost = channel_losses(link, 2, 0, net.WIRE, SLOTS)
    assert lost.mean() == pytest.approx((0.1 * 0.001 + 0.01 * 0.4) / 0.11, rel=0.02)


def test_idle_time_costs_no_draws():
    # Two packets 1e6 s apart at 100 Mbit/s: 8.3e9 slots of 120 us. Walking there would take 2 / (1/p + 1/r) draws a
    # slot, 1.5e8 in all; a block has 2 x 2,048 mean sojourns, up to twice that as it is rounded up, and some by chance.
    loss = Loss("gilbert-elliott", p=0.01, r=0.1)
    for slot in (10**6, 8_333_333_333, 2**47):
        assert burst_draws(loss, 1, slot) < 2 * 2 * 2048 * 1.2


def test_skipping_finds_what_walking_finds():
    walked = states(0.05, 0.2)
    for first in (1, 77_777, 3_333_333, 9_999_000):
        np.testing.assert_array_equal(
            states(0.05, 0.2, slots=1000, first=first), walked[first : first + 1000]
        )


def test_every_block_starts_in_the_stationary_law():
    # 4,000 seeds: the share of bad states just after a far block's start, 4 sigma of the binomial law.
    p, r = 0.1, 0.3
    block = 2 ** int(np.ceil(np.log2(2048 * (1 / p + 1 / r))))
    bad = np.array([states(p, r, slots=1, seed=seed, first=5 * block)[0] for seed in range(4000)])
    assert bad.mean() == pytest.approx(0.25, abs=4 * np.sqrt(0.25 * 0.75 / 4000))


@pytest.mark.parametrize(("p", "r", "share"), [(0.0, 0.5, 0), (0.5, 0.0, 1), (0.0, 0.0, 0)])
def test_a_state_that_is_never_left(p, r, share):
    assert states(p, r, slots=1000, first=10**12).mean() == share
