"""A ladder on disk, file by file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dstcc.errors import DstccError
from dstcc.ladder.baselines import Baseline, Ladder
from dstcc.ladder.written import _no_ladder, document, write_ladder
from dstcc.version import __version__

LADDER = Ladder(
    (
        Baseline("Übung", "planner-law", "law", {1: 0.75, 2: 0.75}),
        Baseline("Übung", "best-constant", "0.1", {1: 0.5, 2: 0.5}),
    )
)
ROWS = [
    {
        "scenario": "Übung",
        "rung": "planner-law",
        "name": "law",
        "clairvoyant": False,
        **dict.fromkeys(("value", "low", "high"), 0.75),
        "seeds": 2,
    },
    {
        "scenario": "Übung",
        "rung": "best-constant",
        "name": "0.1",
        "clairvoyant": False,
        **dict.fromkeys(("value", "low", "high"), 0.5),
        "seeds": 2,
    },
]
NONE = dict.fromkeys(("value", "low", "high"))
GAP = {
    "scenario": "Übung",
    **dict.fromkeys(("value", "low", "high"), 0.25),
    "teaches": True,
    "clairvoyant": False,
    **dict.fromkeys(("planner_belief", "tuned_rule", "controller"), NONE),
}


@pytest.mark.usefixtures("undrawn")
def test_each_file_has_all_of_it(tmp_path: Path) -> None:
    assert document(LADDER) == {"ladder": ROWS, "gaps": [GAP]}
    write_ladder(tmp_path / "out", LADDER, ["dstcc", "ladder", "a.toml"], force=False)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        *("ladder.json", "ladder.csv", "ladder.svg", "index.html")
    }
    values = [{**row, "values": {"1": row["value"], "2": row["value"]}} for row in ROWS]
    whole = {"dstcc": __version__, "argv": ["dstcc", "ladder", "a.toml"], "ladder": values, "gaps": [GAP]}
    text = (tmp_path / "out/ladder.json").read_text()
    assert json.loads(text) == whole and '\n  "argv": [\n    "dstcc",\n' in text and text.endswith("}\n")
    assert '"scenario": "Übung"' in text
    assert (tmp_path / "out/ladder.csv").read_text().splitlines() == [
        "scenario,rung,name,clairvoyant,value,low,high,seeds",
        "Übung,planner-law,law,False,0.75,0.75,0.75,2",
        "Übung,best-constant,0.1,False,0.5,0.5,0.5,2",
    ]
    assert "planner-law plays +0.2500 [+0.2500, +0.2500] more than the best constant" in (
        (tmp_path / "out/index.html").read_text()
    )
    with pytest.raises(DstccError, match="already exists"):
        write_ladder(tmp_path / "out", LADDER, ["dstcc"], force=False)
    write_ladder(tmp_path / "out", LADDER, ["dstcc", "again"], force=True)
    assert json.loads((tmp_path / "out/ladder.json").read_text())["argv"] == ["dstcc", "again"]


def test_what_is_no_ladder_says_why(tmp_path: Path) -> None:
    assert _no_ladder(tmp_path) == "has no ladder.json"
    for text, why in (
        ("{", "has a ladder.json that is no JSON"),
        ("[]", "has a ladder.json of another kind"),
        ("{}", "has a ladder.json of another kind"),
        ('["ladder"]', "has a ladder.json of another kind"),
        ('{"ladder": []}', None),
    ):
        (tmp_path / "ladder.json").write_text(text)
        assert _no_ladder(tmp_path) == why
    (tmp_path / "thesis.tex").write_text("mine")
    assert _no_ladder(tmp_path) == "holds thesis.tex"
