"""Schedulers: which subflow carries what."""

from __future__ import annotations

import numpy as np
import pytest

from dstcc.engine import Loss

from . import net

FAST = net.link(12e6, 0.2)
SLOW = net.link(12e6, 1.0)


def carried(result) -> np.ndarray:
    """Payload acknowledged per subflow."""
    return np.bincount(result.samples.subflow, weights=result.samples.delivered_bytes)


def test_minrtt_prefers_the_shorter_path_while_it_has_room():
    # 1.2 Mbit/s offered to a 12 Mbit/s short path: the long one is never needed.
    objects = net.live(60, (150_000,))
    share = carried(net.run("fixed", (SLOW, FAST), objects=objects, slot_s=1, mode="lanes"))
    assert share[1] / share.sum() > 0.95


def test_minrtt_spills_over_when_the_shorter_path_is_full():
    objects = net.live(60, (2_250_000,))  # 18 Mbit/s over 12 + 12
    share = carried(net.run("fixed", (SLOW, FAST), objects=objects, slot_s=1))
    assert share.min() > 0.25 * share.sum()
    assert share.sum() == pytest.approx(objects.payload_bytes.sum(), rel=0.01)


def test_round_robin_alternates():
    # Far below capacity, every second layer each.
    objects = net.live(60, (20_000,))
    result = net.run("fixed", (SLOW, FAST), objects=objects, slot_s=1, mode="lanes", scheduler="round-robin")
    steady = result.objects.subflow[10:]
    assert (steady[1:] != steady[:-1]).all()


def test_layer_pinned_follows_the_table_it_is_given():
    objects = net.live(60, (20_000, 20_000, 20_000))
    result = net.run(
        "fixed",
        (SLOW, FAST),
        objects=objects,
        slot_s=1,
        mode="lanes",
        scheduler="layer-pinned",
        layer_links=(1, 0),
    )
    np.testing.assert_array_equal(result.objects.subflow.reshape(-1, 3)[10:], [[1, 0, 0]] * 50)


def test_layer_pinned_by_itself_sends_base_layers_the_earliest_way_and_the_rest_elsewhere():
    # Expected delivery of 20 kB: the short path is 0.4 s nearer.
    objects = net.live(60, (20_000, 20_000, 20_000))
    result = net.run("fixed", (SLOW, FAST), objects=objects, slot_s=1, mode="lanes", scheduler="layer-pinned")
    subflow = result.objects.subflow.reshape(-1, 3)[10:]
    assert (subflow[:, 0] == 1).all()
    assert (subflow[:, 1:] == 0).all()


@pytest.mark.parametrize("mode", ["stream", "lanes"])
def test_layer_pinned_moves_what_a_dead_path_has_not_begun(mode):
    dying = net.link(1.2e6, 0.2, outages_s=((10.0, 1e5),))
    objects = net.live(40, (20_000, 20_000))
    result = net.run(
        "fixed", (dying, net.link(1.2e6, 1.0)), objects=objects, slot_s=1, mode=mode, scheduler="layer-pinned"
    )
    assert (result.objects.complete_ns > 0).all()
    assert (result.objects.subflow[50:] == 1).all()


def test_redundant_pays_twice_and_loses_almost_nothing():
    # 10 % loss on each of two equal paths: the second copy is lost too once in a hundred.
    lossy = net.link(12e6, 1.0, loss=Loss("packet", 0.1))
    objects = net.live(200, (net.MSS,), chunk_s=0.5)
    result = net.run("open-loop", (lossy, lossy), objects=objects, slot_s=1, scheduler="redundant")
    arrival = (result.objects.first_arrival_ns - objects.release_ns)[20:] / net.S
    assert (arrival > 0.6).mean() < 0.04
    single = net.run("open-loop", lossy, objects=objects, slot_s=1)
    alone = (single.objects.first_arrival_ns - objects.release_ns)[20:] / net.S
    assert (alone > 0.6).mean() == pytest.approx(0.1, abs=0.05)
    assert result.totals.duplicate_payload_bytes > 0.6 * objects.payload_bytes.sum()
