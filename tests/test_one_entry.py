"""Something new is registered in one place: whoever lists, checks or explains such things finds it there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from dstcc.report.figures.section import FIGURES, SectionFigure, register

ROOT = Path(__file__).parents[1]
PATCHED = """
import importlib.abc, importlib.machinery, sys

changes = {changes!r}

class Patched(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname):
        source = self.get_data(self.path).decode()
        for before, after in changes[fullname]:
            assert source.count(before) == 1, before
            source = source.replace(before, after)
        return compile(source, self.path, "exec")

class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name not in changes:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        spec.loader = Patched(name, spec.origin)
        return spec

sys.meta_path.insert(0, Finder())
from dstcc_cli.main import main
main(sys.argv[1:])
"""


def dstcc(module: str, before: str, after: str, *words: str) -> subprocess.CompletedProcess[str]:
    """The command where a module has one entry more."""
    return changed({module: [(before, after)]}, *words)


def changed(changes: dict[str, list[tuple[str, str]]], *words: str) -> subprocess.CompletedProcess[str]:
    """The command where modules have other text."""
    program = PATCHED.format(changes=changes)
    return subprocess.run(
        [sys.executable, "-c", program, *words], cwd=ROOT, text=True, capture_output=True, check=False
    )


CONTROL = (
    "dstcc.algorithms",
    "\nTABLE = (\n",
    '\nTABLE = (\n    Algorithm("mine", "congestion", "built-in", "here", needs=("paths",), knows=("rates",)),\n',
)
SCHEDULER = (
    "dstcc.algorithms",
    "\nTABLE = (\n",
    '\nTABLE = (\n    Algorithm("mine", "scheduler", "reconstruction", "here", knows=("queue",), copies="all"),\n',
)


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """Two links, two layers."""
    link = '[[link]]\nname = "{}"\nrate_bps = 1e6\ndelay_s = 5\n'
    video = "[video]\nsynthetic = {chunk_s = 1, layer_bps = [4e4, 3e4]}\nloop_to_s = 10\n"
    path = tmp_path / "scenario.toml"
    path.write_text('[scenario]\nname = "a"\n' + video + link.format("one") + link.format("two"))
    return path


def test_a_control_is_listed_checked_and_known_by_its_row(scenario: Path) -> None:
    rows = json.loads(dstcc(*CONTROL, "algorithms", "--json").stdout)
    assert rows[0] == {
        "name": "mine",
        "kind": "congestion",
        "state": "built-in",
        "source": "here",
        "backends": ["simulator"],
    }
    words = ("emulate", str(scenario), "--dry-run", "--json", "--congestion")
    (one,) = json.loads(dstcc(*CONTROL, *words, "mine").stdout)["algorithms"]
    assert (one["name"], one["knows"]) == ("mine+minrtt", ["rates", "deadlines"])
    hint = dstcc(*CONTROL, *words, "mini")
    assert hint.returncode == 2
    assert "no such congestion control in this version (mine, fixed, " in hint.stderr
    assert "did you mean 'mine'?" in hint.stderr
    lone = dstcc(*CONTROL, *words, "mine", "--set", "link.1=")
    assert lone.returncode == 2
    assert "it weighs one path against another" in lone.stderr


def test_a_scheduler_likewise(scenario: Path) -> None:
    listed = {row["name"]: row for row in json.loads(dstcc(*SCHEDULER, "algorithms", "--json").stdout)}
    assert (listed["mine"]["kind"], listed["mine"]["state"]) == ("scheduler", "reconstruction")
    words = ("emulate", str(scenario), "--dry-run", "--json", "--scheduler", "mine")
    (one,) = json.loads(dstcc(*SCHEDULER, *words).stdout)["algorithms"]
    assert (one["name"], one["copies"]) == ("cubic+mine", "all")
    assert one["knows"] == ["queue", "deadlines"]


def test_a_codec_is_offered_and_explained_by_its_row() -> None:
    row = (
        "dstcc.codecs",
        "\nTABLE = (\n",
        '\nTABLE = (\n    CodecRow("mine", "dstcc_svc.codecs.x264:X264", "temporal", 20, "0..51"),\n',
    )
    said = " ".join(dstcc(*row, "encode", "--help").stdout.split())
    assert "[mine|x264|" in said
    assert "temporal: mine (default), x264, x264-program" in said
    assert "mine 20, x264 28" in said


def test_a_controllers_row_is_in_the_help_of_train() -> None:
    row = (
        "dstcc.algorithms",
        "\nCONTROLLERS = {\n    row.name: row\n    for row in (\n",
        "\nCONTROLLERS = {\n    row.name: row\n    for row in (\n"
        '        Algorithm("mine", "controller", "learned", "here"),\n',
    )
    assert "One of mine, dstcc-lanes, " in " ".join(dstcc(*row, "train", "--help").stdout.split())


METRIC = {
    "dstcc.metrics": [
        ("\nMETRICS = (\n", '\nMETRICS = (\n    "chunks",\n'),
        ("    values |= {\n", '    values |= {\n        "chunks": float(len(playback.levels)),\n'),
    ],
    "dstcc.report.catalogue": [
        (
            "\nMETRICS = (\n",
            '\nMETRICS = (\n    Metric("chunks", "Chunks sent", "count", +1, "What Earth saw", "How many."),\n',
        )
    ],
}
"""A metric's name and value, and the report's row of it."""


def test_a_metric_is_in_runs_bounds_and_reports_by_its_name_and_value(scenario: Path, tmp_path: Path) -> None:
    run, page = tmp_path / "run", tmp_path / "report.md"
    bound = ("--set", "expect.cubic+minrtt.chunks='>= 10'")
    done = changed(METRIC, "emulate", str(scenario), "--json", *bound, "-o", str(run))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["trials"][0]["metrics"]["chunks"] == 10
    assert "chunks" in pq.read_schema(run / "trials.parquet").names
    wrong = changed(
        METRIC, "emulate", str(scenario), "--dry-run", "--set", "expect.cubic+minrtt.chunk='>= 1'"
    )
    assert wrong.returncode == 2 and "did you mean 'chunks'?" in wrong.stderr
    assert changed(METRIC, "report", str(run), "-o", str(page)).returncode == 0
    assert "Chunks sent" in page.read_text()


LOSS = {
    "dstcc.scenario.losses": [
        (
            "    gilbert_elliott: GilbertElliott | None = None\n",
            "    gilbert_elliott: GilbertElliott | None = None\n    mine: DrawableProbability | None = None\n",
        ),
        (
            "\nKINDS = {\n",
            "\nKINDS = {\n"
            '    "mine": LossKind(\n'
            '        "periodic", lambda model, draw: Loss("periodic", rate=draw.number("mine", model.mine))\n'
            "    ),\n",
        ),
    ]
}
"""The engine's textbook process, which no scenario has by itself."""


