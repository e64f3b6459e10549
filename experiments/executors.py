"""How much more does a trial cost on Slurm or on Ray than on local processes?

    python -m experiments.executors [--turns 5] [--trials 60] [--hours 100 | --wait 1] [--only slurm]

One study on two workers of this machine: two local processes, a job array on Slurm's two nodes, and Ray's two nodes of
one core each (`make test-cluster` installs both; Slurm's daemons are started as root). They take turns, in an order
drawn anew each time, each with daemons of its own that go again. A trial is so many hours of the mission of
examples/iodst/table-1.toml under open-loop; with --wait it does nothing for so many seconds, in which a loaded machine
does not disturb it, and is over. The results must be the same bytes in every turn.

Of each sweep: the seconds of the whole command, from its start to its last part in order, and the processor time of a
control group, in which the command, its workers and the daemons are. A first sweep of two trials says what of it is
start and end; what is left, for each further trial, is printed beside. Ratios are to the local sweep of the same turn:
the median, with the least and the most. A loaded machine disturbs processor time less than seconds.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from tests.sweeps import daemons

ROOT = Path(__file__).resolve().parents[1]
MISSION = ROOT / "examples/iodst/table-1.toml"
MISSIONS = """
[study]
scenario = {mission!r}
congestion = "open-loop"
seeds = {seeds}
[set]
video.loop_to_s = {seconds}
"""
WAITS = """
[study]
scenario = "short.toml"
congestion = "wait.py:Wait"
seeds = {seeds}
"""
SHORT = """
[scenario]
name = "ten chunks"
[video]
synthetic = {chunk_s = 1.0, layer_bps = [8000]}
loop_to_s = 10
[[link]]
name = "the only one"
rate_bps = 1_000_000
delay_s = 1
"""
WAIT = """
import time

class Wait:
    def __init__(self, setup):
        time.sleep(%r)

    def on_ack(self, view):
        return 10.0
"""
WORKERS = 2
HEADS = (
    "start and end, s",
    "a trial, s",
    "beside local",
    "a trial, processor s",
    "beside local",
    "whole sweep, s",
    "beside local",
)
LEAVE_S = 30.0
"""How long the processes of a turn may take to end with it."""


@dataclass(frozen=True)
class Cost:
    """Of a sweep, or of a trial."""

    wall_s: float
    processor_s: float


@dataclass(frozen=True)
class Turn:
    """What one executor took in one turn: for two trials, and for all."""

    first: Cost
    whole: Cost

    def each(self, trials: int) -> Cost:
        """Of a further trial. Its seconds are a worker's."""
        further = trials - WORKERS
        return Cost(
            (self.whole.wall_s - self.first.wall_s) * WORKERS / further,
            (self.whole.processor_s - self.first.processor_s) / further,
        )


class Group:
    """A control group: it says what processor time all have taken that were started in it."""

    def __init__(self, mounted: Path) -> None:
        self._root = mounted
        self._path = Path(tempfile.mkdtemp(prefix="dstcc-executors-", dir=mounted))

    def processor_s(self) -> float:
        """The seconds until now."""
        lines = (self._path / "cpu.stat").read_text().splitlines()
        return int(dict(line.split() for line in lines)["usage_usec"]) / 1e6

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Be in it, and so all that is started meanwhile."""
        (self._path / "cgroup.procs").write_text(str(os.getpid()))
        try:
            yield
        finally:
            (self._root / "cgroup.procs").write_text(str(os.getpid()))

    def remove(self) -> None:
        """Once nothing runs in it any more."""
        end = time.monotonic() + LEAVE_S
        while (self._path / "cgroup.procs").read_text() and time.monotonic() < end:
            time.sleep(0.1)
        self._path.rmdir()


def groups_at(mounts: str) -> Path | None:
    """Where control groups of the second kind are mounted, from the text of /proc/mounts."""
    for line in mounts.splitlines():
        _, place, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(place)
    return None


@contextmanager
def on_local() -> Iterator[list[str]]:
    """Yield the options of the sweep."""
    yield ["--jobs", str(WORKERS)]


@contextmanager
def on_slurm() -> Iterator[list[str]]:
    """Start the daemons, and end them."""
    with daemons.cluster() as folder:
        before = os.environ.get("SLURM_CONF")
        os.environ["SLURM_CONF"] = str(folder / "slurm.conf")
        try:
            yield ["--engine", "slurm", "--tasks", str(WORKERS), "--jobs", "1"]
        finally:
            os.environ.pop("SLURM_CONF") if before is None else os.environ.update(SLURM_CONF=before)


@contextmanager
def on_ray() -> Iterator[list[str]]:
    """Likewise."""
    nodes = daemons.Nodes()
    try:
        yield ["--engine", "ray", "--address", nodes.address]
    finally:
        nodes.stop()


EXECUTORS: Mapping[str, Callable[[], AbstractContextManager[list[str]]]] = {
    "local": on_local,
    "slurm": on_slurm,
    "ray": on_ray,
}


def turn(name: str, studies: Sequence[Path], into: Path, mounted: Path) -> Turn:
    """Sweep the first study and the whole one on one executor, into folders within ``into``."""
    group = Group(mounted)
    try:
        with group.inside(), EXECUTORS[name]() as options:
            taken = [measured(study, into / study.stem, options, group) for study in studies]
        return Turn(*taken)
    finally:
        group.remove()


def measured(study: Path, out: Path, options: Sequence[str], group: Group) -> Cost:
    """Sweep one study; raises :class:`click.ClickException` where trials failed."""
    command = [sys.executable, "-m", "dstcc_cli", "sweep", str(study), "-o", str(out), "--json", *options]
    command += ["--allow-extensions"]
    began, before = time.monotonic(), group.processor_s()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    cost = Cost(time.monotonic() - began, group.processor_s() - before)
    if done.returncode:
        raise click.ClickException(f"{' '.join(command)}: {done.stderr.strip()}")
    return cost


def contents(folder: Path) -> dict[str, bytes]:
    """The parts of a study's results."""
    return {part.name: part.read_bytes() for part in sorted((folder / "trials").iterdir())}


