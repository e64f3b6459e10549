"""LTP's learned code rates beside a forecaster: whose trials are whose, and what the table says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from dstcc.ltp_rates.table import load
from dstcc.report.printed import interval
from dstcc.run.trials import run_trials
from experiments import forecast_rivals
from experiments.forecast_rivals import LTP, learn, main, played
from experiments.played import mission
from tests.forecast.made import policy, write


@pytest.fixture
def learning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Missions of some minutes in the places of those of the project."""
    for name in ("held-out/tide", "training/onset"):
        path = tmp_path / f"{name}.toml"
        path.parent.mkdir()
        write(path.parent).rename(path)
    monkeypatch.setattr(forecast_rivals, "LEARNING", tmp_path)
    monkeypatch.setattr(forecast_rivals, "HELD_OUT", ("tide",))
    monkeypatch.setattr(forecast_rivals, "TRAINING", ("onset",))
    policy().save(tmp_path / "mine.safetensors")
    return tmp_path


def test_a_table_is_learned_on_the_mission_that_is_named(learning: Path) -> None:
    table = load(learn("onset", learning, 2))
    assert table.trained["scenario"] == "short" and table.trained["episodes"] == 2
    assert table.trained["matrices"] > 0


def test_of_a_steered_scenario_only_the_controllers_trials_count(learning: Path) -> None:
    path = learning / "held-out/tide.toml"
    steered = mission(path, f"transport.controller={learning / 'mine.safetensors'}")
    trials = run_trials(steered, quality=False)
    own = [t.metrics.values["weighted_layers"] for t in trials if t.metrics and t.key.controller]
    others = [t.metrics.values["weighted_layers"] for t in trials if t.metrics and not t.key.controller]
    assert len(own) == len(others) == 2 and own != others
    assert played(steered) == own
    assert played(mission(path)) == others


def test_the_table_has_each_rate_and_how_much_more_the_controller_plays(learning: Path) -> None:
    arguments = ["--seeds", "2", "--episodes", "1", "--controller", str(learning / "mine.safetensors")]
    done = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("| ltp")]
    names = ["uncoded", "delayed feedback", "auto", "learned", "learned on onset"]
    assert [row[0] for row in rows] == [f"ltp, {name}" for name in names]
    path = learning / "held-out/tide.toml"
    ours = played(mission(path, "run.seeds=2", f"transport.controller={learning / 'mine.safetensors'}"))
    theirs = played(mission(path, *LTP, "run.seeds=2", "coding.repair=auto"))
    assert rows[2][1].startswith(f"{interval(theirs)} ({np.mean(np.array(ours) - np.array(theirs)):+.3f} [")
