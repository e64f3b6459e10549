from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from dstcc_cli.main import main

from tests.report.synthetic_run import RunSpec, build_run


@pytest.fixture
def run_path(tmp_path: Path) -> Path:
    return build_run(tmp_path / "run", RunSpec(congestion=("cubic", "bbr-scaled"), chunks=60, seeds=(1, 2)))


def report(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["report", *map(str, arguments)])


@pytest.mark.usefixtures("undrawn")
def test_writes_a_page_and_says_so(run_path: Path, tmp_path: Path) -> None:
    output = tmp_path / "report.html"
    result = report(run_path, "-o", output)
    assert result.exit_code == 0
    assert result.stderr == ""
    assert "delivered" in result.stdout
    assert output.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("name", "options", "start"),
    [
        ("r.md", [], "# "),
        ("r.csv", [], "scenario,"),
        ("r.json", [], "{"),
        ("r", [], "<!doctype"),
        ("r.html", ["--format", "csv"], "scenario,"),
    ],
)
@pytest.mark.usefixtures("undrawn")
def test_the_ending_or_the_option_chooses_the_format(
    run_path: Path, tmp_path: Path, name: str, options: list[str], start: str
) -> None:
    assert report(run_path, "-o", tmp_path / name, *options).exit_code == 0
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)


@pytest.mark.parametrize(("form", "start"), [("md", "# "), ("csv", "scenario,"), ("json", "{")])
def test_a_dash_is_stdout(run_path: Path, form: str, start: str) -> None:
    result = report(run_path, "-o", "-", "--format", form)
    assert result.exit_code == 0
    assert result.stdout.startswith(start)


@pytest.mark.usefixtures("undrawn")
def test_json_is_one_document_on_stdout(run_path: Path, tmp_path: Path) -> None:
    output = tmp_path / "report.html"
    document = json.loads(report(run_path, "-o", output, "--json").stdout)
    assert document["report"] == str(output)
    assert document["bytes"] == output.stat().st_size
    assert len(document["sections"][0]["rows"]) == 2


def test_json_and_stdout_cannot_share(run_path: Path) -> None:
    result = report(run_path, "-o", "-", "--json")
    assert result.exit_code == 2
    assert "--json" in result.stderr


