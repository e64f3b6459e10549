"""``experiments/further_hop.py``: the same bottleneck, light and others at the end of one hop and of three."""

from __future__ import annotations

import pytest

from dstcc.algorithms import CONGESTION, COUPLED
from dstcc.scenario import draw_links
from experiments import further_hop


def test_all_but_coupled_controls_are_there() -> None:
    assert set(further_hop.CONTROLS) == {*CONGESTION, "dstcc"} - {*COUPLED, "agent"}


def test_the_last_hop_is_the_single_one() -> None:
    (one,) = draw_links(further_hop.scenario_of("cubic", 1, 2), 1)
    (three,) = draw_links(further_hop.scenario_of("cubic", 3, 2), 1)
    last = three.onward[-1]
    assert (last.line.rate_bps, last.line.cross_traffic) == (one.rate_bps, one.cross_traffic)
    assert last.node.storage_bytes == one.queue_bytes == 2_500_000
    assert three.delay_ns[0] == pytest.approx(one.delay_ns[0], abs=2)


def test_shares_are_of_what_others_leave() -> None:
    """CUBIC has its queue full: what the datagrams lose there it has beside their half."""
    assert all(0.95 < share < 1.15 for hops in (1, 3) for share in further_hop.shares("cubic", hops, 2))
