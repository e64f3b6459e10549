"""A session's server: up to where two simulations' requests are the same, and what is kept until there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dstcc.engine.stepper import EPISODE_VALUES, RUNNING
from dstcc.papers import server
from dstcc.papers.learn_anew import Begun, LearnAnew
from dstcc.papers.server import NEVER_NS, Server, _first_new

A, B, C = (10, 100), (20, 200), (30, 300)


@pytest.mark.parametrize(
    ("before", "now", "first"),
    [
        ((), (), NEVER_NS),
        ((A, B), (A, B), NEVER_NS),
        ((), (A, B), 10),
        ((A,), (A, B, C), 20),
        ((A, B, C), (A, B), 30),
        ((A, B), (A, (25, 200)), 20),
        ((A, (25, 200)), (A, B), 20),
        ((A, B, C), (A, (20, 201), C), 20),
    ],
)
def test_the_first_request_that_is_new(before: Any, now: Any, first: int) -> None:
    assert _first_new(before, now) == first


class Runner:
    """Six slots of 10 ns; it notes what is taken, and how."""

    taken: list[Any] = []  # noqa: RUF012 - emptied by each test

    def __init__(self, episodes: int, *_spaces: Any) -> None:
        assert episodes == 1
        self.slots = 0
        self.action = SimpleNamespace(decode=lambda action: f"decoded {int(action[0])}")
        self.stepper = SimpleNamespace(done=[RUNNING], step=self._advance)

    def begin(self, episode: int, config: Any) -> None:
        assert (episode, config) == (0, "config")

    def _advance(self) -> None:
        self.slots += 1
        self.stepper.done[0] = RUNNING if self.slots < 6 else RUNNING + 1

    def step(self, action: Any) -> None:
        self.taken.append(int(action[0]))
        self._advance()

    @property
    def observations(self) -> Any:
        return self.slots

    def time_s(self, episode: int) -> float:
        return (10 * self.slots + episode) * 1e-9

    def result(self, episode: int) -> Any:
        return f"result {episode}"


def test_actions_before_the_first_new_request_are_taken_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The policy says the number of the slot. A request at 25 ns is new in the second simulation: the slots that
    begin at 0, 10 and 20 are as they were, and of these the last alone is observed."""
    asked: list[Any] = []
    put: list[Any] = []
    back: list[Any] = []
    Runner.taken.clear()
    monkeypatch.setattr(server, "Runner", Runner)
    monkeypatch.setattr(server, "steered", lambda config, _action: config)
    monkeypatch.setattr(server, "replace", lambda one: one)
    monkeypatch.setattr(server, "put", lambda decoded, _stepper: put.append(decoded))

    def outputs(observed: Any) -> Any:
        asked.append(observed)
        return observed

    policy: Any = SimpleNamespace(
        network={"kind": "mlp"},
        observation=None,
        action=SimpleNamespace(greedy=lambda values: np.array([values])),
        outputs=outputs,
    )
    chooser: Any = SimpleNamespace(
        go_back=lambda slots, until_ns: back.append((slots, until_ns)),
        choose=lambda _runner, action: action + 100,
    )
    whole: Any = "config"
    one = Server(policy, chooser)
    assert one.carry(whole, ((5, 1),)) == "result 0"
    assert asked == list(range(6)) and Runner.taken == [100 + slot for slot in range(6)]
    assert back == [(0, 5)] and put == []
    one.carry(whole, ((5, 1), (25, 1)))
    assert back[1] == (3, 25) and put == ["decoded 100", "decoded 101"]
    assert asked[6:] == [3, 4, 5] and Runner.taken[6:] == [102, 103, 104, 105]
    one.carry(whole, ((5, 1), (25, 1)))
    assert back[2] == (6, NEVER_NS) and asked[9:] == [] and Runner.taken[10:] == [105]
    one.carry(whole, ((5, 1), (30, 1)))
    assert back[3] == (3, 25)
    one.carry(whole, ((0, 1),))
    assert back[4] == (0, 0) and asked[-6:] == list(range(6))
    plain = Server(policy)
    Runner.taken.clear()
    plain.carry(whole, ())
    assert Runner.taken == list(range(6))


def test_a_slot_is_learnt_from_when_the_next_is_chosen() -> None:
    """And a session that goes back to so many slots has learnt from one fewer."""
    calls: list[Any] = []
    lessons: Any = SimpleNamespace(
        best=lambda seen: np.array([int(seen[0, 0])]),
        learn=calls.append,
        go_back=lambda slots: calls.append(("lessons", slots)),
    )
    explorer: Any = SimpleNamespace(
        choose=lambda _runner, action: action + 1,
        go_back=lambda slots, until_ns: calls.append(("explorer", slots, until_ns)),
    )
    learns = LearnAnew(lessons, explorer, 1000)

    def runner(number: int) -> Any:
        values = np.zeros((1, len(EPISODE_VALUES)))
        values[0, EPISODE_VALUES.index("chunks_bytes_per_s")] = 1000.0 * number
        values[0, EPISODE_VALUES.index("slot_s")] = 1.0
        stepper = SimpleNamespace(episode_values=values, subflow_values=np.zeros((1, 1, 30)))
        return SimpleNamespace(observations=np.full((1, 2), float(number)), stepper=stepper)

    assert learns.choose(runner(1), np.zeros(1)).tolist() == [2] and calls == []
    assert learns.choose(runner(2), np.zeros(1)).tolist() == [3]
    (slot,) = calls
    assert (slot.observations.tolist(), slot.following.tolist()) == ([[1.0, 1.0]], [[2.0, 2.0]])
    assert slot.actions.tolist() == [[2]] and slot.done.tolist() == slot.terminated.tolist() == [False]
    assert slot.rewards.tolist() == pytest.approx([10 * 2 / 100])  # ten times 2 packets a slot, in hundreds
    at = EPISODE_VALUES.index("chunks_bytes_per_s")
    assert (slot.before[0, at], slot.after[0, at]) == (1000.0, 2000.0)
    learns.choose(runner(3), np.zeros(1))
    learns.go_back(2, 77)
    assert calls[2:] == [("lessons", 1), ("explorer", 2, 77)] and len(learns._begun) == 2
    assert isinstance(learns._begun[-1], Begun) and learns._begun[-1].action.tolist() == [3]
    learns.go_back(0, 5)
    assert calls[4:] == [("lessons", 0), ("explorer", 0, 5)] and learns._begun == []
    learns.choose(runner(9), np.zeros(1))
    assert len(calls) == 6, "nothing ended before it"
