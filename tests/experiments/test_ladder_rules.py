"""Rules tuned by Optuna: what is searched, spent, kept and refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dstcc.coded.fleet import Fleet
from dstcc.coded.rules import RULES
from dstcc.coded.stored import load_rules
from dstcc.errors import InputError
from experiments.ladder_rules import main, trained_on, tuned
from tests.coded.missions import short, write

pytest.importorskip("optuna")
pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_best_of_its_trials_is_kept_and_the_same_seed_finds_the_same(tmp_path: Path) -> None:
    fleets = [Fleet(short(tmp_path), (7,))]
    said: list[str] = []
    one = tuned("threshold", fleets, 4, say=said.append)
    assert one["trials"] == 4 == len(said)
    rule = RULES["threshold"](one["parameters"])
    assert float(fleets[0].run(rule).mean()) == pytest.approx(one["value"])
    assert tuned("threshold", fleets, 4) == one


def test_a_search_goes_on_where_it_was_and_a_study_of_something_else_is_refused(tmp_path: Path) -> None:
    study, fleets = tmp_path / "study.db", [Fleet(short(tmp_path), (7,))]
    first = tuned("margin", fleets, 2, study_file=study)
    more = tuned("margin", fleets, 3, study_file=study)
    assert more["trials"] == 3 and more["value"] >= first["value"]
    for others in (
        [Fleet(short(tmp_path, "playout.delay_rtts=1.3"), (7,))],
        [Fleet(short(tmp_path), (8,))],
        fleets * 2,
    ):
        with pytest.raises(InputError, match="an Optuna study of other scenarios"):
            tuned("margin", others, 3, study_file=study)


def test_the_file_says_what_was_searched_and_spent(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    assert main([str(write(tmp_path)), "-o", str(path), "--trials", "1"]) == 0
    document = json.loads(path.read_text())
    assert document["trained_on"] == trained_on([Fleet(short(tmp_path), (901, 902, 903, 904))])
    assert {"cpu_s", "wall_s", "optuna_seed", "rules", "schema"} <= set(document)
    assert [rule.name for rule in load_rules(path)] == ["margin", "threshold"]
    assert main([str(tmp_path / "none.toml"), "-o", str(path)]) == 2
