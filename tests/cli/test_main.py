from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from dstcc_cli.main import COMMANDS, main
from dstcc_cli.output import console, emit_json, notices, progress

from dstcc.errors import DstccError, InputError, MissingCapabilityError
from dstcc.version import __version__

HEAVY = ("numpy", "pyarrow", "pydantic", "av", "matplotlib", "rich", "scipy", "torch", "jinja2")


def invoke(*args: str):
    return CliRunner().invoke(main, list(args))


def test_help_lists_the_commands_that_are_there() -> None:
    done = invoke("--help")
    assert done.exit_code == 0
    assert all(name in done.output for name in COMMANDS)


def test_version() -> None:
    assert invoke("--version").output == f"dstcc, version {__version__}\n"


def test_a_slip_gets_the_nearest_command() -> None:
    done = invoke("emulat")
    assert done.exit_code == 2
    assert "did you mean 'emulate'?" in done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_there_with_json_and_help(name: str) -> None:
    command = import_module(f"dstcc_cli.{name}").command
    assert isinstance(command, click.Command)
    assert ("--json" in invoke(name, "--help").output) == (
        name != "shell"
    )  # which is for somebody at a terminal


def test_help_imports_nothing_heavy() -> None:
    """What keeps ``--help`` fast on any machine: none of the heavy packages is loaded for it, by any command."""
    pages = [["--help"], *([name, "--help"] for name in COMMANDS)]
    code = (
        "import sys\nfrom dstcc_cli.main import main\n"
        f"for page in {pages}:\n"
        "    main(page, standalone_mode=False)\n"
        f"    print(page[0], *[name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines() == [page[0] for page in pages]


def test_python_m() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dstcc_cli", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"dstcc, version {__version__}\n"


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (DstccError("it broke"), 1, "dstcc: it broke"),
        (InputError("a.toml: bad"), 2, "dstcc: a.toml: bad"),
        (MissingCapabilityError("no ffmpeg"), 1, "dstcc: no ffmpeg"),
        (KeyboardInterrupt(), 130, "dstcc: interrupted"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/data/x"), 1, "dstcc: /data/x: the disk is full"),
        (PermissionError(errno.EACCES, "Permission denied", "/data"), 1, "Permission denied"),
        (click.UsageError("wrong"), 2, "wrong"),
    ],
)
def test_errors_become_a_line_and_an_exit_code(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, message: str
) -> None:
    def fail() -> None:
        raise error

    from dstcc_cli import algorithms

    monkeypatch.setattr(algorithms, "command", click.command()(fail))
    done = invoke("algorithms")
    assert done.exit_code == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("before", "code"), [(signal.SIG_DFL, 143), (signal.SIG_IGN, 0)])
def test_sigterm_ends_with_its_code_unless_it_was_ignored(
    monkeypatch: pytest.MonkeyPatch, before: signal.Handlers, code: int
) -> None:
    from dstcc_cli import algorithms

    monkeypatch.setattr(algorithms, "command", click.command()(lambda: signal.raise_signal(signal.SIGTERM)))
    restored = signal.signal(signal.SIGTERM, before)
    try:
        done = invoke("algorithms")
        assert signal.getsignal(signal.SIGTERM) is before, "the handler goes with the command"
    finally:
        signal.signal(signal.SIGTERM, restored)
    assert done.exit_code == code
    assert done.stderr == ("dstcc: terminated\n" if code else "")


def test_a_reader_that_goes_away_is_no_error_message() -> None:
    command = f"{sys.executable} -m dstcc_cli algorithms --json"
    done = subprocess.run(["bash", "-c", f"{command} | true"], capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_json_has_no_nan(capsys: pytest.CaptureFixture[str]) -> None:
    emit_json({"a": float("nan"), "b": [float("inf"), 1.5], 3: "ü"})
    out = capsys.readouterr().out
    assert json.loads(out) == {"a": None, "b": [None, 1.5], "3": "ü"}
    assert "ü" in out


def test_progress_is_silent_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("work", 3) as advance:
        advance(1)
    assert capsys.readouterr() == ("", "")


def test_progress_draws_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with progress("work", 3) as advance:
        advance(3)
    out, err = capsys.readouterr()
    assert out == ""
    assert "work" in err


def test_what_was_asked_for_goes_to_stdout_and_notices_to_stderr(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    console().print("hello [/x] :key:")  # a user's words are no markup
    assert capsys.readouterr() == ("hello [/x] :key:\n", "")
    notices().print("[/x] is gone")
    assert capsys.readouterr() == ("", "[/x] is gone\n")


def test_a_table_goes_where_letters_are_ascii() -> None:
    """What the terminal or the pipe cannot show is written as Python's escapes, as on stderr."""
    words = [sys.executable, "-P", "-m", "dstcc_cli", "links"]
    done = subprocess.run(
        words, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}, check=False
    )
    assert done.returncode == 0, done.stderr
    assert b"mro-x-dss35" in done.stdout and done.stdout.isascii()


@pytest.mark.parametrize(
    "words",
    [
        ["report", "NAME", "-o", "x.html"],
        ["report", "run", "-o", "NAME.html"],
        ["play", "NAME", "-o", "x.mp4"],
        ["query", "NAME", "SELECT 1"],
        ["emulate", "NAME.toml", "--dry-run"],
        ["explain", "NAME", "--trial", "x"],
    ],
)
def test_a_name_longer_than_any_files_is_bad_input(words: list[str], tmp_path: Path) -> None:
    done = invoke(
        *(str(tmp_path / word.replace("NAME", "a" * 300)) if "NAME" in word else word for word in words)
    )
    assert done.exit_code == 2, done.output
    assert "Errno" not in done.output


def test_the_folder_one_is_in_may_be_gone(tmp_path: Path) -> None:
    """A shell stays in a folder that was removed, and so do its commands."""
    here = tmp_path / "here"
    here.mkdir()
    script = f'rmdir "{here}"; "{sys.executable}" -m dstcc_cli report run -o x.html'
    done = subprocess.run(script, shell=True, cwd=here, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "dstcc: the folder in which dstcc was called is gone\n"
