"""No script or module of the project replaces a file of the user's either: exit code 2, a line, nothing lost."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from dstcc.outputs import obstacle
from dstcc.remy.table import load, shipped
from experiments import remy_rules
from experiments.fidelity import __main__ as fidelity
from experiments.fidelity.cells import grid
from experiments.fidelity.kept import KEPT, write_runs
from experiments.fidelity.measure import Seen
from experiments.fidelity.tables import PAGE
from experiments.remy_rules import TABLE
from tests.apart import dstcc

ROOT = Path(__file__).parents[2]
ROW = {"scenario": "s", "delay_rtts": 1.5, "controller": [1], "best_name": "cubic", "bound": [1]}


def script(name: str, *words: object) -> subprocess.CompletedProcess[str]:
    return dstcc(*words, module=name, folder=ROOT, timeout_s=120)


@pytest.mark.parametrize("text", ["mine", "[]x", '{"scenario": 1}', '[{"scenario": "s"}]'])
@pytest.mark.parametrize("force", [(), ("--force",)])
def test_values_of_held_out_missions_replace_nothing_of_the_users(
    tmp_path: Path, text: str, force: tuple[str, ...]
) -> None:
    mine = tmp_path / "mine.json"
    mine.write_text(text)
    done = script("experiments.held_out", "--json", mine, "--tables", "held-out", "--only", "no-such", *force)
    assert done.returncode == 2 and str(mine) in done.stderr, done.stderr
    assert mine.read_text() == text


def test_values_of_held_out_missions_replace_their_own_and_not_what_is_read(tmp_path: Path) -> None:
    ours = tmp_path / "ours.json"
    ours.write_text(json.dumps([ROW]))
    words = ("experiments.held_out", "--json", ours, "--tables", "held-out", "--only", "no-such")
    assert script(*words).returncode == 2
    assert script(*words, "--force").returncode == 0
    assert script(*words, "--force", "--again", ours).returncode == 2
    assert json.loads(ours.read_text()) == [ROW]


def test_a_rule_table_takes_the_place_of_one_and_of_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Quick:
        def __init__(self, *_told: object) -> None:
            pass

        def train(self) -> object:
            return shipped()

    monkeypatch.setattr(remy_rules, "Trainer", Quick)
    mine, table = tmp_path / "mine.json", tmp_path / "table.json"
    mine.write_text('{"rules": [], "trained": {}}')
    for force in ([], ["--force"]):
        with pytest.raises(SystemExit) as ended:
            remy_rules.main(["--output", str(mine), *force])
        assert ended.value.code == 2
        assert capsys.readouterr().err.startswith(f"remy_rules: {mine}: ")
    assert mine.read_text() == '{"rules": [], "trained": {}}'
    remy_rules.main(["--output", str(table)])
    assert load(table) == shipped() and obstacle(table, TABLE) is None
    with pytest.raises(SystemExit):
        remy_rules.main(["--output", str(table)])
    remy_rules.main(["--output", str(table), "--force"])
    with pytest.raises(SystemExit):  # the shipped one, which is there, unless told
        remy_rules.main([])


def test_a_screenshot_takes_the_place_of_one_and_of_nothing_else(tmp_path: Path) -> None:
    report, mine = tmp_path / "report.html", tmp_path / "me.png"
    report.write_text("<p>a report</p>")
    mine.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    for words in ((mine,), (mine, "--force"), (report, "--force")):
        done = script("scripts.screenshot", report, *words)
        assert done.returncode == 2 and done.stderr.startswith(f"screenshot: {words[0]}: "), done.stderr
    assert report.read_text() == "<p>a report</p>" and mine.read_bytes().endswith(b"IHDR")
    # README's may be taken anew
    done = script("scripts.screenshot", tmp_path / "none.html", ROOT / "docs" / "report.png", "--force")
    assert done.returncode == 1 and ("none.html: no such file" in done.stderr or "chromium" in done.stderr)


def test_fidelity_goes_on_with_its_own_files_and_touches_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cell = next(grid())
    for name in ("kernel.csv", "fidelity.md"):
        folder = tmp_path / name.partition(".")[0]
        folder.mkdir()
        (folder / name).write_text("mine\n")
        monkeypatch.setattr("sys.argv", ["fidelity", "-o", str(folder)])
        monkeypatch.setattr(fidelity, "run", lambda *_: pytest.fail("ran before it asked"))
        assert fidelity.main() == 2
        assert capsys.readouterr().err.startswith(f"fidelity: {folder / name}: ")
        assert (folder / name).read_text() == "mine\n"
    csv_file = tmp_path / "kernel.csv"
    write_runs(csv_file, {cell: {1: Seen(1e6, 0.2, 0.0)}}, fidelity._heading())
    write_runs(csv_file, {cell: {1: Seen(2e6, 0.2, 0.0)}}, fidelity._heading())
    assert obstacle(csv_file, KEPT) is None
    page = tmp_path / "fidelity.md"
    page.write_text("**saturated**: throughput, Mbit/s, mean ± standard deviation of the runs\n\n")
    assert obstacle(page, PAGE) is None
