"""What the demo plays over playout delays and rates of the uplinks: tables of docs/referee.md and docs/learning.md.

    python -m experiments.demo_grid [--seeds 10] [--first 701] [--rtts 2.5].. [--up 2].. [ALGORITHM..]

ALGORITHM is one of the demo's, as its report names it, without the scheduler, or `coded, told`: coded packets that are
given the links' rates. Interquartile means of `weighted_layers` with 95 % bootstrap intervals over the seeds. Nothing
was chosen on seeds 701 to 710.
"""

from __future__ import annotations

from pathlib import Path

import click

from dstcc.report.printed import heading, interval, line
from dstcc.run import Trial, run_trials
from dstcc.scenario import Scenario, load_source
from dstcc.scenario.variant import Variant

from .played import mission, values_of

DEMO = Path(__file__).parent.parent / "examples/demo/mars-two-links.toml"
TOLD = Variant(
    label="coded, told",
    congestion="open-loop",
    set={"mode": "coded", "handshake": False, "coding": {"repair": "auto", "block_s": 60}},
)
ALGORITHMS = ("dstcc", "ltp", "open-loop", "tuned cubic", "dstcc-lanes on 16 lanes")
RTTS, UP_KBPS = (2.5,), (2.0,)


def name_of(trial: Trial) -> str:
    """The algorithm's name without its scheduler."""
    return trial.key.name.split("+")[0]


def scenario_of(algorithms: tuple[str, ...], rtts: float, up_kbps: float, span: tuple[int, int]) -> Scenario:
    """The demo with these algorithms alone."""
    demo = mission(
        DEMO,
        f"run.seed={span[0]}",
        f"run.seeds={span[1]}",
        f"playout.delay_rtts={rtts}",
        *(f"link.{i}.up_rate_bps={up_kbps * 1000}" for i in (0, 1)),
    )
    lists = {
        key: tuple(name for name in getattr(demo.transport, key) if name in algorithms)
        for key in ("congestion", "controller")
    }
    variants = tuple(one for one in (*demo.variant, TOLD) if one.label in algorithms)
    known = {*demo.transport.congestion, *demo.transport.controller, TOLD.label}
    known |= {one.label for one in demo.variant}
    if unknown := [name for name in algorithms if name not in known]:
        raise click.BadParameter(f"{', '.join(unknown)}: the demo has {', '.join(sorted(known))}")
    transport = demo.transport.model_copy(update=lists)
    return demo.model_copy(update={"transport": transport, "variant": variants})


@click.command()
@click.argument("algorithms", nargs=-1)
@click.option("--seeds", default=10, show_default=True, help="Number of seeds.")
@click.option("--first", default=701, show_default=True, help="The first seed.")
@click.option("--rtts", default=RTTS, multiple=True, type=float, help="Playout delays in round trips.")
@click.option("--up", default=UP_KBPS, multiple=True, type=float, help="Rates of the uplinks in kbit/s.")
def main(
    algorithms: tuple[str, ...], seeds: int, first: int, rtts: tuple[float, ...], up: tuple[float, ...]
) -> None:
    """Print the table."""
    chosen = algorithms or ALGORITHMS
    source = load_source(mission(DEMO))
    heading("Demo", ("RTTs", "uplinks", *chosen))
    for delay in rtts:
        for kbps in up:
            scenario = scenario_of(chosen, delay, kbps, (first, seeds))
            trials = run_trials(scenario, source, quality=False, jobs=1)
            cells = (interval(values_of(one for one in trials if name_of(one) == name)) for name in chosen)
            line(f"{delay:g}", f"{kbps:g} kbit/s", *cells)


if __name__ == "__main__":
    main()
