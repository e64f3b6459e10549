"""Rewards by hand: two subflows of segments of 1,000 bytes in a slot of half a second."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
import pytest

from dstcc.engine.stepper import EPISODE_VALUES, SUBFLOW_VALUES
from dstcc.learn.env.reward import PER_SLOT, REWARDS

SLOT_S = 0.5
MSS = np.array([[1000.0], [1000.0]])


def rewarded(name: str, *subflows: dict[str, float], **own: float) -> float:
    """What the slot is worth. A second episode beside it has five times the bytes and must not be mixed in."""
    one = [[given.get(value, 0.0) for value in SUBFLOW_VALUES] for given in subflows]
    episode = [{"slot_s": SLOT_S, **own}.get(value, 0.0) for value in EPISODE_VALUES]
    pair = np.array([one, one])
    pair[1, :, SUBFLOW_VALUES.index("delivered_bytes")] *= 5
    return float(REWARDS[name](pair, np.array([episode, episode]), MSS)[0])


def subflow(delivered: float = 0.0, lost: float = 0.0, **more: float) -> dict[str, Any]:
    return {"established": 1.0, "delivered_bytes": delivered, "lost_segments": lost, **more}


def test_equation_6() -> None:
    # Lr: 1 lost of 1 + 3 known; and none of 6. Useful: 400·(1 − 1/4) + 100 = 400. 8·9,000 bytes in 0.5 s: 144 kbit/s
    reward = rewarded("eq6", subflow(3000, 1, sent_weight=400), subflow(6000, sent_weight=100))
    assert reward == pytest.approx(log(400) + log(144_000), rel=1e-12)


def test_equation_6_is_nothing_in_an_idle_slot_or_before_the_first() -> None:
    assert rewarded("eq6", subflow(), subflow()) == 0
    assert rewarded("eq6", subflow(), subflow(), slot_s=0.0) == 0
    # weights below 1 and rates below 1 bit/s count as 1, each on its own
    assert rewarded("eq6", subflow(sent_weight=0.5), subflow(1.5)) == pytest.approx(log(8 * 1.5 / 0.5))
    assert rewarded("eq6", subflow(sent_weight=1.5), subflow(0.05)) == pytest.approx(log(1.5))


@pytest.mark.parametrize("name", ["weighted-layers", "played-per-slot"])
def test_layers_played_are_percent_of_the_trials_weight(name: str) -> None:
    assert rewarded(name, subflow(), played_weight=300.0, total_weight=1200.0) == 25


def test_layers_promised_are_percent_of_the_trials_weight() -> None:
    own = {"promised_weight": 300.0, "played_weight": 100.0, "total_weight": 1200.0}
    assert rewarded("promised-per-slot", subflow(), **own) == 25
    assert set(PER_SLOT) == {"played-per-slot", "promised-per-slot"}


def test_pbq_is_rate_less_loss_less_a_queue_averaged_over_subflows() -> None:
    # subflow 0: 8·3,000 / 0.5 s = 48 kbit/s = 0.048 of a fair share; loss 1/4 costs 2·1/4; no queue.
    # subflow 1: 8·6,000 / 0.5 s = 0.096; its RTT is more than 2.5 times the least: 1 off.
    first = subflow(3000, 1, srtt_s=0.25, min_rtt_s=0.1)
    second = subflow(6000, srtt_s=0.2501, min_rtt_s=0.1)
    assert rewarded("pbq", first) == pytest.approx(0.048 - 0.5, rel=1e-9)
    assert rewarded("pbq", first, second) == pytest.approx((0.048 - 0.5 + 0.096 - 1) / 2)


def test_pbq_leaves_out_what_is_not_established() -> None:
    alone = subflow(3000, srtt_s=0.2, min_rtt_s=0.1)
    missing = subflow(6000, 5, srtt_s=9.0, min_rtt_s=0.1) | {"established": 0.0}
    assert rewarded("pbq", alone, missing) == pytest.approx(0.048)
    assert rewarded("pbq", missing, missing) == 0
    assert rewarded("pbq", subflow(), slot_s=0.0) == 0


def test_log_goodput_is_of_kilobits_a_second() -> None:
    # 8·9,000 bytes in 0.5 s: 144 kbit/s
    assert rewarded("log-goodput", subflow(3000), subflow(6000)) == pytest.approx(log(144), rel=1e-12)
    assert rewarded("log-goodput", subflow(50)) == 0  # 0.8 kbit/s counts as 1
    assert rewarded("log-goodput", subflow(100)) == pytest.approx(log(1.6))
    assert rewarded("log-goodput", subflow(), slot_s=0.0) == 0


def test_chunks_add_their_rate_ten_times() -> None:
    # 9 packets acknowledged; chunks of 4,000 bytes a second are 2 packets a slot, ten times: 29 packets, in hundreds
    own = {"chunks_bytes_per_s": 4000.0}
    assert rewarded("chunks", subflow(3000), subflow(6000)) == pytest.approx(0.09)
    assert rewarded("chunks", subflow(3000), subflow(6000), **own) == pytest.approx(0.29)


def test_a_segments_size_is_its_episodes() -> None:
    # 4,000 bytes are 4 segments of 1,000 and 8 of 500: with 2 lost, shares of 1/3 and 1/5
    values = np.zeros((2, 1, len(SUBFLOW_VALUES)))
    values[:, :, SUBFLOW_VALUES.index("delivered_bytes")] = 4000
    values[:, :, SUBFLOW_VALUES.index("lost_segments")] = 2
    values[:, :, SUBFLOW_VALUES.index("established")] = 1
    own = np.full((2, len(EPISODE_VALUES)), SLOT_S)
    sizes = np.array([[1000.0], [500.0]])
    rate = 8 * 4000 / SLOT_S / 1e6
    # min RTT is 0 and so is the smoothed one: no queue
    assert REWARDS["pbq"](values, own, sizes) == pytest.approx([rate - 2 / 3, rate - 2 / 5])
