"""Learned code rates of ltp: the table's file, the learner's arithmetic, and how a scenario names a table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dstcc.engine import _testing
from dstcc.errors import DstccError, InputError, ScenarioError
from dstcc.learn.ltp_rates import ACTIONS, Learner, train, write
from dstcc.ltp_rates import RateTable, load, shipped, shipped_names
from dstcc.ltp_rates.table import STATES, save
from dstcc.scenario import content_hash, load_scenario, load_source
from dstcc.scenario.files import files_of

SCENARIO = """
[scenario]
name = "a link"
[video]
synthetic = {chunk_s = 1.0, layer_bps = [400_000]}
loop_to_s = 60
[[link]]
name = "moon"
rate_bps = 1_000_000
delay_s = 1.3
loss = {packet = 0.08}
[transport]
congestion = "ltp"
[coding]
block_s = 2
[playout]
delay_s = 20
"""


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    path = tmp_path / "link.toml"
    path.write_text(SCENARIO)
    return path


def flat(share: float) -> RateTable:
    return RateTable((share,) * STATES, {"by": "hand"})


class TestFile:
    def test_is_read_back(self, tmp_path: Path) -> None:
        save(flat(0.125), tmp_path / "rates.json")
        assert load(tmp_path / "rates.json") == flat(0.125)

    @pytest.mark.parametrize(
        ("text", "rule"),
        [
            ("{", "not JSON"),
            ('{"trained": {}}', "not a table of code rates"),
            ('{"trained": {}, "shares": [0.1]}', "1 shares for 512 states"),
            (json.dumps({"trained": {}, "shares": [5] * STATES}), "a share is 0 to 4"),
            ('{"trained": {}, "shares": [' + "NaN," * (STATES - 1) + "0]}", "a share is 0 to 4"),
        ],
    )
    def test_what_is_none_is_refused(self, tmp_path: Path, text: str, rule: str) -> None:
        (tmp_path / "rates.json").write_text(text)
        with pytest.raises(InputError, match=rule):
            load(tmp_path / "rates.json")

    def test_those_that_are_shipped_have_a_share_for_each_state_and_say_where_from(self) -> None:
        assert set(shipped_names()) == {"q-earth-moon", "q-earth-mars"}
        for name in shipped_names():
            assert set(shipped(name).shares) <= set(ACTIONS)
            assert shipped(name).trained["first_seed"] >= 9000  # not those of the tables in the docs


class TestLearner:
    def test_the_mean_reward_decides(self) -> None:
        # A state in which 0.1 lost two of four matrices (-0.5 - 0.02) and 0.3 none (-0.06): 0.3.
        learner = Learner(cost=0.2)
        state, low, high = np.full(4, 9 * 8), ACTIONS.index(0.1), ACTIONS.index(0.3)
        learner.learn(state, np.full(4, low), np.array([True, False, True, False]))
        learner.learn(state, np.full(4, high), np.zeros(4, dtype=bool))
        assert learner.best()[9 * 8] == high
        assert learner.values()[9 * 8, high] == pytest.approx(-0.06)
        assert learner.values()[9 * 8, low] == pytest.approx(-0.52)

    def test_repair_costs(self) -> None:
        learner = Learner(cost=0.2)
        for action in range(len(ACTIONS)):
            learner.learn(np.zeros(9, dtype=int), np.full(9, action), np.zeros(9, dtype=bool))
        assert learner.best()[0] == 0

    def test_a_state_seldom_seen_takes_after_those_like_it(self) -> None:
        # 100 matrices of state (7, 7, 7) say that 0.02 fails and 0.5 does not; (7, 1, 7) was seen once: 0.02 did not.
        learner = Learner(cost=0.2)
        often, once = 7 * 64 + 7 * 8 + 7, 7 * 64 + 8 + 7
        learner.learn(np.full(100, often), np.zeros(100, dtype=int), np.ones(100, dtype=bool))
        learner.learn(np.full(100, often), np.full(100, 8), np.zeros(100, dtype=bool))
        learner.learn(np.array([once]), np.array([0]), np.array([False]))
        assert ACTIONS[learner.best()[once]] == 0.5
        assert ACTIONS[learner.best()[0]] == 0.5  # never seen: what all together say

    def test_levels_are_the_engines(self) -> None:
        assert _testing.coding.LtpRule.level(1.0) + 1 == round(STATES ** (1 / 3))


class TestTraining:
    def test_it_is_repeatable_and_finds_that_losses_need_repair(self, scenario_file: Path) -> None:
        # One in twelve of 69 + r is lost: 6 or so. 2 % are two segments, which nearly always are too few.
        scenario = load_scenario(scenario_file)
        one = train(scenario, load_source(scenario), episodes=12, seed=2)
        assert one == train(scenario, load_source(scenario), episodes=12, seed=2)
        assert one.trained["matrices"] > 200
        assert one.shares[0] >= 0.15

    def test_the_file_is_a_table_that_a_scenario_can_name(self, scenario_file: Path, tmp_path: Path) -> None:
        made = tmp_path / "mine.json"
        assert write(scenario_file, made, episodes=2).table == load(made)
        text = SCENARIO.replace("[coding]", '[coding]\nrepair = "mine.json"')
        (tmp_path / "with.toml").write_text(text)
        scenario = load_scenario(tmp_path / "with.toml")
        assert made in files_of(scenario)
        before = content_hash(scenario)
        save(flat(0.3), made, force=True)
        assert content_hash(load_scenario(tmp_path / "with.toml")) != before

    def test_a_scenario_without_coding_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "plain.toml"
        path.write_text(SCENARIO.replace("[coding]\nblock_s = 2\n", ""))
        with pytest.raises(DstccError, match=r"it needs \[coding\]"):
            write(path, tmp_path / "out.json")


def test_a_file_that_is_none_is_refused_with_its_key(scenario_file: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("[]")
    scenario_file.write_text(SCENARIO.replace("[coding]", '[coding]\nrepair = "bad.json"'))
    with pytest.raises(ScenarioError, match=r"coding.repair.*bad\.json: not a table of code rates"):
        load_scenario(scenario_file)
