"""Coverage of the Python that our guests run: counted inside, where nothing can be written but the guest's own folder,
and taken out of it when the guest has ended.

A guest's ``python -m MODULE`` or ``python SCRIPT.py`` becomes one that starts coverage before that, whatever it has of
site-packages. What children run that are killed is lost; so are guests of a command in a process of its own.
"""

from __future__ import annotations

import configparser
import functools
import itertools
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import coverage
import pytest
from dstcc_kernel import guest

ROOT = Path(__file__).parents[1]
ROOMS = (ROOT / "dstcc", ROOT / "kernel-cc")
DATA = ".covered"
"""Begins the names of the files with what was counted, in the folder that a guest writes to."""
INSIDE = """
import atexit, os, runpy, sys
_, site, data, rooms, what = sys.argv[:5]
sys.path.append(site)
import coverage
counted = coverage.Coverage(
    data_file=data, data_suffix=True, config_file=False, branch=True, include=rooms.split(":"), messages=False
)
counted.start()
atexit.register(counted.save)
atexit.register(counted.stop)
leave = os._exit
def count_and_leave(status):
    try:
        counted.stop()
        counted.save()
    finally:
        leave(status)
os._exit = count_and_leave
del sys.argv[1:5]
if what.endswith(".py"):
    sys.argv[0] = what
    sys.path.insert(0, os.path.dirname(what))
    runpy.run_path(what, run_name="__main__")
else:
    runpy.run_module(what, run_name="__main__", alter_sys=True)
"""
"""What is run in the module's place, or in the script's."""


def words_of(argv: list[str], folder: Path, rooms: tuple[Path, ...]) -> list[str]:
    """The command with coverage, its data in ``folder``; as it is where it runs neither a module nor a script."""
    flags = list(
        itertools.takewhile(lambda word: word.startswith("-") and word not in ("-m", "-c"), argv[1:])
    )
    place = 1 + len(flags)
    if not Path(argv[0]).name.startswith("python"):
        return argv
    if argv[place : place + 1] == ["-m"]:
        what = argv[place + 1 :]
    elif argv[place : place + 1] and argv[place].endswith(".py"):
        what = argv[place:]
    else:
        return argv
    site = Path(coverage.__file__).parents[1]
    inside = [INSIDE, str(site), str(folder / DATA), ":".join(f"{room}/*" for room in rooms)]
    return [*argv[:place], "-c", *inside, *what]


def counting(
    run: Callable[..., guest.GuestResult], into: Path, rooms: tuple[Path, ...] = ROOMS
) -> Callable[..., guest.GuestResult]:
    """:func:`guest.run` with coverage, whose data goes beside ``into`` as that of parallel processes does."""

    @functools.wraps(run)
    def counted(kernel: Path, argv: list[str], *, out: Path, **how: Any) -> guest.GuestResult:
        try:
            return run(kernel, words_of(argv, how.get("at") or out.resolve(), rooms), out=out, **how)
        finally:
            into.parent.mkdir(parents=True, exist_ok=True)
            for data in out.glob(f"{DATA}*"):
                # Guests of one seed draw the same names.
                shutil.move(data, into.with_name(f"{into.name}.guest.{uuid.uuid4().hex}"))

    return counted


@contextmanager
def counted() -> Iterator[None]:
    """Count what guests run that are booted in the block, where coverage is measured at all."""
    if coverage.Coverage.current() is None:
        yield
        return
    settings: Mapping[str, Mapping[str, str]] = _settings()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guest, "run", counting(guest.run, ROOT / settings["coverage:run"]["data_file"]))
        yield


def _settings() -> configparser.ConfigParser:
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg")
    return settings
