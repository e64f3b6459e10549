"""``dstcc sweep``: a grid of scenarios × algorithms × seeds, on all cores or a cluster."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options import ALLOW, AS_JSON, LIMIT, PATH
from .output import console, emit_json, how_to_go_on, notice, notices, tell

if TYPE_CHECKING:
    from dstcc.sweeps.call import Sweep
    from dstcc.sweeps.conduct import Progress, Swept
    from dstcc.sweeps.estimate import Estimate

ENGINES = ("local", "slurm", "ray")
SHOWN_FAILURES = 10

EXAMPLES = """\b
A study, study.toml:
  [study]
  scenario = "mars.toml"                # or several
  congestion = ["cubic", "bbr-scaled"]  # default: the scenario's algorithms
  seeds = 10
  [vary]                                # keys of the scenario, as in --set
  "link.0.loss.packet" = [1e-4, 1e-3]
  "link.0.delay_s" = {from = "3 min", to = "22 min", steps = 5}
  "link.0.rate_bps" = {from = "10 kbit/s", to = "1 Mbit/s", steps = 5, scale = "log"}
  [[exclude]]                           # leave out points for which all of this holds
  "link.0.delay_s" = "> 20 min"
  congestion = "cubic"

\b
Examples:
  dstcc sweep study.toml --dry-run
  dstcc sweep study.toml -o study       # again: resumes
  dstcc report study -o study.html
  dstcc query study "SELECT algorithm, avg(playback_ratio) FROM trials \\
      GROUP BY ALL"
  dstcc sweep study.toml -o study --merge theirs
  dstcc sweep study.toml -o study --engine slurm --tasks 200 --slurm \\
      --partition=long
  dstcc sweep study.toml -o study --engine slurm --script > job.sh
  dstcc sweep study.toml -o study --engine ray --address 10.0.0.1:6379
"""


@click.command(short_help="Run a grid of scenarios × algorithms × seeds.", epilog=EXAMPLES)
@click.argument("study", type=PATH)
@click.option("-o", "--output", type=PATH, help="Folder of the study (without --dry-run).")
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default="local",
    show_default=True,
    help="Executor of the trials.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    metavar="N",
    help="Parallel trials; slurm: in each task.  [default: all cores; 1]",
)
@click.option(
    "--address", metavar="HOST:PORT", help="ray: a running cluster.  [default: start Ray on this machine]"
)
@click.option(
    "--tasks", type=click.IntRange(1, 1000), metavar="N", help="slurm: tasks of the array.  [default: 64]"
)
@click.option(
    "--slurm", "options", multiple=True, metavar="OPTION", help="slurm: an option for sbatch; repeatable."
)
@click.option("--script", is_flag=True, help="slurm: print the job's script for sbatch; submit nothing.")
@click.option(
    "--train", is_flag=True, help="Run trainings instead of trials: [train] algorithm = [...], steps = N."
)
@click.option(
    "--trial-limit",
    metavar="TIME",
    help="Longest time of a trial: 90, '15 min'.  [default: the study's, or 1 h]",
)
@click.option(
    "--retries",
    type=click.IntRange(0),
    metavar="N",
    help="Number of times that a failed trial is repeated.  [default: the study's, or 2]",
)
@click.option(
    "--merge",
    "others",
    multiple=True,
    type=PATH,
    metavar="DIR",
    help="Add the results of another folder of a study; run nothing; repeatable.",
)
@click.option(
    "--dry-run", is_flag=True, help="Count the trials, measure a few, estimate time and bytes; keep nothing."
)
@LIMIT
@ALLOW
@AS_JSON
def command(
    *,
    study: Path,
    output: Path | None,
    engine: str,
    jobs: int | None,
    address: str | None,
    tasks: int | None,
    options: tuple[str, ...],
    script: bool,
    train: bool,
    trial_limit: str | None,
    retries: int | None,
    others: tuple[Path, ...],
    dry_run: bool,
    as_json: bool,
) -> int:
    """Run every point of STUDY's grid, once per algorithm and seed, into a folder of results.

    The same command resumes after any interruption: trials with a result, identified by a hash of all that determines
    it, are not run again. A trial that fails or hangs is repeated, then noted; the others continue.

    Exit codes: 0 done, 1 a trial failed, 2 bad input, 129 hung up, 130 interrupted, 143 terminated.
    """
    if output is None and not dry_run:
        raise click.UsageError("needs -o DIR, or --dry-run")
    from dstcc.scenario.units import duration_s
    from dstcc.sweeps.call import Sweep, local, ray, slurm
    from dstcc.trust import looking

    if dry_run:
        click.get_current_context().with_resource(looking())
    limit_s = None if trial_limit is None else duration_s(trial_limit, "--trial-limit")
    sweep = Sweep(study, output, train=train, argv=sys.argv, tell=notice)
    if dry_run:
        return _show_estimate(sweep.estimate(jobs), as_json)
    if others:
        return _show_merge(sweep, others, as_json)
    if engine != "slurm" and (script or tasks or options):
        raise click.UsageError("--script, --tasks and --slurm are of --engine slurm")
    if script:
        return _show_script(sweep.script(slurm(tasks, jobs or 1, options), limit_s), as_json)
    if engine != "ray" and address:
        raise click.UsageError("--address is of --engine ray")
    executor = local(jobs)
    if engine == "slurm":
        executor = slurm(tasks, jobs or 1, options)
    elif engine == "ray":
        executor = ray(address, jobs)
    with how_to_go_on(_again), _progress(sweep) as watch:
        swept = sweep.run(executor, retries=retries, limit_s=limit_s, watch=watch)
    return _conclude(swept, as_json)


def _again() -> str:
    """That the same command goes on."""
    return f"completed trials are kept; to continue: {shlex.join(['dstcc', *sys.argv[1:]])}"


@contextmanager
def _progress(sweep: Sweep) -> Iterator[Callable[[Progress], None]]:
    """A line on a terminal's stderr: what is done, what failed, how long it still takes."""
    if not sys.stderr.isatty():
        yield lambda _progress: None
        return
    from rich.status import Status

    with Status(sweep.study.name, console=notices()) as status:
        yield lambda progress: status.update(f"{sweep.study.name}: {progress_line(progress)}")


