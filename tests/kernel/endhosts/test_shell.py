"""``dstcc shell``: what is typed runs on the host, and mission time stands while the shell waits."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from dstcc_kernel.endhosts.spinning import below

STORE = Path(__file__).parents[3] / "examples/programs/store.toml"
PROMPT = re.compile(rb"\[\+(\d+\.\d{3}) s\] (\w+):~# ")
PATIENCE_S = 120.0


class Typist:
    """Somebody at a terminal of the command."""

    def __init__(self, *words: str) -> None:
        self.master, slave = pty.openpty()
        command = [sys.executable, "-m", "dstcc_cli", "shell", str(STORE), "--scale", "1", *words]
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        self.seen = b""

    def prompt(self, number: int) -> tuple[float, str]:
        """Wait for so many prompts; mission time and host of the last."""
        until = time.monotonic() + PATIENCE_S
        while len(found := PROMPT.findall(self.seen)) < number:
            assert time.monotonic() < until, self.seen
            self.seen += os.read(self.master, 4096)
        return float(found[number - 1][0]), found[number - 1][1].decode()

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self.master, text.encode())


def halted(pid: int) -> bool:
    """Whether a kernel below a process stands still."""
    stats = [Path(f"/proc/{found}/stat") for found in below(pid)]
    return any("(linux) T " in path.read_text() for path in stats if path.exists())


@pytest.mark.kernel
@pytest.mark.usefixtures("kernel")
def test_time_passes_for_commands_and_stands_for_who_thinks() -> None:
    """100 s of sleep are 100 s of the mission, whatever they take here; a pause of a second at the keys is none. Ctrl-C
    ends a command, Ctrl-D the shell."""
    typist = Typist("--on", "orbiter")
    assert typist.prompt(1) == (0.0, "orbiter")
    until = time.monotonic() + PATIENCE_S
    while not halted(typist.process.pid):
        assert time.monotonic() < until, "the guest computes while nobody types"
    time.sleep(1)
    typist.type("sleep 100\r")
    assert typist.prompt(2)[0] == pytest.approx(100, abs=0.01)
    time.sleep(1)
    typist.type("ping earth\r")  # without end; the link is away
    time.sleep(1)
    typist.type("\x03")
    stopped_s, _ = typist.prompt(3)
    assert stopped_s > 100.01
    assert b"packets transmitted" in typist.seen
    typist.type("(exit 3)\r")
    assert typist.prompt(4)[0] == pytest.approx(stopped_s, abs=0.01)
    typist.type("\x04")
    assert typist.process.wait(PATIENCE_S) == 3


def test_an_unknown_node_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dstcc_cli", "shell", str(STORE), "--on", "mars"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "--on mars: the hosts are rover, orbiter, earth" in done.stderr
