"""Gilbert-Elliott: shares and burst lengths, by formula and by 1e7 slots."""

from __future__ import annotations

import numpy as np
import pytest
from dstcc_channels.gilbert_elliott import GilbertElliott
from hypothesis import given
from hypothesis import strategies as st

from dstcc.errors import InputError


@given(st.floats(0.001, 0.5), st.floats(1, 1000))
def test_a_chain_from_its_share_and_burst_length_has_them(share, burst):
    chain = GilbertElliott.from_bursts(share, burst)
    assert chain.share_bad == pytest.approx(share)
    assert chain.mean_burst_slots == pytest.approx(burst)
    assert chain.p == pytest.approx(chain.r * share / (1 - share))
    assert chain.loss == pytest.approx(share)


@pytest.mark.parametrize(("share", "burst"), [(0.05, 20), (0.3, 5), (0.9, 20)])
def test_ten_million_slots_have_the_shares_and_burst_lengths(share, burst):
    # 1e7 slots hold 1e7 x share / burst >= 25,000 bursts: the mean length is known to 1/sqrt(25,000) = 0.6 %
    bad = GilbertElliott.from_bursts(share, burst).bad_slots(10_000_000, seed=5)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], bad.astype(np.int8), [0]))))
    lengths = edges[1::2] - edges[::2]
    assert bad.mean() == pytest.approx(share, rel=0.02)
    assert lengths.mean() == pytest.approx(burst, rel=0.02)


def test_states_differ_in_their_loss():
    chain = GilbertElliott(0.01, 0.19, good=0.001, bad=0.5)
    assert chain.share_bad == pytest.approx(0.05)
    assert chain.loss == pytest.approx(0.95 * 0.001 + 0.05 * 0.5)


def test_slots_are_seeded():
    chain = GilbertElliott.from_bursts(0.2, 10)
    assert np.array_equal(chain.bad_slots(1000, 1), chain.bad_slots(1000, 1))
    assert not np.array_equal(chain.bad_slots(1000, 1), chain.bad_slots(1000, 2))


def test_a_chain_with_no_way_back_stays():
    assert not GilbertElliott(0, 1).bad_slots(100, 1).any()
    assert GilbertElliott(1, 0).bad_slots(100, 1).all()


def test_a_chain_that_always_moves_goes_to_and_fro():
    bad = GilbertElliott(1, 1).bad_slots(100, 1)
    assert (bad[1:] != bad[:-1]).all()


@pytest.mark.parametrize("slots", [0, 1, 2])
def test_few_slots_are_as_many_as_asked(slots):
    # from either state: 0.9 of the seeds begin in the bad one
    for seed in range(20):
        assert GilbertElliott.from_bursts(0.9, 20).bad_slots(slots, seed).shape == (slots,)


def test_a_good_slot_loses_nothing_and_a_bad_one_everything_unless_said():
    # a chain in the bad state for 0.1 / 0.4 of the time
    assert GilbertElliott(0.1, 0.3).loss == pytest.approx(1 / 4)
    assert GilbertElliott.from_bursts(1 / 4, 10).loss == pytest.approx(1 / 4)


@pytest.mark.parametrize("wrong", [-0.1, 1.5])
@pytest.mark.parametrize("key", ["p", "r", "good", "bad"])
def test_a_probability_lies_between_0_and_1(key, wrong):
    with pytest.raises(InputError, match=rf"gilbert_elliott\.{key} = {wrong}: must be between 0 and 1"):
        GilbertElliott(**{"p": 0.5, "r": 0.5, key: wrong})


def test_a_chain_moves():
    with pytest.raises(InputError, match="never moves"):
        GilbertElliott(0, 0)


@pytest.mark.parametrize("share", [-0.1, 1])
def test_a_share_of_bad_slots_is_at_least_0_and_below_1(share):
    with pytest.raises(InputError, match=f"share_bad = {share:g}: must be at least 0 and below 1"):
        GilbertElliott.from_bursts(share, 10)
    assert GilbertElliott.from_bursts(0, 10).loss == 0


def test_bursts_are_long_enough_for_their_share():
    # a good run has one slot at least, so that bad ones of 0.9 / 0.1 = 9 on average are the least for 90 %
    assert GilbertElliott.from_bursts(0.9, 9).p == pytest.approx(1)
    with pytest.raises(InputError, match=r"mean_burst_slots = 8\.9: at least 1, .* \(1 - share_bad\) = 9$"):
        GilbertElliott.from_bursts(0.9, 8.9)
    with pytest.raises(InputError, match=r"mean_burst_slots = 0\.9: at least 1, "):
        GilbertElliott.from_bursts(0.1, 0.9)
