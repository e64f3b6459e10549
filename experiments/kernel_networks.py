"""Five cells of two and three hops with storage, simulator beside kernel, by the same seeds.

    python -m experiments.kernel_networks [--seeds 6] [--only CELL] [--jobs 1] [-o docs/tables/kernel-networks.csv]

A row a cell: mean and standard deviation of `weighted_layers` of both, the kernel's by the simulator's, Welch's z; the
ratio of throughput; and the most that a node held, on both. The rule is docs/fidelity.md's: within 15 %, BBR 20 %. Exit
status 1: a cell is beyond it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dstcc.run import Trial
from dstcc.scenario import Scenario

from .beside_kernel import compared, numbers_of, trials_of, write_table

COLUMNS = (
    *("cell", "hops", "transport", "seeds", "simulator", "sd", "kernel", "sd", "ratio", "z"),
    *("throughput ratio", "most held (kB)", "most held on the kernel (kB)"),
)
GOAL = {"bbr": 0.20}
"""Of |ratio - 1|; any other control's is 0.15."""
LOSS = {"packet": 2e-3}
UHF: dict[str, Any] = {"rate_bps": 240_000, "delay_s": 0.5, "loss": LOSS}
LANES = {"mode": "lanes", "lanes_per_link": 4}
Ends = tuple[str, str]
CELLS: dict[str, tuple[dict[str, Any], dict[str, dict[str, Any]], dict[Ends, dict[str, Any]], list[list[Ends]]]] = {
    "store": (
        {**LANES, "congestion": "cubic"},
        {"orbiter": {"storage_bytes": 4_000_000}},
        {
            ("rover", "orbiter"): UHF,
            ("orbiter", "earth"): {"rate_bps": 200_000, "delay_s": 4, "outages": [[40, 65]], "loss": LOSS},
        },
        [[("rover", "orbiter"), ("orbiter", "earth")]],
    ),
    "stream": (
        {"mode": "stream", "congestion": "newreno"},
        {"orbiter": {"storage_bytes": 4_000_000}},
        {
            ("rover", "orbiter"): {**UHF, "outages": [[70, 80]]},
            ("orbiter", "earth"): {"rate_bps": 200_000, "delay_s": 2, "outages": [[30, 50]]},
        },
        [[("rover", "orbiter"), ("orbiter", "earth")]],
    ),
    "three": (
        {**LANES, "congestion": "newreno"},
        {"orbiter": {"storage_bytes": 100_000}, "relay": {"storage_bytes": 400_000}},
        {
            ("rover", "orbiter"): UHF,
            ("orbiter", "relay"): {"rate_bps": 200_000, "delay_s": 1, "outages": [[30, 45]]},
            ("relay", "earth"): {"rate_bps": 200_000, "delay_s": 3, "outages": [[60, 75]], "loss": LOSS},
        },
        [[("rover", "orbiter"), ("orbiter", "relay"), ("relay", "earth")]],
    ),
    "coded": (
        {"mode": "coded", "congestion": "paced"},
        {
            "orbiter": {"storage_bytes": 200_000, "when_full": "drop-head"},
            "relay": {"storage_bytes": 4_000_000, "restart": {"at_s": [70.0], "boot_s": 3.0}},
        },
        {
            ("rover", "orbiter"): UHF,
            ("orbiter", "relay"): {"rate_bps": 210_000, "delay_s": 1, "outages": [[30, 50]], "loss": LOSS},
            ("relay", "earth"): {"rate_bps": 200_000, "delay_s": 3, "outages": [[65, 75]], "loss": LOSS},
        },
        [[("rover", "orbiter"), ("orbiter", "relay"), ("relay", "earth")]],
    ),
    "two-ways": (
        {**LANES, "congestion": "bbr"},
        {"orbiter": {"storage_bytes": 4_000_000}, "relay": {}},
        {
            ("rover", "orbiter"): UHF,
            ("orbiter", "earth"): {"rate_bps": 120_000, "delay_s": 2, "outages": [[40, 60]], "loss": LOSS},
            ("orbiter", "relay"): {"rate_bps": 100_000, "delay_s": 1},
            ("relay", "earth"): {"rate_bps": 120_000, "delay_s": 2, "loss": LOSS},
        },
        [
            [("rover", "orbiter"), ("orbiter", "earth")],
            [("rover", "orbiter"), ("orbiter", "relay"), ("relay", "earth")],
        ],
    ),
}  # fmt: skip
"""Transport, nodes on the way, links and paths of each."""


def scenario_of(cell: str, seeds: int) -> Scenario:
    """Two minutes of video over round trips of 5 to 10 s."""
    transport, nodes, links, paths = CELLS[cell]
    return Scenario.model_validate(
        {
            "scenario": {"name": cell, "duration_s": 240.0},
            "video": {"synthetic": {"chunk_s": 1.0, "layer_bps": [60_000, 60_000, 40_000]}, "loop_to_s": 120.0},
            "node": [{"name": "rover"}, *({"name": name, **own} for name, own in nodes.items()), {"name": "earth"}],
            "link": [
                {"name": "-".join(ends), "from": ends[0], "to": ends[1], "up_rate_bps": 40_000}
                | {"queue_bytes": 200_000, **own}
                for ends, own in links.items()
            ],
            "path": [{"via": ["-".join(ends) for ends in path]} for path in paths],
            "transport": transport,
            "playout": {"delay_s": 40.0},
            "run": {"slot_s": 5.0, "scale": 2, "seeds": seeds},
        }
    )  # fmt: skip


def most_held(trial: Trial) -> float:
    """By its fullest node."""
    return max(node.most_held_bytes for node in trial.outcome.result.nodes) if trial.outcome else 0.0


def row_of(cell: str, seeds: int, jobs: int) -> tuple[list[str], bool]:
    """A cell's row, and whether it keeps the rule."""
    scenario = scenario_of(cell, seeds)
    (mine, sent, held), (theirs, carried, stored) = (
        numbers_of(trials_of(scenario, backend, jobs), most_held) for backend in ("simulator", "kernel")
    )
    control = scenario.transport.congestion[0]
    ratio, sent_ratio = theirs.mean() / mine.mean(), carried.mean() / sent.mean()
    hops = "+".join(str(len(path)) for path in CELLS[cell][3])
    values = (
        *compared(mine, theirs),
        f"{sent_ratio:.3f}",
        *(f"{one.mean() / 1e3:.0f}" for one in (held, stored)),
    )
    goal = GOAL.get(control, 0.15)
    kept = bool(abs(ratio - 1) <= goal and abs(sent_ratio - 1) <= goal)
    return [cell, hops, f"{scenario.transport.mode} {control}", str(seeds), *values], kept


@click.command()
@click.option("--seeds", default=6, show_default=True)
@click.option("--only", multiple=True, type=click.Choice(list(CELLS)))
@click.option("--jobs", default=1, show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path))
def main(seeds: int, only: tuple[str, ...], jobs: int, output: Path | None) -> None:
    """Print the table, and write it."""
    write_table(COLUMNS, only or CELLS, lambda cell: row_of(cell, seeds, jobs), output)


if __name__ == "__main__":
    main()
