"""``dstcc ladder`` as a user meets it: table, document, files, errors."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from xml.etree import ElementTree

from click.testing import CliRunner, Result
from dstcc_cli.main import main

TEXT = """
[scenario]
name = "tiny"
[video]
synthetic = {chunk_s = 1.0, layer_bps = [20_000, 20_000]}
loop_to_s = 60
[[link]]
name = "ka"
rate_bps = 45_000
delay_s = 2
loss = {states = [{packet = 1e-3, dwell_s = 20}, {packet = 0.2, dwell_s = 20}]}
[transport]
mode = "coded"
handshake = false
congestion = "open-loop"
[coding]
repair = "auto"
block_s = 2
[playout]
delay_rtts = 1.5
[run]
slot_s = 2
seeds = 2
"""


def write(folder: Path, text: str = TEXT) -> Path:
    path = folder / "tiny.toml"
    path.write_text(text)
    return path


def ladder(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["ladder", *map(str, arguments)])


def test_it_prints_a_table_and_leaves_a_folder(tmp_path: Path) -> None:
    result = ladder(write(tmp_path), "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    for said in ("clairvoyant", "planner-law", "best-constant", "random", "more than the best constant"):
        assert said in result.stdout
    assert "values of 8 baselines" in " ".join(result.stderr.split())
    document = json.loads((tmp_path / "out/ladder.json").read_text())
    assert document["argv"] and len(document["ladder"]) == 8
    assert set(document["ladder"][0]["values"]) == {"1", "2"}
    rows = list(csv.DictReader((tmp_path / "out/ladder.csv").read_text().splitlines()))
    assert [row["rung"] for row in rows] == [baseline["rung"] for baseline in document["ladder"]]
    picture = ElementTree.parse(tmp_path / "out/ladder.svg").getroot()
    assert picture.tag.endswith("svg")
    written = [text.text for text in picture.findall(".//{*}text")]
    assert [
        text for text in written if text in {f"{baseline['value']:.4f}" for baseline in document["ladder"]}
    ]
    page = (tmp_path / "out/index.html").read_text()
    assert all(f"<td>{baseline['value']:.4f}</td>" in page for baseline in document["ladder"])


def test_json_is_the_interfaces(tmp_path: Path) -> None:
    rules = tmp_path / "mine.json"
    mine = {"kind": "threshold", "name": "mine"}
    mine["parameters"] = {"memory_rtts": 1, "above": 0.01, "high": 0.3, "decay": 1}  # type: ignore[assignment]
    rules.write_text(json.dumps({"schema": 1, "rules": [mine]}))
    result = ladder(
        write(tmp_path),
        "-o",
        tmp_path / "out",
        "--seeds",
        3,
        "--json",
        "--controller",
        rules,
        "--rules",
        rules,
    )
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    keys = {"scenario", "rung", "name", "clairvoyant", "value", "low", "high", "seeds"}
    assert set(document["ladder"][0]) == keys
    assert {one["seeds"] for one in document["ladder"]} == {3}
    assert [(one["rung"], one["name"]) for one in document["ladder"] if one["name"] == "mine"] == [
        ("controller", "mine"),
        ("tuned-rule", "mine"),
    ]
    assert document["gaps"][0]["scenario"] == "tiny"


def test_what_is_wrong_is_said_before_anything_runs(tmp_path: Path) -> None:
    path = write(tmp_path)
    for arguments, rule in (
        ((path,), "Missing option"),
        ((tmp_path / "none.toml", "-o", tmp_path / "a"), "none.toml"),
        ((path, path, "-o", tmp_path / "a"), "two scenarios are named 'tiny'"),
        ((path, "-o", tmp_path / "a", "--controller", "dstcc-lanes"), "dstcc-lanes"),
        ((path, "-o", path), "is what the command reads"),
    ):
        result = ladder(*arguments)
        assert result.exit_code == 2 and rule in result.stderr, result.output
    assert not (tmp_path / "a").exists()


def test_an_older_ladder_is_replaced_by_force_alone(tmp_path: Path) -> None:
    path = write(tmp_path)
    assert ladder(path, "-o", tmp_path / "out", "--seeds", 1).exit_code == 0
    again = ladder(path, "-o", tmp_path / "out", "--seeds", 1)
    assert again.exit_code == 2 and "--force replaces it" in again.stderr
    assert ladder(path, "-o", tmp_path / "out", "--seeds", 1, "--force").exit_code == 0
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes.txt").write_text("mine")
    kept = ladder(path, "-o", other, "--force")
    assert kept.exit_code == 2 and (other / "notes.txt").read_text() == "mine"
