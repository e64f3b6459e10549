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


@pytest.mark.parametrize(("share", "burst"), [(0.05, 20), (0.3, 5)])
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
    assert not GilbertElliott(0, 1).bad_slots(100, 1).any()


def test_impossible_chains_are_refused():
    with pytest.raises(InputError, match=r"gilbert_elliott\.p = 1\.5: must be between 0 and 1"):
        GilbertElliott(1.5, 0.1)
    with pytest.raises(InputError, match="never moves"):
        GilbertElliott(0, 0)
    with pytest.raises(InputError, match="share_bad = 1"):
        GilbertElliott.from_bursts(1, 10)
    with pytest.raises(InputError, match="mean_burst_slots = 2: at least 1"):
        GilbertElliott.from_bursts(0.9, 2)