def spread(values: Sequence[float], form: str) -> str:
    """The median, with the least and the most."""
    middle, low, high = (
        format(value, form) for value in (statistics.median(values), min(values), max(values))
    )
    return f"{middle} ({low} to {high})"


def rows(turns: Mapping[str, Sequence[Turn]], trials: int) -> list[str]:
    """The table: a row an executor."""
    lines = [f"| | {' | '.join(HEADS)} |", "|---" * (len(HEADS) + 1) + "|"]
    local = turns["local"]
    for name, taken in turns.items():
        each, least = [one.each(trials) for one in taken], [one.each(trials) for one in local]
        start = [one.first.wall_s - cost.wall_s for one, cost in zip(taken, each, strict=True)]
        ratios = [
            [a.wall_s / b.wall_s for a, b in zip(each, least, strict=True)],
            [a.processor_s / b.processor_s for a, b in zip(each, least, strict=True)],
            [a.whole.wall_s / b.whole.wall_s for a, b in zip(taken, local, strict=True)],
        ]
        beside = ["1" if name == "local" else spread(values, ".3f") for values in ratios]
        cells = [
            spread(start, ".1f"),
            spread([cost.wall_s for cost in each], ".2f"),
            beside[0],
            spread([cost.processor_s for cost in each], ".3f"),
            beside[1],
            spread([one.whole.wall_s for one in taken], ".0f"),
            beside[2],
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def write(folder: Path, name: str, seeds: int, hours: float, wait: float | None) -> Path:
    """A study of so many seeds, with what it needs."""
    study = folder / f"{name}.toml"
    if wait is None:
        study.write_text(MISSIONS.format(mission=str(MISSION), seeds=seeds, seconds=round(hours * 3600)))
    else:
        (folder / "short.toml").write_text(SHORT)
        (folder / "wait.py").write_text(WAIT % wait)
        study.write_text(WAITS.format(seeds=seeds))
    return study


@click.command(help=__doc__)
@click.option("--turns", default=5, show_default=True, type=click.IntRange(1), help="of each executor")
@click.option("--trials", default=60, show_default=True, type=click.IntRange(WORKERS + 1), help="of a sweep")
@click.option("--hours", default=100.0, show_default=True, help="of the mission, in a trial")
@click.option("--wait", type=click.FloatRange(0), metavar="SECONDS", help="that a trial waits instead")
@click.option(
    "--only", multiple=True, type=click.Choice(sorted(EXECUTORS)), help="besides local; all without"
)
def main(turns: int, trials: int, hours: float, wait: float | None, only: tuple[str, ...]) -> None:
    """Measure and print."""
    names = ["local", *(name for name in EXECUTORS if name != "local" and (not only or name in only))]
    mounted = groups_at(Path("/proc/mounts").read_text(encoding="utf-8"))
    if mounted is None or not os.access(mounted / "cgroup.procs", os.W_OK):
        raise click.UsageError(
            "it counts in a control group (cgroup2): run it as root, where they are mounted"
        )
    if "slurm" in names and (why := daemons.lacking()):
        raise click.UsageError(why)
    taken: dict[str, list[Turn]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as folder:
        studies = [
            write(Path(folder), name, seeds, hours, wait)
            for name, seeds in (("first", WORKERS), ("whole", trials))
        ]
        known: dict[str, bytes] | None = None
        for number in range(turns):
            for name in random.sample(names, len(names)):
                into = Path(folder, f"{name}-{number}")
                taken[name].append(turn(name, studies, into, mounted))
                found = contents(into / "whole")
                known = found if known is None else known
                if found != known:
                    raise click.ClickException(f"{name}'s results are not the bytes of the sweep before")
                print(f"turn {number + 1}, {name}: {taken[name][-1]}", file=sys.stderr)
    print(*rows(taken, trials), sep="\n")


if __name__ == "__main__":
    main()
