"""A queue further on is found out by delay and the rate of ACKs, and kept short; nothing else is taken for one."""

from __future__ import annotations

import numpy as np
import pytest

from dstcc.engine import _engine
from dstcc.engine.stepper import SUBFLOW_VALUES
from dstcc.learn.paths.further_on import FurtherOn

STANDS, TARGET, LEAST, GROWTH = _engine.FURTHER_ON

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
        limits = _engine.update_further_on(
            self.found.state, values, SLOT_S * ones, OWN * ones, PACKET * ones, ones
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
    shown = path.found.state["far_s"][1, 0]
    for _ in range(ROUND // 2):
        path.slot(0.7 * OWN)
    assert path.found.state["far_s"][1, 0] > shown and path.limit > 1.5 * low * path.line


def test_the_senders_own_queue_is_none() -> None:
    path = Path(0.5 * OWN, own_wait_s=LIGHT_S / 4)
    for _ in range(5 * ROUND):
        assert path.slot(0.5 * OWN) == np.inf
    assert path.found.state["far_s"][1, 0] == pytest.approx(0, abs=1e-6)


def test_nor_is_a_delay_without_a_queue_that_grew() -> None:
    """A round trip that is longer for another reason, such as a delayed ACK: what comes back is what was sent."""
    path = Path(OWN)
    path.queue = [2 * STANDS * LIGHT_S * OWN]  # stands from the start and neither grows nor shrinks
    path.line = 0.4 * OWN
    for _ in range(5 * ROUND):
        assert path.slot(0.4 * OWN) == np.inf
    assert path.found.state["far_s"][1, 0] > STANDS * LIGHT_S


def test_where_nothing_stands_any_more_the_limit_grows_by_a_quarter_a_round_trip_and_goes() -> None:
    path = Path(0.5 * OWN)
    for _ in range(6 * ROUND):
        path.slot(0.7 * OWN)
    path.line = 3 * OWN  # what held it up is gone
    while path.found.state["far_s"][1, 0] > STANDS * LIGHT_S:
        path.slot(0.7 * OWN)
    before = path.found.state["carried"][1, 0]
    for _ in range(ROUND):
        path.slot(0.3 * OWN)
    grown = path.found.state["carried"][1, 0] / before
    assert grown == pytest.approx((1 + GROWTH / ROUND) ** ROUND, rel=0.01)
    rounds = next(n for n in range(200) if path.slot(0.3 * OWN) == np.inf) / ROUND
    assert rounds == pytest.approx(np.log(OWN / before / grown) / np.log(1 + GROWTH), abs=0.8)


def test_a_new_trial_knows_nothing() -> None:
    path = Path(0.5 * OWN)
    for _ in range(3 * ROUND):
        path.slot(0.7 * OWN)
    assert path.found.state["carried"][1, 0] > 0
    path.found.begin(1)
    assert path.found.state["carried"][1, 0] == 0 and path.found.state["far_s"][1, 0] == 0
    again = Path(0.5 * OWN)
    again.found, limits = path.found, []
    for _ in range(2 * ROUND):
        limits.append(again.slot(0.7 * OWN))
    fresh = Path(0.5 * OWN)
    assert limits == [fresh.slot(0.7 * OWN) for _ in range(2 * ROUND)]


@pytest.mark.parametrize(("beyond_s", "found"), [(-0.0005, False), (0.0005, True)])
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
        limits = _engine.update_further_on(paths.state, values, ones, 25_000 * ones, 1500 * ones, ones)
    assert np.isfinite(limits).all() == found


def update(
    found: FurtherOn,
    seen: dict[str, np.ndarray],
    *,
    slot_s: np.ndarray,
    shown: np.ndarray,
    packet: np.ndarray,
    overhead: np.ndarray,
) -> np.ndarray:
    """A slot of all paths; what is not in ``seen`` is 0."""
    values = np.zeros((*found.state.shape, len(SUBFLOW_VALUES)))
    for name, value in seen.items():
        values[..., SUBFLOW_VALUES.index(name)] = value
    return _engine.update_further_on(found.state, values, slot_s, shown, packet, overhead)


class Plain:
    """The rules of the module for one path, with lists in the place of rings and numbers in the place of names."""

    def __init__(self) -> None:
        self.sent, self.wait, self.far, self.carried = [0.0], [0.0], 0.0, 0.0

    def update(
        self, seen: dict[str, float], slot_s: float, shown: float, packet: float, overhead: float
    ) -> float:
        light = 2 * seen["one_way_s"]
        self.sent.append(self.sent[-1] + seen["sent_segments"] * packet)
        self.wait.append(seen["queue_bytes"] / shown)
        now = len(self.sent) - 1
        lag = min(max(round(seen["srtt_s"] / slot_s), 1), 125)
        acked = seen["delivered_bytes"] * overhead / slot_s
        if lag + 1 < now and seen["link_up"] and seen["srtt_s"] > 0 and acked > 0:
            beyond = seen["srtt_s"] - light - 2 * packet / shown - 0.2
            self.far = max(beyond - max(self.wait[now - lag - 1 : now - lag + 2]), 0.0)
            stands = self.far > light / 32
            sent_then = (self.sent[now - lag] - self.sent[now - lag - 1]) / slot_s
            if self.carried > 0:
                self.carried = (
                    (self.carried + acked) / 2 if stands else self.carried * (1 + slot_s / light / 4)
                )
            elif stands and sent_then > 1.02 * acked:
                self.carried = acked
        if self.carried > shown:
            self.carried = 0.0
        if self.carried == 0:
            return np.inf
        lag = min(lag, now - 1)
        under_way = (self.sent[now] - self.sent[now - lag]) / self.carried
        ahead = max(self.far + under_way - lag * slot_s, 0.0)
        return self.carried * min(max(1 + (1 / 16 - ahead / light) * 2, 1 / 4), 5 / 4)


@pytest.mark.parametrize("seed", range(4))
def test_many_paths_at_once_are_each_as_by_the_rules(seed: int) -> None:
    """Six paths of three episodes, longer than the rings; one episode begins anew, and one has slots so short that a
    round trip is longer than what is remembered."""
    draws, shape = np.random.default_rng(seed), (3, 2)
    found = FurtherOn(*shape)
    plain = [[Plain() for _ in range(2)] for _ in range(3)]
    slot_s = np.array([[10.0], [60.0], [0.3]])
    packet, overhead = np.array([[1500.0], [1000.0], [1500.0]]), np.array([[1.04], [1.0], [1.1]])
    one_way = draws.uniform(20, 60, shape)
    shown = draws.uniform(2e3, 2e4, shape)
    queue_s, limits = np.zeros(shape), 0
    for slot in range(300):
        if slot == 170:
            found.begin(1)
            plain[1] = [Plain(), Plain()]
        if slot % 8 == 0:  # a stretch with a queue of one size, with luck further on
            queue_s = draws.uniform(0, 0.4, shape) * 2 * one_way * (draws.random(shape) < 0.5)
            rate = draws.uniform(0.2, 1.0, shape) * shown
        seen = {
            "srtt_s": (2 * one_way + 0.5 + queue_s) * (draws.random(shape) > 0.05),
            "one_way_s": one_way,
            "queue_bytes": draws.uniform(0, 0.1, shape) * one_way * shown * (draws.random(shape) < 0.3),
            "sent_segments": np.round(rate * draws.uniform(0.5, 1.2, shape) * slot_s / packet),
            "delivered_bytes": np.round(0.6 * rate * slot_s) * (draws.random(shape) > 0.1),
            "link_up": (draws.random(shape) > 0.05).astype(float),
        }
        got = update(found, seen, slot_s=slot_s, shown=shown, packet=packet, overhead=overhead)
        for k in range(3):
            for i in range(2):
                here = {name: float(value[k, i]) for name, value in seen.items()}
                wanted = plain[k][i].update(here, slot_s[k, 0], shown[k, i], packet[k, 0], overhead[k, 0])
                assert got[k, i] == pytest.approx(wanted, rel=1e-9), (slot, k, i)
                assert found.state["carried"][k, i] == pytest.approx(plain[k][i].carried, rel=1e-9)
                limits += bool(np.isfinite(wanted))
    assert 300 < limits < 1500  # of 1,800


def test_a_queue_of_the_senders_own_about_that_time_is_taken_off_and_no_other() -> None:
    """Light of 4 s and slots of 1 s: what is acknowledged in slot 11 was sent in slot 6: a round trip is 5 s.
    Own queues of 0.3 s are taken off that stood in slots 5, 6 or 7."""
    ones = np.ones((1, 1))
    for stood in range(2, 11):
        found = FurtherOn(1, 1)
        for slot in range(1, 12):
            seen = {
                "srtt_s": 5.0,
                "one_way_s": 2.0,
                "queue_bytes": 0.3 * 25_000 * (slot == stood),
                "sent_segments": 20.0,
                "delivered_bytes": 10 * 1500.0,
                "link_up": 1.0,
            }
            given = {name: np.array([[value]]) for name, value in seen.items()}
            update(found, given, slot_s=ones, shown=25_000 * ones, packet=1500 * ones, overhead=ones)
        wait = 5 - 4 - 0.12 - 0.2
        assert found.state["far_s"][0, 0] == pytest.approx(wait - 0.3 * (stood in (5, 6, 7)))


def test_nothing_is_said_before_all_three_slots_about_it_are_of_the_trial() -> None:
    """A round trip of a slot: with the third slot, what is acknowledged was sent in the second one."""
    ones = np.ones((1, 1))
    found = FurtherOn(1, 1)
    seen = {"srtt_s": 1.9, "one_way_s": 0.5, "sent_segments": 10.0, "delivered_bytes": 7500.0, "link_up": 1.0}
    given = {name: np.array([[value]]) for name, value in seen.items()}
    limits = [
        update(found, given, slot_s=2 * ones, shown=25_000 * ones, packet=1500 * ones, overhead=ones)[0, 0]
        for _ in range(3)
    ]
    assert limits[:2] == [np.inf, np.inf] and limits[2] < np.inf


def test_a_round_trip_longer_than_the_trial_counts_what_was_sent_since_its_first_slot() -> None:
    """Light of 100 s and slots of as much; 165 B/s are sent and 150 come through. With the third slot a queue
    shows: 120 s less light, two packets' 0.12 s and 0.2 s. Then an acknowledgement takes 1,000 s, ten slots, of which
    there were three since the first: 43,500 bytes, where 45,000 would have left."""
    ones = np.ones((1, 1))
    found = FurtherOn(1, 1)
    for srtt_s, segments in ((120.0, 11), (120.0, 11), (120.0, 11), (1000.0, 7)):
        seen = {"srtt_s": srtt_s, "one_way_s": 50.0, "sent_segments": segments, "delivered_bytes": 15_000.0}
        given = {name: np.array([[value]]) for name, value in {**seen, "link_up": 1.0}.items()}
        limit = update(
            found, given, slot_s=100 * ones, shown=25_000 * ones, packet=1500 * ones, overhead=ones
        )
    ahead = 19.68 + (43_500 - 45_000) / 150
    assert limit[0, 0] == pytest.approx(150 * (1 + (1 / 16 - ahead / 100) * 2))