def test_a_loss_kind_is_a_key_of_scenarios_and_of_profiles_by_its_row(scenario: Path, tmp_path: Path) -> None:
    words = ("emulate", str(scenario), "--json")
    run = tmp_path / "run"
    done = changed(LOSS, *words, "--set", "link.0.loss={mine = 0.1}", "-o", str(run))
    assert done.returncode == 0, done.stderr
    assert json.loads((run / "run.json").read_text())["links"][0]["loss"] == {"mine": 0.1}
    refused = changed(LOSS, *words, "--dry-run", "--set", "link.0.loss={}")
    assert refused.returncode == 2 and "needs exactly one of mine, packet, " in refused.stderr
    profile = tmp_path / "here.toml"
    head = 'summary = "a link"\nreferences = ["none"]\n'
    profile.write_text(head + "[link]\nrate_bps = 1e6\ndelay_s = 5\nloss = {mine = 0.1}\n")
    shown = changed(LOSS, "links", str(profile))
    assert shown.returncode == 0, shown.stderr
    assert "mine" in shown.stdout
    assert "link.loss.mine: unknown key" in changed({}, "links", str(profile)).stderr


def test_a_figure_that_registers_itself_is_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    figure = SectionFigure(
        "mine",
        "Mine",
        "time",
        lambda *_, **__: "<svg/>",
        lambda _: "label",
        lambda _: "caption",
        lambda *_: iter([("x",)]),
    )
    monkeypatch.setitem(FIGURES, "mine", figure)
    with pytest.raises(ValueError, match="two figures are called mine"):
        register(figure)
    with pytest.raises(ValueError, match="nowhere is none of delivery, time"):
        register(
            SectionFigure("other", "", "nowhere", figure.draw, figure.label, figure.caption, figure.rows)
        )
