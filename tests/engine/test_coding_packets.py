"""The packets of one subflow of ``coded``: numbers, losses, timers and windows, step by step."""

from __future__ import annotations

import pytest

from dstcc.engine import Transport, _engine  # noqa: F401 - the errors of _testing are registered there
from dstcc.engine._testing import coding

from .net import ns

PTO_S = 3.04
"""After a handshake of 1 s: srtt 1 s + 4 x rttvar 0.5 s, and the receiver's delayed ACK of 40 ms."""


def packets(congestion: str = "newreno", **transport: object):
    made = coding.Packets(Transport(congestion, "minrtt", mode="coded", **transport))  # type: ignore[arg-type]
    made.establish(0, ns(1))
    return made


def test_a_packet_three_below_the_largest_is_lost() -> None:
    sender = packets()
    sender.send(0, 10)
    # 1 is three below 4; 2 and 3 may be late yet.
    assert sender.ack(ns(1), [(0, 1), (4, 5)]) == ([0, 4], [1])
    assert sender.in_flight == 7


def test_a_packet_below_the_largest_is_lost_after_nine_eighths_of_a_round_trip() -> None:
    sender = packets()
    sender.send(0, 10)
    sender.ack(ns(1), [(0, 1), (4, 5)])
    assert sender.next_timer == ns(1.125)
    assert sender.timer(ns(1.125) - 1) == ([], [])
    assert sender.timer(ns(1.125)) == ([], [2, 3])
    assert sender.in_flight == 5
    assert not sender.probing


def test_each_packet_has_one_fate() -> None:
    sender = packets()
    sender.send(0, 10)
    sender.ack(ns(1), [(0, 1), (4, 5)])
    assert sender.ack(ns(1.01), [(0, 1), (2, 3), (4, 6)]) == ([2, 5], [])  # 3 is two below 5
    assert sender.ack(ns(1.02), [(0, 7)]) == ([3, 6], [])  # 1 was held to be lost, and is not looked at again


def test_a_loss_halves_the_window_once_for_what_was_under_way() -> None:
    sender = packets()
    sender.send(0, 10)
    sender.ack(ns(1), [(0, 1), (4, 5)])
    assert (sender.cwnd, sender.state) == (5, "recovery")
    sender.timer(ns(1.125))  # 2 and 3 were sent before the reduction
    assert sender.cwnd == 5
    sender.send(ns(1.2), 5)  # 10 to 14
    # 5 to 9 arrive, then 11: nothing of the recovery is left, and 10 is one below.
    assert sender.ack(ns(2.2), [(0, 1), (4, 10), (11, 12)]) == ([5, 6, 7, 8, 9, 11], [])
    assert sender.state == "open"
    grown = sender.cwnd
    assert sender.ack(ns(2.21), [(0, 1), (4, 10), (11, 14)]) == ([12, 13], [10])  # a new reduction
    assert sender.state == "recovery"
    assert sender.cwnd <= max(grown // 2 + 1, 2)


@pytest.mark.parametrize(("wait_s", "rtt_s"), [(0.1, 1.1), (0.3, 1.2)])
def test_the_receivers_wait_is_no_part_of_a_round_trip(wait_s: float, rtt_s: float) -> None:
    sender = packets()
    sender.send(0, 1)
    sender.ack(ns(1.2), [(0, 1)], wait=ns(wait_s))  # 1.2 - 0.3 s would be below the least so far, of 1 s
    assert sender.last_rtt_ns == ns(rtt_s)


def test_silence_allows_a_probe_beyond_the_window_and_waits_twice_as_long() -> None:
    sender = packets(initial_cwnd=1)
    sender.send(0, 1)
    assert sender.next_timer == ns(PTO_S)
    assert not sender.window_open
    sender.timer(ns(PTO_S))
    assert (sender.probing, sender.window_open, sender.stale) == (True, True, True)
    assert sender.next_timer == ns(2 * PTO_S)
    sender.send(ns(PTO_S), 1)
    assert not sender.window_open
    assert sender.ack(ns(4.04), [(1, 2)]) == ([1], [0])  # 0 has waited for longer than 9/8 s
    assert not sender.stale


def test_silence_counts_from_the_last_ack() -> None:
    sender = packets()
    sender.send(0, 2)
    sender.ack(ns(1), [(0, 1)])
    # mdev falls from 0.5 s by a quarter of itself with a sample of 1 s, rttvar stays for this round: 1 s + 3.04 s
    assert sender.next_timer == ns(1 + PTO_S)


@pytest.mark.parametrize(("spread_s", "state", "cwnd"), [(9.0, "recovery", 5), (10.0, "loss", 2)])
def test_all_lost_over_three_timeouts_is_persistent_congestion(
    spread_s: float, state: str, cwnd: int
) -> None:
    sender = packets()
    sender.send(0, 1)
    sender.send(ns(spread_s), 4)
    # 0 and 1 are three below 4 and more; they were sent 9 or 10 s apart, and 3 x 3.04 s = 9.12 s
    assert sender.ack(ns(spread_s + 1), [(4, 5)]) == ([4], [0, 1])
    assert (sender.state, sender.cwnd) == (state, cwnd)
