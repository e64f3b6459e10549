"""A policy that acts at random while it runs: when, with what probability, from which draws."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dstcc.engine.stepper import EPISODE_VALUES
from dstcc.errors import RunError
from dstcc.learn.policies.policy import load_policy
from dstcc.papers.cells import key_of
from dstcc.papers.dash import Supposed, play
from dstcc.papers.dash_cell import DashCell, Network
from dstcc.papers.explore import ExplorationSlot, Explorer, measured
from dstcc.papers.model import Exploring, load_paper
from dstcc.run.backends import backend_of

S = 1_000_000_000
SLOT = 50_000_000
BEST = 3


def runner(time_s: float, chunk_bytes: float = 1.0) -> Any:
    """What an explorer looks at."""
    values = np.zeros((1, len(EPISODE_VALUES)))
    values[0, EPISODE_VALUES.index("chunk_bytes")] = chunk_bytes
    return SimpleNamespace(
        stepper=SimpleNamespace(episode_values=values),
        action=SimpleNamespace(outputs=7),
        time_s=lambda _episode: time_s,
    )


def explorer(
    factor: float = 1.0, least: float = 0.0, *, rich: tuple[bool, ...] = (True, True), seed: int = 1
) -> Explorer:
    """Two chunks, asked for at 0 and 1 s."""
    released = np.arange(len(rich), dtype=np.int64) * S
    one = Explorer(Exploring(of="mpquic-rl", factor=factor, least=least, rich_s=0), seed)
    one.hear(released, np.array(rich))
    return one


def chosen(one: Explorer, times: list[float]) -> list[int]:
    """Its actions where the policy says :data:`BEST`."""
    return [int(one.choose(runner(time), np.array([BEST]))[0]) for time in times]


SLOTS = [index * 0.05 for index in range(40)]
"""Of two seconds."""


def test_the_probability_falls_with_each_decision_to_its_least() -> None:
    one = explorer(0.5, 0.2)
    chosen(one, SLOTS[:5])
    assert [round(each.epsilon, 3) for each in one.decisions] == [1.0, 0.5, 0.25, 0.2, 0.2]
    assert one.decisions[0].random


def test_a_slot_without_a_chunk_under_way_is_no_decision() -> None:
    one = explorer(0.5)
    assert one.choose(runner(0.0, chunk_bytes=0.0), np.array([BEST]))[0] == BEST
    assert one.decisions == []


def test_nothing_is_random_in_a_chunk_of_a_client_that_is_poor() -> None:
    one = explorer(rich=(False, True))
    actions = chosen(one, SLOTS)
    assert actions[:20] == [BEST] * 20
    assert [each.random for each in one.decisions] == [False] * 20 + [True] * 20
    assert len(set(actions[20:])) > 3
    assert measured(one.decisions) == {
        "epsilon_first": 1.0,
        "epsilon_fall": 0.0,
        "random_where_rich_percent": 100.0,
        "random_rich_above_poor": 100.0,
    }


def test_draws_are_of_the_seed_and_the_chunk_alone() -> None:
    one = explorer()
    whole = chosen(one, SLOTS)
    assert [each.begin_ns for each in one.decisions] == [index * SLOT for index in range(40)]
    assert [each.chunk for each in one.decisions] == [0] * 20 + [1] * 20
    assert [each.place for each in one.decisions] == [*range(20)] * 2
    assert chosen(explorer(), SLOTS) == whole
    assert chosen(explorer(seed=2), SLOTS) != whole
    # What is drawn in the first chunk shifts nothing in the second, be it more slots or none at random.
    assert chosen(explorer(), [*SLOTS[:3], *SLOTS[20:]])[3:] == whole[20:]
    assert chosen(explorer(rich=(False, True)), SLOTS)[20:] == whole[20:]
    assert whole[:20] != whole[20:]


def test_a_simulation_that_goes_back_forgets_decisions_and_draws_the_same() -> None:
    one = explorer(0.9)
    whole = chosen(one, SLOTS)
    one.go_back(30, round(1.5e9))
    assert len(one.decisions) == 30
    assert chosen(one, SLOTS[30:]) == whole[30:]


def test_a_chunk_is_touched_by_a_slot_at_random_that_overlaps_its_download() -> None:
    one = explorer(rich=(True,) * 4)
    for begin, random in ((0, False), (100, True), (150, False), (300, True)):
        one.decisions.append(ExplorationSlot(begin * 1_000_000, 0, 0, 1.0, True, random))
    # Slots at random: 100 to 150 ms and 300 to 350 ms. Downloads: whole before the first; asked for in it; between
    # both; whole in the second.
    asked = np.array([0, 149, 150, 250]) * 1_000_000
    whole = np.array([100, 200, 300, 301]) * 1_000_000
    assert one.touched(asked, whole, SLOT).tolist() == [False, True, False, True]
    assert not explorer().touched(asked, whole, SLOT).any()


FOLDER = load_paper("mpquic-rl").folder
HOW = Exploring(of="mpquic-rl", factor=0.997, least=0.05, rich_s=1)
SHORT = ("video.loop_to_s=6",)


def cell(exploring: Exploring | None, *, seed: int = 1, file: str = "diverse.toml") -> DashCell:
    return DashCell(FOLDER / file, SHORT, "mpquic-rl", seed, exploring)


def same(one: Network, other: Network, supposed: Supposed) -> bool:
    """Whether two networks make the same of requests."""
    first, second = (each.carry(supposed) for each in (one, other))
    return first.whole_ns.tolist() == second.whole_ns.tolist() and (first.random == second.random).all()


@pytest.mark.parametrize(
    "how", [None, HOW, HOW.model_copy(update={"learns": True})], ids=["as it is", "explores", "learns"]
)
def test_a_server_that_takes_its_actions_again_does_what_one_does_that_is_asked(
    how: Exploring | None,
) -> None:
    if how and how.learns:
        pytest.importorskip("torch")
    network, light = cell(how)._network(), 5_000_000
    asked = np.array([0, 400, 900, 1300, 1800, 2500], dtype=np.int64) * 1_000_000
    size = np.full(6, 400_000, dtype=np.int64)
    whole = Supposed(asked, size, np.full(6, 2 * S))
    later, other, poor = (whole.asked_ns.copy(), whole.sizes_bytes.copy(), whole.store_ns.copy())
    later[4] += 30_000_000 - light
    other[3], poor[2] = 700_000, 0
    changes = (
        whole,
        whole.first(3),
        whole,
        Supposed(later, size, whole.store_ns),
        Supposed(asked, other, whole.store_ns),
        Supposed(asked, size, poor),
        whole,
    )
    for supposed in changes[2:5] if how and how.learns else changes:
        assert same(network, cell(how)._network(), supposed)


def test_a_session_without_exploration_is_what_the_simulator_makes_of_it() -> None:
    network = cell(None)._network()
    session = play(cell(None).client, network.carry)
    result = backend_of("simulator").carry(network.asked(session.supposed), network.policy)
    assert (result.objects.complete_ns - session.requests.asked_ns).tolist() == session.download_ns.tolist()


def test_a_session_that_explores_ends_at_requests_that_lead_to_themselves(tmp_path: Path) -> None:
    one = cell(HOW)
    network = one._network()
    session = play(one.client, network.carry)
    assert network.explorer is not None
    before = network.explorer.decisions
    assert session.random.any()
    assert not session.random[0]  # the first is asked for with nothing in the buffer
    assert all(early.epsilon > late.epsilon for early, late in pairwise(before))
    outcome = one.run(tmp_path)
    assert outcome.series["download_ms"] == (session.download_ns / 1e6).tolist()
    assert outcome.values["random_chunks_percent"] == pytest.approx(100 * session.random.mean())
    assert outcome.series["epsilon_by_buffer"][0] == 0
    assert max(outcome.series["epsilon_by_buffer"]) > 0.8
    wrong = replace(session, download_ns=session.download_ns + 1)
    with pytest.raises(RunError, match="do not lead to themselves"):
        one._network().confirm(wrong)


def test_a_learner_that_goes_back_learns_as_if_it_had_never_had_what_it_forgets() -> None:
    pytest.importorskip("torch")
    from dstcc.learn.algorithms.learner import Slot
    from dstcc.learn.training.loop import deterministic
    from dstcc.papers.learn_anew import EVERY, Lessons

    policy, draws = load_policy("mpquic-rl"), np.random.default_rng(1)
    seen = draws.random((80, 1, policy.observation.size), dtype=np.float32)
    values = np.zeros((1, len(EPISODE_VALUES)))
    values[0, EPISODE_VALUES.index("chunk_bytes")] = 1.0
    ended = np.zeros(1, dtype=bool)

    def learn(lessons: Any, start: int, rewards: list[float]) -> list[int]:
        choices = []
        for index in range(start, 79):
            choices.append(int(lessons.best(seen[index])[0]))
            reward = np.array([rewards[index]])
            lessons.learn(
                Slot(
                    seen[index],
                    np.array([[choices[-1]]]),
                    reward,
                    seen[index + 1],
                    ended,
                    ended,
                    values,
                    values,
                )
            )
        return choices

    first = (10 * draws.random(79)).tolist()
    turn = EVERY * 3 + 5  # between two states that are kept
    other = [*first[:turn], *(-10 * draws.random(79 - turn)).tolist()]
    with deterministic():
        lessons, fresh = Lessons(policy, 1), Lessons(policy, 1)
        whole = learn(lessons, 0, first)
        assert len(set(whole)) > 1
        lessons.go_back(turn)
        assert whole[:turn] + learn(lessons, turn, other) == learn(fresh, 0, other) != whole
        lessons.go_back(3)  # before any state that is kept
        assert learn(lessons, 3, first) == whole[3:]


def test_exploring_is_part_of_what_a_cell_is() -> None:
    pytest.importorskip("torch")  # a recipe is part of it where something learns
    learns = HOW.model_copy(update={"learns": True})
    kinds = [
        None,
        learns,
        HOW,
        HOW.model_copy(update={"counts_random": True}),
        HOW.model_copy(update={"least": 0.1}),
    ]
    assert len({key_of(cell(one)) for one in kinds}) == len(kinds)
    assert "exploring" not in cell(None).identity()
