"""``dstcc reproduce`` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner
from dstcc_cli.main import main


def invoke(*arguments: str):
    return CliRunner(env={"COLUMNS": "80"}).invoke(main, ["reproduce", *arguments])


def test_one_document(tmp_path: Path) -> None:
    made = invoke("iodst", "--figure", "table 1", "--quick", "-o", str(tmp_path / "out"), "--json")
    assert made.exit_code == 0
    document = json.loads(made.stdout)
    assert document["paper"] == "iodst"
    assert document["rows"][0]["published"] == 8.5
    again = invoke("iodst", "--figure", "table 1", "--quick", "-o", str(tmp_path / "out"))
    assert "1 of 1 cells are in" in again.stderr
    assert "link 1, shortest round trip" in again.stdout
    table = again.stdout.partition("page: ")[0].splitlines()
    assert len(table) > 5 and max(map(len, table)) <= 80
    assert "index.html" in again.stdout


def test_unknown_papers_and_figures(tmp_path: Path) -> None:
    for arguments, said in (
        (("iodts",), "paper iodts: not known; did you mean iodst?"),
        (("iodst", "--figure", "9"), "--figure 9: iodst has table 1 (Settings of the two links), 3 ("),
    ):
        failed = invoke(*arguments, "-o", str(tmp_path / "out"))
        assert failed.exit_code == 2
        assert said in failed.stderr
        assert not (tmp_path / "out").exists()


def test_a_paper_that_is_not_built_is_refused(tmp_path: Path, monkeypatch) -> None:
    from dstcc.papers import places

    monkeypatch.setattr(places, "FOLDERS", (tmp_path / "none",))
    failed = invoke("pbq", "-o", str(tmp_path / "out"))
    assert "paper pbq: this version of dstcc cannot reproduce it; there is none (in " in failed.stderr
