"""The sender that plans on forecasts: what it expects of which time, and when it falls back to the rule."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from dstcc.coded.channels import GRID, on_grid
from dstcc.coded.fleet import Fleet, Step
from dstcc.coded.planner import Planner
from dstcc.coded.seen import RepairDecision, Seen
from dstcc.forecast.inputs import FIRST_SPAN
from dstcc.forecast.outlook import Outlook
from dstcc.forecast.sender import Forecasting, place_of
from dstcc.learn.policies.controller import Decided
from dstcc.run import run_trials
from dstcc.scenario import load_scenario, parse_override
from tests.coded.missions import mission, seen

from .made import RULE, certain, policy, write

MISSION = mission(2)


def heard(now_s: float, lost: list[float], *, age_s: float = 1230.0, n: float = 300.0) -> Seen:
    """300 packets of each of two trials, sent so long ago; negative losses: nothing was heard."""
    x = np.array(lost)[:, None]
    some = x >= 0
    return seen(
        MISSION,
        now_s,
        heard=np.where(some, n, 0.0),
        lost=np.maximum(x, 0),
        runs=np.maximum(x, 0),
        sent_s=np.where(some, now_s - age_s, np.nan),
    )


def test_beliefs_are_the_networks_at_the_planners_times() -> None:
    made, sender = policy(), Forecasting(policy())
    sender.begin(MISSION)
    planner, network = Planner(MISSION), made.network
    times = planner.times(np.full(2, 60.0))
    first = sender.expect(heard(60.0, [-1, -1]))
    assert first.shape == (2, 1, 6, len(GRID))
    ahead = np.clip(times / 1200, 0.5, 4.5)
    outlook = Outlook(2)
    assert first[:, 0] == pytest.approx(network.expect(network.start(2), outlook.ahead(ahead)))
    # The first trial hears; the second one not yet, and later hears what the first one heard, as if it were the first.
    both, nine, state = np.array([300.0, 300.0]), np.full(2, 9.0), network.start(2)
    shown = outlook.hear(both, nine, nine, np.full(2, FIRST_SPAN))
    state = network.hear(shown, state)
    now = sender.expect(heard(1260.0, [9, -1]))
    assert sender.inputs[0, 0] == pytest.approx(shown[0]) and not sender.inputs[1].any()
    ahead = (planner.times(np.full(2, 1260.0)) - 30.0) / 1200
    assert now[0, 0] == pytest.approx(network.expect(state, outlook.ahead(ahead))[0])
    assert now[1, 0] != pytest.approx(now[0, 0])
    later = sender.expect(heard(1320.0, [-1, 9]))
    assert sender.inputs[:, 0] == pytest.approx(shown), "of the last event of each"
    ahead = (planner.times(np.full(2, 1320.0)) - 90.0) / 1200
    assert later[1, 0] == pytest.approx(network.expect(state, outlook.ahead(ahead))[1])
    ahead = (planner.times(np.full(2, 1320.0)) - 30.0) / 1200
    assert later[0, 0] == pytest.approx(network.expect(state, outlook.ahead(ahead))[0])


def test_a_second_event_is_so_much_later_than_the_first() -> None:
    made, sender = policy(), Forecasting(policy())
    sender.begin(MISSION)
    sender.expect(heard(1260.0, [9, 9]))
    sender.expect(heard(1320.0, [-1, -1]))
    found = sender.expect(heard(1380.0, [4, 4]))
    outlook, state = Outlook(1), made.network.start(1)
    for lost, span in ((9.0, FIRST_SPAN), (4.0, 120 / 1200)):
        x = np.array([lost])
        state = made.network.hear(outlook.hear(np.array([300.0]), x, x, np.array([span])), state)
    ahead = (Planner(MISSION).times(np.full(2, 1380.0))[:1] - 150.0) / 1200
    assert found[0, 0] == pytest.approx(made.network.expect(state, outlook.ahead(ahead))[0])


def test_the_place_of_what_came_is_its_binomial_tail_under_the_belief() -> None:
    chances = (0.1, 0.01, 0.02, 0.02)
    belief = np.stack([*(on_grid(np.array(chance)) for chance in chances), np.full(40, 1 / 40)])
    n, x = np.array([300.0, 100.0, 100.0, 100.0, 50.0]), np.array([30.0, 0.0, 1.0, 2.0, 7.0])
    fewer, same = place_of(belief, n, x)
    for k in range(5):
        cdf = binom.cdf(x[k], n[k], GRID), binom.cdf(x[k] - 1, n[k], GRID)
        assert fewer[k] == pytest.approx(float(belief[k] @ cdf[1]))
        assert same[k] == pytest.approx(float(belief[k] @ (cdf[0] - cdf[1])))


def run_against(lost: list[float], slots: int, sender: Forecasting) -> list[np.ndarray]:
    """Two trials that lose so much in each slot; whether the rule decided, slot by slot."""
    sender.begin(MISSION)
    fallen = []
    for slot in range(slots):
        now = 60.0 * slot
        sender.decide(heard(now, lost if now >= 1260 else [-1, -1]))
        fallen.append(sender.fallen.copy())
    return fallen


def test_the_guard_falls_back_where_what_comes_was_not_foretold_and_only_there() -> None:
    point = int(np.abs(GRID - 0.05).argmin())
    sender = Forecasting(certain(point))
    # The first trial loses what is foretold, the second a tenth of it: for ever wrong.
    fallen = np.array(run_against([round(300 * GRID[point]), 1], 90, sender))
    assert not fallen[:, 0].any()
    assert not fallen[:21, 1].any(), "nothing was heard yet"
    first = int(np.flatnonzero(fallen[:, 1])[0])
    # The share of surprises reaches 0.35 when e^(-t / 2 RTT) = 0.65: 0.86 round trips after the first of them.
    assert first == pytest.approx(21 + 0.86 * 20, abs=2)
    assert fallen[first:, 1].all()
    decision = sender.decide(heard(5400.0, [round(300 * GRID[point]), 1]))
    rule = certain(point).fallback()
    rule.begin(MISSION)
    assert decision.repair[1] == pytest.approx([0.01] * 3)  # `threshold` below its threshold
    assert decision.repair[0, 0] > 0.05
    bare = Forecasting(certain(point), guarded=False)
    run_against([1, 1], 90, bare)
    assert bare.decide(heard(5400.0, [1, 1])).repair[1, 0] > 0.05


@pytest.mark.parametrize("paths", [1, 2])
def test_what_came_is_held_against_the_belief_of_its_time(paths: int) -> None:
    """Beliefs change from slot to slot; what is heard was sent 20 slots ago, in a slot of the same belief."""
    of = mission(2, rates=(5_000.0, 2_500.0)[:paths])
    points = [int(np.abs(GRID - chance).argmin()) for chance in (0.01, 0.2)]
    sender = Forecasting(replace(policy(), rule=RULE))
    sender.begin(of)
    some = np.ones((2, paths))
    for slot in range(90):
        now, belief = 60.0 * slot, np.zeros((2, paths, 6, len(GRID)))
        belief[..., points[slot % 2]] = 1
        # The first trial loses as was believed then, the second one as was believed a slot later.
        lost = np.round(300 * GRID[[points[slot % 2], points[(slot + 1) % 2]]])[:, None] * some
        here = slot >= 20
        heard_now = seen(
            of,
            now,
            heard=300.0 * here * some,
            lost=lost * here,
            runs=lost * here,
            sent_s=np.where(here, now - 1200, np.nan) * some,
        )
        sender.guarded(heard_now, belief, RepairDecision(np.zeros((2, 3))))
    assert sender.fallen.tolist() == [False, True]


def test_the_guard_trusts_again_where_forecasts_come_true_again() -> None:
    point = int(np.abs(GRID - 0.05).argmin())
    sender, right = Forecasting(certain(point)), round(300 * GRID[point])
    run_against([1, 1], 60, sender)
    assert sender.fallen.all()
    for slot in range(60, 120):
        sender.decide(heard(60.0 * slot, [right, 1]))
    assert not sender.fallen[0] and sender.fallen[1]


def test_a_driven_trial_plays_what_the_ladder_says(tmp_path: Path) -> None:
    policy().save(tmp_path / "mine.safetensors")
    overrides = [f"transport.controller={tmp_path / 'mine.safetensors'}"]
    steered = load_scenario(write(tmp_path), [parse_override(text) for text in overrides])
    trials = [trial for trial in run_trials(steered, quality=False) if trial.key.controller == "mine"]
    assert [trial.id for trial in trials] == ["mine/s1", "mine/s2"]
    played = [trial.metrics.values["weighted_layers"] for trial in trials if trial.metrics]
    scenario = load_scenario(write(tmp_path))
    fleet = Fleet(scenario, scenario.seeds)
    steps: list[Step] = []
    assert fleet.run(Forecasting(policy()), watch=steps.append) == pytest.approx(np.array(played))
    # Alone or beside others, with or without somebody who looks on: the same trial.
    told: list[Decided] = []
    result = policy().drive(fleet.configs[1], told.append)
    assert fleet.value(fleet.configs[1], result) == pytest.approx(played[1])
    assert len(told) > 40
    assert all((one.believed["loss_low"] <= one.believed["loss_high"]).all() for one in told)
    assert result.totals.guard_fallbacks == sum(one.fell_back for one in told)


def test_two_paths_have_a_belief_each() -> None:
    of = mission(1, rates=(5_000.0, 2_500.0))
    sender = Forecasting(replace(policy(), rule=RULE))
    sender.begin(of)
    lost = np.array([[40.0, 0.0]])
    now = sender.expect(
        seen(of, 1260.0, heard=np.full((1, 2), 200.0), lost=lost, runs=lost, sent_s=np.full((1, 2), 30.0))
    )
    assert now.shape == (1, 2, 6, len(GRID))
    assert now[0, 0] != pytest.approx(now[0, 1])
    alone = Forecasting(policy())
    alone.begin(mission(1, rates=(2_500.0,)))
    none = np.zeros((1, 1))
    found = alone.expect(
        seen(
            mission(1, rates=(2_500.0,)), 1260.0, heard=none + 200.0, lost=none, runs=none, sent_s=none + 30.0
        )
    )
    assert found[0, 0] == pytest.approx(now[0, 1])


def test_the_memory_of_beliefs_covers_one_and_a_half_round_trips() -> None:
    """A round trip of 1200 s in slots of 60 s: 20 slots, so 30 and 4."""
    assert MISSION.light_s.max() == 600 and MISSION.slot_s == 60
    sender = Forecasting(policy())
    sender.begin(MISSION)
    assert sender._foretold.maxlen == 34


def test_before_it_decides_it_believes_in_all_alike() -> None:
    sender = Forecasting(policy())
    sender.begin(mission(2, rates=(5_000.0, 2_500.0)))
    assert sender.beliefs.shape == (2, 2, 40) and (sender.beliefs == 1 / 40).all()
    assert sender.inputs.shape[:2] == (2, 2) and not sender.inputs.any()
    assert sender.fallen.tolist() == [False, False] and sender.name == "made"


def test_a_surprise_fades_over_two_round_trips() -> None:
    """Beliefs of nothing lost, and all is lost: each of the slots is one. A slot without feedback changes nothing."""
    sender = Forecasting(certain(0))
    sender.begin(MISSION)
    sender.decide(heard(0.0, [-1, -1]))
    fades, share = np.exp(-60 / 2400), 0.0
    for slot in range(21, 60):
        sender.decide(heard(60.0 * slot, [300, -1]))
        share = fades * share + 1 - fades
        assert sender._surprise == pytest.approx([share, 0.0])
        assert sender.fallen.tolist() == [share > 0.35, False]
    assert sender.fallen[0]


def test_a_place_just_within_the_tail_is_no_surprise(monkeypatch: pytest.MonkeyPatch) -> None:
    """What came has the place from 0.0049 to 0.0051, so no; from 0.0048 to 0.0049, so it has; and at the other end."""
    sender = Forecasting(certain(0))
    for place, width, odd in (
        *((0.0049, 0.0002, False), (0.0048, 0.0001, True), (0.9949, 0.005, False), (0.9951, 0.0, True)),
    ):
        sender.begin(MISSION)
        sender.decide(heard(0.0, [-1, -1]))
        monkeypatch.setattr(
            "dstcc.forecast.sender.place_of",
            lambda *_, place=place, width=width: (np.full(2, place), np.full(2, width)),
        )
        sender.decide(heard(1260.0, [9, 9]))
        assert (sender._surprise > 0).all() == odd and (sender._surprise > 0).any() == odd
