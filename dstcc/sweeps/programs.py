"""A cell of a study of programs: runs of ``[programs]`` in guests, one a seed, and the numbers that they leave."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache, lru_cache
from pathlib import Path
from traceback import format_exc
from typing import Any

from dstcc_kernel import source
from dstcc_kernel.backend import built
from dstcc_kernel.endhosts.mission import HERE, Mission
from dstcc_kernel.endhosts.planning import Options, meaning, options_of, plan

from dstcc.errors import DstccError, InputError
from dstcc.reading import file_sha256
from dstcc.run.identity import made_by, short_hash
from dstcc.run.programs import run_programs
from dstcc.scenario import Scenario

from .pieces import Failed, Piece
from .study import OF_TRIALS, Study

SCHEMA = 2
"""Of what a run's numbers mean."""
LONGEST_PATH = 4096


class ProgramRuns:
    """The runs of a cell."""

    layers, extended = 0, False

    def __init__(self, study: Study, scenario: Scenario, known: Mapping[str, Any]) -> None:
        """Plan them; raises :class:`InputError` for what cannot run."""
        self._scenarios: dict[str, Scenario] = {}
        self._taken = {*study.columns, *OF_TRIALS, "key", "made_by", "scenario"}
        self.pieces: list[Piece] = []
        if scenario.programs is None:
            raise InputError(
                "programs: missing; [programs] of the scenario says what runs, as study.programs has it"
            )
        with meaning(scenario.programs):
            maker = _maker(source.release().name)
            for seed in scenario.seeds:
                one = scenario.with_run(seed=seed)
                options = options_of(one)
                about = {
                    **dict.fromkeys(("scheduler", "controller", "variant")),
                    "algorithm": Path(options.command[0]).name,
                    "congestion": options.congestion or "cubic",
                    "seed": seed,
                }
                if study.excludes({**known, **about}):
                    continue
                mission = plan(one, options)
                identity = {
                    "schema": SCHEMA,
                    "made_by": maker,
                    "mission": _document(mission),
                    "wall_s": scenario.programs.wall_s,
                    "seed": seed,
                    "programs": _commands(one),
                    "files": files_of_commands(options),
                    "json_of": scenario.programs.json_of,
                    "settings": [
                        dict(options.environment),
                        dict(options.sysctls),
                        options.congestion,
                        options.mptcp,
                        options.disk_mb,
                    ],
                }
                name = f"s{seed}"
                self.pieces.append(Piece(name, short_hash(identity), maker, about))
                self._scenarios[name] = one

    def run(self, ids: Sequence[str]) -> Iterator[tuple[str, dict[str, Any] | Failed]]:
        """See :class:`.work.Cell`."""
        for name in ids:
            try:
                found = run_programs(self._scenarios[name])
                if taken := [key for key in found if key in self._taken]:
                    raise DstccError(f"a program prints {taken[0]!r}, which is a column of the study")
                yield name, dict(found)
            except DstccError as error:
                yield name, Failed(str(error), format_exc())


def _document(mission: Mission) -> dict[str, Any]:
    """All that a guest is told but for the command lines and where this machine has its programs: a point that varies
    what no program meets has the mission of another."""
    own = {name: value for name, value in mission.environment.items() if name != "PATH"}
    return asdict(replace(mission, programs=(), environment=own))


def _commands(scenario: Scenario) -> list[Any]:
    """The command lines, wherever this Python lies."""
    options = options_of(scenario, "python")
    return [list(options.command), *options.on]


def files_of_commands(options: Options) -> list[str]:
    """The content of each file that a command line names, in their order: its program, and what lies at a word relative
    to the folder of the programs."""
    found = []
    for words in (options.command, *(tuple(shlex.split(text)) for _, text in options.on)):
        places = [Path(shutil.which(words[0]) or words[0])]
        places += [options.here / word.removeprefix(f"{HERE}/") for word in words if len(word) < LONGEST_PATH]
        found += [_content(path) for path in places if "\0" not in str(path) and path.is_file()]
    return found


def _content(path: Path) -> str:
    about = path.stat()
    return _content_of(path, about.st_size, about.st_mtime_ns)


@lru_cache
def _content_of(path: Path, _size: int, _changed_ns: int) -> str:
    """Read once while it stays as it is: all points of a study have the same Python."""
    return file_sha256(path, InputError)


@cache
def _maker(_release: str) -> str:
    """What carries the runs of the kernel that is meant."""
    facts = built().facts
    return made_by("kernel", f"{facts['version']} {str(facts['sha256'])[:12]}")
