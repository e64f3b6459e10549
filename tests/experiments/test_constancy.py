"""``experiments/constancy.py``: what counts as the same choice, and that decisions are those of `dstcc explain`."""

from __future__ import annotations

from pathlib import Path

import pytest

from dstcc.algorithms import CONTROLLERS, OWN
from dstcc.explain import explain
from dstcc.run import write_run
from dstcc.run.directory import load_run
from dstcc.scenario import load_scenario, load_source, parse_override
from experiments import cards, constancy
from experiments.constancy import Trials, rounded

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("words", "same"),
    [
        ("×1.02", "×1.00"),
        ("×1.03", "×1.05"),
        ("×2", "×2.00"),
        ("×1 +10", "×1 +10"),
        ("subflow 1", "subflow 1"),
    ],
)
def test_factors_are_alike_within_a_twentieth(words: str, same: str) -> None:
    assert rounded(words) == same


def test_shares_of_a_trial() -> None:
    """Three of five are a; a a repeats once, b b once, of four."""
    a, b = (("window", "a"),), (("window", "b"),)
    assert Trials([[a, a, b, b, a]]).shares() == [[5, 0.6, 0.5, 2]]


def test_decisions_are_those_that_explain_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    short = ("video.loop_to_s=600", "playout.delay_rtts=2")
    monkeypatch.setitem(constancy.DRIVEN, "iodst-q", (cards.TABLE_1, short))
    (choices,) = constancy.driven("iodst-q", 1).trials
    overrides = [*short, 'transport.controller=["iodst-q"]', "transport.congestion=[]", "run.seeds=1"]
    scenario = load_scenario(cards.TABLE_1, [parse_override(text) for text in overrides])
    write_run(tmp_path / "run", scenario, load_source(scenario), argv=[])
    shown = explain(load_run(tmp_path / "run"), "iodst-q/s1")
    assert choices == [constancy.choice_of(decision) for decision in shown.decisions] and len(choices) > 5


def test_every_learned_policy_has_a_scenario() -> None:
    assert set(constancy.DRIVEN) == set(CONTROLLERS) - {OWN}  # whose learned part is gru-mpc
