"""``dstcc emulate``: run every combination of algorithms and seeds of a scenario."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import complete
from .kernel import WHICH
from .options import ALLOW, AS_JSON, LIMIT, PATH, SCENARIO
from .output import console, emit_json, how_to_go_on, notice, number_table, progress, say, show_figures, tell

if TYPE_CHECKING:
    from dstcc.clock import Clock
    from dstcc.run import Finished, Plan, TrialRow
    from dstcc.run.plan import PlannedLink
    from dstcc.scenario import Scenario

BACKENDS = ("simulator", "kernel", "host")
SILENT = (
    "its first link never answered, or no layer could arrive completely by its deadline at the initial rate"
)
SHOWN_TRIALS = 30
"""Most trials that a dry run lists."""

EXAMPLES = """\b
Examples:
  dstcc emulate mars.toml --dry-run
  dstcc emulate mars.toml -o run
  dstcc emulate mars.toml -o run --congestion cubic --congestion bbr-scaled \\
      --seeds 5
  dstcc emulate mars.toml -o run --set link.0.loss.packet=1e-3 \\
      --set playout.delay_s=3600
"""


@click.command(short_help="Send a scenario's video over its links.", epilog=EXAMPLES)
@SCENARIO
@click.option("-o", "--output", type=PATH, help="Run directory to write (without --dry-run).")
@click.option(
    "--backend",
    type=click.Choice(BACKENDS),
    default="simulator",
    show_default=True,
    help="simulator; kernel: Linux in virtual time (see `dstcc kernel`); host: the running kernel.",
)
@WHICH
@click.option(
    "--congestion",
    "congestions",
    multiple=True,
    metavar="NAME",
    shell_complete=complete.congestion,
    help="Congestion control instead of the scenario's (`dstcc algorithms`); repeatable. none: controllers, variants.",
)
@click.option(
    "--scheduler",
    "schedulers",
    multiple=True,
    metavar="NAME",
    shell_complete=complete.scheduler,
    help="Scheduler instead of the scenario's; repeatable.",
)
@click.option(
    "--controller",
    "controllers",
    multiple=True,
    metavar="POLICY",
    shell_complete=complete.policy,
    help="A policy's name or file, instead of congestion control and scheduler unless the scenario or an option "
    "names these; repeatable.",
)
@click.option(
    "--variant",
    "variants",
    multiple=True,
    metavar="LABEL",
    help="Run only this variant of the scenario; repeatable.  [default: all, or none with --congestion or --scheduler]",
)
@click.option(
    "--seeds", type=int, metavar="N", help="Number of seeds; a trial each.  [default: the scenario's, or 1]"
)
@click.option("--seed", type=int, metavar="K", help="The first seed.  [default: the scenario's, or 1]")
@click.option(
    "--scale",
    metavar="S",
    help="Mission seconds per emulated second, or auto.  [default: the scenario's, or auto]",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Override a key, like link.0.loss.packet=1e-3 (links count from 0); KEY= deletes it; repeatable.",
)
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Parallel trials.  [default: all cores]")
@click.option("--no-quality", is_flag=True, help="Skip PSNR, SSIM and VMAF.")
@click.option(
    "--qlog", is_flag=True, help="Also write each trial's packets as qlog (large; for qvis and scripts)."
)
@click.option(
    "--pcapng", is_flag=True, help="Also write each trial's packets as a capture for Wireshark (large)."
)
@click.option("--resume", is_flag=True, help="Complete an interrupted run of the same command.")
@LIMIT
@ALLOW
@click.option("--dry-run", is_flag=True, help="Print the trials and estimates; run nothing.")
@click.option("--force", is_flag=True, help="Overwrite an existing run (only if dstcc wrote it).")
@AS_JSON
def command(
    *,
    scenario: Path,
    output: Path | None,
    backend: str,
    congestions: tuple[str, ...],
    schedulers: tuple[str, ...],
    controllers: tuple[str, ...],
    variants: tuple[str, ...],
    seeds: int | None,
    seed: int | None,
    scale: str | None,
    settings: tuple[str, ...],
    jobs: int | None,
    no_quality: bool,
    qlog: bool,
    pcapng: bool,
    resume: bool,
    dry_run: bool,
    force: bool,
    as_json: bool,
) -> int:
    """Send SCENARIO's video over its links, once per congestion control, scheduler and seed, and per variant and seed,
    into a run directory.

    Exit codes: 0 done, 1 a trial failed, 2 bad input, 3 an [expect] bound missed, 129 hung up, 130 interrupted,
    143 terminated.
    """
    if output is None and not dry_run:
        raise click.UsageError("needs -o RUN, or --dry-run")
    from dstcc.clock import Clock
    from dstcc.outputs import check_output
    from dstcc.run import ask, plan, trial_keys
    from dstcc.run.asked import overrides, read
    from dstcc.scenario import files_of, scenario_files
    from dstcc.trust import looking

    changed = overrides(
        settings,
        scale=scale,
        congestion=congestions,
        scheduler=schedulers,
        controller=controllers,
        seeds=seeds,
        seed=seed,
    )
    if dry_run:
        click.get_current_context().with_resource(looking())
    loaded = read(scenario, changed, variants=variants, congestion=congestions, scheduler=schedulers)
    if output is not None and not dry_run:
        from dstcc.run import RUN  # with pyarrow, which a dry run does not need

        check_output(output, RUN, force=force, inputs=[*scenario_files(scenario), *files_of(loaded)])
    _say_unscheduled(loaded)
    only_controllers = () if variants or congestions or schedulers else controllers
    logs = frozenset(name for name, wanted in (("qlog", qlog), ("pcapng", pcapng)) if wanted)
    asked = ask(loaded, backend, logs=logs, alone=only_controllers)
    if dry_run or output is None:
        planned = plan(loaded, asked.source, backend, policies=asked.policies, work=asked.work)
        return _show_plan(planned, Clock(loaded.scenario.start), as_json)
    from dstcc.run import write_run

    argv = [word for word in sys.argv if word != "--resume"]
    trials = len(trial_keys(loaded))
    with how_to_go_on(lambda: _kept(output, argv, trials)), progress(loaded.scenario.name, trials) as advance:
        finished = write_run(
            output,
            loaded,
            asked.source,
            argv=argv,
            backend=asked.backend,
            policies=asked.policies,
            force=force,
            quality=not no_quality,
            logs=logs,
            jobs=jobs,
            keep=True,
            resume=resume,
            advance=advance,
        )
    return _conclude(scenario, output, loaded, finished, as_json)


def _kept(output: Path, argv: list[str], trials: int) -> str | None:
    """How many trials are kept, and which command goes on with them."""
    from dstcc.run.kept import kept_trials

    count, again = kept_trials(output), shlex.join(["dstcc", *argv[1:], "--resume"])
    return f"{count} of {trials} trials are kept; to continue: {again}" if count else None


def _say_unscheduled(scenario: Scenario) -> None:
    """Print before the run which of several schedulers do not apply to a transfer."""
    from dstcc.algorithms import TRANSFERS, schedulers_of

    named = scenario.transport.scheduler
    for name in scenario.transport.congestion:
        idle = [scheduler for scheduler in named if scheduler not in schedulers_of(name, named)]
        if name in TRANSFERS and len(named) > 1 and idle:
            notice(f"{name} takes no scheduler, one trial a seed: not {', '.join(idle)}")


def _conclude(path: Path, output: Path, scenario: Scenario, finished: Finished, as_json: bool) -> int:
    """Print the results; returns the exit code."""
    from dstcc.clock import Clock
    from dstcc.expect import MISSED, OUT_OF_REACH, check, idle, out_of_reach, unseen

    from .trials import show_trials

    done, meta = finished.trials, finished.meta
    misses = check(scenario.expect, done, where=str(path))
    failed = [trial for trial in done if trial.status == "failed"]
    if as_json:
        emit_json(_document(output, meta, done))
    else:
        show_trials(_titled(scenario.scenario.name, Clock(scenario.scenario.start)), done, meta["algorithms"])
        tell(f"{len(done) - len(failed)} of {len(done)} trials in {output}")
    notes = [*meta["warnings"], *(f"{trial.id} failed: {trial.error}" for trial in failed), *map(str, misses)]
    away = {trial.id for trial in done if trial.metrics and out_of_reach(trial.metrics)}
    if away:
        whose = "every trial" if len(away) == len(done) else ", ".join(sorted(away))
        notes.append(f"{whose}: {OUT_OF_REACH}, so there is no oracle_ratio")
    notes += [f"expect.{key} was not checked there" for key in unseen(scenario.expect, done)]
    notes += [
        f"{trial.id} sent nothing: {SILENT}"
        for trial in done
        if _sent_nothing(trial) and trial.id not in away
    ]
    if nobodys := idle(scenario.expect, done):
        notes.append(
            f"not checked, as the run has no such trial: {', '.join(f'expect.{key}' for key in nobodys)}"
        )
    for note in notes:
        notice(note)
    if failed:
        return 1
    return MISSED if misses else 0


def _sent_nothing(trial: TrialRow) -> bool:
    return trial.metrics is not None and trial.metrics.values["sent_bytes"] == 0


def _document(output: Path, meta: dict[str, Any], done: list[TrialRow]) -> dict[str, object]:
    return {
        "run": str(output),
        "scenario": meta["scenario_name"],
        "backend": meta["backend"],
        "scale": meta["scale"],
        "algorithms": meta["algorithms"],
        "trials": [trial.document() for trial in done],
    }


def _show_plan(plan: Plan, clock: Clock, as_json: bool) -> int:
    if as_json:
        emit_json(plan.document())
        return 0
    from dstcc.algorithms import RECONSTRUCTED
    from dstcc.report.least_delay import words

    from .network import show_network
    from .trials import show_algorithms

    title = f"{_titled(plan.scenario, clock)} (links as seed {plan.seed} draws them)"
    if plan.network is None:
        _show_links(plan, title)
    else:
        show_network(plan.network, title, plan.mission_s, plan.payload_bytes, _loss)
    out = console()
    for link in plan.links:
        if others := _others(link):
            say(f"others on {link.name}: {others}")
    for note in plan.notes:
        say(note)
    out.print(f"video: {plan.chunks:,} chunks of {plan.layers} layers, {plan.payload_bytes:,} bytes")
    delay, length = plan.playout_delay_s, plan.mission_s
    when = f", {clock.between(0.0, length)} UTC" if clock.dated else ""
    out.print(f"playout delay {delay:,.6g} s; a run lasts about {length:,.6g} s{when}")
    if plan.least_playout_delays:
        tell(f"least playout delay with all in time: {words(plan.least_playout_delays)}")
    heading = "in mission time:" if plan.distorts else "nothing distorted"
    out.print(f"time scale S = {plan.scale:g}, {heading}")
    for line in plan.distorts:
        say(f"  {line}")
    most = {name: said["estimate"] for name, said in plan.work.items()}
    out.print(
        f"a trial takes up to {most['events']:.2g} events and {most['memory'] / 1e6:,.0f} MB; "
        f"the run's folder up to {most['bytes'] / 1e6:,.0f} MB"
    )
    out.print(f"{len(plan.trials)} trials, about {plan.estimated_packets:,} data packets:")
    for trial in plan.trials[:SHOWN_TRIALS]:
        rebuilt = trial in plan.reconstructions
        out.print(f"  {trial} {RECONSTRUCTED}" if rebuilt else f"  {trial}")
    if len(plan.trials) > SHOWN_TRIALS:
        out.print(f"  and {len(plan.trials) - SHOWN_TRIALS} more")
    show_algorithms([one.document() for one in plan.algorithms])
    return 0


def _show_links(plan: Plan, title: str) -> None:
    headings = ("link", "RTT s", "rate bit/s", "BDP packets", "loss", "queue bytes", "outages s")
    table = number_table(*headings, texts=("link", "loss"), title=title)
    for link in plan.links:
        table.add_row(
            link.name,
            f"{link.rtt_s:,.6g}",
            _rate(link.least_rate_bps, link.rate_bps),
            f"{link.bdp_packets:,.1f}",
            _loss(link.loss),
            f"{link.queue_bytes:,}",
            f"{link.outage_s:,.0f}" if link.outages else "–",
        )
    show_figures(table)


def _titled(name: str, clock: Clock) -> str:
    """A table's title: which mission, and when."""
    return f"{name}, from {clock.moment(0.0)} UTC" if clock.dated else name


