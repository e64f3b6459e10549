"""What the environments run on: rewards per slot, decisions that hold, connections that begin later."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dstcc.engine.stepper import FALL_BACK, FINISHED, KEEP, RUNNING, SILENT, TIME_OVER
from dstcc.learn.env import runner as runner_module
from dstcc.learn.env.deep_space import make_specs
from dstcc.learn.env.episodes import Episodes, steered
from dstcc.learn.env.runner import Runner, put
from dstcc.scenario import parse_scenario
from tests.learn.mission import MISSION

SMALL = parse_scenario(tomllib.loads(MISSION.replace("loop_to_s = 60", "loop_to_s = 20")), source="small")
EPISODES = Episodes([SMALL])
STAY = [2, 2, 0, 1]


def begun(episodes: int = 1, *, reward: str = "weighted-layers", **keywords: Any) -> Runner:
    observation, action = make_specs(EPISODES, **keywords)
    runner = Runner(episodes, observation, action, reward=reward)
    for episode in range(episodes):
        runner.begin(episode, EPISODES.config(episode + 1, action))
    return runner


def played(runner: Runner) -> list[float]:
    """The rewards of the first episode to its end."""
    rewards = []
    while runner.stepper.done[0] == RUNNING:
        runner.step(np.array([STAY] * len(runner.rewards)))
        rewards.append(float(runner.rewards[0]))
    return rewards


def test_a_reward_per_slot_is_one_where_all_of_a_slots_video_plays() -> None:
    """20 s of video, of which the last chunk is released after 20, in slots of 0.9 to 1.1 s: of percent of the whole a
    slot's share is 100 in so many."""
    whole, even = begun(), begun(reward="played-per-slot")
    config = EPISODES.config(1, even.action)
    slots = float(config.objects.release_ns.max()) / config.slot_ns
    percents = played(whole)
    assert played(even) == pytest.approx([one * slots / 100 for one in percents])
    assert even.returns[0] == pytest.approx(sum(percents) * slots / 100)
    four = begun(reward="played-per-slot", hold=4)
    assert sum(played(four)) == pytest.approx(sum(percents) * slots / 4 / 100)


def test_video_that_is_all_there_at_first_counts_by_one_slot() -> None:
    observation, action = make_specs(EPISODES)
    config = EPISODES.config(1, action)
    objects = replace(config.objects, release_ns=0 * config.objects.release_ns)
    runner = Runner(1, observation, action, reward="played-per-slot")
    runner.begin(0, replace(config, objects=objects))
    assert runner._even.tolist() == [0.01]


def test_an_episode_that_ended_is_left_out_and_earns_nothing_more() -> None:
    runner = begun(2)
    runner.stepper.done[0] = FINISHED
    before = runner.time_s(0), runner.time_s(1)
    for _ in range(12):
        runner.step(np.array([STAY] * 2))
        assert runner.rewards[0] == 0
    assert runner.time_s(0) == before[0] and runner.time_s(1) > before[1]
    assert runner.stepper.active.tolist() == [0, 1]
    assert runner.returns[0] == 0 and runner.returns[1] > 0


def test_the_end_of_an_episode_ends_a_decision_that_holds() -> None:
    """Of one that holds 256 slots the rest is not waited for, and with two until both are done."""
    runner = begun(hold=256)
    runner.step(np.array([STAY]))
    assert runner.stepper.done[0] != RUNNING
    alone = begun()
    assert runner.rewards[0] == pytest.approx(sum(played(alone)))
    assert runner.time_s(0) == alone.time_s(0)
    both = begun(2, hold=256)
    both.step(np.array([STAY] * 2))
    assert (both.stepper.done != RUNNING).all() and both.rewards[0] == pytest.approx(runner.rewards[0])


def test_ends_are_told_apart() -> None:
    runner = begun(3)
    runner.stepper.done[:] = RUNNING, FINISHED, TIME_OVER
    assert runner.terminated.tolist() == [False, True, False]
    assert runner.truncated.tolist() == [False, False, True]


def test_without_an_action_windows_are_let_alone_or_newrenos() -> None:
    runner = begun()
    runner.step(np.array([STAY]))
    before = runner.time_s(0)
    runner.idle()
    assert set(runner.stepper.alpha_q16.flat) == {SILENT} and runner.time_s(0) > before
    seen = runner.observations.copy()
    runner.idle(fall_back=True)
    assert set(runner.stepper.alpha_q16.flat) == {FALL_BACK} and (runner.observations != seen).any()


