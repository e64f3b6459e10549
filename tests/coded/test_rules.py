"""Rules without a model: their arithmetic, their stored form, and what they refuse."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dstcc.coded.rules import CHOICES, Constant, Margin, Random, Threshold, rule_of
from dstcc.coded.stored import SHIPPED, load_rules, save_rules
from dstcc.errors import InputError

from .missions import mission, seen

MARGIN = {"memory_rtts": 0.5, "kappa": 2.0, "decay": 0.5}
THRESHOLD = {"memory_rtts": 0.5, "above": 0.01, "high": 0.2, "decay": 0.5}


def heard(of: object, packets: float, lost: float) -> object:
    return seen(
        of,  # type: ignore[arg-type]
        heard=np.array([[packets]]),
        lost=np.array([[lost]]),
        sent_s=np.array([[1.0]]),
    )


def test_the_margin_is_the_measured_loss_and_deviations_of_a_block() -> None:
    of, rule = mission(), Margin(MARGIN)
    rule.begin(of)
    keeps = np.exp(-60 / (0.5 * 1200))
    loss = (3 * keeps + 50 + 0.03) / (100 * keeps + 1000 + 1)
    x = loss + 2 * np.sqrt(loss * (1 - loss) / 96)
    decision = rule.decide(heard(of, 1000, 50))  # type: ignore[arg-type]
    assert decision.repair[0] == pytest.approx([x / (1 - x) / 2**m for m in range(3)])


@pytest.mark.parametrize(("kappa", "share"), [(0.0, 0.5 / 0.5), (8.0, 0.65 / 0.35)])
def test_a_margin_is_below_two_thirds_of_all_packets(kappa: float, share: float) -> None:
    """Half of all lost, in blocks of 96: eight deviations are 0.41 more, of which 0.15 count."""
    of, rule = mission(), Margin({**MARGIN, "kappa": kappa})
    base, *more = of.layers
    rule.begin(replace(of, layers=(base, *(replace(one, source=1e9) for one in more))))
    found = rule.share(np.array([0.5]))
    assert found == pytest.approx([share]) and found < 2


def test_the_threshold_itself_is_not_above_it() -> None:
    of, rule = mission(), Threshold(THRESHOLD)
    rule.begin(of)
    assert rule.share(np.array([0.01, 0.0100001])).tolist() == [0.01, 0.2]


def test_a_share_is_never_more_than_two() -> None:
    of, rule = mission(), Threshold({**THRESHOLD, "high": 3.0})
    rule.begin(of)
    decision = rule.decide(heard(of, 1000, 900))  # type: ignore[arg-type]
    assert decision.repair[0] == pytest.approx([2.0, 1.0, 0.5])


def test_the_threshold_is_high_while_the_measured_loss_is_above_it() -> None:
    of, rule = mission(), Threshold(THRESHOLD)
    rule.begin(of)
    assert rule.decide(heard(of, 0, 0)).repair[0] == pytest.approx([0.2, 0.1, 0.05])  # type: ignore[arg-type]
    for _ in range(30):
        decision = rule.decide(heard(of, 300, 0))  # type: ignore[arg-type]
    assert decision.repair[0] == pytest.approx([0.01, 0.005, 0.0025])


def test_silence_leads_back_to_the_prior() -> None:
    of, rule = mission(), Margin(MARGIN)
    rule.begin(of)
    rule.decide(heard(of, 1000, 300))  # type: ignore[arg-type]
    for _ in range(200):
        rule.measured(seen(of))
    assert rule.measured(seen(of)) == pytest.approx([0.03], rel=0.02)


def test_paths_count_by_their_rate() -> None:
    of, rule = mission(rates=(6_000.0, 2_000.0)), Margin(MARGIN)
    rule.begin(of)
    many = seen(of, heard=np.full((1, 2), 1e7), lost=np.array([[0.0, 4e6]]), sent_s=np.ones((1, 2)))
    assert rule.measured(many) == pytest.approx([0.1], rel=1e-3)


def test_random_choice_is_among_the_constants_and_the_same_each_time() -> None:
    of, rule = mission(4), Random()
    drawn = []
    for _ in range(2):
        rule.begin(of)
        drawn.append(np.array([rule.decide(seen(of)).repair for _ in range(100)]))
    assert (drawn[0] == drawn[1]).all()
    assert set(np.unique(drawn[0])) == set(CHOICES)


def test_constants_are_named_by_what_they_are() -> None:
    assert Constant((0.2, 0.1, 0.0)).name == "0.2/0.1/0"
    assert Constant((0.2,), 1, (2,)).name == "0.2 other without 2"


def test_rules_are_stored_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    save_rules(path, [{"kind": "margin", "name": "mine", "parameters": MARGIN}], {"cpu_s": 3})
    (rule,) = load_rules(path)
    assert rule.name == "mine" and isinstance(rule, Margin) and rule.parameters == MARGIN
    assert [one.name for one in load_rules(SHIPPED)] == ["margin", "threshold"]


@pytest.mark.parametrize(
    ("document", "rule"),
    [
        ({"kind": "oracle", "parameters": {}}, "one of margin, threshold"),
        ({"kind": "margin", "parameters": {"memory_rtts": 1, "kappa": 2}}, "decay is amiss"),
        ({"kind": "margin", "parameters": {**MARGIN, "other": 1}}, "other is amiss"),
        ({"kind": "margin", "parameters": {**MARGIN, "kappa": "2"}}, "a finite number"),
        ({"kind": "margin", "parameters": {**MARGIN, "kappa": float("nan")}}, "a finite number"),
        ({"kind": "margin"}, "with parameters"),
    ],
)
def test_what_is_no_rule_is_refused(tmp_path: Path, document: dict[str, object], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        rule_of(document)
    path = tmp_path / "rules.json"
    path.write_text(json.dumps({"schema": 1, "rules": [document]}))
    with pytest.raises(InputError, match=rf"rules\.json: rules\.0: .*{rule}"):
        load_rules(path)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("{", "not JSON"),
        ("[]", "a table with a list"),
        ('{"schema": 1}', "a table with a list"),
        ('{"schema": 2, "rules": []}', "this version reads 1"),
        ('{"schema": 1, "rules": [3]}', "a rule is a table"),
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path: Path, text: str, rule: str) -> None:
    path = tmp_path / "rules.json"
    path.write_text(text)
    with pytest.raises(InputError, match=rule):
        load_rules(path)
    with pytest.raises(InputError, match="No such file"):
        load_rules(tmp_path / "none.json")