def _rate(least_bps: float, most_bps: float) -> str:
    """``200,000``, or ``40,000–200,000`` where it changes."""
    return f"{most_bps:,.0f}" if least_bps == most_bps else f"{least_bps:,.0f}–{most_bps:,.0f}"


def _others(link: PlannedLink) -> str:
    """Background traffic in a few words: ``4 TCP flows (4 newreno), 1 source of datagrams (200,000 bit/s)``."""
    controls = Counter(str(flow["congestion"]) for flow in link.flows)
    said = []
    if controls:
        names = ", ".join(f"{count} {name}" for name, count in controls.items())
        written = sum(flow["rate_bps"] or 0 for flow in link.flows)
        rate = f" writing {written:,.0f} bit/s" if written else ""
        said.append(f"{_count(len(link.flows), 'TCP flow')} ({names}){rate}")
    if link.datagrams_bps:
        rates_bps = link.datagrams_bps
        said.append(f"{_count(len(rates_bps), 'source')} of datagrams ({sum(rates_bps):,.0f} bit/s while on)")
    return ", ".join(said)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number:,} {what}s"


def _loss(loss: dict[str, Any]) -> str:
    """A loss process in a few words: ``packet 0.001``, or Gilbert-Elliott's four numbers."""
    if "gilbert_elliott" in loss:
        values = loss["gilbert_elliott"]
        return " ".join(f"{key} {values[key]:g}" for key in ("p", "r", "good", "bad"))
    if "frames" in loss:
        values = loss["frames"]
        low, high = values["ebn0_db"]
        worst, best = values["frame_error_rate"]
        decibels, rates = _span(f"{low:.2f}", f"{high:.2f}"), _span(f"{worst:.2g}", f"{best:.2g}")
        floor = " (the table's floor)" if low > values["table_ebn0_db"][1] else ""
        return f"{values['code']} at {decibels} dB, FER {rates}{floor}"
    if "schedule" in loss:
        values = loss["schedule"]
        return _span(f"{values['min']:.3g}", f"{values['max']:.3g}") + ", changing"
    return ", ".join(f"{kind} {value:.3g}" for kind, value in loss.items()) or "none"


def _span(low: str, high: str) -> str:
    return low if low == high else f"{low}–{high}"
