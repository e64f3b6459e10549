"""Little memory, full disks, odd terminals, signals: one line that says why, no traceback, no hang.

Some tables with values that are no numbers are in `make test`, all in `make test-slow`.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from dstcc_cli.main import main

from tests.apart import dstcc as apart
from tests.quick import QUICK
from tests.undrawn import leave_undrawn

DSTCC = (sys.executable, "-m", "dstcc_cli")
ENDS = ("--set", "link.0.source=2", "--set", "link.0.destination=1")
"""Between which a contact plan has contacts."""
VALUES = (float("nan"), float("inf"), -float("inf"), 1e308)


def dstcc(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "s.toml"
    path.write_text(QUICK)
    return path


@pytest.fixture
def run(scenario: Path) -> Path:
    assert dstcc("emulate", scenario, "-o", "run").exit_code == 0
    return scenario.with_name("run")


def test_a_callers_threads_are_no_reason_to_end_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    over = threading.Event()
    other = threading.Thread(target=over.wait, name="dstcc-trial_0")
    other.start()
    try:
        assert dstcc("emulate", "nothing.toml").exit_code == 2
    finally:
        over.set()
        other.join()
    assert ended == []


@pytest.mark.parametrize("parts", [65, 600, 60_000])
def test_a_key_of_many_parts(parts: int, scenario: Path) -> None:
    """Deeper than any document of ours; Python calls itself a thousand times at most."""
    key = ".".join("a" * parts)
    override = dstcc("emulate", scenario, "--dry-run", "--set", f"{key}=1")
    assert override.exit_code == 2, override.output
    scenario.write_text(f"{QUICK}\n[{key}]\nb = 1\n")
    in_file = dstcc("emulate", scenario, "--dry-run")
    assert in_file.exit_code == 2, in_file.output
    study = scenario.with_name("study.toml")
    scenario.write_text(QUICK)
    study.write_text(f'[study]\nscenario = "s.toml"\n[vary]\n{key} = [1, 2]\n')
    axis = dstcc("sweep", study, "-o", "out", "--dry-run")
    assert axis.exit_code == 2, axis.output
    for said in (override, in_file, axis):
        assert len(said.stderr) < 2000


@pytest.mark.parametrize("odd", ["pipe", "/dev/zero", "folder"])
@pytest.mark.parametrize(
    "words",
    [
        ("--set", "video.input=ODD", "--set", "video.synthetic="),
        ("--set", "video.stream=ODD", "--set", "video.synthetic="),
        ("--set", "link.0.contacts=ODD", *ENDS),
        ("--set", "link.0.profile=ODD"),
        ("--set", "transport.controller=ODD"),
        ("--set", "coding.repair=ODD.json", "--congestion", "ltp"),
    ],
)
def test_a_path_that_is_no_file_holds_nothing_up(words: tuple[str, ...], odd: str, scenario: Path) -> None:
    """In a process of its own, which may take a minute."""
    name = odd
    if odd == "pipe":
        os.mkfifo("pipe")
        os.mkfifo("pipe.json")
    elif odd == "folder":
        Path("folder").mkdir()
        Path("folder.json").mkdir()
    else:
        Path("zero.json").symlink_to("/dev/zero")
        name = "zero" if "ODD.json" in words[1] else odd
    done = apart(
        "emulate", "s.toml", "--dry-run", *(word.replace("ODD", name) for word in words), timeout_s=60
    )
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param(name, value, marks=() if name == "trials" or value is VALUES[0] else pytest.mark.slow)
        for name in ("samples", "chunks", "trials")
        for value in VALUES
    ],
)
def test_a_value_that_is_no_number_is_named_or_left_out(
    name: str, value: float, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In some columns of floating-point numbers, other ones for each value, one after the other."""
    if name == "trials":  # of what is in there, figures show less than tables
        leave_undrawn(monkeypatch)
    path = run / f"{name}.parquet"
    whole = pq.read_table(path)
    floats = [index for index, field in enumerate(whole.schema) if pa.types.is_floating(field.type)]
    for index in floats[VALUES.index(value) :: len(VALUES)]:
        field = whole.schema.field(index)
        column = pc.if_else(pa.array([True] + [False] * (len(whole) - 1)), value, whole.column(index))
        pq.write_table(whole.set_column(index, field, column.cast(field.type)), path)
        done = dstcc("report", run, "-o", "page.html", "--force")
        assert done.exit_code in (0, 2), (field.name, done.output, done.exception)
        assert done.exit_code == 0 or path.name in done.stderr
    pq.write_table(whole, path)


