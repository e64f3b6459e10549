"""Which block an ltp sender sends next, and on which link."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from dstcc.engine import Objects

from . import net
from .test_ltp import LIGHT_S, blocks, done_s, nth_lost, path, transfer


def test_ties_go_to_the_lower_link():
    assert transfer((path(), path()), blocks(1, 4)).objects.subflow.tolist() == [0]


def test_a_link_is_weighed_with_what_it_has_to_send():
    # 12 Mbit/s and 1.2 Mbit/s of the same light time: a block takes 0.1 s here, 1 s there, and goes where it is done
    # first after those before it; ties go to the fast one.
    expected, load = [], [0, 0]
    for _ in range(40):
        fast, slow = load[0] + 1, 10 * (load[1] + 1)
        expected.append(int(slow < fast))
        load[expected[-1]] += 1
    result = transfer((path(), net.link(1.2e6, 10.0)), blocks(40, 100))
    assert result.objects.subflow.tolist() == expected
    assert load == [37, 3]


def timed(*rows: tuple[float, float, float]) -> Objects:
    """Blocks of (released at, line time, due at) in seconds, one layer each."""
    n = len(rows)
    release, length, due = (np.array(column) for column in zip(*rows, strict=True))
    return Objects(
        np.arange(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.round(length * 1000).astype(np.int64) * net.MSS,
        np.array([net.ns(t) for t in release], dtype=np.int64),
        np.array([net.ns(t) for t in due], dtype=np.int64),
    )


@pytest.mark.parametrize(("green_from", "sent"), [(0, True), (1, False)])
def test_a_sender_does_not_see_what_became_of_a_green_part(green_from, sent):
    # Layer 0, two segments of which the second is lost, is captured at 0 s; layer 1 of the same chunk at 9 s, both are
    # due at 17 s. Green: at 9 s, light after it left, nobody has told the sender that it is not whole: layer 1 goes.
    # Red, and due at 9 s: its report comes at 10 s, too late for a repair, which the sender knows at 12 s, when layer 1
    # is captured.
    due = (17.0, 17.0) if sent else (9.0, 17.0)
    release = (0.0, 9.0) if sent else (0.0, 12.0)
    two = Objects(
        np.zeros(2, dtype=np.int64),
        np.arange(2, dtype=np.int64),
        np.full(2, 2 * net.MSS),
        np.array([net.ns(t) for t in release], dtype=np.int64),
        np.array([net.ns(t) for t in due], dtype=np.int64),
    )
    result = transfer(path(loss=nth_lost(2)), two, green_from_layer=green_from, duration_s=30.0)
    assert result.objects.complete_ns[0] < 0
    assert result.objects.given_up[0] == 1
    assert (result.objects.sent_bytes[1] > 0) == sent


def playout(after_s: float, *rows: tuple[float, float]) -> Objects:
    """Blocks of (released at, line time), due so long after their release."""
    return timed(*((release, length, release + after_s) for release, length in rows))


@pytest.mark.parametrize("links", [1, 2])
def test_half_of_the_spare_time_is_kept_for_a_repair(links):
    # Light 5 s, playout 9 s: of the spare 4 s half is kept. At 3 s the line is free. The older block would come at
    # 3 + 1 + 5 = 9 s, due at 9.5: in time, but not 2 s early; the newer at 9 s as well, due at 11.5: it goes first. The
    # older would then come at 10 s, too late. A second link of 12 kbit/s is of no use for either, but empty: it has the
    # blocks bound to the first as they are captured, where the older one gives way when its turn comes.
    useless = net.link(12e3, 10.0)
    result = transfer(
        (path(), useless)[:links], playout(9.0, (0.0, 3.0), (0.5, 1.0), (2.5, 1.0)), slot_s=100.0
    )
    assert result.objects.given_up.tolist() == [0, 1, 0]
    assert done_s(result)[2] == pytest.approx(3 + 1 + LIGHT_S, abs=1e-6)


def test_a_round_trip_and_the_margin_are_enough_for_a_repair():
    # Playout 35 s: half of the spare 30 s would be 15, a repair takes 10.004. At 22 s the older block would come at
    # 28 s, due at 35.5, 7.5 s early; the newer, due at 45, has time for a repair and goes first.
    result = transfer(path(), playout(35.0, (0.0, 22.0), (0.5, 1.0), (10.0, 1.0)), slot_s=100.0)
    assert done_s(result) == pytest.approx([27.0, 29.0, 28.0], abs=1e-6)


def test_no_more_than_a_round_trip_is_kept_for_a_repair():
    # Playout 35 s again: at 18 s the older block would come at 24 s, due at 35.5, more than 10.004 s early: it goes
    # first, though half of the spare time would be 15 s.
    result = transfer(path(), playout(35.0, (0.0, 18.0), (0.5, 1.0), (10.0, 1.0)), slot_s=100.0)
    assert done_s(result) == pytest.approx([23.0, 24.0, 25.0], abs=1e-6)


def test_work_is_done_around_an_outage():
    # 2 s of line from 0 on, dark from 1 s to 31 s: done at 32 s, there at 37. The other link would need 32.5 s for it
    # and have it there at 37.5; it is not taken.
    other = net.link(2000 * 1500 * 8 / 32.5, 10.0)
    result = transfer((path(outages_s=((1.0, 31.0),)), other), blocks(1, 2000))
    assert result.objects.subflow.tolist() == [0]
    assert done_s(result) == pytest.approx([37.0], abs=1e-6)


def test_an_enhancement_does_not_go_before_its_base():
    # The base of 3 s has no time in hand for a repair (there at 8 s, due at 9, 2 s kept), the enhancement of 0.1 s has.
    one = timed((0.0, 3.0, 9.0), (0.0, 0.1, 9.0))
    both = dataclasses.replace(one, chunk=np.zeros(2, dtype=np.int64), layer=np.arange(2, dtype=np.int64))
    assert done_s(transfer(path(), both, slot_s=100.0)) == pytest.approx([8.0, 8.1], abs=1e-6)


def test_an_enhancement_of_what_was_given_up_is_given_up_at_once():
    # The base of 10 s of line cannot be there within 9 s; the enhancement alone would be of no use, and is not waited
    # for.
    one = timed((1.0, 10.0, 10.0), (1.0, 0.1, 10.0))
    both = dataclasses.replace(one, chunk=np.zeros(2, dtype=np.int64), layer=np.arange(2, dtype=np.int64))
    result = transfer(path(), both, slot_s=0.5)
    assert result.objects.given_up.tolist() == [1, 1]
    assert result.totals.sent_payload_bytes == 0
    assert result.end_ns == net.ns(1.0)


def test_what_became_too_late_in_the_dark_is_given_up_there():
    # Dark from 1 s to 1,000 s. What is captured at 10 s and due at 22 s is given up with the next slot.
    dark = path(outages_s=((1.0, 1000.0),))
    result = transfer(dark, playout(12.0, (10.0, 1.0)), slot_s=0.5)
    assert result.objects.given_up.tolist() == [1]
    assert result.end_ns <= net.ns(10.5)


def test_light_times_that_grew_are_known():
    # Light takes 2 s at first and 6 s from 100 s on. Captured at 200 s, due at 217: the third segment is lost, the
    # report is back at 212 s, and no repair would be there before 218: none is sent.
    further = path(loss=nth_lost(3), delay_t_ns=(0, net.ns(100)), delay_ns=(net.ns(2), net.ns(6)))
    result = transfer(further, playout(17.0, (200.0, 0.004)), slot_s=1.0)
    assert result.objects.given_up.tolist() == [1]
    assert result.totals.retransmitted_payload_bytes == 0
