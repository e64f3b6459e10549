"""What `dstcc` plays on each mission: a table of docs/learning.md.

    python -m experiments.paced_missions [--seeds 3] [--first 701] [--only NAME].. [MISSION..]

Interquartile means of `weighted_layers` with 95 % bootstrap intervals over the seeds, on examples/missions, the demo
and examples/relays/further-on.toml, each without its own algorithms, settings and restarts: what a user gets who names
the transport and nothing else. `coded, told` is open-loop at the links' rates, `cubic` on 16 lanes a link; `bound` is
the clairvoyant one.
"""

from __future__ import annotations

from pathlib import Path

import click

from dstcc.errors import DstccError
from dstcc.report.printed import heading, interval, line
from dstcc.scenario import Scenario

from .played import metrics_of, mission, plays

EXAMPLES = Path(__file__).parent.parent / "examples"
MISSIONS = (
    *sorted(path for path in (EXAMPLES / "missions").glob("*.toml") if path.stem != "new-horizons-dss43"),
    EXAMPLES / "relays/further-on.toml",
    EXAMPLES / "demo/mars-two-links.toml",
)
LANES = 'mode = "lanes", lanes_per_link = 16'
TRANSPORTS = {
    "dstcc": 'controller = "dstcc"',
    "coded, told": 'congestion = "open-loop", mode = "coded", handshake = false',
    "ltp, told": f'congestion = "ltp", {LANES}',
    "cubic": f'congestion = "cubic", {LANES}',
    "dstcc-lanes": f'controller = "dstcc-lanes", controller_lanes = 16, {LANES}',
}
"""Each the whole `[transport]` but for the size of a packet."""


def under(path: Path, transport: str, span: tuple[int, int]) -> Scenario:
    """A mission under one transport."""
    settings = f"{{{TRANSPORTS[transport]}, mss_bytes = {mission(path).transport.mss_bytes}}}"
    keys = ("variant=[]", "expect={}", f"transport={settings}", f"run.seed={span[0]}", f"run.seeds={span[1]}")
    return mission(path, *keys)


def played(scenario: Scenario) -> dict[str, list[float]]:
    """`weighted_layers` and the bound, a value a seed."""
    values: dict[str, list[float]] = {"played": [], "bound": []}
    for metrics in metrics_of(plays(scenario)):
        flat = metrics.flat()
        weight, share = flat["weighted_layers"] or 0.0, flat["oracle_ratio"]
        values["played"].append(weight)
        values["bound"].append(weight / share if share else 0.0)
    return values


@click.command()
@click.argument("missions", nargs=-1)
@click.option("--seeds", default=3, show_default=True, help="Number of seeds.")
@click.option("--first", default=701, show_default=True, help="The first seed.")
@click.option(
    "--only", type=click.Choice(list(TRANSPORTS)), multiple=True, help="Transports; all unless given."
)
def main(missions: tuple[str, ...], seeds: int, first: int, only: tuple[str, ...]) -> None:
    """Print the table."""
    chosen = [name for name in TRANSPORTS if not only or name in only]
    heading("Missions", ("mission", *chosen, "bound"))
    for path in MISSIONS:
        if missions and path.stem not in missions:
            continue
        cells, bound = [], ""
        for name in chosen:
            try:
                values = played(under(path, name, (first, seeds)))
            except DstccError:
                cells.append("refused")
                continue
            cells.append(interval(values["played"]))
            bound = bound or interval(values["bound"])
        line(path.stem, *cells, bound)


if __name__ == "__main__":
    main()
