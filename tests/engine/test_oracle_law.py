"""The bound of a sender that knows the chance of a loss and no draw, beside counts by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dstcc.engine import Coding, EngineConfig, Link, Loss, Objects, clairvoyant_weight, law_weight

from . import net

TEN_A_SECOND = 120e3
"""Packets of 1,500 bytes."""


def coded(links: Link | tuple[Link, ...], objects: Objects, **knobs: Any) -> EngineConfig:
    """A trial that shakes hands only if it is told to."""
    made = net.config(
        "open-loop", links, objects=objects, slot_s=1, mode="coded", **({"handshake": False} | knobs)
    )
    return replace(made, coding=Coding(objects.chunk, net.ns(1), (), "mds", "same"))


def law(config: EngineConfig) -> float:
    return law_weight(config, np.ones(len(config.objects.chunk)))


def hundred(playout_s: float) -> Objects:
    """100 chunks of ten packets, one a second."""
    return net.live(100, (10 * net.MSS,), playout_s=playout_s)


def test_a_share_of_what_leaves_arrives() -> None:
    # From the first release (1 s) to the last departure in time (100 + 11 - 1 s): 1,090 packets, of which half arrive.
    channel = net.link(TEN_A_SECOND, 2.0, loss=Loss("packet", 0.5))
    assert law(coded(channel, hundred(11))) == pytest.approx(54.5, abs=0.1)


def test_each_link_has_its_own_share() -> None:
    # 1,090 packets over one at 0.9, and 1,070 over one at 0.3 whose light takes 3 s: 1,302 of 2,000.
    first = net.link(TEN_A_SECOND, 2.0, loss=Loss("packet", 0.1))
    second = net.link(TEN_A_SECOND, 6.0, loss=Loss("packet", 0.7))
    twice = net.live(100, (20 * net.MSS,), playout_s=11.0)
    assert law(coded((first, second), twice)) == pytest.approx((0.9 * 1090 + 0.3 * 1070) / 20, abs=0.1)


def test_without_a_loss_it_is_the_clairvoyant_bound() -> None:
    config = coded(net.link(60e3, 2.0), hundred(6.0))
    assert law(config) == pytest.approx(52, rel=1e-6)
    assert clairvoyant_weight(config, np.ones(100)) == 52


def test_a_handshake_takes_the_first_round_trip() -> None:
    # Nothing leaves before 20 s: from there to 100 + 15 - 10 s are 850 packets, of which 0.8 arrive. Without it they
    # are those of 104 s.
    channel = net.link(TEN_A_SECOND, 20.0, loss=Loss("packet", 0.2))
    assert law(coded(channel, hundred(15), handshake=True)) == pytest.approx(68, abs=0.1)
    assert law(coded(channel, hundred(15))) == pytest.approx(83.2, abs=0.1)


def test_a_handshake_waits_for_a_contact() -> None:
    # The link is away for the first 30 s: 30 + 20 to 105 s.
    away = net.link(TEN_A_SECOND, 20.0, outages_s=((0.0, 30.0),))
    assert law(coded(away, hundred(15), handshake=True)) == pytest.approx(55, abs=0.1)
    assert law(coded(away, hundred(15))) == pytest.approx(75, abs=0.1)


def test_a_link_that_never_opens_brings_nothing() -> None:
    assert law(coded(net.link(rtt_s=2.0, outages_s=((0.0, 1e9),)), hundred(15), handshake=True)) == 0


def test_transfers_shake_no_hands() -> None:
    config = net.config("ltp", net.link(TEN_A_SECOND, 20.0), objects=hundred(15), scheduler="none")
    assert law(config) == pytest.approx(100)


def test_it_is_above_the_mean_of_the_clairvoyant_bounds() -> None:
    # Eleven packets can leave in each chunk's second (the bound grants one that is under way at its release), five are
    # wanted and half arrive: in the mean enough for all. But draws with fewer lose what those with more do not bring:
    # E min(X, 5) = 4.57 of X ~ Bin(11, 1/2).
    channel = net.link(TEN_A_SECOND, 2.0, loss=Loss("packet", 0.5))
    objects = net.live(100, (net.MSS,) * 5, playout_s=2.0)
    bounds = [clairvoyant_weight(coded(channel, objects, seed=seed), np.ones(500)) for seed in range(20)]
    assert np.mean(bounds) == pytest.approx(457, abs=7.5)
    assert law_weight(coded(channel, objects), np.ones(500)) == pytest.approx(500, abs=5)


def test_the_weightier_layer_goes_first() -> None:
    # 5 of 10 packets a second arrive: all of the base layer's 4, and a quarter of the other's.
    channel = net.link(TEN_A_SECOND, 2.0, loss=Loss("packet", 0.5))
    objects = net.live(1000, (4 * net.MSS, 4 * net.MSS), playout_s=3.0)
    weights = np.where(objects.layer == 0, 2.0, 1.0)
    assert law_weight(coded(channel, objects), weights) == pytest.approx(2000 + 250, rel=3e-3)


@pytest.mark.parametrize(
    "loss", [Loss("gilbert-elliott", p=0.01, r=0.1), Loss("periodic", 0.01), Loss("ber", 1e-6)]
)
def test_losses_that_are_not_independent_have_none(loss: Loss) -> None:
    with pytest.raises(ValueError, match=f"'{loss.kind}' are not independent"):
        law(coded(net.link(loss=loss), hundred(5)))
