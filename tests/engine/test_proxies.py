"""A node that ends a TCP connection and begins another: what it answers, asks, and does as its boot ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dstcc.engine import NEVER_NS, Hop, Loss, Node, simulate

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


@pytest.mark.parametrize("late_s", [5.0, 9.0])
def test_what_was_dropped_before_it_asked_for_room_asks_no_more(late_s: float) -> None:
    """The node's twenty places are taken by 8 s, and a question for room is due at 12 s. What waits is dropped at 5 s,
    or at 9 s: the timer of what was sent goes off after that, with nothing to ask for. What comes at 4,000 s asks a
    timeout later, and then ever more rarely."""
    late_ns = round(late_s * S)
    objects = replace(
        layers(3, np.array([20, 1, 1]) * MSS, deadline_ns=np.array([NEVER_NS, late_ns, NEVER_NS])),
        release_ns=np.array([0, 0, 4000]) * S,
    )
    way = path(line("a"), Hop(1, node(1, 20 * WIRE), line("b", outages_ns=((0, 20_000 * S),))))
    (near, _) = simulate(config(way, objects=objects, slot_ns=S // 10, duration_ns=4090 * S)).hops
    sent_s = times_s(near.slot_sent_packets, 0.1)
    asked_s = sent_s[sent_s > 5]
    timeout_s = asked_s[0] - 4000
    assert near.sent_packets == 2 + 20 + len(asked_s)
    assert 2.2 < timeout_s < 6.1
    assert np.diff(asked_s) == pytest.approx(timeout_s * np.array([2, 4, 8]), rel=0.06)


def test_a_node_that_has_passed_all_on_asks_for_no_room() -> None:
    """Ten segments fill the second node, whose next hop is away, and leave the first one empty. An eleventh has it ask
    once within 10 s: a timeout of at most 6 s after it came, a second after its release, whenever that is."""
    away = line("c", outages_ns=((0, 20_000 * S),))
    way = path(line("a"), Hop(1, node(1), line("b")), Hop(2, node(2, 10 * WIRE), away))

    def wait_s(at_s: int) -> float:
        objects = replace(layers(2, np.array([10, 1]) * MSS), release_ns=np.array([0, at_s]) * S)
        one = config(way, objects=objects, slot_ns=S // 10, duration_ns=(at_s + 10) * S)
        _, hop, _ = simulate(one).hops
        assert hop.slot_sent_packets[at_s * 10 - 1] == 2 + 10 and hop.sent_packets == 2 + 10 + 1
        return float(times_s(hop.slot_sent_packets, 0.1)[-1]) - at_s

    waits_s = [wait_s(at_s) for at_s in (1000, 1001, 1003)]
    assert 1 + 2.2 < waits_s[0] < 1 + 6.2
    assert waits_s == pytest.approx(3 * waits_s[:1], abs=0.11)


@pytest.mark.parametrize("congestion", ["westwood", "bbr"])
def test_who_sends_to_a_node_sends_plain_tcp(congestion: str) -> None:
    """MPTCP's options, which a connection over one hop may have, change nothing where a node ends it."""

    def done_ns(option_bytes: int) -> list[int]:
        lossy = line("a", delay_s=0.2, loss=Loss("packet", rate=0.02))
        way = path(lossy, Hop(1, node(1), line("b", 1e9, 0.0)))
        transport = {"congestion": congestion, "option_bytes": option_bytes}
        return simulate(config(way, objects=layers(20), transport=transport)).objects.complete_ns.tolist()

    assert done_ns(24) == done_ns(0)


# ------------------------------------------------------------------------------------------------------ what it answers

ONE_BURST = {"congestion": "fixed", "parameters": {"fixed": {"cwnd_segments": [1000]}}}


