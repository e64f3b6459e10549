"""What constants in seconds do to a mission, sentence by sentence: each number, and where a warning begins."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dstcc.engine.config import Hop, Node, TcpConstants
from dstcc.scenario.distortions import LARGEST_SRTT_S, distortions, full_rtts_s, longest_rtt_s, uncounted
from tests.engine import net
from tests.engine.test_nodes import line, path

EVERY = ("cubic", "bbr", "westwood", "ledbat", "bic")


def test_linuxs_constants_three_times_as_long() -> None:
    assert distortions(3.0, EVERY, 100.0) == (
        "least retransmission timeout 0.2 s → 0.6 s, first 1 s → 3 s, longest 120 s → 360 s",
        "delayed ACK 40 ms → 120 ms",
        "CUBIC's C 0.4 → 0.4/S³ = 0.0148 segments/s³, HyStart's delays 4–16 ms → 12–48 ms",
        "BBR's RTTmin window 10 s → 30 s, PROBE_RTT 200 ms → 600 ms",
        "Westwood's least sample 50 ms → 150 ms",
        "LEDBAT's target 100 ms → 300 ms, base history 600 s → 1800 s",
        "BIC's pause between steps 1/32 s → 0.09375 s",
    )


def test_a_trials_own_constants_beside_linuxs() -> None:
    """Each twice Linux's, at S = 3: six times as long."""
    plain = TcpConstants()
    own = replace(
        plain,
        **{
            name: 2 * getattr(plain, name)
            for name in (
                *("rto_min_s", "rto_initial_s", "rto_max_s", "delayed_ack_s", "hystart_delay_min_s"),
                *("hystart_delay_max_s", "bbr_min_rtt_window_s", "bbr_probe_rtt_s", "westwood_rtt_min_s"),
                *("ledbat_target_s", "ledbat_minute_s"),
            )
        },
    )
    said = distortions(3.0, EVERY, 100.0, own)
    assert said[:2] == (
        "least retransmission timeout 0.2 s → 1.2 s, first 1 s → 6 s, longest 120 s → 720 s",
        "delayed ACK 40 ms → 240 ms",
    )
    assert said[2].endswith("HyStart's delays 4–16 ms → 24–96 ms")
    assert said[3:6] == (
        "BBR's RTTmin window 10 s → 60 s, PROBE_RTT 200 ms → 1200 ms",
        "Westwood's least sample 50 ms → 300 ms",
        "LEDBAT's target 100 ms → 600 ms, base history 600 s → 3600 s",
    )


@pytest.mark.parametrize("name", EVERY)
def test_each_control_has_its_own_sentence(name: str) -> None:
    alone = distortions(2.0, (name,), 100.0)
    assert len(alone) == 3 and set(alone) < set(distortions(2.0, EVERY, 100.0))
    assert distortions(2.0, ("newreno",), 100.0) == alone[:2]
    assert distortions(1.0, (name,), 100.0) == ()


def test_a_timeout_below_the_round_trip_is_said_first() -> None:
    first, *_ = distortions(2.0, ("cubic",), 300.0)
    assert first == (
        "longest retransmission timeout 240 s, below the round trip of 300 s: TCP times out before an ACK can come, "
        "repeats what is not lost and reduces its window; not so from scale = 2.5 on"
    )
    assert len(distortions(1.0, ("cubic",), 120.0)) == 0 and len(distortions(1.0, ("cubic",), 120.1)) == 1


def test_a_round_trip_that_linux_cannot_count() -> None:
    """A u32 of eighths of microseconds: 536.87 s; 600 s are 1.1176 times as long, rounded up to hundredths."""
    assert pytest.approx(2**32 / 8e6) == LARGEST_SRTT_S
    least, most = LARGEST_SRTT_S, LARGEST_SRTT_S * 2
    assert uncounted(1.0, {"a": least}) == uncounted(2.0, {"a": most}) == ()
    (said,) = uncounted(1.0, {"a": 1.0, "b": 600.0})
    assert said == (
        "link b: a round trip of up to 600 s with its queue full, and Linux counts to 536.9 s: its smoothed RTT "
        "(srtt_us) begins again at 0 there, and timeouts follow it; the simulator's does not. Not so from "
        "scale = 1.12 on"
    )
    assert len(uncounted(1.0, {"a": 600.0, "b": 700.0})) == 2
    assert distortions(1.0, ("cubic",), 100.0, full_s={"b": 600.0}) == (said,)


def test_bbrs_first_rate_is_nothing_above_a_round_trip() -> None:
    """10 segments of 2^-24 a microsecond: 167.77 s."""
    patient = replace(TcpConstants(), rto_max_s=1e4)
    for scale, edge_s in ((1.0, 167.77216), (2.0, 335.54432)):
        for rtt_s, warns in ((edge_s, False), (edge_s + 1e-4, True)):
            said = [one for one in distortions(scale, ("bbr",), rtt_s, patient) if "first rate" in one]
            assert said == [
                f"BBR's first rate on Linux is 0 at a round trip above {edge_s:.4g} s, and MPTCP then sends nothing; "
                "the simulator does"
            ] * bool(warns)


def test_full_queues_add_what_they_take_at_the_least_rate() -> None:
    """A link of 8 kb/s and 3,000 bytes of queue: 3 s, or 12 s where a quarter of the rate is the least. On the way
    4,500 bytes at a rate of 12 kb/s are 3 s more, unless the node stores."""
    plain = net.link(8e3, 10.0, queue_bytes=3_000)
    assert full_rtts_s("stream", [plain]) == {plain.name: pytest.approx(13.0)}
    slow = replace(plain, rate_t_ns=(0, 5), rate_share=(1.0, 0.25))
    assert full_rtts_s("lanes", [slow]) == {plain.name: pytest.approx(22.0)}
    assert full_rtts_s("coded", [plain]) == {} and longest_rtt_s("coded", [plain]) == 0
    assert longest_rtt_s("stream", [plain, net.link(8e3, 12.0)]) == pytest.approx(12.0)
    for storage, more_s in ((0, 3.0), (9_000, 0.0)):
        onward = Hop(1, Node("n", 1, storage_bytes=storage), line("b", 12e3, 4.0, queue_bytes=4_500))
        way = path(line("a", 8e3, 1.0, queue_bytes=3_000), onward)
        (full_s,) = full_rtts_s("stream", [way]).values()
        assert full_s == pytest.approx(2 * 5 + 3 + more_s)


def test_what_has_no_tcp_has_none_of_it() -> None:
    assert distortions(9.0, ("ltp",), 1e9, full_s={"a": 1e9}) == ()
    assert distortions(9.0, (), 1e9) == ()
    assert len(distortions(9.0, ("ltp", "newreno"), 100.0)) == 2
