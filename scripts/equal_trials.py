"""Do two builds of the engine give the same results? Random trials, each with one digest per part of its result.

    python scripts/equal_trials.py -o FILE [--seed 1] [--trials 10000]        at one commit
    python scripts/equal_trials.py --against FILE [--ignore PART]... [-o F]  at the other: names the trials that differ
    python scripts/equal_trials.py --show NUMBER [--seed 1]                  what trial NUMBER is
    python scripts/equal_trials.py --nodes ...                               the same over nodes
    DSTCC_ENGINE=packets python scripts/equal_trials.py -o FILE              without runs; against it with --ignore cost

A trial follows from the seed and its number. Together they have every congestion control and scheduler, a Python
control and scheduler, ltp, layers coded over packets, every loss process, both modes, lanes that share a window and
lanes apart, deadlines and none, outages that end and that do not, curved delays, bounded receivers, background flows,
cross traffic, scripted drops, traces, senders that restart, and trials that an agent steers with random actions; of
many the clairvoyant bound is taken too, of coded ones also the law's. They are short: 10,000 take a minute or two of
one core.

The parts of a result, each with its own digest: `objects` (with the time of the end), `samples`, `totals`, `cost` (the
four totals that say what the engine itself spent: events, run_packets, engine_peak_bytes, reorder_peak_bytes), `flows`,
`trace` (packets and steps), `coding` (blocks and what they brought back), `nodes` (and their hops), `values` (what
the agent saw in each slot), `bound`.
--ignore leaves a part out of the comparison. An error that the engine raises counts as a result.

Exit status 1: some trial differs. 2: FILE holds other trials than these.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

from dstcc.algorithms import CONGESTION, SCHEDULERS

sys.path.insert(0, str(Path(__file__).parents[1]))

from scripts.random_trials.coverage import coverage, missing
from scripts.random_trials.digest import PARTS, differing
from scripts.random_trials.draw import draw_trial
from scripts.random_trials.nodes import over_nodes
from scripts.random_trials.run import run_trial
from scripts.random_trials.trial import Trial


def fail(message: str) -> NoReturn:
    """Say what is wrong with the input and leave."""
    print(f"equal_trials: {message}", file=sys.stderr)
    raise SystemExit(2)


def read(path: Path, drawn: dict[str, Any]) -> list[dict[str, str]]:
    """Take the digests of another build, if they are of the same trials."""
    try:
        document = json.loads(path.read_text())
        trials: list[dict[str, str]] = document.pop("results")
    except (OSError, ValueError, KeyError, AttributeError) as error:
        fail(f"{path}: not written by this program ({error})")
    if document != drawn:
        fail(f"{path} holds other trials: it has {document}, this run {drawn}")
    return trials


def main(argv: list[str] | None = None) -> int:
    """Run the trials; see the top of the file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the digests here")
    parser.add_argument(
        "--against", type=Path, metavar="FILE", help="compare with the digests of another build"
    )
    parser.add_argument("--ignore", action="append", default=[], choices=PARTS, help="a part not to compare")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument(
        "--show", type=int, metavar="NUMBER", help="print one trial's configuration and digests"
    )
    parser.add_argument("--nodes", action="store_true", help="each trial over nodes")
    options = parser.parse_args(argv)

    def draw(number: int) -> Trial:
        trial = draw_trial(options.seed, number)
        return over_nodes(options.seed, trial) if options.nodes else trial

    if options.show is not None:
        trial = draw(options.show)
        print(trial, *(f"{name}: {value}" for name, value in asdict(trial.config).items()), sep="\n")
        print(run_trial(options.seed, trial))
        return 0
    drawn = {"seed": options.seed, "trials": options.trials} | ({"nodes": True} if options.nodes else {})
    drawn["names"] = hashlib.sha256(repr((CONGESTION, SCHEDULERS)).encode()).hexdigest()[:16]
    old = None if options.against is None else read(options.against, drawn)
    trials = [draw(number) for number in range(options.trials)]
    began = time.monotonic()
    new = [run_trial(options.seed, trial) for trial in trials]
    errors = [
        f"{trial}: {parts['objects']}" for trial, parts in zip(trials, new, strict=True) if len(parts) == 1
    ]
    print(f"{len(trials)} trials in {time.monotonic() - began:.0f} s, {len(errors)} of them errors")
    print(*errors[:20], sep="\n", end="\n" if errors else "")
    if lacking := missing(coverage(trials)):
        print("no trial has: " + ", ".join(lacking))
    if options.output is not None:
        options.output.write_text(json.dumps(drawn | {"results": new}, indent=0) + "\n")
    if old is None:
        return 0
    changed = [
        (trial, parts)
        for trial, before, after in zip(trials, old, new, strict=True)
        if (parts := differing(before, after, options.ignore))
    ]
    for trial, parts in changed:
        print(f"differs in {', '.join(parts)}: {trial}")
    print(f"{len(changed)} of {len(trials)} trials differ")
    return 1 if changed else 0


if __name__ == "__main__":
    raise SystemExit(main())
