"""Something new is registered in one place: whoever lists, checks or explains such things finds it there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dstcc.report.figures.section import FIGURES, SectionFigure, register

ROOT = Path(__file__).parents[1]
PATCHED = """
import importlib.abc, importlib.machinery, sys

class Patched(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname):
        source = self.get_data(self.path).decode()
        assert source.count({before!r}) == 1
        return compile(source.replace({before!r}, {after!r}), self.path, "exec")

class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != {module!r}:
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
    program = PATCHED.format(module=module, before=before, after=after)
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
    assert "One of mine, dstcc, " in " ".join(dstcc(*row, "train", "--help").stdout.split())


def test_a_figure_that_registers_itself_is_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    figure = SectionFigure(
        "mine", "Mine", "time", lambda *_: "<svg/>", lambda _: "label", lambda _: "caption"
    )
    monkeypatch.setitem(FIGURES, "mine", figure)
    with pytest.raises(ValueError, match="two figures are called mine"):
        register(figure)
    with pytest.raises(ValueError, match="nowhere is none of delivery, time"):
        register(SectionFigure("other", "", "nowhere", figure.draw, figure.label, figure.caption))
