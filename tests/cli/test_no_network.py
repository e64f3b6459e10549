"""No command opens a socket to a network: a library that ends whoever makes one is preloaded into them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.quick import QUICK

SOURCE = Path(__file__).with_name("no_network.c")
RUN_ALL = """
import sys
from dstcc_cli.main import main
for line in sys.stdin.read().splitlines():
    sys.argv = ["dstcc", *line.split()]
    try:
        main(sys.argv[1:])
    except SystemExit as end:
        if end.code not in (0, 1):  # 1: this machine lacks something, and doctor says so
            sys.exit(f"{line}: {end.code}")
print("all came to their end")
"""
COMMANDS = """
emulate s.toml --dry-run
emulate s.toml -o run --congestion cubic
report run -o page.md
export run --format csv -o tables
links
algorithms
"""
MORE = COMMANDS + "report run -o page.html\ndoctor"


@pytest.fixture
def library(tmp_path: Path) -> Path:
    made: Path = tmp_path / "no_network.so"
    subprocess.run(["gcc", "-shared", "-fPIC", str(SOURCE), "-o", str(made), "-ldl"], check=True)
    return made


def ended(library: Path, folder: Path, code: str, given: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LD_PRELOAD": str(library)}
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, cwd=folder, env=environment, input=given, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("commands", [COMMANDS, pytest.param(MORE, marks=pytest.mark.slow)])
def test_no_command_opens_a_connection(library: Path, tmp_path: Path, commands: str) -> None:
    (tmp_path / "s.toml").write_text(QUICK)
    done = ended(library, tmp_path, RUN_ALL, commands.strip())
    assert done.returncode == 0, done.stderr
    assert "all came to their end" in done.stdout
    assert "a socket to the network" not in done.stderr


def test_one_that_does_is_seen(library: Path, tmp_path: Path) -> None:
    done = ended(library, tmp_path, "import socket; socket.socket(); print('open')")
    assert done.returncode == 99 and "a socket to the network" in done.stderr
