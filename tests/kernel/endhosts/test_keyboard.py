"""Keys for a guest's shell, where the guest writes to the same folder."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from dstcc_kernel.endhosts.keyboard import END_OF_FILE, Typing
from dstcc_kernel.endhosts.mission import KEYS, WAITS
from dstcc_kernel.endhosts.spinning import below


def test_a_link_that_the_guest_made_is_not_followed(tmp_path: Path) -> None:
    """Keys are the user's: they reach the guest, and no file of the host that the guest names."""
    (tmp_path / "work").mkdir()
    theirs = tmp_path / "theirs"
    theirs.write_text("theirs")
    (tmp_path / "work/part").symlink_to(theirs)
    keys, typist = os.pipe()
    with Typing(tmp_path / "work", keys):
        for number, typed in enumerate((b"ls\r", b"\x03")):
            os.write(typist, typed)
            wait_for(tmp_path / "work" / KEYS.format(number))
            (tmp_path / "work/part").symlink_to(theirs)
        os.close(typist)
        wait_for(tmp_path / "work" / KEYS.format(2))
    os.close(keys)
    read = [(tmp_path / "work" / KEYS.format(number)).read_bytes() for number in range(3)]
    assert read == [b"ls\r", b"\x03", END_OF_FILE]
    assert theirs.read_text() == "theirs"
    assert not any((tmp_path / "work" / KEYS.format(number)).is_symlink() for number in range(3))


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.parametrize("theirs", ["", "link", "fifo", "folder", "long", "bytes"])
def test_the_kernel_is_halted_while_a_shell_waits_and_who_started_it_is_not(
    theirs: str, tmp_path: Path
) -> None:
    """Who starts the kernel has its command line behind the own one. Whatever a guest puts in the place of the file
    that says that it waits is no such word, and keys go on."""
    script = "bash -c 'exec -a /x/linux sleep 60' & wait"
    words = ["/x/boot", "-c", script, "/x/linux", "time-travel=inf-cpu"]
    boot = subprocess.Popen(words, executable="/bin/bash", start_new_session=True)
    waits = tmp_path / WAITS
    try:
        until = time.monotonic() + 30
        while len(found := below(boot.pid)) < 2:
            assert time.monotonic() < until
        (kernel,) = set(found) - {boot.pid}
        while not Path(f"/proc/{kernel}/cmdline").read_bytes().startswith(b"/x/linux"):
            assert time.monotonic() < until
        if theirs == "link":
            (tmp_path / "zero").write_text("0")
            waits.symlink_to(tmp_path / "zero")
        elif theirs == "fifo":
            os.mkfifo(waits)
        elif theirs == "folder":
            waits.mkdir()
        else:
            waits.write_bytes({"": b"0", "long": b"0" * 1_000_000, "bytes": b"\xff"}[theirs])
        keys, typist = os.pipe()
        with Typing(tmp_path, keys) as typing:
            typing.begin(boot.pid)
            while not theirs and state_of(kernel) != "T":
                assert time.monotonic() < until
            assert state_of(boot.pid) != "T"
            os.write(typist, b"x")
            wait_for(tmp_path / KEYS.format(0))
            while state_of(kernel) == "T":
                assert time.monotonic() < until
            time.sleep(0.2)
            assert state_of(kernel) != "T", "it has heard of the key when it says so"
            if not theirs:
                waits.write_bytes(b"1")
                while state_of(kernel) != "T":
                    assert time.monotonic() < until
        assert state_of(kernel) != "T", "whoever is left can end"
        os.close(typist)
        os.close(keys)
    finally:
        os.killpg(boot.pid, signal.SIGKILL)
        boot.wait()


def wait_for(path: Path) -> None:
    until = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < until, path
        time.sleep(0.01)
