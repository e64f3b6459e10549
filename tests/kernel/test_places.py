"""Folders that cannot be used are named, and what a trial has in temporary ones goes with who is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from dstcc_cli.main import main
from dstcc_kernel import module, native

from dstcc.cache import cache_folder

MINI = Path(__file__).parent / "mini.toml"
ALONE = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]

HEEDING = """
import signal
from dstcc_cli.main import main
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""
"""The command, which heeds Ctrl-C where the tests run in the background, too."""


def mounted(script: str, cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command after a shell's mounts, which it alone sees."""
    command = [*ALONE, "sh", "-c", f'{{ {script}; }} || exit 99; exec "$@"', "sh"]
    done = subprocess.run(
        [*command, sys.executable, "-m", "dstcc_cli", *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode in (1, 99) and "dstcc" not in done.stderr:
        pytest.skip(f"neither root nor user namespaces: {done.stderr}")
    return done


@pytest.mark.parametrize("words", [["kernel", "build"], ["kernel", "status"], ["emulate", str(MINI)]])
def test_a_cache_that_is_a_file_is_called_that(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "cache"
    file.write_text("mine")
    monkeypatch.setenv("DSTCC_CACHE", str(file))
    run = ["--backend", "kernel", "-o", str(tmp_path / "run")] if words[0] == "emulate" else []
    done = CliRunner().invoke(main, [*words, *run])
    said = f"dstcc: the cache {file}: {file} is no folder; DSTCC_CACHE names another folder\n"
    assert (done.exit_code, done.stderr) == (1, said)
    assert file.read_text() == "mine" and not (tmp_path / "run").exists()


def test_a_cache_that_cannot_be_written_is_called_that(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    done = mounted(
        "mount -t tmpfs -o ro none cache && export DSTCC_CACHE=$PWD/cache",
        tmp_path,
        *("kernel", "build"),
    )
    assert done.returncode == 1
    said = done.stderr.splitlines()[-1]
    assert said.startswith(f"dstcc: the cache {tmp_path}/cache cannot be written (")
    assert said.endswith("; DSTCC_CACHE names another folder")


@pytest.mark.kernel
def test_a_cache_that_has_all_it_takes_may_be_read_only(kernel: Path, tmp_path: Path) -> None:
    words = ["emulate", str(MINI), "--set", "scenario.duration_s=300", "--backend", "kernel"]
    native.program()
    module.guest_module(kernel)
    cache = cache_folder()
    again = mounted(
        f"mount --bind '{cache}' '{cache}' && mount -o remount,bind,ro '{cache}'",
        tmp_path,
        *(*words, "--congestion", "fixed", "-o", "second"),
    )
    assert again.returncode == 0, again.stderr


def test_a_guest_whose_console_has_no_room_died_of_a_full_disk(kernel: Path, tmp_path: Path) -> None:
    """12 kB: the job's files find room, the console's first line does not."""
    native.program()  # compiled before
    (tmp_path / "tmp").mkdir()
    done = mounted(
        "mount -t tmpfs -o size=12k none tmp && export TMPDIR=$PWD/tmp",
        tmp_path,
        *("emulate", str(MINI), "--backend", "kernel", "-o", "run"),
    )
    assert done.returncode == 1
    assert f"the disk is full: {tmp_path}/tmp has no space" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.kernel)])
def test_an_interrupted_run_leaves_nothing(kernel: Path, tmp_path: Path, number: signal.Signals) -> None:
    """Two trials at once, in their guests by then: neither these nor their folders outlive the command."""
    native.program()  # compiled before
    (tmp_path / "tmp").mkdir()
    words = ["emulate", str(MINI), "--backend", "kernel", "--seeds", "4", "--jobs", "2", "-o", "run"]
    process = subprocess.Popen(
        [sys.executable, "-c", HEEDING, *words, "--set", "video.loop_to_s=1_000_000"],
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(tmp_path / "tmp")},
        stderr=subprocess.PIPE,
        text=True,
    )

    def folders() -> list[Path]:
        guests = [*Path("/dev/shm").glob(f"dstcc-guest-{process.pid}-*")]
        return [*guests, *(tmp_path / "tmp").iterdir(), *tmp_path.glob(".run*")]

    end = time.monotonic() + 60
    while len(folders()) < 5:
        assert process.poll() is None and time.monotonic() < end, process.stderr
        time.sleep(0.05)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143}[number], said
    assert folders() == []
