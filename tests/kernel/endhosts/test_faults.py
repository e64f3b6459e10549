"""What goes wrong with programs: each has an error that names it, and none harms the machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from .flights import SHORT, python, run

pytestmark = pytest.mark.usefixtures("kernel")
long = pytest.mark.kernel


@pytest.mark.parametrize(
    ("options", "command", "message"),
    [
        ("", "no-such-program", "CMD: no-such-program: no such program on this machine"),
        ("", "./absent", "CMD: ./absent: no such program"),
        ("--earth no-such-server", "true", "--earth: no-such-server: no such program on this machine"),
        ('--earth "sh \'x"', "true", "no closing quotation"),
        ("--earth ''", "true", "--earth: is empty"),
        ("--for 10x", "true", "--for 10x: a time above 0"),
        ("--for -1", "true", "--for -1: a time above 0"),
        ("--for 20000d", "true", "a guest's clock runs"),
        ("--congestion ltp", "true", "--congestion ltp: the kernel has bbr, bic, cubic"),
        ("--set link.0.mix=[1]", "true", "link.0.mix"),
        ("--set link.0.rate=1", "true", "link.0.rate"),
    ],
)
def test_bad_input_is_refused_before_a_guest_starts(
    tmp_path: Path, options: str, command: str, message: str
) -> None:
    flown = run(tmp_path / "o", options, command)
    assert flown.code == 2
    assert message in flown.err and flown.err.count("\n") <= 3
    assert not flown.folder.exists()


def test_what_may_not_be_executed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "script").write_text("#!/bin/sh\necho ran in $PWD\n")
    monkeypatch.chdir(tmp_path)
    flown = run(tmp_path / "o", "", "./script")
    assert flown.code == 2 and "chmod +x" in flown.err
    (tmp_path / "script").chmod(0o755)
    flown = run(tmp_path / "o", "", "./script")
    assert (flown.code, flown.out) == (0, "ran in /run/craft\n")


@long
def test_what_is_no_program_cannot_be_started(tmp_path: Path) -> None:
    (tmp_path / "junk").write_bytes(os.urandom(99))
    (tmp_path / "junk").chmod(0o755)
    flown = run(tmp_path / "o", "", str(tmp_path / "junk"))
    assert flown.code == 1
    assert f"`{tmp_path / 'junk'}` on craft cannot be started: Exec format error" in flown.err
    assert not flown.folder.exists()


@long
def test_a_server_that_crashes_is_named_with_its_last_words(tmp_path: Path) -> None:
    flown = run(
        tmp_path / "o", "", "sleep", "5", earth=('python3 -S -c "import time; time.sleep(2); 1 / 0"',)
    )
    assert flown.code == 0
    assert "on earth ended with 1 at 2" in flown.err
    assert "ZeroDivisionError: division by zero" in flown.err


@long
def test_a_port_that_is_taken_is_the_second_programs_failure(tmp_path: Path) -> None:
    server = "python3 -S -c \"import socket; s = socket.create_server(('', 9)); s.accept()\""
    flown = run(tmp_path / "o", "", "sleep", "1", earth=(server, server))
    assert flown.code == 0
    assert "OSError: [Errno 98] Address already in use" in flown.err
    failed = [program["number"] for program in flown.meta["programs"] if program["exit_code"] == 1]
    assert len(failed) == 1


@long
def test_a_crash_is_the_runs_code(tmp_path: Path) -> None:
    flown = run(tmp_path / "o", "", *python("import ctypes; ctypes.string_at(0)"))
    assert flown.code == 128 + 11
    assert not list((flown.folder / "craft").glob("core*"))


@long
def test_what_never_ends_is_ended_one_day(tmp_path: Path) -> None:
    """A program that waits for ever costs no time; it is ended when its clock has run for 100 days."""
    flown = run(tmp_path / "o", "--set link.0.delay_s=240", "sleep", "infinity")
    assert flown.code == 1
    assert "`sleep infinity` on craft had not ended after 100 days of its clock" in flown.err


@long
def test_what_spins_is_named(tmp_path: Path) -> None:
    flown = run(tmp_path / "o", "--wall 40", *python("while True: pass"), earth=("sleep infinity",))
    assert flown.code == 1
    assert "while True: pass` on craft computes without waiting: mission time stood at " in flown.err
    assert flown.meta["ended"] == "stopped" and flown.meta["exit_code"] is None


@long
def test_what_is_busy_but_slow_is_told_from_it(tmp_path: Path) -> None:
    """Mission time goes on: the limit was too short, or --for is missing."""
    flown = run(tmp_path / "o", "--wall 30", "ping", "-i", "0.01", "earth")
    assert flown.code == 1
    assert "`ping -i 0.01 earth` on craft still ran (--for ends a run at a mission time)" in flown.err
    assert "icmp_seq=1 " in flown.text()


@long
def test_what_asks_without_waiting_gets_on(tmp_path: Path) -> None:
    """As iperf3 does for a round trip: select() on what is ready, over and over, until time has passed."""
    code = (
        "import select, socket, time\n"
        "a, b = socket.socketpair(); end = time.monotonic() + 60\n"
        "while time.monotonic() < end: select.select([], [a], [])\n"
        "print('got on')"
    )
    flown = run(tmp_path / "o", "", *python(code))
    assert (flown.code, flown.out) == (0, "got on\n")


@long
def test_what_forks_away_ends_with_the_run(tmp_path: Path) -> None:
    code = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        while True: time.sleep(1); print('still here', flush=True)\n"
        "    os._exit(0)\n"
        "time.sleep(3.5)"
    )
    flown = run(tmp_path / "o", "", *python(code))
    assert flown.code == 0
    assert flown.out == "still here\n" * 3


@long
def test_ten_gigabytes_find_a_full_disk(tmp_path: Path) -> None:
    flown = run(tmp_path / "o", "--disk 20", "dd", "if=/dev/zero", "of=big", "bs=1M", "count=10000")
    assert flown.code == 1
    assert "No space left on device" in flown.text()
    assert "craft's folder was full (20 MB; --disk gives it more)" in flown.err
    assert (flown.folder / "craft/big").stat().st_size <= 20 << 20


@long
def test_a_log_without_end_is_cut(tmp_path: Path) -> None:
    flown = run(tmp_path / "o", "--disk 1", "sh", "-c", "yes a line of text | head -c 3000000")
    assert flown.code == 0
    assert "craft.log was cut at 1 MB" in flown.err
    assert (flown.folder / "craft.log").stat().st_size < 1.2e6


@long
def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dstcc_cli", "run", str(SHORT), "-o", str(tmp_path / "o")]
    process = subprocess.Popen(
        [*command, "--", "ping", "-i", "0.01", "earth"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    for line in process.stdout:  # printed while it runs
        if "icmp_seq=3 " in line:
            break
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and said.strip() == "dstcc: interrupted"
    assert list(tmp_path.iterdir()) == []


@long
def test_a_reader_that_goes_away_does_not_end_the_run(tmp_path: Path) -> None:
    command = f"{sys.executable} -m dstcc_cli run {SHORT} -o {tmp_path / 'o'} -- ping -c 20 -i 0.5 earth"
    done = subprocess.run(
        ["bash", "-c", f"{command} | head -1; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    assert "Traceback" not in done.stderr


@long
def test_what_is_no_file_is_left_out_and_named(tmp_path: Path) -> None:
    flown = run(tmp_path / "o", "", "sh", "-c", "mkfifo pipe; ln -s /etc/passwd link; echo kept > file")
    assert flown.code == 0
    assert "not kept, neither file nor folder: craft/link, craft/pipe" in flown.err
    assert sorted(path.name for path in (flown.folder / "craft").iterdir()) == ["file"]


def test_nothing_but_such_a_run_is_replaced(tmp_path: Path) -> None:
    out = tmp_path / "o"
    assert run(out, "", "true").code == 0
    again = run(out, "", "true")
    assert again.code == 2 and "already exists; --force replaces it" in again.err
    assert run(out, "--force", "sh", "-c", "echo 1 > mine").code == 0
    (out / "craft/notes").write_text("by the user")
    kept = run(out, "--force", "true")
    assert kept.code == 2 and "holds craft/notes, which is no part of the run" in kept.err
    assert (out / "craft/mine").read_text() == "1\n"
    over = run(SHORT, "--force", "true")
    assert over.code == 2 and SHORT.exists()
