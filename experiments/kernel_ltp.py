"""Cells of `ltp`, plain and coded, simulator beside kernel, by the same seeds.

    python -m experiments.kernel_ltp [--seeds 4] [--only CELL] [--jobs 1] [-o docs/tables/kernel-ltp.csv]

A row a cell: mean and standard deviation of `weighted_layers` of both, the kernel's by the simulator's, Welch's z; the
ratio of throughput, with its z, and of wire bytes; and what was sent again, of what was sent. The rule is
docs/fidelity.md's: within 15 %. Throughput counts the time up to the last layer, which in a trial with losses is a
repair's, so that there a z below 2 is within the rule. Exit status 1: a cell is beyond it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dstcc.run import Trial
from dstcc.scenario import Scenario

from .beside_kernel import compared, numbers_of, trials_of, welch, write_table

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


def row_of(cell: str, seeds: int, jobs: int) -> tuple[list[str], bool]:
    """A cell's row, and whether it keeps the rule."""
    scenario = scenario_of(cell, seeds)
    (mine, fast, sent, again), (theirs, carried, put, repeated) = (
        numbers_of(trials_of(scenario, backend, jobs), wire_bytes, sent_again)
        for backend in ("simulator", "kernel")
    )
    ratios = [b.mean() / a.mean() for a, b in ((mine, theirs), (fast, carried), (sent, put))]
    fast_z = welch(fast, carried)
    values = (
        *compared(mine, theirs),
        *(f"{ratios[1]:.3f}", f"{fast_z:+.1f}", f"{ratios[2]:.3f}"),
        *(f"{one.mean():.4f}" for one in (again, repeated)),
    )
    near = [abs(ratio - 1) <= GOAL for ratio in ratios]
    return [cell, str(seeds), *values], near[0] and (near[1] or abs(fast_z) < MOST_Z) and near[2]


def wire_bytes(trial: Trial) -> float:
    """All that its links carried down."""
    return trial.outcome.result.totals.sent_wire_bytes if trial.outcome else 0.0


def sent_again(trial: Trial) -> float | None:
    """Of what was sent."""
    return trial.metrics.flat()["retransmitted_ratio"] if trial.metrics else None


@click.command()
@click.option("--seeds", default=4, show_default=True)
@click.option("--only", multiple=True, type=click.Choice(list(CELLS)))
@click.option("--jobs", default=1, show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path))
def main(seeds: int, only: tuple[str, ...], jobs: int, output: Path | None) -> None:
    """Print the table, and write it."""
    write_table(COLUMNS, only or CELLS, lambda cell: row_of(cell, seeds, jobs), output)


if __name__ == "__main__":
    main()