@pytest.mark.parametrize("behind", [0, 1])
def test_a_node_answers_at_once_while_its_window_grows(behind: int) -> None:
    """A storage for 1,000 segments is a window of 1,460,000 bytes, of which Linux's receiver offers at first what half
    of its buffer has room for, less a segment: with 162 / 256 of the buffer payload, 307,885 bytes less than all. It
    grows by 2,920 with each segment until less than a segment is missing: 105 ACKs. 16 more are at once, then each
    second segment has one and the last one waits: of 300 segments 105 + 16 + 89 + 1, and one of the SYN."""
    storages = [10**4, 10**4]
    storages[behind] = 1000
    first, second = (node(k + 1, storage * WIRE) for k, storage in enumerate(storages))
    way = path(line("a", 1e7, 0.01), Hop(1, first, line("b", 1e7, 0.4)), Hop(2, second, line("c", 1e9, 1.0)))
    hops = simulate(config(way, objects=layers(1, 300 * MSS), duration_ns=20 * S, transport=ONE_BURST)).hops
    assert hops[behind].up_sent_packets == 1 + 105 + 16 + 89 + 1


@pytest.mark.parametrize(("mode", "answered_s"), [("stream", 0.10), ("lanes", 0.06)])
def test_the_last_of_a_write_is_answered_at_once(mode: str, answered_s: float) -> None:
    """Five segments let the window of forty grow and 16 more are answered at once: the 22nd, there at 56 ms, waits
    for 40 ms. On lanes a program writes what fits, and the last segment of that says so (PSH)."""
    way = path(line("a", 1e7, 0.01), Hop(1, node(1, 40 * WIRE), line("b", 1e9, 1.0)))
    one = config(
        way,
        objects=layers(1, 22 * MSS),
        slot_ns=S // 100,
        duration_ns=S,
        transport={**ONE_BURST, "mode": mode},
    )
    (near, _) = simulate(one).hops
    assert times_s(near.slot_up_sent_packets, 0.01)[-1] == pytest.approx(answered_s)


# ----------------------------------------------------------------------------------------- what was due while it booted


def booting(from_s: float, until_s: float, storage_bytes: int = 10**6) -> Node:
    """A node that boots then."""
    at_ns, boot_ns = round(from_s * S), round((until_s - from_s) * S)
    return node(1, storage_bytes, restart_ns=(at_ns,), boot_ns=boot_ns, keeps_over_restart=True)


def test_an_ack_that_was_due_while_a_node_booted_leaves_at_its_end() -> None:
    """That of the 22nd segment, as above: due at 96 ms, the node boots from 80 to 200 ms."""
    way = path(line("a", 1e7, 0.01), Hop(1, booting(0.08, 0.2, 40 * WIRE), line("b", 1e9, 1.0)))
    one = config(way, objects=layers(1, 22 * MSS), slot_ns=S // 100, duration_ns=S, transport=ONE_BURST)
    (near, _) = simulate(one).hops
    assert times_s(near.slot_up_sent_packets, 0.01)[-1] == pytest.approx(0.2)
    assert near.sent_packets == 23


def test_a_repeat_that_was_due_while_a_node_booted_leaves_at_its_end() -> None:
    """Its only segment is lost at 0.21 s, and a timeout follows before 1 s: it boots until 3 s. 12 ms of service and
    100 ms of light later it is there."""
    far = line("b", delay_s=0.1, unannounced_ns=((S * 2 // 10, S * 3 // 10),))
    way = path(line("a", 1e7, 0.01), Hop(1, booting(0.5, 3.0), far))
    assert simulate(config(way, objects=layers(1, MSS))).objects.complete_ns[0] == round(3.112 * S)


def test_what_was_to_be_paced_while_a_node_booted_goes_on_at_its_end() -> None:
    """BBR sends 10 segments at 2 s and, as they are acknowledged from 4.03 s on, 20 more, one in 0.07 s. A boot from
    4.3 to 4.5 s puts them off by no more than that: before the next ACK, at 6.04 s, all are sent."""

    def sent(node: Node) -> list[int]:
        way = path(line("a", 1e7, 0.01), Hop(1, node, line("b")))
        one = config(
            way,
            objects=layers(1, 100 * MSS),
            slot_ns=S // 100,
            duration_ns=7 * S,
            transport={"congestion": "bbr"},
        )
        (_, far) = simulate(one).hops
        return [int(far.slot_sent_packets[round(t_s * 100) - 1]) for t_s in (4.3, 4.49, 4.51, 6.0)]

    assert sent(node(1)) == [17, 20, 20, 32]
    assert sent(booting(4.3, 4.5)) == [17, 17, 18, 32]