@pytest.mark.usefixtures("undrawn")
def test_an_existing_file_needs_force(run_path: Path, tmp_path: Path) -> None:
    output = tmp_path / "notes.md"
    output.write_text("mine")
    result = report(run_path, "-o", output)
    assert result.exit_code == 2
    assert "--force" in result.stderr
    assert output.read_text() == "mine"
    assert report(run_path, "-o", output, "--force").exit_code == 2
    assert output.read_text() == "mine"
    output.unlink()
    assert report(run_path, "-o", output).exit_code == 0
    for form, start in (("html", "<!doctype"), ("csv", "scenario,"), ("json", "{"), ("md", "# ")):
        assert report(run_path, "-o", output, "--force", "--format", form).exit_code == 0
        assert output.read_text(encoding="utf-8").startswith(start)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing", "-o", "r.html"], "missing"),
        (["-o", "r.html"], "RUN"),
        (["missing", "-o", "no/such/folder/r.html"], "does not exist"),
        (["missing", "-o", ".", "--force"], "is a folder"),
    ],
)
def test_bad_input_is_exit_2_and_named(arguments: list[str], said: str) -> None:
    result = report(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def test_a_damaged_run_names_the_file(run_path: Path, tmp_path: Path) -> None:
    (run_path / "chunks.parquet").write_bytes(b"PAR1 no more")
    result = report(run_path, "-o", tmp_path / "r.html")
    assert result.exit_code == 2
    assert "chunks.parquet" in result.stderr
    assert not (tmp_path / "r.html").exists()


def test_several_scenarios_are_also_said_together(run_path: Path, tmp_path: Path) -> None:
    spec = RunSpec(congestion=("cubic", "bbr-scaled"), chunks=60, seeds=(1, 2), sha="beef" * 16, name="other")
    result = report(run_path, build_run(tmp_path / "other", spec), "-o", tmp_path / "r.md")
    assert "All 2 scenarios: bbr-scaled+minrtt delivered" in " ".join(result.stdout.split())


def test_runs_that_cannot_be_compared_are_exit_2_and_named(run_path: Path, tmp_path: Path) -> None:
    other = build_run(tmp_path / "other", RunSpec(congestion=("westwood",), chunks=60, seeds=(8, 9)))
    for runs, said in (
        ((run_path, other), "westwood+minrtt was run with seeds 8, 9"),
        ((run_path, run_path.parent / "other" / ".." / "run"), "given twice"),
    ):
        result = report(*runs, "-o", tmp_path / "r.md")
        assert result.exit_code == 2
        assert said in " ".join(result.stderr.split())
        assert not (tmp_path / "r.md").exists()


def test_a_run_of_another_schema_is_exit_2(run_path: Path, tmp_path: Path) -> None:
    meta = json.loads((run_path / "run.json").read_text())
    (run_path / "run.json").write_text(json.dumps(meta | {"schema": 2}))
    result = report(run_path, "-o", tmp_path / "r.md")
    assert result.exit_code == 2
    assert "schema 2, but this version reads 1" in " ".join(result.stderr.split())


@pytest.mark.usefixtures("undrawn")
def test_a_real_run_can_be_reported(tmp_path: Path) -> None:
    scenario = tmp_path / "short.toml"
    scenario.write_text(
        """
        [scenario]
        name = "short"
        [video]
        synthetic = {chunk_s = 1.0, layer_bps = [40_000, 30_000]}
        loop_to_s = 20
        [[link]]
        name = "a"
        rate_bps = 100_000
        delay_s = 1
        [[link]]
        name = "b"
        rate_bps = 50_000
        delay_s = [[0, 2], [20, 3]]
        loss = {packet = 0.01}
        [transport]
        congestion = ["cubic", "open-loop"]
        [playout]
        delay_s = 30
        [run]
        seeds = 2
        """
    )
    run = tmp_path / "run"
    assert CliRunner().invoke(main, ["emulate", str(scenario), "-o", str(run)]).exit_code == 0
    output = tmp_path / "report.html"
    document = json.loads(report(run, "-o", output, "--json").stdout)
    (section,) = document["sections"]
    assert [row["algorithm"] for row in section["rows"]] == ["cubic+minrtt", "open-loop+minrtt"]
    assert section["failed"] == []
    assert section["seeds"] == [1, 2]
    page = output.read_text(encoding="utf-8")
    assert "4–6" in page  # the RTT of the link whose delay moves: twice 2 s to 3 s


@pytest.mark.parametrize("ending", ["md", pytest.param("html", marks=pytest.mark.slow)])
def test_another_process_writes_the_same_bytes(run_path: Path, tmp_path: Path, ending: str) -> None:
    """Another seed of Python's string hashes, which order sets, than this one's: 0 has none."""
    own, others = (tmp_path / f"{name}.{ending}" for name in ("own", "others"))
    assert report(run_path, "-o", own).exit_code == 0
    command = [sys.executable, "-m", "dstcc_cli", "report", str(run_path), "-o", str(others)]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": "0"}, timeout=120)
    assert own.read_bytes() == others.read_bytes()


@pytest.mark.parametrize("name", ["r.jpg", "r.txt", "r.HTML.gz"])
def test_an_ending_that_no_report_has_is_refused(run_path: Path, tmp_path: Path, name: str) -> None:
    done = report(run_path, "-o", tmp_path / name)
    assert done.exit_code == 2
    assert f"no report has the ending {Path(name).suffix}; one of .html, .md, .csv, .json" in done.stderr
    assert not (tmp_path / name).exists()
    assert report(run_path, "-o", tmp_path / name, "--format", "md").exit_code == 0
