"""``dstcc shell``: a shell on a host of a scenario, for looking around."""

from __future__ import annotations

import sys
import tempfile
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import click

from .kernel import WHICH
from .options import SCENARIO, SEED, SETTINGS
from .output import notice
from .run import tell_output

WALL_S = 7 * 86_400.0
"""Real seconds that somebody may look around."""


@click.command(short_help="Open a shell on a host or node of a scenario, in virtual time.")
@SCENARIO
@click.option("--on", metavar="NODE", default="", help="The host.  [default: the first node of the paths]")
@WHICH
@SEED
@click.option("--scale", metavar="S", help="Mission seconds per second of the programs' clocks, or auto.")
@SETTINGS
def command(
    *, scenario: Path, on: str, seed: int | None, scale: str | None, settings: tuple[str, ...]
) -> int:
    """Open bash on a host of SCENARIO, with the mission time in its prompt.

    Mission time stops while the shell waits for keys, and advances while a command waits. Files that the shell writes
    are deleted at its end.
    """

    from dstcc_kernel.endhosts.flight import fly
    from dstcc_kernel.endhosts.planning import SHELL, Options

    from dstcc.run.asked import overrides
    from dstcc.scenario import load_scenario

    loaded = load_scenario(scenario, overrides(settings, scale=scale, seed=seed))
    lost: set[str] = set()
    with tempfile.TemporaryDirectory(prefix="dstcc-shell-") as folder, _keys_at_once():
        flown = fly(
            Path(folder, "run"),
            loaded,
            Options(command=SHELL, shell=on),
            argv=sys.argv,
            wall_s=WALL_S,
            tell=partial(tell_output, lost),
            keys=sys.stdin.fileno(),
        )
    if flown.problem:
        notice(flown.problem)
    return flown.exit_code


@contextmanager
def _keys_at_once() -> Iterator[None]:
    """Let a terminal hand on each key as it is: the guest's own echoes them, and obeys Ctrl-C."""
    if not sys.stdin.isatty():
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    tty.setraw(sys.stdin)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
