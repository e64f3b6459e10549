"""``experiments/forecast_front.py``: what is on the front, and that what was played once is not played again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dstcc.coded.fleet import Fleet
from dstcc.forecast.files import load_forecaster
from dstcc.forecast.sender import Forecasting
from dstcc.scenario import load_scenario, parse_override
from experiments import forecast_front as front
from tests.forecast.made import policy, write


def test_the_front_is_what_nothing_beats_in_both() -> None:
    points = [(0.9, 1.2), (0.8, 1.0), (0.8, 1.1), (0.7, 1.1), (0.9, 1.2)]
    assert front.unbeaten(points) == [True, True, False, False, True]


def test_rows_are_means_over_scenarios_and_the_best_of_a_row_counts() -> None:
    one = {"gru-mpc": [[0.8, 0.9], [1.2, 1.2]], "best constant": [[0.7, 0.7], [1.1, 1.3]]}
    two = {"gru-mpc": [[0.6, 0.7], [1.4, 1.4]], "best constant": [[0.7, 0.7], [1.4, 1.4]]}
    rows = front.table({0.9: [one, two], 0.7: [one]})
    assert rows[2].startswith("| 0.7 | gru-mpc | 0.850 [0.800, 0.900] | 1.200 | * |")
    assert rows[4].startswith("| 0.9 | gru-mpc | 0.750 [0.700, 0.800] | 1.300 | * |")
    assert rows[5] == "| 0.9 | best constant | 0.700 [0.700, 0.700] | 1.300 |  |"


def test_it_plays_what_a_fleet_plays_and_keeps_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    mission, mine = write(tmp_path), tmp_path / "mine.safetensors"
    policy().save(mine)
    monkeypatch.setattr(front, "CHOICES", (0.1,))
    arguments = [str(mission), "--controller", str(mine), "--delays", "1.5", "--seeds", "1"]
    arguments += ["-o", str(tmp_path / "front.json")]
    assert front.main(arguments) == 0
    printed = capsys.readouterr().out
    assert [row.split("|")[2].strip() for row in printed.splitlines()[2:]] == [
        "mine",
        "planner-belief",
        "best tuned rule",
        "best constant",
    ]
    scenario = load_scenario(mission, [parse_override("playout.delay_rtts=1.5")])
    fleet = Fleet(scenario, (501,))
    alone = fleet.run(Forecasting(load_forecaster(str(mine))))
    assert f"| 1.5 | mine | {np.mean(alone):.3f} [" in printed
    monkeypatch.setattr(front, "play", lambda *_: pytest.fail("it was played already"))
    assert front.main(arguments) == 0
    assert capsys.readouterr().out == printed
