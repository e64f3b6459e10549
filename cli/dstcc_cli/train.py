"""``dstcc train``: train a controller, or code rates of ltp, on a scenario."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from dstcc.algorithms import CODE_RATES as RATES
from dstcc.algorithms import CONTROLLERS

from . import complete
from .options import AS_JSON, LIMIT, PATH, SCENARIO
from .output import console, emit_json, notice, notices, progress, tell

if TYPE_CHECKING:
    from dstcc.learn.training.curves import Point
    from dstcc.learn.training.loop import Trained

EXAMPLES = """\b
Examples:
  dstcc train mars.toml -o runs/mars
  dstcc train mars.toml -o runs/mars --resume --steps 1000000
  dstcc train examples/iodst/table-1.toml -o runs/t1 --algorithm iodst-dqn \\
      --seed 7
  dstcc train examples/ltp/earth-mars.toml -o rates.json \\
      --algorithm ltp-rates
"""


@click.command(short_help="Train a controller on a scenario.", epilog=EXAMPLES)
@SCENARIO
@click.option(
    "-o",
    "--output",
    type=PATH,
    required=True,
    help="Folder for policy and curves; ltp-rates: the file.",
)
@click.option(
    "--algorithm",
    metavar="NAME",
    shell_complete=complete.learner,
    help=f"One of {', '.join(CONTROLLERS)}, {RATES}.  [default: dstcc-lanes, or the run's]",
)
@click.option(
    "--steps",
    type=click.IntRange(1),
    metavar="N",
    help="Slots in total; ltp-rates: trials.  [default: the algorithm's]",
)
@click.option(
    "--seed", type=click.IntRange(0), metavar="K", help="Seed of the training.  [default: 1, or the run's]"
)
@click.option("--resume", is_flag=True, help="Continue the run; start it if there is none.")
@click.option(
    "--device",
    type=click.Choice(["cpu", "cuda"]),
    default="cpu",
    show_default=True,
    help="Device of the network.",
)
@LIMIT
@AS_JSON
def command(
    *,
    scenario: Path,
    output: Path,
    algorithm: str | None,
    steps: int | None,
    seed: int | None,
    resume: bool,
    device: str,
    as_json: bool,
) -> int:
    """Train a controller on SCENARIO and write its policy for `dstcc emulate --controller`.

    Ctrl-C saves a checkpoint; --resume continues, bit for bit on a CPU. `ltp-rates` learns a table of repair shares of
    `ltp` with erasure coding, for `coding.repair` of a scenario; it takes minutes and cannot be resumed.

    Exit codes: 0 done, 1 failed, 2 bad input, 129 hung up, 130 interrupted, 143 terminated.
    """
    if algorithm == RATES:
        _train_rates(scenario, output, steps, seed, resume=resume, device=device, as_json=as_json)
        return 0
    from dstcc.learn import check_installed

    check_installed("dstcc train")
    from dstcc.learn.training.loop import Interrupted
    from dstcc.machine import cores
    from dstcc.train import steps_of, todays, train

    if algorithm is not None and todays(algorithm) != algorithm:
        notice(
            f"--algorithm {algorithm}: its learned part is gru-mpc; trained is {todays(algorithm)}, called so before"
        )

    most = steps or steps_of(algorithm, output, resume=resume)
    with _asked_to_stop() as asked, progress("training", most) as advance:
        shown = 0

        def watch(done: int, point: Point | None) -> None:
            nonlocal shown
            advance(done - shown)
            shown = done
            if point is not None:
                _say_point(point)

        try:
            trained = train(
                scenario,
                output,
                algorithm=algorithm,
                steps=steps,
                seed=seed,
                resume=resume,
                device=device,
                threads=cores(),
                stop=lambda: bool(asked),
                tell=notice,
                watch=watch,
            )
        except Interrupted:
            notice(f"saved in {output}; --resume continues")
            _end_as(asked[0])
    if as_json:
        emit_json(trained.document())
    else:
        _say_trained(trained, most)
    return 0


def _train_rates(
    scenario: Path,
    output: Path,
    trials: int | None,
    seed: int | None,
    *,
    resume: bool,
    device: str,
    as_json: bool,
) -> None:
    from dstcc.learn.ltp_rates import write

    if resume or device != "cpu":
        option = "--resume" if resume else f"--device {device}"
        raise click.UsageError(f"{option}: {RATES} is a table, which is learned in one go on the CPU")
    with progress("training", None):
        made = write(scenario, output, episodes=trials, seed=seed)
    if as_json:
        emit_json(made.document())
    else:
        about = made.table.trained
        tell(f"{output}: {about['matrices']:,} matrices, {about['states']} states")


@contextmanager
def _asked_to_stop() -> Iterator[list[int]]:
    """A list to which a first SIGINT, SIGTERM or SIGHUP is appended; a second one ends the process as usual."""
    from .main import ENDS

    asked: list[int] = []
    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield asked
        return
    before = {int(number): signal.getsignal(number) for number in (signal.SIGINT, *ENDS)}

    def note(number: int, _frame: object) -> None:
        asked.append(number)
        signal.signal(number, before[number])

    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, note)
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_as(number: int) -> NoReturn:
    from .main import Terminated

    raise KeyboardInterrupt if number == signal.SIGINT else Terminated(number)


def _say_point(point: Point) -> None:
    notices().print(
        f"step {point.step:>10,}  score {point.score:.4g} (best {point.best:.4g})  "
        f"loss {point.loss:.4g}  random {point.random:.2g}"
    )


def _say_trained(trained: Trained, most: int) -> None:
    evaluation = trained.evaluation
    low, high = evaluation.bounds()
    done = "all steps done" if trained.steps <= most else f"{most:,} asked for, in whole batches"
    why = "no better for long" if trained.reason == "patience" else done
    out = console()
    out.print(
        f"{trained.algorithm}, {trained.steps:,} steps ({why}), {trained.env_steps_per_s:,.0f} steps/s: "
        f"{trained.metric} {evaluation.value:.4g} [{low:.4g}, {high:.4g}] on {evaluation.n} seeds it was not trained on"
    )
    tell(f"policy: {trained.policy}")
