"""The clairvoyant bound, beside counts by hand."""

from __future__ import annotations

import numpy as np
import pytest

from dstcc.engine import Loss, Objects, clairvoyant_weight
from dstcc.engine.simulate import channel_losses

from . import net


def bound(links, objects: Objects, weights=None, **transport: object) -> float:
    config = net.config("open-loop", links, objects=objects, slot_s=1, **transport)
    return clairvoyant_weight(config, np.ones(len(objects.chunk)) if weights is None else weights)


def test_without_deadlines_everything_is_in_time():
    assert bound(net.link(), net.live(10, (1000, 1000))) == 20


def test_ample_capacity_brings_everything():
    assert bound(net.link(12e6, 1.0), net.live(10, (1000, 1000), playout_s=2.0)) == pytest.approx(20)


def test_nothing_outruns_light():
    assert bound(net.link(12e6, 4.0), net.live(10, (1000,), playout_s=1.9)) == 0


def test_capacity_bounds_the_sum():
    # 60 kbit/s carry 5 packets a second; each chunk holds 10. From the first release (1 s) to the last departure that
    # is in time (100 + 6 - 1 = 105 s) that is 520 packets: 52 chunks.
    objects = net.live(100, (10 * net.MSS,), playout_s=6.0)
    assert bound(net.link(60e3, 2.0), objects) == pytest.approx(52, rel=1e-6)


def test_the_denser_layer_goes_first_and_pays_for_its_base():
    # One chunk, room for 10 packets: base layer 10 packets of weight 1, enhancement 5 packets of weight 10. Precedence:
    # the enhancement alone is worthless, so both pool to 11 / 15 a packet and 10 of 15 fit.
    objects = net.live(1, (10 * net.MSS, 5 * net.MSS), playout_s=1.0 + 2.0)
    weights = np.array([1.0, 10.0])
    # 5 packets a second, 2 s after the light time
    assert bound(net.link(60e3, 2.0), objects, weights) == pytest.approx(11 * 10 / 15, rel=0.11)


def test_lost_slots_do_not_count():
    # Ten slots a second for ten packets a second, half of which deliver; 10 s of slack use all but the last hundred.
    link = net.link(120e3, 2.0, loss=Loss("packet", 0.5))
    objects = net.live(100, (10 * net.MSS,), playout_s=11.0)
    delivered = 1.1 * (1 - channel_losses(link, 1, 0, net.WIRE, 1100).mean())
    assert bound(link, objects, seed=1) == pytest.approx(100 * delivered, abs=3)


def test_outages_do_not_count():
    # A second of slack and ten slots a second for ten packets: the 40 chunks of the dark have nowhere to go.
    dark = net.link(120e3, 2.0, outages_s=((20.0, 60.0),))
    objects = net.live(100, (10 * net.MSS,), playout_s=2.0)
    assert bound(dark, objects) == pytest.approx(60, abs=1)


def test_two_links_add_up():
    objects = net.live(50, (10 * net.MSS,), playout_s=2.0)
    one = net.link(48e3, 2.0)  # 4 packets a second
    assert bound((one, one), objects) == pytest.approx(2 * bound(one, objects), rel=0.05)
