"""A policy that decides for a connection whose values somebody else puts in."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from dstcc.engine.stepper import EPISODE_VALUES, LAYER_VALUES, SUBFLOW_VALUES
from dstcc.learn.spaces.deciding import Deciding
from tests.learn.made_policies import constant

MADE = constant((1, 2, 0, 1), windows=((1.0, 0), (0.0, 60), (0.0, 80)), headroom=0)


def test_its_arrays_are_those_of_one_episode_and_its_choice_is_the_policys() -> None:
    one = Deciding(MADE, subflows=2, layers=2, mss_bytes=1460)
    assert one.policy is not MADE
    assert one.subflow_values.shape == (1, 2, len(SUBFLOW_VALUES))
    assert one.layer_values.shape == (1, 2, len(LAYER_VALUES))
    assert one.episode_values.shape == (1, len(EPISODE_VALUES))
    one.clock(12.5, 0.25)
    times = dict(zip(EPISODE_VALUES, one.episode_values[0].tolist(), strict=True))
    assert times == {**dict.fromkeys(EPISODE_VALUES, 0.0), "time_s": 12.5, "slot_s": 0.25}
    seen = one.observe()
    assert seen.shape == (1, MADE.observation.size)
    choice = one.choose(seen)
    assert choice is not None and choice.tolist() == [[1, 2, 0, 1]]
    actions = one.decode(choice)
    assert actions.beta.tolist() == [[60, 80]] and actions.layer_subflow.tolist() == [[0, 1]]
    names = MADE.observation.names
    later = dict(zip(names, one.observe()[0].tolist(), strict=True))
    assert (later["layer0.on0"], later["layer1.on1"], later["copying"]) == (1, 1, 0)


def test_outputs_that_are_no_numbers_are_no_choice_and_nothing_is_copied() -> None:
    one = Deciding(MADE, subflows=2, layers=2, mss_bytes=1460)
    for outputs, chosen in (
        (np.array([[1.0, np.inf]]), False),
        (np.array([[np.nan, 1.0]]), False),
        (np.ones((1, 2)), True),
    ):
        policy: Any = SimpleNamespace(
            outputs=lambda _, outputs=outputs: outputs, action=SimpleNamespace(greedy=lambda _: "best")
        )
        one.policy = policy
        assert one.choose(np.zeros((1, 1), np.float32)) == ("best" if chosen else None)
    noted: list[Any] = []
    observer: Any = SimpleNamespace(note=lambda *what: noted.append(what), units=lambda _: "units")
    one._observer = observer
    copied = np.ones((1, 2), dtype=np.uint8)
    decoded = SimpleNamespace(layer_subflow="layers", copied=copied)
    policy = SimpleNamespace(action=SimpleNamespace(decode=lambda *_: decoded))
    one.policy = policy
    assert one.decode(np.array([0])) is decoded
    assert noted[0][0] == "layers" and noted[0][1].tolist() == [[0, 0]]
