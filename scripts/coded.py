"""What coding brings home on missions that nothing was tuned on: the tables of docs/simulator.md.

    python scripts/coded.py [--seeds 10] [--first 301] [--only TEXT]

`mode = "coded"` under open-loop with `repair = "auto"` and blocks of 60 s, with and without a handshake, at several
playout delays: interquartile means of `weighted_layers` with 95 % bootstrap intervals over the seeds. Of the one with
a handshake also the share of the clairvoyant bound, of bytes that are repair, and of chunks that are played at all.
`overload` is loss-0 with a video of 1.2 times what the links carry.
"""

from __future__ import annotations

from pathlib import Path

import click

from dstcc.report.printed import heading, interval, line
from dstcc.run.trials import run_trials
from dstcc.scenario import load_scenario, parse_override

HELD_OUT = Path(__file__).parent.parent / "examples/iodst/held-out"
CODED = ("transport.mode=coded", "coding.repair=auto", "coding.block_s=60")
LAYERS_BPS = (124_000, 109_000, 78_000)
"""Of table 1: 0.9 of what both links carry."""
FRONTIER = (
    ("loss-3e-2", (), 1.5),
    ("loss-3e-2", (), 1.0),
    ("loss-1e-1", ("link.0.loss.packet=0.1", "link.1.loss.packet=0.1"), 1.5),
    ("table-1", (), 1.0),
    ("table-1", (), 0.75),
    ("table-1", (), 0.6),
    ("bursts-50", (), 1.5),
    ("overload", (), 1.5),
)
"""Scenario, further overrides, playout delay in round trips."""


def layers(load: float) -> str:
    """The layers of table 1 at so much of what the links carry."""
    return f"{{chunk_s = 1.0, layer_bps = [{', '.join(str(round(bps * load / 0.9)) for bps in LAYERS_BPS)}]}}"


def plays(name: str, seeds: tuple[int, int], *overrides: str) -> dict[str, list[float]]:
    """Metrics by name, a value a seed."""
    source = {"loss-1e-1": "loss-3e-2", "overload": "loss-0"}.get(name, name)
    given = [f"run.seed={seeds[0]}", f"run.seeds={seeds[1]}", "transport.congestion=open-loop", *overrides]
    if name == "overload":
        given.append(f"video.synthetic={layers(1.2)}")
    scenario = load_scenario(HELD_OUT / f"{source}.toml", [parse_override(one) for one in given])
    values: dict[str, list[float]] = {}
    for trial in run_trials(scenario, quality=False, jobs=1):
        if trial.metrics is None:
            raise click.ClickException(f"{name}: {trial.id}: {trial.error}")
        for key, value in trial.metrics.flat().items():
            if value is not None:
                values.setdefault(key, []).append(value)
    return values


def said(values: list[float]) -> str:
    """An interquartile mean with its interval."""
    return interval(values)


@click.command()
@click.option("--seeds", default=10, show_default=True, help="Number of seeds.")
@click.option("--first", default=301, show_default=True, help="The first seed.")
@click.option("--only", default="", help="Rows whose scenario has this text.")
def main(seeds: int, first: int, only: str) -> None:
    """Print the tables."""
    span = (first, seeds)
    heading(
        "Coded",
        ("scenario", "RTTs", "coded", "of the bound", "no handshake", "repair", "chunks played"),
    )
    for name, more, rtts in FRONTIER:
        if only not in name:
            continue
        delay = f"playout.delay_rtts={rtts}"
        coded = plays(name, span, *CODED, *more, delay)
        at_once = plays(name, span, *CODED, *more, delay, "transport.handshake=false")
        shown = [
            said(coded["weighted_layers"]),
            said(coded["oracle_ratio"]),
            said(at_once["weighted_layers"]),
            said(coded["repair_ratio"]),
            said(coded["playback_ratio"]),
        ]
        line(name, f"{rtts:g}", *shown)


if __name__ == "__main__":
    main()
