"""What coding delivers on missions that nothing was tuned on: the tables of docs/simulator.md.

    python -m experiments.coded [--prices] [--controller POLICY] [--seeds 10] [--first 301] [--only TEXT]

`mode = "coded"` under open-loop with `repair = "auto"` and blocks of 60 s, with and without a handshake, at several
playout delays: interquartile means of `weighted_layers` with 95 % bootstrap intervals over the seeds. Of the one with
a handshake also the share of the clairvoyant bound and of the one for senders that know the loss model
(`known loss model`), of bytes that are repair, and of chunks that are played at all. `overload` is loss-0 with a
video of 1.2 times what the links carry.

`--controller`: a policy of coded packets, by name or file, beside the transport's own rule, in slots of 60 s and with a
handshake; of both the share of the clairvoyant bound too.

`--prices`: what shares of repair cost where nothing is lost, without a handshake at 1.5 round trips: the layers' weight
by the load (source, with headers, over what the links carry) and the share that each layer has.
"""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from dstcc.engine import law_weight
from dstcc.layers import layer_weights
from dstcc.report.printed import heading, interval, line
from dstcc.scenario import Scenario, draw_trial, engine_config, load_source

from .played import by_metric, mission, plays

HELD_OUT = Path(__file__).parent.parent / "examples/iodst/held-out"
CODED = ("transport.mode=coded", "coding.repair=auto", "coding.block_s=60")
LAYERS_BPS = (124_000, 109_000, 78_000)
"""Of table 1: 0.9 of what both links carry."""
LOADS = (0.9, 1.0, 1.1)
SHARES = (0.0, 0.01, 0.03, 0.06, 0.1, 0.2)
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


def scenario_of(name: str, seeds: tuple[int, int], *overrides: str) -> Scenario:
    """A held-out mission under open-loop."""
    source = {"loss-1e-1": "loss-3e-2", "overload": "loss-0"}.get(name, name)
    given = [f"run.seed={seeds[0]}", f"run.seeds={seeds[1]}", "transport.congestion=open-loop", *overrides]
    if name == "overload":
        given.append(f"video.synthetic={layers(1.2)}")
    return mission(HELD_OUT / f"{source}.toml", *given)


def plays_beside(scenario: Scenario) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Metrics by name, a value a seed, of the trials that nothing steers, and of those that a controller does."""
    trials = plays(scenario)
    own, steered = (
        by_metric(one for one in trials if (one.key.controller is None) is alone) for alone in (True, False)
    )
    return own, steered


def law_bounds(scenario: Scenario) -> list[float] | None:
    """The share of all weight that no sender exceeds in the mean which knows the loss model and not the draws, a
    value a seed; None where losses are not independent."""
    source = load_source(scenario)
    bounds = []
    for seed in scenario.seeds:
        setup = draw_trial(scenario, source, seed)
        if any(link.loss.kind not in ("none", "packet") for link in setup.links):
            return None
        weights = layer_weights(setup.objects.layer, source.layers)
        config = engine_config(scenario, setup, "open-loop", "minrtt")
        bounds.append(law_weight(config, weights) / float(np.sum(weights)))
    return bounds


def said(values: list[float] | None) -> str:
    """An interquartile mean with its interval."""
    return "–" if values is None else interval(values)


@click.command()
@click.option("--seeds", default=10, show_default=True, help="Number of seeds.")
@click.option("--first", default=301, show_default=True, help="The first seed.")
@click.option("--only", default="", help="Rows whose scenario has this text.")
@click.option("--controller", default="", help="A policy of coded packets, beside the own rule.")
@click.option("--prices", is_flag=True, help="What shares of repair cost where nothing is lost.")
def main(seeds: int, first: int, only: str, controller: str, prices: bool) -> None:
    """Print the tables."""
    if controller:
        print_steered((first, seeds), only, controller)
    elif prices:
        print_prices((first, seeds))
    else:
        print_frontier((first, seeds), only)


def print_prices(span: tuple[int, int]) -> None:
    """A row a load, a column a share."""
    heading("Price of a share", ("load", *(f"{share:g}" for share in SHARES)))
    for load in LOADS:
        line(f"{load:g}", *(said(price(load, share, span)) for share in SHARES))


def price(load: float, share: float, span: tuple[int, int]) -> list[float]:
    """The layers' weight with that share of repair, a value a seed."""
    scenario = scenario_of(
        "loss-0",
        span,
        "transport.mode=coded",
        "transport.handshake=false",
        f"coding.repair=[{share}, {share}, {share}]",
        "coding.block_s=60",
        "playout.delay_rtts=1.5",
        f"video.synthetic={layers(load)}",
    )
    return by_metric(plays(scenario))["weighted_layers"]


def print_steered(span: tuple[int, int], only: str, controller: str) -> None:
    """A row a mission and playout delay: the transport's own rule, and the controller."""
    heading("Steered", ("scenario", "RTTs", "own rule", "of the bound", controller, "of the bound"))
    for name, more, rtts in FRONTIER:
        if only not in name:
            continue
        given = (*CODED, *more, f"playout.delay_rtts={rtts}", "run.slot_s=60")
        own, steered = plays_beside(scenario_of(name, span, *given, f"transport.controller={controller}"))
        metrics = ("weighted_layers", "oracle_ratio")
        line(name, f"{rtts:g}", *(said(part[key]) for part in (own, steered) for key in metrics))


def print_frontier(span: tuple[int, int], only: str) -> None:
    """A row a mission and playout delay."""
    heading(
        "Coded",
        (
            "scenario",
            "RTTs",
            "coded",
            "of the bound",
            "known loss model",
            "no handshake",
            "known loss model",
            "repair",
            "chunks played",
        ),
    )
    for name, more, rtts in FRONTIER:
        if only not in name:
            continue
        delay = f"playout.delay_rtts={rtts}"
        shaken = scenario_of(name, span, *CODED, *more, delay)
        unshaken = scenario_of(name, span, *CODED, *more, delay, "transport.handshake=false")
        coded, at_once = by_metric(plays(shaken)), by_metric(plays(unshaken))
        shown = [
            said(coded["weighted_layers"]),
            said(coded["oracle_ratio"]),
            said(law_bounds(shaken)),
            said(at_once["weighted_layers"]),
            said(law_bounds(unshaken)),
            said(coded["repair_ratio"]),
            said(coded["playback_ratio"]),
        ]
        line(name, f"{rtts:g}", *shown)


if __name__ == "__main__":
    main()
