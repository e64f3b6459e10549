"""``examples/gym``: PPO of stable-baselines3 on the environment, its policy as a file, and the ladder beside it."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from dstcc.learn import DeepSpaceEnv, DeepSpaceVectorEnv, load_policy

FOLDER = Path(__file__).parents[2] / "examples" / "gym"


@pytest.fixture
def ppo(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, imported as a run of it finds its neighbour."""
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in ("ppo", "threads"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("ppo")


@pytest.fixture
def short(tmp_path: Path) -> Path:
    """Four minutes of the example's video."""
    text = (FOLDER / "two-links.toml").read_text()
    assert "loop_to_s = 2_400" in text
    file = tmp_path / "short.toml"
    file.write_text(text.replace("loop_to_s = 2_400", "loop_to_s = 240"))
    return file


def test_the_adapter_steps_as_single_environments_do(ppo, short):
    many = ppo.ThreadedVecEnv(DeepSpaceVectorEnv(2, str(short), threads=2, **ppo.SPACES))
    many.seed(7)
    seen = many.reset()
    single = [DeepSpaceEnv(str(short), **ppo.SPACES) for _ in range(2)]
    for k, one in enumerate(single):
        assert np.array_equal(one.reset(seed=7 + k)[0], seen[k])
    draw, over = np.random.default_rng(1), [False, False]
    while not all(over):
        actions = np.array([many.action_space.nvec]) * draw.random((2, len(many.action_space.nvec)))
        seen, rewards, done, infos = many.step(actions.astype(int))
        for k, one in enumerate(single):
            if over[k]:
                continue
            alone, reward, ended, cut, info = one.step(actions[k].astype(int))
            over[k] = ended or cut
            assert over[k] == done[k] and rewards[k] == pytest.approx(reward)
            assert np.array_equal(alone, infos[k]["terminal_observation"] if over[k] else seen[k])
            if over[k]:
                assert infos[k]["episode"]["r"] == pytest.approx(info["episode_return"])
                assert infos[k]["TimeLimit.truncated"] == (cut and not ended)
    many.close()


def test_the_whole_script_trains_writes_runs_and_compares(ppo, short, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(ppo, "SHIPPED", ("iodst-dqn",))
    out = tmp_path / "out"
    monkeypatch.setattr(
        sys,
        "argv",
        ["ppo.py", "-o", str(out), "--scenario", str(short), "--steps", "256", "--envs", "2", "--seeds", "2"],
    )
    models = []
    train = ppo.train

    def remember(*given):
        models.append(train(*given))
        return models[-1]

    monkeypatch.setattr(ppo, "train", remember)
    ppo.main()
    policy = load_policy(out / "ppo.safetensors")
    seen = np.random.default_rng(0).uniform(-1, 4, (200, policy.observation.size)).astype(np.float32)
    theirs, _ = models[0].predict(seen, deterministic=True)
    assert np.array_equal(policy.act(seen), theirs)
    rows = [line.strip("| ").split(" | ") for line in (out / "ladder.md").read_text().splitlines()[2:]]
    assert capsys.readouterr().out.count("|") > len(rows)
    assert {row[0] for row in rows} == set(ppo.BASELINES)
    assert [ppo.BASELINES.index(row[0]) for row in rows] == sorted(
        ppo.BASELINES.index(row[0]) for row in rows
    )
    assert {"ppo", "iodst-dqn", "cubic+minrtt", "open-loop+minrtt", "ltp+none"} <= {row[1] for row in rows}
    values = {row[1]: float(row[2].split()[0]) for row in rows}
    assert values["bound"] == max(values.values()) >= values["open-loop+minrtt"] > values["random"]