def progress_line(progress: Progress) -> str:
    """Where a sweep is, in words."""
    said = f"{progress.done:,} of {progress.trials:,} trials"
    if progress.failed:
        said += f", {progress.failed:,} failed"
    if progress.left_s is None:
        return f"{said}, no estimate yet"
    low, high = map(duration_words, progress.left_s)
    return f"{said}, about {low} left" if low == high else f"{said}, {low} to {high} left"


def duration_words(seconds: float) -> str:
    """``40 s``, ``12 min``, ``3.5 h``, ``2.1 d``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} d"


def _show_estimate(found: Estimate, as_json: bool) -> int:
    if as_json:
        emit_json(found.document())
        return 0
    out = console()
    left_out = f" ({found.left_out:,} points left out)" if found.left_out else ""
    tell(f"{found.sweep}: {found.cells:,} points{left_out}, {found.trials:,} trials")
    if found.missing < found.trials:
        out.print(f"{found.trials - found.missing:,} have results, {found.missing:,} are missing")
    if found.trial_s is None or found.low_s is None or found.high_s is None:
        why = "its own Python is not run" if found.extended else f"{found.measured} trials could be measured"
        out.print(f"time: not known, {why}")
    else:
        low, high = duration_words(found.low_s), duration_words(found.high_s)
        span = low if low == high else f"{low} to {high}"
        tell(
            f"time: {span} on {found.workers} cores, by {found.measured} trials that were measured now "
            f"({found.trial_s:.2g} s each on average)"
        )
    out.print(f"disk: at most {found.bytes / 1e6:,.1f} MB of results")
    return 0


def _show_merge(sweep: Sweep, others: tuple[Path, ...], as_json: bool) -> int:
    done, trials = sweep.merge(others), len(sweep.plan.units)
    if as_json:
        emit_json({"sweep": sweep.study.name, "trials": trials, "done": done, "missing": trials - done})
    else:
        console().print(f"{sweep.study.name}: {done:,} of {trials:,} trials have results")
    return 0


def _show_script(path: Path | None, as_json: bool) -> int:
    if as_json:
        emit_json({"script": None if path is None else str(path)})
    elif path is None:
        notice("every trial has its result")
    else:
        click.echo(path.read_text(encoding="utf-8"), nl=False)
        notice(f"submit it with: sbatch {shlex.quote(str(path))}")
    return 0


def _conclude(swept: Swept, as_json: bool) -> int:
    if as_json:
        emit_json(swept.document())
    else:
        finished = swept.done + swept.skipped
        earlier = f", {swept.skipped:,} of them before" if swept.skipped else ""
        tell(
            f"{swept.name}: {finished:,} of {swept.trials:,} trials of {swept.cells:,} points in {swept.folder}"
            f"{earlier}, {duration_words(swept.wall_s)}"
        )
    for one in swept.failed[:SHOWN_FAILURES]:
        notice(f"{one['trial']} failed {len(one['tries'])} times: {one['error']}")
    if len(swept.failed) > SHOWN_FAILURES:
        notice(f"and {len(swept.failed) - SHOWN_FAILURES:,} more")
    if swept.failed:
        notice(f"why, with tracebacks: {swept.folder / 'failed'}")
    return 1 if swept.failed else 0
