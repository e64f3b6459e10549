"""Random trials, each held to what must hold of every trial, and to the same bytes however it is run.

    python -m scripts.simulation [-n SEEDS] [--first K]     one after another; exit status 1 if one has a finding
    python -m scripts.simulation --seed K                   that one alone, with all that is in it

A trial follows from its number alone: its links (losses by every process and schedule, bursts, rates in steps, outages
announced and not, jumps and curves of the delay, queues from a packet to a gigabyte, cross traffic, background flows),
its data and its algorithms in every mode (one stream, lanes, connections apart, redundant, layers pinned, coded, ltp),
and what steers it (agents for windows, layers and repair, of which some die in the middle).

Checked (``scripts/random_trials/invariants.py``): bytes and packets are conserved; nothing arrives that was not sent,
or before light does, or before its release; metrics are in their ranges; the clairvoyant bound is never beaten; the
engine's own invariants. And the result is the same bytes when the trial runs again, in threads, and slot by slot.

A trial with a finding is printed with the command that repeats it, and with the least configuration found that still
has one.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).parents[1]))

from scripts.random_trials.changing import changing_trial
from scripts.random_trials.simulate import findings, shrunk

DRAWN = 2026
"""The seed that all trials are drawn under; a trial's number is its own."""


def run(numbers: range) -> list[int]:
    """Run these trials; the numbers of those with findings, which are printed."""
    failed = []
    for number in numbers:
        trial = changing_trial(DRAWN, number)
        found = findings(DRAWN, trial)
        if not found:
            continue
        failed.append(number)
        print(f"\nseed {number}: {trial}", *(f"  {what}" for what in found[:5]), sep="\n")
        print(f"  again: python -m scripts.simulation --seed {number}", flush=True)
    return failed


@click.command(help=__doc__)
@click.option("-n", "--seeds", type=click.IntRange(1), default=200, show_default=True, help="How many.")
@click.option("--first", type=click.IntRange(0), default=0, show_default=True, help="The first.")
@click.option(
    "--seed", type=click.IntRange(0), metavar="K", help="This one alone, shrunk if it has a finding."
)
def main(seeds: int, first: int, seed: int | None) -> None:
    """Run them."""
    began = time.monotonic()
    if seed is not None:
        trial = changing_trial(DRAWN, seed)
        print(trial)
        found = findings(DRAWN, trial)
        print(*found or ["nothing found"], sep="\n")
        config = shrunk(DRAWN, trial) if found else trial.config
        print(*(f"{name}: {value}" for name, value in asdict(config).items()), sep="\n")
        sys.exit(1 if found else 0)
    failed = run(range(first, first + seeds))
    kinds = Counter(changing_trial(DRAWN, number).kind for number in range(first, first + min(seeds, 1000)))
    print(
        f"{seeds} seeds in {time.monotonic() - began:.0f} s, {len(failed)} with a finding; of a thousand: {dict(kinds)}"
    )
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
