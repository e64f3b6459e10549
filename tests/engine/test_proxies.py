"""A node that ends a TCP connection and begins another: what it answers, asks, and does as its boot ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dstcc.engine import NEVER_NS, Hop, simulate

from .test_nodes import S, path
from .test_split import MSS, WIRE, config, layers, line, node, times_s


def test_who_has_nothing_to_send_asks_for_no_room() -> None:
    """The node's twenty places are taken and the far hop is away: two SYNs (a second apart) and 20 segments went
    over the near one by 4 s.

    What comes at 2,000 s asks a timeout later, and at ever longer intervals, until it is dropped as late; what comes at
    4,000 s asks a timeout later again. The handshake of 2 s makes that 6 s, and further round trips of 2 s less.
    """
    objects = replace(
        layers(3, np.array([20, 1, 1]) * MSS, deadline_ns=np.array([NEVER_NS, 2400 * S, NEVER_NS])),
        release_ns=np.array([0, 2000, 4000]) * S,
    )
    way = path(line("a"), Hop(1, node(1, 20 * WIRE), line("b", outages_ns=((0, 20_000 * S),))))
    (near, _) = simulate(config(way, objects=objects, slot_ns=S // 10, duration_ns=4300 * S)).hops
    sent_s = times_s(near.slot_sent_packets, 0.1)
    asked_s = sent_s[sent_s > 5]
    assert near.sent_packets == 2 + 20 + len(asked_s)
    timeout_s = asked_s[0] - 2000
    assert 2.2 < timeout_s < 6.1
    gaps_s = [*timeout_s * np.array([2, 4, 8, 16]), 120]
    for since in (asked_s[:6], asked_s[6:]):
        assert np.diff(since) == pytest.approx(gaps_s, rel=0.06)
    assert asked_s[6] - 4000 == pytest.approx(timeout_s, abs=0.11)


def test_a_node_that_has_passed_all_on_asks_for_no_room() -> None:
    """Ten segments fill the second node, whose next hop is away, and leave the first one empty. An eleventh at 1,000 s
    has it ask, a timeout of at most 6 s after it came at 1,001 s."""
    away = line("c", outages_ns=((0, 20_000 * S),))
    way = path(line("a"), Hop(1, node(1), line("b")), Hop(2, node(2, 10 * WIRE), away))
    objects = replace(layers(2, np.array([10, 1]) * MSS), release_ns=np.array([0, 1000]) * S)
    _, hop, _ = simulate(config(way, objects=objects, slot_ns=S, duration_ns=1010 * S)).hops
    asked_s = times_s(hop.slot_sent_packets, 1.0)[-1]
    assert hop.slot_sent_packets[999] == 2 + 10 and hop.sent_packets == 2 + 10 + 1
    assert 1003 < asked_s < 1009
