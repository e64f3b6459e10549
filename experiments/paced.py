"""What coded packets play that find their own rate: the table of docs/learning.md.

    python -m experiments.paced [--seeds 10] [--first 701] [--only TEXT] [--rtts 2.5] [--up 2]

The demo's links and video at several playout delays and rates of the uplinks: interquartile means of `weighted_layers`
with 95 % bootstrap intervals over the seeds. `ltp` and `coded, told` are given the links' rates, the others nothing.
"""

from __future__ import annotations

from pathlib import Path

import click

from dstcc.report.printed import heading, interval, line
from dstcc.scenario import Scenario

from .played import mission, plays, values_of

DEMO = Path(__file__).parent.parent / "examples/demo/mars-two-links.toml"
CODED = ("transport.mode=coded", "transport.handshake=false", "coding.repair=auto", "coding.block_s=60")
TRANSPORTS: dict[str, tuple[str, ...]] = {
    "ltp, told": ("transport.congestion=ltp",),
    "coded, told": ("transport.congestion=open-loop", *CODED),
    "coded, paced": ("variant=coded, paced",),
    "tuned cubic": ("variant=tuned cubic",),
    "dstcc": ("variant=dstcc-lanes on 16 lanes",),
}
"""Overrides of the demo, or the name of one of its variants."""
RTTS = (2.5, 1.5, 1.0, 0.75)
UP_KBPS = (2, 8, 256)


def scenario_of(transport: str, rtts: float, up_kbps: float, span: tuple[int, int]) -> Scenario:
    """The demo under one transport."""
    keys = [
        f"run.seed={span[0]}",
        f"run.seeds={span[1]}",
        f"playout.delay_rtts={rtts}",
        *(f"link.{i}.up_rate_bps={up_kbps * 1000}" for i in (0, 1)),
    ]
    first, *more = TRANSPORTS[transport]
    if first.startswith("variant="):
        return mission(DEMO, *keys).as_variant(first.removeprefix("variant="))
    return mission(DEMO, "variant=[]", *keys, first, *more)


@click.command()
@click.option("--seeds", default=10, show_default=True, help="Number of seeds.")
@click.option("--first", default=701, show_default=True, help="The first seed.")
@click.option("--only", default="", help="Transports whose name has this text.")
@click.option("--rtts", default=RTTS, multiple=True, type=float, help="Playout delays in round trips.")
@click.option("--up", default=UP_KBPS, multiple=True, type=float, help="Rates of the uplinks in kbit/s.")
def main(seeds: int, first: int, only: str, rtts: tuple[float, ...], up: tuple[float, ...]) -> None:
    """Print the table."""
    chosen = [name for name in TRANSPORTS if only in name]
    heading("Paced", ("RTTs", "uplinks", *chosen))
    for delay in rtts:
        for kbps in up:
            trials = (plays(scenario_of(name, delay, kbps, (first, seeds))) for name in chosen)
            line(f"{delay:g}", f"{kbps:g} kbit/s", *(interval(values_of(one)) for one in trials))


if __name__ == "__main__":
    main()
