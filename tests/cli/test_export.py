"""``dstcc export`` and ``dstcc links``: what they ask, and what they say of files."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result
from dstcc_cli import export, links
from dstcc_cli.main import main


def call(*words: object) -> Result:
    return CliRunner().invoke(main, list(map(str, words)), env={"COLUMNS": "120"})


@pytest.mark.parametrize(
    ("trials", "files", "said"),
    [
        (("a",), ("x", "y"), "out: qlog of 1 trial, 2 files\n"),
        (("a", "b"), ("x",), "out: qlog of 2 trials, 1 file\n"),
        ((), (), "out: qlog of 0 trials, 0 files\n"),
    ],
)
def test_an_export_is_counted(
    monkeypatch: pytest.MonkeyPatch, trials: tuple[str, ...], files: tuple[str, ...], said: str
) -> None:
    from contextlib import contextmanager

    import dstcc.export
    from dstcc import run as runs

    seen: list[Any] = []

    @contextmanager
    def bar(_what: str, total: float | None) -> Any:
        seen.append(total)
        yield lambda: seen.append(1)

    def write(run: Any, output: Path, form: str, **how: Any) -> Any:
        how.pop("advance")()
        seen.append((output, form, how))
        return SimpleNamespace(trials=trials, files=files, document=lambda: {"files": list(files)})

    monkeypatch.setattr(runs, "load_run", lambda path: SimpleNamespace(trials=[1, 2, 3]))
    monkeypatch.setattr(dstcc.export, "export_run", write)
    monkeypatch.setattr(export, "progress", bar)
    assert call("export", "run", "--format", "qlog", "-o", "out").stdout == said
    assert seen == [3, 1, (Path("out"), "qlog", {"trials": (), "version": None, "force": False})]
    seen.clear()
    words = ("--trial", "a", "--trial", "b", "--qlog-version", "0.4", "--force", "--json")
    done = call("export", "run", "--format", "qlog", "-o", "out", *words)
    assert json.loads(done.stdout) == {"files": list(files)}
    assert seen[0] == 2 and seen[2][2]["trials"] == ("a", "b") and seen[2][2]["force"] is True
    assert seen[2][2]["version"] == "0.4"
    seen.clear()
    call("export", "run", "--format", "csv", "-o", "out")
    assert seen[0] is None, "tables are not counted by trials"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """What links are asked of a profile or a code."""
    from dstcc_channels import describe, netem, plots, timeline, trace

    seen: list[Any] = []
    monkeypatch.chdir(tmp_path)
    document = SimpleNamespace(notes=("mind this",), document={"a": 1}, lines=(("label", "text"),))

    def note(name: str, made: Any = None) -> Any:
        def take(*given: Any, **how: Any) -> Any:
            seen.append((name, *given[1:], how) if name != "describe_code" else (name, *given, how))
            return made

        return take

    line = SimpleNamespace(notes=("clamped",))
    for module, name, made in (
        (describe, "describe_profile", document),
        (describe, "describe_code", document),
        (plots, "plot_profile", None),
        (plots, "plot_code", None),
        (timeline, "timeline", line),
        (netem, "netem_rows", ["rows"]),
        (netem, "write_netem", None),
        (trace, "write_trace", None),
    ):
        monkeypatch.setattr(module, name, note(name, made))
    return seen


DATE = datetime(2026, 11, 21, tzinfo=UTC)


def test_what_is_asked_of_a_profile(asked: list[Any]) -> None:
    done = call("links", "lab", "--date", "2026-11-21")
    assert [line.split() for line in done.stdout.splitlines() if line.strip()] == [["label", "text"]]
    assert done.stderr == "warning: mind this\n"
    assert asked == [("describe_profile", DATE, {"elevation_deg": None, "packet_bytes": 1500, "up": False})]
    asked.clear()
    words = (
        "--elevation",
        20,
        "--bytes",
        40,
        "--up",
        "--plot",
        "p.svg",
        "--netem",
        "n.csv",
        "--trace",
        "t.csv",
    )
    more = ("--scale", 4, "--duration", 7200, "--step", 60, "--seed", 9, "--json")
    done = call("links", "lab", "--date", "2026-11-21", *words, *more)
    assert json.loads(done.stdout) == {"a": 1}
    assert done.stderr.splitlines() == [
        "wrote p.svg",
        "wrote n.csv",
        "wrote t.csv",
        "warning: clamped",
        "warning: mind this",
    ]
    meta = {"profile": "lab", "direction": "up", "start": "2026-11-21T00:00:00Z", "duration_s": 7200.0}
    meta |= {"packet_bytes": 40, "seed": 9}
    assert asked == [
        ("describe_profile", DATE, {"elevation_deg": 20.0, "packet_bytes": 40, "up": True}),
        ("plot_profile", DATE, Path("p.svg"), {"force": False}),
        ("timeline", DATE, 7200.0, 60.0, 9, {"packet_bytes": 40, "up": True}),
        ("netem_rows", 40, 4.0, {}),
        ("write_netem", Path("n.csv"), meta | {"scale": 4.0, "duration_s": 1800.0}, {"force": False}),
        ("write_trace", Path("t.csv"), meta, 9, 40, {"force": False}),
    ]


def test_what_is_asked_of_a_code(asked: list[Any]) -> None:
    done = call("links", "--code", "uncoded", "--ebn0", 3, "--bytes", 40, "--plot", "p.svg", "--json")
    assert json.loads(done.stdout) == {"a": 1}
    assert done.stderr.splitlines() == ["wrote p.svg", "warning: mind this"]
    assert asked == [
        ("plot_code", Path("p.svg"), 40, {"force": False}),
        ("describe_code", "uncoded", 3.0, 40, {}),
    ]
    asked.clear()
    assert call("links", "--code", "uncoded", "--plot", "p.svg").stdout == ""
    assert [one[0] for one in asked] == ["plot_code"] and asked[0][2] == 1500
    assert links.DAY_S == 86_400.0
