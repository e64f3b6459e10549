"""``experiments/cards.py``: the rows of the papers' controllers' cards."""

from __future__ import annotations

import math
from pathlib import Path

from dstcc.run import run_trials
from dstcc.scenario import load_scenario, parse_override
from experiments import cards

ROOT = Path(__file__).parents[2]


def test_a_rows_values_are_the_scenarios_own(monkeypatch):
    monkeypatch.chdir(ROOT)
    measured = cards.Bench(2).run(cards.LOSSY, "scenario.duration_s=10", cards.stock("vegas", {}))
    overrides = ["scenario.duration_s=10", "transport.congestion=vegas", "run.seeds=2"]
    scenario = load_scenario(cards.LOSSY, [parse_override(text) for text in overrides])
    expected = [trial.metrics.values["throughput_bps"] for trial in run_trials(scenario, quality=False)]
    assert measured.values["throughput_bps"] == expected
    assert measured.lanes == "64/4"  # four subflows of 16 lanes, a window each


def test_a_row_says_who_has_a_window_per_lane(monkeypatch):
    monkeypatch.chdir(ROOT)
    bench, short = cards.Bench(2), "video.loop_to_s=60"
    rows = [
        bench.run(cards.TABLE_1, short, cards.stock("cubic", way))
        for way in (cards.LINK, cards.LANE, cards.STREAM)
    ]
    assert [one.lanes for one in rows] == ["32/2", "32/32", "1/2"]


def test_an_interval_is_in_the_unit_asked_for():
    measured = cards.Measured("1/1", {"throughput_bps": [2e6, 4e6]})
    assert measured.middle("throughput_bps") == 3e6
    assert measured.shown("throughput_bps", 1, 1e6).startswith("3.0 [")


def test_every_card_but_our_own_ones_has_a_table():
    names = {path.stem for path in (ROOT / "docs" / "policies").glob("*.md")} - {
        "README",
        "dstcc",
        "dstcc-lanes",
        "gru-mpc",
    }
    assert set(cards.CARDS) == names
    assert math.isnan(cards._number(None))
