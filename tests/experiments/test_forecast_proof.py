"""``experiments/forecast_proof.py``: trainings side by side play what each plays alone, and what the
tables say of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dstcc.coded.fleet import Fleet
from dstcc.forecast.files import load_forecaster
from dstcc.forecast.sender import Forecasting
from dstcc.scenario import load_scenario
from experiments import forecast_proof as proof
from tests.forecast.made import policy, write


def test_side_by_side_each_plays_what_it_plays_alone(tmp_path: Path) -> None:
    paths = [tmp_path / f"{seed}.safetensors" for seed in (1, 2)]
    for seed, path in enumerate(paths, 1):
        policy(seed=seed).save(path)
    together = proof.play(write(tmp_path), [4, 5, 6], paths)
    for values, path in zip(together, paths, strict=True):
        alone = Fleet(load_scenario(write(tmp_path)), (4, 5, 6)).run(Forecasting(load_forecaster(path)))
        assert values == pytest.approx(alone, abs=1e-12)
    assert together[0] != pytest.approx(together[1])


def ladder_of(folder: Path, scenario: str, baselines: dict[str, dict[str, float]]) -> Path:
    """A ladder's folder with the same value at each of eight seeds, by baseline and name."""
    folder.mkdir()
    entries = [
        {
            "scenario": scenario,
            "rung": baseline,
            "name": name,
            "values": {str(seed): value for seed in range(8)},
        }
        for baseline, named in baselines.items()
        for name, value in named.items()
    ]
    (folder / "ladder.json").write_text(json.dumps({"ladder": entries}))
    return folder


BASELINES = {
    "clairvoyant": {"bound": 0.95},
    "planner-law": {"planner-law": 0.9},
    "planner-belief": {"planner-belief": 0.8},
    "best-constant": {"0.1": 0.75},
    "tuned-rule": {"margin": 0.7, "threshold": 0.8, "auto": 0.6},
    "random": {"random": 0.5},
}


def test_the_tables_say_what_was_played(tmp_path: Path) -> None:
    ladder = proof.Ladder([ladder_of(tmp_path / "l", "one", BASELINES)])
    assert ladder.seeds("one") == list(range(8))
    assert ladder.best("one", "best tuned rule") == pytest.approx(np.full(8, 0.8))
    played = np.full((4, 8), 0.86)
    played[3] = 0.78
    rows = {
        row.split("|")[1].strip(): row.split("|")[2].strip()
        for row in proof.tables(["one"], ladder, {"one": played})
    }
    assert rows["**gru-mpc**"].startswith("0.860 [")
    assert rows["planner-law"] == "0.900 [0.900, 0.900]" and rows["best tuned rule"] == "0.800 [0.800, 0.800]"
    assert rows["more than best tuned rule"].startswith("+0.040 [")  # a mean: (3 × 0.06 − 0.02) / 4
    assert rows["threshold"] == "0.800 [0.800, 0.800]" and "loss + 3 sigma" not in rows
    ladder.add("one", proof.SIGMA, [0.77] * 8)
    more = "\n".join(proof.tables(["one"], ladder, {"one": played}))
    assert "| more than loss + 3 sigma | +0.070 [" in more
    assert rows["more than random"].startswith("+0.340 [")
    assert rows["share of the gap closed"].startswith("0.400 [")
    assert rows["probability of improvement on best tuned rule"].startswith("0.750 [")
    assert rows["worst training less the best tuned rule"] == "-0.020"


def test_intervals_are_over_trainings_and_seeds() -> None:
    seeds = np.linspace(0, 1, 40)
    alike = [np.tile(seeds, (10, 1))], [{"rule": seeds}]
    _, low, high = proof.intervals(*alike, proof.more_than("rule"))
    assert (low, high) == pytest.approx((0, 0), abs=1e-9)  # paired by seeds
    value, low, high = proof.intervals(*alike, proof.of_learned)
    assert low < value < high and high - low > 0.1  # but a value of its own varies with them
    trainings = [np.arange(10.0)[:, None] + np.zeros((1, 40))], [{"rule": np.zeros(40)}]
    value, low, high = proof.intervals(*trainings, proof.more_than("rule"))
    assert value == pytest.approx(4.5) and high - low == pytest.approx(4 * 2.87 / 10**0.5, rel=0.15)


def test_the_curve_has_all_trainings(tmp_path: Path) -> None:
    for number, scores in enumerate(((-3.0, -2.0), (-3.2, -2.4))):
        (tmp_path / str(number)).mkdir()
        rows = [f"{100 * (k + 1)},{score},{score},1,0" for k, score in enumerate(scores)]
        (tmp_path / str(number) / "curves.csv").write_text("\n".join(["step,score,best,loss,random", *rows]))
    assert proof.curve([tmp_path / "0", tmp_path / "1"]) == [
        "| 100 | -3.100 | -3.200 to -3.000 | 2 |",
        "| 200 | -2.200 | -2.400 to -2.000 | 2 |",
    ]