@pytest.mark.parametrize("variable", ["COLUMNS", "LINES"])
@pytest.mark.parametrize("value", ["0", "-1", "1", "x", "10001", "٣"])
def test_a_terminal_of_no_size(
    variable: str, value: str, scenario: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    done = dstcc("emulate", scenario, "--dry-run")
    assert done.exit_code == 0, done.exception
    assert "quick" in done.stdout.replace("\n", "")


@pytest.mark.parametrize("megabytes", [300, 500, 1023])
def test_little_memory_is_said(megabytes: int, run: Path) -> None:
    """Also where a library would end the process (Arrow at some 500 MB), or fail with an error of any kind."""
    for words in (("emulate", "s.toml", "-o", "out"), ("report", "run", "-o", "page.html"), ("links",)):
        done = subprocess.run(
            [*DSTCC, *words], preexec_fn=_limit(megabytes), capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (1, "")
        assert (
            done.stderr
            == f"dstcc: `ulimit -v` leaves {megabytes} MB of memory: a command needs 1024 at least\n"
        )
    assert not run.with_name("out").exists()


@pytest.mark.parametrize("words", [("emulate", "s.toml", "-o", "out"), ("report", "run", "-o", "page.md")])
def test_a_limit_on_memory_is_no_refusal_where_it_is_enough(words: tuple[str, ...], run: Path) -> None:
    done = subprocess.run(
        [*DSTCC, *words], preexec_fn=_limit(8192), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_with_too_little_stack_it_does_not_start(tmp_path: Path) -> None:
    """In 128 kB a run's record, nested 980 deep, ended the process by SIGSEGV."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("[" * 980 + "]" * 980)
    said = {}
    for stack in (128 << 10, 512 << 10):
        done = subprocess.run(
            [*DSTCC, "report", tmp_path / "run", "-o", tmp_path / "page.html"],
            preexec_fn=partial(resource.setrlimit, resource.RLIMIT_STACK, (stack, stack)),
            capture_output=True,
            text=True,
            check=False,
        )
        said[stack >> 10] = (done.returncode, done.stderr)
    assert said[128][0] > 0 and "`ulimit -s` leaves 128 kB of stack: a command needs 512" in said[128][1]
    assert said[512][0] == 2 and "nested" in said[512][1]


def _limit(megabytes: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))


def test_a_full_disk_for_what_is_printed(run: Path) -> None:
    with Path("/dev/full").open("w") as full:
        words = [*DSTCC, "report", "run", "-o", "-", "--format", "md"]
        out = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert (out.returncode, "Traceback" in out.stderr) == (1, False)
        assert "No space left on device" in out.stderr
        both = subprocess.run([*DSTCC, "algorithms"], stdout=full, stderr=full, check=False)
        assert both.returncode == 1
        lost = apart("emulate", "s.toml", "-o", "again", err=full)
    assert lost.returncode == 0
    assert (run.with_name("again") / "run.json").is_file()


def test_a_label_is_no_formula_in_any_csv(scenario: Path) -> None:
    scenario.write_text(QUICK.replace('"quick"', '"=cmd()"'))
    assert dstcc("emulate", scenario, "-o", "run").exit_code == 0
    assert dstcc("report", "run", "-o", "run.csv", "--format", "csv").exit_code == 0
    assert dstcc("export", "run", "--format", "csv", "-o", "csv").exit_code == 0
    texts = [path.read_text() for path in (Path("run.csv"), *Path("csv").glob("*.csv"))]
    assert any("'=cmd()" in text for text in texts)
    for text in texts:
        assert not [one for row in text.splitlines() for one in row.split(",") if one.startswith("=")]


def test_a_run_that_is_hung_up_keeps_what_is_finished(scenario: Path) -> None:
    words = [*DSTCC, "emulate", "s.toml", "-o", "run", "--seeds", "100000", "--jobs", "1"]
    words += ["--congestion", "cubic"]
    kept = signal.signal(
        signal.SIGHUP, signal.SIG_DFL
    )  # under nohup it is ignored, and a command leaves it so
    try:
        process = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    finally:
        signal.signal(signal.SIGHUP, kept)
    with process:
        until = time.monotonic() + 60
        while not list(scenario.parent.glob(".run.*")) and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(0.3)
        process.send_signal(signal.SIGHUP)
        try:
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 128 + signal.SIGHUP, said
    assert "dstcc: hung up" in said
    assert not Path("run").exists()