def test_until_a_connection_begins_its_windows_stay_as_they_begin() -> None:
    """Slots of 0.9 to 1.1 s, and a connection from 5 s on: nothing is looked at before."""
    observation, action = make_specs(EPISODES)
    config = EPISODES.config(1, action)
    runner = Runner(1, observation, action)
    runner.stepper.load(0, config)
    taken: list[Any] = []
    go = runner._go

    def watched() -> None:
        taken.append((runner.stepper.alpha_q16[0].tolist(), runner.stepper.beta[0].tolist()))
        assert runner.stepper.layer_subflow[0, 0] == KEEP
        go()

    runner._go = watched  # type: ignore[method-assign]
    runner.wait(0, replace(config, begin_ns=5 * 10**9))
    slots = -(-5 * 10**9 // config.slot_ns)
    assert taken == [([0, 0], [config.transport.initial_cwnd] * 2)] * slots
    assert runner.time_s(0) == pytest.approx(slots * config.slot_ns / 1e9)
    assert runner.returns[0] == 0 and (runner.subflows(0), runner.layers(0)) == (2, 2)


def test_a_trial_that_ends_before_its_connection_begins_is_over() -> None:
    """In slots of 0.9 to 1.1 s, after three of them."""
    observation, action = make_specs(EPISODES)
    config = replace(EPISODES.config(1, action), duration_ns=2_500_000_000, begin_ns=50 * 10**9)
    runner = Runner(1, observation, action)
    runner.stepper.load(0, config)
    runner.wait(0, config)
    assert runner.truncated[0] and 2.5 <= runner.time_s(0) < 4


def test_a_number_of_actions_is_that_of_the_episodes() -> None:
    with pytest.raises(ValueError, match="1 actions for 2 episodes"):
        begun(2).step(np.array([STAY]))


def test_actions_go_where_the_engine_takes_them_from() -> None:
    names = ("alpha_q16", "beta", "layer_subflow", "copied", "order")
    given: Any = SimpleNamespace(**{name: np.full((1, 2), place + 1) for place, name in enumerate(names)})
    stepper: Any = SimpleNamespace(**{name: np.zeros((1, 2)) for name in names})
    put(given, stepper)
    assert [getattr(stepper, name).tolist() for name in names] == [[[n, n]] for n in range(1, 6)]


def test_spaces_that_do_not_fit_are_refused() -> None:
    observation, action = make_specs(EPISODES)
    wide, measured = (
        make_specs(EPISODES, subflows=3)[0],
        make_specs(EPISODES, action="multi", measured=True, orders=((0.1, 0.5),))[1],
    )
    deep = make_specs(EPISODES, layers=3)[0]
    for other in (wide, deep):
        with pytest.raises(ValueError, match="of different numbers of subflows or layers"):
            Runner(1, other, action)
    with pytest.raises(ValueError, match="measured actions need the observation 'measured'"):
        Runner(1, observation, measured)
    with pytest.raises(ValueError, match="reward 'none': one of"):
        Runner(1, observation, action, reward="none")


def test_a_history_is_of_the_full_observation_alone() -> None:
    for kind in ("paper", "measured", "pbq"):
        assert make_specs(EPISODES, observation=kind, history=5)[0].history == 0
    assert make_specs(EPISODES, history=5)[0].history == 5 and make_specs(EPISODES)[0].history == 8
    observation, action = make_specs(EPISODES, subflows=3, layers=4)
    assert (observation.subflows, observation.layers, action.subflows, action.layers) == (3, 4, 3, 4)
    cases: tuple[Any, ...] = ({"subflows": 1}, {"layers": 1})
    for fewer in cases:
        with pytest.raises(ValueError, match="but the scenarios have 2 and 2"):
            make_specs(EPISODES, **fewer)


def test_a_trial_is_steered_as_the_action_space_says() -> None:
    """A slot is as long as it says of the shortest link's round trip, and a chunk at least."""
    action = make_specs(EPISODES, slot_rtts=0.75, lanes=3, headroom=4)[1]
    plain = EPISODES.config(1, make_specs(EPISODES)[1])
    config = EPISODES.config(1, action)
    shortest = min(2 * min(link.delay_ns) for link in config.links)
    assert config.slot_ns == int(0.75 * shortest) != plain.slot_ns
    assert (config.transport.mode, config.transport.lanes_per_link) == ("lanes", 3)
    assert config.transport.parameters[action.control] == {"headroom": (4,)}
    assert config.transport.layer_links == ()
    changing = (replace(plain.links[0], delay_t_ns=(0, 1), delay_ns=(2 * 10**9, 10**9)), plain.links[1])
    assert steered(replace(plain, links=changing), action).slot_ns == 1_500_000_000, "of the shortest delay"
    short = steered(plain, make_specs(EPISODES, slot_rtts=0.01)[1])
    assert short.slot_ns == int(plain.objects.release_ns.max()) // 20
    still = replace(plain, objects=replace(plain.objects, release_ns=0 * plain.objects.release_ns))
    nothing = replace(still, links=tuple(replace(link, delay_ns=(0,)) for link in still.links))
    assert steered(nothing, make_specs(EPISODES, slot_rtts=0.5)[1]).slot_ns == 1
    assert EPISODES.pick(0) == EPISODES.pick(7) == 0 and Episodes([SMALL] * 3).pick(7) == 1
    assert vars(runner_module)["PERCENT"] == 100
