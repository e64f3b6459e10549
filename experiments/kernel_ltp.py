"""Cells of `ltp`, plain and coded, simulator beside kernel, by the same seeds.

    python -m experiments.kernel_ltp [--seeds 4] [--only CELL] [--jobs 1] [-o docs/tables/kernel-ltp.csv]

A row a cell: mean and standard deviation of `weighted_layers` of both, the kernel's by the simulator's, Welch's z; the
ratio of throughput, with its z, and of wire bytes; and what was sent again, of what was sent. The rule is
docs/fidelity.md's: within 15 %. Throughput counts the time up to the last layer, which in a trial with losses is a
repair's, so that there a z below 2 is within the rule. Exit status 1: a cell is beyond it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np

from dstcc.atomic import atomic_write
from dstcc.run.trials import Trial
from dstcc.scenario import Scenario
from experiments.kernel_networks import trials_of

COLUMNS = (
    *("cell", "seeds", "simulator", "sd", "kernel", "sd", "ratio", "z", "throughput ratio", "z"),
    *("wire bytes ratio", "retransmitted", "retransmitted on the kernel"),
)
GOAL, MOST_Z = 0.15, 2.0
"""Of |ratio - 1|; of throughput's z beyond that."""
LINKS: tuple[dict[str, Any], ...] = (
    {"name": "relay", "rate_bps": 200_000, "up_rate_bps": 20_000, "delay_s": 8.0, "queue_bytes": 400_000},
    {"name": "direct", "rate_bps": 100_000, "up_rate_bps": 20_000, "delay_s": 10.0, "queue_bytes": 300_000},
)
CELLS: dict[str, dict[str, Any]] = {
    "clean": {},
    "losses": {"loss": {"packet": 0.02}, "up_loss": {"packet": 0.02}},
    "bursts": {"loss": {"gilbert_elliott": {"p": 0.004, "r": 0.1}}},
    "outages": {"loss": {"packet": 0.01}, "outages": [[30, 50], [90, 96]]},
    "frames": {"loss": {"ebn0_db": 0.4, "code": "ccsds-turbo-1/3-1784"}},
    "green": {"loss": {"packet": 0.02}, "transport": {"ltp_green_from_layer": 1}},
    "more than fits": {"loss": {"packet": 0.02}, "rate_bps": 60_000, "playout": {"delay_s": 30.0}},
    "coded": {"loss": {"packet": 0.02}, "coding": {"repair": [0.1, 0.05, 0.05], "block_s": 10.0}},
    "delayed feedback": {"loss": {"packet": 0.05}, "coding": {"repair": "delayed-feedback", "block_s": 10.0}},
}  # fmt: skip
"""Keys of every link, and of other tables."""
TABLES = ("transport", "playout", "coding")


def scenario_of(cell: str, seeds: int, *, scale: float = 2.0) -> Scenario:
    """Two minutes of video over two links, whose round trips are 16 and 20 s."""
    own = {key: value for key, value in CELLS[cell].items() if key not in TABLES}
    tables = {key: CELLS[cell].get(key, {}) for key in TABLES}
    return Scenario.model_validate(
        {
            "scenario": {"name": cell},
            "video": {
                "synthetic": {"chunk_s": 1.0, "layer_bps": [80_000, 60_000, 40_000]},
                "loop_to_s": 120.0,
            },
            "link": [link | own for link in LINKS],
            "transport": {"congestion": "ltp"} | tables["transport"],
            **({"coding": tables["coding"]} if tables["coding"] else {}),
            "playout": {"delay_s": 60.0} | tables["playout"],
            "run": {"slot_s": 5.0, "scale": scale, "seeds": seeds},
        }
    )


def numbers_of(trials: list[Trial]) -> tuple[np.ndarray[Any, Any], ...]:
    """`weighted_layers`, throughput, wire bytes and `retransmitted_ratio`, by seed."""
    rows = []
    for trial in trials:
        if trial.metrics is None or trial.outcome is None:
            raise click.ClickException(f"{trial.id}: {trial.error}")
        metrics = trial.metrics.flat()
        sent = trial.outcome.result.totals.sent_wire_bytes
        names = ("weighted_layers", "throughput_bps", "retransmitted_ratio")
        layers, throughput, again = (float(metrics[name] or 0.0) for name in names)
        rows.append((layers, throughput, float(sent), again))
    layers_, throughput_, sent_, again_ = np.array(rows).T
    return layers_, throughput_, sent_, again_


def welch(before: np.ndarray[Any, Any], after: np.ndarray[Any, Any]) -> float:
    """The difference of the means by its standard error."""
    error = np.sqrt(before.var(ddof=1) / len(before) + after.var(ddof=1) / len(after))
    return float((after.mean() - before.mean()) / error) if error > 0 else 0.0


def row_of(cell: str, seeds: int, jobs: int) -> tuple[list[str], bool]:
    """A cell's row, and whether it keeps the rule."""
    scenario = scenario_of(cell, seeds)
    (mine, fast, sent, again), (theirs, carried, put, repeated) = (
        numbers_of(trials_of(scenario, backend, jobs)) for backend in ("simulator", "kernel")
    )
    ratios = [b.mean() / a.mean() for a, b in ((mine, theirs), (fast, carried), (sent, put))]
    z, fast_z = welch(mine, theirs), welch(fast, carried)
    values = (
        *(f"{one:.4f}" for one in (mine.mean(), mine.std(ddof=1), theirs.mean(), theirs.std(ddof=1))),
        *(f"{ratios[0]:.3f}", f"{z:+.1f}", f"{ratios[1]:.3f}", f"{fast_z:+.1f}", f"{ratios[2]:.3f}"),
        *(f"{one.mean():.4f}" for one in (again, repeated)),
    )
    near = [abs(ratio - 1) <= GOAL for ratio in ratios]
    return [cell, str(seeds), *values], near[0] and (near[1] or abs(fast_z) < MOST_Z) and near[2]


@click.command()
@click.option("--seeds", default=4, show_default=True)
@click.option("--only", multiple=True, type=click.Choice(list(CELLS)))
@click.option("--jobs", default=1, show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path))
def main(seeds: int, only: tuple[str, ...], jobs: int, output: Path | None) -> None:
    """Print the table, and write it."""
    beyond = []

    def lines() -> Iterator[str]:
        yield ",".join(COLUMNS)
        for cell in only or CELLS:
            row, kept = row_of(cell, seeds, jobs)
            beyond.extend([] if kept else [cell])
            yield ",".join(row)

    table = []
    for line in lines():
        click.echo(line)
        table.append(line)
    if output is not None:
        atomic_write(output, "\n".join(table) + "\n")
    sys.exit(int(bool(beyond)))


if __name__ == "__main__":
    main()
