"""What a path carries, from what was sent and what waits at the sender; and what actions are relative to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dstcc.engine import Stepper
from dstcc.engine.stepper import AUTOMATIC, EPISODE_VALUES, REPAIRABLE, SUBFLOW_VALUES
from dstcc.learn.env import make_specs, to_episodes
from dstcc.learn.measure import Rates, Units
from dstcc.learn.recipes import RECIPES
from dstcc.learn.runner import Runner
from dstcc.learn.spaces import ActionSpec

WIRE = 1500


def slot(sent: float, queue: float, pace: float = 10.0, *, up: float = 1.0) -> Any:
    """Ten seconds in which a subflow sent so many packets, `queue` packets wait, at `pace` packets a second."""
    named = {
        "established": 1.0,
        "srtt_s": 100.0,
        "sent_segments": sent,
        "queue_bytes": queue * WIRE,
        "pacing_bps": 8 * WIRE * pace,
        "link_up": up,
    }
    row = [named.get(name, 0.0) for name in SUBFLOW_VALUES]
    own = [10.0 if name == "slot_s" else 0.0 for name in EPISODE_VALUES]
    return SimpleNamespace(subflow_values=np.array([[row]]), episode_values=np.array([own]))


def measured(*slots: Any) -> float:
    rates = Rates(1, 1)
    rates.wire[:] = WIRE
    rates.need[:] = 4 * WIRE
    for one in slots:
        rates.update(one)
    return float(rates.rate[0, 0]) / WIRE


def test_before_the_first_slot_it_is_what_the_video_needs() -> None:
    assert measured(slot(0, 0)) == 4


def test_a_standing_queue_shows_what_left() -> None:
    assert measured(slot(0, 0), slot(100, 30)) == 7  # of 100 packets 30 wait: 70 left in 10 s
    assert measured(slot(0, 0), slot(100, 30), slot(60, 40)) == 6  # 50 more left; half of 7, half of 5


def test_a_queue_that_ran_dry_shows_the_least_it_can_be() -> None:
    assert measured(slot(0, 0), slot(50, 0, 5)) == 2 * 5  # never seen to stand: probed at twice that
    assert measured(slot(0, 0), slot(100, 30), slot(72, 0, 7.2)) == 7.2
    assert measured(slot(0, 0), slot(100, 30), slot(10, 0, 7)) == 7  # the pace was not used: nothing learned
    again = slot(0, 0), slot(100, 30), slot(72, 0, 7.2), slot(80, 0, 8)
    assert measured(*again) == 1.5 * 8  # for the second time: more is free


def test_nothing_is_learned_in_the_dark() -> None:
    assert measured(slot(0, 0), slot(100, 30), slot(100, 90, up=0.0)) == 7


def test_windows_fill_the_queue_to_a_share_of_a_slot() -> None:
    spec = ActionSpec(
        2, 3, windows=((0.0, 0.0), (1.0, 0.25)), measured=True, orders=((0.05, 0.0), (1000.0, 0.5))
    )
    assert spec.branches == (2, 2, 4, 2)
    one = np.array([[400.0, 400.0]]), np.array([[0.05, 0.05]]), np.array([600.0])
    told = spec.decode(np.array([[1, 0, 1, 0]]), Units(*one, lossiest=np.array([0]), top=np.array([1])))
    assert not told.alpha_q16.any()
    assert told.beta.tolist() == [[round(400 * 1.2), 0]]
    assert told.layer_subflow.tolist() == [[AUTOMATIC, 0, AUTOMATIC]]  # the top of the trial's two
    assert told.order.tolist() == [[30.0, 0.0]]
    nowhere = Units(one[0], np.array([[5.0, 0.0]]), one[2], lossiest=np.array([-1]), top=np.array([2]))
    told = spec.decode(np.array([[1, 1, 1, 1]]), nowhere)
    assert told.beta[0, 0] == 40  # a tenth, however much waits
    assert told.layer_subflow.tolist() == [[AUTOMATIC] * 3]
    table = [spec.decode(np.array([[1, 1, place, 1]]), nowhere).layer_subflow[0].tolist() for place in (2, 3)]
    assert table == [[REPAIRABLE, AUTOMATIC, AUTOMATIC], [REPAIRABLE, REPAIRABLE, AUTOMATIC]]


def test_what_goes_twice_is_nothing_or_base_layers_or_all() -> None:
    spec = ActionSpec(1, 3, windows=((1.0, 0.0),), measured=True, orders=((0.0, 0.0),), copies=True)
    assert spec.branches == (1, 3, 4, 1)
    copied = [spec.decode(np.array([[0, told, 0, 0]])).copied[0].tolist() for told in range(3)]
    assert copied == [[0, 0, 0], [1, 0, 0], [1, 1, 1]]


def test_measured_actions_need_the_measured_observation(short: Any) -> None:
    episodes = to_episodes(short)
    _, action = make_specs(episodes, **RECIPES["dstcc"].environment)
    observation, _ = make_specs(episodes, observation="full")
    with pytest.raises(ValueError, match="need the observation 'measured'"):
        Runner(1, observation, action)


def test_the_rates_of_a_mission_are_found(short: Any) -> None:
    episodes = to_episodes(short)
    observation, action = make_specs(episodes, **RECIPES["dstcc"].environment)
    runner = Runner(1, observation, action)
    config = episodes.config(1, action)
    runner.begin(0, config)
    for _ in range(20):
        runner.step(np.array([[2, 2, 0, 0, 0]]))
    assert isinstance(runner.stepper, Stepper)
    found = runner._observer.rates  # type: ignore[union-attr]
    for rate, link in zip(8 * found.rate[0], config.links, strict=True):
        assert rate <= 2.0 * link.rate_bps
    assert 8 * found.rate[0].sum() > 0.9 * 8 * found.need[0, 0]
