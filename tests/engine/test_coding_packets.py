"""The packets of one subflow of ``coded``: numbers, losses, timers and windows, step by step."""

from __future__ import annotations

import pytest

from dstcc.engine import Transport, _engine  # noqa: F401 - the errors of _testing are registered there
from dstcc.engine._testing import coding

from .net import link, ns

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


SILENT_S = 1.165
"""Of a law that lives by reports: 9/8 of a round trip of 1 s, and the delayed ACK."""


def reporting(*, up_away_s: tuple[float, float] | None = None):
    """The packets of `paced` over a line of 12 Mbit/s, light half a second, whose way back may have an outage."""
    away = () if up_away_s is None else ((ns(up_away_s[0]), ns(up_away_s[1])),)
    made = coding.Packets(Transport("paced", "minrtt", mode="coded", handshake=False))
    made.plan(link(rtt_s=1.0, up_outages_ns=away))
    made.establish(0, ns(1))
    return made


def test_a_path_that_reports_is_silent_after_nine_eighths_of_the_plans_round_trip() -> None:
    sender = reporting()
    sender.send(0, 2)
    sender.send(ns(0.5), 1)
    assert sender.next_timer == ns(SILENT_S)
    assert sender.timer(ns(SILENT_S) - 1) == ([], [])
    assert not sender.stale
    assert sender.timer(ns(SILENT_S)) == ([], [])  # of nothing the fate is known
    assert sender.stale
    assert sender.doubted == [0, 1]
    sender.timer(sender.next_timer)
    assert sender.doubted == [2]  # and the others no more
    assert sender.ack(ns(7), [(0, 3)]) == ([0, 1, 2], [])  # it was the reports that were lost
    assert not sender.stale


def test_of_a_path_that_reports_the_first_answer_may_wait_on_slow_lines() -> None:
    """Light takes 5 ms; a full packet takes 0.1 s on the line, and there is a margin of as much for either way."""
    made = coding.Packets(Transport("paced", "minrtt", mode="coded", handshake=False))
    slow = link(rate_bps=120e3, rtt_s=0.01)
    made.plan(slow)
    made.establish(0, ns(0.01))
    made.send(0, 1)
    full_s = 8 * 1500 / 120e3
    assert made.next_timer == pytest.approx(ns(0.01 + 2 * (full_s + full_s)), rel=1e-6)


def test_silence_of_a_path_that_reports_counts_from_the_oldest_packet() -> None:
    sender = reporting()
    sender.send(0, 1)
    sender.send(ns(0.5), 1)
    sender.ack(ns(1), [(0, 1)])
    assert sender.next_timer == ns(0.5 + SILENT_S)


def test_oldest_packets_that_were_answered_late_are_waited_for() -> None:
    sender = reporting()
    sender.send(0, 1)
    sender.send(ns(0.3), 1)
    sender.send(ns(0.8), 1)
    sender.ack(ns(1.4), [(0, 2)])  # 1.4 s after the oldest of them left; a sample of 1.1 s
    srtt_s = 1 + 0.1 / 8
    assert sender.next_timer == pytest.approx(ns(0.8 + srtt_s * 9 / 8 + 0.04 + 0.4), abs=2)


def test_what_an_answer_waits_for_by_the_plan_is_no_silence() -> None:
    sender = reporting(up_away_s=(1.2, 10))
    sender.send(0, 1)
    sender.send(ns(0.8), 1)  # its answer leaves at 1.3 s at the soonest
    sender.ack(ns(1), [(0, 1)])
    assert sender.next_timer == ns(0.8 + SILENT_S + (10 - 1.3))
    sender.ack(ns(10.5), [(0, 2)])  # 8.7 s of its 9.7 s were foreseen
    assert sender.last_rtt_ns == ns(1)
    sender.send(ns(10.5), 1)
    assert sender.next_timer == ns(10.5 + SILENT_S)


def test_an_outage_of_the_plan_is_no_silence() -> None:
    sender = reporting()
    sender.send(0, 1)
    sender.resume(ns(5))
    assert sender.next_timer == ns(5 + SILENT_S)


def test_a_law_that_lives_by_acks_doubts_nothing() -> None:
    sender = packets()
    sender.send(0, 1)
    sender.timer(ns(PTO_S))
    assert sender.stale
    assert sender.doubted == []


def test_an_answer_in_time_for_a_contact_is_no_round_trip_of_no_time() -> None:
    # A full packet takes 1 ms on the way back and would not be through before the outage; a report was.
    sender = reporting(up_away_s=(0.5005, 10))
    sender.send(0, 1)
    sender.ack(ns(1), [(0, 1)])
    assert sender.last_rtt_ns == ns(1)
