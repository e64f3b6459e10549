"""Many runs: ``python -m tests.sweeps.world -n 10000``."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

import click

from .broken import BROKEN, break_product


@click.command(help=__doc__)
@click.option("-n", "--runs", type=click.IntRange(1), default=1000, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True, help="The first.")
@click.option(
    "--broken", type=click.Choice(list(BROKEN)), help="Break the product so, and end at the first finding."
)
def main(runs: int, seed: int, broken: str | None) -> None:
    """Play."""
    if broken is not None:
        break_product(broken)
    from .runs import Bench, play

    wrong, struck, steps = 0, Counter[str](), 0
    with tempfile.TemporaryDirectory() as home:
        bench = Bench(Path(home))
        for number in range(seed, seed + runs):
            run = play(number, bench)
            click.echo("".join(f"{problem}\n" for problem in run.problems), nl=False)
            wrong += bool(run.problems)
            struck.update(run.faults.struck)
            steps += run.world.steps
            if broken is not None and wrong:
                runs = number - seed + 1
                break
    faults = ", ".join(f"{kind} {count:,}" for kind, count in sorted(struck.items()))
    click.echo(f"{runs:,} runs of {steps:,} steps, faults: {faults}; {wrong:,} with findings")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
