"""A queue further on is found out by delay and the rate of ACKs, and kept short; nothing else is taken for one."""

from __future__ import annotations

import numpy as np
import pytest

from dstcc.engine.stepper import SUBFLOW_VALUES
from dstcc.learn.paths.further_on import GROWTH, LEAST, STANDS, TARGET, FurtherOn

SLOT_S, LIGHT_S, PACKET = 50.0, 800.0, 1500.0
ROUND = int(LIGHT_S / SLOT_S)
"""Slots."""
OWN = 100 * PACKET
"""Bytes a second of the sender's own line."""


class Path:
    """A sender's line without a queue, then half a round trip of light and a queue further on, in slots; no losses."""

    def __init__(self, line: float, *, own_wait_s: float = 0.0, subflows: int = 1) -> None:
        self.line, self.own_wait_s = line, own_wait_s
        self.found = FurtherOn(2, subflows)
        self.sent: list[float] = []
        self.queue = [0.0]
        """Of the relay, in bytes, when what was sent in each slot has come."""
        self.acked: list[float] = []
        self.limit = np.inf

    def slot(self, wanted: float) -> float:
        """Send a slot at that rate or at the limit; the limit afterwards."""
        rate = min(wanted, self.limit)
        self.sent.append(rate)
        carried = min(self.line, self.queue[-1] / SLOT_S + rate)
        self.queue.append(self.queue[-1] + (rate - carried) * SLOT_S)
        self.acked.append(carried)
        wait = self.queue[max(len(self.queue) - 1 - ROUND, 0)] / self.line
        values = np.zeros((2, 1, len(SUBFLOW_VALUES)))

        def put(name: str, value: float) -> None:
            values[1, 0, SUBFLOW_VALUES.index(name)] = value

        heard = len(self.sent) > ROUND
        put("srtt_s", LIGHT_S + self.own_wait_s + wait)
        put("one_way_s", LIGHT_S / 2)
        put("queue_bytes", self.own_wait_s * OWN)
        put("sent_segments", rate * SLOT_S / PACKET)
        put("delivered_bytes", self.acked[-1 - ROUND] * SLOT_S if heard else 0.0)
        put("link_up", 1.0)
        ones = np.ones((2, 1))
        limits = self.found.update(
            slice(0, 2), values, slot_s=SLOT_S * ones, shown=OWN * ones, packet=PACKET * ones, overhead=ones
        )
        assert limits[0, 0] == np.inf  # the other episode has nothing
        self.limit = float(limits[1, 0])
        return self.limit


def test_it_is_found_a_round_trip_after_it_grew_and_kept_at_a_sixteenth() -> None:
    path = Path(0.5 * OWN)
    first = next(slot for slot in range(100) if path.slot(0.7 * OWN) < np.inf)
    # What is sent in slot 0 waits for 0.4 slots and more from then on; a 32nd of the round trip is half a slot.
    assert ROUND <= first <= ROUND + 3
    for _ in range(12 * ROUND):
        path.slot(0.7 * OWN)
    waits = np.array(path.queue[-3 * ROUND :]) / path.line / LIGHT_S
    assert waits.min() > 0.5 * TARGET and waits.max() < 2 * TARGET
    assert np.mean(path.acked[-3 * ROUND :]) == pytest.approx(path.line, rel=0.02)


def test_what_is_under_way_counts_at_once() -> None:
    """A round trip at 1.4 times the line leaves 0.4 of one in the queue. Half of one later no ACK shows less of it,
    but what was sent less since then counts."""
    path = Path(0.5 * OWN)
    while path.slot(0.7 * OWN) == np.inf:
        pass
    low = path.limit / path.line
    assert low == pytest.approx(LEAST, abs=0.12)  # 1 + (1/16 - 0.4) / 0.5 = 0.325
    shown = path.found.far_s[1, 0]
    for _ in range(ROUND // 2):
        path.slot(0.7 * OWN)
    assert path.found.far_s[1, 0] > shown and path.limit > 1.5 * low * path.line


def test_the_senders_own_queue_is_none() -> None:
    path = Path(0.5 * OWN, own_wait_s=LIGHT_S / 4)
    for _ in range(5 * ROUND):
        assert path.slot(0.5 * OWN) == np.inf
    assert path.found.far_s[1, 0] == pytest.approx(0, abs=1e-6)


def test_nor_is_a_delay_without_a_queue_that_grew() -> None:
    """A round trip that is longer for another reason, such as a delayed ACK: what comes back is what was sent."""
    path = Path(OWN)
    path.queue = [2 * STANDS * LIGHT_S * OWN]  # stands from the start and neither grows nor shrinks
    path.line = 0.4 * OWN
    for _ in range(5 * ROUND):
        assert path.slot(0.4 * OWN) == np.inf
    assert path.found.far_s[1, 0] > STANDS * LIGHT_S


def test_where_nothing_stands_any_more_the_limit_grows_by_a_quarter_a_round_trip_and_goes() -> None:
    path = Path(0.5 * OWN)
    for _ in range(6 * ROUND):
        path.slot(0.7 * OWN)
    path.line = 3 * OWN  # what held it up is gone
    while path.found.far_s[1, 0] > STANDS * LIGHT_S:
        path.slot(0.7 * OWN)
    before = path.found.carried[1, 0]
    for _ in range(ROUND):
        path.slot(0.3 * OWN)
    grown = path.found.carried[1, 0] / before
    assert grown == pytest.approx((1 + GROWTH / ROUND) ** ROUND, rel=0.01)
    rounds = next(n for n in range(200) if path.slot(0.3 * OWN) == np.inf) / ROUND
    assert rounds == pytest.approx(np.log(OWN / before / grown) / np.log(1 + GROWTH), abs=0.8)


def test_a_new_trial_knows_nothing() -> None:
    path = Path(0.5 * OWN)
    for _ in range(3 * ROUND):
        path.slot(0.7 * OWN)
    assert path.found.carried[1, 0] > 0
    path.found.begin(1)
    assert path.found.carried[1, 0] == 0 and path.found.far_s[1, 0] == 0
    again = Path(0.5 * OWN)
    again.found, limits = path.found, []
    for _ in range(2 * ROUND):
        limits.append(again.slot(0.7 * OWN))
    fresh = Path(0.5 * OWN)
    assert limits == [fresh.slot(0.7 * OWN) for _ in range(2 * ROUND)]


@pytest.mark.parametrize(("beyond_s", "found"), [(-0.001, False), (0.001, True)])
def test_two_packets_on_the_senders_line_and_a_delayed_ack_are_no_queue(beyond_s: float, found: bool) -> None:
    """Light of 1 s, a line of 25 kB/s: 2 x 1500 B take 0.12 s, the ACK's timer 0.2 s, and a 32nd of 1 s is rounding."""
    paths = FurtherOn(1, 1)
    ones = np.ones((1, 1))
    values = np.zeros((1, 1, len(SUBFLOW_VALUES)))
    seen = {
        "srtt_s": 1 + 0.12 + 0.2 + 1 / 32 + beyond_s,
        "one_way_s": 0.5,
        "sent_segments": 10.0,
        "delivered_bytes": 5 * 1500.0,
        "link_up": 1.0,
    }
    for name, value in seen.items():
        values[..., SUBFLOW_VALUES.index(name)] = value
    for _ in range(6):
        limits = paths.update(
            slice(0, 1), values, slot_s=ones, shown=25_000 * ones, packet=1500 * ones, overhead=ones
        )
    assert np.isfinite(limits).all() == found
